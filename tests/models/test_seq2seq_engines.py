"""CTranslate2 writes what transformers writes: every answer, every notice, and where it cannot, transformers does."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedTokenizerFast

import tiny
import tiny_seq2seq
from answers import noticed, texts
from case_selection import cases, each_kind, share
from command_line import run_python
from tiny_seq2seq import load
from wug.errors import ModelError
from wug.evaluation.models import builtin_models
from wug.models.decoding.generation import Decoder
from wug.models.seq2seq import conversion
from wug.models.seq2seq.config import HubTokenizer, SavedTokenizer
from wug.models.seq2seq.conversion import Translator
from wug.models.weights.fingerprints import CHECKSUMS, content, obtain_conversion
from wug.requests import Answer, Source

pytestmark = pytest.mark.slow

ARCHITECTURES = ["t5", "bart", "marian", "m2m_100", "mbart", "pegasus", "mt5", "umt5"]
MOST = ["1", "3", "24", "auto"]
USUAL = [*product(ARCHITECTURES[:1], MOST), *zip(ARCHITECTURES[1:], cycle(MOST), strict=False)]
"""Every bound for one architecture, and for the others one each, in turn."""
BY_DAY = each_kind(USUAL, lambda case: case[0])
Maker = Callable[..., Path]


def both(folder: Path, sources: Sequence[str], **options: str) -> tuple[list[Answer], list[Answer]]:
    """Answers by way of each engine: CTranslate2's first, without its notices of near ties."""
    ways = [load(folder, engine=engine, **options) for engine in ("ctranslate", "transformers")]
    assert [type(way.decoder) for way in ways] == [Translator, Decoder]
    assert ways[0].id == ways[1].id
    assert ways[0].options == ways[1].options
    mine, theirs = (way.generate(sources) for way in ways)
    return [Answer(answer.text, tuple(n for n in answer.notices if "near tie" not in n)) for answer in mine], theirs


