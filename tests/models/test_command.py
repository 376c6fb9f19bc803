"""Programs that answer: a filter kept alive, or a command run on a file of sources."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny_seq2seq
from case_selection import examples
from evaluating import cached
from timeouts import PATIENCE
from wug.errors import InputError, ModelError, UnknownName
from wug.evaluation.evaluate import evaluate
from wug.evaluation.suites import open_suites
from wug.models import command
from wug.models.command import BatchCommand, FilterCommand, answers
from wug.models.spec import ModelSpec, parse
from wug.outcomes import Result

Writer = Callable[..., str]

INTERPRETER = """
import sys
from wug.families.pcfgset.language import answer
"""
FILTER = f"""{INTERPRETER}
for line in sys.stdin:
    print(answer(line))
"""
ON_FILES = f"""{INTERPRETER}
with open(sys.argv[1]) as source, open(sys.argv[2], "w") as output:
    for line in source:
        print(answer(line), file=output)
"""
FAIRSEQ = f"""{INTERPRETER}
print("| [src] dictionary: 520 types")
lines = list(enumerate(open(sys.argv[1])))
for number, line in sorted(lines, key=lambda pair: -len(pair[1])):
    print(f"S-{{number}}\\t{{line}}", end="")
    print(f"H-{{number}}\\t-0.25\\t{{answer(line)}}")
    print(f"H-{{number}}\\t-0.75\\tsecond guess")
    print(f"D-{{number}}\\t-0.25\\t{{answer(line)}}")
    print(f"P-{{number}}\\t-0.1 -0.2")
"""
ECHO = """
import sys
for line in sys.stdin:
    sys.stdout.write(line)
    sys.stdout.flush()
