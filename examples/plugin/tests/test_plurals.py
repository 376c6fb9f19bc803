"""The conformance tests of wug, for a family and a backend outside of it."""

from pathlib import Path

import pytest

from wug.testing import check_backend, check_family

NOUNS = Path(__file__).parents[1] / "berko.plurals"


@pytest.mark.parametrize("name", ["2", "vowel?1:2"])
def test_the_backend_conforms(name: str) -> None:
    check_backend("letters", name)


def test_the_family_conforms() -> None:
    check_family("plurals", NOUNS)