def generated(folder: Path, sources: Sequence[str], most: int) -> list[list[int]]:
    """What generate() of transformers writes for each source, asked alone, greedily."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    model.generation_config.forced_eos_token_id = None  # which would write an end where an answer is cut off
    asked = [torch.tensor([tokenizer(source)["input_ids"]]) for source in sources]
    return [model.generate(one, max_new_tokens=most, do_sample=False, num_beams=1)[0, 1:].tolist() for one in asked]


def with_settings(folder: Path, target: Path, **settings: Any) -> Path:
    """A copy of a model whose generation settings say more."""
    shutil.copytree(folder, target)
    stored = json.loads((target / "generation_config.json").read_text())
    (target / "generation_config.json").write_text(json.dumps(stored | settings))
    return target


@pytest.mark.parametrize(("architecture", "most"), cases(BY_DAY, sorted({*product(ARCHITECTURES, MOST)} - {*USUAL})))
def test_answers_and_notices_are_those_of_transformers(made: Maker, architecture: str, most: str) -> None:
    sources = [*tiny_seq2seq.sources(40, seed=11), "copy jabberwocky", "copy " + "A1 " * 90, ""]
    options = {} if most == "auto" else {"max_length": most}
    mine, theirs = both(made(architecture), sources, **options)
    assert mine == theirs
    assert len(set(texts(mine))) > 1


@pytest.mark.parametrize("architecture", share(ARCHITECTURES, 2))
def test_answers_are_those_of_generate_itself(made: Maker, architecture: str) -> None:
    model = load(made(architecture), max_length="12", engine="ctranslate")
    sources = tiny_seq2seq.sources(6, seed=12)
    for source, tokens in zip(sources, generated(made(architecture), sources, 12), strict=True):
        until = next((place for place, token in enumerate(tokens) if token == 2), len(tokens))
        words = [tiny_seq2seq.WORDS[token] for token in tokens[:until] if token not in (0, 1, 2)]
        (answer,) = model.generate([source])
        assert answer.text.split() == words
        assert noticed([answer], "cut off") == (until == len(tokens))


SETTINGS: list[dict[str, Any]] = [
    {"forced_bos_token_id": 9},
    {"forced_bos_token_id": 9, "eos_token_id": [2, 30]},
    {"bad_words_ids": [[2], [17, 18]]},
    {"suppress_tokens": [2, 40, 41], "forced_eos_token_id": None},
    {"eos_token_id": [2, 20, 21, 22, 23, 24]},
    {"decoder_start_token_id": 33},
    {"forced_eos_token_id": 2, "num_beams": 4, "no_repeat_ngram_size": 2},
]
MARKED = [(n, m) for n in range(len(SETTINGS)) for m in range(3)]


@pytest.mark.parametrize(
    ("settings", "architecture"),
    [
        (SETTINGS[n], ["t5", "bart", "m2m_100"][m])
        for n, m in cases([(n, m) for n, m in MARKED if n % 3 == m], [(n, m) for n, m in MARKED if n % 3 != m])
    ],
)
def test_marks_and_forbidden_words_are_heeded_alike(
    made: Maker, tmp_path: Path, architecture: str, settings: Mapping[str, Any]
) -> None:
    folder = with_settings(made(architecture), tmp_path / "marked", **settings)
    mine, theirs = both(folder, tiny_seq2seq.sources(30, seed=13), max_length="20")
    assert mine == theirs


def test_tokens_that_may_not_come_first_are_left_to_transformers(made: Maker, tmp_path: Path) -> None:
    folder = with_settings(made(), tmp_path / "begins", begin_suppress_tokens=[2])
    assert isinstance(load(folder).decoder, Decoder)
    with pytest.raises(ModelError, match="engine=ctranslate is not possible"):
        load(folder, engine="ctranslate")


def test_sources_longer_than_the_model_takes_and_prefixes(tmp_path: Path) -> None:
    folder = tiny_seq2seq.save_seq2seq(tmp_path / "model", "bart", positions=16)
    sources = ["copy A1 B2", "copy " + "A1 " * 12, "copy " + "A1 " * 13, "copy " + "A1 " * 40]
    for options in ({}, {"prefix": "reverse "}, {"max_length": "4"}):
        mine, theirs = both(folder, sources, **options)
        assert mine == theirs
        assert noticed(mine, "more than the 16 tokens") > 0


def test_a_tokenizer_without_an_end_mark(tmp_path: Path) -> None:
    tokenizer = tiny_seq2seq.word_tokenizer(ends=False)
    folder = tiny_seq2seq.save_seq2seq(tmp_path / "model", "bart", tokenizer=tokenizer)
    mine, theirs = both(folder, tiny_seq2seq.sources(20), max_length="9")
    assert mine == theirs
    for engine in ("ctranslate", "transformers"):
        with pytest.raises(ModelError, match="makes no tokens of the source ''"):
            load(folder, engine=engine).generate([""])


@pytest.mark.parametrize("name", ["wug-pcfg", "wug-cogs"])
def test_trained_models_answer_alike(name: str) -> None:
    cogs = ["A cat was rolled by Emma .", "Liam hoped that the boy smiled .", "The girl wanted to walk ."]
    sources = tiny_seq2seq.sources(25, seed=14) if name == "wug-pcfg" else cogs
    mine, theirs = both(builtin_models()[name], sources)
    assert mine == theirs


def test_a_near_tie_is_decided_by_ctranslate2_alone_and_counted(tmp_path: Path) -> None:
    """Two words with the same weights are equally probable wherever one of them is written."""
    folder = tiny_seq2seq.save_seq2seq(tmp_path / "model", "bart")
    sources = tiny_seq2seq.sources(20)
    written = Counter(word for answer in load(folder, max_length="6").generate(sources) for word in answer.text.split())
    rare = min(written, key=lambda word: written[word])
    rival = next(word for word in tiny_seq2seq.SYMBOLS if word not in written)
    weights = load_file(folder / "model.safetensors")
    head, rows = weights["lm_head.weight"], tiny_seq2seq.WORDS
    head[rows.index(rival)] = head[rows.index(rare)]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    load(folder, max_length="6")  # makes the conversion, which starts PyTorch

    model = load(folder, max_length="6")
    assert isinstance(model.decoder, Translator)
    model.decoder._fallback = lambda *_: pytest.fail("PyTorch was asked")
    answers = model.generate(sources)
    tied = [answer for answer in answers if {rare, rival} & {*answer.text.split()}]
    assert 0 < len(tied) < len(answers)
    assert noticed(tied, "near tie") == len(tied) == noticed(answers, "near tie")


def test_near_ties_are_found_whether_or_not_all_logits_fit_in_memory(
    made: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they do not, answers that are not certain are decoded again for their logits."""
    model = load(made("bart"), engine="ctranslate", max_length="12")
    decoder: Any = model.decoder
    decoder.near_tie_nats = 0.5
    sources = tiny_seq2seq.sources(20, seed=16)
    answers = model.generate(sources)
    assert 0 < noticed(answers, "near tie") < len(sources)
    monkeypatch.setattr(conversion, "MAX_LOGITS", 1)
    assert model.generate(sources) == answers


