"""Reading word-formation data in published formats, and in your own tables."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

from wug.errors import InputError
from wug.families.morphology.item import REGULAR, Form, ParsedForms, WugItem, joined, plain_g
from wug.files import head, read_text
from wug.problems import ProblemList, refuse_errors
from wug.record_tables import Record, as_number, columns_of, number_of, plain, read_table, text_of

FORMATS = ("table", "sigmorphon", "individual", "unimorph", "albright-hayes", "babylm", "answers")
TAG = re.compile(r"[A-Z0-9][A-Z0-9.+/{}()|,_-]*(;[A-Za-z0-9.+/{}()|,_-]+)+|[A-Z]{1,5}")
SIGMORPHON = ("lemma", "form", "tag", "rating")
"""The columns, which a file does not name; the last one is optional."""
_COLUMNS = {
    "albright-hayes": ("lemma_ipa", "past_ipa", "mean_rating"),
    "individual": ("pid", "past_rating", "lemma", "form"),
    "babylm": ("sentences", "ratio"),
    "table": ("lemma", "form"),
}
"""The columns by which formats are recognised."""
TASKS = {
    "V;PST": "past",
    "V.PTCP;PST": "participle",
    "V;V.PTCP;PST": "participle",
    "V;PST;PL": "past_plural",
    "N;PL": "plural",
    "V;PRS;3;SG": "third_person",
    "V;PRS;SG;3": "third_person",
    "N;GEN;SG": "possessive",
}
"""UniMorph features, without a person, and the requested form."""


class ReadOptions(NamedTuple):
    """How a file is read."""

    format: str | None = None
    language: str = ""
    task: str | None = None
    rating: str | None = None
    """The column with what people make of a form."""


def format_of(path: Path, start: str) -> str | None:
    """The format of a file, from the beginning of its content; None if it has no word forms."""
    columns = set(columns_of("\n".join(line for line in start.split("\n") if not line.startswith("#"))))
    if name := next((name for name, needed in _COLUMNS.items() if columns.issuperset(needed)), None):
        return name
    fields = start.split("\n", 1)[0].rstrip("\r").split("\t")
    if len(fields) in (3, 4) and TAG.fullmatch(fields[2]) and (len(fields) == 3 or _number(fields[3]) is not None):
        return "sigmorphon"
    if len(fields) == 3 and TAG.fullmatch(fields[1]):
        return "unimorph"
    return "answers" if "gold_data" in path.name else None


def parse(path: Path, options: ReadOptions) -> ParsedForms:
    """The items of a file with all problems; InputError if it cannot be read at all."""
    text = read_text(path)
    if not text.strip():
        raise InputError("the file is empty", file=path)
    format = options.format or format_of(path, "\n".join(text.split("\n", 20)[:20]))
    if format is None:
        raise InputError(
            "no word forms found. Write a table with the columns lemma and form, or name the format: "
            f"-S format={'|'.join(FORMATS)}",
            file=path,
        )
    if not options.language and (match := re.match(r"[a-z]{3}(?=[._])", path.name)):
        options = options._replace(language=match[0])
    parsed = _READERS[format](path, options)
    values: dict[str, set[str]] = defaultdict(set)
    for item in parsed.items:
        for name, value in item.groups.items():
            values[name].add(value)
    varying = {name for name, of_name in values.items() if len(of_name) > 1}
    items = [
        replace(item, groups={name: value for name, value in item.groups.items() if name in varying})
        for item in parsed.items
    ]
    return replace(parsed, items=tuple(items))


def task_of(tag: str, language: str = "") -> str:
    """What features ask for, such as `past` for V;PST;1;SG; the tag itself if it is not known."""
    if language == "nld" and tag.startswith("V;PST"):
        return "past_plural"
    bare = re.sub(r";[123](?=;|$)(?!;SG;PRS)", "", tag).removesuffix(";SG") if "PRS" not in tag else tag
    return TASKS.get(tag) or TASKS.get(bare) or tag


class _Row(NamedTuple):
    lemma: str
    tag: str
    form: Form
    groups: Mapping[str, str]
    text: str = ""
    """The lemma as models read it, if that is not how the file writes it."""
    weight: float = 1.0


def _items(rows: Sequence[_Row], options: ReadOptions) -> Iterator[WugItem]:
    """One item per lemma and tag, in the order of the file."""
    cells: dict[tuple[str, str], list[_Row]] = {}
    for row in rows:
        cells.setdefault((row.lemma, row.tag), []).append(row)
    names = Counter(lemma for lemma, _ in cells)
    for (lemma, tag), rows_of_lemma in cells.items():
        forms = tuple(row.form for row in rows_of_lemma)
        expected = [index for index, form in enumerate(forms) if form.type == REGULAR]
        unrated = all(form.rating is None for form in forms)
        yield WugItem(
            item=joined(lemma) if names[lemma] == 1 else f"{joined(lemma)} {tag}",
            lemma=rows_of_lemma[0].text or lemma,
            symbols=lemma,
            tag=tag,
            task=options.task or task_of(tag, options.language),
            language=rows_of_lemma[0].groups.get("language") or options.language,
            forms=forms,
            groups=rows_of_lemma[0].groups,
            expected=expected[0] if unrated and len(expected) == 1 else None,
            weight=rows_of_lemma[0].weight,
        )


def _text(symbols: str) -> str:
    """A word as models read it: IPA symbols that are separated by spaces are joined."""
    parts = symbols.split()
    return "".join(parts) if len(parts) > 2 and max(map(len, parts)) <= 3 else symbols


def _sigmorphon(path: Path, options: ReadOptions) -> ParsedForms:
    width = len(head(path).lstrip("\n").split("\n", 1)[0].split("\t"))
    table = read_table(path, header=SIGMORPHON if width == len(SIGMORPHON) else SIGMORPHON[:3], quoted=False)
    rows, problems, mapped = [], table.problems, 0
    for record in table.records:
        texts = _texts(record, problems)
        rating = number_of(record, "rating", problems)
        if texts:
            mapped += "ɡ" in texts[0] + texts[1]
            lemma, form, tag = plain_g(texts[0]), plain_g(texts[1]), texts[2]
            parsed_form = Form(joined(form), form, rating, _regularity(lemma, form, options.language), record.place)
            rows.append(_Row(lemma, tag, parsed_form, {"tag": tag}, joined(lemma)))
    if mapped:
        problems.warn("", f"{mapped:,} lines have the IPA letter ɡ, which is read as g")
    return _parsed("sigmorphon", rows, options, problems)


def _texts(record: Record, problems: ProblemList) -> list[str]:
    """The texts of a row without surrounding spaces; empty, with a problem, if a field is empty."""
    texts = [text_of(record, column, problems) for column in record.fields]
    return [] if None in texts else [text.strip() for text in texts if text is not None]


def _parsed(format: str, rows: Sequence[_Row], options: ReadOptions, problems: ProblemList) -> ParsedForms:
    """The items of these rows, with a warning for each form that an item has more than once."""
    items = tuple(_items(rows, options))
    for item in items:
        for text, times in Counter(form.symbols for form in item.forms).items():
            if times > 1:
                lines = ", ".join(form.place for form in item.forms if form.symbols == text)
                message = f"the form {text!r} of {item.symbols!r} is there {times} times: rows are matched in order"
                problems.warn(lines, message)
    return ParsedForms(format, items, problems)


def _regularity(lemma: str, form: str, language: str) -> str:
    """Whether a form in IPA has the regular ending after an unchanged stem; empty for other languages."""
    symbols, stem = form.split(), lemma.split()
    match language:
        case "eng":
            regular = symbols in ([*stem, "d"], [*stem, "t"], [*stem, "ɪ", "d"])
            # after a voiced sound, t is an irregular ending: burn, burnt
            voiced = bool(stem) and stem[-1] not in ("p", "t", "k", "f", "θ", "s", "ʃ", "tʃ")
            regular = regular and not (symbols[-1:] == ["t"] and voiced)
        case "deu":
            bare = stem[:-2] if stem[-2:] == ["ə", "n"] else stem[:-1]
            inner = symbols[2:] if symbols[:2] == ["g", "ə"] and bare[:2] != ["g", "ə"] else symbols
            regular = inner in ([*bare, "t"], [*bare, "ə", "t"], [*_devoiced(bare), "t"])
        case "nld":
            bare = stem[:-1] if stem[-1:] == ["ə"] else stem
            regular = symbols in ([*bare, "d", "ə"], [*bare, "t", "ə"])
        case _:
            return ""
    return REGULAR if regular else "irregular"


def _devoiced(stem: Sequence[str]) -> list[str]:
    pairs = {"b": "p", "d": "t", "g": "k", "v": "f", "z": "s"}
    return [*stem[:-1], pairs.get(stem[-1], stem[-1])] if stem else []


def _unimorph(path: Path, options: ReadOptions) -> ParsedForms:
    """Real words with one correct form each."""
    table = read_table(path, header=("lemma", "tag", "form"), quoted=False)
    items, language = [], options.language
    for record in table.records:
        if texts := _texts(record, table.problems):
            lemma, tag, form = texts
            forms = (Form(form, form, None, "", record.place),)
            number, task = record.place.removeprefix("line "), options.task or task_of(tag, language)
            items.append(WugItem(number, lemma, lemma, tag, task, language, forms, {"tag": tag}, expected=0))
    return ParsedForms("unimorph", items, table.problems)


def _individual(path: Path, options: ReadOptions) -> ParsedForms:
    """Items whose ratings are the medians of individual ratings of words that do not exist."""
    ratings, problems = individual_ratings(path)
    medians: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (_, lemma, form), value in ratings.items():
        medians[lemma, form].append(value)
    rows = [_Row(lemma, "", Form(form, form, median(values)), {}) for (lemma, form), values in medians.items()]
    return _parsed("individual", rows, options._replace(task=options.task or "past"), problems)


def individual_ratings(path: Path) -> tuple[dict[tuple[str, str, str], float], ProblemList]:
    """The ratings of nonce forms by rater, lemma and form; ɡ is read as g."""
    table = read_table(path)
    problems = table.problems
    ratings: dict[tuple[str, str, str], float] = {}
    for record in table.records:
        value = number_of(record, "past_rating", problems)
        if value is not None and plain(record.fields.get("isreal")) != "1":
            pid, lemma, form = (plain_g(plain(record.fields[name])) for name in ("pid", "lemma", "form"))
            ratings[pid, lemma, form] = value
    return ratings, problems


def _albright_hayes(path: Path, options: ReadOptions) -> ParsedForms:
    """Nonce verbs of Albright and Hayes (2003), with spellings, islands of reliability and ratings."""
    table = read_table(path, repair=lambda text: (re.sub("^#.*", "", text, flags=re.MULTILINE), ProblemList()))
    column = options.rating or "mean_rating"
    problems = table.problems
    cells: dict[str, list[tuple[Form, Mapping[str, str]]]] = {}
    for place, row in table.records:
        rating = _number(row.get(column))
        if rating is None:
            problems.error(place, f"{column} {row.get(column)!r} is not a finite number")
            continue
        type = REGULAR if row["past_type"] == "regular" else "irregular"
        form = Form(plain(row.get("past_orth")) or joined(row["past_ipa"]), row["past_ipa"], rating, type, place)
        cells.setdefault(row["lemma"], []).append((form, row))
    items = []
    for lemma, forms_of_lemma in cells.items():
        row = forms_of_lemma[0][1]
        groups = {"island": plain(row.get("lemma_type")), "ending": plain(row.get("regular_island"))}
        in_island = None if groups["island"] == "Peripheral" else groups["island"] in ("IOR both", "IOR Reg.")
        forms = tuple(form for form, _ in forms_of_lemma)
        items.append(
            WugItem(lemma, lemma, row["lemma_ipa"], "V;PST", "past", "eng", forms, groups, in_island=in_island)
        )
    return ParsedForms("albright-hayes", items, problems)


def _babylm(path: Path, options: ReadOptions) -> ParsedForms:
    """Pairs of sentences with the proportion of people who chose the first."""
    table = read_table(path)
    items, problems = [], table.problems
    for record in table.records:
        sentences = str(record.fields.get("sentences")).split("\t")
        ratio = _number(str(record.fields.get("ratio")))
        if len(sentences) != 2 or ratio is None or not 0 <= ratio <= 1:
            problems.error(record.place, "expected sentences, two with a tab between, and a ratio between 0 and 1")
            continue
        forms = (Form(sentences[0], sentences[0], ratio), Form(sentences[1], sentences[1], 1 - ratio))
        item = record.place.removeprefix("line ")
        items.append(WugItem(item, "", "", "", "", "eng", forms, carriers=("{form}",)))
    return ParsedForms("babylm", items, problems)


def _answers(path: Path, options: ReadOptions) -> ParsedForms:
    """One column per word and one row per person, as Weissweiler et al. (2023) have them."""
    rows = read_answers(path, options.language)
    items = []
    for lemma, answers in rows.items():
        counts = Counter(answers)
        forms = tuple(Form(text, text, float(times)) for text, times in counts.items())
        task = options.task or {"deu": "plural"}.get(options.language, "past")
        items.append(WugItem(lemma, lemma, lemma, "", task, options.language, forms))
    return ParsedForms("answers", items, answers=rows)


def read_answers(path: Path, language: str = "") -> dict[str, list[str]]:
    """Free answers by lemma, one per row of the file; English in lower case and German capitalised, as published."""
    table = read_table(path)
    refuse_errors(table.problems, path)
    if not table.records:
        raise InputError("there are no answers below the header", file=path)
    change = {"eng": str.lower, "deu": str.capitalize}.get(language, str)
    columns, _ = table.by_column()
    return {name: [change(text.replace("\n", "").strip()) for text in texts] for name, texts in columns.items()}


def _table(path: Path, options: ReadOptions) -> ParsedForms:
    table = read_table(path)
    problems = table.problems
    rows, languages, tasks = [], set[str](), set[str]()
    rating = options.rating or next((name for name in ("rating", "count", "share") if name in table.header), None)
    for record in table.records:
        texts = {name: plain(record.fields.get(name)) for name in record.fields}
        lemma, form = texts.get("lemma", ""), texts.get("form", "")
        if not lemma or not form:
            problems.error(record.place, f"{'form' if lemma else 'lemma'} is empty")
            continue
        value = None if rating is None else number_of(record, rating, problems)
        weight = number_of(record, "frequency", problems)
        tag = texts.get("tag") or texts.get("task", "")
        groups = {name: texts[name] for name in _GROUPS if texts.get(name)}
        lemma_spelling = texts.get("lemma_orthography") or _text(lemma)
        spelling = texts.get("orthography") or _text(form)
        parsed_form = Form(spelling, form, value, texts.get("type", "").lower(), record.place)
        rows.append(_Row(lemma, tag, parsed_form, groups, lemma_spelling, 1.0 if weight is None else weight))
        languages.add(texts.get("language", ""))
        tasks.add(texts.get("task", ""))
    language = options.language or (languages.pop() if len(languages) == 1 else "")
    task = options.task or (tasks.pop() if len(tasks) == 1 else None)
    return _parsed("table", rows, options._replace(language=language, task=task or None), problems)


_GROUPS = ("language", "task", "tag", "ending", "neighbourhood", "island", "vowel_change", "class")


def _number(text: str | None) -> float | None:
    value = as_number(text)
    return value if math.isfinite(value) else None


_READERS: Mapping[str, Callable[[Path, ReadOptions], ParsedForms]] = {
    "sigmorphon": _sigmorphon,
    "unimorph": _unimorph,
    "individual": _individual,
    "albright-hayes": _albright_hayes,
    "babylm": _babylm,
    "answers": _answers,
    "table": _table,
}
