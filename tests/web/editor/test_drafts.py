from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from wug.errors import InputError
from wug.web.editor import DraftConflict, DraftStore

SUITE = {"meta": {"name": "número"}, "region_meta": {"1": "a"}, "predictions": [], "items": []}


def other(name: str) -> dict[str, object]:
    return {**SUITE, "meta": {"name": name}}


def test_a_draft_is_there_after_the_server_was_started_again(tmp_path: Path) -> None:
    made = DraftStore(tmp_path).create(SUITE, changed=5, origin="from nothing")
    again = DraftStore(tmp_path).find(made.id)
    assert again == made
    assert again is not None
    assert (again.name, again.items, again.revision, again.changed) == ("número", 0, 1, 5)


def test_drafts_are_listed_with_the_last_changed_first(tmp_path: Path) -> None:
    drafts = DraftStore(tmp_path)
    old, new = drafts.create(other("old"), 1), drafts.create(other("new"), 2)
    assert [draft.id for draft in drafts.list()] == [new.id, old.id]


def test_a_folder_that_does_not_exist_has_no_drafts(tmp_path: Path) -> None:
    assert DraftStore(tmp_path / "nowhere").list() == []


def test_keeping_a_change_counts_the_revision_up(tmp_path: Path) -> None:
    drafts = DraftStore(tmp_path)
    made = drafts.create(SUITE, 1, "here")
    kept = drafts.update(made.id, other("b"), 2, seen_revision=1)
    assert (kept.revision, kept.origin, kept.name) == (2, "here", "b")
    assert drafts.find(made.id) == kept


def test_a_page_without_the_last_revision_gets_a_conflict(tmp_path: Path) -> None:
    drafts = DraftStore(tmp_path)
    made = drafts.create(SUITE, 1)
    drafts.update(made.id, other("theirs"), 2, seen_revision=1)
    with pytest.raises(DraftConflict) as told:
        drafts.update(made.id, other("mine"), 3, seen_revision=1)
    assert told.value.theirs.name == "theirs"
    assert drafts.update(made.id, other("mine"), 3, seen_revision=None).name == "mine"


def test_keeping_what_is_there_already_changes_nothing(tmp_path: Path) -> None:
    drafts = DraftStore(tmp_path)
    made = drafts.create(SUITE, 1)
    assert drafts.update(made.id, dict(SUITE), 9, seen_revision=77) == made


def test_a_draft_that_was_lost_is_made_again(tmp_path: Path) -> None:
    drafts = DraftStore(tmp_path)
    made = drafts.create(SUITE, 1)
    drafts.delete(made.id)
    assert drafts.find(made.id) is None
    assert drafts.update(made.id, other("b"), 2, seen_revision=4).revision == 5


def test_drafts_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        new = DraftStore(tmp_path / "new")
        made = new.create(SUITE, 1)
        new.update(made.id, other("b"), 2, seen_revision=1)
        (tmp_path / "old").mkdir()  # as an earlier version made it
        DraftStore(tmp_path / "old").create(SUITE, 1)
    finally:
        os.umask(before)
    modes = {(path.suffix, stat.S_IMODE(path.stat().st_mode)) for path in tmp_path.rglob("*")}
    assert modes == {("", 0o700), (".json", 0o600)}


@pytest.mark.parametrize("id", ["../wug", "abc", "ABCDEFGHIJ", "aaaaaaaa/b", "a" * 40, "aaaaaaaa\n"])
def test_an_id_that_could_be_a_path_is_refused(tmp_path: Path, id: str) -> None:
    drafts = DraftStore(tmp_path / "drafts")
    with pytest.raises(InputError, match="not the id of a draft"):
        drafts.update(id, SUITE, 1, None)
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("text", ["{", '{"document": 3, "revision": 1, "changed": 1, "origin": ""}', "{}", "[]"])
def test_a_damaged_draft_is_not_listed_and_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "damaged1.json").write_text(text)
    drafts = DraftStore(tmp_path)
    assert drafts.list() == []
    with pytest.raises(InputError, match="damaged"):
        drafts.find("damaged1")


def test_of_many_pages_at_once_one_wins_and_the_others_get_a_conflict(tmp_path: Path) -> None:
    drafts = DraftStore(tmp_path)
    made = drafts.create(SUITE, 1)
    told: list[str] = []

    def write(name: str) -> None:
        try:
            drafts.update(made.id, other(name), 2, seen_revision=1)
        except DraftConflict as conflict:
            told.append(conflict.theirs.name)

    threads = [threading.Thread(target=write, args=(f"n{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winner = drafts.find(made.id)
    assert winner is not None
    assert told == [winner.name] * 7
