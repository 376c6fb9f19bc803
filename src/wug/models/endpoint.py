"""OpenAI-compatible completions servers (vLLM, SGLang, …): `endpoint:http://localhost:8000/v1?model=NAME`."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from wug.errors import InputError, ModelError, suggestion
from wug.files import checksum
from wug.judges.alignment import STARTS
from wug.models import _asking
from wug.models._endpoint_answers import Echo, read_echo, read_text
from wug.models._endpoint_http import Address, Client, Refusal
from wug.models._endpoint_places import Span, places, suffix
from wug.models._endpoint_pool import at_once
from wug.models._settings import choice, seconds, whole
from wug.models._spec import ModelSpec
from wug.models.prompt import ANSWER, DEFAULT, Template, _read_examples, _unescaped
from wug.types import Answer, Request, Scored

ANSWERS = "scores"
"""Or text, with mode=generate."""
OPTIONS: Mapping[str, str] = {
    "model": "what the server calls the model; may be left out where it has one alone",
    "mode": "score (default), or generate for suites that ask for text",
    "key": "the environment variable that has the key; by default OPENAI_API_KEY, where it is set",
    "bos": "a start mark to put before every text, such as <|endoftext|>; by default what the server does",
    "concurrency": "questions under way at once; default 16",
    "timeout": "seconds that an answer may take; default 120",
    "retries": "further tries where the server is busy or away; default 6",
    "dtype": "the server's number format, for the signature: it cannot be asked for it",
    "id": "a version of your own, for a server that changes without its model's name changing",
    "template": "with mode=generate, the prompt, as for prompt: models. Default: {source} ->",
    "examples": "with mode=generate, a file of examples to begin every prompt with, source<TAB>answer a line",
    "stop": r"with mode=generate, what ends an answer; default \n",
    "max_length": "with mode=generate, tokens of an answer at most; by default 4 for each letter of its source, "
    "128 at least, 1024 at most",
}
GENERATING = ("template", "examples", "stop", "max_length")
PROBE = "Nobody knew what the boy saw near the park."
WAYS: tuple[Mapping[str, Any], ...] = (
    {"echo": True, "logprobs": 1, "max_tokens": 1},
    {"echo": True, "logprobs": 1, "max_tokens": 0},
    {"prompt_logprobs": 0, "max_tokens": 1},
)
"""How the log-probabilities of a prompt are asked for, the most usual way first.

One token is asked for and cut off: to llama-cpp-python 0 means as many as there is room for, vLLM computes one anyway.
"""
NEUTRAL = {"temperature": 1.0, "top_p": 1.0}
"""Some servers apply the settings of sampling to log-probabilities too."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server and the model that it is asked about."""

    client: Client
    model: str
    identity: str
    """Everything that the server says about the model."""
    threads: int

    def ask(self, prompt: str, settings: Mapping[str, Any], retries: int | None = None) -> Any:
        """The server's answer to one prompt."""
        return self.client.post("/completions", {"model": self.model, "prompt": prompt, **settings}, retries)

    def ask_all(self, prompts: Sequence[str], ask: Callable[[str], Any]) -> list[Any]:
        """What `ask` makes of each prompt, in order, several at once."""
        self.client.go_on()
        return at_once(prompts, ask, threads=self.threads, break_off=self.client.break_off)


