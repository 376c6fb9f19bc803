"""Word LSTMs score as torch's own modules do, from a fresh state or a carried one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from case_selection import examples
from reference import reference
from wug.errors import InputError, ModelError, UnknownName
from wug.families import pairs
from wug.models import lstm
from wug.models.lstm import network as _lstm_network
from wug.models.lstm.network import levels
from wug.models.spec import ModelSpec, parse
from wug.models.tokenization.ragged import Ragged
from wug.outcomes import Outcome
from wug.requests import Request, Scored, TextPosition, TextScoring

WORDS = "<unk> <eos> the a boy girls swim swims that near , . The".split()
END = WORDS.index("<eos>")


class Plain:
    """The model by torch's modules alone: one sequence at a time."""

    def __init__(self, *, hidden: int = 7, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.encoder = torch.nn.Embedding(len(WORDS), 5)
        self.rnn = torch.nn.LSTM(5, hidden, 2)
        self.decoder = torch.nn.Linear(hidden, len(WORDS))

    def save(self, folder: Path) -> Path:
        parts = {"encoder": self.encoder, "rnn": self.rnn, "decoder": self.decoder}
        state = {f"{part}.{name}": v for part, module in parts.items() for name, v in module.state_dict().items()}
        torch.save(state, folder / "model.pt")
        (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
        return folder / "model.pt"

    def logprobs(self, words: Sequence[str], state: Any = None) -> tuple[list[float], Any]:
        """Of every word but the first; and the state after the last but one."""
        ids = [WORDS.index(word if word in WORDS else "<unk>") for word in words]
        with torch.no_grad():
            outputs, state = self.rnn(self.encoder(torch.tensor(ids[:-1]).reshape(-1, 1)), state)
            shares = self.decoder(outputs[:, 0]).log_softmax(dim=1)
        return [shares[place, number].item() for place, number in enumerate(ids[1:])], state

    def fresh(self, text: str) -> list[float]:
        return self.logprobs(["<eos>", *text.split()])[0] if text.split() else []


@pytest.fixture(scope="module")
def plain() -> Plain:
    return Plain()


@pytest.fixture(scope="module")
def saved(plain: Plain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plain.save(tmp_path_factory.mktemp("lstm"))


@pytest.fixture(scope="module")
def fresh(saved: Path) -> lstm.WordLSTM:
    return load(saved)


@pytest.fixture(scope="module")
def carrying(saved: Path) -> lstm.WordLSTM:
    return load(saved, state="carry", eos="yes")


def load(path: Path, **options: str) -> lstm.WordLSTM:
    given = {"vocab": str(path.parent / "vocab.txt"), "device": "cpu", **options}
    return lstm.load(ModelSpec("lstm", str(path), options=given))


def score(model: lstm.WordLSTM, *texts: str) -> list[Scored]:
    return list(model.score([Request(text) for text in texts]))


def near(expected: Sequence[float]) -> Any:
    return pytest.approx(expected, abs=1e-5)


texts = st.lists(st.sampled_from([*WORDS, "wug"]), max_size=9).map(" ".join)


@settings(max_examples=examples(40), deadline=None)
@given(some=st.lists(texts, max_size=15), rows=st.sampled_from([1, 5, 1000]))
def test_a_fresh_state_gives_torchs_numbers_whatever_the_batch(
    plain: Plain, fresh: lstm.WordLSTM, some: list[str], rows: int
) -> None:
    fresh._network.rows = rows
    for text, scored in zip(some, score(fresh, *some), strict=True):
        assert scored.text == text
        assert list(scored.logprobs) == near(plain.fresh(text))


def test_more_texts_than_a_tree_takes_are_split(plain: Plain, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lstm, "TEXTS_PER_TREE", 3)
    draw = random.Random(1)
    some = [" ".join(draw.choices(WORDS, k=draw.randint(0, 6))) for _ in range(20)]
    for text, scored in zip(some, score(load(saved), *some), strict=True):
        assert list(scored.logprobs) == near(plain.fresh(text))


def test_each_distinct_beginning_is_one_node() -> None:
    # <eos> the boy swims / <eos> the boy swim / <eos> the girls: the nodes are <eos>, the, boy
    sequences = Ragged.of([[1, 2, 4, 7], [1, 2, 4, 6], [1, 2, 5]])
    found = list(levels(sequences, len(WORDS)))
    assert [level.tokens.tolist() for level in found] == [[1], [2], [4]]
    assert [level.parents.tolist() for level in found] == [[0], [0], [0]]
    assert [level.targets.tolist() for level in found] == [[2, 2, 2], [4, 4, 5], [7, 6]]
    assert [level.where.tolist() for level in found] == [[1, 5, 9], [2, 6, 10], [3, 7]]
    assert [level.nodes.tolist() for level in found] == [[0, 0, 0], [0, 0, 0], [0, 0]]


def test_the_same_word_behind_different_words_is_different_nodes() -> None:
    found = list(levels(Ragged.of([[1, 2, 4, 7], [1, 3, 4, 6]]), len(WORDS)))
    assert [level.tokens.tolist() for level in found] == [[1], [2, 3], [4, 4]]
    assert [level.parents.tolist() for level in found] == [[0], [0, 0], [0, 1]]


def test_the_output_layer_runs_in_slices(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_lstm_network.MAX_LOGITS, "cpu", 3 * len(WORDS))
    assert load(saved)._network.rows == 3


def test_unknown_words_are_named(saved: Path) -> None:
    known, unknown, written = score(load(saved), "the boy swims", "the wug swims", "the <unk>")
    assert known.token_names is None
    assert unknown.token_names == ("the", "<unk>", "swims")
    assert written.token_names == ("the", "<unk>")


def test_words_have_their_places(saved: Path) -> None:
    (scored,) = score(load(saved), " the  boy\tswims ")
    assert (scored.starts, scored.ends) == ((1, 6, 10), (4, 9, 15))


def test_the_end_is_scored_on_request(plain: Plain, saved: Path) -> None:
    scored, empty = score(load(saved, eos="yes"), "the boy ", "")
    assert list(scored.logprobs) == near(plain.fresh("the boy <eos>"))
    assert (scored.starts[-1], scored.ends[-1]) == (8, 8)
    assert scored.token_names == ("the", "boy", "<eos>")
    assert list(empty.logprobs) == near(plain.fresh("<eos>"))


@pytest.mark.parametrize("eos", ["yes", "no"])
def test_a_written_end_is_a_word_and_is_not_doubled(plain: Plain, saved: Path, eos: str) -> None:
    (scored,) = score(load(saved, eos=eos), "the boy <eos>")
    assert list(scored.logprobs) == near(plain.fresh("the boy <eos>"))
    assert scored.starts == (0, 4, 8)


def test_lower_case_is_looked_up_on_request(plain: Plain, saved: Path) -> None:
    cased, lowered = score(load(saved), "The Boy")[0], score(load(saved, lowercase="yes"), "The Boy")[0]
    assert list(cased.logprobs) == near(plain.fresh("The <unk>"))
    assert list(lowered.logprobs) == near(plain.fresh("the boy"))
    assert lowered.token_names == ("the", "boy")


def test_words_after_the_span_are_not_scored(plain: Plain, saved: Path) -> None:
    (scored,) = load(saved, eos="yes").score([Request("the boy swims .", (4, 7))])
    assert scored.starts == (0, 4)
    assert list(scored.logprobs) == near(plain.fresh("the boy"))


def test_an_empty_list_has_no_answers(saved: Path) -> None:
    assert load(saved).score([]) == []
    assert load(saved, state="carry").score([]) == []


@settings(max_examples=examples(30), deadline=None)
@given(some=st.lists(texts, max_size=8), rows=st.sampled_from([1, 3, 1000]))
def test_a_carried_state_runs_over_the_whole_list(
    plain: Plain, carrying: lstm.WordLSTM, some: list[str], rows: int
) -> None:
    carrying._network.rows = rows
    stream = ["<eos>"]
    for text in some:
        stream += text.split() if text.split()[-1:] == ["<eos>"] else [*text.split(), "<eos>"]
    expected = plain.logprobs(stream)[0] if some else []
    found = [value for scored in score(carrying, *some) for value in scored.logprobs]
    assert found == near(expected)


def test_without_the_end_mark_it_is_still_read_between_texts(plain: Plain, saved: Path) -> None:
    one, other = score(load(saved, state="carry"), "the boy", "a")
    expected = plain.logprobs(["<eos>", "the", "boy", "<eos>", "a"])[0]
    assert [*one.logprobs, *other.logprobs] == near([*expected[:2], expected[3]])


def test_each_call_begins_anew(saved: Path) -> None:
    model = load(saved, state="carry")
    assert score(model, "the boy swims") == score(model, "the boy swims")
    assert model.ordered
    assert model.chunk > 10**9
    assert not load(saved).ordered


def test_alternatives_start_from_the_same_state_and_the_first_is_continued(plain: Plain, saved: Path) -> None:
    model = load(saved, state="carry")
    before = ["<eos>", "a", "girls", "swim", "<eos>", "the", "boy"]
    answers = model.score(
        [
            Request("a girls swim"),
            Request("the boy swims near .", (8, 13), TextPosition(0)),
            Request("the boy swim near .", (8, 12), TextPosition(0)),
            Request("the girls ."),
        ]
    )
    good, bad = plain.logprobs([*before, "swims"])[0], plain.logprobs([*before, "swim"])[0]
    assert list(answers[1].logprobs) == near(good[-3:])
    assert list(answers[2].logprobs) == near(bad[-3:])
    after = plain.logprobs([*before, "swims", "near", ".", "<eos>", "the", "girls", "."])[0]
    assert list(answers[3].logprobs) == near(after[-3:])


def test_alternatives_of_several_words_are_read_from_where_they_part(plain: Plain, saved: Path) -> None:
    model = load(saved, state="carry")
    turn = TextPosition(0)
    answers = model.score([Request("the boy swims", (4, 7), turn), Request("the girls near swims", (4, 14), turn)])
    assert list(answers[0].logprobs) == near(plain.logprobs(["<eos>", "the", "boy"])[0])
    assert list(answers[1].logprobs) == near(plain.logprobs(["<eos>", "the", "girls", "near"])[0])


def test_alternatives_are_read_from_where_they_part_even_before_the_span(plain: Plain, saved: Path) -> None:
    turn = TextPosition(0)
    model = load(saved, state="carry")
    answers = model.score([Request("the boy", (4, 7), turn), Request("a boy", (2, 5), turn), Request("a")])
    assert list(answers[1].logprobs) == near(plain.fresh("a boy"))
    assert list(answers[2].logprobs) == near(plain.logprobs("<eos> the boy <eos> a".split())[0][-1:])


@pytest.mark.parametrize("turns", [(None, None), (TextPosition(0), TextPosition(1)), (None, TextPosition(0))])
def test_requests_of_different_turns_are_no_alternatives(
    plain: Plain, saved: Path, turns: tuple[TextPosition | None, TextPosition | None]
) -> None:
    requests = [Request("the boy", (4, 7), turns[0]), Request("the girls", (4, 9), turns[1])]
    answers = load(saved, state="carry").score(requests)
    expected = plain.logprobs("<eos> the boy <eos> the girls".split())[0]
    assert list(answers[1].logprobs) == near(expected[-2:])


def test_whole_texts_are_no_alternatives(plain: Plain, saved: Path) -> None:
    answers = score(load(saved, state="carry"), "the boy", "the boy")
    expected = plain.logprobs(["<eos>", "the", "boy", "<eos>", "the", "boy"])[0]
    assert [list(scored.logprobs) for scored in answers] == [near(expected[:2]), near(expected[3:])]


def test_a_span_inside_a_word_counts_the_word_with_the_alternatives(plain: Plain, saved: Path) -> None:
    answers = load(saved, state="carry").score(
        [Request("a swims", (6, 7), TextPosition(0)), Request("a swim", (6, 6), TextPosition(0))]
    )
    assert list(answers[0].logprobs) == near(plain.fresh("a swims"))
    assert list(answers[1].logprobs) == near(plain.fresh("a swim"))


def test_a_pairs_suite_runs_with_a_carried_state(plain: Plain, saved: Path, tmp_path: Path) -> None:
    table = tmp_path / "pairs.tab"
    table.write_text(
        "pattern\tform\tform_alt\tsent\tlen_prefix\n"
        "simple\tswims\tswim\tthe boy swims . <eos>\t2\n"
        "simple\tswim\tswims\tthe girls swim . <eos>\t2\n",
        encoding="utf-8",
    )
    (suite,) = pairs.read(table, {"target": "word"})
    rows = [row for row in suite.run(load(saved, state="carry")) if getattr(row, "detail", None)]
    stream = "<eos> the boy swims . <eos> the girls".split()
    good, bad = (plain.logprobs([*stream, word])[0][-1] for word in ("swim", "swims"))
    detail: Any = rows[1].detail  # type: ignore[union-attr]
    assert [detail["logprob_good"], detail["logprob_bad"]] == near([good, bad])


@pytest.mark.parametrize("mask_target", ["yes", "no"])
def test_neighbouring_pairs_that_begin_alike_are_turns_of_their_own(
    plain: Plain, saved: Path, tmp_path: Path, mask_target: str
) -> None:
    rows = [
        ("swims", "swim", "the boy swims near a girls"),
        ("near", "that", "the boy near"),
        ("a", ",", "the boy a ."),
    ]
    table = tmp_path / "pairs.tab"
    lines = [f"p\t{good}\t{bad}\t{sentence} <eos>\t2" for good, bad, sentence in rows]
    table.write_text("\n".join(["pattern\tform\tform_alt\tsent\tlen_prefix", *lines]), encoding="utf-8")
    (suite,) = pairs.read(table, {"target": "word", "mask_target": mask_target})
    outcomes = [row for row in suite.run(load(saved, state="carry")) if isinstance(row, Outcome)]
    stream = ["<eos>"]
    for (good, bad, sentence), outcome in zip(rows, outcomes, strict=True):
        expected = [plain.logprobs([*stream, "the", "boy", form])[0][-1] for form in (good, bad)]
        assert [outcome.detail["logprob_good"], outcome.detail["logprob_bad"]] == near(expected)
        stream += [*sentence.split(), "<eos>"]


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_other_precisions_are_close_and_in_the_options(plain: Plain, saved: Path, dtype: str) -> None:
    model = load(saved, dtype=dtype)
    (scored,) = score(model, "the boy swims near a girls .")
    tolerance = 1e-5 if dtype == "float64" else 0.05
    assert list(scored.logprobs) == pytest.approx(plain.fresh("the boy swims near a girls ."), abs=tolerance)
    assert model.options == {"dtype": dtype, "state": "fresh", "eos": "no"}


def test_every_option_that_changes_an_output_is_among_the_options(saved: Path) -> None:
    model = load(saved, state="carry", eos="yes", lowercase="yes")
    assert model.options == {"dtype": "float32", "state": "carry", "eos": "yes", "lowercase": "yes"}


def test_the_id_changes_with_the_weights_and_with_the_words(tmp_path: Path) -> None:
    ids = [load(Plain(seed=seed).save(tmp_path)).id for seed in (0, 0, 1)]
    assert ids[0].startswith("lstm/model.pt@")
    assert ids[0] == ids[1] != ids[2]
    (tmp_path / "vocab.txt").write_text("\n".join([*WORDS[:-1], "An"]), encoding="utf-8")
    assert load(tmp_path / "model.pt").id not in ids


def test_a_path_may_contain_an_at_sign(plain: Plain, tmp_path: Path) -> None:
    folder = tmp_path / "me@home"
    folder.mkdir()
    path = plain.save(folder)
    spec = parse(f"lstm:{path}?vocab={folder / 'vocab.txt'}&device=cpu", ["lstm"])
    assert score(lstm.load(spec), "the boy") == score(load(path), "the boy")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (WORDS[:-1], r"13 words and .*vocab\.txt has 12"),
        ([*WORDS[:-1], "boy"], r"line 13: 'boy' is there already, in line 5"),
        ([*WORDS[:-2], "", "The"], r"line 12: is empty"),
        ([*WORDS[:-1], "The boy"], r"line 13: expected one word, found 'The boy'"),
        ([word.replace("eos", "end") for word in WORDS], r"has no <eos>"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_refused(
    plain: Plain, tmp_path: Path, words: list[str], message: str
) -> None:
    path = plain.save(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    with pytest.raises((InputError, ModelError), match=message):
        load(path)


def test_empty_lines_at_the_end_of_a_vocabulary_do_not_count(plain: Plain, tmp_path: Path) -> None:
    path = plain.save(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\r\n\n\n", encoding="utf-8")
    assert score(load(path), "the boy")[0].token_names is None


def test_without_unk_an_unknown_word_is_an_error_that_quotes_it(plain: Plain, tmp_path: Path) -> None:
    path = plain.save(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(["An", *WORDS[1:]]), encoding="utf-8")
    with pytest.raises(ModelError, match=r"'wug' is not in the vocabulary.*'the wug'"):
        score(load(path), "the wug")


def test_the_published_vocabulary_is_read() -> None:
    vocabulary = lstm.read_vocabulary(reference("pairs/grnn/vocab.txt.gz"))
    assert len(vocabulary.names) == 50_001
    assert (vocabulary.end, vocabulary.unknown) == (19, 62)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state": "carried"}, "state=carried: use one of fresh, carry, published"),
        ({"dtype": "int8"}, "dtype=int8: use one of"),
        ({"eos": "maybe"}, "write yes or no"),
        ({"device": "abacus"}, "device abacus: unknown"),
        ({"vocab": "/nowhere/vocab.txt"}, "no such file"),
    ],
)
def test_a_wrong_option_is_refused(saved: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises((InputError, ModelError), match=message):
        load(saved, **options)


def test_the_vocabulary_must_be_named(saved: Path) -> None:
    with pytest.raises(InputError, match="needs its vocabulary"):
        lstm.load(ModelSpec("lstm", str(saved)))
    with pytest.raises(UnknownName, match="Did you mean 'vocab'"):
        lstm.load(ModelSpec("lstm", str(saved), options={"vocabulary": "x"}))


def test_weights_that_are_no_numbers_are_an_error(tmp_path: Path) -> None:
    damaged = Plain()
    damaged.decoder.bias.data[3] = np.nan
    with pytest.raises(ModelError, match="NaN"):
        score(load(damaged.save(tmp_path)), "the boy")


@pytest.mark.parametrize("state", ["fresh", "carry"])
def test_entropy_and_rank_are_those_of_torchs_own_distribution(plain: Plain, saved: Path, state: str) -> None:
    texts = ["the boy swims .", "the boy swims", "the wug swims near the girls", "a", ". . ."]
    scoring = TextScoring(distribution=True)
    requests = [Request(text, scoring=scoring) for text in texts]
    answers = load(saved, state=state).score([*requests, Request("the boy")])
    before: list[int] = []
    for text, scored in zip(texts, answers, strict=False):
        ids = [WORDS.index(word if word in WORDS else "<unk>") for word in text.split()]
        before = [*(before if state == "carry" else []), END]
        with torch.no_grad():
            outputs, _ = plain.rnn(plain.encoder(torch.tensor([*before, *ids]).reshape(-1, 1)))
            shares = plain.decoder(outputs[len(before) - 1 : -1, 0]).double().softmax(dim=1)
        assert scored.entropies == pytest.approx((-(shares * shares.log()).sum(dim=1)).tolist(), abs=1e-5)
        assert scored.ranks == tuple(int((row > row[word]).sum()) + 1 for row, word in zip(shares, ids, strict=True))
        before += ids
    assert answers[-1].entropies is None  # it did not ask for any
    assert answers[0].logprobs == pytest.approx(load(saved, state=state).score([Request(texts[0])])[0].logprobs)


def test_words_of_equal_probability_share_the_best_rank(tmp_path: Path) -> None:
    even = Plain()
    with torch.no_grad():
        even.decoder.weight.zero_()
        even.decoder.bias.zero_()
        even.decoder.bias[WORDS.index("boy")] = 1.0
    model = load(even.save(tmp_path))
    (scored,) = model.score([Request("the boy swims", scoring=TextScoring(distribution=True))])
    assert scored.ranks == (2, 1, 2)
    assert scored.entropies is not None
    n, e = len(WORDS) - 1, np.e  # n words of 1 / (n + e), and one of e / (n + e)
    assert scored.entropies == pytest.approx([np.log(n + e) - e / (n + e)] * 3, abs=1e-6)