def test_the_second_time_neither_torch_nor_transformers_is_started(made: Maker) -> None:
    first = load(made()).generate(["copy A1 B2", "copy jabberwocky"])
    code = (
        "import sys; from wug.models import seq2seq; from wug.models.spec import ModelSpec\n"
        "model = seq2seq.load(ModelSpec('seq2seq', sys.argv[1], options={'device': 'cpu'}))\n"
        "print([answer.text for answer in model.generate(['copy A1 B2', 'copy jabberwocky'])])\n"
        "print('torch' in sys.modules, 'transformers' in sys.modules)"
    )
    answers, imported = run_python("-c", code, made()).out.splitlines()
    assert answers == str(texts(first))
    assert imported == "False False"


def test_a_damaged_conversion_is_made_anew(made: Maker, own_conversions: Path) -> None:
    sources = tiny_seq2seq.sources(10)
    expected = load(made(), max_length="6").generate(sources)
    (folder,) = own_conversions.iterdir()
    weights = folder / "model.bin"
    whole = weights.read_bytes()
    for damage in (whole[:-7], whole[:500] + b"\xff" * 40 + whole[540:], b""):
        weights.write_bytes(damage)
        model = load(made(), max_length="6")
        assert isinstance(model.decoder, Translator)
        assert model.generate(sources) == expected
        assert weights.read_bytes() == whole
    (folder / "wug.json").unlink()
    assert load(made(), max_length="6").generate(sources) == expected
    assert [path.name for path in own_conversions.iterdir()] == [folder.name]


def test_a_conversion_that_writes_something_else_is_not_used(
    made: Maker, own_conversions: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sources = tiny_seq2seq.sources(10)
    expected = load(made(), max_length="6", engine="transformers").generate(sources)
    load(made())
    (folder,) = own_conversions.iterdir()
    about = json.loads((folder / "wug.json").read_text())
    about["probes"][0]["logprob"] += 0.01
    (folder / "wug.json").write_text(json.dumps(about))
    sums = json.loads((folder / CHECKSUMS).read_text())
    sums["wug.json"] = content(folder / "wug.json")
    (folder / CHECKSUMS).write_text(json.dumps(sums))
    model = load(made(), max_length="6")
    assert isinstance(model.decoder, Decoder)
    assert "runs on PyTorch, which is slower than CTranslate2: its answer to a probe is not PyTorch's" in caplog.text
    assert model.generate(sources) == expected
    with pytest.raises(ModelError, match="engine=ctranslate is not possible: its answer to a probe"):
        load(made(), engine="ctranslate")


def test_a_cache_folder_that_cannot_be_written_is_said(
    made: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "file" / "answers.db"))
    assert isinstance(load(made()).decoder, Decoder)
    assert "the converted model cannot be kept in" in caplog.text


