"""The load-time self-test of a causal model: which ways of scoring are exact, and is it causal at all?

The reference is one text alone, without padding and without a mask of ours. Probes are scored so, then in a padded
batch and in trees; only what gives the same numbers is used. For further checkpoints of an architecture that passed in
every way, a few probes confirm the result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wug.errors import InputError, ModelError
from wug.models._architecture import ArchitectureCache
from wug.models._hardware import device_of
from wug.models._prepack import prepack
from wug.models.causal.boundary import WordStarts
from wug.models.causal.forward import WIDTH, Engine, Floats, Ways
from wug.models.causal.head import Adjustment, find_head, known_head
from wug.models.causal.windows import layouts, recurrent_layers, turning_points
from wug.models.causal.workers import workers_for

FAILURES = (
    TypeError, ValueError, RuntimeError, IndexError, AttributeError, KeyError, AssertionError, ModelError,
)  # fmt: skip
"""What a model raises that cannot be asked in some way."""

CONFIRMING_PROBES = (3, 2, 6)
"""Probes that confirm an earlier result: a deep one, one that branches off early, and a short one."""
BEYOND = 8
"""Tokens by which the company of a padded probe is longer than any row."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """What the self-test found for an architecture that passed in every way."""

    ways: Ways
    """Without the output layer and threads."""
    adjustment: Adjustment | None
    """Of the output layer in blocks; None where the model computes its logits itself."""


PASSED: ArchitectureCache[SelfTestResult] = ArchitectureCache()


def choose_engine(
    model: Any,
    *,
    wanted: str = "auto",
    nodes: int | None = None,
    word_starts: WordStarts | None = None,
    shape: str | None = None,
    foreign: bool = False,
) -> Engine:
    """An engine that was seen to give the numbers of one text alone; `wanted` is auto, tree or plain.

    A model of a `shape` that was tried before is asked as it was found then, if some of the probes confirm it. The
    weights of a model on a CPU are laid out anew. One that brings `foreign` code is asked by one thread at a time.
    """
    if wanted not in ("auto", "tree", "plain"):
        raise InputError(f"option engine={wanted!r}: write auto, tree or plain")
    require_causal_configuration(model)
    turns = turning_points(model.config, WIDTH)
    ways = Ways(together=min(turns, default=None), workers=workers_for(device_of(model).type, foreign=foreign))
    vocabulary, limit = _vocabulary(model), position_limit(model) or WIDTH * 3 // 2
    probes = _probes(vocabulary, min(WIDTH, limit))
    company = _tokens(np.random.default_rng(1928), vocabulary, min(WIDTH + BEYOND, limit))
    output = _output_layer(model)
    known = PASSED.get(shape) if wanted != "plain" else None
    if known is not None:
        known = replace(known, ways=replace(known.ways, workers=ways.workers))
        if confirmed := _confirmed(model, known, [probes[n] for n in CONFIRMING_PROBES], word_starts):
            return Engine(model, confirmed, nodes=nodes, word_starts=word_starts)
    alone = Engine(model, ways, nodes=nodes, word_starts=word_starts)
    try:
        expected = alone.logprobs(probes)
    except FAILURES as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{type(model).__name__} cannot be asked for log-probabilities ({_short(error)})") from error
    _require_causal(alone, probes[2], expected[2])
    ways = _with_head(model, ways, probes, expected, word_starts)

    def tried(ways: Ways) -> Engine:
        return Engine(model, ways, nodes=5 * WIDTH, word_starts=word_starts)

    def tree_fault(ways: Ways) -> str:
        return _fault(lambda: tried(ways).logprobs(probes), expected, tolerance(model))

    def padded_fault() -> str:
        """A short and a long text beside one that no row holds."""
        texts = [probes[2], probes[3], company]
        engine = tried(replace(ways, padded=True))
        return _fault(lambda: engine.logprobs(texts)[:2], expected[2:4], tolerance(model))

    undo = prepack(model, keep=output)
    wrong = padded_fault()
    if wrong:
        undo()
        wrong = padded_fault()
    if wrong:
        log.warning("%s is asked one text at a time, which is slow: padded, %s", type(model).__name__, wrong)
    ways = replace(ways, padded=not wrong)
    if wanted != "plain":
        ways = _with_trees(model, ways, tree_fault, wanted == "tree")
    if ways.padded and ways.layout is not None:
        adjustment = None if ways.head is None else ways.head.adjustment
        PASSED.keep(shape, SelfTestResult(replace(ways, head=None, workers=None), adjustment))
    return Engine(model, ways, nodes=nodes, word_starts=word_starts)


def _confirmed(
    model: Any, found: SelfTestResult, probes: list[list[int]], word_starts: WordStarts | None
) -> Ways | None:
    """What was found of another model, for this one; None where it is not right for it."""
    alone = Engine(model, Ways(together=found.ways.together), word_starts=word_starts)
    try:
        head = None if found.adjustment is None else known_head(model, found.adjustment, found.ways.workers)
        expected = [alone.logprobs([probe])[0] for probe in probes]
    except FAILURES:
        return None  # which is told when it is tried in full
    ways = replace(found.ways, head=head)

    def ask(ways: Ways, some: list[list[int]]) -> Callable[[], list[Floats]]:
        return lambda: Engine(model, ways, nodes=5 * WIDTH, word_starts=word_starts).logprobs(some)

    own = Engine(model, replace(alone.ways, head=head), word_starts=word_starts)
    if _fault(lambda: [own.logprobs([probe])[0] for probe in probes[1:]], expected[1:], tolerance(model) / 10):
        return None
    undo = prepack(model, keep=_output_layer(model))
    faults = (
        _fault(ask(replace(ways, layout=None), probes[1:]), expected[1:], tolerance(model)),
        _fault(ask(ways, probes), expected, tolerance(model)),
    )
    if any(faults):
        undo()
        return None
    return ways


def _with_head(
    model: Any, ways: Ways, probes: list[list[int]], expected: list[Floats], word_starts: WordStarts | None
) -> Ways:
    """The same with the output layer in blocks, if the model's logits are those of its output layer, or follow."""
    try:
        found = replace(ways, head=find_head(model, probes[7], ways.workers))
    except FAILURES as error:
        log.info("%s computes its logits itself: %s", type(model).__name__, _short(error))
        return ways
    engine = Engine(model, found, word_starts=word_starts)
    wrong = _fault(lambda: engine.logprobs(probes), expected, tolerance(model) / 10)
    if wrong:
        log.info("%s computes its logits itself: with the weights of its output layer, %s", type(model).__name__, wrong)
    return ways if wrong else found


