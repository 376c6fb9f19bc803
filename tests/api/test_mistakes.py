"""Calls as people mistype them: a result, or a WugError that says what to write.

Where a line has `type: ignore`, type checkers see the mistake, too; mypy reports one that is not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wug
from fake_suites import AGREEMENT_PAIRS
from wug.arguments import in_python

TABLE = "good_one,bad_one\nthe boy swims,the boy swim\n"


@pytest.fixture(scope="module")
def suite() -> wug.Suite:
    return wug.read_suite(AGREEMENT_PAIRS, "pairs")


@pytest.fixture(scope="module")
def results(suite: wug.Suite, folders: list[Path]) -> wug.Results:
    return wug.run(suite, folders)


def refuse(call: Callable[[], object], message: str) -> None:
    with pytest.raises(wug.WugError) as caught:
        call()
    assert message in str(caught.value)


def test_comparing_takes_results_as_they_come(results: wug.Results) -> None:
    found = wug.compare(results[0], results[1])
    assert found.contrasts == wug.compare(results).contrasts == wug.compare(results[:1], results[1:]).contrasts
    assert wug.compare(results, suites="pairs", metrics="accuracy").table.names == found.table.names
    refuse(lambda: wug.compare(results, results), "has two results of pairs on one side: leave one out")
    refuse(lambda: wug.compare(results, "model"), "Write by='model'")  # type: ignore[arg-type]
    refuse(lambda: wug.compare(), "nothing to compare")
    refuse(lambda: wug.compare(5), "int is not a result")  # type: ignore[arg-type]
    refuse(lambda: wug.compare([5]), "int is not a result")  # type: ignore[list-item]
    refuse(lambda: wug.compare(results, by=5), "by=5: write 'model'")  # type: ignore[arg-type]
    refuse(lambda: wug.compare(results, items="5"), "items='5': write a whole number")  # type: ignore[arg-type]
    refuse(lambda: wug.compare(results, items=-1), "items=-1")
    refuse(lambda: wug.compare(results, pool="no"), "pool='no': write True or False")  # type: ignore[arg-type]
    refuse(lambda: wug.compare(results, suits="a"), "no parameter 'suits'. Did you mean 'suites'")  # type: ignore[call-arg]
    refuse(lambda: wug.compare(results, suites=5), "suites=5: write a name")  # type: ignore[arg-type]


def test_opening_takes_a_tokenizer_by_position(folders: list[Path]) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded = AutoModelForCausalLM.from_pretrained(folders[0])
    opened = wug.open_model(loaded, AutoTokenizer.from_pretrained(folders[0]))
    assert opened.id == wug.open_model(folders[0]).id
    refuse(lambda: wug.open_model(loaded, tokenizer="gpt2"), "AutoTokenizer.from_pretrained")  # type: ignore[arg-type]


def test_opening_a_model_refuses_what_is_none(folders: list[Path]) -> None:
    folder = folders[0]
    refuse(lambda: wug.open_model(folder, {"bos": "no"}), "write options={…}")  # type: ignore[arg-type]
    refuse(lambda: wug.open_model(folder, options="bos=no"), "a dictionary of options")  # type: ignore[arg-type]
    refuse(lambda: wug.open_model(folder, bos=object()), "write text, a number")  # type: ignore[arg-type]
    refuse(lambda: wug.open_model(folder, bos=True, options={"bos": False}), "the option bos is given twice")
    refuse(lambda: wug.open_model(folder, boss=True), "Did you mean 'bos'")
    refuse(lambda: wug.open_model(None), "None is not a model")  # type: ignore[arg-type]
    refuse(lambda: wug.open_model(), "wug.open_model() needs model")  # type: ignore[call-arg]
    refuse(lambda: wug.open_model(f"causal:{folder}*"), "is a pattern for several models")
    refuse(lambda: wug.open_model(Path("none")), "none: no such folder")
    refuse(lambda: wug.Model("gpt2"), "wug.open_model(…)")  # type: ignore[arg-type]


def test_running_refuses_what_it_cannot_mean(suite: wug.Suite, model: wug.Model) -> None:
    refuse(lambda: wug.run(suite, model, limit="4"), "limit='4': write a whole number")  # type: ignore[arg-type]
    refuse(lambda: wug.run(suite, model, limit=4.0), "limit=4.0: write a whole number")  # type: ignore[arg-type]
    refuse(lambda: wug.run(suite, model, limit=True), "limit=True: write a whole number")
    refuse(lambda: wug.run(suite, model, limt=3), "wug.run() has no parameter 'limt'. Did you mean 'limit'?")  # type: ignore[call-arg]
    refuse(lambda: wug.run(suite, model, 3), "Write the others by name, such as limit=…")  # type: ignore[call-arg]
    refuse(lambda: wug.run(suite, suites=suite), "got suites twice")  # type: ignore[misc]
    refuse(lambda: wug.run(), "wug.run() needs suites")  # type: ignore[call-arg]
    refuse(lambda: wug.run(suite, 5), "5 is not a model")  # type: ignore[arg-type]
    refuse(lambda: wug.run(suite, []), "there is no model")
    refuse(lambda: wug.run(AGREEMENT_PAIRS, model), "wug.read_suite(…)")  # type: ignore[arg-type]
    refuse(lambda: wug.run("", model), "the name of a suite is empty")
    refuse(lambda: wug.run(suite, model, store=5), "store=5: write a path")  # type: ignore[arg-type]
    refuse(lambda: wug.run(suite, model, cache=5), "cache=5: write a path")  # type: ignore[arg-type]
    refuse(lambda: wug.run(suite, model, kind=5), "kind=5: write text")  # type: ignore[arg-type]
    refuse(lambda: wug.run(suite, model, progress=5), "progress=5: write a function")  # type: ignore[arg-type]


def test_options_of_a_suite_that_is_open_are_not_ignored(suite: wug.Suite, model: wug.Model) -> None:
    refuse(
        lambda: wug.run(suite, model, options={"target": "word"}), "pairs is already open: give its options (target)"
    )
    refuse(lambda: wug.run(suite, model, kind="choices"), "pairs is already open: give its kind")
    refuse(lambda: wug.run(suite, model, model_options={"bos": "no"}), "the models are already open: give their")
    refuse(lambda: wug.open_suites(suite, target="word"), "pairs is already open")


def test_suites_that_differ_in_an_option_alone_are_both_run(model: wug.Model) -> None:
    one, other = (wug.read_suite(AGREEMENT_PAIRS, "pairs", normalise=how) for how in ("none", "token"))
    found = wug.run([one, other, one], model)
    assert [result.signature.get("normalise") for result in found] == ["none", "token"]


def test_every_model_of_a_list_is_asked(suite: wug.Suite, model: wug.Model, folders: list[Path]) -> None:
    bare = wug.open_model(folders[0], bos=False)
    assert [result.signature.get("bos") for result in wug.run(suite, [model, bare])] == ["yes", "no"]
    assert wug.surprisal("a", [model, bare])["model"] == [f"{model.id}?bos=yes", f"{model.id}?bos=no"]
    patterns = [f"causal:{str(folder)[:-1]}[{folder.name[-1]}]" for folder in folders]
    assert wug.surprisal("a", patterns)["model"] == wug.surprisal("a", folders)["model"]


def test_an_empty_table_of_results_has_its_columns_and_their_types(results: wug.Results) -> None:
    for full, empty in ((results.estimates, results[:0].estimates), (results.outcomes, results[:0].outcomes)):
        names = empty.names
        assert names == full.names[: len(names)]
        names.remove("value")  # of outcomes, true or false or a number
        assert empty.to_arrow().select(names).schema == full.to_arrow().select(names).schema


def test_scoring_refuses_what_is_no_text(model: wug.Model) -> None:
    refuse(lambda: model.score(5), "texts must be str or a list of str, not int")  # type: ignore[call-overload]
    refuse(lambda: model.score(["a", 5]), "texts[1] must be str, not int")  # type: ignore[list-item]
    refuse(lambda: model.score(b"a"), "not bytes")  # type: ignore[arg-type]
    refuse(lambda: model.score({"a": 1}), "not dict")
    refuse(lambda: model.score(), "Model.score() needs texts")  # type: ignore[call-overload]
    refuse(lambda: model.score(text="a"), "Did you mean 'texts'?")  # type: ignore[call-overload]
    refuse(lambda: model.score(wug.Request("abc", (2, 9))), "texts[0]: span=(2, 9)")
    refuse(lambda: model.score("a").surprisal("b"), "write two whole numbers")  # type: ignore[arg-type]
    assert model.score("").surprisal() == 0


def test_a_lone_surrogate_is_refused_and_leaves_the_model_as_it_was(model: wug.Model) -> None:
    before = model.score("the boy")
    refuse(lambda: model.score("the \ud800 boy"), "texts[0]: 'the \\ud800 boy' contains a lone surrogate")
    with pytest.raises(TypeError):  # what a tokenizer says, where no text was checked
        model.opened.score([wug.Request("the \ud800 boy")])
    assert model.score("the boy") == before


def test_surprisals_refuse_what_they_cannot_mean(model: wug.Model) -> None:
    refuse(lambda: wug.surprisal("a", model, units="word"), "Did you mean 'unit'")  # type: ignore[call-arg]
    refuse(lambda: wug.surprisal("a", model, unit="words"), "Did you mean 'word'")  # type: ignore[arg-type]
    refuse(lambda: wug.surprisal("a", model, window="5"), "window='5': write a whole number")  # type: ignore[arg-type]
    refuse(lambda: wug.surprisal("a", model, boundary="no"), "boundary='no': write True or False")  # type: ignore[arg-type]
    refuse(lambda: wug.surprisal("a", model, sources=5), "sources must be a list of str")  # type: ignore[arg-type]
    refuse(lambda: wug.surprisal("a", 5), "5 is not a model")  # type: ignore[arg-type]
    refuse(lambda: wug.surprisal(5, model), "texts must be a str")  # type: ignore[arg-type]
    refuse(lambda: wug.surprisal("a", model, column="b"), "give the file as Path(…)")
    refuse(lambda: wug.surprisal(), "needs texts, or text=…")
    refuse(lambda: wug.surprisal("a", model, text="b"), "and not both")
    assert wug.surprisal("the boy").names == wug.surprisal([], model).names  # the built-in model


def test_a_file_is_read_by_its_path_and_its_name_scored_as_text(
    model: wug.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("story.txt").write_text("the boy\n")
    Path("items.csv").write_text("item,sentence\n1,the girl\n")
    refuse(lambda: wug.surprisal("story.txt", model), "'story.txt' names a file. Write Path('story.txt')")
    assert wug.surprisal(Path("story.txt"), model)["word"] == ["the", "boy"]
    assert wug.surprisal(text="story.txt", model=model)["word"] == ["story.txt"]
    assert wug.surprisal(text=["a", "story.txt"], model=model)["word"] == ["a", "story.txt"]
    refuse(lambda: wug.surprisal(text="\ud800", model=model), "lone surrogate")
    refuse(lambda: wug.surprisal(Path("items.csv"), model), "(column=…). Columns: item, sentence")
    assert wug.surprisal(Path("items.csv"), model, column="sentence")["word"] == ["the", "girl"]


def test_a_suite_is_read_from_a_file_whose_name_begins_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("[v2] pairs.csv").write_text("sentence_good,sentence_bad\na b,a c\n")
    assert len(wug.read_suite("[v2] pairs.csv")) == 1


def test_reading_a_suite_refuses_what_is_none(suite: wug.Suite) -> None:
    refuse(lambda: wug.read_suite(None), "NoneType is not a suite")  # type: ignore[arg-type]
    refuse(lambda: wug.read_suite(suite), "pairs is already a suite")  # type: ignore[arg-type]
    refuse(lambda: wug.read_suite(""), "the name of a suite is empty")
    refuse(lambda: wug.read_suite(AGREEMENT_PAIRS, name=5), "name=5: write text")  # type: ignore[arg-type]
    refuse(lambda: wug.read_suite(AGREEMENT_PAIRS, name="a/b"), "name='a/b': write a valid file name, without /")
    refuse(lambda: wug.read_suite(AGREEMENT_PAIRS, name=""), "name=''")
    refuse(lambda: suite.sample(0), "0 items: write a whole number, 1 or more")
    refuse(lambda: wug.open_suites("wug_coord", "wug_npi"), "a dictionary of options")  # type: ignore[arg-type]


def test_a_report_is_html(results: wug.Results, tmp_path: Path) -> None:
    refuse(lambda: wug.report(results, tmp_path / "x.pdf"), "x.pdf: a report is an HTML page: name the file .html")
    refuse(lambda: wug.report("x.html", results), "write a path")  # type: ignore[arg-type]
    refuse(lambda: wug.report(results), "wug.report() needs path: wug.report(results, path)")  # type: ignore[call-arg]
    refuse(lambda: results.write(), "Results.write() needs path: Results.write(path)")  # type: ignore[call-arg]
    refuse(lambda: wug.report(results, "x.html", comparison=True), "write wug.compare(…)")  # type: ignore[arg-type]
    wug.report(results[0], tmp_path / "one.htm")
    assert (tmp_path / "one.htm").exists()
    assert not (tmp_path / "x.pdf").exists()


def test_stores_results_and_tables_refuse_what_they_do_not_have(
    results: wug.Results, suite: wug.Suite, model: wug.Model, tmp_path: Path
) -> None:
    wug.run(suite, model, store=tmp_path / "store")
    store = wug.open_store(tmp_path / "store")
    refuse(lambda: store.results("1"), "numbers='1': write a whole number")  # type: ignore[arg-type]
    refuse(lambda: store.runs(1), "Store.runs() got too many positional arguments")  # type: ignore[call-arg]
    refuse(lambda: wug.open_store(5), "path=5: write a path")  # type: ignore[arg-type]
    refuse(lambda: results["pair"], "unknown suite 'pair'. Did you mean 'pairs'?")
    refuse(lambda: results[None], "write a number, a slice, or the name of a suite")  # type: ignore[call-overload]
    refuse(lambda: results.plot(5), "title=5: write text")  # type: ignore[arg-type]
    table: Any = results.estimates
    refuse(lambda: table[0], "table[0]: write the name of a column")
    refuse(lambda: table.write(5), "path=5: write a path")
    refuse(lambda: table.to_pandas(5), "Table.to_pandas() got too many positional arguments")


@pytest.mark.parametrize(
    ("shell", "python"),
    [
        ("name -S good=COLUMN -S bad=COLUMN.", 'name options={"good": "COLUMN", "bad": "COLUMN"}.'),
        ("-S lines=good-bad, or bad-good", 'options={"lines": "good-bad"}, or bad-good'),
        ("add -S options=A,B -S answer=C", 'add options={"options": "A,B", "answer": "C"}'),
        ("use -M dtype=float32. Else", 'use dtype="float32". Else'),
        ("-M 'bos=<|endoftext|>', or", 'bos="<|endoftext|>", or'),
        ("a smaller -M max_length, or another --device", "a smaller max_length, or another device=…"),
        (
            "choose another with --cache, or none with --no-cache",
            "choose another with cache=…, or none with cache=None",
        ),
        ("wug data fetch blimp --accept", "wug data fetch blimp --accept"),
    ],
)
def test_messages_name_options_as_python_writes_them(shell: str, python: str) -> None:
    assert in_python(shell) == python


def test_an_error_of_a_suite_speaks_python() -> None:
    refuse(lambda: wug.read_suite(TABLE), 'options={"good": "COLUMN", "bad": "COLUMN"}')
    assert len(wug.read_suite(TABLE, options={"good": "good_one", "bad": "bad_one"})) == 1


def test_an_error_about_reading_times_names_the_parameters_of_wug_reading() -> None:
    table = wug.Table({"rt": [1.0, 2.0], "surprisal": [1.0, 2.0]})
    refuse(
        lambda: wug.reading(table, "rt", "1", "surprisal", exclude="first"),
        "exclude=first needs the columns text=… and position=…",
    )


def test_what_users_of_minicons_write_is_a_result_or_says_what_to_write(model: wug.Model, folders: list[Path]) -> None:
    import pandas

    untyped: Any = wug
    known: Any = model
    pair = ("the boy swims .", "the boy swim .")
    frame = pandas.DataFrame({"sentence_good": [pair[0]], "sentence_bad": [pair[1]]})
    refuse(
        lambda: untyped.IncrementalLMScorer("gpt2", "cpu"), 'In wug, write wug.open_model("causal:NAME", device="cpu")'
    )
    refuse(lambda: untyped.open_model(folders[0], "cpu"), "write device='cpu'")
    refuse(lambda: known.sequence_score([pair[0]]), "[scored.logprob() for scored in model.score(texts)]")
    refuse(lambda: known.token_score([pair[0]]), 'wug.surprisal(texts, model, unit="token"), in bits')
    refuse(lambda: untyped.scorer.IncrementalLMScorer("gpt2"), "wug.open_model(")
    refuse(lambda: known.partial_score(["the boy"], ["swims"]), "wug.Request(text, span)), where span")
    refuse(lambda: known.next_word_distribution(["the boy"]), "the entropy and the rank of every word")
    refuse(lambda: known.conditional_score(["the boy"], ["swims"]), "wug.Request(text, span)")
    refuse(lambda: known.score(list(pair), bos_token=True), "bos=True or bos=False where the model is opened")
    refuse(lambda: untyped.surprisal(pair[0], model, base_two=True), "wug.surprisal is in bits")
    refuse(lambda: untyped.surprisal(pair[0], model, bow_correction=True), "boundary=True")
    refuse(lambda: untyped.open_model(folders[0], batch_size=8), "the batch does not change scores")
    refuse(lambda: untyped.run([pair], model), "wug.read_suite(…), which takes dictionaries and data frames")
    refuse(lambda: untyped.run(frame, model), "DataFrame is not a suite")
    assert wug.run(wug.read_suite(frame), model)[0].n == 1
    assert [scored.text for scored in model.score(frame["sentence_good"])] == [pair[0]]
    assert not hasattr(known, "token_score")
    with pytest.raises(AttributeError, match="has no attribute 'sequence_scores'"):
        known.sequence_scores  # noqa: B018
