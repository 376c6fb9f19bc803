"""Fetching sets from a server that serves well and badly, and from folders."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fake_datasets import COMMIT, CONTENT, Handler, Mirror, cut, first, flipped, git_blob
from reference import reference
from timeouts import PATIENCE
from wug import data
from wug.data.catalogue import File, catalogue
from wug.data.folder import folder_of, missing
from wug.errors import DataError, InputError, NotFetched

BIG = "data/agreement.jsonl"


def contents(folder: Path) -> dict[str, bytes]:
    return {f"data/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_file_comes_from_the_pinned_commit_and_a_second_call_asks_for_nothing(mirror: Mirror) -> None:
    folder = data.get("wugs")
    assert contents(folder) == CONTENT
    assert mirror.asked == [(path, None) for path in CONTENT]
    assert data.get("wugs") == folder == data.path("wugs")
    assert len(mirror.asked) == len(CONTENT)


def test_a_part_is_fetched_alone(mirror: Mirror) -> None:
    assert data.get("wugs/binding").read_bytes() == CONTENT["data/binding.jsonl"]
    assert [path for path, _ in mirror.asked] == ["data/binding.jsonl"]
    assert data.fetched("wugs/binding")
    assert not data.fetched("wugs")


def test_a_flipped_byte_is_refused_with_both_checksums(mirror: Mirror, data_folder: Path) -> None:
    mirror.behaviours[BIG] = flipped
    with pytest.raises(DataError) as caught:
        data.get("wugs/agreement")
    expected = data.find("wugs/agreement").files[0].checksum
    lines = str(caught.value).splitlines()
    assert lines[1].split() == ["expected", "SHA-256", expected]
    assert lines[2].split()[:2] == ["found", "SHA-256"]
    assert lines[2].split()[2] != expected
    assert not list(data_folder.rglob("agreement*"))


def test_a_wrong_git_blob_is_refused_with_both_hashes(mirror: Mirror) -> None:
    path = "data/more/unseen.tsv"
    mirror.behaviours[path] = lambda handler, content: handler.answer(200, b"something else\n")
    with pytest.raises(DataError) as caught:
        data.get("wugs/more/unseen")
    assert f"expected Git blob {git_blob(CONTENT[path])}" in str(caught.value)
    assert f"found    Git blob {git_blob(b'something else' + bytes([10]))}" in str(caught.value)


def test_a_broken_connection_is_resumed_where_it_broke(mirror: Mirror) -> None:
    mirror.behaviours[BIG] = first(cut)
    assert data.get("wugs/agreement").read_bytes() == CONTENT[BIG]
    assert mirror.asked == [(BIG, None), (BIG, f"bytes={len(CONTENT[BIG]) // 2}-")]


def test_what_came_before_a_break_is_kept_for_the_next_call(mirror: Mirror) -> None:
    mirror.behaviours[BIG] = cut
    with pytest.raises(DataError, match="kept: the same command resumes"):
        data.get("wugs/agreement")
    with pytest.raises(NotFetched):
        data.path("wugs/agreement")
    mirror.asked.clear()
    mirror.behaviours.clear()
    assert data.get("wugs/agreement").read_bytes() == CONTENT[BIG]
    assert mirror.asked == [(BIG, f"bytes={len(CONTENT[BIG]) // 2}-")]


def partly(content: bytes) -> Path:
    """Something that an earlier call left of a file."""
    folder = folder_of(data.find("wugs").set)
    folder.mkdir(parents=True)
    (folder / "agreement.jsonl.part").write_bytes(content)
    return folder


def test_a_kept_beginning_that_is_wrong_is_fetched_anew(mirror: Mirror) -> None:
    partly(b"?" * 1000)
    assert data.get("wugs/agreement").read_bytes() == CONTENT[BIG]
    assert mirror.asked == [(BIG, "bytes=1000-"), (BIG, None)]


def test_a_kept_beginning_that_is_longer_than_the_file_is_fetched_anew(mirror: Mirror) -> None:
    partly(CONTENT[BIG] + b"?")
    assert data.get("wugs/agreement").read_bytes() == CONTENT[BIG]
    assert mirror.asked[-1] == (BIG, None)


def test_a_file_that_came_whole_before_a_kill_is_not_requested_again(mirror: Mirror) -> None:
    partly(CONTENT[BIG])
    assert data.get("wugs/agreement").read_bytes() == CONTENT[BIG]
    assert mirror.asked == []


def test_a_slow_file_is_reported_as_it_comes(mirror: Mirror) -> None:
    half_came = threading.Event()
    told: list[tuple[int, int]] = []

    def slowly(handler: Handler, content: bytes) -> None:
        half = len(content) // 2
        handler.answer(200, content[:half], len(content))
        assert half_came.wait(PATIENCE)  # the rest only once the reader has told of the first half
        handler.wfile.write(content[half:])

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        if done == len(CONTENT[BIG]) // 2:
            half_came.set()

    mirror.behaviours[BIG] = slowly
    assert data.get("wugs/agreement", progress=progress).read_bytes() == CONTENT[BIG]
    assert told[-1] == (len(CONTENT[BIG]), len(CONTENT[BIG]))


def test_a_redirect_is_followed(mirror: Mirror) -> None:
    def elsewhere(handler: Handler, content: bytes) -> None:
        handler.answer(302, b"", Location=f"{mirror.url}/other/place/{COMMIT}/data/binding.jsonl")

    mirror.behaviours["data/binding.jsonl"] = first(elsewhere)
    assert data.get("wugs/binding").read_bytes() == CONTENT["data/binding.jsonl"]
    assert len(mirror.asked) == 2


def test_a_circle_of_redirects_and_an_absent_file_are_messages(mirror: Mirror) -> None:
    mirror.behaviours["data/binding.jsonl"] = lambda handler, content: handler.answer(302, b"", Location=handler.path)
    with pytest.raises(DataError, match=r"cannot be fetched: .*redirects"):
        data.get("wugs/binding")
    mirror.behaviours["data/binding.jsonl"] = lambda handler, content: handler.answer(404, b"")
    with pytest.raises(DataError, match=r"answers 404 Not Found.*--from FOLDER"):
        data.get("wugs/binding")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nonsense", "ftp://127.0.0.1/x", "http://[::1"])
def test_an_address_that_does_not_answer_is_a_message(made_up: None, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("WUG_DATA_URL", url)
    with pytest.raises(DataError, match="cannot be"):
        data.get("wugs/binding")


def test_a_damaged_file_is_fetched_again_alone(mirror: Mirror) -> None:
    folder = data.get("wugs")
    (folder / "binding.jsonl").write_bytes(b"?" * len(CONTENT["data/binding.jsonl"]))
    mirror.asked.clear()
    data.get("wugs")
    assert mirror.asked == [("data/binding.jsonl", None)]
    assert contents(folder) == CONTENT


@pytest.mark.parametrize("name", ["guarded", "unlicensed"])
def test_a_restricted_set_is_not_requested_before_its_licence_is_accepted(mirror: Mirror, name: str) -> None:
    with pytest.raises(DataError, match=f"wug data get {name} --accept"):
        data.get(name)
    assert mirror.asked == []
    place = data.get(name, accept=True)
    assert place.read_bytes() == CONTENT["data/binding.jsonl"]
    assert data.get(name) == place  # what is here needs no second acceptance


def test_the_licence_stands_beside_the_data(mirror: Mirror, data_folder: Path) -> None:
    place = data.get("guarded", accept=True)
    record = json.loads((data_folder / "guarded" / f"{COMMIT[:12]}.json").read_text(encoding="utf-8"))
    assert record["licence"] == "CC-BY-NC-4.0"
    assert record["commit"] == COMMIT
    assert data.origin(place) == record == data.origin(place.parent)
    assert data.origin(data_folder) is None


def test_what_is_not_here_is_reported_in_three_lines_with_the_command(made_up: None) -> None:
    with pytest.raises(NotFetched) as caught:
        data.path("guarded")
    assert str(caught.value).splitlines() == [
        "guarded is not on this machine: Not for trade (Berko 1958, Word 14)",
        "    1 file, 0.2 kB from github.com/nobody/guarded, licence: CC-BY-NC-4.0",
        "    wug data get guarded --accept    (or run it with --fetch --accept)",
    ]


def test_a_run_takes_the_test_material_and_needs_no_more(mirror: Mirror) -> None:
    assert data.run_locations("no/set") is None
    with pytest.raises(NotFetched):
        data.run_locations("wugs")
    for name in ("wugs/agreement", "wugs/binding"):
        data.get(name)
    found = data.run_locations("wugs")
    assert found is not None
    assert [(place.path, place.name, place.family) for place in found] == [
        (folder_of(data.find("wugs").set), "wugs", "pairs")
    ]
    assert found[0].options == {"language": "en", "files": "agreement.jsonl,binding.jsonl"}
    assert found[0].record is not None
    assert found[0].record["licence"] == "MIT"


def test_a_run_of_a_folder_does_without_the_training_material_in_it(mirror: Mirror) -> None:
    for name in ("wugs/more/a*", "wugs/more/unseen"):
        data.get(name)
    with pytest.raises(NotFetched):
        data.path("wugs/more")
    assert [place.path for place in data.run_locations("wugs/more") or ()] == [
        folder_of(data.find("wugs").set) / "more"
    ]
    assert [place.path for place in data.run_locations("wugs/more/[tu]*") or ()] == [data.path("wugs/more/unseen")]


def test_a_path_of_a_fetched_set_is_known_by_the_catalogue(mirror: Mirror, tmp_path: Path) -> None:
    path = data.get("wugs/binding")
    place = data.location_of(path)
    assert place is not None
    assert place.record is not None
    assert (place.name, place.options["language"], place.record["set"]) == (None, "en", "wugs")
    assert data.location_of(tmp_path) is None
    assert data.location_of(folder_of(data.find("wugs").set).with_name("another commit") / "binding.jsonl") is None


def test_copies_are_found_by_their_checksums_whatever_they_are_called(made_up: None, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "deeper"
    copy.mkdir(parents=True)
    for number, content in enumerate(CONTENT.values()):
        (copy / f"{number}.bin").write_bytes(content)
    (copy / "agreement.jsonl").write_bytes(b"called like it, but another")
    assert contents(data.get("wugs", source=tmp_path / "copy")) == CONTENT


def test_a_copy_with_a_wrong_byte_is_refused_with_both_checksums(made_up: None, tmp_path: Path) -> None:
    (tmp_path / "agreement.jsonl").write_bytes(b"!" + CONTENT[BIG][1:])
    (tmp_path / "binding.jsonl").write_bytes(CONTENT["data/binding.jsonl"])
    with pytest.raises(DataError) as caught:
        data.get("wugs/*.jsonl", source=tmp_path)
    file = data.find("wugs/agreement").files[0]
    found = file.checksum_of(tmp_path / "agreement.jsonl")
    assert f"{BIG}: expected {file.checksum}, found {found} in" in str(caught.value)
    assert "1 of 2 files" in str(caught.value)
    assert data.fetched("wugs/binding")  # what was right is in place
    assert not data.fetched("wugs/agreement")


def test_a_file_whose_size_rules_it_out_is_not_read(
    made_up: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = tmp_path / "copy" / "agreement.jsonl"
    huge.parent.mkdir()
    with huge.open("wb") as file:
        file.truncate(60_000_000_000)  # a hole: it takes no room
    monkeypatch.setattr(File, "checksum_of", lambda file, path: pytest.fail(f"{path} was read"))
    with pytest.raises(DataError, match=f"{BIG}: expected 142,000 bytes, found 60,000,000,000 in {huge}"):
        data.get("wugs/agreement", source=huge.parent)
    with pytest.raises(DataError, match="1 of 1 files"):
        data.get("wugs/more/unseen", source=huge.parent)  # of unknown size, but no file of a set is so large


def test_a_folder_without_the_files_is_a_message(made_up: None, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        data.get("wugs", source=tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=f"5 of 5 files.*\n.*{BIG}"):
        data.get("wugs", source=tmp_path / "empty")


def test_of_published_samples_just_the_whole_files_are_taken() -> None:
    samples = [folder for folder in reference("../catalogue/samples").iterdir() if folder.name in catalogue()]
    taken = 0
    for folder in samples:
        files = data.find(folder.name).files
        sums = {hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}
        whole = [file for file in files if file.checksum in sums]  # most samples are beginnings of files
        with pytest.raises(DataError, match=f"{len(files) - len(whole)} of {len(files)} files"):
            data.get(folder.name, source=folder)
        assert [file for file in files if file not in missing(data.find(folder.name))] == whole
        for file in whole:
            assert data.path(f"{folder.name}/{file.name}").stat().st_size == file.size
        taken += len(whole)
    assert len(samples) > 20
    assert taken > 10


ANOTHER = """
import sys
import fake_datasets
from wug import data
fake_datasets.use_fake_datasets(setattr)
print("ready", flush=True)
sys.stdin.readline()
print(data.get("wugs"))
"""


def test_two_processes_that_fetch_the_same_set_request_each_file_once(mirror: Mirror) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", ANOTHER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=PATIENCE)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0] == said[1]
    assert contents(Path(said[0].strip())) == CONTENT
    assert sorted(path for path, _ in mirror.asked) == sorted(CONTENT)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here that is always full")
def test_a_full_disk_is_a_message(mirror: Mirror) -> None:
    folder = folder_of(data.find("wugs").set)
    folder.mkdir(parents=True)
    (folder / "agreement.jsonl.part").symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"agreement\.jsonl\.part: cannot be written: No space left"):
        data.get("wugs/agreement")


def test_a_folder_that_cannot_be_written_is_a_message(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "a file" / "sets"))
    with pytest.raises(InputError, match="cannot be written"):
        data.get("wugs")
    assert mirror.asked == []


def test_a_set_in_a_folder_that_may_only_be_read_is_used(mirror: Mirror, data_folder: Path) -> None:
    folder = data.get("wugs")
    everything = [data_folder, *data_folder.rglob("*")]
    for path in everything:
        path.chmod(0o555)
    before = sorted(data_folder.rglob("*"))
    assert data.get("wugs") == folder
    assert sorted(data_folder.rglob("*")) == before
    for path in everything:
        path.chmod(0o755)
