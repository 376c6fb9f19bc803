"""Models' names taken apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from wug.errors import InputError, UnknownName
from wug.models.spec import ModelSpec, parse

KINDS = ["causal", "command", "lstm"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("causal:gpt2", ModelSpec("causal", "gpt2")),
        ("causal:org/name@step1000", ModelSpec("causal", "org/name", "step1000")),
        ("causal:gpt2?dtype=bfloat16&bos=no", ModelSpec("causal", "gpt2", None, {"dtype": "bfloat16", "bos": "no"})),
        ("lstm:m@2.pt?vocab=v.txt", ModelSpec("lstm", "m@2.pt", None, {"vocab": "v.txt"})),
        ("command:python a.py?x@y", ModelSpec("command", "python a.py?x@y")),
    ],
)
def test_a_name_has_a_kind_a_revision_and_options(text: str, expected: ModelSpec) -> None:
    assert parse(text, KINDS) == expected


def test_a_folder_with_an_at_sign_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "me@home"
    folder.mkdir()
    assert parse(f"causal:{folder}", KINDS) == ModelSpec("causal", str(folder))


def test_options_of_the_command_line_win() -> None:
    assert parse("causal:gpt2?bos=no", KINDS, {"bos": "yes"}).options == {"bos": "yes"}


def test_a_name_without_a_kind_says_how_to_write_it() -> None:
    with pytest.raises(InputError, match="causal:gpt2"):
        parse("gpt2", KINDS)
    for empty in ("", " ", "causal:"):
        with pytest.raises(InputError, match=r"has no name. Write it as kind:name, such as causal:gpt2"):
            parse(empty, KINDS)
    with pytest.raises(UnknownName, match="Did you mean 'causal'"):
        parse("casual:gpt2", KINDS)
