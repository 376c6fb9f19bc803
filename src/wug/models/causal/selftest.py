"""The load-time self-test of a causal model: which ways of scoring are exact, and is it causal at all?

The reference is one text alone, without padding and without a mask of ours. Probes are scored alone, in a padded batch
and in trees; only what gives the same numbers is used. For further checkpoints of an architecture that passed in every
way, a few probes confirm the result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from transformers import PreTrainedModel

from wug.arrays import Floats
from wug.errors import ModelError, first_line
from wug.models.causal.attention_windows import layouts, recurrent_layers, turning_points
from wug.models.causal.boundaries import WordStarts
from wug.models.causal.forward import ROW_TOKENS, CausalEngine, ScoringMethods
from wug.models.causal.noise import (
    EXACT_NATS,
    NOISE_FACTOR,
    Noise,
    measure_noise,
    smallest_tolerance,
    structural_copy,
    truncated,
)
from wug.models.causal.output_layer import Adjustment, find_output_layer, known_output_layer
from wug.models.hardware import FAILURES, device_of, position_limit
from wug.models.huggingface.cpu import prepack, thread_pool_for

EARLY_BRANCH, LATE_BRANCH, SINGLE_TOKEN = 2, 3, 7
"""Probes that branch off near the beginning and near the end of another one, and the one of a single token."""
NOISE_PROBES = (EARLY_BRANCH, 5, 6)
"""Probes whose rounding noise is measured: of different lengths, since kernels depend on shapes."""
LARGE_PARAMETERS = 1_000_000_000
"""Parameters above which rounding noise is measured in float32 and float64, too."""
CONFIRMING_PROBES = (LATE_BRANCH, EARLY_BRANCH, 6)
"""Probes that confirm an earlier result; the last is short."""
PROBE_NODES = 5 * ROW_TOKENS
"""Nodes of a batch that holds all probes."""
EXTRA_PROBE_TOKENS = 8
"""Tokens by which the text next to a padded probe is longer than any row."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """The result for an architecture that passed in every way."""

    methods: ScoringMethods
    """Without output layer and threads."""
    adjustment: Adjustment | None
    """Of the output layer in blocks; None if the model computes its logits itself."""
    noise: Noise


PASSED: dict[str, SelfTestResult] = {}
"""By architecture digest: checkpoints of one training need only a shorter test."""


def choose_engine(
    model: PreTrainedModel,
    *,
    method: str = "auto",
    nodes: int | None = None,
    word_starts: WordStarts | None = None,
    architecture: str | None = None,
    remote_code: bool = False,
) -> CausalEngine:
    """The fastest engine that gives the numbers of one text alone; `method` is auto, tree or plain.

    A model of an `architecture` that passed before is only confirmed. On a CPU, weights are prepacked. Remote code runs
    in one thread at a time.
    """
    require_causal_configuration(model)
    pool = thread_pool_for(device_of(model).type, remote_code=remote_code)
    methods = ScoringMethods(max_shared_tokens=min(turning_points(model.config, ROW_TOKENS), default=None), pool=pool)
    vocabulary, limit = model.get_input_embeddings().num_embeddings, position_limit(model) or ROW_TOKENS * 3 // 2
    probes = _probes(vocabulary, min(ROW_TOKENS, limit))
    long_text = _tokens(np.random.default_rng(1928), vocabulary, min(ROW_TOKENS + EXTRA_PROBE_TOKENS, limit))
    earlier = PASSED.get(architecture) if architecture is not None and method != "plain" else None
    if earlier is not None:
        earlier = replace(earlier, methods=replace(earlier.methods, pool=pool))
        if confirmed := _confirmed(model, earlier, [probes[n] for n in CONFIRMING_PROBES], word_starts):
            return CausalEngine(model, confirmed, nodes=nodes, word_starts=word_starts, noise=earlier.noise)
    alone = CausalEngine(model, methods, nodes=nodes, word_starts=word_starts)
    try:
        expected = alone.logprobs(probes)
    except FAILURES as error:
        reason = first_line(error, 120)
        raise ModelError(f"{type(model).__name__} cannot return log-probabilities ({reason})") from error
    _require_causal(alone, probes[EARLY_BRANCH], expected[EARLY_BRANCH])
    noise, structure = Noise(), _Structure()
    if str(model.dtype) not in EXACT_NATS or model.num_parameters() > LARGE_PARAMETERS:
        batched = CausalEngine(
            model, replace(methods, padded=True, pool=None), nodes=PROBE_NODES, word_starts=word_starts
        )
        noise = _noise(alone, batched, probes, expected)
        structure = _Structure.of(model, methods, [*probes, long_text])
    test = _SelfTest(model, word_starts, probes, expected, long_text, noise, structure)
    methods = test.with_padding(test.with_output_layer(methods))
    if method != "plain":
        methods = test.with_trees(methods, required=method == "tree")
    if architecture is not None and methods.padded and methods.layout is not None:
        adjustment = None if methods.output_layer is None else methods.output_layer.adjustment
        PASSED[architecture] = SelfTestResult(replace(methods, output_layer=None, pool=None), adjustment, noise)
    return CausalEngine(model, methods, nodes=nodes, word_starts=word_starts, noise=noise)


@dataclass(frozen=True, slots=True)
class _SelfTest:
    """Chooses methods of scoring: those that give the probes the scores that they have alone."""

    model: PreTrainedModel
    word_starts: WordStarts | None
    probes: list[list[int]]
    expected: list[Floats]
    long_text: list[int]
    """Longer than any row."""
    noise: Noise
    structure: _Structure

    @property
    def allowed(self) -> float:
        """Nats per token."""
        verified = self.structure.verifies
        return self.noise.tolerance(self.model.dtype) if verified else smallest_tolerance(self.model.dtype)

    def with_output_layer(self, methods: ScoringMethods) -> ScoringMethods:
        """The methods with the output layer in blocks, if that gives the model's logits."""
        try:
            layer = find_output_layer(self.model, self.probes[SINGLE_TOKEN], methods.pool)
        except (ModelError, *FAILURES) as error:
            log.info("%s computes its logits itself: %s", type(self.model).__name__, first_line(error, 120))
            return methods
        in_blocks = replace(methods, output_layer=layer)
        engine = CausalEngine(self.model, in_blocks, word_starts=self.word_starts)
        problem = _problem(engine, self.probes, self.expected, max(self.allowed / 10, self.noise.largest))
        if not problem:
            return in_blocks
        log.info("%s computes its logits itself: in blocks, %s", type(self.model).__name__, problem)
        return methods

    def with_padding(self, methods: ScoringMethods) -> ScoringMethods:
        """The methods in padded batches, if these are right; on a CPU with prepacked weights, if these are."""
        padded = replace(methods, padded=True)
        undo = prepack(self.model, output_layer=False)
        problem = self._padding_problem(padded)
        if problem:
            undo()
            problem = self._padding_problem(padded)
        if problem:
            log.warning(
                "%s is scored one text at a time, which is slow: padded, %s", type(self.model).__name__, problem
            )
        return replace(methods, padded=not problem)

    def _padding_problem(self, padded: ScoringMethods) -> str:
        """Score a short and a long text next to one that no row holds."""
        texts = [self.probes[EARLY_BRANCH], self.probes[LATE_BRANCH], self.long_text]
        expected = [self.expected[EARLY_BRANCH], self.expected[LATE_BRANCH]]
        return self._problem(padded, texts, expected)

    def with_trees(self, methods: ScoringMethods, *, required: bool) -> ScoringMethods:
        """The methods with the first layout of trees that is right."""
        model = self.model
        problems = [f"its layers read along the row ({kind})" for kind in recurrent_layers(model.config)]
        for layout in [] if problems else layouts(model.config, ROW_TOKENS):
            with_layout = replace(methods, layout=layout)
            problem = self._problem(with_layout, self.probes, self.expected)
            if not problem:
                return with_layout
            problems.append(problem)
        if required:
            raise ModelError(f"engine=tree: {type(model).__name__}: {problems[0]}. Use engine=auto")
        log.warning("%s is scored sentence by sentence, which is slower: %s", type(model).__name__, problems[0])
        return methods

    def _problem(self, methods: ScoringMethods, texts: list[list[int]], expected: list[Floats]) -> str:
        engine = CausalEngine(self.model, methods, nodes=PROBE_NODES, word_starts=self.word_starts)
        return self.structure.problem(methods) or _problem(engine, texts, expected, self.allowed)


