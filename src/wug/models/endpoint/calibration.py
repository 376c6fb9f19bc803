"""Finding out what a server's log-probabilities mean, before anything is measured with them.

Nothing in an answer betrays that its values belong to other tokens, or that they would be others in another order.
What a server writes after a text is unmistakable, though: the log-probability of the token that it writes next. So
it is asked for the next token after several beginnings, then for the log-probabilities of each beginning with that
token; the two values must agree. It is also asked the same texts alone, together, and in another order.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wug.errors import InputError, ModelError
from wug.models.endpoint.answers import Next, read_count, read_echo, read_next
from wug.models.endpoint.client import Refusal
from wug.models.endpoint.reading import Reading, begins_with_bos, tokens_by_text
from wug.models.endpoint.server import Server
from wug.types import Scored

log = logging.getLogger("wug")

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
GREEDY = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 1, "logprobs": 1}
"""How a server is asked for the likeliest next token."""
EXACT, ROUGH = 0.01, 0.25
"""Nats by which values that should be equal may differ: in float32, and in a number format that the user named.

In bfloat16 logits of 16 and more are multiples of 1/8, so that two ways of computing one value differ by as much.
"""
SEND_A_BOS = (
    "llama-cpp-python gives each token its value after itself unless a start mark comes first: "
    "-M 'bos=<|endoftext|>', or what the model's mark is"
)
ENOUGH = 4
"""Beginnings that must be comparable: with some, the next token joins the one before it."""
EVERY = 2**20
"""More tokens than any model has."""
LEAST = -math.log(EVERY)
"""What the likeliest of all tokens has at least."""
REMEDIES = {
    "vllm": "vLLM gives them at /v1/completions: ask it itself, not a gateway before it, and start it with "
    "--max-logprobs 1 or more",
    "sglang": "SGLang gives them at /v1/completions: ask it itself, not a gateway before it",
    "llamacpp": "llama-server does not give them: use llama-cpp-python's server with --logits_all true, or the file "
    "itself, causal:FILE.gguf",
}
"""What to do where prompts have no log-probabilities, by what a server calls itself."""
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
"""Longer than the blocks in which servers keep what they have computed for a shared beginning."""
COMPANY = (
    f"{_SHARED} letters were never sent.",
    f"{_SHARED} editors could not read.",
    PROBE,
    f"{_SHARED} answers would come one day, if only he waited.",
    "Dogs bark.",
)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A value that a server gives for the next token, and what its echo has for the same token."""

    beginning: str
    next: Next
    echoed: list[float | None]
    """In the token's own place; two where the token may have a space before it, which not all servers show."""
    before: list[float | None]
    """In the place before."""

    @property
    def is_doubtful(self) -> bool:
        """Whether the token may be one with a space before it: then its echo may be of two other tokens."""
        return self.next.text[0].isalnum()


def calibrate(server: Server, bos: str, *, exact: bool) -> Reading:
    """How the server's answers are read; ModelError where that cannot be found out with certainty.

    `bos`, a start token, is sent before every text. Servers that compute in less than float32 are not `exact`.
    """
    tolerance = EXACT if exact else ROUGH
    reading = _find_shape(server, bos)
    try:
        reading = replace(reading, shifted=_find_shift(server, reading, tolerance))
        scored = _require_steady(server, reading, tolerance)
        if not reading.is_led or scored[0].logprobs[0] is not None:
            return reading
        openings = _openings(server, reading)
        if openings is None:
            fault = "%s does not say how likely the first token of a text is: it stays unscored"
            log.warning(fault, server.client.address)
        return replace(reading, openings=openings, unsaid=openings is None)
    except InputError as error:
        raise ModelError(f"{server.client.address}: its answers cannot be used: {error.message}") from None


def _find_shape(server: Server, bos: str) -> Reading:
    """The way in which the server gives log-probabilities of a prompt, and what it does with start marks."""
    faults: list[str] = []
    for way in WAYS:
        settings = {**NEUTRAL, **way}
        try:
            if bos:
                return _with_bos(server, settings, bos)
            return _without_bos(server, settings)
        except (InputError, Refusal) as error:
            if isinstance(error, Refusal) and error.status not in (400, 404, 405, 422, 501):
                raise
            faults.append(error.message if isinstance(error, InputError) else str(error))
    shown = "; ".join(dict.fromkeys(faults))
    raise ModelError(
        f"{server.client.address}: {server.model!r} gives no usable log-probabilities of a prompt ({shown}). "
        f"{REMEDIES.get(server.maker, ANY_REMEDY)}. For suites that ask for text: -M mode=generate"
    )


def _without_bos(server: Server, settings: Mapping[str, Any]) -> Reading:
    echo = read_echo(server.ask(PROBE, settings, retries=2))
    shown = begins_with_bos(PROBE, echo)
    tokens = tokens_by_text(PROBE, echo, 1 if shown else 0)
    # A list of all tokens of the prompt leaves none out.
    hidden = (None if echo.may_continue else 0) if echo.counted is None else echo.counted - tokens.last
    if hidden not in (None, 0, 1) or (hidden and shown):
        raise InputError(f"it counts {echo.counted} tokens where it shows {tokens.last}")
    reading = Reading(settings, shown=shown, hidden=hidden)
    if all(value is None for value in echo.logprobs[tokens.first : tokens.last]):
        raise InputError(f"it has no log-probability for token {tokens.first + 2} of {len(echo.tokens)}")
    return reading


