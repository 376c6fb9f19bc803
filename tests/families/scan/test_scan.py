"""SCAN: the language, its files, the suite, the splits, and the published files."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import wug
from reference import reference
from wug import data
from wug.errors import FormulaError, InputError, SuiteError
from wug.evaluation.evaluate import build_result
from wug.families import scan
from wug.families.scan.commands import SPLIT_NAMES
from wug.families.scan.language import ACTIONS, WORDS, answer, commands, parse
from wug.families.scan.make import FILLERS, RANDOM, Files, ScanPlan, differences, make
from wug.families.scan.suite import read_suite, read_tasks, score_outputs, wrong_targets
from wug.models.oracle import Oracle
from wug.outcomes import Estimate, Notice, Outcome, Signature
from wug.results.queries import table_of
from wug.train.examples import read_examples
from wug.views.family_views import items_of, parts_of
from wug.views.parts import Figure

ALL = sorted(commands())
PHRASES = [command for command in ALL if len(parse(command).phrases) == 1]
GENERATED = frozenset(ALL)
TASKS = (
    "IN: jump OUT: I_JUMP\n"
    "IN: jump around right twice OUT: " + " ".join(["I_TURN_RIGHT I_JUMP"] * 8) + "\n"
    "IN: walk left after turn opposite left OUT: I_TURN_LEFT I_TURN_LEFT I_TURN_LEFT I_WALK\n"
)
# Lines of the published training and test files.
SIZES = {
    "simple": (16_728, 4_182),
    "length": (16_990, 3_920),
    "addprim_jump": (14_670, 7_706),
    "addprim_turn_left": (21_890, 1_208),
    "template_jump_around_right": (18_528, 1_173),
    **dict.fromkeys(("template_right", "template_opposite_right", "template_around_right"), (15_225, 4_476)),
    "filler_num0": (15_225, 1_173),
    "filler_num1": (16_290, 1_173),
    "filler_num2": (17_391, 1_173),
    "filler_num3": (18_528, 1_173),
}
EXPAND = (
    (r"turn (left|right)", r"[\1]"),
    (r"turn opposite (left|right)", r"[\1] [\1]"),
    (r"turn around (left|right)", r"[\1] [\1] [\1] [\1]"),
    (r"(\w+) opposite (left|right)", r"[\2] [\2] [\1]"),
    (r"(\w+) around (left|right)", r"[\2] [\1] [\2] [\1] [\2] [\1] [\2] [\1]"),
    (r"(\w+) (left|right)", r"[\2] [\1]"),
    (r"(walk|look|run|jump)", r"[\1]"),
)


def rewritten(command: str) -> str:
    """An interpreter that shares nothing with the other: it rewrites the text of a command."""
    if " after " in command:
        first, second = command.split(" after ")
        return f"{rewritten(second)} {rewritten(first)}"
    if " and " in command:
        return " ".join(map(rewritten, command.split(" and ")))
    for word, times in (("twice", 2), ("thrice", 3)):
        if command.endswith(word):
            return " ".join([rewritten(command.removesuffix(f" {word}"))] * times)
    for pattern, result in EXPAND:
        if found := re.fullmatch(pattern, command):
            named = found.expand(result).upper()
            return re.sub(r"\[(LEFT|RIGHT)\]", r"I_TURN_\1", named).replace("[", "I_").replace("]", "")
    raise AssertionError(command)


def written(folder: Path, text: str, name: str = "tasks_test_small.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def values(rows: object) -> dict[tuple[str, str], object]:
    assert hasattr(rows, "__iter__")
    return {(row.item, row.metric): row.value for row in rows if isinstance(row, Outcome)}


@cache
def made(split: str, **options: int) -> Files:
    """The files of a split, made once."""
    return make(ScanPlan(split, **options))  # type: ignore[arg-type]


def test_the_grammar_has_the_published_number_of_commands_words_and_actions() -> None:
    assert len(ALL) == len(set(ALL)) == 20_910
    assert {word for command in ALL for word in command.split()} == set(WORDS)
    assert (len(WORDS), len(ACTIONS)) == (13, 6)
    lengths = {len(answer(command).split()) for command in ALL}
    assert (min(lengths), max(lengths)) == (1, 48)


def test_an_independent_interpreter_agrees_on_every_command() -> None:
    assert [command for command in ALL if rewritten(command) != answer(command)] == []


@given(st.lists(st.sampled_from([*WORDS, "dax"]), max_size=10).map(" ".join))
def test_a_text_has_a_meaning_if_and_only_if_the_grammar_generates_it(text: str) -> None:
    assert (answer(text) != "") == (text in GENERATED)


@given(st.sampled_from(PHRASES), st.sampled_from(PHRASES))
def test_the_meaning_of_a_conjunction_is_made_of_the_meanings_of_its_parts(first: str, second: str) -> None:
    assert answer(f"{first} and {second}") == f"{answer(first)} {answer(second)}"
    assert answer(f"{first} after {second}") == f"{answer(second)} {answer(first)}"


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("^", "the command is empty"),
        ("^jmp left", "unknown word 'jmp'. Did you mean 'jump'?"),
        ("jump around ^twice", "'twice' where 'left' or 'right' is expected"),
        ("turn^", "the command ends where a direction is expected"),
        ("jump and^", "the command ends where one of walk, look, run, jump, turn is expected"),
        ("jump twice ^twice", "'twice' where 'and', 'after' or the end is expected"),
        ("jump and run ^and walk", "'and' where the end of the command is expected"),
    ],
)
def test_an_error_says_what_is_expected_where(marked: str, message: str) -> None:
    """The mark is before the position of the error."""
    with pytest.raises(FormulaError, match=re.escape(message)) as caught:
        parse(marked.replace("^", ""))
    assert caught.value.start == marked.index("^")


def test_a_command_has_the_groups_of_the_analysis() -> None:
    assert parse("jump around right twice and walk left").groups == {
        "template": "around",
        "direction": "both",
        "repetition": "twice",
        "conjunction": "and",
        "commands": "2",
        "actions": "17–24",
        "words": "7",
    }
    assert parse("run").groups["actions"] == "1–8"
    assert parse("turn opposite left thrice after look").groups["template"] == "opposite"


def test_a_file_is_recognised_by_its_lines_and_a_folder_by_its_test_files(tmp_path: Path) -> None:
    assert not scan.recognises(tmp_path, "")
    test, train = written(tmp_path, TASKS), written(tmp_path, TASKS, "tasks_train_small.txt")
    written(tmp_path, "nothing of the kind\n", "tasks_test_other.txt")
    assert scan.recognises(test, TASKS)
    assert not scan.recognises(test, "copy A1 B2\n")
    assert scan.recognises(tmp_path, "")
    assert scan.files_in(tmp_path, {}) == {test: "", train: "not a test file: name it to run it"}
    assert [suite.name for suite in scan.read(tmp_path, {})] == ["scan_small"]
    assert [suite.name for suite in scan.read(train, {})] == ["scan_small_train"]


def test_every_problem_of_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
    text = "IN: jmp OUT: I_JUMP\njump I_JUMP\nIN: jump OUT: I_JMP\nIN: jump OUT: \nIN: jump left OUT: I_JUMP\n"
    path = written(tmp_path, text)
    found = [(problem.place, problem.message.partition("\n")[0]) for problem in scan.check(path, {})]
    assert found == [
        ("tasks_test_small.txt, line 1, column 5", "unknown word 'jmp'. Did you mean 'jump'?"),
        ("tasks_test_small.txt, line 2", "expected `IN: COMMAND OUT: ACTIONS`, found 'jump I_JUMP'"),
        ("tasks_test_small.txt, line 3", f"'I_JMP' is not an action. There is: {', '.join(ACTIONS)}"),
        ("tasks_test_small.txt, line 4", "no actions"),
        ("tasks_test_small.txt, line 5", "the target is not the meaning of the command"),
    ]
    with pytest.raises(SuiteError, match="line 1, column 5"):
        scan.read(path, {})


def test_a_wrong_target_is_an_error_of_a_check_and_a_warning_of_a_run(tmp_path: Path) -> None:
    path = written(tmp_path, "IN: jump OUT: I_JUMP\nIN: jump left OUT: I_JUMP\n")
    said = wug("check", path)
    assert said.code == 1
    assert "means  I_TURN_LEFT I_JUMP" in said.out
    assert "1 of 2 targets are not the actions of their commands" in read_suite(path).notices[0]
    many = written(tmp_path, "IN: jump left OUT: I_JUMP\n" * 1_100)
    said = wug("check", many)
    assert "1,000 more like these" in said.out
    assert "1,100 of 1,100 targets" in read_suite(many).notices[0]


def test_outputs_are_compared_as_wholes_by_action_and_by_length(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, TASKS))
    rows = list(suite.score(["I_JUMP", "I_TURN_RIGHT I_JUMP", "I_TURN_LEFT I_WALK I_TURN_LEFT I_WALK"]))
    found = values(rows)
    assert [found[item, "accuracy"] for item in "123"] == [True, False, False]
    assert [found[item, "action_accuracy"] for item in "123"] == [1, 2 / 16, 3 / 4]
    assert [found[item, "length_correct"] for item in "123"] == [True, False, True]
    assert [found["2", f"eos_{name}"] for name in ("strict_prefix", "contiguous_token_sub")] == [True, True]
    assert found["3", "eos_strict_prefix"] is False
    assert ("1", "eos_strict_prefix") not in found
    by_verb = {row.group: (row.value, row.n) for row in rows if isinstance(row, Estimate)}
    assert by_verb == {"primitive=jump": (0.5, 2), "primitive=walk": (0, 1), "primitive=turn": (0, 1)}


def test_the_length_of_the_target_can_be_given(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, TASKS), oracle_length=True)
    long = [f"{line.target} I_RUN" for line in suite.items]
    assert suite.options == {"cut": "2n+16", "oracle_length": "yes"}
    assert {value for (_, metric), value in values(suite.score(long)).items() if metric == "accuracy"} == {False}
    with_length = [value for (_, name), value in values(suite.score(long)).items() if name == "oracle_length_accuracy"]
    assert with_length == [True, True, True]
    assert not suite.metrics[3].headline


def test_an_item_says_what_training_has_of_it(tmp_path: Path) -> None:
    written(tmp_path, "IN: jump OUT: I_JUMP\nIN: walk twice OUT: I_WALK I_WALK\n", "tasks_train_small.txt")
    texts = "".join(f"IN: {command} OUT: {answer(command)}\n" for command in ("walk twice", "jump twice", "jump left"))
    suite = read_suite(written(tmp_path, texts))
    assert [line.groups["seen"] for line in suite.items] == ["pairs", "words", "some"]
    assert "seen" not in read_suite(tmp_path / "tasks_train_small.txt").items[0].groups


def test_an_oracle_errs_with_actions(tmp_path: Path) -> None:
    right = Oracle("scan").generate(ALL[:500])
    assert right == [answer(command) for command in ALL[:500]]
    wrong = Oracle("scan", error=1).generate([*ALL[:500], "dax"])
    assert all(one != other for one, other in zip(right, wrong, strict=False))
    assert {action for output in wrong for action in output.split()} <= set(ACTIONS)
    path = written(tmp_path, TASKS)
    said = wug("run", path, "--model", "oracle:scan?error=1&mistake=early", "--no-save", "--format", "json")
    assert said.values[0]["accuracy", "all"] == 0
    assert said.values[0]["eos_strict_prefix", "all"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "I_JUMP\nI_JUMP\nI_WALK\n",
        "IN: jump OUT: I_JUMP\nIN: jump around right twice OUT: I_JUMP\nIN: walk left after turn opposite left OUT: \n",
        "H-2\t0\t\nH-0\t0\tI_JUMP\nH-1\t0\tI_WALK\n",
    ],
    ids=["plain", "as a SCAN file", "fairseq"],
)
def test_outputs_of_other_programs_are_scored(tmp_path: Path, text: str) -> None:
    gold, out = written(tmp_path, TASKS), written(tmp_path, text, "out.txt")
    said = wug(
        "score", "scan", "--gold", gold, "--predictions", out, "--no-save", "--format", "json", "--oracle-length"
    )
    assert said.values[0]["accuracy", "all"] == pytest.approx(1 / 3)
    assert said.values[0]["oracle_length_accuracy", "all"] == pytest.approx(1 / 3)
    assert said.results[0]["suite"] == "scan_small"


def test_outputs_for_other_commands_are_refused(tmp_path: Path) -> None:
    gold = written(tmp_path, TASKS)
    with pytest.raises(InputError, match="2 predictions for 3 sources"):
        score_outputs(written(tmp_path, "I_JUMP\nI_JUMP\n", "out.txt"), gold)
    with pytest.raises(InputError, match="a source that is not in the gold file: 'run'"):
        score_outputs(written(tmp_path, TASKS.replace("IN: jump OUT", "IN: run OUT"), "out.txt"), gold)
    with pytest.raises(InputError, match="no prediction for source 2: jump around right twice and 1 more"):
        score_outputs(written(tmp_path, TASKS.partition("\n")[0] + "\n", "out.txt"), gold)


def test_a_sample_keeps_templates_and_empty_outputs_are_counted(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, "".join(f"IN: {one} OUT: {answer(one)}\n" for one in ALL)))
    small = suite.sample(40)
    assert {line.groups["template"] for line in small.items} == {"primitive", "direction", "opposite", "around"}
    assert Notice("40 of 40 answers are empty") in list(small.score([""] * 40))


@pytest.mark.parametrize("split", SPLIT_NAMES[:-1])
def test_a_split_has_the_published_numbers_of_lines_and_bytes(split: str) -> None:
    published = {Path(file.path).name: file for file in data.find("scan").files}
    for name, lines in made(split).items():
        part, which = re.fullmatch(r"tasks_(train|test)_(.+)\.txt", name).groups()  # type: ignore[union-attr]
        assert len(lines) == SIZES[which][part == "test"], name
        if split not in RANDOM:
            assert sum(len(line) + 1 for line in lines) == published[name].size, name


def test_splits_hold_out_what_they_are_called_for() -> None:
    for split in SPLIT_NAMES:  # each name makes the split that it is the name of
        name = split.replace("-", "_") if split != "few-shot" else "fewshot"
        assert all(file.removeprefix("tasks_train_").startswith(name) for file in made(split) if "_train_" in file)
    length = made("length")
    assert {len(line.split(" OUT: ")[1].split()) <= 22 for line in length["tasks_train_length.txt"]} == {True}
    jump = Counter(made("addprim-jump")["tasks_train_addprim_jump.txt"])
    assert jump["IN: jump OUT: I_JUMP"] == 1_467
    assert len(jump) == 13_204
    assert sum("jump" in line for line in jump) == 1
    left = Counter(made("addprim-turn-left")["tasks_train_addprim_turn_left.txt"])
    assert (left["IN: turn left OUT: I_TURN_LEFT"], len(left)) == (2_189, 19_702)
    for count in range(4):
        train = made("filler")[f"tasks_train_filler_num{count}.txt"]
        verbs = {verb for line in train for verb in re.findall(r"(\w+) around right", line)}
        assert verbs == set(FILLERS[:count])


def test_few_shot_adds_commands_with_the_first_filler() -> None:
    files = make(ScanPlan("few-shot", examples=(3, 16), samples=2))
    assert len(files) == 8
    none = Counter(made("filler")["tasks_train_filler_num0.txt"])
    for sample in (1, 2):
        added = Counter(files[f"tasks_train_fewshot_num16_rep{sample}.txt"]) - none
        assert added.total() == 16
        assert all(f"{FILLERS[0]} around right" in line for line in added)
        assert len(files[f"tasks_test_fewshot_num16_rep{sample}.txt"]) == 1_173
    with pytest.raises(InputError, match="there are only 1,065 commands"):
        make(ScanPlan("few-shot", examples=(2_000,)))


def test_a_seed_decides_the_order_and_the_random_splits() -> None:
    assert made("simple", seed=1) == make(ScanPlan("simple", seed=1))
    assert set(made("simple", seed=1)["tasks_test_simple.txt"]) != set(made("simple")["tasks_test_simple.txt"])
    one, two = made("length", seed=1), made("length", seed=2)
    assert one != two
    assert {name: Counter(lines) for name, lines in one.items()} == {name: Counter(two[name]) for name in two}
    assert [len(lines) for lines in made("simple", train_percent=1).values()] == [209, 20_701]


def test_made_files_are_compared_with_others_as_sets_with_counts(tmp_path: Path) -> None:
    folder = tmp_path / "my_scan"
    assert wug("make", "scan", "--split", "addprim-jump", "-o", folder).code == 0
    same = wug("make", "scan", "--split", "addprim-jump", "--seed", 5, "--check", tmp_path)
    assert (same.code, same.out.strip()) == (0, f"{tmp_path}: the same sets of lines")
    path = folder / "tasks_train_addprim_jump.txt"
    path.write_text(path.read_text().replace("IN: jump OUT: I_JUMP\n", "", 1))
    other = wug("make", "scan", "--split", "addprim-jump", "--check", folder)
    assert other.code == 1
    assert "1 lines only here, such as 'IN: jump OUT: I_JUMP'" in other.err
    with pytest.raises(InputError, match=r"none of tasks_train_length\.txt, tasks_test_length\.txt is here"):
        list(differences(made("length"), folder, random=False))
    assert wug("make", "scan", "--split", "length").code == 2


def test_a_folder_is_something_to_train_on(tmp_path: Path) -> None:
    written(tmp_path, TASKS, "tasks_train_small.txt")
    examples = read_examples(tmp_path)
    assert examples.sources == ("jump", "jump around right twice", "walk left after turn opposite left")
    assert examples.targets[0] == "I_JUMP"
    written(tmp_path, TASKS, "tasks_train_other.txt")
    with pytest.raises(InputError, match="name the file to train on"):
        read_examples(tmp_path)


def test_a_view_has_a_chart_for_each_group_and_the_wrong_outputs(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, TASKS))
    rows = list(suite.score(["I_JUMP", "I_TURN_RIGHT I_JUMP", ""]))
    signature = Signature((("suite", "scan_small"),))
    result = build_result(suite, "toy/model", signature, rows)
    outcomes = table_of([row for row in rows if isinstance(row, Outcome)])
    figures = {part.id: part for part in parts_of(result, outcomes) if isinstance(part, Figure)}
    assert [row[0] for row in figures["by-primitive"].rows] == ["walk", "jump", "turn"]
    assert [row[0] for row in figures["by-actions"].rows] == ["1–8", "9–16"]
    assert items_of(result, outcomes).metric == "accuracy"


def test_repetitions_are_in_the_order_of_their_number(tmp_path: Path) -> None:
    ways = {" thrice": 3, "": 1, " twice": 2}
    lines = [f"IN: jump{often} OUT: {' '.join(['I_JUMP'] * number)}" for often, number in ways.items()]
    suite = read_suite(written(tmp_path, "\n".join(lines)))
    rows = list(suite.score(["I_JUMP"] * 3))
    result = build_result(suite, "toy/model", Signature((("suite", "scan_small"),)), rows)
    outcomes = table_of([row for row in rows if isinstance(row, Outcome)])
    figures = {part.id: part for part in parts_of(result, outcomes) if isinstance(part, Figure)}
    assert [row[0] for row in figures["by-repetition"].rows] == ["none", "twice", "thrice"]


@pytest.mark.parametrize("part", ["train", "test"])
def test_every_published_target_is_that_of_the_interpreter(part: str) -> None:
    path = reference(f"scan/tasks_{part}_simple.txt.gz")
    lines, problems = read_tasks(path)
    assert len(lines) == SIZES["simple"][part == "test"]
    assert problems + wrong_targets(lines, path) == []
    assert scan.check(path, {}) == []


def test_the_published_files_have_exactly_the_commands_of_the_grammar() -> None:
    paths = [reference(f"scan/tasks_{part}_simple.txt.gz") for part in ("train", "test")]
    assert sorted(line.source for path in paths for line in read_tasks(path)[0]) == ALL
    said = wug("make", "scan", "--split", "simple", "--check", paths[0].parent)
    assert said.out.strip() == f"{paths[0].parent}: the same numbers of lines"


def test_a_published_split_is_run_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(data.FOLDER, str(tmp_path / "data"))
    copies = tmp_path / "copies"
    copies.mkdir()
    for part in ("train", "test"):
        packed = reference(f"scan/tasks_{part}_simple.txt.gz").read_bytes()
        (copies / f"tasks_{part}_simple.txt").write_bytes(gzip.decompress(packed))
    assert wug("data", "get", "scan/simple", "--from", copies).code == 0
    said = wug("run", "scan/simple", "--model", "oracle:scan", "--no-save", "--format", "json")
    assert (said.results[0]["suite"], said.results[0]["n"]) == ("scan/simple", 4_182)
    assert said.values[0]["accuracy", "all"] == 1
    assert said.values[0]["accuracy", "seen=pairs"] == 1
    missing = wug("run", "scan/length", "--model", "oracle:scan")
    assert "wug data get scan/length" in missing.err


@pytest.mark.parametrize("split", [name for name in SPLIT_NAMES if name != "few-shot"])
def test_every_published_split_has_a_name_in_the_catalogue(split: str) -> None:
    files = {Path(file.path).name for file in data.find(f"scan/{split}").files}
    assert files == set(made(split))
