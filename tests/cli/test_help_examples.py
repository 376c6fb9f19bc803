"""The examples in help texts: every command has one, and its first one works unchanged."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from command_line import wug
from wug.cli.main import cli

NOT_RUN = {
    "wug data get": "fetches from the network",
    "wug data path": "needs a set from the network",
    "wug demo": "takes minutes; tests/cli/test_demo.py runs it",
    "wug view": "serves until it is stopped; tests/web runs it",
}
"""Commands whose first example does not run here; their groups are judged by their other commands."""
SUITE = {
    "meta": {"name": "my_suite", "metric": "sum"},
    "region_meta": {"1": "subject", "2": "verb"},
    "predictions": [{"type": "formula", "formula": "(2;%match%) < (2;%mismatch%)"}],
    "items": [
        {
            "item_number": number,
            "conditions": [
                {
                    "condition_name": name,
                    "regions": [
                        {"region_number": 1, "content": f"The {noun}", "metric_value": {"sum": 9.5}},
                        {"region_number": 2, "content": verb, "metric_value": {"sum": bits}},
                    ],
                }
                for name, verb, bits in (("match", "are", 2.5), ("mismatch", "is", 7.5))
            ],
        }
        for number, noun in enumerate(("keys", "doors", "letters"), 1)
    ],
}
FILES = {
    "my_suite.json": json.dumps(SUITE),
    "suite.json": json.dumps(SUITE),
    "evaluated_suite.json": json.dumps(SUITE),
    "story.txt": "The keys to the cabinet are on the table.\nNobody has ever seen them.\n",
    "corpus.txt": "The keys to the cabinet are on the old table near the door. Nobody has ever seen them there.\n"
    * 200,
    "spr.csv": "story,zone,word,rt\n"
    + "".join(
        f"{story},{zone},{word},{300 + 7 * len(word) + (zone * 37 + story * 11) % 50}\n"
        for story in range(1, 13)
        for zone, word in enumerate("The old keys to the small cabinet are on the wooden table again".split(), 1)
    ),
    "scores.csv": "good,bad,slor_good,slor_bad\nThe keys are here.,The keys is here.,-1.5,-2.5\n"
    "The door was open.,The door were open.,-1.0,-0.5\n",
    "answers.csv": "sentence,who,right\n"
    + "".join(f"s{n % 3},r{n // 3},{int(n % 3 != 1 or n == 1)}\n" for n in range(12)),
    "gen.tsv": "A cat slept .\tcat ( x _ 1 ) AND sleep . agent ( x _ 2 , x _ 1 )\tprim_to_subj_common\n",
    "system.tsv": "A cat slept .\tcat ( x _ 1 ) AND sleep . agent ( x _ 2 , x _ 1 )\tprim_to_subj_common\n",
    "run=1.txt": "source\ttarget\tprediction\nrepeat A1\tA1 A1\tA1 A1\nrepeat B2\tB2 B2\tA1\n",
    "run=1_synonym.txt": "source\ttarget\tprediction\nrepeat_twin A1\tA1 A1\tA1 A1\nrepeat_twin B2\tB2 B2\tB2 B2\n",
    "trace.txt": "---------\ncopy A1 B2 -> A1 B2\nrepeat A1 B2 -> A1 B2 A1 B2\n"
    "repeat copy A1 B2 -> A1 B2 A1 B2\nTrue\n---------\n",
    "ratio=0.001_run=1.txt": "Epoch 1\nAdapted - Sequence Accuracy: 0.25\nOriginal - Sequence Accuracy: 0.5\n",
    "tasks_test_length.txt": "IN: jump OUT: I_JUMP\nIN: walk OUT: I_WALK\n",
    "out.txt": "I_JUMP\nI_RUN\n",
    "nld.judgements.dev": "l o p\tl i p\tV;PST;SG\t6.5\nl o p\tl o p t\tV;PST;SG\t2.0\n",
    "nld.tsv": "l o p\tl i p\tV;PST;SG\t-3.5\nl o p\tl o p t\tV;PST;SG\t-4.0\n",
    "french.toml": """function_words = ["la", "le"]
[lexicon.noun]
forms = ["sing", "plur"]
items = [["la porte", "les portes"], ["la clef", "les clefs"]]
[lexicon.predicate]
forms = ["sing", "plur"]
items = [["est perdue", "sont perdues"]]
[[pattern]]
name = "simple"
category = "accord"
vary = { N = ["sing", "plur"] }
condition = "{N}"
text = "{noun.N} [{predicate.N}|*{predicate.-N}]."
""",
}


def commands(command: click.Command, path: str, parent: click.Context | None) -> Iterator[tuple[str, list[str]]]:
    """Every command and group, with the examples in its help: the text before two spaces, without redirection."""
    context = click.Context(command, info_name=path, parent=parent)
    lines = [line.strip() for line in (command.help or "").split("\n") if line.strip().startswith("wug ")]
    yield path, [re.split(r"\s{2,}(?![-\"])| >", line)[0] for line in lines]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (below := command.get_command(context, name)) is not None and not below.hidden:
                yield from commands(below, f"{path} {name}", context)


EVERY = dict(commands(cli, "wug", None))


@pytest.mark.parametrize("command", EVERY)
def test_the_help_of_a_command_has_an_example_of_it(command: str) -> None:
    alias = command.replace("wug runs show", "wug show")
    assert [line for line in EVERY[command] if line.startswith(alias)]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that examples name, two runs, and what other commands wrote."""
    made = tmp_path_factory.mktemp("examples")
    for name, text in FILES.items():
        (made / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.setenv("WUG_STORE", str(made / "store"))
        for command in (
            "run wug_agreement_pp wug_npi_licensing --limit 6",
            "run wug_agreement_pp wug_npi_licensing --limit 6 --model wug-lstm",
            "runs share 1 -o bundle.zip",
            "export 1 --to lm-eval -o results",
            "make scan --split length -o my_scan",
            "make pcfgset --samples 200 -o my_pcfgset",
        ):
            done = wug(*command.split())
            assert done.code == 0, f"{command}: {done.err}"
    shutil.copy(made / "my_pcfgset" / "test.src", made)
    return made


@pytest.mark.parametrize("command", {EVERY[name][0]: name for name in EVERY if name not in NOT_RUN}.values())
def test_the_first_example_works_as_it_stands(
    command: str, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(
        prepared, folder, ignore=shutil.ignore_patterns("my_pcfgset", "my_scan") if "make" in command else None
    )
    monkeypatch.chdir(folder)
    monkeypatch.setenv("WUG_STORE", str(folder / "store"))
    done = wug(*shlex.split(EVERY[command][0])[1:])
    assert done.code == 0, f"{EVERY[command][0]}: {done.err}"


def test_commands_that_are_left_out_exist() -> None:
    assert set(NOT_RUN) <= set(EVERY)
