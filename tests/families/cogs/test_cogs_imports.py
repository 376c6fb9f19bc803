"""Published accuracies of COGS by type become runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wug
from wug.errors import InputError
from wug.families.cogs.read import GENERALISATIONS


def accuracies(path: Path, overall: float | None = None, **more: float) -> Path:
    values = {name: 0.0 if "recursion" in name else 0.9 for name in GENERALISATIONS} | more
    mean = sum(values.values()) / len(values)
    path.write_text(json.dumps({**values, "overall": mean if overall is None else overall}))
    return path


def test_accuracies_by_type_are_estimates_and_their_mean_is_overall(tmp_path: Path) -> None:
    (result,) = wug.import_results(accuracies(tmp_path / "accuracies_t5-small.json"), store=tmp_path / "store")
    found = {estimate.group: (estimate.value, estimate.n) for estimate in result.estimates}
    assert found["all"] == pytest.approx((19 * 0.9 / 21, 21_000))
    assert found["type=cp_recursion"] == (0.0, 1_000)
    assert found["kind=lexical"] == pytest.approx((0.9, 18_000))
    assert (result.model, result.kind) == ("imported/t5-small", "cogs")
    assert result.signature.fields[0][0] == "imported"
    assert result.signature.fields[0][1].startswith("cogs-accuracies@")


@pytest.mark.parametrize(
    ("given", "message"),
    [({"overall": 0.5}, "overall is 0.5, and the mean"), ({"prim_to_nothing": 0.5}, "not a generalisation type"),
     ({"pp_recursion": 1.5}, "not a proportion")],
)  # fmt: skip
def test_contradictions_are_refused(tmp_path: Path, given: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        wug.import_results(accuracies(tmp_path / "accuracies_x.json", **given), store=tmp_path / "store")
    assert not list((tmp_path / "store").glob("outcomes/*"))
