"""OpenAI-compatible completions servers (vLLM, SGLang, …): `endpoint:http://localhost:8000/v1?model=NAME`."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from wug.errors import InputError, ModelError
from wug.files import checksum
from wug.models.decoding import outputs
from wug.models.endpoint.answers import EchoFormat, ServerRequest, in_order, read_text
from wug.models.prompt import prompting, signature
from wug.models.spec import EXAMPLES, MAX_LENGTH, STOP, TEMPLATE, Loading, ModelSpec
from wug.options import Option
from wug.requests import Answer, Generator, Request, Scored, Scorer, Span
from wug.traits import BackendTraits

if TYPE_CHECKING:
    from wug.models.endpoint.client import Server
    from wug.models.tokenization.chat_templates import ChatTemplate

REQUESTS_PER_CONNECTION = 16
"""Requests of a chunk per concurrent connection. At the end of a chunk some connections wait for the others."""


class EndpointScorer:
    """A server that scores texts."""

    def __init__(self, server: Server, spec: ModelSpec) -> None:
        from wug.models.endpoint.calibration import EXACT_NATS, ROUGH_NATS, calibrate
        from wug.models.endpoint.chat import EndpointChat

        self._server = server
        bos = spec.options.get("bos", "")
        exact = spec.options.get("dtype", "float32").lower() in ("float32", "fp32", "f32", "float")
        self._echo_format: EchoFormat | ModelError
        try:
            self._echo_format = calibrate(server, bos, exact=exact)
        except ModelError as error:
            self._echo_format = error
        tokenizer = _tokenizer(spec)
        self.chat = EndpointChat(server, self._echo_format, tokenizer, EXACT_NATS if exact else ROUGH_NATS)
        if isinstance(self._echo_format, ModelError) and not self.chat.is_offered:
            raise self._echo_format
        self.id = f"endpoint/{server.model}@{checksum(server.identity)}"
        self.options = {"bos": bos or _bos_option(self._echo_format), **_declared_options(spec)}
        if isinstance(self._echo_format, EchoFormat) and self._echo_format.first_unscored:
            self.options["first_word"] = "unscored"
        self.chunk = REQUESTS_PER_CONNECTION * server.client.threads
        self.ordered = False

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One output per request, in order, in nats."""
        return in_order(self.stream(requests), len(requests))

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[Sequence[int], Sequence[Scored]]]:
        """Positions and outputs, as soon as the server has responded."""
        chats: dict[int, Request] = {}
        texts: dict[str, list[int]] = {}
        for position, request in enumerate(requests):
            if request.chat is not None or request.generate:
                chats[position] = request
            else:
                texts.setdefault(request.text, []).append(position)
        if empty := texts.pop("", []):
            yield empty, [Scored("", (), (), ())] * len(empty)
        if texts and isinstance(self._echo_format, ModelError):
            reason = str(self._echo_format)
            raise ModelError(f"{reason}. It can answer questions about pairs: -S method=forced_choice, yes_no")
        server_requests = [self._server_request(positions, requests) for positions in texts.values()]
        yield from self._server.answer_each([*server_requests, *self.chat.server_requests(chats)])

    def _server_request(self, positions: Sequence[int], requests: Sequence[Request]) -> ServerRequest[Scored]:
        """A text for which there may be several requests, with different spans."""
        assert isinstance(self._echo_format, EchoFormat)
        echo_format, text = self._echo_format, requests[positions[0]].text

        def read(answer: object) -> list[Scored]:
            scored = echo_format.scored(text, answer)
            return [_cut(scored, requests[position].span) for position in positions]

        body = {"prompt": echo_format.bos + text, **echo_format.settings}
        return ServerRequest("/completions", body, text, positions, read)


def _declared_options(spec: ModelSpec) -> dict[str, str]:
    """What the user says about the server, for the signature."""
    return {name: spec.options[name] for name in ("dtype", "id") if name in spec.options}


def _tokenizer(spec: ModelSpec) -> ChatTemplate | None:
    if "tokenizer" not in spec.options:
        return None
    from wug.models.huggingface.loading import tokenizer_of
    from wug.models.tokenization.chat_templates import ChatTemplate

    tokenizer_spec = ModelSpec("endpoint", spec.options["tokenizer"])
    return ChatTemplate(tokenizer_of(tokenizer_spec, Loading()), str(spec))


def _bos_option(echo_format: EchoFormat | ModelError) -> str:
    """Whether a BOS token comes before every text."""
    if isinstance(echo_format, ModelError):
        return "unsaid"
    if echo_format.has_bos:
        return "yes"
    return "unsaid" if echo_format.hidden_tokens is None else "no"


def _cut(scored: Scored, span: Span | None) -> Scored:
    if span is None:
        return scored
    # White space at the end of a text belongs to a span to there.
    before_end = slice(0, bisect_left(scored.starts, span[1] + (span[1] == len(scored.text))))
    return Scored(scored.text, scored.starts[before_end], scored.ends[before_end], scored.logprobs[before_end])


