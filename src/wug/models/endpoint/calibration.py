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
from wug.types import Scored

log = logging.getLogger("wug")

WAYS: tuple[Mapping[str, Any], ...] = (
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
    """In the token's own place; two if the token may have a space before it, which not all servers show."""
    before: list[float | None]
    """In the place before."""

    @property
    def is_doubtful(self) -> bool:
        """Whether the token may have a hidden space: then its echo may be two other tokens."""
        return self.next.text[0].isalnum()


def calibrate(server: Server, bos: str, *, exact: bool) -> EchoFormat:
    """The format of the server's echoes; ModelError if that is not certain.

    The token `bos` is sent before every text. Servers that compute in less than float32 are not `exact`.
    """
    tolerance = EXACT_NATS if exact else ROUGH_NATS
    reading = _find_shape(server, bos)
    try:
        reading = replace(reading, shifted=_find_shift(server, reading, tolerance))
        scored = _require_steady(server, reading, tolerance)
        if not reading.is_led or scored[0].logprobs[0] is not None:
            return reading
        openings = _openings(server, reading)
        if openings is None:
            problem = "%s gives no log-probability for the first token of a text: it stays unscored"
            log.warning(problem, server.client.address)
        return replace(reading, openings=openings, unsaid=openings is None)
    except InputError as error:
        raise ModelError(f"{server.client.address}: its answers cannot be used: {error.message}") from None


def _find_shape(server: Server, bos: str) -> EchoFormat:
    """How the server returns log-probabilities of a prompt, and how it treats BOS tokens."""
    problems: list[str] = []
    for way in WAYS:
        settings = {**NEUTRAL, **way}
        try:
            if bos:
                return _with_bos(server, settings, bos)
            return _without_bos(server, settings)
        except (InputError, Refusal) as error:
            if isinstance(error, Refusal) and error.status not in (400, 404, 405, 422, 501):
                raise
            problems.append(error.message if isinstance(error, InputError) else str(error))
    shown = "; ".join(dict.fromkeys(problems))
    raise ModelError(
        f"{server.client.address}: {server.model!r} gives no usable log-probabilities of a prompt ({shown}). "
        f"{REMEDIES.get(server.server_software, ANY_REMEDY)}. For suites that ask for text: -M mode=generate"
    )


def _without_bos(server: Server, settings: Mapping[str, Any]) -> EchoFormat:
    echo = read_echo(server.ask(PROBE, settings, retries=2))
    shown = begins_with_bos(PROBE, echo)
    tokens = tokens_by_text(PROBE, echo, 1 if shown else 0)
    # A list of all tokens of the prompt leaves none out.
    hidden = (None if echo.may_continue else 0) if echo.counted is None else echo.counted - tokens.last
    if hidden not in (None, 0, 1) or (hidden and shown):
        raise InputError(f"it counts {echo.counted} tokens where it shows {tokens.last}")
    reading = EchoFormat(settings, shown=shown, hidden=hidden)
    if all(value is None for value in echo.logprobs[tokens.first : tokens.last]):
        raise InputError(f"it has no log-probability for token {tokens.first + 2} of {len(echo.tokens)}")
    return reading


def _with_bos(server: Server, settings: Mapping[str, Any], bos: str) -> EchoFormat:
    """How the server treats the user's BOS token: it must be one token, and the only one."""
    echo = read_echo(server.ask(bos + PROBE, settings, retries=2))
    shown = echo.tokens[:1] in ((bos,), (None,), ("",)) and echo.tokens[1:2] != (bos,)
    try:
        tokens = tokens_by_text(PROBE, echo, 1 if shown else 0)
    except InputError:
        raise InputError(
            f"it begins with the tokens {list(echo.tokens[:3])} where bos={bos} should be one token and alone"
        ) from None
    hidden = None if echo.counted is None else echo.counted - tokens.last
    bare = _without_bos(server, settings)
    if bare.is_led or (shown and hidden):
        raise InputError(f"it puts its own BOS token before every text: leave out bos={bos}")
    if not shown and (hidden != 1 or bare.hidden != 0):
        raise InputError(
            f"it leaves bos={bos} out of its answers, and by its count of tokens ({echo.counted}, {tokens.last} "
            "of them shown) it is not one token"
        )
    return EchoFormat(settings, bos=bos, shown=shown, hidden=hidden)


def _find_shift(server: Server, reading: EchoFormat, tolerance: float) -> bool:
    """Whether values are shifted by one token; InputError if they agree neither way."""
    found = _compare(server, reading)
    if len(found) < MIN_COMPARISONS:
        raise InputError(
            f"what its log-probabilities mean cannot be checked: after {len(BEGINNINGS)} beginnings it wrote "
            f"{len(found)} tokens with a log-probability that can be compared with those of a prompt"
        )
    for comparison in found:
        if comparison.next.logprob < MIN_BEST_LOGPROB:
            raise InputError(
                f"it gives {comparison.next.logprob:.1f} for {comparison.next.text!r}, the likeliest token after "
                f"{comparison.beginning!r}: that is not a log-probability, which would be at least "
                f"{MIN_BEST_LOGPROB:.1f} in a vocabulary of {MAX_VOCABULARY:,}. vLLM returns logits if it was started "
                "with --logprobs-mode raw_logits"
            )
    wrong = [c for c in found if not _any_close(c.echoed, c.next.logprob, tolerance)]
    if not wrong or (all(c.is_doubtful for c in wrong) and 3 * len(wrong) <= len(found)):
        return False
    if all(_any_close(c.before, c.next.logprob, tolerance) for c in found):
        return True
    worst = max(wrong, key=lambda c: _distance(c.echoed[0], c.next.logprob))
    given = "none" if worst.echoed[0] is None else f"{worst.echoed[0]:.3f}"
    remedy = "" if reading.is_led else SEND_A_BOS
    if _distance(worst.echoed[0], worst.next.logprob) < 2 * ROUGH_NATS:
        remedy = _rough(tolerance)
    raise InputError(
        f"the log-probabilities that it gives for a prompt are not those of its tokens. After {worst.beginning!r} it "
        f"writes {worst.next.text!r} with {worst.next.logprob:.3f}, but in a prompt that token has {given} there "
        f"({len(wrong)} of {len(found)} such values differ by more than {tolerance:g}). {remedy}".rstrip()
    )


def _compare(server: Server, reading: EchoFormat) -> list[_Comparison]:
    """The next token after each beginning, with the values of the same token in an echo."""
    try:
        answers = server.ask_all([reading.bos + text for text in BEGINNINGS], GREEDY, retries=2)
    except Refusal as error:
        raise InputError(
            f"what its log-probabilities mean cannot be checked, since it writes no token: {error}"
        ) from None
    trials: list[tuple[str, Next, str]] = []
    for beginning, answer in zip(BEGINNINGS, answers, strict=True):
        following = read_next(answer)
        if following is not None and following.text.strip() and following.text.isascii():
            trials.append((beginning, following, following.text))
            if following.text[0].isalnum():
                trials.append((beginning, following, " " + following.text))
    texts = [text for beginning, _, token in trials for text in (beginning, beginning + token)]
    echoes = [read_echo(answer) for answer in _ask(server, reading, texts)]
    found: dict[str, _Comparison] = {}
    for (beginning, following, token), before, after in zip(trials, echoes[::2], echoes[1::2], strict=True):
        tokens, longer = reading.tokens_of(beginning, before), reading.tokens_of(beginning + token, after)
        if after.tokens[: longer.last - 1] == before.tokens[: tokens.last]:
            comparison = found.setdefault(beginning, _Comparison(beginning, following, [], []))
            comparison.echoed.append(after.logprobs[longer.last - 1])
            comparison.before.append(after.logprobs[longer.last - 2])
    return list(found.values())


def _require_steady(server: Server, reading: EchoFormat, tolerance: float) -> list[Scored]:
    """The scores of some texts alone; InputError if they differ in a batch or in another order."""
    alone = [reading.scored(text, _ask(server, reading, [text])[0]) for text in STEADY_TEXTS]
    turned = STEADY_TEXTS[::-1]
    together = [reading.scored(text, found) for text, found in zip(turned, _ask(server, reading, turned), strict=True)][
        ::-1
    ]
    shared = [scored for scored in alone if scored.text.startswith(_SHARED)]
    pairs = [*zip(alone, together, strict=True), *((shared[0], other) for other in shared[1:])]
    largest = 0.0
    for left, right in pairs:
        limit = len(_SHARED) if left.text != right.text else None
        for place, (a, b) in enumerate(zip(left.logprobs, right.logprobs, strict=False)):
            if limit is not None and max(left.ends[place], right.ends[place]) > limit:
                break
            if not _close(a, b, tolerance):
                raise InputError(
                    f"its log-probabilities depend on other requests: that of token {place + 1} of "
                    f"{left.text!r} is {a} and {b}. vLLM does so with prefix caching: start it with "
                    f"--no-enable-prefix-caching. {_rough(tolerance)}"
                )
            largest = max(largest, abs((a or 0.0) - (b or 0.0)))
    if largest > EXACT_NATS:
        log.warning(
            "%s: the same token's log-probability differs by up to %.3f nats with other requests",
            server.client.address, largest,
        )  # fmt: skip
    return alone


def _openings(server: Server, reading: EchoFormat) -> Mapping[str, float] | None:
    """The log-probabilities of all first tokens, by name; None if the server does not give them.

    llama-cpp-python omits the first token's value even after a BOS token, but lists all tokens that could follow it.
    Parts of characters share names, of which the last one wins: their values are out of order.
    """
    try:
        found = server.ask(reading.bos, {**GREEDY, "logprobs": MAX_VOCABULARY}, retries=0)
        following = read_next(found)
    except (ModelError, InputError):
        return None
    if following is None or read_count(found) != 1:
        return None
    named, least = {}, -math.inf
    for name, value in reversed(list(following.likeliest.items())):
        if value >= least:
            least = value
            if name.strip():
                named[name] = value
    return named if 0.99 < math.fsum(map(math.exp, following.likeliest.values())) < 1.01 else None


def _ask(server: Server, reading: EchoFormat, texts: Sequence[str]) -> list[Any]:
    return server.ask_all([reading.bos + text for text in texts], reading.settings)


def _distance(left: float | None, right: float) -> float:
    return math.inf if left is None else abs(left - right)


def _any_close(values: Sequence[float | None], wanted: float, tolerance: float) -> bool:
    return any(_close(value, wanted, tolerance) for value in values)


def _close(left: float | None, right: float | None, tolerance: float) -> bool:
    return left is right if left is None or right is None else abs(left - right) <= tolerance


def _rough(tolerance: float) -> str:
    if tolerance >= ROUGH_NATS:
        return f"Differences up to {ROUGH_NATS} are rounding in a coarse number format; these are larger"
    return (
        f"If the server computes in a coarser number format than float32, say so: -M dtype=bfloat16 allows {ROUGH_NATS}"
    )
