"""How minimal pairs are presented: in a chat template, after a text, and in questions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import tiny_chat
import tiny_masked
import tiny_seq2seq
import wug
from command_line import refused
from command_line import wug as run_wug
from wug.evaluation.evaluate import build_result
from wug.families import pairs as family
from wug.families.pairs.presentation import published, read_prompt
from wug.families.pairs.questions import parse_answer
from wug.families.pairs.suite import PairsSuite
from wug.outcomes import Result
from wug.requests import Chat, ChatWrapper, Request, Scored

PAIRS = (("the boy swims .", "the boy swim ."), ("the authors see that girl .", "the authors sees that girl ."))
CHOICE = "Which one?\n\nA: {a}\nB: {b}"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    templates = {**tiny_chat.TEMPLATES, "plain": None}
    return {name: tiny_chat.save(folder / name, template) for name, template in templates.items()}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    rows = [{"sentence_good": good, "sentence_bad": bad} for good, bad in PAIRS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(suite: Path, model: Path, **options: str) -> wug.Results:
    return wug.run([suite], models=[f"causal:{model}"], options=options)


def rows(results: wug.Results, metric: str = "accuracy") -> list[dict[str, Any]]:
    table = results.outcomes.to_pandas()
    return [dict(row) for _, row in table[table["metric"] == metric].iterrows()]


# --- against plain transformers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", tiny_chat.TEMPLATES)
def test_sentences_in_a_template_have_the_scores_of_plain_transformers(
    name: str, models: Mapping[str, Path], suite: Path
) -> None:
    from transformers import AutoTokenizer

    system = name in ("llama", "qwen")
    options = {"system": "Be brief."} if system else {}
    found = rows(run(suite, models[name], method="in_template", request="Write one sentence.", **options))
    messages = [{"role": "system", "content": "Be brief."}] * system
    messages.append({"role": "user", "content": "Write one sentence."})
    before = AutoTokenizer.from_pretrained(models[name]).apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True
    )
    for row, (good, bad) in zip(found, PAIRS, strict=True):
        assert (row["good"], row["bad"]) == (good, bad)
        ours = [tiny_chat.logprob_after(models[name], before, text) for text in (good, bad)]
        assert [row["logprob_good"], row["logprob_bad"]] == pytest.approx(ours, abs=1e-4)
        assert row["value"] == (ours[0] > ours[1])


@pytest.mark.parametrize("name", tiny_chat.TEMPLATES)
def test_a_forced_choice_in_a_chat_has_the_scores_of_plain_transformers(
    name: str, models: Mapping[str, Path], suite: Path
) -> None:
    from transformers import AutoTokenizer

    found = rows(run(suite, models[name], method="forced_choice", prompt=CHOICE, labels="A,B"))
    assert [row["order"] for row in found] == ["good_first", "bad_first"] * 2
    for row in found:
        shown = (row["good"], row["bad"]) if row["order"] == "good_first" else (row["bad"], row["good"])
        content = f"Which one?\n\nA: {shown[0]}\nB: {shown[1]}"
        before = AutoTokenizer.from_pretrained(models[name]).apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
        first, second = (tiny_chat.logprob_after(models[name], before, label) for label in "AB")
        assert [row["logprob_first"], row["logprob_second"]] == pytest.approx([first, second], abs=1e-4)
        assert row["value"] == ((first > second) == (row["order"] == "good_first"))
        assert row["answer"] == ("A" if first > second else "B")


def test_a_published_prompt_without_template_has_its_labels_after_a_space(
    models: Mapping[str, Path], suite: Path
) -> None:
    results = run(suite, models["llama"], method="forced_choice", prompt="hu-frank-2024", chat_template="no")
    for row in rows(results):
        shown = (row["good"], row["bad"]) if row["order"] == "good_first" else (row["bad"], row["good"])
        before = (
            "<|endoftext|>\nWhich of the following two sentences is more grammatically correct in English? Respond "
            f"with 1 or 2 as your answer.\nSentence 1: {shown[0]}\nSentence 2: {shown[1]}\nAnswer:"
        )
        first, second = (tiny_chat.logprob_after(models["llama"], before, label) for label in (" 1", " 2"))
        assert [row["logprob_first"], row["logprob_second"]] == pytest.approx([first, second], abs=1e-4)
    signature = results[0].signature
    assert (signature.get("prompt"), signature.get("labels"), signature.get("chat")) == ("hu-frank-2024", "1,2", "no")


def test_a_preamble_is_read_and_not_scored(models: Mapping[str, Path], suite: Path) -> None:
    found = rows(run(suite, models["plain"], method="preamble", prompt=r"Here is one:\n\n{sentence}"))
    for row in found:
        expected = tiny_chat.logprob_after(models["plain"], "<|endoftext|>Here is one:\n\n", row["good"])
        assert row["logprob_good"] == pytest.approx(expected, abs=1e-4)


def test_yes_no_asks_about_each_sentence(models: Mapping[str, Path], suite: Path) -> None:
    results = run(suite, models["gemma"], method="yes_no", prompt="ide-2025-yn-1")
    for row in rows(results):
        for sentence in ("good", "bad"):
            # Gemma's template takes no system turn: the text of the published prompt comes before the user's.
            before = (
                "<|endoftext|><|start|>user\nYour task is to evaluate the quality of given text. Is the following "
                "sentence grammatically acceptable? Respond with Yes or No as your answer.\n\n"
                f"{row[sentence]}<|end|>\n<|start|>model\n"
            )
            yes, no = (tiny_chat.logprob_after(models["gemma"], before, label) for label in ("Yes", "No"))
            found = [row[f"logprob_yes_{sentence}"], row[f"logprob_no_{sentence}"]]
            assert found == pytest.approx([yes, no], abs=1e-4)
    assert results[0].signature.get("system_turn") == "no"
    assert any("different numbers of tokens" in text for text in results[0].warnings)  # Y·es, N·o or No


def test_links_are_computed_of_sentences_in_a_template(models: Mapping[str, Path], suite: Path) -> None:
    found = rows(run(suite, models["qwen"], method="in_template", link="character"))
    assert found[0]["score_good"] == pytest.approx(found[0]["logprob_good"] / len(PAIRS[0][0]))


# --- judging, by hand -----------------------------------------------------------------------------------------------


class Form:
    """A template that renders everything as it is."""

    def has_template(self, template: str | None) -> bool:
        return True

    def refuses_system(self, template: str | None) -> str | None:
        return None

    def wrapper(self, chat: Chat) -> ChatWrapper:
        return ChatWrapper("abc", ("about the template",))

    def check(self, requests: Sequence[Request]) -> None:
        pass


@dataclass
class Answers:
    """A model with given log-probabilities (None: not listed) of labels, or given texts, for each question."""

    answers: Mapping[str, tuple[float | None, float | None] | str]
    labels: tuple[str, str] = ("A", "B")
    has_tokens: bool = True
    id: str = "causal/given@1"
    chunk: int = 2
    ordered: bool = False
    returns: str = "scores"
    options: Mapping[str, str] = field(default_factory=dict)
    chat: Form = field(default_factory=Form)

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        return list(map(self._one, requests))

    def _one(self, request: Request) -> Scored:
        chat = request.conversation
        assert chat is not None
        found = self.answers[chat.messages[-1][1]]
        if isinstance(found, str):
            assert request.generate == 8
            return Scored("", (0,), (0,), (None,), (found,))
        value = found[self.labels.index(request.text)]
        if not self.has_tokens:
            return Scored(request.text, (), (), ())
        return Scored(request.text, (0,), (len(request.text),), (value,))


def judged(path: Path, model: Answers, **options: str) -> Result:
    (suite,) = family.read(path, options)
    assert isinstance(suite, PairsSuite)
    adapted = suite.for_model(model)  # type: ignore[arg-type]
    return build_result(adapted, model.id, "x", adapted.run(model))


def value(result: Result, metric: str, group: str = "all") -> float:
    return next(one.value for one in result.estimates if (one.metric, one.group) == (metric, group))


def pairs_file(folder: Path, *named: str) -> Path:
    path = folder / "named.jsonl"
    path.write_text(
        "".join(json.dumps({"sentence_good": f"{n} good", "sentence_bad": f"{n} bad"}) + "\n" for n in named)
    )
    return path


FORCED = {"method": "forced_choice", "prompt": "{a}/{b}"}


def test_the_metrics_of_a_forced_choice_by_hand(tmp_path: Path) -> None:
    # x: right in both orders. y: always A, by more where A is good. z: a tie, then wrong.
    model = Answers({
        "x good/x bad": (-1.0, -2.0), "x bad/x good": (-3.0, -1.0),
        "y good/y bad": (-1.0, -3.0), "y bad/y good": (-2.0, -2.5),
        "z good/z bad": (-2.0, -2.0), "z bad/z good": (-1.0, -4.0),
    })  # fmt: skip
    result = judged(pairs_file(tmp_path, "x", "y", "z"), model, **FORCED)
    assert value(result, "accuracy") == 3 / 6
    assert value(result, "accuracy", "order=good_first") == 2 / 3
    assert value(result, "accuracy", "order=bad_first") == 1 / 3
    assert value(result, "accuracy_both_orders") == 1 / 3
    assert value(result, "accuracy_either_order") == 2 / 3
    # Margins of the good sentence: x 1 + 2, y 2 - 0.5, z 0 - 3.
    assert value(result, "accuracy_mean_margin") == 2 / 3
    # Label 1, good first against bad first: x -1 > -3, y -1 > -2, z -2 < -1. Label 2: -1 > -2, -2.5 > -3, -4 < -2.
    assert value(result, "accuracy_same_label", "label=1") == 2 / 3
    assert value(result, "accuracy_same_label", "label=2") == 2 / 3
    assert value(result, "first_option_rate") == 4 / 6
    logprobs = (-1, -2, -3, -1, -1, -3, -2, -2.5, -2, -2, -1, -4)
    assert value(result, "answer_mass") == pytest.approx(sum(map(math.exp, logprobs)) / 6)
    assert value(result, "invalid") == 0
    assert "1 question with equally probable labels, counted as failures" in result.warnings
    assert "about the template" in result.warnings
    assert result.n == 3


def test_improbable_labels_are_named(tmp_path: Path) -> None:
    path = pairs_file(tmp_path, "x")
    model = Answers({"x good/x bad": (-5.0, -6.0), "x bad/x good": (-6.0, -5.0)})
    assert any("mean probability of 0.0092" in text for text in judged(path, model, **FORCED).warnings)


def test_a_label_that_a_server_does_not_list_is_less_probable_than_one_that_it_does(tmp_path: Path) -> None:
    model = Answers({
        "x good/x bad": (-1.0, None), "x bad/x good": (-0.5, -2.0),
        "y good/y bad": (None, None), "y bad/y good": (None, -1.0),
    })  # fmt: skip
    result = judged(pairs_file(tmp_path, "x", "y"), model, **FORCED)
    assert value(result, "accuracy") == 2 / 4
    assert value(result, "invalid") == 1 / 4
    assert all(one.metric != "accuracy_mean_margin" for one in result.estimates)  # no pair has both margins
    assert [one.detail["logprob_second"] for one in result.outcomes if one.metric == "accuracy"] == [None, -2, None, -1]
    assert any(text.startswith("2 questions with one label among the listed tokens") for text in result.warnings)
    assert "1 of 4 questions without a usable answer (invalid), counted as failures" in result.warnings


def test_a_label_without_a_token_of_its_own_leaves_the_presentation_unjudged(tmp_path: Path) -> None:
    model = Answers({"x good/x bad": (-1.0, -2.0), "x bad/x good": (-1.0, -2.0)}, has_tokens=False)
    result = judged(pairs_file(tmp_path, "x"), model, **FORCED)
    assert [one.value for one in result.outcomes] == [None, None]
    assert any("2 judgements not made: a token crosses the boundary" in text for text in result.warnings)


def test_the_metrics_of_yes_and_no_by_hand(tmp_path: Path) -> None:
    model = Answers(
        {
            "x good?": (-1.0, -2.0), "x bad?": (-2.0, -1.0),
            "y good?": (-1.0, -3.0), "y bad?": (-1.0, -2.0),
            "z good?": (-2.0, -2.0), "z bad?": (-1.0, -1.0),
        },
        ("Yes", "No"),
    )  # fmt: skip
    result = judged(pairs_file(tmp_path, "x", "y", "z"), model, method="yes_no", prompt="{sentence}?")
    assert value(result, "accuracy") == 2 / 3  # margins 1 > -1, 2 > 1, and 0 is not above 0
    assert value(result, "balanced_accuracy") == 3 / 6
    assert value(result, "balanced_accuracy", "sentence=good") == 2 / 3
    assert value(result, "balanced_accuracy", "sentence=bad") == 1 / 3
    assert value(result, "yes_rate") == 3 / 6
    (first, *_) = (one for one in result.outcomes if one.metric == "accuracy")
    assert first.detail["logprob_yes_good"] == -1
    assert (first.detail["answer_good"], first.detail["answer_bad"]) == ("Yes", "No")
    assert "2 questions with equally probable labels, counted as failures" in result.warnings


def test_margins_that_a_server_does_not_tell_leave_yes_and_yes_unjudged(tmp_path: Path) -> None:
    model = Answers({"x good?": (-1.0, None), "x bad?": (-2.0, None)}, ("Yes", "No"))
    result = judged(pairs_file(tmp_path, "x"), model, method="yes_no", prompt="{sentence}?")
    assert [one.value for one in result.outcomes if one.metric == "accuracy"] == [None]
    assert value(result, "yes_rate") == 1


def test_generated_answers_are_judged_and_kept(tmp_path: Path) -> None:
    model = Answers({
        "x good/x bad": "A", "x bad/x good": " **B**. It is",
        "y good/y bad": "I cannot say.", "y bad/y good": "A or B",
    })  # fmt: skip
    result = judged(pairs_file(tmp_path, "x", "y"), model, **FORCED, answer="text")
    assert value(result, "accuracy") == 2 / 4
    assert value(result, "invalid") == 2 / 4
    assert value(result, "first_option_rate") == 1 / 4
    assert value(result, "accuracy_both_orders") == 1 / 2
    assert [one.detail["answer"] for one in result.outcomes if one.metric == "accuracy"][2:] == [
        "I cannot say.",
        "A or B",
    ]
    assert not {one.metric for one in result.estimates} & {"accuracy_mean_margin", "accuracy_same_label", "answer_mass"}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("A", "A"), (" B.", "B"), ("(A)", "A"), ("**B**", "B"), ('"A"', "A"), ("A: the boy swims", "A"),
        ("A is better than B", "A"), ("a", None), ("An answer", None), ("AB", None), ("A and B", None), ("A/B", None),
        ("A, B", None), ("Neither", None), ("", None), ("The answer is A", None),
    ],
)  # fmt: skip
def test_an_answer_is_the_label_at_the_beginning(text: str, label: str | None) -> None:
    assert parse_answer(text, ("A", "B")) == label


@pytest.mark.parametrize(
    ("text", "label"), [("yes", "Yes"), ("NO, it is", "No"), ("Nobody", None), ("Yes or no", None), ("[No]", "No")]
)
def test_the_case_of_words_does_not_count(text: str, label: str | None) -> None:
    assert parse_answer(text, ("Yes", "No")) == label


# --- the command line, and errors -----------------------------------------------------------------------------------


def test_several_methods_give_one_result_each(models: Mapping[str, Path], suite: Path) -> None:
    methods = "direct,in_template,preamble,forced_choice,yes_no"
    said = run_wug("run", suite, "--model", f"causal:{models['llama']}", "-S", f"method={methods}", "--format", "json")
    found = [dict(part.split(":", 1) for part in one["signature"].split("|")) for one in said.results]
    assert [one["method"] for one in found] == methods.split(",")
    groups = {one["group"] for one in said.results[3]["estimates"]}
    assert groups >= {"all", "order=good_first", "order=bad_first", "label=1", "label=2"}


def test_the_default_prompts_depend_on_the_template(models: Mapping[str, Path], suite: Path) -> None:
    names = [run(suite, models[name], method="forced_choice")[0].signature.get("prompt") for name in ("qwen", "plain")]
    assert names == ["ide-2025-ab-1", "hu-frank-2024"]


def test_a_template_from_a_file_takes_the_place_of_the_tokenizers(
    models: Mapping[str, Path], suite: Path, tmp_path: Path
) -> None:
    file = tmp_path / "chat.jinja"
    file.write_text(tiny_chat.GEMMA)
    found = rows(run(suite, models["plain"], method="in_template", chat_template=str(file)))
    before = "<|endoftext|><|start|>user\nWrite one sentence.<|end|>\n<|start|>model\n"
    assert found[0]["logprob_good"] == pytest.approx(
        tiny_chat.logprob_after(models["plain"], before, PAIRS[0][0]), abs=1e-4
    )


@pytest.mark.parametrize(
    ("model", "options", "parts"),
    [
        ("plain", ["method=in_template"], ["chat template", "-S chat_template=FILE", "method=preamble"]),
        ("mistral", ["method=in_template", "system=Be brief."], ["system", "drops"]),
        ("gemma", ["method=in_template", "system=Be brief."], ["System role not supported"]),
        ("qwen", ["method=yes_no", "system=Be brief.", "chat_template=no"], ["system is a turn of a chat"]),
        ("qwen", ["method=in_template", "chat_template=no"], ["needs a chat template"]),
        ("qwen", ["method=forced_choice", "prompt=Which? {a}"], ["lacks a field", "{a} and {b}"]),
        ("qwen", ["method=forced_choice", "prompt=Which? {a} {b} {c}"], ["unknown field {c}"]),
        ("qwen", ["method=forced_choice", "prompt=hu-frank-2025"], ["hu-frank-2024"]),
        ("qwen", ["method=forced_choice", "prompt=ide-2025-yn-1"], ["is for method=yes_no"]),
        ("qwen", ["method=forced_choice", "labels=A,A"], ["the labels are the same"]),
        ("qwen", ["method=forced_choice", "labels=A,AB"], ["the beginning of the other"]),
        ("qwen", ["method=forced_choice", "labels=A"], ["write two labels"]),
        ("qwen", ["method=preamble", "prompt={sentence} Right?"], ["the prompt ends with {sentence}"]),
        ("qwen", ["request=Write."], ["request is for method=in_template"]),
        ("qwen", ["method=forced_choice", "link=token"], ["link has no meaning"]),
        ("qwen", ["method=in_template", "target=word"], ["leave out target=word"]),
        ("qwen", ["method=chat"], ["use one of direct, in_template"]),
        ("qwen", ["method=in_template", "chat_template=nothing.jinja"], ["nothing.jinja"]),
    ],
)
def test_errors_name_the_reason_and_the_remedy(
    model: str, options: list[str], parts: list[str], models: Mapping[str, Path], suite: Path
) -> None:
    given = [word for option in options for word in ("-S", option)]
    refused(run_wug("run", suite, "--model", f"causal:{models[model]}", *given, "--format", "json"), *parts)


def test_sentences_with_control_tokens_are_refused_before_anything_is_computed(
    models: Mapping[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"sentence_good": "the boy swims .", "sentence_bad": "the <|end|> boy"}) + "\n")
    said = run_wug("run", path, "--model", f"causal:{models['llama']}", "-S", "method=in_template", "--format", "json")
    refused(said, "'<|end|>', a control token")


@pytest.mark.parametrize("method", ["in_template", "forced_choice", "yes_no", "preamble"])
def test_masked_models_and_encoder_decoders_name_what_they_can_do(method: str, suite: Path, tmp_path: Path) -> None:
    masked, t5 = tiny_masked.save_masked(tmp_path / "masked"), tiny_seq2seq.save_seq2seq(tmp_path / "t5")
    for model in ([f"masked:{masked}"], [f"seq2seq:{t5}", "-M", "score=source"]):
        said = run_wug("run", suite, "--model", *model, "-S", f"method={method}", "--format", "json")
        refused(said, f"method={method}", "It can do method=direct")


def test_a_dry_run_counts_requests_and_finds_errors(models: Mapping[str, Path], suite: Path) -> None:
    given = ("run", suite, "--model", f"causal:{models['gemma']}", "--dry-run")
    # Two pairs in two orders with two labels.
    assert "8 requests to compute" in run_wug(*given, "-S", "method=forced_choice").out
    assert "System role not supported" in run_wug(*given, "-S", "method=in_template", "-S", "system=Be brief.").out


def test_pairs_with_a_context_are_not_shown_in_questions(models: Mapping[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"sentence_good": "a b", "sentence_bad": "a c", "context": "the boy ."}) + "\n")
    said = run_wug("run", path, "--model", f"causal:{models['qwen']}", "-S", "method=yes_no", "--format", "json")
    refused(said, "context")


def test_python_scores_a_sentence_after_a_chat(models: Mapping[str, Path]) -> None:
    model = wug.open_model(f"causal:{models['gemma']}")
    scored = model.score(wug.Request("the boy swims .", chat=[("user", "Write one sentence.")]))
    before = "<|endoftext|><|start|>user\nWrite one sentence.<|end|>\n<|start|>model\n"
    expected = tiny_chat.logprob_after(models["gemma"], before, "the boy swims .")
    assert scored.text == "the boy swims ."
    assert scored.logprob() == pytest.approx(expected, abs=1e-4)


def test_every_published_prompt_can_be_asked() -> None:
    assert len(published()) == 23
    for name, prompt in published().items():
        assert read_prompt(name) is prompt
        assert prompt.fits(prompt.kind)
        fields = {"a": "the boy {b}", "b": "a girl"} if prompt.kind == "forced_choice" else {"sentence": "the boy"}
        assert all(text in prompt.fill(**fields) for text in fields.values())


def test_prompts_are_those_of_the_reference() -> None:
    import tomllib

    from reference import reference

    expected = tomllib.loads(reference("judgements/prompts.toml").read_text())
    assert list(published()) == list(expected)
    for name, one in expected.items():
        found = published()[name]
        assert (found.text, found.system) == (one["prompt"], one.get("system", ""))
        assert list(found.labels) == one.get("labels", [])
