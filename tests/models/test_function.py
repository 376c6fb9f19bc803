"""A Python function is a model: the same results as the backend that scores the same weights, or a clear error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import tiny
import wug
from wug.testing import check_backend

PAIRS = [
    {"sentence_good": "the boy swims quickly .", "sentence_bad": "the boy swim quickly ."},
    {"sentence_good": "the authors near the park swim .", "sentence_bad": "the authors near the park swims ."},
]
SUITES = ("wug_coord", "wug_agreement_pp", "wug_places", "wug_plurals")
"""One of each family that scores texts: pairs, SyntaxGym, choices, word formation."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_causal(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def by_token(folder: Path) -> Callable[[list[str]], object]:
    """Plain transformers: each text alone after its BOS token, with the tokenizer's own offsets."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def score(texts: list[str]) -> list[list[tuple[int, int, float]]]:
        return [one(text) for text in texts]

    def one(text: str) -> list[tuple[int, int, float]]:
        encoded = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
        ids = torch.tensor([[tokenizer.bos_token_id, *encoded["input_ids"]]])
        with torch.no_grad():
            logprobs = model(ids).logits[0].log_softmax(-1)
        each = zip(encoded["offset_mapping"], encoded["input_ids"], strict=True)
        return [(start, end, float(logprobs[place, token])) for place, ((start, end), token) in enumerate(each)]

    return score


def flattened(value: object, path: str = "") -> dict[str, object]:
    """Every text and number in an outcome's details, down to single tokens, by its path."""
    if isinstance(value, Mapping):
        below = [(str(name), one) for name, one in value.items()]
    elif isinstance(value, list | tuple):
        below = [(str(place), one) for place, one in enumerate(value)]
    else:
        return {path: value}
    return {name: found for key, one in below for name, found in flattened(one, f"{path}/{key}").items()}


@pytest.mark.parametrize("name", SUITES)
def test_a_function_around_transformers_gives_the_results_of_causal(
    name: str, folder: Path, by_token: Callable[[list[str]], object]
) -> None:
    (mine,) = wug.run(name, by_token, limit=12)
    (theirs,) = wug.run(name, f"causal:{folder}", limit=12)
    assert mine.model == "function/score"
    assert [(one.item, one.metric, one.groups) for one in mine.outcomes] == [
        (one.item, one.metric, one.groups) for one in theirs.outcomes
    ]
    for one, other in zip(mine.outcomes, theirs.outcomes, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-4)
        assert flattened(one.detail) == pytest.approx(flattened(other.detail), abs=1e-4)
    for mean, other_mean in zip(mine.estimates, theirs.estimates, strict=True):
        assert mean.value == pytest.approx(other_mean.value, abs=1e-4)


def test_tokens_and_word_surprisals_are_those_of_causal(folder: Path, by_token: Callable[[list[str]], object]) -> None:
    mine, theirs = wug.open_model(by_token), wug.open_model(folder)
    for text in tiny.sentences(20, seed=3):
        one, other = mine.score(text), theirs.score(text)
        assert (one.starts, one.ends) == (other.starts, other.ends)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    texts = tiny.sentences(5, seed=4)
    words, expected = (wug.surprisal(texts, model, entropy=False) for model in (mine, theirs))
    assert words["word"] == expected["word"]
    assert words["surprisal"] == pytest.approx(expected["surprisal"], abs=1e-4)


def test_reading_times_are_predicted_as_by_causal(folder: Path, by_token: Callable[[list[str]], object]) -> None:
    texts = tiny.sentences(30, seed=5)
    words = [(text, place, word) for text, sentence in enumerate(texts) for place, word in enumerate(sentence.split())]
    table = wug.Table(
        {
            "text": [f"t{text}" for text, _, _ in words],
            "position": [place for _, place, _ in words],
            "word": [word for _, _, word in words],
            "rt": [200.0 + 7 * len(word) + 13 * (place % 5) for _, place, word in words],
        }
    )
    mine, theirs = (
        wug.reading(table, "rt", "length", models=model, text="text", word="word", position="position", folds=3)
        for model in (wug.open_model(by_token), wug.open_model(folder))
    )
    assert mine.words["word"] == theirs.words["word"]
    assert mine.words["ll_target"] == pytest.approx(theirs.words["ll_target"], abs=1e-4)
    for one, other in zip(mine.results[0].estimates, theirs.results[0].estimates, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-4)