"""


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """A function that writes a program and gives the beginning of the command that runs it."""

    def write(text: str, name: str = "program.py") -> str:
        path = tmp_path / name
        path.write_text(text)
        return shlex.join([sys.executable, "-S" if "wug" not in text else "-u", str(path)])

    return write


def load(text: str, **options: str) -> FilterCommand | BatchCommand:
    return command.load(ModelSpec("command", text, options=options))


def ask(text: str, sources: Sequence[str], **options: str) -> list[str]:
    model = load(text, **options)
    try:
        return model.generate(sources)
    finally:
        if isinstance(model, FilterCommand):
            model.close()


def all_tests(model: FilterCommand | BatchCommand, folder: Path) -> list[Result]:
    return list(evaluate(tiny_seq2seq.pcfg_tests(folder), cached(model)))


def assert_right(results: Sequence[Result]) -> None:
    assert [result.status for result in results] == ["complete"] * 5
    values = {
        (e.metric, e.value)
        for result in results
        for e in result.estimates
        if e.group == "all" and e.metric in ("accuracy", "consistency", "original_accuracy", "overgeneralisation")
    }
    assert values == {
        (metric, 1.0) for metric in ("accuracy", "consistency", "original_accuracy", "overgeneralisation")
    }


def test_a_filter_that_calls_the_interpreter_is_right_in_all_five_tests(write: Writer, tmp_path: Path) -> None:
    model = load(write(FILTER))
    assert isinstance(model, FilterCommand)
    assert_right(all_tests(model, tmp_path / "tests"))
    model.close()


def test_a_command_on_files_is_right_in_all_five_tests(write: Writer, tmp_path: Path) -> None:
    model = load(write(ON_FILES) + " {source} {output}")
    assert isinstance(model, BatchCommand)
    assert_right(all_tests(model, tmp_path / "tests"))


def test_a_command_on_files_is_run_once_a_level(write: Writer, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (tmp_path / "unrolled_test.tsv").write_text(
        "unrolled\tcopy M5 B15 \t*1\nunrolled\trepeat *1\tM5 B15 M5 B15\noriginal\trepeat copy M5 B15\tM5 B15 M5 B15\n"
        "unrolled\techo A1 B2 \t*1\nunrolled\tcopy *1\tA1 B2 B2\noriginal\tcopy echo A1 B2\tA1 B2 B2\n"
    )
    model = load(write(f"open({str(runs)!r}, 'a').write('x')\n{ON_FILES}") + " {source} {output}")
    (result,) = evaluate(open_suites(str(tmp_path / "unrolled_test.tsv")), cached(model))
    assert result.status == "complete"
    assert runs.read_text() == "xx"


def test_lines_of_fairseq_are_read_in_any_order_and_among_others(write: Writer) -> None:
    sources = ["copy A1", "repeat A1 B2", "copy", "reverse A1 B2 C3", "copy A1"]
    found = ask(write(FAIRSEQ) + " {source}", sources)
    assert found == ["A1", "A1 B2 A1 B2", "", "C3 B2 A1", "A1"]


def test_printed_lines_are_answers_where_there_is_no_output_file(write: Writer) -> None:
    program = "import sys\nfor line in open(sys.argv[1].removeprefix('--input=')):\n    print(line.split()[-1])"
    assert ask(write(program) + " --input={source}", ["copy A1", "copy B2"]) == ["A1", "B2"]


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_an_answer_does_not_depend_on_the_batch(running: FilterCommand, data: st.DataObject) -> None:
    words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=12)
    sources = data.draw(st.lists(words, max_size=8))
    assert running.generate(sources) == sources


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilterCommand]:
    """A filter that gives back what it gets, kept alive."""
    path = tmp_path_factory.mktemp("filter") / "echo.py"
    path.write_text(
        "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.flush()"
    )
    model = load(shlex.join([sys.executable, str(path)]))
    assert isinstance(model, FilterCommand)
    yield model
    model.close()


def test_a_filter_is_started_once_and_only_when_it_is_asked(write: Writer, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    model = load(write(f"open({str(log)!r}, 'a').write('started ')\n{ECHO}"))
    assert isinstance(model, FilterCommand)
    assert model.generate([]) == []
    assert not log.exists()
    assert model.generate(["a"]) == ["a"]
    assert model.generate(["b", "c"]) == ["b", "c"]
    model.close()
    assert log.read_text() == "started "


def test_more_than_a_pipe_holds_goes_through_a_filter(running: FilterCommand) -> None:
    sources = [f"{number} " + "A1 " * 200 for number in range(1000)]
    assert running.generate(sources) == sources


def test_a_filter_ends_when_it_is_no_longer_in_use(write: Writer, tmp_path: Path) -> None:
    log = tmp_path / "ended"
    model = load(write(f"{ECHO}\nopen({str(log)!r}, 'w').write('ended')"))
    model.generate(["a"])
    del model
    assert log.read_text() == "ended"


def test_spaces_and_carriage_returns_of_an_answer(write: Writer) -> None:
    program = "import sys\nfor line in sys.stdin:\n    sys.stdout.write('  ' + line.strip() + ' \\r\\n')"
    assert ask(write(program), ["A1  B2"]) == ["  A1  B2 "]


FAULTS = [
    (
        "import sys; sys.exit('no model here')",
        r"ended (after 0 of 2|before).* \(exit code 1\)\n.*ends:\n    no model here",
    ),
    ("print('ready', flush=True)\n" + ECHO, "first with 'ready' and then with 'a'|is not an answer: 'ready'"),
    ("import sys\nfor line in sys.stdin: print(line, line)", "the same source 'a'"),
    ("import sys\nfor n, line in enumerate(sys.stdin): print(n)", "first with '0' and then with '1'"),
    ("import sys\nsys.stdin.readline(); sys.stdout.buffer.write(b'\\xff\\n'); sys.stdin.read()", r"not UTF-8.*\\xff"),
    ("import sys\nsys.stdin.readline(); print('x'); sys.stdin.readline(); print('x')", "ended (after 0 of 3|before)"),
]


@pytest.mark.parametrize(("program", "message"), FAULTS)
def test_a_faulty_filter_is_a_clear_error(write: Writer, program: str, message: str) -> None:
    with pytest.raises(ModelError, match=f"(?s){message}"):
        ask(write(program), ["a", "b", "c"])


def test_a_filter_that_falls_silent_is_given_up_and_ended(write: Writer, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = f"""
import os, sys, time
open({str(pid)!r}, 'w').write(str(os.getpid()))
for line in sys.stdin:
    if 'b' in line:
        print('thinking', file=sys.stderr)
        time.sleep(600)
    print(line.strip())
