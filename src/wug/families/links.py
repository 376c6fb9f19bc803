"""Linking functions: from the log-probabilities of a text's tokens to the score that is compared.

Formulas of Lau et al. (2020, Table 2) for PenLP, NormLP and SLOR, of ZhoBLiMP for SLLN-LP, and of Tjuatja et al. (2025)
for MORCELA. All logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from wug.errors import InputError
from wug.formatting import plural
from wug.options import Option, written
from wug.outcomes import Derivation, Metric, Notice, effect_metrics
from wug.requests import LN2

PARAMETERS = (
    Option("penlp_alpha", float, 0.8, "exponent of penlp", least=0, most=10),
    Option("slln_alpha", float, 0.5, "exponent of slln", least=0, most=1),
    Option("morcela_beta", float, None, "weight of the unigram log-probability in morcela"),
    Option("morcela_gamma", float, None, "constant added by morcela"),
)
TIES = Option("ties", ("error", "first"), "error", "whether a tie is an error, or won by the first")
COUNTED = {"error": "counted as failures", "first": "won by the first"}
"""How ties are counted, in words."""
UNIGRAM_LINKS = frozenset({"normlp", "slor", "morcela"})
"""Links that need a unigram model."""
ALL = "all"


class LinkedText(NamedTuple):
    """What a score is computed from."""

    text: str
    logprob: float
    """The sum over scored tokens."""
    tokens: int
    """Scored tokens; a BOS token is never one of them."""
    unigram: float = 0.0
    """The log-probability under the unigram model."""
    units: int = 0
    """Words or tokens of the unigram model."""


class LinkParameters(NamedTuple):
    """Parameters of linking functions."""

    penlp_alpha: float = 0.8
    slln_alpha: float = 0.5
    morcela_beta: float | None = None
    morcela_gamma: float | None = None


def _morcela(linked: LinkedText, parameters: LinkParameters) -> float:
    beta, gamma = parameters.morcela_beta or 0.0, parameters.morcela_gamma or 0.0
    return (linked.logprob - beta * linked.unigram + gamma) / max(1, linked.units)


LINKS: Mapping[str, Callable[[LinkedText, LinkParameters], float]] = {
    "sum": lambda linked, parameters: linked.logprob,
    "token": lambda linked, parameters: linked.logprob / max(1, linked.tokens),
    "word": lambda linked, parameters: linked.logprob / max(1, len(linked.text.split())),
    "character": lambda linked, parameters: linked.logprob / max(1, len(linked.text)),
    "byte": lambda linked, parameters: linked.logprob / max(1, len(linked.text.encode())),
    "penlp": lambda linked, parameters: linked.logprob / ((5 + linked.tokens) / 6) ** parameters.penlp_alpha,
    "normlp": lambda linked, parameters: -linked.logprob / linked.unigram if linked.unigram else 0.0,
    "slor": lambda linked, parameters: (linked.logprob - linked.unigram) / max(1, linked.units),
    "slln": lambda linked, parameters: linked.logprob / max(1, linked.tokens) ** parameters.slln_alpha,
    "morcela": _morcela,
}
"""The score of a text, by the name of the link."""
PER_TOKEN = frozenset({"token", "penlp", "slln"})
"""Links that depend on the number of tokens."""
LABELS = {
    "sum": "log-probability",
    **{unit: f"log-probability per {unit}" for unit in ("token", "word", "character", "byte")},
    "penlp": "PenLP",
    "normlp": "NormLP",
    "slor": "SLOR",
    "slln": "SLLN-LP",
    "morcela": "MORCELA",
    "pmi": "pointwise mutual information with the context",
}
UNITLESS = frozenset({"normlp", "morcela"})
"""Links whose scores are not multiples of a log-probability."""
MARGIN = "margin"
_PARAMETERS_OF = {
    "penlp": ("penlp_alpha",),
    "slln": ("slln_alpha",),
    "morcela": ("morcela_beta", "morcela_gamma"),
}


def link_option(*names: str) -> Option:
    """The option `link`, with these linking functions."""
    about = "linking functions, computed from one pass: the first gives accuracy, others accuracy:LINK"
    return Option("link", (*names, ALL), (), about, many=True)


def chosen_links(link: tuple[str, ...], normalise: str, available: tuple[str, ...]) -> tuple[str, ...]:
    """The links that a user names by `link`, or by `normalise`, its alias for one of them."""
    if not link:
        return ("sum",) if normalise == "none" else (normalise,)
    if normalise != "none":
        raise InputError(f"normalise={normalise} is the same as link={normalise}: leave one of them out")
    return tuple(dict.fromkeys(name for one in link for name in (available if one == ALL else (one,))))


def parameters_of(values: Mapping[str, float | None], links: tuple[str, ...]) -> LinkParameters:
    """The parameters of links; an error if morcela has none."""
    parameter_values = {option.name: values[option.name] for option in PARAMETERS}
    if "morcela" in links and (parameter_values["morcela_beta"] is None or parameter_values["morcela_gamma"] is None):
        raise InputError("morcela needs morcela_beta=NUMBER and morcela_gamma=NUMBER, fitted on other data")
    return LinkParameters(**parameter_values)  # type: ignore[arg-type]


def link_signature(links: tuple[str, ...], parameters: LinkParameters) -> dict[str, str]:
    """Links and their parameters; a single one that divides by a length is called `normalise`."""
    if len(links) == 1 and links[0] in ("sum", "token", "word", "character", "byte"):
        return {"normalise": "none" if links[0] == "sum" else links[0]}
    used = [name for link in links for name in _PARAMETERS_OF.get(link, ())]
    return {"link": ",".join(links), **{name: written(getattr(parameters, name)) for name in used}}


def link_label(fields: Mapping[str, str]) -> str:
    """The score that is compared, from the fields of a signature."""
    link = link_of(fields)
    return "SLOR" if "slor" in fields else LABELS.get(link, link)


def link_of(fields: Mapping[str, str]) -> str:
    """The first link, from the fields of a signature."""
    per = fields.get("normalise", "none")
    return fields["link"].partition(",")[0] if "link" in fields else "sum" if per == "none" else per


def in_bits(link: str) -> float:
    """The factor from scores to what is shown of them: bits, unless the link has no unit."""
    return 1.0 if link in UNITLESS else 1 / LN2


def shown_scale(fields: Mapping[str, str], extra: str = "") -> tuple[str, float]:
    """The name of the scores in a result with their unit, and the factor from stored scores to shown ones."""
    link, label = link_of(fields), link_label(fields)
    if link in UNITLESS:
        return f"{label}{extra}", 1.0
    return f"{label}{extra} (bits)", in_bits(link)


def margin_metrics(metric: str, link: str, plus: str, minus: str, what: str) -> tuple[Metric, Metric]:
    """The mean margin by a link, derived from the outcomes of a metric, and the same standardised."""
    name = metric.replace("accuracy", MARGIN, 1)
    derived = Derivation(metric, plus, minus, in_bits(link) if minus else 1.0)
    unit = "" if link in UNITLESS else ", in bits"
    return effect_metrics(name, derived, f"{LABELS[link]} of {what}{unit}", "score" if link in UNITLESS else "bits")


def notices_of_ties(ties: int, judged: int, noun: str, rule: str) -> Iterator[Notice]:
    """A warning if there are ties, which count by a rule of `TIES`; if all items tie, nothing is measurable."""
    tied = f"{plural(ties, noun)} tied, {COUNTED[rule]}"
    if 0 < ties == judged:
        yield Notice(f"all {tied}: the accuracy is not measurable", measurable=False)
    elif ties:
        yield Notice(tied)


def notices_of_changes(changed: Mapping[str, int], links: Sequence[str], judged: int, noun: str) -> Iterator[Notice]:
    """How many judgements each further link changes, if there are several links."""
    first, *others = links
    if others:
        listed = ", ".join(f"{changed[link]} by {link}" for link in others)
        yield Notice(f"judged differently than by {first}, of {plural(judged, noun)}: {listed}")
