"""What a task of the site returns or raises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fake_models import FakeScorer, length_scores
from wug.errors import ModelError
from wug.evaluation.handle import ModelHandle
from wug.families import syntaxgym
from wug.requests import Scored
from wug.web.worker import run_suites

SUITE = """
{"meta": {"name": "short"}, "region_meta": {"1": "word"}, "predictions": ["(1;%a%) / [(1;%b%) - (1;%b%)] > 1"],
 "items": [{"item_number": 1, "conditions": [
    {"condition_name": "a", "regions": [{"region_number": 1, "content": "long"}]},
    {"condition_name": "b", "regions": [{"region_number": 1, "content": "a"}]}]}]}
"""


def test_a_suite_that_failed_says_why_whatever_the_model_warned_of(tmp_path: Path) -> None:
    def noted(text: str) -> Scored:
        return replace(length_scores(text), notices=("was cut off",))

    path = tmp_path / "short.json"
    path.write_text(SUITE)
    task = run_suites(syntaxgym.read(path, {}), tmp_path / "store", None, "")
    with pytest.raises(ModelError, match="division by zero"):
        task(ModelHandle.from_loaded(FakeScorer(noted)), lambda done, total: None)
