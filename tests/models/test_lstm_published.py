"""The protocol of Gulordava et al. (2018): the state runs over the `.text` file, from zeros on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from reference import reference
from wug.errors import ModelError
from wug.families import pairs
from wug.models import lstm
from wug.models.spec import ModelSpec
from wug.outcomes import Outcome
from wug.requests import Request

WORDS = "<unk> <eos> the a boy girls swim swims swam that near , . The is are".split()
HEADER = "pattern\tconstr_id\tsent_id\tcorrect_number\tform\tclass\ttype\tlen_prefix\tsent"


class Cells:
    """A word LSTM of two layers, one word at a time by torch.nn.LSTMCell."""

    def __init__(self, words: Sequence[str], seed: int = 1) -> None:
        torch.manual_seed(seed)
        self.index = {word: number for number, word in enumerate(words)}
        self.encoder = torch.nn.Embedding(len(words), 6)
        self.cells = [torch.nn.LSTMCell(6, 9), torch.nn.LSTMCell(9, 9)]
        self.decoder = torch.nn.Linear(9, len(words))

    def save(self, folder: Path) -> Path:
        """The weights under the names of torch.nn.LSTM."""
        state = {"encoder.weight": self.encoder.weight, "decoder.weight": self.decoder.weight}
        state["decoder.bias"] = self.decoder.bias
        for layer, cell in enumerate(self.cells):
            state |= {f"rnn.{name}_l{layer}": value for name, value in cell.named_parameters()}
        torch.save({name: value.detach() for name, value in state.items()}, folder / "model.pt")
        (folder / "vocab.txt").write_text("\n".join(self.index) + "\n", encoding="utf-8")
        return folder / "model.pt"

    def shares(self, words: Sequence[str]) -> list[Any]:
        """The log-probabilities of all words before each word of a stream, from zeros on; None before the first."""
        states = [(torch.zeros(1, 9), torch.zeros(1, 9)) for _ in self.cells]
        found: list[Any] = [None]
        with torch.no_grad():
            for word in words[:-1]:
                value = self.encoder(torch.tensor([self.number(word)]))
                for layer, cell in enumerate(self.cells):
                    states[layer] = cell(value, states[layer])
                    value = states[layer][0]
                found.append(self.decoder(value).log_softmax(dim=1)[0])
        return found

    def number(self, word: str) -> int:
        return self.index.get(word, self.index["<unk>"])


def published(cells: Cells, lines: Sequence[str], targets: Sequence[tuple[int, str, str]]) -> list[list[float | None]]:
    """For each line, the log-probabilities of two forms at its target, as the published evaluation finds them:

    all words of the file are one stream, and a mask says which of them are targets.
    """
    stream = [word for line in lines for word in line.split()]
    before = cells.shares(stream)
    found: list[list[float | None]] = []
    first = 0
    for line, (place, *forms) in zip(lines, targets, strict=True):
        share = before[first + place]
        found.append([None if share is None else share[cells.number(form)].item() for form in forms])
        first += len(line.split())
    return found


def load(path: Path, **options: str) -> lstm.WordLSTM:
    given = {"vocab": str(path.parent / "vocab.txt"), "device": "cpu", "state": "published", **options}
    return lstm.load(ModelSpec("lstm", str(path), options=given))


def made(folder: Path, count: int, seed: int) -> tuple[Path, list[str], list[tuple[int, str, str]]]:
    """A table of pairs with its text; a third word may be in the position of the target."""
    draw = random.Random(seed)
    rows, lines, targets = [HEADER], [], []
    for number in range(count):
        words = [draw.choice([*WORDS[2:], "wug"]) for _ in range(draw.randint(2, 9))]
        place = draw.randrange(len(words))
        good, bad = draw.sample(["swim", "swims", "is", "are"], 2)
        words[place] = draw.choice([good, bad, "swam", "wug"])
        lines.append(" ".join([*words, "<eos>"]))
        targets.append((place, good, bad))
        for form, kind in ((good, "correct"), (bad, "wrong")):
            rows.append(f"p\t{number}\t0\tsing\t{form}\t{kind}\toriginal\t{place}\t{lines[-1]}")
    (folder / "made.tab").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "made.text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "made.tab", lines, targets


def judged(table: Path, model: lstm.WordLSTM, limit: int | None = None) -> dict[str, Outcome]:
    (suite,) = pairs.read(table, {"target": "word"})
    rows = (suite if limit is None else suite.sample(limit)).run(model)
    return {row.item: row for row in rows if isinstance(row, Outcome)}


def values(outcome: Outcome) -> list[float | None]:
    return [outcome.detail.get("logprob_good"), outcome.detail.get("logprob_bad")]


@pytest.mark.parametrize("seed", range(5))
def test_the_state_runs_over_the_text_beside_the_table(tmp_path: Path, seed: int) -> None:
    cells = Cells(WORDS, seed)
    table, lines, targets = made(tmp_path, 40, seed)
    found = judged(table, load(cells.save(tmp_path)))
    for expected, outcome in zip(published(cells, lines, targets), found.values(), strict=True):
        assert values(outcome) == pytest.approx(expected, abs=1e-5)


def test_a_sample_has_the_numbers_of_the_whole(tmp_path: Path) -> None:
    cells = Cells(WORDS)
    table, _, _ = made(tmp_path, 30, 7)
    model = load(cells.save(tmp_path))
    whole, some = judged(table, model), judged(table, model, 4)
    assert len(some) == 4
    for item, outcome in some.items():
        assert values(outcome) == pytest.approx(values(whole[item]), abs=1e-5)


def test_lines_without_a_pair_are_read_all_the_same(tmp_path: Path) -> None:
    cells = Cells(WORDS)
    table, lines, targets = made(tmp_path, 6, 3)
    longer = ["The girls swim . <eos>", *lines[:3], "", "a boy swims <eos>", *lines[3:], "the <eos>"]
    (tmp_path / "made.text").write_text("\n".join(longer) + "\n", encoding="utf-8")
    found = judged(table, load(cells.save(tmp_path)))
    all_targets = [(0, "a", "a"), *targets[:3], (0, "a", "a"), (0, "a", "a"), *targets[3:], (0, "a", "a")]
    expected = published(cells, longer, all_targets)
    kept = [*expected[1:4], *expected[6:9]]
    assert [values(outcome) for outcome in found.values()] == [pytest.approx(two, abs=1e-5) for two in kept]


def test_the_first_word_of_the_text_has_no_probability(tmp_path: Path) -> None:
    text = "swims the boy <eos>"
    rows = [
        f"p\t0\t0\tsing\t{form}\t{kind}\toriginal\t0\t{text}"
        for form, kind in (("swims", "correct"), ("swim", "wrong"))
    ]
    (tmp_path / "made.tab").write_text("\n".join([HEADER, *rows]), encoding="utf-8")
    (tmp_path / "made.text").write_text(f"{text}\n", encoding="utf-8")
    (outcome,) = judged(tmp_path / "made.tab", load(Cells(WORDS).save(tmp_path))).values()
    assert (outcome.value, outcome.detail["why"]) == (None, "the model gives no log-probability for one of the targets")


def test_line_aligned_files_go_on_from_their_own_text(tmp_path: Path) -> None:
    cells = Cells(WORDS)
    lines = ["the boy swam near the girls <eos>", "a girls swim . <eos>"]
    (tmp_path / "x.text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "x.gold").write_text("2\tswims\tswim\t0\n2\tswim\tswims\t0\n", encoding="utf-8")
    found = judged(tmp_path / "x.text", load(cells.save(tmp_path)))
    expected = published(cells, lines, [(2, "swims", "swim"), (2, "swim", "swims")])
    assert [values(outcome) for outcome in found.values()] == [pytest.approx(two, abs=1e-5) for two in expected]


def test_what_has_no_place_in_a_text_is_refused(tmp_path: Path) -> None:
    model = load(Cells(WORDS).save(tmp_path))
    with pytest.raises(ModelError, match=r"state=published continues from the sentences of the .text file"):
        model.score([Request("the boy swims")])
    table, _, _ = made(tmp_path, 3, 0)
    (tmp_path / "made.text").unlink()
    with pytest.raises(ModelError, match=r"'.+' is not in such a file"):
        judged(table, model)


def test_a_text_that_does_not_fit_is_found_by_check_and_refused(tmp_path: Path) -> None:
    table, lines, _ = made(tmp_path, 3, 0)
    (tmp_path / "made.text").write_text("\n".join([lines[0], lines[2], lines[1]]), encoding="utf-8")
    (problem,) = [problem for problem in pairs.check(table, {}) if "made.text" in problem.message]
    assert (problem.level, problem.place) == ("warning", "pair p/2/0")
    assert problem.message.endswith("after line 3")
    with pytest.raises(ModelError, match="`wug check` reports if it does not fit"):
        judged(table, load(Cells(WORDS).save(tmp_path)))


def test_the_published_files_are_read_in_step(tmp_path: Path) -> None:
    table = reference("pairs/gulordava_en/generated.tab")
    lines = table.with_suffix(".text").read_text(encoding="utf-8").splitlines()
    gold = [line.split("\t") for line in table.with_suffix(".gold").read_text(encoding="utf-8").splitlines()]
    targets = [(int(row[3]), row[6], row[7]) for row in gold]
    words = dict.fromkeys(["<unk>", "<eos>", *(w for row in targets for w in row[1:]), *lines[0].split()])
    cells = Cells(list(words))
    found = list(judged(table, load(cells.save(tmp_path))).values())
    expected = published(cells, lines, targets)
    assert len(found) == len(expected) == 410
    assert [outcome.item.split("/")[1:] for outcome in found] == [row[1:3] for row in gold]
    for outcome, both in zip(found, expected, strict=True):
        assert values(outcome) == pytest.approx(both, abs=1e-5)
