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
    gives = {"scores" if callable(getattr(one, "score", None)) else "text" for one in loaded}
    # Those with an option `score` write unless they are asked to score.
    writes = "text" in gives and (len(gives) == 1 or any(option.name == "score" for option in module.OPTIONS))
    assert ("text" if writes else "scores") == module.TRAITS.returns
