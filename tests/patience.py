"""How long the tests wait for what must happen: far longer than it takes, for a machine that is busy with other things.

Nothing waits that long where all is well. `WUG_TEST_PATIENCE=3` in the environment makes all waits three times as long.
"""

from __future__ import annotations

import os

PATIENCE = 60 * float(os.environ.get("WUG_TEST_PATIENCE", "1"))
"""Seconds after which a test fails instead of waiting on."""
