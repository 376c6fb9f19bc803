"""Answers that are guessed ahead are those that are written token by token."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tiny_seq2seq
from answers import noticed
from shares import cases, each_kind, share
from wug.models import _ahead, seq2seq
from wug.models._ahead import Ahead, Checked, Guesses, Rival, until
from wug.models._asking import Written
from wug.models._passes import OwnPasses, T5Passes
from wug.models._spec import ModelSpec
from wug.models.seq2seq import translator
from wug.models.seq2seq.translator import Translator
from wug.runs.opening import builtin_models

ARCHITECTURES = ["t5", "marian", "bart", "m2m_100", "mbart", "pegasus", "mt5", "umt5"]
MOST = ["3", "5", "40", "auto"]
USUAL = [*product(ARCHITECTURES[:2], MOST), *product(ARCHITECTURES[2:], ["5"])]
"""Every bound for a model that guesses ahead and for one that does not; for the others one at which they do."""
BY_DAY = each_kind(USUAL, lambda case: case[0])
Maker = Callable[..., Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """The folder of a tiny model of an architecture, made once."""
    return tiny_seq2seq.maker(tmp_path_factory.mktemp)


def load(folder: Path, **options: str) -> seq2seq.Seq2SeqModel:
    model = seq2seq.load(ModelSpec("seq2seq", str(folder), options={"device": "cpu", **options}))
    assert isinstance(model, seq2seq.Seq2SeqModel)
    return model


def plainly(decoder: Any, source: Sequence[int], bound: int) -> list[int]:
    """What generate() of transformers writes for one sequence, its end mark included."""
    found: list[int] = decoder._generate([source], bound)["sequences"][0].tolist()
    return [*until(found, decoder._ends)]


def test_what_followed_before_is_guessed_to_follow_again() -> None:
    guesses = Guesses()
    guesses.add([1, 2, 3, 4, 9, 2, 3])
    assert guesses.guess(3) == [4, 9, 2]
    guesses.add([7])
    assert guesses.guess(3) == []  # 7 is new
    guesses.add([2, 3])
    assert guesses.guess(2) == [7, 2]  # where it stood last


def test_a_longer_beginning_counts_more_than_a_later_one() -> None:
    guesses = Guesses()
    guesses.add([1, 2, 5, 8, 2, 6, 1, 2])
    assert guesses.guess(1) == [5]


def test_a_repetition_is_guessed_to_go_on_for_ever() -> None:
    guesses = Guesses()
    guesses.add([5, 6, 5, 6])
    assert guesses.guess(7) == [5, 6, 5, 6, 5, 6, 5]


def guesses_ahead(architecture: str) -> bool:
    """Whether a model of this kind can write several tokens in a pass; where not, it is left to the plain way.

    Marian has a word that it must not write. UMT5 looks at later tokens of the same pass in transformers before 5.18.
    """
    release = tuple(map(int, version("transformers").split(".")[:2]))
    return architecture != "marian" and (architecture != "umt5" or release >= (5, 18))


def looping(folder: Path) -> Any:
    """A decoder of a model that rarely ends an answer."""
    import torch

    decoder: Any = load(folder, engine="transformers")._decoder
    with torch.no_grad():
        decoder.model.get_output_embeddings().weight[2] = 0.0
    return decoder


@pytest.mark.parametrize("architecture", share(ARCHITECTURES, 2))
@pytest.mark.parametrize("seed", cases([21], [22]))
def test_answers_are_those_of_generate(made: Maker, architecture: str, seed: int) -> None:
    """Lengths, bounds and first guesses of all kinds: none, the right one, one that goes wrong, one too long."""
    draw = random.Random(seed)
    plain: Any = load(made(architecture), engine="transformers")._decoder
    written = 0
    for decoder in (plain, looping(made(architecture))):
        ahead = decoder.ahead
        assert isinstance(ahead, Ahead) == guesses_ahead(architecture)
        if ahead is None:
            return
        for bound, length in zip([2, 9, 33, 150], draw.sample(range(1, 40), 4), strict=True):
            source = [draw.randrange(5, 400) for _ in range(length)]
            wanted = plainly(decoder, source, bound)
            wrong = [*wanted[: len(wanted) // 2], 399, 398, 397]
            for begun in ([], wanted, wrong, wanted * 3):
                found = ahead.write(source, bound, begun)
                assert found.tokens == wanted or found.rivals
            written += len(wanted)
    assert written > 30


def test_a_model_that_loops_takes_few_passes(made: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = looping(made("t5"))
    wanted = plainly(decoder, [9, 30, 31, 32], 400)
    assert len(wanted) == 400
    asked: list[int] = []
    logits = T5Passes.logits

    def counted(self: T5Passes, memories: Sequence[Any], tokens: Sequence[Sequence[int]]) -> list[Any]:
        asked.extend(map(len, tokens))
        return logits(self, memories, tokens)

    monkeypatch.setattr(T5Passes, "logits", counted)
    assert decoder.ahead.write([9, 30, 31, 32], 400).tokens == wanted
    assert len(asked) < 100


def test_where_another_token_is_as_good_it_is_told(made: Maker) -> None:
    import torch

    decoder: Any = load(made("bart"), engine="transformers")._decoder
    source = [9, 30, 31, 32]
    first = plainly(decoder, source, 1)[0]
    with torch.no_grad():
        head = decoder.model.get_output_embeddings().weight
        head[first + 1] = head[first]
    found = Ahead(OwnPasses(decoder.model), decoder._start(), decoder._ends).write(source, 1)
    assert [(rival.place, rival.margin) for rival in found.rivals] == [(0, 0.0)]
    assert {found.tokens[0], found.rivals[0].token} == {first, first + 1}
    assert found.doubtful
    assert not Checked([1], [Rival(0, 2, 5e-5)]).doubtful


@pytest.fixture
def _early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guessing ahead from the fifth token on, and from the start for sources of ten tokens."""
    monkeypatch.setattr(translator, "FIRST", 4)
    monkeypatch.setattr(translator, "LONG", 10)
    monkeypatch.setattr(translator, "WORTH", 1)


