"""Outputs from a file instead of a model: `replay:surprisals.tsv`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wug import registry
from wug.alignment import ENDS, STARTS, align
from wug.errors import InputError, ModelError
from wug.files import checksum, not_json, read_bytes, read_lines, user_path
from wug.models.spec import ModelSpec
from wug.models.tokenization.token_offsets import exact_spans
from wug.options import Option
from wug.requests import LN2, Request, Scored, Token
from wug.scores import logprob_of
from wug.traits import BackendTraits

TRAITS = BackendTraits()
"""Or text, by the content of the file."""
OPTIONS = (
    Option(
        "sentences",
        Path,
        None,
        "the sentences that a surprisal table (sentence_id, token_id, token, surprisal) is about, one per line",
    ),
)

ZOO = ("sentence_id", "token_id", "token", "surprisal")
"""The columns of LM Zoo's surprisal tables; surprisal in bits."""


class ReplayScorer:
    """Scores read from a file."""

    options: Mapping[str, str] = {}
    chunk = 100_000
    ordered = False

    def __init__(self, name: str, scored: Mapping[str, Scored]) -> None:
        self.id, self._scored = name, scored

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """The file's output for each request."""
        for request in requests:
            if request.text not in self._scored:
                raise ModelError(f"{self.id} has no answer to {request.text!r} among its {len(self._scored):,} texts")
        return [self._scored[request.text] for request in requests]


class ReplayGenerator:
    """Predictions read from a file."""

    options: Mapping[str, str] = {}
    chunk = 100_000

    def __init__(self, name: str, answers: Mapping[str, str]) -> None:
        self.id, self._answers = name, answers

    def generate(self, sources: Sequence[str]) -> list[str]:
        """The file's answer to each source; spaces at the ends of a source do not matter."""
        for source in sources:
            if " ".join(source.split()) not in self._answers:
                raise ModelError(f"{self.id} has no answer to {source!r} among its {len(self._answers):,} sources")
        return [self._answers[" ".join(source.split())] for source in sources]


def load(spec: ModelSpec) -> ReplayScorer | ReplayGenerator:
    """Load a file; its content tells the format."""
    sentences = spec.read(OPTIONS)["sentences"]
    path = user_path(spec.name)
    name = f"replay/{path.name}@{checksum(read_bytes(path))}"
    lines = read_lines(path)
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        return _from_jsonl(path, lines, name)
    if tuple(first.split("\t")) == ZOO:
        return ReplayScorer(name, _from_surprisals(path, lines, sentences))
    return ReplayGenerator(name, _from_predictions(path))


def _from_jsonl(path: Path, lines: list[str], name: str) -> ReplayScorer | ReplayGenerator:
    scored: dict[str, Scored] = {}
    answers: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        problem, place = "", f"line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(not_json(error), file=path, place=place) from None
        match row:
            case {"text": str(text), "tokens": list(tokens), "logprobs": list(logprobs)}:
                answer = _scored(text, tokens, logprobs, path, place)
                if scored.setdefault(text, answer) != answer:
                    problem = f"another answer to {text!r:.80}"
            case {"source": str(source), "prediction": str(prediction)}:
                if answers.setdefault(" ".join(source.split()), prediction) != prediction:
                    problem = f"another answer to {source!r:.80}"
            case _:
                problem = 'expected {"text": …, "tokens": […], "logprobs": […]} or {"source": …, "prediction": …}'
        if problem:
            raise InputError(problem, file=path, place=place)
    if scored and answers:
        raise InputError("has both scores and predictions: split it into two files", file=path)
    return ReplayScorer(name, scored) if scored else ReplayGenerator(name, answers)


def _scored(text: str, tokens: Sequence[Any], logprobs: Sequence[Any], path: Path, place: str) -> Scored:
    if len(tokens) != len(logprobs):
        raise InputError(f"{len(tokens)} tokens but {len(logprobs)} logprobs", file=path, place=place)
    try:
        values = [logprob_of(value) for value in logprobs]
        spans = _spans(text, [str(token) for token in tokens])
    except InputError as error:
        raise InputError(error.message, file=path, place=place) from None
    return Scored.of(text, [Token(str(t), a, b, p) for t, (a, b), p in zip(tokens, spans, values, strict=True)])


def _spans(text: str, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """The spans of tokens: exact if they make up the text, else aligned."""
    first, last = 0, len(tokens)
    while first < last and tokens[first] in STARTS:
        first += 1
    while last > first and tokens[last - 1] in ENDS:
        last -= 1
    spans = exact_spans(text, tokens[first:last])
    if spans is None:
        return align(text, tokens)
    return [(0, 0)] * first + spans + [(len(text), len(text))] * (len(tokens) - last)


def _from_surprisals(path: Path, lines: list[str], sentences: Path | None) -> dict[str, Scored]:
    texts = [line.strip() for line in read_lines(_sentences_of(path, sentences)) if line.strip()]
    tokens: defaultdict[int, list[str]] = defaultdict(list)
    logprobs: defaultdict[int, list[float | None]] = defaultdict(list)
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        row, place = line.split("\t"), f"line {number}"
        try:
            sentence, _, token, surprisal = row
            bits = float(surprisal)
            tokens[int(sentence)].append(token)
            logprobs[int(sentence)].append(logprob_of(-bits * LN2))
        except ValueError:
            raise InputError(f"expected {' '.join(ZOO)} with numbers, found {row!r}", file=path, place=place) from None
        except InputError as error:
            raise InputError(f"surprisal {surprisal}: {error.message}", file=path, place=place) from None
    if sorted(tokens) != list(range(1, len(texts) + 1)):
        raise InputError(f"has {len(tokens)} sentences where the file of sentences has {len(texts)}", file=path)
    return {text: _scored(text, tokens[i], logprobs[i], path, f"sentence {i}") for i, text in enumerate(texts, 1)}


def _sentences_of(path: Path, sentences: Path | None) -> Path:
    if sentences is not None:
        return sentences
    candidates = sorted(path.parent.glob("*sentences*.txt*"))
    if len(candidates) == 1:
        return candidates[0]
    raise InputError(
        "a surprisal table needs its sentences: put them into its folder as sentences.txt, or name them with "
        f"-M sentences=FILE ({len(candidates)} files in its folder match)",
        file=path,
    )


def _from_predictions(path: Path) -> dict[str, str]:
    """The answers in a file of predictions, by the first family that can read it."""
    errors = []
    for read in (family.read_answers for family in registry.families() if family.read_answers):
        try:
            return read(path)
        except InputError as error:
            errors.append(error)
    raise errors[0]
