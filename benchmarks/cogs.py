"""Judging COGS predictions: CPU time of all measures, start included, compared with NLTK and a Lark Earley parser.

    python benchmarks/cogs.py                   dev and gen, every prediction wrong and its indices renamed
    python benchmarks/cogs.py --sample 500      more lines for the peers, which are measured on a sample

A peer's evaluation is taken to be what an evaluator built of them has to do for each line: parse two forms, and
find one edit distance. Data come from WUG_REFERENCE_DATA or ../shared/data; without them, from made-up forms.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Row = tuple[str, str, str]

GRAMMAR = r"""
start: NAME | lambdas conjunction | iota* conjunction
lambdas: ("LAMBDA" LETTER ".")+
iota: "*" WORD "(" index ")" ";"
conjunction: term ("AND" term)*
term: WORD ("." WORD)* "(" argument ("," argument)* ")"
argument: index | NAME | LETTER
index: "x" "_" NUMBER
NAME: /[A-Z][a-z]+/
WORD: /[a-z][a-z]+/
LETTER: /[abe]/
NUMBER: /0|[1-9][0-9]*/
%ignore " "
"""
SCORE = """
import sys
from pathlib import Path
from wug.families import cogs
found = cogs.score(Path(sys.argv[1]), [Path(sys.argv[2])])[0].estimates()
print(len(found), *(round(e.value, 4) for e in found if e.group == "all" and e.metric in sys.argv[3:]))
"""


def published(name: str) -> list[Row] | None:
    """The lines of a published file, if it is here."""
    data = Path(os.environ.get("WUG_REFERENCE_DATA", ROOT.parent / "shared" / "data"))
    path = data / "cogs" / f"{name}.tsv.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [(s, form, kind) for s, form, kind in (line.rstrip("\n").split("\t") for line in lines)]


def made_up(count: int) -> list[Row]:
    """Forms like the published ones: a chain of clauses, each with an agent."""
    chance = random.Random(0)
    rows = []
    for number in range(count):
        verbs = [chance.choice(("like", "say", "hope")) for _ in range(chance.choice((1, 1, 1, 2, 3, 12)))]
        terms = []
        for place, verb in enumerate(verbs):
            terms.append(f"{verb} . agent ( x _ {3 * place + 2} , x _ {3 * place + 1} )")
            terms.append(f"{chance.choice(('cat', 'boy', 'cake'))} ( x _ {3 * place + 1} )")
            if place:
                terms.append(f"{verbs[place - 1]} . ccomp ( x _ {3 * place - 1} , x _ {3 * place + 2} )")
        rows.append((f"sentence {number}", " AND ".join(terms), f"type_{number % 21}"))
    return rows


def renamed(form: str, chance: random.Random, shuffle: bool) -> str:
    """The form with other indices everywhere; where `shuffle`, in another order, and half of them wrong besides."""
    old = sorted(set(re.findall(r"\d+", form)))
    names = dict(zip(old, map(str, chance.sample(range(100, 200), len(old))), strict=True))
    changed = re.sub(r"\d+", lambda match: names[match[0]], form)
    if not shuffle:
        return changed
    prefix, semicolon, body = changed.rpartition(" ; ")
    terms = body.split(" AND ")
    chance.shuffle(terms)
    words = (prefix + semicolon + " AND ".join(terms)).split(" ")
    places = [place for place, word in enumerate(words) if word.isdigit()]
    if len(places) > 1 and chance.random() < 0.5:
        one, other = chance.sample(places, 2)
        words[one], words[other] = words[other], words[one]
    return " ".join(words)


def cpu_of_scoring(gold: Path, system: Path) -> float:
    """Seconds of CPU time of a process that does nothing but score two files, the best of three."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-c", SCORE, str(gold), str(system), "exact_match", "semantic_match"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def cpu_per_call(function: Callable[[int], object], calls: int) -> float:
    """Seconds of CPU time of one call, the mean of many."""
    start = time.process_time()
    for number in range(calls):
        function(number)
    return (time.process_time() - start) / calls


def peers(gold: list[str], predictions: list[str], sample: int) -> None:
    """Print what one parse, one distance and one whole line cost, ours and theirs."""
    from lark import Lark  # type: ignore[import-not-found, unused-ignore]
    from nltk.metrics import edit_distance as nltk_distance  # type: ignore[import-untyped, import-not-found, unused-ignore]
    from rapidfuzz.distance import Levenshtein

    from wug.families.cogs.logical_form import parse, tokens
    from wug.families.cogs.logical_form.measures import score_form

    lark = Lark(GRAMMAR, parser="earley")
    chosen = random.Random(1).sample(range(len(gold)), min(sample, len(gold)))
    ours, theirs = [gold[line] for line in chosen], [predictions[line] for line in chosen]
    split = [(tokens(one), tokens(other)) for one, other in zip(ours, theirs, strict=True)]
    count = len(chosen)
    parse_ours = cpu_per_call(lambda n: parse(ours[n], "cogs"), count)
    parse_lark = cpu_per_call(lambda n: lark.parse(ours[n]), count)
    edits_ours = cpu_per_call(lambda n: Levenshtein.distance(*split[n]), count)
    edits_nltk = cpu_per_call(lambda n: nltk_distance(*split[n], substitution_cost=1), count)
    whole = cpu_per_call(lambda n: score_form(ours[n], theirs[n], "cogs"), count)
    both = 2 * parse_lark + edits_nltk
    print(f"\nfor one line of gen (mean of {count})\n\n| | wug, µs | peer, µs | peer ÷ wug |\n|---|--:|--:|--:|")
    print(row("parse one form (peer: Lark, Earley)", parse_ours, parse_lark))
    print(row("edit distance (peer: NLTK)", edits_ours, edits_nltk))
    print(row("all measures (peer: two parses and a distance)", whole, both))
    print(f"\nthe peers' {len(gold):,} lines would take {both * len(gold):,.0f} s of CPU time")


def row(title: str, ours: float, theirs: float) -> str:
    """A row of the table."""
    return f"| {title} | {ours * 1e6:,.1f} | {theirs * 1e6:,.0f} | {theirs / ours:,.0f} × |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the time of whole files, then that of single lines next to the peers'."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=200, help="lines on which the peers are measured")
    options = parser.parse_args(arguments)
    sets = {"dev": published("dev") or made_up(3_000), "gen": published("gen") or made_up(21_000)}
    print("all measures, start included\n\n| file | lines | predictions | CPU s |\n|---|--:|---|--:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in sets.items():
            gold = Path(folder) / f"{name}.tsv"
            gold.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
            print(f"| {name} | {len(rows):,} | the gold forms | {cpu_of_scoring(gold, gold):.2f} |", flush=True)
            for title, shuffle in (("renamed", False), ("renamed and shuffled, half with two indices swapped", True)):
                chance = random.Random(0)
                system = Path(folder) / f"{name}-system.tsv"
                wrong = [(s, renamed(form, chance, shuffle), kind) for s, form, kind in rows]
                system.write_text("".join("\t".join(row) + "\n" for row in wrong), encoding="utf-8")
                print(f"| {name} | {len(rows):,} | {title} | {cpu_of_scoring(gold, system):.2f} |", flush=True)
    peers([form for _, form, _ in sets["gen"]], [form for _, form, _ in wrong], options.sample)


if __name__ == "__main__":
    main()