def _with_bos(server: Server, settings: Mapping[str, Any], bos: str) -> Reading:
    """What the server does with a start token of the user's: it must be one token, and the only one."""
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
        raise InputError(f"it puts a start mark of its own before every text: leave out bos={bos}")
    if not shown and (hidden != 1 or bare.hidden != 0):
        raise InputError(
            f"it leaves bos={bos} out of its answers, and by its count of tokens ({echo.counted}, {tokens.last} "
            "of them shown) it is not one token"
        )
    return Reading(settings, bos=bos, shown=shown, hidden=hidden)


def _find_shift(server: Server, reading: Reading, tolerance: float) -> bool:
    """Whether each value stands one place too early; InputError where values agree neither here nor there."""
    found = _compare(server, reading)
    if len(found) < ENOUGH:
        raise InputError(
            f"what its log-probabilities mean cannot be checked: after {len(BEGINNINGS)} beginnings it wrote "
            f"{len(found)} tokens with a log-probability that can be compared with those of a prompt"
        )
    for comparison in found:
        if comparison.next.logprob < LEAST:
            raise InputError(
                f"it gives {comparison.next.logprob:.1f} for {comparison.next.text!r}, the likeliest token after "
                f"{comparison.beginning!r}: that is no log-probability, since it would be at least {LEAST:.1f} in a "
                f"vocabulary of {EVERY:,}. vLLM gives logits where it was started with --logprobs-mode raw_logits"
            )
    wrong = [c for c in found if not _any_close(c.echoed, c.next.logprob, tolerance)]
    if not wrong or (all(c.is_doubtful for c in wrong) and 3 * len(wrong) <= len(found)):
        return False
    if all(_any_close(c.before, c.next.logprob, tolerance) for c in found):
        return True
    worst = max(wrong, key=lambda c: _distance(c.echoed[0], c.next.logprob))
    given = "none" if worst.echoed[0] is None else f"{worst.echoed[0]:.3f}"
    remedy = "" if reading.is_led else SEND_A_BOS
    if _distance(worst.echoed[0], worst.next.logprob) < 2 * ROUGH:
        remedy = _rough(tolerance)
    raise InputError(
        f"the log-probabilities that it gives for a prompt are not those of its tokens. After {worst.beginning!r} it "
        f"writes {worst.next.text!r} with {worst.next.logprob:.3f}, but in a prompt that token has {given} there "
        f"({len(wrong)} of {len(found)} such values differ by more than {tolerance:g}). {remedy}".rstrip()
    )


def _compare(server: Server, reading: Reading) -> list[_Comparison]:
    """What the server writes after each beginning, with the values of the same token in its echo."""
    try:
        answers = server.ask_all([reading.bos + text for text in BEGINNINGS], [GREEDY] * len(BEGINNINGS), retries=2)
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


def _require_steady(server: Server, reading: Reading, tolerance: float) -> list[Scored]:
    """The scores of some texts, asked alone; InputError where they are others in company or in another order."""
    alone = [reading.scored(text, _ask(server, reading, [text])[0]) for text in COMPANY]
    turned = COMPANY[::-1]
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
                    f"its log-probabilities depend on what else it is asked: that of token {place + 1} of "
                    f"{left.text!r} is {a} and {b}. vLLM does so with prefix caching: start it with "
                    f"--no-enable-prefix-caching. {_rough(tolerance)}"
                )
            largest = max(largest, abs((a or 0.0) - (b or 0.0)))
    if largest > EXACT:
        log.warning(
            "%s: the same token's log-probability differs by up to %.3f nats with order and company",
            server.client.address, largest,
        )  # fmt: skip
    return alone


def _openings(server: Server, reading: Reading) -> Mapping[str, float] | None:
    """The log-probabilities of all first tokens, by name, or None where the server does not give them.

    llama-cpp-python leaves out the first token's value even after a start token, but names all tokens that could
    follow it. Parts of characters share names, of which the last one wins: their values are out of order.
    """
    try:
        found = server.ask(reading.bos, {**GREEDY, "logprobs": EVERY}, retries=0)
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


def _ask(server: Server, reading: Reading, texts: Sequence[str]) -> list[Any]:
    return server.ask_all([reading.bos + text for text in texts], [reading.settings] * len(texts))


def _distance(left: float | None, right: float) -> float:
    return math.inf if left is None else abs(left - right)


def _any_close(values: Sequence[float | None], wanted: float, tolerance: float) -> bool:
    return any(_close(value, wanted, tolerance) for value in values)


def _close(left: float | None, right: float | None, tolerance: float) -> bool:
    return left is right if left is None or right is None else abs(left - right) <= tolerance


def _rough(tolerance: float) -> str:
    if tolerance >= ROUGH:
        return f"Differences up to {ROUGH} are rounding in a coarse number format; these are larger"
    return f"If the server computes in a coarser number format than float32, say so: -M dtype=bfloat16 allows {ROUGH}"
