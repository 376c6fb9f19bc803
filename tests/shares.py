"""How much of what takes long is tried: a fixed share, or all of it where WUG_TEST_WHOLE=yes, as every night."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")
WHOLE = os.environ.get("WUG_TEST_WHOLE") == "yes"


def cases(always: Iterable[Case], at_night: Iterable[Case]) -> list[Case]:
    """The cases that are tried here."""
    return [*always, *(at_night if WHOLE else ())]