@pytest.mark.usefixtures("_early")
@pytest.mark.parametrize(("architecture", "most"), cases(BY_DAY, sorted({*product(ARCHITECTURES, MOST)} - {*USUAL})))
def test_both_engines_answer_and_notice_alike(
    made: Maker, architecture: str, most: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "wug")
    sources = [*tiny_seq2seq.sources(30, seed=31), "copy jabberwocky", "copy " + "A1 B3 " * 40, ""]
    options = {} if most == "auto" else {"max_length": most}
    mine = load(made(architecture), engine="ctranslate", **options)
    theirs = load(made(architecture), engine="transformers", **options)
    assert isinstance(mine._decoder, Translator)
    ahead: list[int] = []
    write = _ahead.Ahead.write_all

    def counted(*given: Any, **named: Any) -> Any:
        ahead.append(1)
        return write(*given, **named)

    monkeypatch.setattr(_ahead.Ahead, "write_all", counted)
    assert mine.generate(sources) == theirs.generate(sources)
    assert bool(ahead) == (guesses_ahead(architecture) and most != "3")


def test_pytorch_is_started_where_much_is_left_to_write(made: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translator, "FIRST", 4)
    load(made("t5"), engine="ctranslate")  # makes the conversion, for which it is started too
    sources = [source for source in tiny_seq2seq.sources(30, seed=31) if len(source.split()) > 10]
    answers = []
    for worth, started in ((10 * 40 * len(sources), False), (1, True)):
        monkeypatch.setattr(translator, "WORTH", worth)
        model = load(made("t5"), engine="ctranslate", max_length="40")
        answers.append(model.generate(sources))
        decoder: Any = model._decoder
        assert decoder._plainly.started == started
    assert answers[0] == answers[1]
    assert any(len(answer.text.split()) > 4 for answer in answers[0])


@pytest.mark.usefixtures("_early")
def test_a_trained_model_answers_alike_in_any_company() -> None:
    folder = builtin_models()["wug-pcfg"]
    sources = [*tiny_seq2seq.sources(12, seed=32), "repeat " + "K1 B2 C3 " * 30, "reverse " + "K1 B2 " * 50]
    theirs = load(folder, engine="transformers", max_length="150").generate(sources)
    mine = load(folder, max_length="150")
    assert mine.generate(sources) == theirs
    assert [*mine.generate(sources[12:]), *mine.generate(sources[:12])] == [*theirs[12:], *theirs[:12]]
    assert noticed(theirs, "cut off") > 0


@pytest.mark.usefixtures("_early")
def test_a_near_tie_is_decided_by_pytorch_and_counted_where_ctranslate2_differs(
    made: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(made("bart"), engine="ctranslate", max_length="12")
    decoder: Any = model._decoder
    sources = [source for source in tiny_seq2seq.sources(30, seed=33) if len(source.split()) > 10]
    sequences = model._words.read(sources)
    plain = decoder.write(sequences, [12] * len(sources))
    assert not any(written.tied or written.doubtful for written in plain)

    def told(margin: float, other: bool) -> list[Written]:
        """What is written where a rival of the first token is said to be so near, to be CTranslate2's choice or not."""

        def ahead(_: Any, __: Any, ___: Any, near: float) -> list[Checked]:
            answers = [[*written.tokens, *([2] if written.ended else [])] for written in plain]
            # CTranslate2 prefers the token that it wrote: here it is the answer's or the rival's.
            return [
                Checked([501, *tokens[1:]], [Rival(0, tokens[0], margin)])
                if other
                else Checked(tokens, [Rival(0, 501, margin)])
                for tokens in answers
            ]

        monkeypatch.setattr(decoder._plainly, "ahead", ahead)
        monkeypatch.setattr(decoder._plainly, "settle", lambda rows, *_: [Written((50,), ended=True) for _ in rows])
        found: list[Written] = decoder.write(sequences, [12] * len(sources))
        return found

    agreed = told(5e-5, other=False)
    assert agreed == plain
    doubtful = told(5e-6, other=False)
    assert all(written.doubtful and not written.tied for written in doubtful)
    differing = told(5e-5, other=True)
    assert all(written.tied and written.tokens[0] == 501 for written in differing)
