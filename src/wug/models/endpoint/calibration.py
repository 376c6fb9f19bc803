"""Calibration: what a server's log-probabilities mean.

Nothing in a response shows that its values belong to other tokens, or depend on the order of requests. The
log-probability of the token that a server writes next is unambiguous, though. So the server writes the next token after
several beginnings, then scores each beginning with that token; the two values must agree. It also scores the same texts
alone, together, and in another order.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wug.errors import InputError, ModelError
from wug.models.endpoint.answers import (
    EchoFormat,
    Next,
    begins_with_bos,
    read_count,
    read_echo,
    read_next,
    tokens_by_text,
)
from wug.models.endpoint.client import Refusal, Server
from wug.requests import Scored

log = logging.getLogger("wug")

REQUEST_SETTINGS: tuple[Mapping[str, Any], ...] = (
    {"echo": True, "logprobs": 1, "max_tokens": 1},
    {"echo": True, "logprobs": 1, "max_tokens": 0},
    {"prompt_logprobs": 0, "max_tokens": 1},
)
"""Ways to request the log-probabilities of a prompt, the most usual first.

One generated token is requested and dropped: for llama-cpp-python 0 means unlimited, and vLLM computes one anyway.
"""
NEUTRAL = {"temperature": 1.0, "top_p": 1.0}
"""Some servers apply sampling settings to log-probabilities."""
GREEDY = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 1, "logprobs": 1}
"""Settings that request the likeliest next token."""
EXACT_NATS, ROUGH_NATS = 0.01, 0.25
"""Nats by which equal values may differ: in float32, and in another dtype that the user named.

In bfloat16 logits of 16 and more are multiples of 1/8.
"""
SEND_A_BOS = (
    "llama-cpp-python shifts values by one token unless a BOS token comes first: "
    "-M 'bos=<|endoftext|>', or the model's own"
)
MIN_COMPARISONS = 4
"""Beginnings that must be comparable: after some, the next token merges with the last one."""
MAX_VOCABULARY = 2**20
"""More tokens than any vocabulary has."""
MIN_BEST_LOGPROB = -math.log(MAX_VOCABULARY)
"""Lower bound for the likeliest token."""
REMEDIES = {
    "vllm": "vLLM gives them at /v1/completions: ask it itself, not a gateway before it, and start it with "
    "--max-logprobs 1 or more",
    "sglang": "SGLang gives them at /v1/completions: ask it itself, not a gateway before it",
    "llamacpp": "llama-server does not give them: use llama-cpp-python's server with --logits_all true, or the file "
    "itself, causal:FILE.gguf",
}
"""Advice if prompts have no log-probabilities, by server."""
ANY_REMEDY = (
    "vLLM and SGLang give them at /v1/completions as they come; llama-cpp-python with --logits_all true; "
    "llama-server and servers that only chat do not"
)
PROBE = "Nobody knew what the boy saw near the park."
BEGINNINGS = (
    "Nobody knew what the boy",
    "The keys to the cabinet",
    "Yesterday morning my sister went to the",
    "It is not easy to",
    "She looked at him and",
    "The man who lives in the old house",
    "There was nothing left of",
    "When the rain had stopped, the children",
    "One of the best things about the",
    "He said that he had never been in",
    "All of them were",
    "In the middle of the night a",
)
_SHARED = (
    "The author who had written many long letters to the editors of every newspaper in the country, and who had not "
    "received a single answer from any one of them in all the years since then, decided at last that the"
)
"""Longer than the blocks of servers' prefix caches."""
STEADY_TEXTS = (
    f"{_SHARED} letters were never sent.",
    f"{_SHARED} editors could not read.",
    PROBE,
    f"{_SHARED} answers would come one day, if only he waited.",
    "Dogs bark.",
)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The value of the next token, and the values of the same token in an echo."""

    beginning: str
    next: Next
    echoed: list[float | None]
    """At the token's own position; two if the token may have a space before it, which not all servers show."""
    before: list[float | None]
    """At the position before."""


def calibrate(server: Server, bos: str, *, exact: bool) -> EchoFormat:
    """The format of the server's echoes; ModelError if that is not certain.

    The token `bos` is sent before every text. Servers that compute in less than float32 are not `exact`.
    """
    tolerance = EXACT_NATS if exact else ROUGH_NATS
    echo_format = _find_shape(server, bos)
    try:
        echo_format = replace(echo_format, shifted=_find_shift(server, echo_format, tolerance))
        scored = _require_steady(server, echo_format, tolerance)
        if not echo_format.has_bos or scored[0].logprobs[0] is not None:
            return echo_format
        openings = _openings(server, echo_format)
        if openings is None:
            problem = "%s gives no log-probability for the first token of a text: it stays unscored"
            log.warning(problem, server.client.address)
        return replace(echo_format, openings=openings, first_unscored=openings is None)
    except InputError as error:
        raise ModelError(f"{server.client.address}: its answers cannot be used: {error.message}") from None


