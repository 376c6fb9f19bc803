"""Outputs from a file: refusals with the line of a wrong value, and the offsets of parts of characters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wug.errors import InputError
from wug.models import replay
from wug.models.replay import ReplayScorer
from wug.models.spec import ModelSpec
from wug.requests import Request, Scored


def scored(folder: Path, text: str, tokens: list[str], logprobs: list[Any]) -> Scored:
    """What a file of two lines, the second of them the one in question, says of its text."""
    file = folder / "scores.jsonl"
    rows = [
        {"text": "ok", "tokens": ["ok"], "logprobs": [-1.0]},
        {"text": text, "tokens": tokens, "logprobs": logprobs},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    model = replay.load(ModelSpec("replay", str(file)))
    assert isinstance(model, ReplayScorer)
    (found,) = model.score([Request(text)])
    return found


@pytest.mark.parametrize("value", [0.5, 1.1e-6, float("inf"), float("-inf"), float("nan"), 10**400, True, "-1"])
def test_what_is_no_log_probability_is_refused_with_its_line(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InputError, match=r"scores\.jsonl, line 2: .* is not a log-probability") as fault:
        scored(tmp_path, "a b", ["a", " b"], [None, value])
    assert len(str(fault.value)) < 300


def test_what_rounding_leaves_above_0_counts_as_0(tmp_path: Path) -> None:
    assert scored(tmp_path, "a b", ["a", " b"], [-1, 9e-7]).logprobs == (-1.0, 0.0)


@pytest.mark.parametrize(("surprisal", "line"), [("-0.1", 3), ("inf", 3), ("nan", 3)])
def test_what_is_no_surprisal_is_refused_with_its_line(tmp_path: Path, surprisal: str, line: int) -> None:
    (tmp_path / "sentences.txt").write_text("The dogs\n")
    table = tmp_path / "surprisals.tsv"
    table.write_text(f"sentence_id\ttoken_id\ttoken\tsurprisal\n1\t1\tThe\t2.5\n1\t2\tdogs\t{surprisal}\n")
    with pytest.raises(InputError, match=rf"surprisals\.tsv, line {line}: surprisal {surprisal}"):
        replay.load(ModelSpec("replay", str(table)))


# "naïve" is six bytes, of which "ï" has two: C3 AF. "日" is E6 97 A5, "本" E6 9C AC.
@pytest.mark.parametrize(
    ("text", "tokens", "starts"),
    [
        ("so naïve", ["so", "Ġna", "Ã", "¯", "ve"], (0, 3, 5, 5, 6)),
        ("so naïve", ["so", "Ġna", "Ã", "¯ve"], (0, 3, 5, 5)),
        ("so naïve", ["▁so", "▁na", "<0xC3>", "<0xAF>", "ve"], (0, 3, 5, 5, 6)),
        ("so naïve", ["so", " na", "", "", "ve"], (0, 3, 5, 5, 6)),
        ("so naïve", ["so", " na", "\ufffd", "\ufffd", "ve"], (0, 3, 5, 5, 6)),
        ("so naïve", ["<|endoftext|>", "so", "Ġna", "Ã", "¯", "ve", "<|endoftext|>"], (0, 0, 3, 5, 5, 6, 8)),
        ("日本", ["æ", "Ĺ¥æ", "ľ", "¬"], (0, 0, 1, 1)),
        ("SÃO", ["S", "Ã", "O"], (0, 1, 2)),
    ],
)
def test_a_part_of_a_character_counts_where_the_character_begins(
    tmp_path: Path, text: str, tokens: list[str], starts: tuple[int, ...]
) -> None:
    values = [-float(place) for place in range(len(tokens))]
    found = scored(tmp_path, text, tokens, values)
    assert found.starts == starts
    assert found.logprobs == tuple(values)


@pytest.mark.parametrize(
    ("text", "tokens", "rest"),
    [
        ("The dogs bark.", ["The", " dogs", " bark"], "no token is left for '.'"),
        ("the dogs bark!", ["The", "dogs", "bark"], "no token is left for '!'"),
        ("so naïve", ["so", "Ġna", "Ã", "ve"], "'ve', does not fit|'Ã', does not fit"),
    ],
)
def test_tokens_that_do_not_reach_the_end_of_their_text_are_refused(
    tmp_path: Path, text: str, tokens: list[str], rest: str
) -> None:
    with pytest.raises(InputError, match=rf"line 2: .*({rest})"):
        scored(tmp_path, text, tokens, [-1.0] * len(tokens))


def test_a_tokenizer_that_leaves_out_punctuation_may_leave_out_the_last(tmp_path: Path) -> None:
    found = scored(tmp_path, "Yes, dogs - bark.", ["yes", "dogs", "bark"], [-1.0, -2.0, -3.0])
    assert found.starts == (0, 5, 12)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"text": "a b", "tokens": ["a", " b"], "logprobs": [-1, -2]}, {"logprobs": [-1, -3]}),
        ({"source": "copy A", "prediction": "A"}, {"prediction": "B"}),
    ],
)
def test_two_answers_to_one_text_are_refused_unless_they_are_the_same(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any]
) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in (first, first)), encoding="utf-8")
    replay.load(ModelSpec("replay", str(file)))
    file.write_text("".join(json.dumps(row) + "\n" for row in (first, {**first, **second})), encoding="utf-8")
    with pytest.raises(InputError, match=r"answers\.jsonl, line 2: another answer to '(a b|copy A)'"):
        replay.load(ModelSpec("replay", str(file)))


def test_a_table_with_two_predictions_for_one_source_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.tsv"
    file.write_text("source\ttarget\tprediction\ncopy A1\tA1\tA1\ncopy A1\tA1\tB1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"2 different predictions for 'copy A1'"):
        replay.load(ModelSpec("replay", str(file)))
