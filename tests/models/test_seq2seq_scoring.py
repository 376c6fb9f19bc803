"""Encoder–decoders score as plain transformers does: texts as answers to a source, words in sentinel spans."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedTokenizerFast

import tiny_seq2seq
from wug import open_model, registry
from wug.errors import InputError, ModelError
from wug.evaluation.cache import Cache
from wug.models import ModelSpec, seq2seq
from wug.models.decoding import teacher_forcing
from wug.models.decoding.teacher_forcing import ForcedTarget, TeacherForcing
from wug.models.seq2seq.scoring import HubEncoderDecoder
from wug.requests import Request, Scored, TextScoring
from wug.texts import surprisal

SENTINELS = ["<extra_id_0>", "<extra_id_1>"]
NEAR = 1e-4
"""Nats."""


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 with sentinels, a unigram tokenizer and words of several tokens."""
    return tiny_seq2seq.save_seq2seq(tmp_path_factory.mktemp("sentinels"), tokenizer=pieces_tokenizer())


def pieces_tokenizer(template: str = "$A </s>", *more: str) -> Any:
    """A tokenizer of pieces of words, with ▁ before words, as T5 and mBART have."""
    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    special = [*tiny_seq2seq.MARKS, *SENTINELS, *more]
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>", show_progress=False)
    backend.train_from_iterator(TEXTS * 20, trainer)
    marks = [(name, backend.token_to_id(name)) for name in special]
    backend.post_processor = processors.TemplateProcessing(single=template, special_tokens=marks)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


TEXTS = [
    "the keys to the cabinet are here",
    "nobody saw the authors",
    "a guard who swims quickly near the park is tall",
    "wugs",
    "what she gave to the boy was a lamp that nobody had ever seen before",
]
SOURCES = ["", "a lamp", "the guard swims near the tall authors", "who saw the boy", "a lamp"]


def load(folder: Path, **options: str) -> Any:
    return seq2seq.load(ModelSpec("seq2seq", str(folder), options={"device": "cpu", **options}))