class EndpointGenerator:
    """A server that continues prompts."""

    def __init__(self, server: Server, spec: ModelSpec, options: Mapping[str, Any]) -> None:
        self._template, self._stop = prompting(options)
        self._bound: int | None = options["max_length"]
        self._server = server
        self.id = f"endpoint/{server.model}@{checksum(server.identity)}"
        self.options = {"mode": "generate", **signature(options, self._template, self._stop), **_declared_options(spec)}
        self.chunk = REQUESTS_PER_CONNECTION * server.client.threads

    def generate(self, sources: Sequence[str]) -> list[Answer]:
        """One answer per source, in order."""
        return in_order(self.stream(sources), len(sources))

    def stream(self, sources: Sequence[str]) -> Iterator[tuple[Sequence[int], Sequence[Answer]]]:
        """Positions and answers, as soon as the server has responded."""
        by_source: dict[str, list[int]] = {}
        for position, source in enumerate(sources):
            by_source.setdefault(source, []).append(position)
        return self._server.answer_each([self._server_request(*entry) for entry in by_source.items()])

    def _server_request(self, source: str, positions: Sequence[int]) -> ServerRequest[Answer]:
        # The number of tokens is unknown here: most sources have at most half as many as letters.
        longest = outputs.token_limit(len(source) // 2, self._bound)
        settings = {"temperature": 0.0, "max_tokens": longest, "stop": [self._stop]}

        def read(answer: object) -> list[Answer]:
            text, ended = read_text(answer)
            completion, stopped, _ = text.partition(self._stop)
            return [outputs.make_answer(completion.strip(), ended=ended or bool(stopped))] * len(positions)

        body = {"prompt": self._template.prompt(source), **settings}
        return ServerRequest("/completions", body, source, positions, read)


TRAITS = BackendTraits(
    verbatim_names=True, remote=True, to_score="Open it without mode=generate", to_generate="Open it with mode=generate"
)
"""With mode=generate it returns text."""
OPTIONS = (
    Option("model", str, None, "the server's name of the model; may be left out if it has only one"),
    Option("mode", ("score", "generate"), "score", "generate is for suites that need text"),
    Option("key", str, None, "the environment variable with the key; default: OPENAI_API_KEY, if it is set"),
    Option(
        "bos", str, None, "a BOS token to put before every text, such as <|endoftext|>; default: what the server does"
    ),
    Option(
        "tokenizer",
        str,
        None,
        "folder of the model's tokenizer, or its name on the Hugging Face Hub, to render chats here",
    ),
    Option("concurrency", int, 16, "concurrent requests", least=1),
    Option("timeout", float, 120.0, "timeout of a whole request in seconds", least=0.001, most=1e7),
    Option("retries", int, 6, "retries if the server is busy or away", least=0, most=9999),
    Option(
        "dtype",
        str,
        None,
        "the server's dtype, for the signature. Any but float32 allows larger differences in the calibration",
    ),
    Option("id", str, None, "a version that you choose, for a server that changes without a new model name"),
    replace(TEMPLATE, help="with mode=generate, the prompt, as for prompt: models"),
    replace(EXAMPLES, help=f"with mode=generate, {EXAMPLES.help}"),
    replace(STOP, help="with mode=generate, what ends an output"),
    replace(
        MAX_LENGTH,
        help="with mode=generate, maximum number of tokens of an output; default: 4 per letter of its source, from "
        "128 to 1024",
    ),
)
GENERATING = ("template", "examples", "stop", "max_length")


def load(spec: ModelSpec) -> Scorer | Generator:
    """Connect to a server and check its responses."""
    name, _, query = spec.name.partition("?")
    query_options = dict(parse_qsl(query, keep_blank_values=True))
    spec = replace(spec, name=name, options={**query_options, **spec.options})  # those of -M override the address's
    options = spec.read(OPTIONS)
    generates = options["mode"] == "generate"
    for option in ("bos",) if generates else GENERATING:
        if option in spec.options:
            raise InputError(f"option {option} is of no use {'with' if generates else 'without'} mode=generate")
    from wug.models.endpoint.client import Client, find_model, read_address

    settings = {"timeout": options["timeout"], "retries": options["retries"], "threads": options["concurrency"]}
    client = Client(read_address(spec.name), key=_key(options["key"]), **settings)
    server = find_model(client, options["model"])
    return EndpointGenerator(server, spec, options) if generates else EndpointScorer(server, spec)


def _key(variable: str | None) -> str | None:
    """The key from the environment. It is never an option, since the command line is stored with the run."""
    name = "OPENAI_API_KEY" if variable is None else variable
    key = (os.environ.get(name) or "").strip() if name.isidentifier() else ""
    if not key and variable is not None:
        raise InputError("option key: there is no environment variable of that name. Name the variable, not the key")
    if not key.isascii() or not key.isprintable():
        raise InputError(f"the value of the environment variable {name} is not a valid key")
    return key or None
