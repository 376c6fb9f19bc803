"""OpenAI-compatible completions servers (vLLM, SGLang, …): `endpoint:http://localhost:8000/v1?model=NAME`."""

from __future__ import annotations

import os
from dataclasses import replace
from urllib.parse import parse_qsl

from wug.errors import InputError, MissingExtra
from wug.models._options import EXAMPLES, MAX_LENGTH, STOP, TEMPLATE
from wug.models._spec import ModelSpec
from wug.options import Option
from wug.types import Generator, Scorer, Traits

TRAITS = Traits(verbatim_names=True, to_score="Open it without mode=generate", to_generate="Open it with mode=generate")
"""Or text, with mode=generate."""
OPTIONS = (
    Option("model", str, None, "what the server calls the model; may be left out where it has one alone"),
    Option("mode", ("score", "generate"), "score", "generate is for suites that ask for text"),
    Option("key", str, None, "the environment variable that has the key; by default OPENAI_API_KEY, where it is set"),
    Option(
        "bos",
        str,
        None,
        "a start mark to put before every text, such as <|endoftext|>; by default what the server does",
    ),
    Option("concurrency", int, 16, "questions under way at once", least=1),
    Option(
        "timeout",
        float,
        120.0,
        "seconds that a whole answer may take, from the question to its last byte",
        least=0.001,
        most=1e7,
    ),
    Option("retries", int, 6, "further tries where the server is busy or away", least=0, most=9999),
    Option(
        "dtype",
        str,
        None,
        "the server's number format, for the signature: it cannot be asked for it. Any but float32 lets its answers "
        "differ more from one another when they are checked",
    ),
    Option("id", str, None, "a version of your own, for a server that changes without its model's name changing"),
    replace(TEMPLATE, help="with mode=generate, the prompt, as for prompt: models"),
    replace(EXAMPLES, help=f"with mode=generate, {EXAMPLES.help}"),
    replace(STOP, help="with mode=generate, what ends an answer"),
    replace(
        MAX_LENGTH,
        help="with mode=generate, tokens of an answer at most; by default 4 for each letter of its source, 128 at "
        "least, 1024 at most",
    ),
)
GENERATING = ("template", "examples", "stop", "max_length")


def load(spec: ModelSpec) -> Scorer | Generator:
    """The model at the address that `spec` has, after questions to see whether it answers as needed."""
    spec = _taken_apart(spec)
    options = spec.read(OPTIONS)
    generates = options["mode"] == "generate"
    for name in ("bos",) if generates else GENERATING:
        if name in spec.options:
            raise InputError(f"option {name} is of no use {'with' if generates else 'without'} mode=generate")
    try:
        import httpx  # noqa: F401
    except ImportError:
        raise MissingExtra("an endpoint model", "endpoint") from None
    from wug.models.endpoint.client import Address, Client
    from wug.models.endpoint.generator import EndpointGenerator
    from wug.models.endpoint.scorer import EndpointScorer
    from wug.models.endpoint.server import find_model

    threads: int = options["concurrency"]
    client = Client(
        Address.of(spec.name),
        key=_key(options["key"]),
        timeout=options["timeout"],
        retries=options["retries"],
        threads=threads,
    )
    server = find_model(client, options["model"], threads)
    return EndpointGenerator(server, spec, options) if generates else EndpointScorer(server, spec)


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
