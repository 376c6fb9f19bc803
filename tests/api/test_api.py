"""The Python API as a notebook uses it: what it takes, what it gives, how it refuses."""

from __future__ import annotations

import math
import pydoc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sample_results
import wug
from command_line import run_python
from fake_suites import AGREEMENT_PAIRS
from wug import registry
from wug.errors import InputError, ModelError, UnknownName, UnknownOption
from wug.traits import BackendTraits

pytestmark = pytest.mark.slow

SUITE = {
    "meta": {"name": "agreement", "metric": "sum"},
    "region_meta": {1: "subject", 2: "verb"},
    "predictions": ["(verb;%match%) < (verb;%mismatch%)"],
    "items": [
        {
            "item_number": number,
            "conditions": [
                {
                    "condition_name": name,
                    "regions": [{"region_number": 1, "content": noun}, {"region_number": 2, "content": verb}],
                }
                for name, verb in (("match", "swims"), ("mismatch", "swim"))
            ],
        }
        for number, noun in enumerate(["the boy", "the girl", "a guard"], start=1)
    ],
}


@pytest.fixture(scope="module")
def results(folders: list[Path]) -> wug.Results:
    return wug.run([wug.read_suite(SUITE), wug.read_suite(AGREEMENT_PAIRS, name="pairs")], folders)


def in_new_process(code: str) -> str:
    output = run_python("-c", code)
    assert output.code == 0, output.err
    return output.out


def test_importing_wug_imports_nothing_heavy() -> None:
    code = "import sys, wug; dir(wug); print(*(n for n in ('numpy', 'torch', 'pandas', 'altair') if n in sys.modules))"
    assert in_new_process(code).strip() == ""


def test_dir_has_the_api_and_nothing_else() -> None:
    functions = [
        "compare",
        "config",
        "import_results",
        "metric",
        "open_model",
        "open_store",
        "open_suites",
        "people",
        "read_suite",
        "reading",
        "report",
        "run",
        "surprisal",
    ]
    types = [
        *(
            "Answer",
            "Comparison",
            "Config",
            "Estimate",
            "Metric",
            "Model",
            "Outcome",
            "Reading",
            "Request",
            "Result",
            "Results",
        ),
        *("Scored", "Store", "Suite", "Table", "Token", "WugError"),
    ]
    assert dir(wug) == [*types, *functions]
    assert all(getattr(wug, name).__doc__ for name in dir(wug))
    with pytest.raises(AttributeError, match="has no attribute 'opn_model'"):
        wug.opn_model  # noqa: B018


def test_help_fits_seven_screens() -> None:
    lines = pydoc.plain(pydoc.render_doc(wug)).splitlines()
    on_screen = sum(max(1, math.ceil(len(line) / 120)) for line in lines)
    assert on_screen <= (380 if sys.version_info < (3, 13) else 450)  # 3.13 gives each parameter a line


def test_one_text_has_one_answer_and_any_iterable_a_list(model: wug.Model) -> None:
    text = "the boy swims ."
    scored = model.score(text)
    assert scored.text == text
    assert model.score(wug.Request(text)) == scored
    several = model.score(line for line in [text, "a girl ."])
    assert [one.text for one in several] == [text, "a girl ."]
    assert several[0].surprisal() == pytest.approx(scored.surprisal(), abs=1e-4)
    assert model.score([]) == []


def test_what_is_no_text_is_refused_with_its_place(model: wug.Model) -> None:
    with pytest.raises(InputError, match=r"texts\[1\] must be str, not float"):
        model.score(["the boy", math.nan])  # type: ignore[list-item]
    with pytest.raises(ModelError, match=r"scores text and does not generate it. Use score\(\)"):
        model.generate("the boy")


def test_a_model_that_writes_answers_one_source_or_several() -> None:
    writer = wug.open_model("oracle:pcfgset")
    assert writer.generate("copy A B").text == "A B"
    assert [answer.text for answer in writer.generate(["copy A B", "reverse A B"])] == ["A B", "B A"]
    with pytest.raises(ModelError, match=r"generates text and does not score it. Use generate\(\)"):
        writer.score("copy A B")