def _noise(alone: CausalEngine, batched: CausalEngine, probes: list[list[int]], expected: list[Floats]) -> Noise:
    return measure_noise(alone, batched, [probes[n] for n in NOISE_PROBES], [expected[n] for n in NOISE_PROBES])


@dataclass(frozen=True, slots=True)
class _Structure:
    """The structural part of the self-test: masks and positions on few layers, where no noise can hide an error.

    That is a copy in float32, or the layers themselves if they are quantized or not all in memory.
    """

    verifies: bool = True
    """Whether it can be made, or is not needed since the noise is too small to hide an error."""
    short_model: PreTrainedModel | None = None
    """The copy, or the whole model."""
    context: Callable[[], AbstractContextManager[object]] = nullcontext
    """In which `short_model` has few layers."""
    probes: list[list[int]] = field(default_factory=list)
    expected: list[Floats] = field(default_factory=list)
    allowed: float = EXACT_NATS["torch.float32"]
    """Nats per token."""

    @classmethod
    def of(cls, model: PreTrainedModel, methods: ScoringMethods, probes: list[list[int]]) -> _Structure:
        """Score the probes on few layers, one at a time."""
        plain = ScoringMethods(max_shared_tokens=methods.max_shared_tokens)
        try:
            if (short_model := structural_copy(model)) is not None:
                return cls(True, short_model, nullcontext, probes, CausalEngine(short_model, plain).logprobs(probes))
            with truncated(model) as short_model:
                if short_model is None:
                    return cls(verifies=False)
                alone = CausalEngine(short_model, plain)
                batched = CausalEngine(short_model, replace(plain, padded=True), nodes=PROBE_NODES)
                expected = alone.logprobs(probes)
                noise = _noise(alone, batched, probes, expected)
        except (ModelError, *FAILURES):
            return cls(verifies=False)
        allowed = max(EXACT_NATS["torch.float32"], NOISE_FACTOR * noise.largest)
        return cls(True, model, partial(truncated, model), probes, expected, allowed)

    def problem(self, methods: ScoringMethods) -> str:
        """What is wrong with these methods on few layers; empty if nothing is, or nothing needs to be checked."""
        if self.short_model is None:
            return ""
        with self.context():
            methods = replace(methods, output_layer=None, pool=None)
            engine = CausalEngine(self.short_model, methods, nodes=6 * ROW_TOKENS)
            return _problem(engine, self.probes, self.expected, self.allowed)