"""
    model = load(write(program), timeout=str(PATIENCE))
    assert isinstance(model, FilterCommand)
    model.generate(["a"])
    assert model._filter is not None
    model._filter._timeout = 1.0
    with pytest.raises(ModelError, match=r"(?s)and then nothing for 1 s\. Does it flush.*thinking"):
        model.generate(["c", "b"])
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_line_too_many_is_noticed_at_the_next_question(write: Writer) -> None:
    program = "import sys\nfor line in sys.stdin:\n    print(line.strip())\n    if 'b' in line: print('by the way')"
    model = load(write(program))
    assert isinstance(model, FilterCommand)
    assert model.generate(["a", "b"]) == ["a", "b"]
    assert model._filter is not None
    _wait_for_a_line(model)
    with pytest.raises(ModelError, match="printed a line that is not an answer: 'by the way'"):
        model.generate(["c"])
    model.close()


def _wait_for_a_line(model: FilterCommand) -> None:
    assert model._filter is not None
    end = time.monotonic() + 20
    while model._filter._lines.empty() and time.monotonic() < end:
        os.sched_yield()


BATCH_FAULTS = [
    ("import sys\nprint('Traceback', file=sys.stderr)\nsys.exit(3)", r"failed \(exit code 3\)\n.*    Traceback"),
    ("pass", r"ended without having written \{output\}"),
    (
        "import sys\nopen(sys.argv[2], 'w').write('A1\\n')",
        r"in \{output\}: 1 lines for 2 sources; the first line is 'A1'",
    ),
    ("import sys\nopen(sys.argv[2], 'w').write('H-1\\t-1\\tA1\\n')", "1 of 2 sources have no H- line, .* H-0"),
    ("import sys\nopen(sys.argv[2], 'wb').write(b'\\xff\\n\\n')", "line 1|not UTF-8"),
]


@pytest.mark.parametrize(("program", "message"), BATCH_FAULTS)
def test_a_faulty_command_on_files_is_a_clear_error(write: Writer, program: str, message: str) -> None:
    with pytest.raises(ModelError, match=f"(?s){message}"):
        ask(write(program) + " {source} {output}", ["a", "b"])


def test_a_command_on_files_that_falls_silent_is_given_up(write: Writer) -> None:
    with pytest.raises(ModelError, match=r"wrote nothing for 0\.5 s"):
        ask(write("import time\ntime.sleep(600)") + " {source}", ["a"], timeout="0.5")


def test_answers_of_fairseq_that_do_not_fit_are_named() -> None:
    assert answers(["H-1\t-1\tB", "H-0\t-1\tA"], 2) == ["A", "B"]
    assert answers(["H-0\t-1\t", "noise"], 1) == [""]
    with pytest.raises(InputError, match="an answer to source number 2"):
        answers(["H-0\t-1\tA", "H-1\t-1\tA", "H-2\t-1\tA"], 2)


def test_a_program_that_is_not_there_is_named_before_anything_is_asked() -> None:
    with pytest.raises(ModelError, match="there is no program 'no_such_program'"):
        load("no_such_program --beam 5")


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("cat 'x", {}, InputError, "cannot be taken apart: No closing quotation"),
        (" ", {}, InputError, "is empty"),
        ("cp x {output}", {}, InputError, r"\{output\} without \{source\}"),
        ("cat", {"timeout": "soon"}, InputError, "timeout=soon: write a number from 0.001 to 10,000,000"),
        ("cat", {"time_out": "1"}, UnknownName, "Did you mean 'timeout'"),
    ],
)
def test_wrong_commands_and_options_are_errors(
    text: str, options: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        load(text, **options)


def test_a_source_with_a_line_break_is_refused(running: FilterCommand) -> None:
    with pytest.raises(ModelError, match="line break"):
        running.generate(["a\nb"])


def test_the_identity_changes_with_the_command_and_the_files_it_names(tmp_path: Path) -> None:
    script, folder = tmp_path / "a.py", tmp_path / "model"
    script.write_text("one")
    folder.mkdir()
    (folder / "weights").write_text("one")
    text = f"{sys.executable} {script} --model={folder}"
    first = load(text)
    assert first.id.startswith(f"command/{Path(sys.executable).name}@")
    assert first.options == {"command": text}
    assert load(text).id == first.id
    script.write_text("two")
    second = load(text)
    (folder / "weights").write_text("two")
    third = load(text)
    assert len({first.id, second.id, third.id, load(text + " -x").id}) == 4
    assert load(text, id="v2").options == {"command": text, "id": "v2"}


def test_there_is_no_shell(tmp_path: Path) -> None:
    """A shell would make the file before it fails, and write the value of HOME."""
    with pytest.raises(ModelError, match="failed"):
        ask(f"cat {{source}} ; touch {tmp_path}/made ; false", ["a"])
    assert not (tmp_path / "made").exists()
    echo = "import sys; print(sys.argv[1] + ' ' + open(sys.argv[2]).read().strip())"
    assert ask(f"{sys.executable} -c {echo!r} $HOME {{source}}", ["a"]) == ["$HOME a"]


def test_a_commands_name_is_everything_behind_its_kind() -> None:
    assert parse("command:prog --url a@b?c=d", ["command"]).name == "prog --url a@b?c=d"
