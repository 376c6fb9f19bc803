"""Word formation: does the model inflect new words, and as people do?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.families.morphology import carriers, formats
from wug.families.morphology.item import ParsedForms, WugItem
from wug.families.morphology.item import to_sample as to_sample
from wug.families.morphology.metrics import ACCURACY, CHANCE, PREFERENCE
from wug.families.morphology.suite import MorphologyOptions, MorphologySuite
from wug.files import checksum, read_lines, read_text, shortened
from wug.options import Option
from wug.options import read as read_options
from wug.problems import Problem, ProblemList, refuse_errors
from wug.traits import FamilyTraits

TRAITS = FamilyTraits(
    builtin_model="wug-causal",
    breakdown=("ending", "island", "neighbourhood", "task", "tag"),
    chance_levels={ACCURACY: CHANCE, PREFERENCE: CHANCE},
    column_hint="--kind morphology, with the columns lemma and form",
)
OPTIONS = (
    Option(
        "normalise", ("none", "token", "character"), "none", "divide scores by the tokens or characters of the form"
    ),
    Option(
        "prior",
        ("both", "none", "subtract"),
        "both",
        "subtract the log-probability of the form in a neutral carrier; both: report scores with and without it",
    ),
    Option(
        "chat",
        ("no", "score", "write"),
        "no",
        "ask in the model's chat template: score the forms in the assistant's turn, or let the model write one",
    ),
    Option("chat_template", Path, None, "with chat, a file with another template (Jinja)"),
    Option("carriers", Path, None, "file of carrier sentences, one per line, with {lemma} and {form}"),
    Option("space", bool, True, "keep the space before the form; no for scripts without spaces"),
    Option(
        "source", ("carrier", "lemma"), "carrier", "what models that write text read: a sentence, or lemma and tags"
    ),
    Option("format", formats.FORMATS, None, "format of the file; inferred from its content by default"),
    Option("language", str, None, "ISO 639-3 code; inferred from the file or its name by default"),
    Option("task", str, None, "form to ask for, such as plural or past; inferred from the file by default"),
    Option("rating", str, None, "column with human ratings, counts or proportions"),
    Option("scale", float, 7.0, "highest possible rating, for the beta regression", least=1e-6),
    Option("by", ("type", "token"), "type", "token: also weigh accuracy by the column frequency"),
    Option("individual", Path, None, "file of individual ratings, for human_ceiling"),
    Option("lexicon", Path, None, "word list, one word per line: forms that are real words are reported"),
)


def recognises(path: Path, head: str) -> bool:
    """Whether a file has word forms with their lemmas, in a format that cannot be anything else."""
    return path.is_file() and formats.format_of(path, head) not in (None, "unimorph")


def read(path: Path, options: Mapping[str, str]) -> list[MorphologySuite]:
    """The suite of a file; SuiteError with everything that is wrong with it."""
    chosen = read_options(OPTIONS, options, "morphology")
    parsed, problems, sentences = _parsed(path, chosen)
    refuse_errors(problems, path)
    if not parsed.items:
        raise InputError("there are no items in it", file=path)
    if chosen["chat_template"] is not None and chosen["chat"] == "no":
        raise InputError("chat_template is for -S chat=score and chat=write")
    settings = MorphologyOptions(
        **{name: chosen[name] for name in ("normalise", "prior", "space", "source", "chat", "individual", "scale")},
        template=None if chosen["chat_template"] is None else read_text(chosen["chat_template"]),
        carriers=sentences,
        real_words=_real_words(parsed, chosen["lexicon"]),
        by_token=chosen["by"] == "token",
    )
    signature = {name: str(chosen[name]) for name in ("normalise", "prior", "source", "scale", "by")}
    signature |= {} if settings.space else {"space": "no"}
    signature |= {"carriers": checksum(*sentences)} if sentences else {}
    name = path.name.removesuffix(".gz")
    stem, _, suffix = name.rpartition(".")
    suite = MorphologySuite(
        stem if stem and suffix != "dev" else name,
        parsed.items,
        checksum(*sorted(map(_line, parsed.items))),
        parsed=replace(parsed, problems=tuple(problems)),
        settings=settings,
        signature_options=signature,
    )
    return [suite]


def check(path: Path, options: Mapping[str, str]) -> list[Problem]:
    """Every error and warning of a file."""
    parsed, problems, _ = _parsed(path, read_options(OPTIONS, options, "morphology"))
    if not parsed.items and not problems:
        problems.error("", "there are no items in it")
    return problems


def read_back(suite: MorphologySuite) -> list[str]:
    """How a file was read: the first item."""
    first = suite.items[0]
    forms = ", ".join(f"{f.text!r}{'' if f.rating is None else f' ({f.rating:g})'}" for f in first.forms[:6])
    sentence = carriers.carriers_of(first, suite.settings.carriers)[0].replace("{lemma}", first.lemma)
    return [f"read as {suite.parsed.format}; first item: {shortened(sentence.replace('{form}', '___'))} {forms}"]


def _parsed(path: Path, chosen: Mapping[str, Any]) -> tuple[ParsedForms, ProblemList, tuple[str, ...]]:
    """The items, all problems, and the user's carriers."""
    options = formats.ReadOptions(chosen["format"], chosen["language"] or "", chosen["task"], chosen["rating"])
    parsed = formats.parse(path, options)
    sentences = () if chosen["carriers"] is None else carriers.read_carriers(chosen["carriers"])
    problems = ProblemList.of(parsed.problems)
    for item in parsed.items:
        for carrier in carriers.carriers_of(item, sentences) if item.lemma else ():
            if (form := carriers.revealed_form(carrier, item)) is not None:
                message = f"the carrier {carrier!r} shows the form {form!r} before the gap"
                problems.error(item.forms[0].place or item.item, message)
    if chosen["by"] == "token" and all(item.weight == 1.0 for item in parsed.items):
        problems.error("header", "by=token needs a column frequency")
    return parsed, problems, sentences


def _real_words(parsed: ParsedForms, lexicon: Path | None) -> frozenset[str]:
    if lexicon is None:
        return frozenset()
    words = {line.strip().lower() for line in read_lines(lexicon)}
    return frozenset(form.text for item in parsed.items for form in item.forms if form.text.lower() in words)


def _line(item: WugItem) -> str:
    forms = (f"{form.symbols}\t{form.rating}\t{form.type}" for form in item.forms)
    groups = (f"{name}={value}" for name, value in item.groups.items())
    return "\t".join((item.item, item.symbols, item.tag, item.task, item.language, str(item.weight), *forms, *groups))