def test_options_are_keywords_of_pythons_own_types(folders: list[Path]) -> None:
    assert wug.open_model(folders[0], bos=False, nodes=64).options["bos"] == "no"
    assert wug.open_model(str(folders[0]), options={"bos": "no"}).options["bos"] == "no"
    assert wug.open_model(folders[0], dtype=None, device="cpu").options["dtype"] == "float32"
    with pytest.raises(UnknownOption, match=r"unknown option 'dtyp' of causal models. Did you mean 'dtype'"):
        wug.open_model(folders[0], dtyp="float16")


def test_a_typo_in_an_option_of_a_suite_is_an_error() -> None:
    for call in (
        lambda: wug.open_suites("wug_agreement_pp", {"metrc": "mean"}),
        lambda: wug.open_suites("wug_agreement_pp", metrc="mean"),
        lambda: wug.read_suite(SUITE, metrc="mean"),
        lambda: wug.run("wug_agreement_pp", options={"metrc": "mean"}),
    ):
        with pytest.raises(UnknownOption, match="Did you mean 'metric'"):
            call()


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(InputError, match=r"3 is not a model. Give a name such as 'causal:gpt2'"):
        wug.open_model(3, tokenizer=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tokenizer= is for a loaded model"):
        wug.open_model("causal:gpt2", tokenizer=object())  # type: ignore[arg-type]


def test_an_open_model_is_taken_as_it_is(model: wug.Model) -> None:
    assert wug.open_model(model) is model
    with pytest.raises(InputError, match="already open"):
        wug.open_model(model, bos=False)


def test_a_loaded_model_gives_the_results_of_its_folder(folders: list[Path]) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded = AutoModelForCausalLM.from_pretrained(folders[0])
    ours = wug.open_model(loaded, tokenizer=AutoTokenizer.from_pretrained(folders[0]))
    theirs = wug.open_model(folders[0])
    assert ours.id == theirs.id
    suite = wug.read_suite(SUITE)
    assert wug.run(suite, ours)[0] == wug.run(suite, theirs)[0]
    assert wug.run(suite, loaded)[0] == wug.run(suite, theirs)[0]


def test_surprisals_are_those_of_the_scores_whoever_opened_the_model(folders: list[Path], tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    text = "the boy that nobody saw swims ."
    loaded = AutoModelForCausalLM.from_pretrained(folders[0])
    opened = wug.open_model(loaded, tokenizer=AutoTokenizer.from_pretrained(folders[0]))
    table = wug.surprisal(text, opened, cache=tmp_path / "answers.db")
    assert table["word"] == text.split()
    scored = opened.score(text)
    places = zip(table["start"], table["end"], strict=True)
    assert table["surprisal"] == pytest.approx([scored.surprisal(a, b) for a, b in places], abs=1e-4)
    assert wug.surprisal(text, folders[0]) == table
    assert wug.surprisal([text], f"causal:{folders[0]}", cache=tmp_path / "answers.db") == table
    with pytest.raises(UnknownName, match=r"unknown unit 'wrd'. Did you mean 'word'"):
        wug.surprisal(text, opened, "wrd")  # type: ignore[arg-type]


def test_an_object_of_the_users_own_class_may_be_asked() -> None:
    class Longest:
        id, chunk, ordered = "own/longest@1", 10, False
        options: dict[str, str] = {}  # noqa: RUF012

        def score(self, requests: Any) -> list[wug.Scored]:
            return [wug.Scored(r.text, (0,), (len(r.text),), (-float(len(r.text)),)) for r in requests]

    (result,) = wug.run(wug.read_suite(AGREEMENT_PAIRS), Longest())
    assert result.headline is not None
    assert (result.model, result.headline.value) == ("own/longest@1", 0.5)


def test_suites_and_models_come_alone_or_in_lists_by_name_path_or_object(folders: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"sentence_good": "the boy swims", "sentence_bad": "the boy swim"}\n')
    alone = wug.run(path, folders[0])
    assert [result.suite for result in alone] == ["pairs"]
    assert list(wug.run(str(path), [str(folders[0])])) == list(alone)
    several = wug.run([path, "wug_coord", wug.read_suite(SUITE)], models=[folders[0], f"causal:{folders[1]}"], limit=1)
    assert [(result.suite, result.n) for result in several] == [("pairs", 1), ("wug_coord", 1), ("agreement", 1)] * 2
    assert len({result.model for result in several}) == 2


def test_without_a_model_the_built_in_one_is_asked() -> None:
    (result,) = wug.run("wug_agreement_pp", limit=1)
    assert result.model.startswith("causal/wug-causal@")


def test_invalid_arguments_of_run_are_errors(model: wug.Model) -> None:
    with pytest.raises(InputError, match="there is no suite"):
        wug.run([], model)
    with pytest.raises(InputError, match="int is not a suite"):
        wug.run([3], model)  # type: ignore[list-item]
    with pytest.raises(InputError, match="limit=0: write a whole number, 1 or more"):
        wug.run(wug.read_suite(SUITE), model, limit=0)
    with pytest.raises(UnknownName, match=r"unknown interval method 'wilsn'. Did you mean 'wilson'"):
        wug.run(wug.read_suite(SUITE), model, interval="wilsn")  # type: ignore[arg-type]


def test_results_are_a_sequence_of_results(results: wug.Results) -> None:
    assert len(results) == 4
    assert [type(result) for result in results] == [wug.Result] * 4
    assert results[-1].suite == "pairs"
    assert [result.suite for result in results[:2]] == ["agreement", "pairs"]
    assert isinstance(results[:2], wug.Results)


def test_estimates_are_a_data_frame_with_a_row_each(results: wug.Results, tmp_path: Path) -> None:
    frame = results.to_pandas()
    assert len(frame) == sum(len(result.estimates) for result in results)
    chosen = frame[(frame["suite"] == "pairs") & (frame["model"] == results[1].model) & (frame["group"] == "all")]
    chosen = chosen[chosen["metric"] == "accuracy"]
    headline = results[1].headline
    assert headline is not None
    assert (chosen["value"].item(), chosen["n"].item()) == (headline.value, headline.n)
    assert (chosen["low"].item(), chosen["high"].item()) == (headline.low, headline.high)
    assert results.to_polars().shape == results.to_arrow().shape == frame.shape
    results.write(tmp_path / "estimates.csv")
    assert (tmp_path / "estimates.csv").read_text().startswith("suite,kind,model,metric,group,value,n,low,high,")


def test_outcomes_are_a_data_frame_with_a_row_each_and_their_detail_unfolded(results: wug.Results) -> None:
    frame = results.outcomes.to_pandas()
    assert len(frame) == sum(len(result.outcomes) for result in results)
    pairs = frame[frame["suite"] == "pairs"]
    assert pairs["good"].tolist() == ["the boy swims .", "the authors swim ."] * 2
    better = pairs["logprob_good"] > pairs["logprob_bad"]
    assert pairs["value"].astype(bool).tolist() == better.tolist()
    whole = frame[frame["metric"] == "all_predictions"]
    assert whole["conditions.match.sentence"].tolist() == ["the boy swims", "the girl swims", "a guard swims"] * 2


def test_a_group_that_is_called_like_a_column_has_a_name_of_its_own() -> None:
    outcome = wug.Outcome("1", "accuracy", True, {"model": "small"}, {"item": {"number": 3}, "value": 2.5})
    result = wug.Result("s", "pairs", "m", "complete", "", 1, (), outcomes=(outcome,))  # type: ignore[arg-type]
    (row,) = wug.Results([result]).outcomes
    assert (row["model"], row["group.model"], row["item"], row["item.number"]) == ("m", "small", "1", 3)
    assert (row["value"], row["detail.value"]) == (True, 2.5)


def test_no_result_is_an_empty_table() -> None:
    nothing = wug.Results([])
    assert (len(nothing.estimates), len(nothing.outcomes)) == (0, 0)
    assert "value" in nothing.to_pandas().columns
    assert "<Results of 0>" in repr(nothing)


def test_results_are_short_at_a_prompt_and_a_table_in_a_notebook(results: wug.Results) -> None:
    headline = results[0].headline
    assert headline is not None
    assert repr(results[0]).startswith("<Result agreement · model0")
    assert len(repr(results[0])) < 200
    lines = repr(results).splitlines()
    assert lines[0] == "<Results of 4>"
    assert len(lines) == 5
    page = results._repr_html_()
    assert page.count("<tr>") == 1 + sum(len(result.headlines) for result in results)
    assert f"{100 * headline.value:.1f}%" in page
    assert f"[{100 * (headline.low or 0):.1f}, {100 * (headline.high or 0):.1f}]" in page
    assert sample_results.HOSTILE not in wug.Results([sample_results.pairs(suite=sample_results.HOSTILE)])._repr_html_()


def test_warnings_and_what_failed_stand_below_the_table() -> None:
    result = sample_results.syntaxgym()
    page = result._repr_html_()
    assert "1 warning" in page
    assert "item 2 has a region with a trailing space" in page
    assert "failed" not in page


def test_results_are_kept_in_a_store_when_asked(folders: list[Path], tmp_path: Path) -> None:
    suite = wug.read_suite(SUITE)
    kept = wug.run(suite, folders, store=tmp_path / "store")
    assert (kept.runs, kept.store) == ((1, 2), tmp_path / "store")
    store = wug.open_store(str(tmp_path / "store"))
    runs = store.runs()
    assert runs["id"] == [2, 1]
    assert runs["status"] == ["complete", "complete"]
    assert runs.to_pandas()["model"].tolist() == [kept[1].model, kept[0].model]
    again = store.results(1, 2)
    assert [result.estimates for result in again] == [result.estimates for result in kept]
    assert again.outcomes == kept.outcomes
    assert len(store.results()) == 2
    more = wug.run(suite, folders[0], store=store)
    assert more.runs == (3,)
    assert "3 runs" in repr(store)
    assert "<table>" in store._repr_html_()


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.db: no such folder"):
        wug.open_store(tmp_path / "nowhere.db")
    assert not list(tmp_path.glob("nowhere*"))


def test_answers_are_kept_in_a_cache_when_asked(model: wug.Model, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    suite = wug.read_suite(SUITE)
    first = wug.run(suite, model, cache=tmp_path / "answers.db", progress=lambda done, of: told.append((done, of)))
    assert told[:2] == [(0, 6), (6, 6)]
    told.clear()
    second = wug.run(suite, model, cache=tmp_path / "answers.db", progress=lambda done, of: told.append((done, of)))
    assert all(done == of for done, of in told)  # none is scored again
    assert list(second) == list(first)


def test_models_are_compared_as_runs_in_a_store_are(results: wug.Results, folders: list[Path], tmp_path: Path) -> None:
    from wug.results.comparison import compare
    from wug.results.store import Store

    found = wug.compare(results)
    suites = [wug.read_suite(SUITE), wug.read_suite(AGREEMENT_PAIRS, name="pairs")]
    kept = wug.run(suites, folders, store=tmp_path / "store")
    assert found.contrasts == compare(Store(tmp_path / "store"), [[number] for number in kept.runs]).contrasts
    assert len(found) == len(found.to_pandas()) == len(found.to_polars()) == found.to_arrow().num_rows
    assert len(repr(found).splitlines()) == 1 + len(found)
    assert found._repr_html_().count("<tr>") == 1 + len(found)
    found.write(tmp_path / "differences.csv")
    assert len((tmp_path / "differences.csv").read_text().splitlines()) == 1 + len(found)


def test_results_are_compared_by_an_option_or_by_a_function(folders: list[Path]) -> None:
    suite = wug.read_suite(AGREEMENT_PAIRS)
    marked, bare = (wug.run(suite, wug.open_model(folders[0], bos=bos)) for bos in (True, False))
    with pytest.raises(InputError, match=r"two results of suite on one side.*by='bos'"):
        wug.compare([*marked, *bare])
    found = wug.compare([*marked, *bare], by="bos")
    assert [side.models for side in found.comparison.sides] == [(marked[0].model,), (marked[0].model,)]
    other = wug.run(suite, folders[1])
    mean = wug.compare([*marked, *other, *bare], by=lambda result: result.signature.get("bos") or "")
    assert [len(side.runs) for side in mean.comparison.sides] == [2, 1]
    with pytest.raises(UnknownName, match=r"unknown field to compare by 'modl'. Did you mean 'model'"):
        wug.compare(marked, by="modl")
    with pytest.raises(InputError, match="by='model' gives 1 side, and two are needed"):
        wug.compare(marked)


def test_the_figure_is_the_familys_own(results: wug.Results) -> None:
    one = results[:1].plot().to_dict()
    assert one["config"]["background"] == "white"
    text = str(one)
    assert "subject" in text  # surprisal region by region
    assert "accuracy" in str(results.plot().to_dict())
    assert "percentage points" in str(wug.compare(results).plot().to_dict())
    with pytest.raises(InputError, match="no chart has 'nonsense' in its title"):
        results.plot("nonsense")


def test_a_report_compares_its_models(results: wug.Results, tmp_path: Path) -> None:
    wug.report(results, str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert all(result.model in page for result in results)
    assert "Holm" in page
    wug.report(results[:1], tmp_path / "one.html")
    assert "Holm" not in (tmp_path / "one.html").read_text()


@pytest.mark.parametrize(
    ("source", "name", "items"),
    [
        (SUITE, "agreement", 3),
        (AGREEMENT_PAIRS, "given", 2),
        ('{"sentence_good": "a b", "sentence_bad": "a c"}\n{"sentence_good": "b", "sentence_bad": "c"}\n', "given", 2),
        ("pattern\tsent\tsent_alt\nplain\ta b\ta c\n", "given", 1),
        ("item_number,condition_name,region_number,content\n1,a,1,the boy\n1,b,1,the boys\n", "given", 1),
    ],
)
def test_a_suite_is_read_from_what_a_file_would_hold(source: Any, name: str, items: int) -> None:
    suite = wug.read_suite(source, name="given")
    assert (suite.name, len(suite)) == (name, items)


def test_suites_are_short_at_a_prompt() -> None:
    assert repr(wug.read_suite(AGREEMENT_PAIRS)) == "<Suite suite · pairs · 2 items>"
    for name in ("wug_syntaxgym", "wug_pairs", "wug_cogs", "wug_pcfgset", "wug_choices"):
        for suite in wug.open_suites(name):
            assert repr(suite) == f"<Suite {suite.name} · {name.removeprefix('wug_')} · {len(suite):,} items>"


def test_a_suite_is_read_from_a_file_by_either_kind_of_path(tmp_path: Path) -> None:
    import json

    path = tmp_path / "agreement.json"
    path.write_text(json.dumps(SUITE))
    assert wug.read_suite(path).checksum == wug.read_suite(str(path)).checksum == wug.read_suite(SUITE).checksum
    assert wug.read_suite(json.dumps(SUITE)).checksum == wug.read_suite(SUITE).checksum
    with pytest.raises(InputError, match="contains 6 suites"):
        wug.read_suite("wug_syntaxgym")


def test_faults_of_a_dictionary_name_no_file_of_ours() -> None:
    wrong = {**SUITE, "predictions": ["(verb;%match%) < (verb;%mismatched%)"]}
    with pytest.raises(InputError, match=r"^suite, prediction 1: unknown condition 'mismatched'") as caught:
        wug.read_suite(wrong)
    assert "/" not in str(caught.value)
    with pytest.raises(InputError, match="is not JSON-serializable"):
        wug.read_suite({"meta": {1, 2}})
    with pytest.raises(InputError, match="int is not a suite"):
        wug.read_suite(3)  # type: ignore[arg-type]


@pytest.fixture(autouse=True, scope="module")
def _closed() -> Iterator[None]:
    """Nothing stays open: what is dropped unclosed is an error as soon as it is collected, at the end at last."""
    import gc

    yield
    gc.collect()


def test_calls_give_the_types_that_they_promise(model: wug.Model, results: wug.Results) -> None:
    made: list[tuple[Callable[[], object], type]] = [
        (lambda: results.estimates, wug.Table),
        (lambda: results.outcomes, wug.Table),
        (lambda: wug.compare(results), wug.Comparison),
        (lambda: model.score("the boy"), wug.Scored),
    ]
    for make, kind in made:
        assert type(make()) is kind


def test_a_function_is_opened_though_another_backend_has_a_wrap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = ModuleType("other")
    vars(other).update(TRAITS=BackendTraits(), wrap=lambda given: "not a model")
    find, names = registry.find, registry.names
    monkeypatch.setattr(registry, "names", lambda folder: sorted([*names(folder), "another"]))
    monkeypatch.setattr(registry, "find", lambda folder, name: other if name == "another" else find(folder, name))
    model = wug.open_model(lambda texts: [-float(len(text)) for text in texts], name="lengths")
    assert model.score("wug").logprob() == -3.0
