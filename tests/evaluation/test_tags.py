"""Suites by what they are filed under."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wug.errors import InputError
from wug.evaluation.suite_selection import tagged, tags_of
from wug.evaluation.suites import builtin_suites, open_suites
from wug.interfaces import Suite


def published(tmp_path: Path, *names: str) -> list[Suite]:
    """Suites without tags, as those of SyntaxGym are, called by their names there."""
    document = json.loads(builtin_suites()["wug_agreement_pp"].read_text(encoding="utf-8"))
    for name in names:
        document["meta"] = {"name": name}
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return open_suites(str(tmp_path))


def test_the_circuit_of_a_published_suite_is_a_tag(tmp_path: Path) -> None:
    suites = published(tmp_path, "number_prep", "fgd_object", "mine")
    assert {suite.name: tags_of(suite) for suite in suites} == {
        "number_prep": ["agreement"],
        "fgd_object": ["long-distance-dependencies"],
        "mine": [],
    }
    assert [suite.name for suite in tagged(suites, ["agreement"])] == ["number_prep"]


@pytest.mark.parametrize(
    "tag", ["long-distance-dependencies", "Long-Distance Dependencies", "long_distance_dependencies"]
)
def test_a_tag_is_found_however_it_is_spelt(tmp_path: Path, tag: str) -> None:
    assert [suite.name for suite in tagged(published(tmp_path, "fgd_object", "number_prep"), [tag])] == ["fgd_object"]


def test_a_tag_that_nothing_has_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no suite has the tag agrement\. Did you mean 'agreement'\? Tags: agr"):
        tagged(published(tmp_path, "number_prep"), ["agrement"])