def _find_shape(server: Server, bos: str) -> EchoFormat:
    """How the server returns log-probabilities of a prompt, and how it treats BOS tokens."""
    problems: list[str] = []
    for request_settings in REQUEST_SETTINGS:
        settings = {**NEUTRAL, **request_settings}
        try:
            if bos:
                return _with_bos(server, settings, bos)
            return _without_bos(server, settings)
        except (InputError, Refusal) as error:
            if isinstance(error, Refusal) and error.status not in (400, 404, 405, 422, 501):
                raise
            problems.append(error.message if isinstance(error, InputError) else str(error))
    message = "; ".join(dict.fromkeys(problems))
    raise ModelError(
        f"{server.client.address}: {server.model!r} gives no usable log-probabilities of a prompt ({message}). "
        f"{REMEDIES.get(server.server_software, ANY_REMEDY)}. For suites that ask for text: -M mode=generate"
    )


def _without_bos(server: Server, settings: Mapping[str, Any]) -> EchoFormat:
    echo = read_echo(server.ask(PROBE, settings, retries=2))
    shows_bos = begins_with_bos(PROBE, echo)
    tokens = tokens_by_text(PROBE, echo, 1 if shows_bos else 0)
    # A list of all tokens of the prompt leaves none out.
    hidden_tokens = None if echo.may_continue else 0
    if echo.counted is not None:
        hidden_tokens = echo.counted - tokens.last
    if hidden_tokens not in (None, 0, 1) or (hidden_tokens and shows_bos):
        raise InputError(f"it counts {echo.counted} tokens where it shows {tokens.last}")
    echo_format = EchoFormat(settings, shows_bos=shows_bos, hidden_tokens=hidden_tokens)
    if all(value is None for value in echo.logprobs[tokens.first : tokens.last]):
        raise InputError(f"it has no log-probability for token {tokens.first + 2} of {len(echo.tokens)}")
    return echo_format


def _with_bos(server: Server, settings: Mapping[str, Any], bos: str) -> EchoFormat:
    """How the server treats the user's BOS token: it must be one token, and the only one."""
    echo = read_echo(server.ask(bos + PROBE, settings, retries=2))
    shows_bos = echo.tokens[:1] in ((bos,), (None,), ("",)) and echo.tokens[1:2] != (bos,)
    try:
        tokens = tokens_by_text(PROBE, echo, 1 if shows_bos else 0)
    except InputError:
        raise InputError(
            f"it begins with the tokens {list(echo.tokens[:3])} where bos={bos} should be one token and alone"
        ) from None
    hidden_tokens = None if echo.counted is None else echo.counted - tokens.last
    without_bos = _without_bos(server, settings)
    if without_bos.has_bos or (shows_bos and hidden_tokens):
        raise InputError(f"it puts its own BOS token before every text: leave out bos={bos}")
    if not shows_bos and (hidden_tokens != 1 or without_bos.hidden_tokens != 0):
        raise InputError(
            f"it leaves bos={bos} out of its answers, and by its count of tokens ({echo.counted}, {tokens.last} "
            "of them shown) it is not one token"
        )
    return EchoFormat(settings, bos=bos, shows_bos=shows_bos, hidden_tokens=hidden_tokens)


def _find_shift(server: Server, echo_format: EchoFormat, tolerance: float) -> bool:
    """Whether values are shifted by one token; InputError if they agree neither way."""
    comparisons = _compare(server, echo_format)
    if len(comparisons) < MIN_COMPARISONS:
        raise InputError(
            f"what its log-probabilities mean cannot be checked: after {len(BEGINNINGS)} beginnings it wrote "
            f"{len(comparisons)} tokens with a log-probability that can be compared with those of a prompt"
        )
    for comparison in comparisons:
        if comparison.next.logprob < MIN_BEST_LOGPROB:
            raise InputError(
                f"it gives {comparison.next.logprob:.1f} for {comparison.next.text!r}, the likeliest token after "
                f"{comparison.beginning!r}: that is not a log-probability, which would be at least "
                f"{MIN_BEST_LOGPROB:.1f} in a vocabulary of {MAX_VOCABULARY:,}. vLLM returns logits if it was started "
                "with --logprobs-mode raw_logits"
            )
    wrong = [item for item in comparisons if not _any_close(item.echoed, item.next.logprob, tolerance)]
    # A token that may have a hidden space may be two others in an echo.
    if not wrong or (all(item.next.text[0].isalnum() for item in wrong) and 3 * len(wrong) <= len(comparisons)):
        return False
    if all(_any_close(comparison.before, comparison.next.logprob, tolerance) for comparison in comparisons):
        return True
    worst = max(wrong, key=lambda comparison: _distance(comparison.echoed[0], comparison.next.logprob))
    echoed = "none" if worst.echoed[0] is None else f"{worst.echoed[0]:.3f}"
    remedy = "" if echo_format.has_bos else SEND_A_BOS
    if _distance(worst.echoed[0], worst.next.logprob) < 2 * ROUGH_NATS:
        remedy = _rounding_hint(tolerance)
    raise InputError(
        f"the log-probabilities that it gives for a prompt are not those of its tokens. After {worst.beginning!r} it "
        f"writes {worst.next.text!r} with {worst.next.logprob:.3f}, but in a prompt that token has {echoed} there "
        f"({len(wrong)} of {len(comparisons)} such values differ by more than {tolerance:g}). {remedy}".rstrip()
    )


