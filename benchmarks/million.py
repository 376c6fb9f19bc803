"""Whole commands on a million minimal pairs and an n-gram model: CPU time and memory, compared with plain programs.

    python benchmarks/million.py                         made in a temporary folder; takes some minutes
    python benchmarks/million.py --pairs 100000          fewer
    python benchmarks/million.py --folder FOLDER         keep the files there, and use those that are there already
    python benchmarks/million.py --beside OTHER/src      another version of wug, in the same run

The pairs are agreement across a prepositional phrase, from one template; two bigram models of made-up numbers answer.
The peers are what one would write without wug: a loop over the file with the same bigrams in a dictionary, which keeps
a table of judgements and one accuracy, and pandas reading such tables for a comparison or another format. They give no
intervals, no groups, no checksums, and nothing is kept that could be resumed.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice, product
from pathlib import Path

from cached import PLAIN
from timing import Took, aim, took

NOUNS = "author banker captain dancer editor farmer guard hunter janitor lawyer manager novelist officer pilot senator"
PLACES = "near behind beside above below under opposite before"
VERBS = "laugh swim smile sleep jump run sing talk walk wait work write"
ADVERBS = "often always never rarely usually again today quickly gladly slowly"
MODELS = ("first", "second")
CPU = {"run": 20, "show": 2, "compare": 3, "report": 15}
"""Seconds of CPU that commands may take on a million pairs."""
PEAK = 700
"""MB that any of them may take."""

LOOP = """
import csv, sys
pairs, arpa, out = sys.argv[1:]
grams, weights, part = {}, {}, ""
for line in open(arpa, encoding="utf-8"):
    if line.startswith("\\\\"):
        part = line.strip()
    elif part.endswith("-grams:") and line.strip():
        value, words, *weight = line.rstrip("\\n").split("\\t")
        grams[tuple(words.split())] = float(value)
        weights[words] = float(weight[0]) if weight else 0.0
def score(text):
    total, before = 0.0, "<s>"
    for word in text.split():
        found = grams.get((before, word))
        total += weights.get(before, 0.0) + grams[word,] if found is None else found
        before = word
    return total
right = n = 0
with open(pairs, encoding="utf-8", newline="") as file, open(out, "w", encoding="utf-8", newline="") as table:
    write = csv.writer(table).writerow
    write(["item", "value", "good", "bad"])
    for n, row in enumerate(csv.DictReader(file, delimiter="\\t"), 1):
        good, bad = score(row["sent"]), score(row["sent_alt"])
        right += good > bad
        write([n, good > bad, good, bad])
