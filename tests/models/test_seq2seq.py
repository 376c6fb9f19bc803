"""Encoder–decoders answer as they do alone, whatever the batch, and nothing about an answer is lost."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, T5ForConditionalGeneration

import tiny
import tiny_seq2seq
from answers import noticed, texts
from case_selection import examples
from evaluating import cached
from tiny_seq2seq import load
from wug.errors import InputError, MissingExtra, ModelError, UnknownName
from wug.evaluation.evaluate import evaluate
from wug.models.decoding.generation import Decoder

pytestmark = pytest.mark.slow

Maker = Callable[..., Path]
ARCHITECTURES = ["t5", "bart", "marian"]


loaded = cache(load)
"""One model for all tests that do not change it."""


@cache
def of_the_hub(folder: Path) -> tuple[Any, Any]:
    """The tokenizer and the model as transformers loads them."""
    return AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder).eval()


def plain(folder: Path, source: str, most: int) -> list[str]:
    """One source through the model alone: token by token, no batch, no cache, no generate()."""
    tokenizer, model = of_the_hub(folder)
    asked = torch.tensor([tokenizer(source)["input_ids"]])
    written = [model.config.decoder_start_token_id]
    with torch.no_grad():
        while len(written) <= most:
            logits = model(input_ids=asked, decoder_input_ids=torch.tensor([written]), use_cache=False).logits
            written.append(int(logits[0, -1].argmax()))
            if written[-1] == 2:
                return [tiny_seq2seq.WORDS[token] for token in written[1:-1]]
    return [tiny_seq2seq.WORDS[token] for token in written[1:]]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_answers_equal_the_plain_computation(made: Maker, architecture: str) -> None:
    sources = tiny_seq2seq.sources(8, seed=1)
    answers = texts(load(made(architecture), max_length="6").generate(sources))
    assert [answer.split() for answer in answers] == [plain(made(architecture), source, 6) for source in sources]
    assert len(set(answers)) > 2


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_an_answer_does_not_depend_on_the_batch(made: Maker, data: st.DataObject) -> None:
    architecture = data.draw(st.sampled_from(ARCHITECTURES))
    beams, batch = data.draw(st.sampled_from(["1", "3"])), data.draw(st.sampled_from(["1", "60", "100000"]))
    pool = tiny_seq2seq.sources(40, seed=2)
    sources = data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=10))
    model = loaded(made(architecture), max_length="10", beams=beams, batch=batch)
    alone = {source: texts(model.generate([source])) for source in sources}
    many = sources + data.draw(st.permutations(sources))
    assert texts(model.generate(many)) == [alone[source][0] for source in many]


def test_more_beams_find_answers_of_their_own(made: Maker) -> None:
    sources = tiny_seq2seq.sources(12)
    greedy, beams = (load(made(), beams=n, max_length="8") for n in ("1", "4"))
    assert texts(greedy.generate(sources)) != texts(beams.generate(sources))
    assert (greedy.options["beams"], beams.options["beams"]) == ("1", "4")


def test_a_source_is_asked_once_however_often_it_comes(made: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(made(), max_length="4")
    asked: list[int] = []
    write = model.decoder.decode

    def counting(sequences: Sequence[Sequence[int]], bounds: Sequence[int]) -> Any:
        asked.append(len(sequences))
        return write(sequences, bounds)

    monkeypatch.setattr(model.decoder, "decode", counting)
    answers = texts(model.generate(["copy A1", "echo B2", "copy A1", "copy A1"]))
    assert asked == [2]
    assert answers[0] == answers[2] == answers[3]
    assert texts(model.generate([])) == []


def test_habits_of_search_that_a_model_brings_along_are_left_out(made: Maker, tmp_path: Path) -> None:
    folder = shutil.copytree(made(), tmp_path / "habits")
    stored = json.loads((folder / "generation_config.json").read_text())
    habits = {"num_beams": 4, "no_repeat_ngram_size": 1, "min_length": 9, "max_length": 3, "length_penalty": 2.0}
    (folder / "generation_config.json").write_text(json.dumps(stored | habits))
    sources = tiny_seq2seq.sources(10)
    assert texts(load(folder, max_length="9").generate(sources)) == texts(
        load(made(), max_length="9").generate(sources)
    )


def test_answers_that_come_to_no_end_are_cut_off_and_say_so(made: Maker) -> None:
    sources = tiny_seq2seq.sources(20)
    longer = texts(load(made(), max_length="40").generate(sources))
    answers = load(made(), max_length="3").generate(sources)
    cut = sum(len(answer.split()) > 3 for answer in longer)
    # An answer of just three words has its end mark beyond the third.
    just = sum(len(answer.split()) == 3 for answer in longer)
    assert all(len(answer.split()) <= 3 for answer in texts(answers))
    assert noticed(answers, "cut off") == cut + just


def test_how_long_an_answer_may_be_is_decided_by_its_own_source(made: Maker) -> None:
    model = load(made())
    assert [model._token_limit(n) for n in (1, 16, 17, 64, 500)] == [128, 128, 256, 512, 1024]
    assert model.options["max_length"] == "auto"


def test_rows_that_ended_are_taken_out_without_changing_an_answer(made: Maker) -> None:
    model = load(made(), max_length="40", engine="transformers")
    sources = tiny_seq2seq.sources(12)
    assert isinstance(model.decoder, Decoder)
    assert model.decoder._drops_finished_rows
    quick = texts(model.generate(sources))
    model.decoder._drops_finished_rows = False
    assert texts(model.generate(sources)) == quick


def test_a_model_with_forbidden_words_is_left_to_transformers(made: Maker) -> None:
    model = load(made(), engine="transformers")
    assert isinstance(model.decoder, Decoder)
    model.decoder.model.generation_config.suppress_tokens = [5]
    assert not model.decoder._may_drop_finished_rows()


def test_memory_that_runs_out_halves_the_batch(
    made: Maker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = load(made(), max_length="5", engine="transformers")
    sources = tiny_seq2seq.sources(9)
    expected = texts(model.generate(sources))
    assert isinstance(model.decoder, Decoder)
    write = model.decoder._decode_dropping_rows

    def scarce(rows: Sequence[Sequence[int]], bound: int) -> Any:
        if len(rows) > 2:
            raise torch.OutOfMemoryError("no room")
        return write(rows, bound)

    monkeypatch.setattr(model.decoder, "_decode_dropping_rows", scarce)
    assert texts(model.generate(sources)) == expected
    assert "memory ran out" in caplog.text


def test_not_even_one_source_in_memory_is_an_error(made: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(made(), engine="transformers")

    def none(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(model.decoder, "_decode_dropping_rows", none)
    with pytest.raises(ModelError, match=r"out of memory for 1.. tokens"):
        model.generate(["copy A1"])


def test_a_model_that_padding_disturbs_generates_in_batches_of_equal_length(
    made: Maker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = texts(load(made(), max_length="5").generate(tiny_seq2seq.sources(12)))
    generate = T5ForConditionalGeneration.generate

    def blind(self: Any, *, attention_mask: Any, **rest: Any) -> Any:
        return generate(self, attention_mask=attention_mask * 0 + 1, **rest)

    monkeypatch.setattr(T5ForConditionalGeneration, "generate", blind)
    model = load(made(), max_length="5", engine="transformers")
    assert isinstance(model.decoder, Decoder)
    assert not model.decoder.padded
    assert "batches of equal length" in caplog.text
    assert texts(model.generate(tiny_seq2seq.sources(12))) == expected


def test_spaces_around_commas_and_unknown_words_stay_as_they_are(made: Maker) -> None:
    model = load(made())
    words = tiny_seq2seq.WORDS
    assert model.text_of([words.index(word) for word in ["A1", ",", "B2", "<unk>", "C3"]]) == "A1 , B2 <unk> C3"
    assert model.text_of([0, 2, 1]) == ""
    known, unknown = model.generate(["copy A1", "copy A1 jabberwocky"])
    assert noticed([known], "does not know") == 0
    assert noticed([unknown], "does not know") == 1


def test_a_tokenizer_that_changes_text_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = tiny_seq2seq.word_tokenizer([*tiny_seq2seq.MARKS, "copy", "a1"])
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    model = load(tiny_seq2seq.save_seq2seq(tmp_path, tokenizer=tokenizer), max_length="3")
    model.generate(["copy A1"])
    assert "turns 'copy A1' into 'copy a1'" in caplog.text


def test_a_byte_level_tokenizer_gives_text_back_exactly(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = tiny.byte_level_tokenizer()
    model = load(tiny_seq2seq.save_seq2seq(tmp_path, tokenizer=tokenizer), max_length="3")
    text = "the boy , who swims . café  dog's"
    model.generate([text])
    assert model.text_of(tokenizer(text)["input_ids"]) == text
    assert "back as" not in caplog.text


def test_a_source_longer_than_the_model_takes_gets_an_empty_answer(tmp_path: Path) -> None:
    model = load(tiny_seq2seq.save_seq2seq(tmp_path, "bart", positions=12))
    short = "copy A1 B2"
    answers = model.generate([short, "copy " + "A1 " * 12])
    assert texts(answers) == [*texts(model.generate([short])), ""]
    assert noticed(answers[1:], "more than the 12 tokens that the model takes") == 1
    assert noticed(answers[:1], "tokens that the model takes") == 0


def test_a_prefix_stands_before_every_source(made: Maker) -> None:
    model = load(made(), prefix="reverse copy ", max_length="5")
    assert texts(model.generate(["A1 B2"])) == texts(load(made(), max_length="5").generate(["reverse copy A1 B2"]))
    assert model.options["prefix"] == "reverse copy "


def test_the_five_pcfg_set_tests_run_end_to_end(made: Maker, tmp_path: Path) -> None:
    suites = tiny_seq2seq.pcfg_tests(tmp_path)
    for architecture in ("t5", "bart"):
        model = load(made(architecture), max_length="6")
        results = list(evaluate(suites, cached(model)))
        assert {result.meta["subtest"] for result in results} >= {"plain", "substitutivity", "localism"}
        assert [result.status for result in results] == ["complete"] * 5
        assert all(f"seq2seq/{made(architecture).name}@" in str(result.signature) for result in results)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"beam": "2"}, UnknownName, "Did you mean 'beams'"),
        ({"beams": "0"}, InputError, "beams=0: write a whole number, 1 or more"),
        ({"max_length": "long"}, InputError, "max_length=long: write a whole number"),
        ({"dtype": "float8"}, InputError, "dtype=float8: use one of float32"),
        ({"engine": "onnx"}, InputError, "engine=onnx: use one of auto, ctranslate, transformers"),
    ],
)
def test_a_wrong_option_is_named(made: Maker, options: dict[str, str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load(made(), **options)


def test_a_folder_that_is_not_there_or_no_model_is_an_error(tmp_path: Path, tiny_causal: Maker) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        load(tmp_path / "nothing")
    with pytest.raises(ModelError, match=r"no config\.json"):
        load(tmp_path)
    with pytest.raises(ModelError, match=r"gpt2 is not a sequence-to-sequence model. Use causal:"):
        load(tiny_causal("gpt2"))


def test_a_model_without_a_start_mark_is_refused(made: Maker, tmp_path: Path) -> None:
    folder = shutil.copytree(made(), tmp_path / "unmarked")
    for name in ("config.json", "generation_config.json"):
        stored = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({k: v for k, v in stored.items() if "start" not in k and "bos" not in k}))
    with pytest.raises(ModelError, match="with which token an answer begins"):
        load(folder)


def test_a_missing_package_is_named(made: Maker, own_conversions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"pip install 'wug\[hf\]'"):
        load(folder)
