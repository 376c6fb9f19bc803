"""The kinds of lines in COGS files: the 21 ways to generalise, grouped as the paper groups them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Generalisation:
    """One of the 21 types of the generalisation set."""

    type: str
    section: str
    """Of Kim and Linzen (2020)."""
    kind: Literal["lexical", "structural"]
    """Whether a word is new in its place, or the structure is new."""
    title: str


SECTIONS = {
    "3.1": "known words in new grammatical roles",
    "3.2": "modified phrases in new grammatical roles",
    "3.3": "deeper recursion",
    "3.4": "alternations of a verb's arguments",
    "3.5": "verb classes",
}
"""The groups of the paper, in its order."""

_TABLE = """
3.1.1 subj_to_obj_common                                     a common noun seen as subject becomes an object
3.1.2 subj_to_obj_proper                                     a name seen as subject becomes an object
3.1.3 obj_to_subj_common                                     a common noun seen as object becomes a subject
3.1.4 obj_to_subj_proper                                     a name seen as object becomes a subject
3.1.5 prim_to_subj_common                                    a common noun seen alone becomes a subject
3.1.6 prim_to_subj_proper                                    a name seen alone becomes a subject
3.1.7 prim_to_obj_common                                     a common noun seen alone becomes an object
3.1.8 prim_to_obj_proper                                     a name seen alone becomes an object
3.1.9 prim_to_inf_arg                                        a verb seen alone becomes an infinitive
3.2.1 obj_pp_to_subj_pp                                      a modifier seen on objects stands on a subject
3.3.1 cp_recursion                                           that-clauses nest deeper than seen
3.3.2 pp_recursion                                           modifiers nest deeper than seen
3.4.1 active_to_passive                                      a verb seen in the active is passive
3.4.2 passive_to_active                                      a verb seen in the passive is active
3.4.3 obj_omitted_transitive_to_transitive                   a verb seen without its object has one
3.4.4 unacc_to_transitive                                    an unaccusative verb is transitive
3.4.5 do_dative_to_pp_dative                                 a double-object dative becomes one with "to"
3.4.6 pp_dative_to_do_dative                                 a dative with "to" becomes a double-object one
3.5.1 only_seen_as_transitive_subj_as_unacc_subj             an agent becomes the subject of an unaccusative
3.5.2 only_seen_as_unacc_subj_as_obj_omitted_transitive_subj a theme becomes an agent, the object left out
3.5.3 only_seen_as_unacc_subj_as_unerg_subj                  a theme becomes the subject of an unergative
"""
_STRUCTURAL = ("obj_pp_to_subj_pp", "cp_recursion", "pp_recursion")


def _read_table() -> dict[str, Generalisation]:
    found = {}
    for line in _TABLE.strip().splitlines():
        section, name, title = line.split(maxsplit=2)
        found[name] = Generalisation(name, section, "structural" if name in _STRUCTURAL else "lexical", title)
    return found


GENERALISATIONS = _read_table()
"""The 21 types by name, in the order of the paper."""
