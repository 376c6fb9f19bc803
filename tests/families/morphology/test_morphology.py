"""Reading, asking and judging of wug tests."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import tiny_chat
from command_line import refused, wug
from evaluating import cached
from fake_models import FakeGenerator, FakeScorer, text_scores, word_scores
from tiny import save_causal
from wug.errors import InputError, ModelError, SuiteError
from wug.evaluation.evaluate import build_result, evaluate
from wug.evaluation.models import open_model
from wug.evaluation.suites import builtin_suites, open_suites
from wug.families import morphology
from wug.families.morphology import carriers, make
from wug.families.morphology.item import Form, WugItem
from wug.families.morphology.suite import MorphologySuite, first_word
from wug.outcomes import Estimate, Result
from wug.requests import Request, Scored
from wug.results.queries import table_of
from wug.rows import Filter
from wug.views.family_views import computed_parts, intro_of, items_of, parts_of
from wug.views.grouped import result_chance
from wug.views.text import item_lines

TABLE = """lemma,form,type,task,language,rating,frequency
zib,zibbed,regular,past,eng,6,1
zib,zab,irregular,past,eng,2,1
spling,splinged,regular,past,eng,3,9
spling,splung,irregular,past,eng,5,9
"""


def write(folder: Path, text: str, name: str = "nonce.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def word_scorer(logprobs: Mapping[str, float | None] | None = None, **fields: Any) -> FakeScorer:
    return FakeScorer(word_scores(logprobs, pattern=r"[\w']+|\."), **fields)


def writer(answers: Mapping[str, str]) -> FakeGenerator:
    """One answer for each lemma in a question."""
    return FakeGenerator(lambda text: next((answer for lemma, answer in answers.items() if lemma in text), ""))


def run(path: Path, model: FakeScorer | FakeGenerator, **options: str) -> Result:
    (suite,) = morphology.read(path, options)
    suite = suite.for_model(model)
    return build_result(suite, model.id, "wug:0", suite.run(model))


def estimate(result: Result, metric: str, group: str = "all") -> Estimate:
    (found,) = [one for one in result.estimates if (one.metric, one.group) == (metric, group)]
    return found


# Asking models.


def test_the_score_of_a_form_is_that_of_the_form_and_the_full_stop_given_its_carrier(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE)
    (suite,) = morphology.read(path, {})
    requests = suite.requests()
    first = requests[0]
    assert isinstance(first, Request)
    assert first.text == "They like to zib. Yesterday they zibbed."
    assert first.span is not None
    assert first.text[slice(*first.span)] == "zibbed."
    model = word_scorer({"zibbed": -2.0, "zab": -5.0, "splinged": -4.0, "splung": -3.0})
    result = run(path, model, prior="none")
    assert [row.detail["scores"] for row in result.outcomes if "scores" in row.detail] == [[-3.0, -6.0], [-5.0, -4.0]]
    assert estimate(result, "preference_accuracy").value == 1.0
    assert estimate(result, "preference_accuracy", "carrier=3").n == 2
    assert estimate(result, "regular_rate").value == 0.5


def test_a_masked_model_scores_the_form_alone(tmp_path: Path) -> None:
    (suite,) = morphology.read(write(tmp_path, TABLE), {})
    adapted = suite.for_model(word_scorer(id="masked/toy@1"))
    first = adapted.requests()[0]
    assert isinstance(first, Request)
    assert first.span is not None
    assert (adapted.elicitation, first.text[slice(*first.span)]) == ("infill", "zibbed")


def test_an_encoder_decoder_reads_lemma_and_tags(tmp_path: Path) -> None:
    path = write(
        tmp_path, "f l ɪ n k\tf l ʌ n k\tV;PST;1;SG\t3.5\nf l ɪ n k\tf l ɪ n k t\tV;PST;1;SG\t4\n", "eng.x.dev"
    )
    (suite,) = morphology.read(path, {})
    adapted = suite.for_model(word_scorer(id="seq2seq/toy@1", options={"score": "source"}))
    assert list(adapted.requests()) == [
        Request("f l ʌ n k", source="f l ɪ n k V PST 1 SG"),
        Request("f l ɪ n k t", source="f l ɪ n k V PST 1 SG"),
    ]


def test_scores_relative_to_a_neutral_carrier_are_reported_besides(tmp_path: Path) -> None:
    neutral = word_scorer({"zibbed": -9.0})
    carrier = word_scorer({"zibbed": -6.0, "zab": -5.0, "splinged": -4.0, "splung": -3.0})
    model = FakeScorer(lambda text: (neutral if text.startswith("The word") else carrier).scored(text))
    result = run(write(tmp_path, TABLE), model)
    assert estimate(result, "preference_accuracy").value == 0.5
    # zibbed is 3 nats more probable than in the neutral carrier, zab 4 less
    assert estimate(result, "preference_accuracy:prior").value == 1.0
    only = run(write(tmp_path, TABLE), model, prior="subtract")
    assert estimate(only, "preference_accuracy").value == 1.0


@pytest.mark.parametrize(("normalise", "scores"), [("token", [-1.5, -3.0]), ("character", [-3 / 7, -6 / 4])])
def test_scores_can_be_normalised(tmp_path: Path, normalise: str, scores: list[float]) -> None:
    model = word_scorer({"zibbed": -2.0, "zab": -5.0})
    result = run(write(tmp_path, TABLE), model, normalise=normalise, prior="none")
    assert result.outcomes[0].detail["scores"] == pytest.approx(scores)


def test_causal_scores_equal_a_plain_loop(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = save_causal(tmp_path / "model", "gpt2")
    (suite,) = morphology.read(write(tmp_path, TABLE), {"prior": "none"})
    (result,) = evaluate([suite], cached(open_model(f"causal:{folder}")))
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    for item, outcome in zip(suite.items, [row for row in result.outcomes if "scores" in row.detail], strict=True):
        for form, score in zip(item.forms, outcome.detail["scores"], strict=True):
            totals = []
            for carrier in carriers.carriers_of(item):
                prefix, text = (
                    tokenizer(words)["input_ids"]
                    for words in (
                        carrier.replace("{lemma}", item.lemma).replace(" {form}.", ""),
                        carrier.replace("{lemma}", item.lemma).replace("{form}", form.text),
                    )
                )
                assert text[: len(prefix)] == prefix
                start = [tokenizer.bos_token_id] * (text[0] != tokenizer.bos_token_id)
                ids = torch.tensor([start + text])
                with torch.no_grad():
                    logprobs = model(ids).logits.log_softmax(-1)[0]
                first = len(start) + len(prefix)
                totals.append(sum(float(logprobs[at - 1, ids[0, at]]) for at in range(first, ids.shape[1])))
            assert score == pytest.approx(sum(totals) / len(totals), abs=1e-4)


def test_a_generating_model_gets_the_question_without_a_list(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE)
    (suite,) = morphology.read(path, {})
    model = writer({"zib": "zibbed.", "spling": "It is splinged"})
    questions = [source.text for source in suite.for_model(model).requests()]
    assert "zibbed" not in " ".join(questions)
    assert questions[0].endswith("They like to zib. Yesterday they ___.")
    result = run(path, model)
    assert estimate(result, "exact_match@1").value == 0.5  # people prefer splung
    assert estimate(result, "exact_match@3").value == 1.0
    assert estimate(result, "regular_rate").value == 1.0
    assert result.outcomes[0].detail["answer"] == "zibbed"


@pytest.mark.parametrize(
    ("answer", "form"),
    [("zabs", "zabs"), ('"zibbed".', "zibbed"), ("Yesterday they zibbed.", "zibbed"), ("**zab**", "zab"), ("", "")],
)
def test_the_form_is_found_in_an_answer(answer: str, form: str) -> None:
    forms = (Form("zibbed", "zibbed"), Form("zab", "zab"))
    assert first_word(answer, WugItem("1", "zib", "zib", "", "past", "eng", forms)) == form


def test_a_command_and_a_prompted_model_can_be_asked(tmp_path: Path) -> None:
    program = write(tmp_path, "import sys\nfor line in sys.stdin:\n    print('zibbed', flush=True)\n", "inflect.py")
    path = write(tmp_path, TABLE)
    common = ("--no-save", "--format", "json", "--cache", tmp_path / "cache.db")
    (values,) = wug(
        "run", path, "--kind", "morphology", "--model", f"command:{sys.executable} {program}", *common
    ).values
    assert values["exact_match@1", "all"] == 0.5
    folder = save_causal(tmp_path / "model", "gpt2")
    said = wug("run", path, "--kind", "morphology", "--model", f"prompt:causal:{folder}", *common)
    (result,) = said.results
    assert result["model"].startswith("prompt/")
    assert any(one["metric"] == "exact_match@1" for one in result["estimates"])


QUESTION = (
    "Fill the gap with the right form of the new word. Answer with one word. They like to zib. Yesterday they ___."
)


@pytest.mark.parametrize("template", ["llama", "mistral"])
def test_forms_are_scored_in_the_turn_of_the_assistant_as_by_plain_transformers(tmp_path: Path, template: str) -> None:
    folder = tiny_chat.save(tmp_path / "chat", tiny_chat.TEMPLATES[template])
    path = write(tmp_path, "lemma,form,type,task,language\nzib,zibbed,regular,past,eng\nzib,zab,irregular,past,eng\n")
    (suite,) = morphology.read(path, {"prior": "none", "chat": "score"})
    (result,) = evaluate([suite], cached(open_model(f"causal:{folder}")))
    row = next(row for row in result.outcomes if row.metric == "accuracy")
    tokenizer = tiny_chat.tokenizer(tiny_chat.TEMPLATES[template])
    for form, score in zip(("zibbed", "zab"), row.detail["scores"], strict=True):
        totals = []
        for carrier in carriers.carriers_of(suite.items[0]):
            item = suite.items[0]
            messages = [
                {"role": "user", "content": carriers.question(carrier, item)},
                {"role": "assistant", "content": carriers.fill(carrier, "zib", form)[0]},
            ]
            whole = tokenizer.apply_chat_template(messages, tokenize=False, continue_final_message=True)
            start = whole.rindex(f" {form}.")  # the first token has the space before it
            totals.append(tiny_chat.logprob_after(folder, whole[:start], whole[start:]))
        assert score == pytest.approx(sum(totals) / len(totals), abs=2e-4)
    assert dict(suite.for_model(open_model(f"causal:{folder}")).options)["chat"] == "yes"


def test_a_chat_model_writes_an_answer_to_the_question(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    folder = tiny_chat.save(tmp_path / "chat", tiny_chat.LLAMA)
    (suite,) = morphology.read(write(tmp_path, TABLE), {"chat": "write"})
    (result,) = evaluate([suite], cached(open_model(f"causal:{folder}")))
    row = next(row for row in result.outcomes if row.metric == "exact_match@1")
    tokenizer, model = tiny_chat.tokenizer(tiny_chat.LLAMA), AutoModelForCausalLM.from_pretrained(folder)
    messages = [{"role": "user", "content": QUESTION}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    given = tokenizer(text, add_special_tokens=False, return_tensors="pt")
    new = model.generate(**given, max_new_tokens=24, do_sample=False, pad_token_id=0)[0, given["input_ids"].shape[1] :]
    expected = tokenizer.decode(new, skip_special_tokens=True)
    assert row.detail["question"] == QUESTION
    assert row.detail["outputs"][0].strip() == expected.strip()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-S", "chat=score"), "has no chat template. Name a file with one: -S chat_template=FILE"),
        (("-S", "chat_template=turns.jinja"), "chat_template is for -S chat=score and chat=write"),
    ],
)
def test_a_chat_without_a_template_and_a_template_without_a_chat_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Sequence[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "{{ messages }}", "turns.jinja")
    folder = save_causal(tmp_path / "model", "gpt2")
    path = write(tmp_path, TABLE)
    refused(wug("run", path, "--model", f"causal:{folder}", *options, "--no-save"), message)


def test_a_model_that_reads_no_chat_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="reads no chat"):
        run(write(tmp_path, TABLE), word_scorer(), chat="score")


def test_unknown_tokens_and_real_words_are_reported(tmp_path: Path) -> None:
    class Unknown(FakeScorer):
        def score(self, requests: Sequence[Request]) -> list[Scored]:
            return [
                Scored(one.text, (0, one.span[0]), (one.span[0], len(one.text)), (-1.0, -2.0), ("x", "<unk>"))
                for one in requests
                if one.span is not None
            ]

    lexicon = write(tmp_path, "zab\nhouse\n", "words.txt")
    result = run(write(tmp_path, TABLE), Unknown(), lexicon=str(lexicon))
    assert any("100% of the tokens of the forms are bytes or unknown" in text for text in result.warnings)
    assert "1 of the forms are words of the lexicon: zab" in result.warnings


def test_a_form_without_a_log_probability_leaves_its_item_out(tmp_path: Path) -> None:
    result = run(write(tmp_path, TABLE), word_scorer({"zab": None}))
    assert [row.value for row in result.outcomes if row.detail.get("lemma") == "zib"] == [None]


def test_a_table_in_ipa_may_have_spellings(tmp_path: Path) -> None:
    text = "lemma,form,lemma_orthography,orthography,task,language,rating\nz ɪ b,z ɪ b d,zib,zibbed,past,eng,6\n"
    (suite,) = morphology.read(write(tmp_path, text), {})
    (item,) = suite.items
    assert (item.lemma, item.symbols, item.forms[0].text, item.forms[0].symbols) == (
        "zib",
        "z ɪ b",
        "zibbed",
        "z ɪ b d",
    )


# Metrics.


def test_ties_of_the_model_are_errors_and_ties_of_people_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE.replace("splung,irregular,past,eng,5", "splung,irregular,past,eng,3"))
    result = run(path, word_scorer(), prior="none")
    assert [row.value for row in result.outcomes if row.metric == "preference_accuracy"] == [False, None]
    assert "1 of 2 items left out of the accuracy: people rate several forms highest" in result.warnings


def test_accuracy_can_be_weighted_by_frequency(tmp_path: Path) -> None:
    model = word_scorer({"zab": -9.0, "splung": -9.0})
    result = run(write(tmp_path, TABLE), model, by="token", prior="none")
    assert estimate(result, "preference_accuracy").value == 0.5
    assert estimate(result, "preference_accuracy:token").value == pytest.approx(0.1)
    with pytest.raises(SuiteError, match="by=token needs a column frequency"):
        morphology.read(write(tmp_path, "lemma,form,rating\na,as,1\na,an,2\n", "b.csv"), {"by": "token"})


def test_ratings_at_a_bound_have_no_aic_and_say_so(tmp_path: Path) -> None:
    gold = write(tmp_path, "a\tas\tN;PL\t7\na\tan\tN;PL\t1\nb\tbs\tN;PL\t4\nb\tbn\tN;PL\t2\n", "xxx.dev")
    said = wug("score", "morphology", "--gold", gold, "--predictions", gold, "--format", "json", "--no-save")
    (result,) = said.results
    assert not any(one["metric"] == "aic" for one in result["estimates"])
    assert any("no aic: 1 ratings are not between 0 and 7" in text for text in result["warnings"])


def test_babylm_files_compare_proportions(tmp_path: Path) -> None:
    rows = [("a good", "a bad", 0.9), ("b good", "b bad", 0.2), ("c good", "c bad", 0.6), ("d good", "d bad", 0.4)]
    lines = (json.dumps({"sentences": f"{one}\t{other}", "ratio": ratio}) + "\n" for one, other, ratio in rows)
    model = word_scorer({"a": -1.0, "good": -1.0, "bad": -2.0})
    result = run(write(tmp_path, "".join(lines), "wug_adj.jsonl"), model)
    assert not [one for one in result.estimates if one.metric == "human_ratio_spearman"]  # all choices are equal

    liking = {"a": -1.0, "b": -4.0, "c": -2.0, "d": -3.0}
    model = FakeScorer(text_scores(lambda text: liking[text[0]] if text.endswith("good") else -2.5))
    found = estimate(run(tmp_path / "wug_adj.jsonl", model), "human_ratio_spearman")
    assert found.value == pytest.approx(1.0)
    assert found.n == 4


def test_free_answers_of_people_give_exact_match_and_a_ceiling(tmp_path: Path) -> None:
    gold = write(tmp_path, "zib,gling\nzibbed,glang\nzibbed,glinged\nZab,glang\n", "eng_gold_data.csv")
    system = write(tmp_path, "zib,gling\nzibbed,glung\nzab,glang\n", "eng_system.csv")
    said = wug("score", "morphology", "--gold", gold, "--predictions", system, "--format", "json", "--no-save")
    first, second, mean = said.values
    assert (first["exact_match@1", "all"], second["exact_match@1", "all"]) == (0.5, 0.5)
    assert (first["exact_match@3", "all"], second["exact_match@3", "all"]) == (0.5, 1.0)
    assert mean["exact_match@3", "all"] == 0.75
    spread = next(one for one in said.results[2]["estimates"] if one["metric"] == "exact_match@3")
    assert (spread["low"], spread["high"]) == (0.5, 1.0)  # the population standard deviation is 0.25
    # Each person agrees with the others on one of the two words; of equally frequent answers, the first counts.
    assert first["human_ceiling", "all"] == 0.5


def test_individual_ratings_give_medians_and_a_ceiling(tmp_path: Path) -> None:
    header = "pid\tlist\titem\tnum\tcondition\tpast_rating\tlemma_rating\tisreal\tlemma\tform\n"
    rows = [
        f"{pid}\t1\t1\t1\t1\t{rating + pid / 10}\t0\t{real}\t{lemma}\t{form}\n"
        for pid in (1, 2, 3)
        for lemma, form, rating, real in (
            ("ɡa", "ɡas", 1, 0),
            ("ɡa", "gan", 2, 0),
            ("b", "bs", 3, 0),
            ("c", "cs", 9, 1),
        )
    ]
    path = write(tmp_path, header + "".join(rows), "eng.judgements.individual.dev")
    (suite,) = morphology.read(path, {})
    assert [(item.lemma, item.ratings) for item in suite.items] == [("ga", (1.2, 2.2)), ("b", (3.2,))]
    gold = write(tmp_path, "g a\tg a s\tV;PST\t1\ng a\tg a n\tV;PST\t2\n", "eng.judgements.dev")
    arguments = ("--gold", gold, "--predictions", gold, "--individual", path, "--format", "json", "--no-save")
    (values,) = wug("score", "morphology", *arguments).values
    assert values["human_ceiling", "all"] == pytest.approx(1.0)


# Bad input.


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("a\tas\tN;PL\t1\n", "no score for 'an' of 'a' (line 2)"),
        ("a\tas\tN;PL\t1\na\tan\tN;PL\t2\na\tax\tN;PL\t3\n", "line 3: the form 'ax' of 'a' is not in the gold file"),
        ("a\tas\tN;PL\tnan\na\tan\tN;PL\t2\n", "line 1: the score 'nan' is not a finite number"),
        ("a\tas\tN;PL\t1\na\tan\tN;PL\t2\na\tan\tN;PL\t3\n", "line 3: 'an' of 'a' has more scores than the gold file"),
        ("a\tas\n", "line 1: 2 fields, expected lemma, form, tag, score"),
        ("", "the file is empty"),
    ],
)
def test_scores_that_do_not_fit_the_gold_file_are_refused(tmp_path: Path, lines: str, message: str) -> None:
    gold = write(tmp_path, "a\tas\tN;PL\t3\na\tan\tN;PL\t2\n", "xxx.dev")
    system = write(tmp_path, lines, "system.tsv")
    refused(wug("score", "morphology", "--gold", gold, "--predictions", system, "--no-save"), message)


def test_a_lemma_with_one_form_is_a_named_exclusion(tmp_path: Path) -> None:
    gold = write(tmp_path, "a\tas\tN;PL\t3\na\tan\tN;PL\t2\nb\tbs\tN;PL\t4\n", "xxx.dev")
    said = wug("score", "morphology", "--gold", gold, "--predictions", gold, "--format", "json", "--no-save")
    (result,) = said.results
    assert any("1 lemmas with one form only" in text and "line 3" in text for text in result["warnings"])


@pytest.mark.parametrize(
    ("carrier", "message"),
    [
        ("Now there are two {form}.", "{lemma} once"),
        ("Two {form} and a {lemma}.", "comes before"),
        ("A {lemma}. Two {form} sleep.", "ends after {form}"),
        ("Some {lemma}s. Two {form}.", "followed by letters"),
    ],
)
def test_carriers_with_wrong_material_are_refused(tmp_path: Path, carrier: str, message: str) -> None:
    path = write(tmp_path, f"This is a {{lemma}}. Two {{form}}.\n{carrier}\n", "carriers.txt")
    with pytest.raises(SuiteError, match=re.escape(message)) as caught:
        morphology.read(write(tmp_path, TABLE), {"carriers": str(path)})
    assert "line 2" in str(caught.value)


def test_a_carrier_that_shows_a_candidate_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "I zab and {lemma}. They {form}.\n", "carriers.txt")
    with pytest.raises(SuiteError, match="shows the form 'zab' before the gap"):
        morphology.read(write(tmp_path, TABLE), {"carriers": str(path)})


def test_files_without_word_forms_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no word forms found"):
        morphology.read(write(tmp_path, "hello world\n", "text.txt"), {})
    with pytest.raises(SuiteError, match="line 2: rating is 'x', not a number"):
        morphology.read(write(tmp_path, "a\tas\tN;PL\t3\na\tan\tN;PL\tx\n", "eng.dev"), {})


# Built-in suites, and making more.


@pytest.mark.parametrize("name", [name for name, path in builtin_suites().items() if path.parent.name == "morphology"])
def test_built_in_suites_are_balanced_and_have_one_regular_form_each(name: str) -> None:
    (suite,) = open_suites(name)
    assert isinstance(suite, MorphologySuite)
    assert len(suite) == 60
    assert all(len(item.forms) == 4 and item.regular == item.expected for item in suite.items)
    places = [item.expected for item in suite.items]
    assert all(5 <= places.count(place) <= 27 for place in range(4))  # the order tells nothing
    pytest.importorskip("wordfreq")
    (language,) = {item.language for item in suite.items}
    known = set(make.word_list(language))
    assert not known & {text.lower() for item in suite.items for text in (item.lemma, *(f.text for f in item.forms))}
    assert morphology.check(builtin_suites()[name], {}) == []


@pytest.mark.parametrize(("language", "unseen"), [("deu", set()), ("nld", {"jgd"})])
def test_letters_follow_each_other_as_in_frequent_words(language: str, unseen: set[str]) -> None:
    pytest.importorskip("wordfreq")
    known = {f"^{word}$"[at : at + 3] for word in make.word_list(language)[:100_000] for at in range(len(word))}
    items = [item for suite in open_suites("wug_morphology") for item in suite.items]  # type: ignore[attr-defined]
    words = [
        text.lower()
        for item in items
        if item.language == language
        for text in (item.lemma, item.forms[item.expected].text)
    ]
    found = {f"^{word}$"[at : at + 3] for word in words for at in range(len(word))}
    assert len(words) == 240
    assert found - known == unseen  # as in hijgden, which is rarer


def test_no_word_is_in_two_built_in_suites_of_a_language() -> None:
    items = [item for suite in open_suites("wug_morphology") for item in suite.items]  # type: ignore[attr-defined]
    assert Counter(item.language for item in items) == {"eng": 360, "deu": 120, "nld": 120}
    assert len({(item.language, item.lemma) for item in items}) == 600


@pytest.mark.parametrize(
    ("language", "task", "lemma", "forms"),
    [
        ("deu", "plural", r"([A-Z].*)e", ("{0}en",)),
        ("deu", "plural", r"([A-Z].*el)", ("{0}n", "{0}")),  # feminine, masculine
        ("deu", "plural", r"([A-Z].*)o", ("{0}os",)),
        ("deu", "participle", r"(.*[td])en", ("ge{0}et",)),
        ("deu", "participle", r"(.*[^td])en", ("ge{0}t",)),
        ("nld", "plural", r"(.*el)", ("{0}s",)),
        ("nld", "plural", r"(?!.*el$)(.*[^aeiou][aeiou])([dgklmnpt])", ("{0}{1}{1}en",)),
        ("nld", "plural", r"(.*)([aeo])\2(.)", ("{0}{1}{2}en",)),
        ("nld", "past_plural", r"(.*[^pk])([pk])\2?en", ("{0}{1}ten",)),
        ("nld", "past_plural", r"(.*[^aeiou][aeiou])([gmnl])\2en", ("{0}{1}den",)),
        ("nld", "past_plural", r"(.*[^aeiou])([aeo])([gmnl])en", ("{0}{1}{1}{2}den",)),
    ],
)
def test_regular_forms_of_german_and_dutch_words_follow_the_rule_of_their_ending(
    language: str, task: str, lemma: str, forms: tuple[str, ...]
) -> None:
    pytest.importorskip("wordfreq")
    rows = [row for row in make.make(task, 48, 5, language=language) if row["type"] == "regular"]
    found = [(match.groups(), row["form"]) for row in rows if (match := re.fullmatch(lemma, row["lemma"]))]
    assert found
    for parts, form in found:
        assert form in {text.format(*parts) for text in forms}
    if task == "plural" and language == "deu":
        genders = {row["task"] for row in rows if row["form"] == row["lemma"]}
        assert genders == {"plural_masculine"}  # only masculine nouns have no ending


def test_words_are_made_by_seed_and_far_from_frequent_words(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        assert wug("make", "morphology", "plural", "--seed", seed, "--items", 9, "-o", path).code == 0
    first, second, third = (path.read_text(encoding="utf-8") for path in paths)
    assert first == second != third
    (suite,) = morphology.read(paths[0], {})
    frequent = set(make.word_list("eng")[: make.FREQUENT_WORDS])
    for lemma in (item.lemma for item in suite.items):
        assert not frequent & {lemma, *make._single_edits(lemma)}
    assert (
        sorted(item.groups["ending"] for item in suite.items) == ["sibilant"] * 3 + ["voiced"] * 3 + ["voiceless"] * 3
    )
    refused(wug("make", "morphology", "plural", "-o", paths[0]), "a.csv")


@pytest.mark.parametrize(
    ("language", "spellings"),
    [
        ("eng", {"wug": "wugg", "rick": "rick", "gloap": "gloap", "squen": "squenn"}),
        ("nld", {"blop": "blopp", "praam": "pram", "blijk": "blijk"}),
        ("deu", {"tramm": "tramm"}),
    ],
)
def test_roots_are_spelled_before_vowels_as_in_their_language(language: str, spellings: Mapping[str, str]) -> None:
    assert {root: make.before_vowel(root, language) for root in spellings} == spellings


def test_a_task_that_a_language_does_not_have_is_refused(tmp_path: Path) -> None:
    said = wug("make", "morphology", "past", "--language", "deu", "-o", tmp_path / "a.csv")
    refused(said, "no new words for past in the language deu. There are: participle, plural")


# The page.


def test_the_page_has_the_sentence_the_forms_with_bars_and_the_choices_of_people(tmp_path: Path) -> None:
    result = run(write(tmp_path, TABLE), word_scorer({"zibbed": -2.0, "zab": -2.0 - math.log(3)}), prior="none")
    rows = table_of(result.outcomes)
    shown = items_of(result, rows)
    placed = next(iter(rows.each(Filter("preference_accuracy"))))
    item = shown.show(placed, [placed])
    assert item.sentence == "They like to zib. Yesterday they ___."
    text = "\n".join(item_lines(item))
    assert "75.0" in text
    assert "25.0" in text
    assert "zibbed" in text
    assert [type(part).__name__ for part in computed_parts(parts_of(result, rows))].count("TablePart") == 1


def test_an_answer_is_shown_with_what_people_say(tmp_path: Path) -> None:
    result = run(write(tmp_path, TABLE), writer({"zib": "zub", "spling": "splung"}))
    rows = table_of(result.outcomes)
    placed = next(iter(rows.each(Filter("exact_match@1"))))
    text = "\n".join(item_lines(items_of(result, rows).show(placed, [placed])))
    assert "zub" in text
    assert "zibbed" in text


def test_the_page_opens_with_the_task_both_sentences_and_the_chance_level(tmp_path: Path) -> None:
    table = "lemma,form,type,task,language\nzib,zibbed,regular,past,eng\nzib,zab,irregular,past,eng\n"
    result = run(write(tmp_path, table), word_scorer({"zibbed": -3.0, "zab": -2.0}), prior="none")
    rows = table_of(result.outcomes)
    intro = intro_of(result, rows, items_of(result, rows))
    assert intro.question == "Does the model form the past tense of new verbs?"
    assert intro.example is not None
    assert [(line.label, "".join(piece.text for piece in line.pieces)) for line in intro.example.lines] == [
        ("expected", "They like to zib. Yesterday they zibbed."),
        ("preferred", "They like to zib. Yesterday they zab."),
    ]
    assert result_chance(result, "accuracy") == 0.5
