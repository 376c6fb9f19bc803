"""Surprisals word by word: against plain transformers, over tokenizers, units, windows and kinds of input."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from fake_models import FakeGenerator, FakeScorer, letter_scores, text_scores
from reference import reference
from tokenizers_of_all_kinds import KINDS
from wug.errors import InputError, ModelError, UnknownName
from wug.evaluation.cache import Cache
from wug.models import ModelSpec, causal
from wug.requests import Scored
from wug.texts import Text, surprisal

Maker = Callable[..., Path]
COLUMNS = "model text_id sentence_id word_id word start end surprisal entropy rank tokens unknown".split()


def load(folder: Path, **options: str) -> causal.CausalModel:
    return causal.load(ModelSpec("causal", str(folder), options={"device": "cpu", **options}))


@pytest.fixture(scope="module")
def model(tiny_causal: Maker) -> causal.CausalModel:
    return load(tiny_causal())


def scripted(name: str = "one", bits: float = 1.0, **options: str) -> FakeScorer:
    """Every word is a token, with a number of bits per letter."""
    return FakeScorer(letter_scores(bits * math.log(2)), f"scripted/{name}", options)


def plain(folder: Path, text: str) -> Iterator[dict[str, Any]]:
    """Surprisal, entropy, and bounds of the rank of every word between spaces, by transformers alone."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForCausalLM.from_pretrained(folder).eval().double()
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = encoded["input_ids"]
    with torch.inference_mode():
        logits = network(input_ids=torch.tensor([[tokenizer.bos_token_id, *ids]])).logits[0, :-1]
    logs = torch.log_softmax(logits, dim=-1) / math.log(2)
    for found in re.finditer(r"\S+", text):
        # A token belongs to the word of its first character that is not a space.
        inside = [
            place
            for place, (start, end) in enumerate(encoded["offset_mapping"])
            if found.start() <= start + len(text[start:end]) - len(text[start:end].lstrip()) < found.end()
        ]
        row: dict[str, Any] = {"word": found[0], "tokens": len(inside)}
        if inside:
            first = logs[inside[0]]
            own = first[ids[inside[0]]]
            row["surprisal"] = -sum(float(logs[place, ids[place]]) for place in inside)
            row["entropy"] = -float((first.exp2() * first).sum())
            row["ranks"] = (int((first > own + 1e-4).sum()) + 1, int((first > own - 1e-4).sum()))
        yield row