def test_one_number_per_text_is_enough_for_sentences_and_nothing_else() -> None:
    def by_text(texts: list[str]) -> list[float]:
        return [-float(len(text)) for text in texts]

    (result,) = wug.run(wug.read_suite(PAIRS), by_text)
    assert result.headline is not None
    assert result.headline.value == 0.5  # "swims" is longer than "swim", once in the good and once in the bad one
    (failed,) = wug.run("wug_agreement_pp", by_text, limit=1)
    assert failed.status == "failed"
    assert "Return one (start, end, logprob) per token" in failed.warnings[0]
    (per_token,) = wug.run(wug.read_suite(PAIRS, normalise="token"), by_text)
    assert per_token.status == "failed"
    with pytest.raises(wug.WugError, match="per token"):
        wug.surprisal("the boy", by_text)


def test_a_function_that_returns_texts_takes_suites_for_generators(tmp_path: Path) -> None:
    path = tmp_path / "tasks_test_small.txt"
    path.write_text("IN: jump OUT: I_JUMP\nIN: walk twice OUT: I_WALK I_WALK\n")
    answers = {"jump": "I_JUMP", "walk twice": "I_WALK"}
    (result,) = wug.run(path, lambda sources: [answers[source] for source in sources])
    assert (result.model, result.headline and result.headline.value) == ("function/lambda", 0.5)


class Lengths:
    """A scorer as people write one."""

    def __init__(self) -> None:
        self.calls = 0

    def score(self, texts: list[str]) -> list[float]:
        self.calls += 1
        return [-float(len(text)) for text in texts]


def test_outputs_are_cached_only_with_a_version(tmp_path: Path) -> None:
    suite, mine = wug.read_suite(PAIRS), Lengths()
    for _ in range(2):
        wug.run(suite, mine, cache=tmp_path / "cache.db")
    assert mine.calls == 2
    named = wug.open_model(mine, name="lengths", version="3")
    for _ in range(2):
        wug.run(suite, named, cache=tmp_path / "cache.db")
    assert (named.id, mine.calls) == ("function/lengths@3", 3)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (lambda texts: -1.0, "returned float for 2 texts: return a list"),
        (lambda texts: [-1.0], "returned 1 outputs for 2 texts"),
        (lambda texts: texts, 'open it with returns="text"'),
        (lambda texts: [3.5, 3.5], "Negate surprisals"),
        (lambda texts: [float("nan")] * 2, "nan is not a log-probability"),
        (lambda texts: [[("the", -1.0)]] * 2, "return one log-probability (nats), or one (start, end, logprob)"),
        (lambda texts: [[(0, 99, -1.0)]] * 2, "is outside the"),
        (lambda texts: [[(4, 5, -1.0), (0, 3, -1.0)]] * 2, "tokens out of order"),
        (lambda texts: [None, None], "returned NoneType"),
    ],
)
def test_what_is_no_log_probability_is_refused(output: Callable[[list[str]], Any], message: str) -> None:
    with pytest.raises(wug.WugError) as caught:
        wug.open_model(output, name="wrong").score(["the boy", "the girl"])
    assert message in str(caught.value)


def test_names_tell_functions_apart() -> None:
    suite, mine = wug.read_suite(PAIRS), Lengths()
    with pytest.raises(wug.WugError, match="two models are called function/Lengths: give them names"):
        wug.run(suite, [mine, Lengths()])
    named = wug.open_model(mine, name="other")
    assert [one.model for one in wug.run(suite, [mine, named])] == ["function/Lengths", "function/other"]
    with pytest.raises(wug.WugError, match="name='a b'"):
        wug.open_model(mine, name="a b")
    with pytest.raises(wug.WugError, match="Did you mean 'version'"):
        wug.open_model(mine, versoin="1")
    with pytest.raises(wug.WugError, match="returns"):
        wug.open_model(mine, returns="texts")


def test_a_function_of_a_module_conforms_to_the_interface_of_backends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_lengths.py").write_text(
        "def score(texts):\n    return [-len(text) for text in texts]\n\n\ndef echo(sources):\n    return sources\n"
    )
    check_backend("function", "my_lengths:score")
    check_backend("function", "my_lengths:echo", {"returns": "text", "version": "2"})
    with pytest.raises(wug.WugError, match="Did you mean 'score'"):
        wug.open_model("function:my_lengths:scoer")
    with pytest.raises(wug.WugError, match="cannot be imported"):
        wug.open_model("function:no_such_module:score")
