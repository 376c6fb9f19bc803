"""What training holds out: for each of the 21 types, what is seen once, and what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wug.families.cogs.make.drawing import OBJECT_FRAMES, Wish
from wug.families.cogs.make.lexicon import Lexicon

SUBJECT_FRAMES = ("transitive", "pp_dative", "do_dative", "infinitive", "omitted", "unergative")
"""Where the subject of an active verb is its agent."""
ACTIVE_OBJECT_FRAMES = ("transitive", "pp_dative", "do_dative")
PASSIVE_FRAMES = ("passive", "passive_by")
DEPTHS = range(3, 13)
"""The depths of recursion that are tested; training goes down to 2."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """The one sentence in which training shows a word: its frames, and the role of a noun or name."""

    frames: tuple[str, ...]
    role: str | None = None
    """None for a verb."""


EXPOSURES: Mapping[str, Exposure] = {
    "subj_common": Exposure(SUBJECT_FRAMES, "agent"),
    "subj_proper": Exposure(SUBJECT_FRAMES, "agent"),
    "obj_common": Exposure(("transitive",), "theme"),
    "obj_proper": Exposure(("transitive",), "theme"),
    "active": Exposure(("transitive",)),
    "passive": Exposure(PASSIVE_FRAMES),
    "obj_omitted_transitive": Exposure(("omitted",)),
    "unacc": Exposure(("unaccusative",)),
    "do_dative": Exposure(("do_dative",)),
    "pp_dative": Exposure(("pp_dative",)),
    "transitive_subj": Exposure(("transitive",), "agent"),
    "unacc_subj": Exposure(("unaccusative",), "theme"),
}
"""By the name that the published training set has for them, `exposure_example_` left out."""


@dataclass(frozen=True, slots=True)
class Lexical:
    """A type that asks for a known word in a new place."""

    word: str
    """What training shows the word as."""
    frames: tuple[str, ...]
    role: str | None = None
    """The new role of a noun or name; `xcomp` of an infinitive; None for a verb in a new frame."""


LEXICAL: Mapping[str, Lexical] = {
    "subj_to_obj_common": Lexical("subj_common", ACTIVE_OBJECT_FRAMES, "theme"),
    "subj_to_obj_proper": Lexical("subj_proper", ACTIVE_OBJECT_FRAMES, "theme"),
    "obj_to_subj_common": Lexical("obj_common", SUBJECT_FRAMES, "agent"),
    "obj_to_subj_proper": Lexical("obj_proper", SUBJECT_FRAMES, "agent"),
    "prim_to_subj_common": Lexical("prim_common", SUBJECT_FRAMES, "agent"),
    "prim_to_subj_proper": Lexical("prim_proper", SUBJECT_FRAMES, "agent"),
    "prim_to_obj_common": Lexical("prim_common", ACTIVE_OBJECT_FRAMES, "theme"),
    "prim_to_obj_proper": Lexical("prim_proper", ACTIVE_OBJECT_FRAMES, "theme"),
    "prim_to_inf_arg": Lexical("prim_verb", ("infinitive",), "xcomp"),
    "active_to_passive": Lexical("active", PASSIVE_FRAMES),
    "passive_to_active": Lexical("passive", ("transitive",)),
    "obj_omitted_transitive_to_transitive": Lexical("obj_omitted_transitive", ("transitive",)),
    "unacc_to_transitive": Lexical("unacc", ("transitive",)),
    "do_dative_to_pp_dative": Lexical("do_dative", ("pp_dative",)),
    "pp_dative_to_do_dative": Lexical("pp_dative", ("do_dative",)),
    "only_seen_as_transitive_subj_as_unacc_subj": Lexical("transitive_subj", ("unaccusative",), "theme"),
    "only_seen_as_unacc_subj_as_obj_omitted_transitive_subj": Lexical("unacc_subj", ("omitted",), "agent"),
    "only_seen_as_unacc_subj_as_unerg_subj": Lexical("unacc_subj", ("unergative",), "agent"),
}
STRUCTURAL = ("obj_pp_to_subj_pp", "cp_recursion", "pp_recursion")
TYPES = (*LEXICAL, *STRUCTURAL)


def exposure(seen: str, lexicon: Lexicon) -> Wish:
    """The sentence in which training shows a held-out word."""
    plan = EXPOSURES[seen]
    return _wish(lexicon, seen, plan.frames, plan.role)


def tested(kind: str, number: int, lexicon: Lexicon) -> Wish:
    """The `number`th sentence of a type; depths of recursion take turns."""
    depth = DEPTHS[number % len(DEPTHS)]
    if kind == "obj_pp_to_subj_pp":
        return Wish(modified_subject=True)
    if kind == "cp_recursion":
        return Wish(clauses=depth)
    if kind == "pp_recursion":
        return Wish(OBJECT_FRAMES, modifiers=depth)
    plan = LEXICAL[kind]
    return _wish(lexicon, plan.word, plan.frames, plan.role)


def _wish(lexicon: Lexicon, word: str, frames: tuple[str, ...], role: str | None) -> Wish:
    if role is None:
        return Wish(frames, verb=lexicon.held_out_verbs[word])
    if role == "xcomp":
        return Wish(frames, infinitive=lexicon.held_out_verbs[word])
    return Wish(frames, fillers={role: lexicon.held_out[word]})