def _compare(server: Server, echo_format: EchoFormat) -> list[_Comparison]:
    """The next token after each beginning, with the values of the same token in an echo."""
    try:
        answers = server.ask_all([echo_format.bos + text for text in BEGINNINGS], GREEDY, retries=2)
    except Refusal as error:
        raise InputError(
            f"what its log-probabilities mean cannot be checked, since it writes no token: {error}"
        ) from None
    trials: list[tuple[str, Next, str]] = []
    for beginning, answer in zip(BEGINNINGS, answers, strict=True):
        next_token = read_next(answer)
        if next_token is not None and next_token.text.strip() and next_token.text.isascii():
            trials.append((beginning, next_token, next_token.text))
            if next_token.text[0].isalnum():
                trials.append((beginning, next_token, " " + next_token.text))
    texts = [text for beginning, _, token in trials for text in (beginning, beginning + token)]
    echoes = [read_echo(answer) for answer in _complete(server, echo_format, texts)]
    comparisons: dict[str, _Comparison] = {}
    for (beginning, next_token, token), short_echo, long_echo in zip(trials, echoes[::2], echoes[1::2], strict=True):
        tokens = echo_format.tokens_of(beginning, short_echo)
        longer = echo_format.tokens_of(beginning + token, long_echo)
        if long_echo.tokens[: longer.last - 1] == short_echo.tokens[: tokens.last]:
            comparison = comparisons.setdefault(beginning, _Comparison(beginning, next_token, [], []))
            comparison.echoed.append(long_echo.logprobs[longer.last - 1])
            comparison.before.append(long_echo.logprobs[longer.last - 2])
    return list(comparisons.values())


def _require_steady(server: Server, echo_format: EchoFormat, tolerance: float) -> list[Scored]:
    """The scores of some texts alone; InputError if they differ in a batch or in another order."""
    alone = [echo_format.scored(text, _complete(server, echo_format, [text])[0]) for text in STEADY_TEXTS]
    answers = _complete(server, echo_format, STEADY_TEXTS[::-1])[::-1]
    together = [echo_format.scored(text, answer) for text, answer in zip(STEADY_TEXTS, answers, strict=True)]
    shared = [scored for scored in alone if scored.text.startswith(_SHARED)]
    pairs = [*zip(alone, together, strict=True), *((shared[0], other) for other in shared[1:])]
    largest = 0.0
    for left, right in pairs:
        limit = len(_SHARED) if left.text != right.text else None
        for index, (a, b) in enumerate(zip(left.logprobs, right.logprobs, strict=False)):
            if limit is not None and max(left.ends[index], right.ends[index]) > limit:
                break
            if not _close(a, b, tolerance):
                raise InputError(
                    f"its log-probabilities depend on other requests: that of token {index + 1} of "
                    f"{left.text!r} is {a} and {b}. vLLM does so with prefix caching: start it with "
                    f"--no-enable-prefix-caching. {_rounding_hint(tolerance)}"
                )
            largest = max(largest, abs((a or 0.0) - (b or 0.0)))
    if largest > EXACT_NATS:
        log.warning(
            "%s: the same token's log-probability differs by up to %.3f nats with other requests",
            server.client.address, largest,
        )  # fmt: skip
    return alone


def _openings(server: Server, echo_format: EchoFormat) -> Mapping[str, float] | None:
    """The log-probabilities of all first tokens, by name; None if the server does not give them.

    llama-cpp-python omits the first token's value even after a BOS token, but lists all tokens that could follow it.
    Parts of characters share names, of which the last one wins: their values are out of order.
    """
    try:
        answer = server.ask(echo_format.bos, {**GREEDY, "logprobs": MAX_VOCABULARY}, retries=0)
        next_token = read_next(answer)
    except (ModelError, InputError):
        return None
    if next_token is None or read_count(answer) != 1:
        return None
    logprobs, lowest = {}, -math.inf
    for name, value in reversed(list(next_token.likeliest.items())):
        if value >= lowest:
            lowest = value
            if name.strip():
                logprobs[name] = value
    return logprobs if 0.99 < math.fsum(map(math.exp, next_token.likeliest.values())) < 1.01 else None


def _complete(server: Server, echo_format: EchoFormat, texts: Sequence[str]) -> list[Any]:
    return server.ask_all([echo_format.bos + text for text in texts], echo_format.settings)


def _distance(left: float | None, right: float) -> float:
    return math.inf if left is None else abs(left - right)


def _any_close(values: Sequence[float | None], expected: float, tolerance: float) -> bool:
    return any(_close(value, expected, tolerance) for value in values)


def _close(left: float | None, right: float | None, tolerance: float) -> bool:
    return left is right if left is None or right is None else abs(left - right) <= tolerance


def _rounding_hint(tolerance: float) -> str:
    if tolerance >= ROUGH_NATS:
        return f"Differences up to {ROUGH_NATS} are rounding in a coarse number format; these are larger"
    return (
        f"If the server computes in a coarser number format than float32, say so: -M dtype=bfloat16 allows {ROUGH_NATS}"
    )