def _with_trees(model: Any, ways: Ways, fault: Callable[[Ways], str], required: bool) -> Ways:
    """The same with the masks of trees, if any are right for the model."""
    faults = [f"its layers read along the row ({kind})" for kind in recurrent_layers(model.config)]
    for layout in [] if faults else layouts(model.config, WIDTH):
        found = replace(ways, layout=layout)
        faults.append(fault(found))
        if not faults[-1]:
            return found
    if required:
        raise ModelError(f"engine=tree: {type(model).__name__}: {faults[0]}. Use engine=auto")
    log.warning("%s is scored sentence by sentence, which is slower: %s", type(model).__name__, faults[0])
    return ways


def _fault(ask: Callable[[], list[Floats]], expected: list[Floats], tolerance: float) -> str:
    try:
        gap = max(float(np.abs(a - b).max(initial=0)) for a, b in zip(expected, ask(), strict=True))
    except FAILURES as error:
        return f"it cannot be asked ({_short(error)})"
    return "" if gap <= tolerance else f"its scores differ from those of one text alone by {gap:.2g} nats"


def _probes(vocabulary: int, depth: int) -> list[list[int]]:
    """Token sequences for trees as deep as a row can be, with branches far down and near the root.

    In a row, a node of a branch is farther from its ancestors than its depth says: a window that is counted in
    places instead of depths shows there, whatever its size.
    """
    draw = np.random.default_rng(1958)

    def tokens(count: int) -> list[int]:
        return _tokens(draw, vocabulary, count)

    deepest, trunk = tokens(depth), tokens(depth * 3 // 4)
    return [
        deepest,
        trunk,
        trunk[: depth // 4] + tokens(5),
        trunk[: len(trunk) - 4] + tokens(depth // 8),  # near the end of a row: windows nearly as wide as it
        trunk[: depth // 2] + tokens(4),
        trunk[: depth // 8] + tokens(3),
        trunk[:2] + tokens(3),
        tokens(1),
        tokens(2),
    ]


def _tokens(draw: np.random.Generator, vocabulary: int, count: int) -> list[int]:
    found: list[int] = draw.integers(0, vocabulary, size=max(1, count)).tolist()
    return found


def _require_causal(alone: Engine, probe: list[int], expected: Floats) -> None:
    """A model that looks ahead gives other numbers to a beginning when the end of the text is another.

    With a text of the same length a causal model computes the very same, so that the gap is 0, or a rounding
    where experts share out the tokens. A model that was never trained hardly looks at its context at all:
    what the end does is measured by what an equal change at the beginning does.
    """
    other = probe[::-1]
    cut = len(probe) * 2 // 3
    kept = expected[: cut - 2]  # the last one may count the end of its word
    at_the_end, at_the_beginning = alone.logprobs([probe[:cut] + other[cut:], other[: cut // 3] + probe[cut // 3 :]])
    right = float(np.abs(at_the_end[: cut - 2] - kept).max(initial=0))
    left = float(np.abs(at_the_beginning[cut // 3 : cut - 2] - kept[cut // 3 :]).max(initial=0))
    noise = tolerance(alone.model) / 150  # 1e-3 in half precision
    if right > 10 * tolerance(alone.model) or (right > noise and right > left / 20):
        raise ModelError(
            f"{type(alone.model).__name__} looks at words to the right, so it is no causal model "
            f"(scores of the same beginning differ by {right:.2g} nats). Use masked:{alone.model.name_or_path}"
        )


def require_causal_configuration(model: Any) -> None:
    """Refuse what says of itself that it looks in both directions."""
    config = model.config.get_text_config()
    both = getattr(config, "use_bidirectional_attention", None)
    asks = any(False in (getattr(m, "is_causal", None), getattr(m, "is_decoder", None)) for m in model.modules())
    if getattr(config, "is_causal", None) is False or both is True or both == "all":
        setting = "is_causal: false" if both in (None, False) else "use_bidirectional_attention"
    elif getattr(config, "is_decoder", None) is False and asks:
        setting = "is_decoder: false"
    else:
        return
    raise ModelError(
        f"{type(model).__name__} looks at words to the right, so it is no causal model (its configuration has "
        f"{setting}). Use masked:{model.name_or_path}"
    )


def position_limit(model: Any) -> int | None:
    """The longest text in tokens, BOS token included, that the model has positions for; None if any."""
    limit: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if limit is not None and limit < 1:  # XLNet's way to say that there is none
        return None
    for name, module in model.named_modules():
        # In the models after RoBERTa the positions begin behind that of the padding.
        skipped = getattr(module, "padding_idx", None)
        if limit is not None and skipped is not None and name.endswith("position_embeddings"):
            return limit - int(skipped) - 1
    return limit


def tolerance(model: Any) -> float:
    """Nats that two ways of computing the same may differ."""
    return {"torch.float64": 1e-6, "torch.float32": 1e-4}.get(str(model.dtype), 0.15)


def _output_layer(model: Any) -> Any:
    """The layer that makes logits of hidden states; None where the model names none."""
    try:
        return model.get_output_embeddings()
    except FAILURES:
        return None


def _vocabulary(model: Any) -> int:
    size: int = model.get_input_embeddings().num_embeddings
    return size


def _short(error: BaseException) -> str:
    return str(error).split("\n")[0][:120]
