"""Options: how they are read and refused, and that the documentation has exactly those that are declared."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from command_line import wug
from wug import open_suites, registry
from wug.errors import InputError, UnknownName
from wug.evaluation.models import open_model
from wug.options import Option, read, table
from wug.train.options import KINDS as TRAINING
from wug.traits import BackendTraits

DOCS = Path(__file__).resolve().parents[1] / "docs"
OPTIONS = (
    Option("metric", ("sum", "mean", "all"), None, "how", many=True),
    Option("beams", int, 1, "how many", least=1),
    Option("error", float, 0.0, "which share", least=0, most=1),
    Option("quick", bool, False, "whether"),
    Option("bos", ("auto", "yes", "no"), "auto", "which mark"),
    Option("words", Path, None, "a file"),
    Option("prefix", str, "", "a text"),
)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("metric", "sum", ("sum",)),
        ("metric", "mean, sum", ("mean", "sum")),
        ("beams", "12", 12),
        ("error", "0.25", 0.25),
        ("error", "1", 1.0),
        ("quick", "Yes", True),
        ("quick", "on", True),
        ("quick", "0", False),
        ("bos", "TRUE", "yes"),
        ("bos", "off", "no"),
        ("words", "a/b.txt", Path("a/b.txt")),
        ("words", "", None),
        ("prefix", " a=b ", " a=b "),
    ],
)
def test_text_becomes_a_value_of_the_declared_type(name: str, text: str, value: object) -> None:
    found = read(OPTIONS, {name: text}, "this")[name]
    assert (found, type(found)) == (value, type(value))


def test_what_is_not_given_has_its_default() -> None:
    assert read(OPTIONS, {}, "this") == {
        "metric": None, "beams": 1, "error": 0.0, "quick": False, "bos": "auto", "words": None, "prefix": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "metric",
            "summ",
            "metric=summ: use one of sum, mean, all, or several separated by commas. Did you mean 'sum'?",
        ),
        ("metric", "sum,mode", "metric=sum,mode: use one of"),
        ("metric", " , ", "metric= , : use one of"),
        ("beams", "0", "beams=0: write a whole number, 1 or more"),
        ("beams", "1.5", "beams=1.5: write a whole number"),
        ("beams", "٣", "beams=٣: write a whole number"),
        ("beams", "9" * 5000, "beams=999"),
        ("error", "nan", "error=nan: write a number from 0 to 1"),
        ("error", "1.01", "error=1.01: write a number from 0 to 1"),
        ("quick", "maybe", "quick=maybe: write yes or no"),
        ("bos", "always", "bos=always: use one of auto, yes, no"),
    ],
)
def test_what_is_no_value_is_refused_with_what_may_be_written(name: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read(OPTIONS, {name: text}, "this")
    assert str(refused.value).startswith(message)
    assert len(str(refused.value)) < 400


def test_a_value_of_pythons_own_is_what_the_command_line_writes_for_it() -> None:
    (ours,), (theirs,) = (open_suites("wug_cogs_test", {"smatch": value}) for value in (True, "yes"))
    assert ours.options == theirs.options
    given: dict[str, Any] = {"quick": True}
    with pytest.raises(InputError, match="quick=True: options are text, as on the command line: 'yes'"):
        read(OPTIONS, given, "this")  # below the API


def test_an_unknown_option_is_named_with_the_nearest_and_all_others() -> None:
    with pytest.raises(UnknownName) as refused:
        read(OPTIONS[:2], {"metrc": "sum"}, "syntaxgym")
    assert str(refused.value) == "unknown option 'metrc' of syntaxgym. Did you mean 'metric'? Options: metric, beams"


def test_an_option_is_described_with_the_words_to_choose_from_and_its_default() -> None:
    described = [option.described for option in OPTIONS[:4]]
    assert described == [
        "how  [sum|mean|all]",
        "how many  [default: 1]",
        "which share  [default: 0]",
        "whether  [yes|no; default: no]",
    ]


@pytest.mark.parametrize(
    ("suite", "options", "message"),
    [
        ("wug_agreement_pp", {"metrc": "sum"}, "unknown option 'metrc' of syntaxgym. Did you mean 'metric'"),
        ("wug_coord", {"join": "space"}, "unknown option 'join' of pairs."),
        ("localism", {"splitt": "dev"}, "unknown option 'splitt' of pcfgset."),
    ],
)
def test_a_suite_is_not_opened_with_an_option_that_its_family_lacks(
    suite: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UnknownName, match=message):
        open_suites(suite, options)


def test_suites_of_two_families_take_the_options_of_both() -> None:
    from wug.evaluation.suites import open_suites

    first, second = open_suites(["wug_agreement_pp", "wug_coord"], {"join": "detokenized", "target": "word"})
    assert (first.options["join"], second.options["target"]) == ("detokenized", "word")
    with pytest.raises(UnknownName, match="unknown option 'beam' of pairs, syntaxgym"):
        open_suites(["wug_agreement_pp", "wug_coord"], {"beam": "1"})


class _Plugin(ModuleType):
    TRAITS = BackendTraits(returns="text")
    OPTIONS = (Option("depth", str, None, "how deep"),)

    @staticmethod
    def load(spec: Any) -> Any:
        raise AssertionError("asked although an option is wrong")


def test_a_backend_from_outside_need_not_look_for_typing_errors_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find", lambda folder, name: _Plugin("plugin"))
    with pytest.raises(UnknownName, match=r"unknown option 'dept' of oracle models\. Did you mean 'depth'"):
        open_model("oracle:pcfgset?dept=3")


def test_a_flag_reaches_the_models_that_have_the_option() -> None:
    command = ("run", "localism", "--limit", "1", "--no-save", "--no-cache", "--format", "json")
    assert "seed:7" in wug(*command, "--model", "oracle:pcfgset?error=0.5", "--seed", "7").out


@pytest.mark.parametrize(
    ("command", "signature"),
    [
        (
            "wug_agreement_pp -S metric=mean,sum -S join=detokenized -S eos=last_region -M dtype=bfloat16 -M bos=no",
            "causal/wug-causal@738b13d2168a,bfloat16|bos:no|join:detokenized|eos:last_region|metric:sum,mean|unit:bits",
        ),
        (
            "wug_coord --model wug-lstm -S target=word -M eos=yes",
            "lstm/wug-lstm@31711cf3b484,float32|eos:yes|lowercase:yes|state:fresh|words:punctuation|target:word"
            "|normalise:none",
        ),
        (
            "wug_coord --target word --model wug-masked -M pll=original --no-mask-target",
            "masked/wug-masked@bd03e3dd5633,float32|pll:original|target:word|normalise:none|mask_target:no",
        ),
        (
            "localism --model oracle:pcfgset?error=0.3&mistake=early&seed=5",
            "oracle/pcfgset|error:0.3|mistake:early|seed:5|cut:2n+16",
        ),
        (
            "wug_cogs_gen -S smatch=yes -S seed=4 -S bleu=no -S dialect=cogs",
            "seq2seq/wug-cogs@d4a5c6f2bb4b,float32|beams:1|max_length:auto|dialect:cogs|edition:unpublished"
            "|smatch:seed 4",
        ),
    ],
)
def test_the_signature_of_a_command_stays_what_it_was(command: str, signature: str) -> None:
    said = wug("run", *command.split(), "--limit", 1, "--no-save", "--no-cache", "--device", "cpu", "--format", "json")
    by = "" if command.startswith("wug_agreement_pp") else " by group"  # which has no groups
    assert [result["signature"].partition("|model:")[2] for result in said.results] == [f"{signature}|limit:1{by}"]


def test_answers_are_cached_under_the_options_as_they_were_written() -> None:
    assert open_model("oracle:pcfgset?error=0.50", {"seed": "007"}).given == {"error": "0.50", "seed": "007"}


PARTS = [(folder, name) for folder in ("families", "models") for name in registry.names(folder)]


@pytest.mark.parametrize(("folder", "name"), PARTS)
def test_every_option_has_help_and_a_default_of_its_type(folder: str, name: str) -> None:
    options: tuple[Option, ...] = registry.find(folder, name).OPTIONS
    assert len({option.name for option in options}) == len(options)
    for option in options:
        assert option.help
        if option.default is not None and not option.many:
            assert option.read(str(option.default)) == option.default


@pytest.mark.parametrize("kind", TRAINING)
def test_every_training_option_has_a_flag(kind: str) -> None:
    said = wug("train", kind, "--help").out
    for option in TRAINING[kind]:
        assert f"--{option.name.replace('_', '-')} " in said


BLOCK = re.compile(r"(<!-- options: (\S+) -->\n)(.*?)(\n<!-- end -->)", re.S)


def up_to_date(page: str) -> str:
    """The page with the tables as the declarations make them."""
    return BLOCK.sub(lambda found: found[1] + made(found[2]) + found[4], page)


def made(place: str) -> str:
    folder, name = place.split("/")
    return table(TRAINING[name], flags=True) if folder == "train" else table(registry.find(folder, name).OPTIONS)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_the_tables_of_a_page_have_exactly_the_declared_options(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == up_to_date(text), "run python tests/test_options.py"


def test_every_option_is_in_a_table_of_the_documentation() -> None:
    places = {found[2] for page in DOCS.rglob("*.md") for found in BLOCK.finditer(page.read_text(encoding="utf-8"))}
    assert {f"{folder}/{name}" for folder, name in PARTS} | {f"train/{kind}" for kind in TRAINING} == places


if __name__ == "__main__":
    for path in DOCS.rglob("*.md"):
        path.write_text(up_to_date(path.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit()