print(right / n)
"""
MERGE = """
import sys
import pandas as pd
first, second = (pd.read_csv(path).set_index("item") for path in sys.argv[1:])
both = first.join(second, rsuffix="_second")
print(pd.crosstab(both["value"], both["value_second"]), both["value_second"].mean() - both["value"].mean())
"""
WRITE = """
import sys
import pandas as pd
table, out = pd.read_csv(sys.argv[1]), sys.argv[2]
{"csv": table.to_csv, "json": table.to_json, "parquet": table.to_parquet}[out.rpartition(".")[2]](out)
"""


def make_pairs(path: Path, count: int) -> None:
    """Write a table of this many different pairs, the singular before the plural."""
    words = [part.split() for part in (NOUNS, PLACES, NOUNS, ADVERBS, VERBS)]
    numbers = list(product(("", "s"), repeat=2))

    def lines() -> Iterator[str]:
        for noun, place, other, adverb, verb, second in product(*words, ADVERBS.split()):
            for ours, theirs in numbers:
                start = f"the {noun}{ours} {place} the {other}{theirs} {adverb}"
                forms = (f"{verb}s", verb) if not ours else (verb, f"{verb}s")
                pattern = f"{'plural' if ours else 'singular'}_{'plural' if theirs else 'singular'}"
                yield "\t".join((pattern, verb, *(f"{start} {form} {second}" for form in forms)))

    with path.open("w", encoding="utf-8") as file:
        file.write("pattern\ttype\tsent\tsent_alt\n")
        made = sum(file.write(f"{line}\n") > 0 for line in islice(lines(), count))
    if made < count:
        sys.exit(f"the template makes {made:,} pairs, not {count:,}")


def make_model(path: Path, seed: int) -> None:
    """Write a bigram model of all these words with made-up numbers, which add up to nothing."""
    chance = random.Random(seed)
    nouns, verbs = ([word + end for word in part.split() for end in ("", "s")] for part in (NOUNS, VERBS))
    words = ["the", *nouns, *PLACES.split(), *ADVERBS.split(), *verbs]
    bigrams = [(a, b) for a, b in product(["<s>", *words], words) if chance.random() < 0.6]
    with path.open("w", encoding="utf-8") as file:
        file.write(f"\\data\\\nngram 1={len(words) + 3}\nngram 2={len(bigrams)}\n\n\\1-grams:\n")
        for word in ("<unk>", "<s>", "</s>", *words):
            file.write(f"{-chance.uniform(1, 4):.6f}\t{word}\t{-chance.random():.6f}\n")
        file.write("\n\\2-grams:\n")
        for a, b in bigrams:
            file.write(f"{-chance.expovariate(1):.6f}\t{a} {b}\n")
        file.write("\n\\end\\\n")


def commands(folder: Path) -> dict[str, list[str]]:
    """What a user would do, in order, with a word for each."""
    pairs, store = folder / "pairs.tsv", ["--store", str(folder / "runs")]
    run = ["--cache", str(folder / "answers.db"), *store]
    ask = {name: ["run", str(pairs), "--model", f"ngram:{folder / name}.arpa", *run] for name in MODELS}
    return {
        "run": ask["first"],
        "run, another model": ask["second"],
        "run, answered by the cache": ask["first"],
        "show": ["show", "1", *store],
        "compare, two runs": ["compare", "1", "2", *store],
        "report, two runs": ["report", "1", "2", "-o", str(folder / "report.html"), *store],
        **{
            f"export, {to}": ["export", "1", "-o", str(folder / f"wug.{to}"), *store]
            for to in ("csv", "json", "parquet")
        },
    }


def peers(folder: Path) -> dict[str, tuple[str, str, list[str]]]:
    """What each command is compared with: the peer's name, its code, and what it is given."""
    tables = [str(folder / f"{name}.csv") for name in MODELS]
    loop = {
        name: ("a plain loop", LOOP, [str(folder / "pairs.tsv"), str(folder / f"{name}.arpa"), table])
        for name, table in zip(MODELS, tables, strict=True)
    }
    return {
        "run": loop["first"],
        "run, another model": loop["second"],
        "compare, two runs": ("pandas: read two tables, join, cross", MERGE, tables),
        **{
            f"export, {to}": (f"pandas: read a table, write {to}", WRITE, [tables[0], str(folder / f"pandas.{to}")])
            for to in ("csv", "json", "parquet")
        },
    }


def python(code: str, arguments: Sequence[str]) -> list[str]:
    """The command that runs some code."""
    return [sys.executable, "-c", code, *arguments]


def told(name: str, took: Took) -> None:
    print(f"| {name} | {took.wall:.1f} | {took.cpu:.1f} | {took.peak:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--only", help="commands whose name has this in it")
    parser.add_argument("--no-peers", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "pairs.tsv").exists():
            make_pairs(folder / "pairs.tsv", given.pairs)
        for seed, name in enumerate(MODELS):
            make_model(folder / f"{name}.arpa", seed)
        beside = peers(folder)
        print("| command | wall, s | CPU, s | peak, MB |\n|---|--:|--:|--:|")
        for name, arguments in commands(folder).items():
            if given.only and given.only not in name:
                continue
            used = took(python(PLAIN, arguments))
            told(f"`wug {arguments[0]}`{name.removeprefix(arguments[0])}", used)
            cpu = CPU.get(name.removesuffix(", two runs"), math.inf)
            most = f"< {PEAK} MB" if cpu == math.inf else f"< {cpu} s of CPU, < {PEAK} MB"
            aim(
                f"a million pairs: {name}",
                most if given.pairs == 1_000_000 else f"{most} (here {given.pairs:,} pairs)",
                f"CPU {used.cpu:.1f} s, {used.peak:.0f} MB",
                met=used.peak < PEAK and used.cpu < cpu,
            )
            if given.beside is not None:
                told(f"the same, wug of {given.beside}", took(python(PLAIN, arguments), given.beside))
            if name in beside and not given.no_peers:
                peer, code, words = beside[name]
                told(f"for comparison: {peer}", took(python(code, words)))


if __name__ == "__main__":
    main()
