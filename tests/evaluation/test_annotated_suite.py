"""A suite with annotations is a suite like any other."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from wug.evaluation.annotated_suite import AnnotatedSuite
from wug.evaluation.suites import open_suites
from wug.interfaces import Suite, SuiteAttributes
from wug.outcomes import DATASET_KEY

MEMBERS = sorted(name for name in vars(Suite) if not name.startswith("_") or name == "__len__")


@pytest.mark.parametrize("name", MEMBERS)
def test_it_has_every_member_of_a_suite_without_looking_it_up_at_run_time(name: str) -> None:
    """From Python 3.12 on, `isinstance` with a protocol finds only such members."""
    (suite,) = open_suites(["wug_coord"])
    found = AnnotatedSuite(suite)
    assert isinstance(found, Suite)
    inspect.getattr_static(found, name)


def test_it_delegates_all_but_its_name_and_its_fields() -> None:
    (suite,) = open_suites(["wug_coord"])
    found = AnnotatedSuite(suite, {"licence": "MIT"}, "renamed", {"protocol": "lm-eval"})
    assert (found.name, found.meta[DATASET_KEY]) == ("renamed", {"licence": "MIT"})
    assert found.options == {**suite.options, "protocol": "lm-eval"}
    assert (found.kind, found.needs, found.checksum) == (suite.kind, suite.needs, suite.checksum)
    assert (found.metrics, len(found)) == (suite.metrics, len(suite))
    assert list(found.requests()) == list(suite.requests())
    assert len(found.sample(3)) == 3
    assert found.sample(3).name == "renamed"


def test_its_optional_attributes_are_those_of_the_suite(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("context,good,bad\nYes.,The wugs sleep.,The wugs sleeps.\n", encoding="utf-8")
    (suite,) = open_suites([str(file)], {"good": "good", "bad": "bad"})
    declared = SuiteAttributes.of(suite)
    assert declared.understood is not None
    assert SuiteAttributes.of(AnnotatedSuite(suite)) == declared


def test_a_suite_without_optional_attributes_has_their_defaults() -> None:
    (suite,) = open_suites(["wug_coord"])
    members = {name: getattr(suite, name) for name in MEMBERS}
    plain = type("PlainSuite", (), members)()
    assert isinstance(plain, Suite)
    assert SuiteAttributes.of(plain) == SuiteAttributes(protocol=None, sources={}, understood=None)
