"""Everything that a plugin with a family or a backend imports: types, base classes and functions.

These names are stable, as are the public functions of `wug` and `wug.testing`; other modules may change in any release.
"""

from wug.errors import InputError, ModelError
from wug.families.suite import GenerationSuite, ItemSuite
from wug.files import checksum, read_lines
from wug.formatting import bits, headlines, other_estimates
from wug.interfaces import AdaptableSuite, Suite
from wug.models import Identity, ModelSpec
from wug.options import Option
from wug.outcomes import Derivation, Estimate, Interval, Metric, Notice, Outcome, Result, Signature, SuiteOutput
from wug.problems import Problem, ProblemList, refuse_errors
from wug.requests import LN2, Answer, Chat, ChatFormat, Generator, Request, Scored, Scorer, Source, TextScoring, Token
from wug.rows import OutcomeRow, Rows
from wug.traits import BackendTraits, FamilyTraits, Returns, ScoringProtocol
from wug.views.grouped import group_figures
from wug.views.parts import (
    EstimatesPart,
    Figure,
    ItemSample,
    ItemsView,
    ItemView,
    LabelledText,
    LinesPart,
    TablePart,
    TextPart,
    ViewPart,
    carrier,
)
from wug.views.text_display import mark_differences

__all__ = [
    "LN2",
    "AdaptableSuite",
    "Answer",
    "BackendTraits",
    "Chat",
    "ChatFormat",
    "Derivation",
    "Estimate",
    "EstimatesPart",
    "FamilyTraits",
    "Figure",
    "GenerationSuite",
    "Generator",
    "Identity",
    "InputError",
    "Interval",
    "ItemSample",
    "ItemSuite",
    "ItemView",
    "ItemsView",
    "LabelledText",
    "LinesPart",
    "Metric",
    "ModelError",
    "ModelSpec",
    "Notice",
    "Option",
    "Outcome",
    "OutcomeRow",
    "Problem",
    "ProblemList",
    "Request",
    "Result",
    "Returns",
    "Rows",
    "Scored",
    "Scorer",
    "ScoringProtocol",
    "Signature",
    "Source",
    "Suite",
    "SuiteOutput",
    "TablePart",
    "TextPart",
    "TextScoring",
    "Token",
    "ViewPart",
    "bits",
    "carrier",
    "checksum",
    "group_figures",
    "headlines",
    "mark_differences",
    "other_estimates",
    "read_lines",
    "refuse_errors",
]