def _confirmed(
    model: PreTrainedModel, earlier: SelfTestResult, probes: list[list[int]], word_starts: WordStarts | None
) -> ScoringMethods | None:
    """The methods of another checkpoint, if they are right for this one."""
    alone = CausalEngine(
        model, ScoringMethods(max_shared_tokens=earlier.methods.max_shared_tokens), word_starts=word_starts
    )
    try:
        layer = None
        if earlier.adjustment is not None:
            layer = known_output_layer(model, earlier.adjustment, earlier.methods.pool)
        expected = [alone.logprobs([probe])[0] for probe in probes]
    except (ModelError, *FAILURES):
        return None  # the full self-test reports it
    methods = replace(earlier.methods, output_layer=layer)
    allowed = earlier.noise.tolerance(model.dtype)
    undo = prepack(model, output_layer=False)
    padded, trees = (
        CausalEngine(model, candidate, nodes=PROBE_NODES, word_starts=word_starts)
        for candidate in (replace(methods, layout=None), methods)
    )
    if _problem(padded, probes[1:], expected[1:], allowed) or _problem(trees, probes, expected, allowed):
        undo()
        return None
    return methods


def _problem(engine: CausalEngine, texts: list[list[int]], expected: list[Floats], tolerance: float) -> str:
    """What is wrong with the scores of the first of some texts; empty if nothing is."""
    try:
        pairs = zip(expected, engine.logprobs(texts), strict=False)
        gap = max(float(np.abs(a - b).max(initial=0)) for a, b in pairs)
    except (ModelError, *FAILURES) as error:
        return f"it fails ({first_line(error, 120)})"
    return "" if gap <= tolerance else f"its scores differ from those of one text alone by {gap:.2g} nats"


