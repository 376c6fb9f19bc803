"""A sample that is the same every time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wug.views.family_views import spread_sample


@given(st.lists(st.sampled_from("abcd")), st.integers(0, 30))
def test_a_sample_fills_its_room_from_every_group(names: list[str], room: int) -> None:
    rows = list(enumerate(names))
    found = spread_sample(rows, room, lambda row: row[1])
    shown = [row for some in found.values() for row in some]
    assert len(shown) == len(set(shown)) == min(room, len(rows))
    assert all(row in rows and row[1] == name for name, some in found.items() for row in some)
    if room >= len(set(names)):
        assert set(found) == set(names)