def plain(folder: Path) -> tuple[Any, Any]:
    return AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def shares(model: Any, source: Sequence[int], labels: Sequence[int]) -> Any:
    """The log-probabilities of all tokens at each label, by one plain pass as in training."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([list(source)]), labels=torch.tensor([list(labels)])).logits[0]
    return torch.log_softmax(logits.double(), dim=-1)


def told(logs: Any, labels: Sequence[int]) -> list[tuple[float, float, range]]:
    """Log-probability, entropy and rank of each label; the rank as far as rounding leaves it open."""
    return [
        (
            float(row[label]),
            float(-(row.exp() * row).sum()),
            range(int((row > row[label] + NEAR).sum()) + 1, int((row > row[label] - NEAR).sum()) + 1),
        )
        for row, label in zip(logs, labels, strict=True)
    ]


def columns(scored: Scored) -> Iterator[tuple[float | None, float | None, int | None]]:
    assert scored.entropies is not None
    assert scored.ranks is not None
    return zip(scored.logprobs, scored.entropies, scored.ranks, strict=True)


def assert_same(scored: Scored, expected: Sequence[tuple[float, float, range]]) -> None:
    found = list(columns(scored))
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine[0] == pytest.approx(theirs[0], abs=NEAR)
        assert mine[1] == pytest.approx(theirs[1], abs=NEAR)
        assert mine[2] in theirs[2]


@pytest.mark.parametrize("architecture", tiny_seq2seq.SEEDS)
def test_texts_after_sources_are_those_of_plain_transformers(made: Any, architecture: str) -> None:
    """Other lengths, other sources and other company: each is as it is alone."""
    folder = made(architecture)
    model, tokenizer = plain(folder)
    texts, sources = tiny_seq2seq.sources(24, seed=3), [*tiny_seq2seq.sources(11, seed=4), ""]
    asked = [
        Request(text, source=sources[number % len(sources)], scoring=TextScoring(distribution=True))
        for number, text in enumerate(texts)
    ]
    scorer = load(folder, score="source", eos="yes")
    answers = scorer.score(asked)
    for request, scored in zip(asked, answers, strict=True):
        labels = tokenizer(text_target=request.text)["input_ids"]
        source = tokenizer(request.source)["input_ids"]
        assert_same(scored, told(shares(model, source, labels), labels))
        assert [request.text[a:b] for a, b in zip(scored.starts, scored.ends, strict=True)] == [
            *request.text.split(),
            "",
        ]
    (alone,) = scorer.score([asked[5]])
    assert alone.logprobs == pytest.approx(answers[5].logprobs, abs=NEAR)


@pytest.mark.parametrize(
    ("architecture", "template", "settings"),
    [
        ("bart", "<s> $A </s>", {}),  # as BART's tokenizer has it: the start mark </s>, then <s>
        ("mbart", "en_XX $A </s>", {}),  # as mBART-50's
        ("mbart", "$A </s>", {"forced_bos_token_id": 6}),  # a language that the settings force
    ],
)
def test_what_answers_begin_with_stands_before_the_text_and_is_not_scored(
    tmp_path: Path, architecture: str, template: str, settings: dict[str, int]
) -> None:
    tokenizer = pieces_tokenizer(template, "en_XX")
    assert tokenizer.convert_tokens_to_ids("en_XX") == 6
    folder = tiny_seq2seq.save_seq2seq(tmp_path, architecture, tokenizer=tokenizer)
    model, tokenizer = plain(folder)
    model.generation_config.update(**settings)
    model.save_pretrained(folder)
    opening = [settings["forced_bos_token_id"]] if settings else tokenizer("a")["input_ids"][:1]
    scored = load(folder, score="source", source="a lamp").score([Request(text) for text in TEXTS])
    for text, answer in zip(TEXTS, scored, strict=True):
        inside = tokenizer(text, add_special_tokens=False)["input_ids"]
        labels = [*opening, *inside, 2]
        expected = told(shares(model, tokenizer("a lamp")["input_ids"], labels), labels)
        assert answer.logprobs == pytest.approx([row[0] for row in expected][1:-1], abs=NEAR)


def test_a_source_that_every_text_has_is_an_option_and_one_of_its_own_comes_first(t5: Path) -> None:
    scorer = load(t5, score="source", source="the guard", prefix="what ")
    asked = [Request(TEXTS[0]), Request(TEXTS[0], source="the guard"), Request(TEXTS[0], source="")]
    same, too, other = (answer.logprobs for answer in scorer.score(asked))
    assert same == too != other
    model, tokenizer = plain(t5)
    labels = tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]
    expected = told(shares(model, tokenizer("what the guard")["input_ids"], labels), labels)
    assert same == pytest.approx([row[0] for row in expected], abs=NEAR)
    assert scorer.options == {
        "dtype": "float32", "score": "source", "source": "the guard", "prefix": "what ", "eos": "no"
    }  # fmt: skip


def test_a_question_about_a_part_goes_as_far_as_that_part(t5: Path) -> None:
    scorer = load(t5, score="source", eos="yes")
    whole, part = scorer.score([Request(TEXTS[0]), Request(TEXTS[0], (9, 11))])
    assert part.starts == tuple(start for start in whole.starts if start < 11)
    assert part.logprobs == pytest.approx(whole.logprobs[: len(part.logprobs)], abs=NEAR)
    assert whole.token_names[-1] == "</s>"


def spans_by_hand(folder: Path, text: str, *, beyond: bool = False) -> list[list[tuple[float, float, range]]]:
    """What T5 makes of each word, taken out of the text and written behind the first sentinel."""
    model, tokenizer = plain(folder)
    opens, closes = tokenizer.convert_tokens_to_ids(SENTINELS)
    words = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in text.split()]
    assert [token for word in words for token in word] == tokenizer(text, add_special_tokens=False)["input_ids"]
    found = []
    for place, word in enumerate(words):
        before, after = ([token for some in part for token in some] for part in (words[:place], words[place + 1 :]))
        labels = [opens, *word, *([closes] if beyond else [])]
        found.append(told(shares(model, [*before, opens, *after, tokenizer.eos_token_id], labels), labels)[1:])
    return found


def test_words_in_spans_are_those_of_plain_transformers(t5: Path) -> None:
    asked = [Request(text, scoring=TextScoring(distribution=True)) for text in TEXTS]
    answers = load(t5, score="spans").score(asked)
    assert any(len(word) > 1 for text in TEXTS for word in spans_by_hand(t5, text)[:2])
    for text, scored in zip(TEXTS, answers, strict=True):
        assert_same(scored, [row for word in spans_by_hand(t5, text) for row in word])
    (alone,) = load(t5, score="spans").score(asked[2:3])
    assert alone.logprobs == pytest.approx(answers[2].logprobs, abs=NEAR)


def test_a_span_of_several_words_is_taken_out_at_once_and_alone_reported(t5: Path) -> None:
    model, tokenizer = plain(t5)
    opens, end = tokenizer.convert_tokens_to_ids([SENTINELS[0], "</s>"])
    ids = [
        tokenizer(part, add_special_tokens=False)["input_ids"] for part in ("the keys", "to the", "cabinet are here")
    ]
    labels = [opens, *ids[1]]
    expected = told(shares(model, [*ids[0], opens, *ids[2], end], labels), labels)[1:]
    (scored,) = load(t5, score="spans").score([Request(TEXTS[0], (9, 15))])
    assert scored.logprobs == pytest.approx([row[0] for row in expected], abs=NEAR)
    assert scored.starts[0] == 9
    assert scored.ends[-1] == 15


def test_the_sentinel_behind_a_word_is_its_end(t5: Path) -> None:
    table = surprisal(TEXTS[:2], load(t5, score="spans"), boundary=True)
    expected = [-sum(row[0] for row in word) for text in TEXTS[:2] for word in spans_by_hand(t5, text, beyond=True)]
    assert table["surprisal_boundary"] == pytest.approx([value / math.log(2) for value in expected], abs=NEAR)
    plainly = [-sum(row[0] for row in word) for text in TEXTS[:2] for word in spans_by_hand(t5, text)]
    assert table["surprisal"] == pytest.approx([value / math.log(2) for value in plainly], abs=NEAR)


def test_a_long_text_is_read_in_windows(t5: Path) -> None:
    text = " ".join(TEXTS)
    count = len(load(t5, score="source").score([Request(text)])[0].starts)
    for manner in ("source", "spans"):
        scorer = load(t5, score=manner)
        (whole,) = scorer.score([Request(text, scoring=TextScoring(window=count + 8))])
        (short,) = scorer.score([Request(text, scoring=TextScoring(window=20))])
        (again,) = scorer.score([Request(text)])
        assert whole.logprobs == pytest.approx(again.logprobs, abs=NEAR)
        assert len(short.logprobs) == count
        assert None not in short.logprobs
        if manner == "source":  # as long as all before a token fits
            assert short.logprobs[:19] == pytest.approx(whole.logprobs[:19], abs=NEAR)
            assert short.logprobs[19:] != pytest.approx(whole.logprobs[19:], abs=1e-2)


def test_what_is_longer_than_the_positions_is_refused_or_read_in_windows(tmp_path: Path) -> None:
    folder = tiny_seq2seq.save_seq2seq(tmp_path, "bart", positions=12)
    scorer = load(folder, score="source")
    text = " ".join(tiny_seq2seq.SYMBOLS[:30])
    with pytest.raises(ModelError, match="a text of 31 tokens is longer than"):
        scorer.score([Request(text)])
    with pytest.raises(ModelError, match="a source of 31 tokens is longer than the 12"):
        scorer.score([Request("A1", source=text)])
    (scored,) = scorer.score([Request(text, scoring=TextScoring())])
    assert len(scored.logprobs) == 30
    assert None not in scored.logprobs


def test_a_table_of_surprisals_with_a_source_for_each_text(t5: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "answers.db")
    scorer = load(t5, score="source")
    try:
        table = surprisal(TEXTS, scorer, sources=SOURCES, cache=cache)
        swapped = surprisal(TEXTS, scorer, sources=SOURCES[::-1], cache=cache)
    finally:
        cache.close()
    model, tokenizer = plain(t5)
    rows = table.rows()
    for text, source in zip(TEXTS, SOURCES, strict=True):
        for word in text.split():
            assert next(rows)["word"] == word
        labels = tokenizer(text, add_special_tokens=False)["input_ids"]
        expected = told(shares(model, tokenizer(source)["input_ids"], labels), labels)
        here = [row["surprisal"] for row in table.rows() if row["text_id"] == TEXTS.index(text) + 1]
        assert sum(here) == pytest.approx(-sum(row[0] for row in expected) / math.log(2), abs=5 * NEAR)
    assert table["surprisal"] != swapped["surprisal"]


def test_sources_are_for_models_that_take_them_and_as_many_as_texts(t5: Path) -> None:
    with pytest.raises(InputError, match="3 texts and 2 sources"):
        surprisal(TEXTS[:3], load(t5, score="source"), sources=SOURCES[:2])
    with pytest.raises(InputError, match="2 texts and more sources"):
        surprisal(TEXTS[:2], load(t5, score="source"), sources=SOURCES[:3])
    with pytest.raises(ModelError, match="score=source"):
        surprisal(TEXTS[:1], load(t5, score="spans"), sources=SOURCES[:1])
    with pytest.raises(ModelError, match="score=source"):
        open_model("wug-causal").score(Request("a", source="b"))


def test_a_loaded_model_scores_as_its_folder_does(t5: Path) -> None:
    ours = AutoModelForSeq2SeqLM.from_pretrained(t5)
    tokenizer = AutoTokenizer.from_pretrained(t5)
    for manner in ("source", "spans"):
        opened, named = open_model(ours, tokenizer=tokenizer, score=manner), open_model(f"seq2seq:{t5}", score=manner)
        assert (opened.id, dict(opened.options)) == (named.id, dict(named.options))
        assert opened.score(TEXTS) == named.score(TEXTS)
        assert repr(named).endswith("scores text>")


def test_words_in_spans_see_both_sides_and_say_so(t5: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert registry.sees_right_context(open_model(f"seq2seq:{t5}", score="spans").opened)
    assert not registry.sees_right_context(open_model(f"seq2seq:{t5}", score="source").opened)
    with caplog.at_level(logging.WARNING, "wug"):
        surprisal(TEXTS[:1], load(t5, score="spans"))
    assert "sees the words on both sides" in caplog.text


def test_a_model_without_sentinels_has_no_spans(made: Any) -> None:
    with pytest.raises(ModelError, match=r"has none\. Use score=source"):
        load(made("bart"), score="spans")


@pytest.mark.parametrize(
    "options",
    [{"score": "source", "beams": "3"}, {"score": "spans", "source": "a"}, {"source": "a"}, {"eos": "yes"},
     {"score": "source", "engine": "ctranslate"}, {"score": "spans", "max_length": "9"}],
)  # fmt: skip
def test_an_option_that_would_do_nothing_is_refused(t5: Path, options: dict[str, str]) -> None:
    with pytest.raises(InputError, match="is of no use with score="):
        open_model(f"seq2seq:{t5}", options=options)


def test_a_model_that_was_opened_to_write_says_how_to_have_scores(t5: Path) -> None:
    with pytest.raises(ModelError, match="score='source'"):
        open_model(f"seq2seq:{t5}").score("a")
    with pytest.raises(ModelError, match="score=source"):
        surprisal("a", f"seq2seq:{t5}")


def test_empty_texts_have_no_tokens_and_unknown_words_are_named(made: Any) -> None:
    answers = load(made("t5"), score="source").score([Request(""), Request("copy wug A1")])
    assert answers[0].starts == ()
    assert answers[1].token_names == ("copy", "<unk>", "A1")
    assert load(made("t5"), score="source").score([]) == []


def test_scores_do_not_depend_on_the_batch(t5: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Minding(HubEncoderDecoder):
        """A value at the end of a row applies to the whole row."""

        def write(self, memory: Any, rows: Any, written: Any) -> Any:
            found = super().write(memory, rows, written)
            return found * (1 + written.shape[1] / 100)

    model, _ = plain(t5)
    draw = torch.Generator().manual_seed(0)
    asked = [
        ForcedTarget(tuple(range(5, 5 + source)), torch.randint(40, (written,), generator=draw).tolist(), 1)
        for source, written in [(3, 2), (3, 9), (4, 9), (1, 2), (3, 2), (3, 17), (4, 3)]
    ]
    few, many = (TeacherForcing(HubEncoderDecoder(model), size).columns(asked, distribution=True) for size in (1, None))
    for one, other in zip(few, many, strict=True):
        assert one == pytest.approx(other, abs=NEAR)
    with caplog.at_level(logging.WARNING, "wug"):
        minding = TeacherForcing(Minding(model))
    assert "batches of equal length" in caplog.text
    (alone,) = minding.columns(asked[:1])
    assert minding.columns(asked)[0] == pytest.approx(alone, abs=NEAR)


def test_a_bounded_memory_takes_a_long_text_in_parts(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tiny_seq2seq.sources(1, seed=9)[0]
    (whole,) = load(made("t5"), score="source").score([Request(text)])
    monkeypatch.setattr(teacher_forcing, "MAX_LOGITS", {"cpu": 1})
    (parts,) = load(made("t5"), score="source").score([Request(text)])
    assert replace(parts, logprobs=()) == replace(whole, logprobs=())
    assert parts.logprobs == pytest.approx(whole.logprobs, abs=NEAR)
