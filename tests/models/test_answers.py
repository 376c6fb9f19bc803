"""What each backend says that its models give."""

from __future__ import annotations

from types import UnionType
from typing import get_args, get_type_hints

import pytest

from wug import registry


@pytest.mark.parametrize("name", registry.names("models"))
def test_a_backend_says_whether_its_models_can_score(name: str) -> None:
    module = registry.find("models", name)
    made = get_type_hints(module.load)["return"]
    loaded = get_args(made) if isinstance(made, UnionType) else (made,)
    gives = "scores" if any(callable(getattr(one, "score", None)) for one in loaded) else "text"
    assert gives == module.ANSWERS
