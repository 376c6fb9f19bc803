"""The languages of wug: formulas, logical forms, PCFG SET, names of models, values of options.

What is well-formed by construction must have the value that it was made with; what is not is refused or read, and
neither fails nor takes long.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from fuzz import formulas, mutate
from fuzz.campaign import Case, Wrong
from fuzz.command import wug

Aside = tuple[str, Any]


class Campaign:
    """Texts of the languages, made by their grammars or made worse."""

    name, batch, room = "languages", 5_000, 3 * 2**29

    def __init__(self, only: str | None = None) -> None:
        every: dict[str, tuple[Callable[[random.Random], tuple[str, Any]], Callable[[str, Any], None]]] = {
            "formula": (_formula, _judge_formula),
            "odd formula": (_odd_formula, _read_formula),
            "pcfg": (_pcfg, _judge_pcfg),
            "odd pcfg": (_odd_pcfg, _read_pcfg),
            "form": (_form, _judge_form),
            "odd form": (_odd_form, _read_form),
            "model": (_model, _open_model),
            "option": (_option, _take_option),
            "template": (_template, _read_template),
        }
        self.kinds = {label: kind for label, kind in every.items() if only is None or only in label}
        self._shared: Path | None = None

    def prepare(self, folder: Path) -> None:
        """Import the languages, and write a test to ask about."""
        from fuzz import seeds
        from wug.families.cogs import logical_form  # noqa: F401
        from wug.families.pcfgset import language  # noqa: F401
        from wug.families.syntaxgym import formula  # noqa: F401

        (folder / "test.src").write_bytes(seeds.SOURCES)
        (folder / "test.tgt").write_bytes(seeds.TARGETS)
        (folder / "m.arpa").write_bytes(seeds.ARPA)
        (folder / "r.jsonl").write_bytes(seeds.REPLAY_SCORES)
        self._shared = folder

    def make(self, draw: random.Random) -> Case:
        """A text."""
        label = draw.choice(list(self.kinds))
        text, aside = self.kinds[label][0](draw)
        return Case(label, {"text.txt": text.encode("utf-8", "surrogatepass")}, (text, aside))

    def attempt(self, case: Case, folder: Path) -> None:
        """Read it, and compare with what is known of it."""
        for file in ("test.src", "test.tgt", "m.arpa", "r.jsonl"):
            if self._shared is not None and not (folder / file).exists():
                (folder / file).write_bytes((self._shared / file).read_bytes())
        text, aside = case.aside
        self.kinds[case.label][1](text, aside)


# Formulas


def _formula(draw: random.Random) -> tuple[str, Any]:
    given = formulas.values(draw)
    part = formulas.prediction(draw, given)
    return part.text, (given, part.value)


def _judge_formula(text: str, aside: Any) -> None:
    from wug.errors import FormulaError
    from wug.families.syntaxgym import formula

    given, truth = aside
    read = formula.parse(text).resolve(formulas.REGIONS, formulas.CONDITIONS)

    def value(region: int | str, condition: str) -> float:
        return float(given[region, condition])

    again = formula.parse(read.canonical())
    for one in (read, again):
        try:
            found: bool | None = one.holds(value)
        except FormulaError:
            found = None
        if found is not truth:
            raise Wrong(f"a formula is {found} where it must be {truth}: {one.source[:150]!r}")
    if truth is not None:
        judged = read.judge(value)
        if judged.holds is not truth or (judged.margin < 0) > (not truth) or (judged.margin > 0) > truth:
            raise Wrong(f"the margin {judged.margin} of a formula that is {truth}: {text[:150]!r}")
    read.english(formulas.REGIONS)


def _odd_formula(draw: random.Random) -> tuple[str, Any]:
    text = _worse(draw, formulas.prediction(draw, formulas.values(draw)).text)
    if draw.random() < 0.05:
        count = draw.choice((39, 41, 250, 5000, 50_000))
        text = draw.choice(
            ("(" * count + text, "-" * count + text, "~" * count + text, f"{text} & " * count, "abs(" * count)
        )
    return text[:300_000], None


def _read_formula(text: str, _: Any) -> None:
    from wug.families.syntaxgym import formula

    read = formula.parse(text).resolve(formulas.REGIONS, formulas.CONDITIONS)
    read.english(formulas.REGIONS)
    if formula.parse(read.canonical()).canonical() != read.canonical():
        raise Wrong(f"the canonical form is not its own: {text[:150]!r}")
    read.judge(lambda region, condition: 1.0)


# PCFG SET

UNARY: dict[str, Callable[[list[str]], list[str]]] = {
    "copy": lambda x: x,
    "reverse": lambda x: list(reversed(x)),
    "repeat": lambda x: x * 2,
    "shift": lambda x: [*x[1:], x[0]],
    "echo": lambda x: [*x, x[-1]],
    "swap_first_last": lambda x: [x[-1], *x[1:-1], x[0]] if len(x) > 1 else x,
}
BINARY: dict[str, Callable[[list[str], list[str]], list[str]]] = {
    "append": lambda x, y: x + y,
    "prepend": lambda x, y: y + x,
    "remove_first": lambda x, y: y,
    "remove_second": lambda x, y: x,
}
"""Hupkes et al. 2020, table 1."""


def _pcfg(draw: random.Random) -> tuple[str, Any]:
    words, meaning = _expression(draw, draw.randint(0, 6))
    return draw.choice((" ", " ", "  ")).join(words), " ".join(meaning)


def _expression(draw: random.Random, depth: int) -> tuple[list[str], list[str]]:
    if depth <= 0:
        symbols = [f"{draw.choice('ABXYZ')}{draw.randint(1, 20)}" for _ in range(draw.randint(1, 5))]
        return symbols, symbols
    words, meaning = _expression(draw, depth - 1)
    if draw.random() < 0.6:
        name = draw.choice(list(UNARY))
        shown = f"{name}_twin" if name in ("repeat", "swap_first_last") and draw.random() < 0.2 else name
        return [shown, *words], UNARY[name](meaning)
    others, other = _expression(draw, draw.randint(0, depth - 1))
    name = draw.choice(list(BINARY))
    return [name, *words, ",", *others], BINARY[name](meaning, other)


def _judge_pcfg(text: str, meaning: Any) -> None:
    from wug.families.pcfgset import language as pcfg

    if pcfg.meaning(text) != meaning or pcfg.answer(text) != meaning:
        raise Wrong(f"{text[:100]!r} means {pcfg.meaning(text)[:100]!r} where it must be {meaning[:100]!r}")


def _odd_pcfg(draw: random.Random) -> tuple[str, Any]:
    words, _ = _expression(draw, draw.randint(0, 5))
    if draw.random() < 0.02:
        count = draw.choice((25, 300, 5000, 20_000))
        words = [draw.choice(("repeat", "echo", "append", "copy"))] * count + words
    return _worse(draw, " ".join(words)), None


def _read_pcfg(text: str, _: Any) -> None:
    from wug.errors import WugError
    from wug.families.pcfgset import language as pcfg

    pcfg.answer(text)
    pcfg.exceptions(text)
    with suppress(WugError):
        pcfg.parse(text, lenient=True)
    pcfg.meaning(text)


# Logical forms


def _form(draw: random.Random) -> tuple[str, Any]:
    """A form of COGS; and the same form with its terms in another order, and with other indices."""
    count = draw.randint(1, 5)
    terms = [[draw.choice(("cat", "dog", "mat")), "(", f"#{place}", ")"] for place in range(count)]
    for place in range(draw.randint(1, 4)):
        verb, event = draw.choice(("see", "nap", "give")), f"#{count + place}"
        for role in draw.sample(("agent", "theme", "recipient"), draw.randint(1, 3)):
            who = draw.choice(("Emma", "Liam", *(f"#{number}" for number in range(count))))
            terms.append([verb, ".", role, "(", event, ",", who, ")"])
    names = draw.sample(range(60), count + 4)
    other = draw.sample(range(60), count + 4)
    shuffled = draw.sample(terms, len(terms))
    return _written(terms, names), (_written(shuffled, names), _written(shuffled, other))


def _written(terms: list[list[str]], names: list[int]) -> str:
    shown = [[f"x _ {names[int(word[1:])]}" if word.startswith("#") else word for word in term] for term in terms]
    return " AND ".join(" ".join(term) for term in shown)


def _judge_form(text: str, aside: Any) -> None:
    from wug.families.cogs import logical_form

    shuffled, renamed = aside
    gold = logical_form.parse(text, "cogs")
    if str(gold) != text:
        raise Wrong(f"a form is written otherwise than read: {text[:150]!r}")
    same = logical_form.score_form(text, text, "cogs")
    if not (same.exact_match and same.exact_match_string and same.edit_distance == 0):
        raise Wrong(f"a form does not match itself: {text[:150]!r}")
    if not same.well_formed:
        return
    for other, ordered in ((shuffled, True), (renamed, False)):
        found = logical_form.score_form(text, other, "cogs")
        if not found.semantic_match or (ordered and not found.order_invariant_match):
            raise Wrong(f"{other[:100]!r} does not match {text[:100]!r}")
        if found.edit_distance != _distance(text.split(), other.split()):
            raise Wrong(f"the edit distance of {other[:100]!r} and {text[:100]!r} is {found.edit_distance}")
        form = logical_form.parse(other, "cogs")
        if logical_form.smatch(gold, gold).f1 != 1 or logical_form.smatch(gold, form).f1 < 0:
            raise Wrong(f"smatch of {text[:100]!r}")


def _distance(one: list[str], other: list[str]) -> int:
    """Tokens to insert, delete or replace."""
    row = list(range(len(other) + 1))
    for at, word in enumerate(one, 1):
        row, before = [at], row
        for place, theirs in enumerate(other, 1):
            row.append(min(before[place] + 1, row[-1] + 1, before[place - 1] + (word != theirs)))
    return row[-1]


def _odd_form(draw: random.Random) -> tuple[str, Any]:
    text, _ = _form(draw)
    other = draw.choice(
        (
            text,
            "see ( agent = Emma , theme = * cat ( nmod . on = * mat ) )",
            "Emma ( 0 ) ; * cat ( 3 ) ; see ( 1 ) AND agent ( 1 , 0 )",
            "LAMBDA a . LAMBDA e . see . agent ( e , a )",
            "nap . agent ( x _ 1 , ? )",
        )
    )
    if draw.random() < 0.05:
        count = draw.choice((50, 1500, 20_000))
        other = draw.choice(("see ( agent = " * count, f"{other} AND " * min(count, 300), "( " * count, "* " * count))
    return _worse(draw, other), draw.choice((None, "cogs", "slog", "recogs", "variable_free"))


def _read_form(text: str, dialect: Any) -> None:
    from wug.errors import WugError
    from wug.families.cogs import logical_form

    gold = {
        None: "nap . agent ( x _ 1 , Emma )",
        "cogs": "nap . agent ( x _ 1 , Emma )",
        "slog": "nap . agent ( x _ 1 , ? )",
        "recogs": "Emma ( 0 ) ; nap ( 1 ) AND agent ( 1 , 0 )",
        "variable_free": "nap ( agent = Emma )",
    }[dialect]
    logical_form.score_form(gold, text, dialect or "cogs")
    logical_form.difference(gold, text, dialect or "cogs")
    form = logical_form.parse(text, dialect)
    if logical_form.parse(str(form), form.dialect) != form:
        raise Wrong(f"a form is written otherwise than read: {text[:150]!r}")
    logical_form.violations(form)
    logical_form.canonical(form)
    with suppress(WugError):
        logical_form.score_form(text, gold, form.dialect)


# Names of models, options, templates

KINDS = ("causal", "masked", "lstm", "ngram", "replay", "oracle", "endpoint", "command", "prompt", "seq2seq", "x", "")
PLACES = ("", *"gpt2 pcfgset m.arpa r.jsonl a/b@c ./x ~nobody/x /no/such http://127.0.0.1:1/v1 http://[".split())
KEYS = ("error", "mistake", "reading", "seed", "eos", "lowercase", "dtype", "sentences", "model", "timeout", "x", "")
VALUES = (
    "yes",
    "no",
    "0",
    "1",
    "0.5",
    "-1",
    "nan",
    "inf",
    "1e400",
    "²",
    "١",
    "symbol",
    "rule",
    "float32",
    "9" * 5000,
    "\0",
    "",
)


def _model(draw: random.Random) -> tuple[str, Any]:
    text = f"{draw.choice(KINDS)}:{draw.choice(PLACES)}"
    if draw.random() < 0.3:
        text += f"@{draw.choice(PLACES)}"
    if draw.random() < 0.7:
        text += "?" + "&".join(f"{draw.choice(KEYS)}={draw.choice(VALUES)}" for _ in range(draw.randint(1, 4)))
    return _worse(draw, text) if draw.random() < 0.6 else text, {draw.choice(KEYS): _value(draw)}


def _open_model(text: str, options: Any) -> None:
    from wug import registry
    from wug.evaluation.models import model_spec
    from wug.models.endpoint.client import read_address

    spec = model_spec(text, options)
    str(spec)
    if spec.backend in ("oracle", "ngram", "replay"):  # the others would start programs or ask servers
        registry.find("models", spec.backend).load(spec)
    if spec.backend == "endpoint":
        read_address(spec.name)


def _option(draw: random.Random) -> tuple[str, Any]:
    key = draw.choice(
        ("target", "normalise", "slor", "format", "good", "groups", "join", "eos", "metric", "split", "dialect",
         "smatch", "seed", "bleu", "concurrency", "timeout", "limit", "sides", "steps")
    )  # fmt: skip
    return f"{key}={_value(draw)}", None


def _value(draw: random.Random) -> str:
    return _worse(draw, draw.choice(VALUES)) if draw.random() < 0.4 else draw.choice((*VALUES, *mutate.ODD_TEXTS))


def _take_option(text: str, _: Any) -> None:
    from wug import registry
    from wug.errors import WugError
    from wug.families.pairs.scoring import PairsSettings
    from wug.families.syntaxgym.files import choices
    from wug.options import names, read

    key, _, value = text.partition("=")
    options = {key: value}
    if key in ("concurrency", "timeout"):
        read(registry.find("models", "endpoint").OPTIONS, options, "endpoint models")
    elif key in ("limit", "sides", "steps"):
        given = {
            "limit": ["run", "test.src", "--model", "oracle:pcfgset", "--no-cache", "--limit"],
            "sides": ["compare"],
        }
        wug(
            *given.get(key, ["compare", "1", "2", "--curve", "--steps"]),
            value,
            *(["--no-save"] if key == "limit" else []),
        )
    else:
        cogs = partial(read, registry.find("families", "cogs").OPTIONS, what="cogs")
        for family, take in (("pairs", PairsSettings.each), ("syntaxgym", choices), ("cogs", cogs)):
            if key in names(registry.find("families", family).OPTIONS):
                with suppress(WugError):
                    take(options)


def _template(draw: random.Random) -> tuple[str, Any]:
    text = draw.choice(
        (
            "the {person.N} [{verb.N}|*{verb.-N}].",
            "[{a.b}|*the|*{c}] {d.T} that [the|*{a}|*the] {x.N.y:g}",
            r"{source} ->\n{answer}",
        )
    )
    return _worse(draw, text), None


def _read_template(text: str, _: Any) -> None:
    from wug.errors import WugError
    from wug.families.pairs.templates.grammar import parse_template
    from wug.models.prompt import PromptTemplate

    with suppress(WugError):
        PromptTemplate.of(text, [("a", "b")])
    parse_template(text)


def _worse(draw: random.Random, text: str) -> str:
    """The text with one to three things wrong in it."""
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(text) + 1)
        end = at + draw.choice((0, 0, 1, 1, 3, 10))
        odd = draw.choice(mutate.ODD_TEXTS) if draw.random() < 0.4 else draw.choice("()[]%;*&|<>=!~,.-+#/ \t0159xAé")
        match draw.randrange(5):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:at] + text[at:end] * draw.choice((2, 20)) + text[end:]
            case 2:
                text = text[:at] + "\ud800" + text[end:] if draw.random() < 0.1 else text[at:] + text[:at]
            case _:
                text = text[:at] + odd + text[end:]
    return text
