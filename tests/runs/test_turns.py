"""What follows is made ready by several threads, in order, while the one whose turn it is is used."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from patience import PATIENCE
from wug.runs.turns import Stopped, Turns


class Thing:
    """What is made."""

    def __init__(self, place: int) -> None:
        self.place = place


def line(count: int, threads: int, make: Callable[[int], Thing | None]) -> Turns[Thing]:
    return Turns(count, threads, make)


def test_several_are_under_way_while_the_first_is_used() -> None:
    together = threading.Barrier(4)  # three that make, and the one that uses

    def make(place: int) -> Thing:
        if place <= 3:
            together.wait(PATIENCE)  # breaks unless all of them are here at a time
        return Thing(place)

    turns = line(6, 3, make)
    with turns:
        assert turns.wait(0) is None  # the first is made where it is used
        turns.open()
        together.wait(PATIENCE)
        found = [turns.wait(place) for place in range(1, 6)]
    assert [thing.place for thing in found if thing] == [1, 2, 3, 4, 5]


def test_no_more_are_begun_than_there_are_threads_ahead_of_the_turn() -> None:
    begun: list[int] = []
    third = threading.Event()

    def make(place: int) -> Thing:
        begun.append(place)
        if place == 3:
            third.set()
        return Thing(place)

    turns = line(5, 2, make)
    with turns:
        turns.wait(0)
        turns.open()
        turns.wait(1)
        assert third.wait(PATIENCE)  # the turn of 1 has come: 2 and 3 are ahead of it
        assert max(begun) == 3
        turns.wait(2)
        turns.wait(3)
        turns.wait(4)
    assert sorted(begun) == [1, 2, 3, 4]


def test_room_is_given_in_order_to_as_many_as_it_holds() -> None:
    given: dict[int, threading.Event] = {place: threading.Event() for place in range(1, 5)}
    turns: Turns[Thing]

    def make(place: int) -> Thing | None:
        # Each takes 4 of 10: two have room beside each other, and the third when the first is taken away.
        if turns.may_take(place, 4, lambda waiting, _: 4 * (waiting + 1) <= 10):
            given[place].set()
            return Thing(place)
        return None

    turns = line(5, 4, make)
    with turns:
        turns.wait(0)
        turns.open()
        for place in (1, 2, 3):
            assert given[place].wait(PATIENCE)
            assert given[place + 1].wait(PATIENCE)
            assert not any(given[later].is_set() for later in range(place + 2, 5))
            thing = turns.wait(place)
            assert thing is not None
            assert thing.place == place


def test_without_room_each_is_left_to_its_turn() -> None:
    turns: Turns[Thing]

    def make(place: int) -> Thing | None:
        return Thing(place) if turns.may_take(place, 1, lambda waiting, loading: False) else None

    turns = line(4, 3, make)
    with turns:
        turns.open()
        assert [turns.wait(place) for place in range(4)] == [None] * 4


def test_bytes_that_are_being_filled_are_counted_until_they_are() -> None:
    seen: list[tuple[int, int]] = []
    both = threading.Barrier(3)
    turns: Turns[Thing]

    def make(place: int) -> Thing | None:
        def allows(waiting: int, loading: int) -> bool:
            seen.append((waiting, loading))
            return True

        turns.may_take(place, 10 * place, allows)
        both.wait(PATIENCE)
        return Thing(place)

    turns = line(3, 2, make)
    with turns:
        turns.wait(0)
        turns.open()
        both.wait(PATIENCE)
        assert turns.wait(1) is not None
        assert turns.wait(2) is not None
    assert seen == [(0, 0), (1, 10)]


def test_one_that_cannot_be_made_says_so_in_its_turn_and_the_others_go_on() -> None:
    def make(place: int) -> Thing:
        if place == 2:
            raise ValueError("damaged")
        return Thing(place)

    turns = line(4, 3, make)
    with turns:
        turns.open()
        assert turns.wait(1) is not None
        with pytest.raises(ValueError, match="damaged"):
            turns.wait(2)
        assert turns.wait(3) is not None


def test_what_was_used_is_gone_though_the_threads_are_not() -> None:
    turns = line(3, 1, Thing)
    with turns:
        turns.open()
        thing = turns.wait(1)
        assert thing is not None
        watched = weakref.ref(thing)
        assert turns.wait(2) is not None  # the thread has begun another since
        del thing
        gc.collect()
        assert watched() is None


def test_who_waits_for_room_is_stopped_when_nobody_goes_on() -> None:
    stopped = threading.Event()
    turns: Turns[Thing]

    def make(place: int) -> Thing | None:
        try:
            turns.may_take(place, 1, lambda waiting, loading: False)
        except Stopped:
            stopped.set()
            raise
        return None

    turns = line(2, 1, make)
    with turns:
        turns.open()
    assert stopped.wait(PATIENCE)