class EndpointScorer:
    """A server that scores texts."""

    __slots__ = ("_leads", "_mark", "_server", "_way", "chunk", "id", "options", "ordered")

    def __init__(self, server: Server, spec: ModelSpec) -> None:
        self._server = server
        self._mark = spec.options.get("bos", "")
        self._way, self._leads = _probe(server, self._mark)
        self.id = f"endpoint/{server.model}@{checksum(server.identity)}"
        self.options = {"bos": self._mark or ("yes" if self._leads else "no"), **_noted(spec)}
        self.chunk = 16 * server.threads
        self.ordered = False

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order, in natural logarithms."""
        texts = list(dict.fromkeys(request.text for request in requests))
        scored = dict(zip(texts, self._server.ask_all(texts, self._one), strict=True))
        return [_cut(scored[request.text], request.span) for request in requests]

    def _one(self, text: str) -> Scored:
        if not text:
            return Scored("", (), (), ())
        found = self._server.ask(self._mark + text, {**NEUTRAL, **self._way})
        try:
            return scored_echo(text, read_echo(found, written=self._way["max_tokens"]), self._leads)
        except InputError as error:
            raise ModelError(
                f"{self._server.client.address}: the answer about {text[:80]!r} cannot be used: {error.message}"
            ) from None


class EndpointGenerator:
    """A server that continues prompts."""

    __slots__ = ("_bound", "_server", "_stop", "_template", "chunk", "id", "options")

    def __init__(self, server: Server, spec: ModelSpec) -> None:
        options = spec.options
        examples = _read_examples(Path(options["examples"]).expanduser()) if "examples" in options else []
        self._template = Template.of(options.get("template", DEFAULT), examples)
        self._stop = _unescaped(options.get("stop", r"\n"))
        if not self._stop:
            raise InputError("option stop is empty: leave it out, or write what ends an answer")
        self._bound = whole(options, "max_length")
        self._server = server
        self.id = f"endpoint/{server.model}@{checksum(server.identity)}"
        self.options = {
            "mode": "generate",
            "template": self._template.before + self._template.gap + ANSWER + self._template.after,
            "stop": self._stop,
            "max_length": str(self._bound or "auto"),
            **({"examples": checksum(self._template.examples)} if examples else {}),
            **_noted(spec),
        }
        self.chunk = 4 * server.threads

    def generate(self, sources: Sequence[str]) -> list[Answer]:
        """One answer for each source, in order."""
        return _asking.once(sources, self._ask)

    def _ask(self, sources: list[str]) -> list[Answer]:
        return self._server.ask_all(sources, self._one)

    def _one(self, source: str) -> Answer:
        # How many tokens a source has is not known here: half as many as letters are enough for most.
        longest = _asking.longest_answer(len(source) // 2, self._bound)
        settings = {"temperature": 0.0, "max_tokens": longest, "stop": [self._stop]}
        try:
            text, ended = read_text(self._server.ask(self._template.prompt(source), settings))
        except InputError as error:
            raise ModelError(
                f"{self._server.client.address}: the answer to {source[:80]!r} cannot be used: {error.message}"
            ) from None
        answer, stopped, _ = text.partition(self._stop)
        return _asking.answer(answer.strip(), ended=ended or bool(stopped))


def load(spec: ModelSpec) -> EndpointScorer | EndpointGenerator:
    """The model at the address that `spec` has, after a question to see whether it answers as needed."""
    spec = _taken_apart(spec)
    options = spec.checked(OPTIONS)
    generates = choice(options, "mode", ("score", "generate")) == "generate"
    for name in ("bos",) if generates else GENERATING:
        if name in options:
            raise InputError(f"option {name} is of no use {'with' if generates else 'without'} mode=generate")
    retries = options.get("retries", "6")
    if not retries.isascii() or not retries.isdigit() or int(retries) > 1000:
        raise InputError(f"option retries={retries!r}: write a whole number")
    client = Client(
        Address.of(spec.name),
        key=_key(options.get("key")),
        timeout=seconds(options, "timeout") or 120.0,
        retries=int(retries),
    )
    server = _find_model(client, options.get("model"), whole(options, "concurrency") or 16)
    return EndpointGenerator(server, spec) if generates else EndpointScorer(server, spec)


def scored_echo(text: str, echo: Echo, leads: bool | None = None) -> Scored:
    """The text with its tokens' places and log-probabilities.

    `leads` says whether a start mark stands before the text's own tokens; None finds out.
    """
    first = 1 if (leads if leads is not None else _is_led(text, echo)) else 0
    spans = _spans(text, echo, first)
    logprobs = echo.logprobs[first:]
    # A token of white space before a text's first word may come first; nothing else lacks a log-probability.
    for place, value in enumerate(logprobs):
        if value is None and (place > 0 or first):
            raise InputError(f"it has no log-probability for token {first + place + 1} of {len(echo.tokens)}")
    return Scored(text, tuple(a for a, _ in spans), tuple(b for _, b in spans), logprobs)


def _spans(text: str, echo: Echo, first: int) -> list[Span]:
    known = [token for token in echo.tokens[first:] if token is not None]
    offsets = None if echo.offsets is None else echo.offsets[first:]
    if len(known) == len(echo.tokens) - first:
        return places(text, known, offsets)
    found = suffix(text, known)
    if found is None:
        raise InputError("its first token has no text, and the others do not make up the end of the text")
    before = text[: found[0][0]] if found else text
    return [(_start(text), max(_start(text), len(before.rstrip()))), *found]


def _is_led(text: str, echo: Echo) -> bool:
    """Whether a start mark stands first: a token without log-probability that is no part of the text."""
    if len(echo.tokens) < 2 or echo.logprobs[0] is not None:
        return False
    first, rest = echo.tokens[0], [token for token in echo.tokens[1:] if token is not None]
    if first is None:
        found = suffix(text, rest) or []
        return bool(found) and found[0][0] == _start(text)
    if not first or (first in STARTS and not text.startswith(first)):
        return True
    if text.lstrip().startswith(first.strip()):
        return False
    try:
        places(text, rest, None if echo.offsets is None else echo.offsets[1:])
    except InputError:
        return False
    return True


def _probe(server: Server, mark: str) -> tuple[Mapping[str, Any], bool]:
    """The way in which the server gives log-probabilities of a prompt, and whether a start mark leads it."""
    faults: list[str] = []
    for way in WAYS:
        try:
            echo = read_echo(server.ask(mark + PROBE, {**NEUTRAL, **way}, retries=2), written=way["max_tokens"])
            if mark and (echo.tokens[:1] not in ((mark,), (None,), ("",)) or echo.tokens[1:2] == (mark,)):
                raise InputError(
                    f"it begins with the tokens {list(echo.tokens[:3])} where bos={mark} should be one token and alone"
                )
            leads = True if mark else _is_led(PROBE, echo)
            scored_echo(PROBE, echo, leads)
        except (InputError, Refusal) as error:
            if isinstance(error, Refusal) and error.status not in (400, 404, 405, 422, 501):
                raise
            faults.append(error.message if isinstance(error, InputError) else str(error))
        else:
            return way, leads
    shown = "; ".join(dict.fromkeys(faults))
    raise ModelError(
        f"{server.client.address}: {server.model!r} gives no usable log-probabilities of a prompt ({shown}). vLLM and "
        "SGLang give them at /v1/completions as they come; llama-cpp-python with --logits_all true; llama-server and "
        "servers that only chat do not. For suites that ask for text: -M mode=generate"
    )


def _taken_apart(spec: ModelSpec) -> ModelSpec:
    """The spec with the options that stand in the address; those of -M win."""
    name, _, query = spec.name.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    return replace(spec, name=name, options={**given, **spec.options})


def _key(variable: str | None) -> str | None:
    """The key from the environment. It is never an option itself: the command line is kept with the run."""
    name = "OPENAI_API_KEY" if variable is None else variable
    found = (os.environ.get(name) or "").strip() if name.isidentifier() else ""
    if not found and variable is not None:
        raise InputError("option key: there is no environment variable of that name. Name the variable, not the key")
    if not found.isascii() or not found.isprintable():
        raise InputError(f"what the environment variable {name} has is no key: it cannot be sent")
    return found or None


def _find_model(client: Client, wanted: str | None, threads: int) -> Server:
    """The server with the model that is wanted, or the only one there is."""
    try:
        listed = client.get("/models", retries=1)
    except Refusal as error:
        if wanted is None or error.status not in (400, 404, 405, 501):
            raise
        listed = {}
    entries = listed.get("data") if isinstance(listed, dict) else None
    known: dict[str, dict[str, Any]] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            known[entry["id"]] = entry
    if wanted is None:
        if len(known) != 1:
            names = f" It has: {', '.join(list(known)[:12])}" if known else ""
            raise InputError(f"{client.address}: say which model is meant, with -M model=NAME.{names}")
        (wanted,) = known
    elif known and wanted not in known:
        raise ModelError(f"{client.address} has no model {wanted!r}.{suggestion(wanted, known)}")
    said = {name: known.get(wanted, {}).get(name) for name in ("root", "parent", "meta")}
    # A server that says nothing of the model behind the name is known by its address alone.
    where = "" if any(said.values()) else str(client.address)
    return Server(client, wanted, json.dumps([wanted, where, said], sort_keys=True), threads)


def _noted(spec: ModelSpec) -> dict[str, str]:
    return {name: spec.options[name] for name in ("dtype", "id") if name in spec.options}


def _cut(scored: Scored, span: Span | None) -> Scored:
    """Without the tokens after the span: nothing asks for them."""
    if span is None:
        return scored
    here = slice(0, bisect_left(scored.starts, span[1]))
    return Scored(scored.text, scored.starts[here], scored.ends[here], scored.logprobs[here])


def _start(text: str) -> int:
    """Where the first visible character stands."""
    return len(text) - len(text.lstrip())
