"""The types that plugins with a family or a backend need, in one place."""

from wug.interfaces import AdaptableSuite, Suite
from wug.outcomes import Derivation, Estimate, Interval, Metric, Notice, Outcome, Result, Signature, SuiteOutput
from wug.problems import Problem
from wug.requests import LN2, Answer, Chat, ChatFormat, Generator, Request, Scored, Scorer, Source, TextReading, Token
from wug.traits import BackendTraits, FamilyTraits, Returns, ScoringProtocol

__all__ = [
    "LN2",
    "AdaptableSuite",
    "Answer",
    "BackendTraits",
    "Chat",
    "ChatFormat",
    "Derivation",
    "Estimate",
    "FamilyTraits",
    "Generator",
    "Interval",
    "Metric",
    "Notice",
    "Outcome",
    "Problem",
    "Request",
    "Result",
    "Returns",
    "Scored",
    "Scorer",
    "ScoringProtocol",
    "Signature",
    "Source",
    "Suite",
    "SuiteOutput",
    "TextReading",
    "Token",
]
