"""Timeouts of tests, long enough for a busy machine.

A passing test does not wait that long. `WUG_TEST_PATIENCE=3` in the environment makes all timeouts three times as long.
"""

from __future__ import annotations

import os

PATIENCE = 60 * float(os.environ.get("WUG_TEST_PATIENCE", "1"))
"""Seconds after which a waiting test fails."""