def _probes(vocabulary: int, depth: int) -> list[list[int]]:
    """Token sequences for trees as deep as a row can be, with branches far down and near the root.

    In a row, a node of a branch is farther from its ancestors than its depth says. This reveals a window that is
    counted in positions of the row, whatever its size.
    """
    generator = np.random.default_rng(1958)

    def tokens(count: int) -> list[int]:
        return _tokens(generator, vocabulary, count)

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


def _tokens(generator: np.random.Generator, vocabulary: int, count: int) -> list[int]:
    ids: list[int] = generator.integers(0, vocabulary, size=max(1, count)).tolist()
    return ids


def _require_causal(alone: CausalEngine, probe: list[int], expected: Floats) -> None:
    """Refuse a model that sees the right context: it scores a beginning differently if the end is different.

    With a text of the same length a causal model computes exactly the same, except for rounding in mixtures of experts.
    An untrained model hardly uses its context, so the effect of the end is compared with that of an equal change at the
    beginning.
    """
    turned = probe[::-1]
    cut = len(probe) * 2 // 3
    expected_beginning = expected[: cut - 2]  # the last one may count the end of its word
    at_the_end, at_the_beginning = alone.logprobs([probe[:cut] + turned[cut:], turned[: cut // 3] + probe[cut // 3 :]])
    right_effect = float(np.abs(at_the_end[: cut - 2] - expected_beginning).max(initial=0))
    left_effect = float(np.abs(at_the_beginning[cut // 3 : cut - 2] - expected_beginning[cut // 3 :]).max(initial=0))
    allowed = smallest_tolerance(alone.model.dtype)
    noise = allowed / 150  # 1e-3 in half precision
    if right_effect > 10 * allowed or (right_effect > noise and right_effect > left_effect / 20):
        raise _not_causal(alone.model, f"scores of the same beginning differ by {right_effect:.2g} nats")


def require_causal_configuration(model: PreTrainedModel) -> None:
    """Refuse a model whose configuration says that it sees the right context."""
    config = model.config.get_text_config()
    bidirectional = getattr(config, "use_bidirectional_attention", None)
    has_modes = any(False in (getattr(m, "is_causal", None), getattr(m, "is_decoder", None)) for m in model.modules())
    if getattr(config, "is_causal", None) is False or bidirectional is True or bidirectional == "all":
        setting = "is_causal: false" if bidirectional in (None, False) else "use_bidirectional_attention"
    elif getattr(config, "is_decoder", None) is False and has_modes:
        setting = "is_decoder: false"
    else:
        return
    raise _not_causal(model, f"its configuration has {setting}")


def _not_causal(model: PreTrainedModel, reason: str) -> ModelError:
    name = type(model).__name__
    return ModelError(
        f"{name} looks at words to the right, so it is not a causal model ({reason}). Use masked:{model.name_or_path}"
    )