def published_sentences(count: int) -> list[str]:
    """Sentences of BLiMP and of SyntaxGym, spread evenly over both."""
    import gzip

    blimp = []
    for path in sorted(reference("pairs/blimp").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line, _ in zip(lines, range(40), strict=False)]
        blimp += [row[key] for row in rows for key in ("sentence_good", "sentence_bad")]
    gym = []
    for path in sorted(reference("syntaxgym/suites").glob("*.json")):
        for item in json.loads(path.read_text(encoding="utf-8"))["items"]:
            for condition in item["conditions"]:
                gym.append(" ".join(r["content"].strip() for r in condition["regions"] if r["content"].strip()))
    half = count // 2
    return blimp[:: len(blimp) // half][:half] + gym[:: len(gym) // half][:half]


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_those_of_plain_transformers_with_every_kind_of_tokenizer(kind: str, tmp_path: Path) -> None:
    folder = tiny.save_causal(tmp_path / "model", tokenizer=KINDS[kind](tiny.sentences(500)))
    texts = [*tiny.sentences(12, seed=4), "The wug's “naïve” café — blicked 3.14 times!", "日本語 と 中文 🙂 ok"]
    table = surprisal(texts, load(folder))
    assert table.names == COLUMNS
    rows = table.rows()
    for number, text in enumerate(texts, 1):
        for place, expected in enumerate(plain(folder, text), 1):
            row = next(rows)
            assert (row["text_id"], row["word_id"], row["word"]) == (number, place, expected["word"])
            assert text[row["start"] : row["end"]] == row["word"]
            assert row["tokens"] == expected["tokens"]
            assert row["surprisal"] == pytest.approx(expected.get("surprisal"), abs=1e-4)
            assert row["entropy"] == pytest.approx(expected.get("entropy"), abs=1e-4)
            if row["tokens"]:
                assert expected["ranks"][0] <= row["rank"] <= expected["ranks"][1]
    assert next(rows, None) is None


def test_a_thousand_published_sentences_are_those_of_plain_transformers(tmp_path: Path) -> None:
    texts = published_sentences(1000)
    folder = tiny.save_causal(tmp_path / "model", tokenizer=KINDS["byte-level BPE"](texts))
    table = surprisal(texts, load(folder))
    assert table["text_id"][-1] == len(texts) == 1000
    by_text: dict[int, list[dict[str, Any]]] = {}
    for row in table.rows():
        by_text.setdefault(row["text_id"], []).append(row)
    for number in range(1, 1001, 20):
        for row, expected in zip(by_text[number], plain(folder, texts[number - 1]), strict=True):
            assert row["surprisal"] == pytest.approx(expected["surprisal"], abs=1e-4)
            assert row["entropy"] == pytest.approx(expected["entropy"], abs=1e-4)
    assert [" ".join(row["word"] for row in by_text[number]) for number in range(1, 1001)] == [
        " ".join(text.split()) for text in texts
    ]


def test_one_string_is_one_text_and_rows_have_known_values() -> None:
    table = surprisal("Dr. Wug ran. He fell.", scripted(), entropy=False)
    assert table.to_dicts() == [
        {"model": "scripted/one", "text_id": 1, "sentence_id": s, "word_id": n, "word": w, "start": a, "end": b,
         "surprisal": bits, "tokens": 1, "unknown": False}
        for s, n, w, a, b, bits in [
            (1, 1, "Dr.", 0, 3, 3.0), (1, 2, "Wug", 4, 7, 3.0), (1, 3, "ran.", 8, 12, 4.0),
            (2, 4, "He", 13, 15, 2.0), (2, 5, "fell.", 16, 21, 5.0),
        ]
    ]  # fmt: skip


def test_sentences_and_tokens_are_units_too() -> None:
    text = "One two. Three four five."
    table = surprisal([text, "Six."], scripted(), "sentence", entropy=False)
    assert [(r["text_id"], r["sentence"], r["surprisal"], r["words"], r["tokens"]) for r in table.rows()] == [
        (1, "One two.", 7.0, 2, 2),
        (1, "Three four five.", 14.0, 3, 3),
        (2, "Six.", 4.0, 1, 1),
    ]
    tokens = surprisal(text, scripted(), "token", entropy=False)
    assert tokens["token"] == text.split()
    assert tokens["word_id"] == tokens["token_id"] == [1, 2, 3, 4, 5]
    assert tokens["sentence_id"] == [1, 1, 2, 2, 2]


def test_tokens_add_up_to_words_and_words_to_sentences(model: causal.CausalModel) -> None:
    texts = ["The wugs blicked. Nobody saw them.", *tiny.sentences(10)]
    words, tokens, whole = (surprisal(texts, model, unit).rows() for unit in ("word", "token", "sentence"))
    sums: dict[tuple[int, int], float] = {}
    for row in tokens:
        key = (row["text_id"], row["word_id"])
        sums[key] = sums.get(key, 0) + row["surprisal"]
    by_sentence: dict[tuple[int, int], float] = {}
    for row in words:
        assert row["surprisal"] == pytest.approx(sums[row["text_id"], row["word_id"]])
        key = (row["text_id"], row["sentence_id"])
        by_sentence[key] = by_sentence.get(key, 0) + row["surprisal"]
    assert {(r["text_id"], r["sentence_id"]): pytest.approx(r["surprisal"]) for r in whole} == by_sentence


def test_regions_are_lists_of_strings_and_an_empty_one_is_worth_nothing() -> None:
    table = surprisal([["The old man", "", "sat ."], ["Go"]], scripted(), "regions", entropy=False)
    assert [(r["text_id"], r["region_id"], r["region"], r["surprisal"], r["tokens"]) for r in table.rows()] == [
        (1, 1, "The old man", 9.0, 3),
        (1, 2, "", 0.0, 0),
        (1, 3, "sat .", 4.0, 2),
        (2, 1, "Go", 2.0, 1),
    ]
    with pytest.raises(InputError, match="text 1: regions are lists of strings"):
        surprisal("The old man", scripted(), "regions")


def test_given_words_of_chinese_and_japanese_are_written_without_spaces(model: causal.CausalModel) -> None:
    table = surprisal([["我", "喜欢", "猫", "。"], ["wugs", "を", "見た"]], model, words="given")
    assert [(r["word"], r["start"], r["end"]) for r in table.rows()] == [
        ("我", 0, 1), ("喜欢", 1, 3), ("猫", 3, 4), ("。", 4, 5),
        ("wugs", 0, 4), ("を", 5, 6), ("見た", 6, 8),
    ]  # fmt: skip
    assert all(count > 0 for count in table["tokens"])


def test_the_tokenizers_own_rule_parts_words(model: causal.CausalModel) -> None:
    table = surprisal("The dog's lamp, near.", model, words="tokenizer")
    assert table["word"] == ["The", "dog", "'s", "lamp", ",", "near", "."]
    total = math.fsum(surprisal("The dog's lamp, near.", model)["surprisal"])
    assert math.fsum(table["surprisal"]) == pytest.approx(total)
    with pytest.raises(ModelError, match="words=space"):
        surprisal("a b", scripted(), words="tokenizer")


def test_a_word_without_a_token_of_its_own_has_no_surprisal_and_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    table = surprisal("New York", FakeScorer(text_scores(lambda text: -1.0)), entropy=False)
    assert table["tokens"] == [1, 0]
    assert table["surprisal"] == [pytest.approx(1 / math.log(2)), None]
    assert "1 word without a surprisal, as no token begins there" in caplog.text


def test_a_first_token_without_a_probability_leaves_its_word_without_one(tiny_causal: Maker) -> None:
    table = surprisal("the boy swims", load(tiny_causal("gpt2", "no_bos")))
    assert [value is None for value in table["surprisal"]] == [True, False, False]
    assert table["rank"][0] is None
    assert table["entropy"][0] is None


def test_unknown_words_are_reported(tiny_causal: Maker) -> None:
    table = surprisal("the boy ☃ swims", load(tiny_causal("gpt2", "metaspace")))
    assert table["unknown"] == [False, False, True, False]


def test_the_end_of_words_beside_the_plain_value(model: causal.CausalModel, tiny_causal: Maker) -> None:
    texts = tiny.sentences(10, seed=9)
    table = surprisal(texts, model, boundary=True)
    assert table.names == [*COLUMNS[:8], "surprisal_boundary", *COLUMNS[8:]]
    expected = surprisal(texts, load(tiny_causal(), boundary="yes"))
    assert table["surprisal_boundary"] == pytest.approx(expected["surprisal"], abs=1e-4)
    assert table["surprisal"] == pytest.approx(surprisal(texts, model)["surprisal"], abs=1e-4)
    with pytest.raises(ModelError, match="leave boundary out"):
        surprisal(texts, scripted(), boundary=True)


def test_a_sentence_alone_is_the_context_where_that_is_asked(model: causal.CausalModel) -> None:
    first, second = "The boy swims.", "What she gave is near."
    together = surprisal(f"{first} {second}", model, context="sentence")
    apart = surprisal([first, second], model)
    assert together["surprisal"] == pytest.approx(apart["surprisal"], abs=1e-4)
    assert together["start"][3] == len(first) + 1
    assert surprisal(f"{first} {second}", model)["surprisal"][3] != pytest.approx(apart["surprisal"][3], abs=1e-3)


def test_a_long_text_has_a_row_for_every_word(model: causal.CausalModel) -> None:
    """5,000 words, a context of 512: words whose window is all before them equal the single pass."""
    words = " ".join(tiny.sentences(1300, seed=11)).split()[:5000]
    table = surprisal(" ".join(words), model)
    assert table["word"] == words
    assert None not in table["surprisal"]
    single = surprisal(" ".join(words[:480]), model)
    assert sum(single["tokens"]) < 511
    assert table["surprisal"][:479] == pytest.approx(single["surprisal"][:479], abs=1e-4)
    assert table["entropy"][:479] == pytest.approx(single["entropy"][:479], abs=1e-4)
    by_window = surprisal(" ".join(words), model, window=512, stride=255)
    assert by_window == table


def test_texts_are_asked_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from wug.texts import surprisals

    monkeypatch.setattr(surprisals, "MAX_GROUP_TEXTS", 3)
    model = scripted()
    drawn: list[int] = []

    def stream() -> Iterator[str]:
        for number in range(8):
            drawn.append(number)
            assert len(model.requests) >= number - 3  # nothing is read ahead but the group at hand
            yield f"text number {number}"

    told: list[tuple[int, int]] = []
    table = surprisal(stream(), model, entropy=False, progress=lambda done, total: told.append((done, total)))
    assert list(map(len, model.batches)) == [3, 3, 2]
    assert table["text_id"] == [number for number in range(1, 9) for _ in range(3)]
    assert told[-1] == (8, 8)


def test_a_cached_table_is_the_same_and_asks_nothing(model: causal.CausalModel, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "answers.db")
    texts = ["the boy ☃ swims", *tiny.sentences(20)]
    try:
        first = surprisal(texts, model, boundary=True, cache=cache)
        kept = {"id": model.id, "options": model.options, "chunk": 5, "ordered": False}
        mute = type("Mute", (), {**kept, "score": lambda self, requests: pytest.fail("asked again")})()
        assert surprisal(texts, mute, boundary=True, cache=cache) == first
    finally:
        cache.close()


def test_what_is_missing_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        table = surprisal(["a b", "c"], scripted())
    assert table["entropy"] == [None] * 3
    assert [record.message for record in caplog.records] == [
        "scripted/one returns neither entropy nor rank: these columns are empty"
    ]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([1.5], "text 1: expected text, found 1.5"),
        (["a", None], "text 2: expected text, found None"),
        ([["a", 3]], "text 1, word 2: expected text, found 3"),
        ({"sentence": ["a"]}, "give the column"),
        (3, "not 3"),
        (b"bytes", "not a bytes"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(texts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        surprisal(texts, scripted())


def test_a_data_frame_is_not_taken_for_its_column_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sentence": ["a b", "c"]})
    with pytest.raises(InputError, match="sentence"):
        surprisal(frame, scripted())
    assert surprisal(frame["sentence"], scripted(), entropy=False)["word"] == ["a", "b", "c"]


@pytest.mark.parametrize("choice", [{"unit": "words"}, {"words": "spaces"}, {"context": "txt"}])
def test_a_choice_that_is_not_known_names_the_nearest(choice: dict[str, Any]) -> None:
    with pytest.raises(UnknownName, match="Did you mean"):
        surprisal("a", scripted(), **choice)
    with pytest.raises(InputError, match="window=0: write"):
        surprisal("a", scripted(), window=0)


def test_texts_without_words_have_no_rows() -> None:
    table = surprisal(["", "  ", "a"], scripted(), entropy=False)
    assert table["text_id"] == [3]
    assert len(surprisal([], scripted(), entropy=False)) == 0


def test_columns_beside_the_texts_are_kept_and_none_takes_the_place_of_ours() -> None:
    texts = [Text("a b", columns={"item": 1, "word": "x"}), Text("c", columns={"item": 2})]
    table = surprisal(texts, scripted(), entropy=False)
    assert table["item"] == [1, 1, 2]
    assert table["given_word"] == ["x", "x", None]
    assert table["word"] == ["a", "b", "c"]


def test_columns_of_a_file_keep_their_order() -> None:
    names = [f"column{number}" for number in range(9, 0, -1)]
    table = surprisal([Text("a b", columns=dict.fromkeys(names, 1))], scripted(), entropy=False)
    assert table.names[-len(names) :] == names


def test_a_model_that_only_writes_is_refused() -> None:
    with pytest.raises(ModelError, match="can only generate"):
        surprisal("a", FakeGenerator(str))


def test_progress_counts_requests_and_never_decreases(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `context="sentence"` a text is several requests: 2 + 1 of the first two texts, then 2 of the third."""
    from wug.texts import surprisals

    monkeypatch.setattr(surprisals, "MAX_GROUP_TEXTS", 2)
    told: list[tuple[int, int]] = []
    texts = ["One two. Three.", "Four.", "Five. Six."]
    surprisal(
        texts, scripted(), context="sentence", entropy=False, progress=lambda done, total: told.append((done, total))
    )
    assert told == sorted(told)
    assert (3, 3) in told
    assert told[-1] == (5, 5)


def test_a_lone_surrogate_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"text 2: 'a \\ud800' contains a lone surrogate"):
        surprisal(["a", "a \ud800"], scripted())
    with pytest.raises(InputError, match="lone surrogate"):
        surprisal([["a", "\udc80"]], scripted())


def test_every_model_has_its_rows_and_a_column_names_it() -> None:
    texts = (text for text in ["Go on.", "Stop."])  # an iterator is read once, for both models
    table = surprisal(texts, [scripted(), scripted("two", 2)], entropy=False)
    assert [(r["model"], r["text_id"], r["word"], r["surprisal"]) for r in table.rows()] == [
        ("scripted/one", 1, "Go", 2.0), ("scripted/one", 1, "on.", 3.0), ("scripted/one", 2, "Stop.", 5.0),
        ("scripted/two", 1, "Go", 4.0), ("scripted/two", 1, "on.", 6.0), ("scripted/two", 2, "Stop.", 10.0),
    ]  # fmt: skip
    assert surprisal("Go", scripted())["model"] == ["scripted/one"]
    with pytest.raises(InputError, match="no model"):
        surprisal("Go", [])


def test_models_with_one_name_are_distinguished_by_options_and_repeats_scored_once() -> None:
    marked = scripted(bits=2, bos="no", dtype="float32")
    unmarked = scripted(bos="yes", dtype="float32")
    table = surprisal("Go", [unmarked, marked, unmarked], entropy=False)
    assert table["model"] == ["scripted/one?bos=yes", "scripted/one?bos=no"]
    assert table["surprisal"] == [2.0, 4.0]


def test_progress_covers_all_models() -> None:
    told: list[tuple[int, int]] = []
    surprisal(["a", "b"], [scripted(), scripted("two", 2)], progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert (told[0], told[-1]) == ((0, 4), (4, 4))


@pytest.mark.parametrize("unit", ["word", "token", "sentence", "regions"])
def test_an_empty_table_has_the_columns_of_a_full_one(unit: Any) -> None:
    full = surprisal([["a"]], scripted(), unit)
    empty = surprisal([], scripted(), unit)
    assert (len(empty), empty.names) == (0, full.names)
    assert empty.to_arrow().schema == full.to_arrow().schema


def test_the_name_of_a_file_is_not_scored_as_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "story.txt").write_text("Go on.\nStop.\n")
    (tmp_path / "folder").mkdir()
    for texts in ("story.txt", ["a", "story.txt"], str(tmp_path / "story.txt")):
        with pytest.raises(InputError, match=r"names a file.*Path\('.*story.txt'\).*text="):
            surprisal(texts, scripted())
    assert surprisal(["folder", "story.text"], scripted())["word"] == ["folder", "story.text"]
    assert surprisal(Text("story.txt"), scripted())["word"] == ["story.txt"]
    assert surprisal(Path("story.txt"), scripted())["word"] == ["Go", "on.", "Stop."]


def test_several_paths_are_read_with_the_file_of_each_row(tmp_path: Path) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in paths:
        path.write_text("Go.\n")
    assert surprisal(paths, scripted())["file"] == list(map(str, paths))
    with pytest.raises(InputError, match=r"text 2: .*Path"):
        surprisal(["Go.", paths[0]], scripted())


def sentence_scored(text: str) -> Scored:
    """One bit per letter, and one for the beginning of the text."""
    scored = scripted().scored(text)
    first, *rest = scored.logprobs
    return replace(scored, logprobs=((first or 0) - math.log(2), *rest))


class SentenceScorer(FakeScorer):
    """A model that was trained on single sentences."""

    training_context = "sentence"

    def __init__(self) -> None:
        super().__init__(sentence_scored, "scripted/sentences")


def test_a_model_trained_on_sentences_reads_each_alone_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        by_default = surprisal(["Go on. Stop."], SentenceScorer(), entropy=False)
    assert by_default["surprisal"] == [3.0, 3.0, 6.0]
    (record,) = [record.message for record in caplog.records]
    assert record == (
        "scripted/sentences was trained on single sentences: the context of each word is its own sentence. "
        "Set context to 'text' for the whole text before it"
    )
    caplog.clear()
    with caplog.at_level(logging.WARNING, "wug"):
        assert surprisal("Go on. Stop.", SentenceScorer(), context="text", entropy=False)["surprisal"] == [
            3.0,
            3.0,
            5.0,
        ]
        assert surprisal("Go on. Stop.", SentenceScorer(), context="sentence", entropy=False) == by_default
        surprisal(["Go on.", "Stop."], SentenceScorer(), entropy=False)  # a sentence each: no difference
    assert not caplog.records


def test_windows_that_a_model_does_not_have_are_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        surprisal("a", scripted(), window=5, entropy=False)
    assert [record.message for record in caplog.records] == [
        "window and stride do not apply to scripted/one, which reads each text in one pass"
    ]


def test_a_model_is_released_before_the_next_one_is_scored() -> None:
    import gc
    import weakref

    alive: list[weakref.ref[FakeScorer]] = []

    def scored(text: str) -> Scored:
        gc.collect()
        assert alive[0]() is None
        return letter_scores()(text)

    def opened() -> Iterator[FakeScorer]:
        first = scripted()
        alive.append(weakref.ref(first))
        yield first
        del first
        yield FakeScorer(scored)

    assert len(surprisal("Go", opened(), entropy=False)) == 2
