"""What identifies a model's files: all that changes an answer, at any depth, and the very files that were loaded."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wug.errors import InputError, ModelError, WugError
from wug.models import causal, command
from wug.models.spec import ModelSpec
from wug.models.weights import fingerprints
from wug.models.weights.fingerprints import fingerprint, unchanged


def folder_of(path: Path, **content: str) -> Path:
    """A folder with files of this content; __ in a name is a /."""
    for name, text in content.items():
        file = path / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return path


def test_a_flat_folder_has_the_digest_of_its_names_and_contents(tmp_path: Path) -> None:
    folder_of(tmp_path, a="1", b="2", README="x")
    expected = hashlib.sha256()
    for name, text in ((b"a", b"1"), (b"b", b"2")):
        expected.update(name + b"\0" + hashlib.sha256(text).digest())
    assert fingerprint(tmp_path) == expected.hexdigest()[:12]


def test_a_large_file_has_the_digest_of_the_digests_of_its_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprints, "CHUNK_BYTES", 4)
    folder_of(tmp_path, a="0123456789", b="4444", c="")
    chunks = b"".join(hashlib.sha256(part).digest() for part in (b"0123", b"4567", b"89"))
    contents = hashlib.sha256(chunks).digest(), hashlib.sha256(b"4444").digest(), hashlib.sha256(b"").digest()
    expected = hashlib.sha256(
        b"".join(name + b"\0" + one for name, one in zip((b"a", b"b", b"c"), contents, strict=True))
    )
    assert fingerprint(tmp_path) == expected.hexdigest()[:12]


def test_files_in_subfolders_count_and_what_training_keeps_does_not(tmp_path: Path) -> None:
    folder_of(tmp_path, config="1", part__deep__weights="1")
    first = fingerprint(tmp_path)
    folder_of(tmp_path, training__checkpoint="9", epochs__one__model="9", README="9", **{".git__x": "9"})
    assert fingerprint(tmp_path) == first
    folder_of(tmp_path, part__deep__weights="2")
    assert fingerprint(tmp_path) != first


def test_links_that_lead_back_end(tmp_path: Path) -> None:
    folder_of(tmp_path, a="1", sub__b="2")
    before = fingerprint(tmp_path)
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    assert fingerprint(tmp_path) == before


def test_a_folder_of_very_many_files_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "MAX_FILES", 3)
    folder_of(tmp_path, a="1", b="2", sub__c="3", sub__d="4")
    with pytest.raises(ModelError, match=r"more than 3 files.*Name the folder of the model itself"):
        fingerprint(tmp_path)


def test_files_that_change_meanwhile_are_refused(tmp_path: Path) -> None:
    folder_of(tmp_path, weights="old", sub__b="2")
    with unchanged(tmp_path):
        (tmp_path / "weights").read_text()
    other = tmp_path.parent / "other"
    other.write_text("new")
    with pytest.raises(ModelError, match=r"weights: it changed while the model was being loaded"), unchanged(tmp_path):
        other.replace(tmp_path / "weights")
    with pytest.raises(ModelError, match=r"b: it changed"), unchanged(tmp_path):
        (tmp_path / "sub" / "b").unlink()


def test_weights_replaced_while_they_are_loaded_are_refused(
    tiny_causal: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    folder = Path(shutil.copytree(tiny_causal(), tmp_path / "model"))
    usual = transformers.AutoTokenizer.from_pretrained

    def replaced(*args: Any, **options: Any) -> Any:
        data = (folder / "model.safetensors").read_bytes()
        (folder / "new").write_bytes(data)
        (folder / "new").replace(folder / "model.safetensors")
        return usual(*args, **options)

    spec = ModelSpec("causal", str(folder), None, {"device": "cpu"})
    first = causal.load(spec).id
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", replaced)
    with pytest.raises(ModelError, match=r"model.safetensors: it changed while the model was being loaded"):
        causal.load(spec)
    monkeypatch.undo()
    assert causal.load(spec).id == first


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("damage", ["truncated", "empty", "overwritten", "deep"])
def test_damaged_files_of_a_model_are_one_message(
    tiny_causal: Callable[..., Path], tmp_path: Path, name: str, damage: str
) -> None:
    folder = Path(shutil.copytree(tiny_causal(), tmp_path / "model"))
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(
        {
            "truncated": data[: len(data) // 2],
            "empty": b"",
            "overwritten": b"\xff" * 50 + data[50:],
            "deep": b"[" * 100_000,
        }[damage]
    )
    with pytest.raises(WugError, match=rf"cannot be (loaded|read): .|{name}.*: not (JSON|UTF-8)"):
        causal.load(ModelSpec("causal", str(folder), None, {"device": "cpu"}))


def asked(text: str, **options: str) -> str:
    """The identity of a command."""
    return command.load(ModelSpec("command", text, None, options)).id


def test_a_command_is_known_by_all_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder_of(tmp_path, run="1", model__a__b__weights="1", x__y="1"))
    for text in (
        f"{sys.executable} run model",
        f"{sys.executable} run --model=model",
        f"{sys.executable} run --paths x/y,model/a",
        f"sh -c 'cat run | {sys.executable} run --model=model'",
    ):
        before = asked(text)
        assert asked(text) == before
        folder_of(tmp_path, model__a__b__weights="2")
        assert asked(text) != before
        folder_of(tmp_path, model__a__b__weights="1")
        assert asked(text) == before


def test_a_command_that_names_a_huge_folder_needs_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "MAX_FILES", 2)
    folder_of(tmp_path / "all", a="1", b="2", c="3")
    with pytest.raises(InputError, match=r"the folder .*all has more than .* -M id=1"):
        asked(f"cat {tmp_path / 'all'}")
    assert asked(f"cat {tmp_path / 'all'}", id="7").startswith("command/cat@")


def test_a_command_with_a_very_long_argument_is_no_path(tmp_path: Path) -> None:
    assert asked("echo " + "x" * 5000).startswith("command/echo@")