def test_several_may_convert_at_once(own_conversions: Path) -> None:
    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "model.bin").write_bytes(b"x" * 100_000)

    def obtain(_: int) -> bytes:
        return (obtain_conversion("same", make) / "model.bin").read_bytes()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(obtain, range(40))) == {b"x" * 100_000}
    assert [path.name for path in own_conversions.iterdir()] == ["same"]


def test_without_ctranslate2_transformers_writes_and_nothing_is_said(
    made: Maker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(conversion, "available", lambda: False)
    assert isinstance(load(made()).decoder, Decoder)
    assert not caplog.records
    with pytest.raises(ModelError, match=r"pip install 'wug\[ctranslate\]'"):
        load(made(), engine="ctranslate")


@pytest.mark.parametrize("options", [{"beams": "2"}, {"dtype": "bfloat16"}, {"trust_remote_code": "yes"}])
def test_what_ctranslate2_cannot_do_goes_to_transformers(
    made: Maker, options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(load(made(), **options).decoder, Decoder)
    assert not caplog.records
    with pytest.raises(ModelError, match="engine=ctranslate is not possible"):
        load(made(), engine="ctranslate", **options)


def test_a_tokenizer_with_ways_of_its_own_is_not_taken_apart(made: Maker) -> None:
    class Shouting(PreTrainedTokenizerFast):
        def _decode(self, *arguments: Any, **rest: Any) -> str:
            return str(super()._decode(*arguments, **rest)).upper()

    tokenizer = AutoTokenizer.from_pretrained(made())
    saved = SavedTokenizer.of(tokenizer)
    assert saved is not None
    for text in ("copy A1 , B2", "", "  copy   <unk> jabberwocky </s> A1 ", "<pad> A1"):
        assert saved.encode([text]) == HubTokenizer(tokenizer).encode([text])
        assert saved.encode_answer(text) == HubTokenizer(tokenizer).encode_answer(text)
        assert saved.decode(saved.encode([text])[0]) == HubTokenizer(tokenizer).decode(saved.encode([text])[0])
    assert SavedTokenizer.of(Shouting(tokenizer_object=tokenizer.backend_tokenizer)) is None


@pytest.mark.parametrize("engine", ["ctranslate", "transformers"])
def test_an_answer_is_stopped_where_it_is_longer_than_any_right_one(made: Maker, engine: str) -> None:
    model = load(made("bart"), engine=engine, max_length="40")
    sources = tiny_seq2seq.sources(25, seed=15)
    whole = model.generate(sources)
    for most in (0, 2, 5, 39):
        for asked, answer in zip(whole, model.generate([Source(text, most) for text in sources]), strict=True):
            words = asked.text.split()
            assert answer.text.split() == words[: most + 1]
            assert noticed([answer], "longer than any right answer") == (len(words) > most + 1)
            assert noticed([answer], "cut off") == (len(words) <= most + 1 and noticed([asked], "cut off"))
    mixed = model.generate([sources[0], Source(sources[0], 1), Source(sources[0], 2)])
    assert mixed == [whole[0], *model.generate([Source(sources[0], 1)]), *model.generate([Source(sources[0], 2)])]


def test_a_bound_in_words_holds_where_a_word_is_many_tokens(tmp_path: Path) -> None:
    folder = tiny_seq2seq.save_seq2seq(tmp_path / "model", "bart", tokenizer=tiny.byte_level_tokenizer())
    model = load(folder, engine="ctranslate", max_length="60")
    sources = ["the boy swims", "who sees the dog ?", "a café"]
    for asked, answer in zip(
        model.generate(sources), model.generate([Source(text, 1) for text in sources]), strict=True
    ):
        assert answer.text.split() == asked.text.split()[:2]
