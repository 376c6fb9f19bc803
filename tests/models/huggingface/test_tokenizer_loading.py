"""Texts are tokenised by the pipeline in the model's tokenizer.json, whatever class transformers makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

import tiny
import wug
from tiny_masked import save_masked
from tiny_seq2seq import save_seq2seq
from tokenizers_of_all_kinds import KINDS
from wug.errors import ModelError
from wug.models import causal, masked, seq2seq
from wug.models.spec import ModelSpec
from wug.requests import Request

TEXTS = [*tiny.sentences(300), *["The keys are on the table .", "日本語の文 です", "Ключи на столе 1234"] * 20]
PROBES = ["The keys are on the table .", "日本語の文 です", "Ключи на столе 1234"]


def opened(folder: Path, **options: str) -> causal.CausalModel:
    return causal.load(ModelSpec("causal", str(folder), options={"device": "cpu", **options}))


def spans(model: Any, text: str) -> list[tuple[int, int]]:
    """Where the tokens of a text begin and end."""
    (scored,) = model.score([Request(text)])
    return list(zip(scored.starts, scored.ends, strict=True))


def spans_of_file(folder: Path, text: str) -> list[tuple[int, int]]:
    """The same, as tokenizer.json has it; the space before a word is not counted."""
    offsets = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text, add_special_tokens=False).offsets
    return [(b - len(text[a:b].lstrip()), b) for a, b in offsets]


def change(file: Path, **fields: Any) -> None:
    """Change a JSON file; a field that is None is taken out."""
    content = json.loads(file.read_text(encoding="utf-8")) | fields
    content = {name: value for name, value in content.items() if value is not None}
    file.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("kind", ["BPE", "WordPiece", "Unigram", "words"])
def test_a_qwen2_model_with_another_pipeline_scores_the_tokens_of_its_file(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny.save_causal(tmp_path / "m", "qwen2", tokenizer=KINDS[kind](TEXTS), num_key_value_heads=4)
    model = opened(folder)
    assert [spans(model, text) for text in PROBES] == [spans_of_file(folder, text) for text in PROBES]
    (warning,) = [text for text in caplog.messages if "transformers rebuilds" in text]
    assert "transformers rebuilds the tokenizer as Qwen2Tokenizer" in warning
    assert "wug uses tokenizer.json" in warning


def test_a_pipeline_that_transformers_keeps_is_used_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny.save_causal(tmp_path / "m", "llama", tokenizer=KINDS["words"](TEXTS))
    assert spans(opened(folder), PROBES[0]) == spans_of_file(folder, PROBES[0])
    assert "transformers rebuilds" not in caplog.text


@pytest.mark.parametrize("architecture", ["gpt2", "gpt_neox", "llama"])
def test_a_model_whose_settings_name_no_class_scores_the_tokens_of_its_file(tmp_path: Path, architecture: str) -> None:
    folder = tiny.save_causal(tmp_path / "m", architecture, tokenizer=KINDS["BPE"](TEXTS))
    change(folder / "tokenizer_config.json", tokenizer_class=None)
    assert spans(opened(folder), PROBES[0]) == spans_of_file(folder, PROBES[0])


def test_a_masked_model_whose_settings_name_no_class_scores_the_tokens_of_its_file(tmp_path: Path) -> None:
    folder = save_masked(tmp_path / "m", "bert")
    change(folder / "tokenizer_config.json", tokenizer_class=None, do_lower_case=False, strip_accents=False)
    backend = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    backend["normalizer"] = {"type": "Lowercase"}
    (folder / "tokenizer.json").write_text(json.dumps(backend), encoding="utf-8")
    model = masked.load(ModelSpec("masked", str(folder), options={"device": "cpu"}))
    assert spans(model, "THE BOY") == spans_of_file(folder, "THE BOY")


def test_a_file_that_the_class_of_the_model_cannot_read_is_used_as_it_is(tmp_path: Path) -> None:
    folder = save_seq2seq(tmp_path / "m", "t5")
    change(folder / "tokenizer_config.json", tokenizer_class="T5Tokenizer")  # Unigram; the file is another
    model: Any = seq2seq.load(ModelSpec("seq2seq", str(folder), options={"device": "cpu", "engine": "transformers"}))
    assert model.generate(["the boy"])


def test_special_tokens_stay_those_of_the_settings(tmp_path: Path) -> None:
    folder = tiny.save_causal(tmp_path / "m", "qwen2", tokenizer=KINDS["words"](TEXTS), num_key_value_heads=4)
    assert opened(folder).options["bos"] == "yes"
    change(folder / "tokenizer_config.json", bos_token=None)
    assert opened(folder).options["bos"] == "no"


def test_special_tokens_of_the_class_stay_where_the_file_has_them(tmp_path: Path) -> None:
    folder = tiny.save_causal(tmp_path / "m", "llama", tokenizer=KINDS["words"](TEXTS))
    change(folder / "tokenizer_config.json", tokenizer_class="LlamaTokenizer", bos_token=None)
    assert opened(folder).options["bos"] == "yes"  # LlamaTokenizer has <s>, and so has the file


def test_a_tokenizer_handed_over_that_differs_from_its_file_is_used_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny.save_causal(tmp_path / "m", "qwen2", tokenizer=KINDS["words"](TEXTS), num_key_value_heads=4)
    own = AutoTokenizer.from_pretrained(folder)
    wug.open_model(AutoModelForCausalLM.from_pretrained(folder), tokenizer=own)
    assert any("differently from the model's files" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    ("part", "step"),
    [
        ("normalizer", {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}),
        ("normalizer", {"type": "Replace", "pattern": {"Regex": "(?=.)"}, "content": "xxxx"}),
        ("decoder", {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}),
    ],
)
def test_a_tokenizer_that_can_blow_up_a_text_is_refused(tmp_path: Path, part: str, step: dict[str, Any]) -> None:
    folder = tiny.save_causal(tmp_path / "m", "gpt2", tokenizer=KINDS["words"](TEXTS))
    change(folder / "tokenizer.json", **{part: {"type": "Sequence", f"{part}s": [step] * 8}})
    with pytest.raises(ModelError, match=r"refused: the normalizers or decoders of .*tokenizer\.json can make a text"):
        opened(folder)


def test_normalizers_that_hardly_lengthen_a_text_are_taken(tmp_path: Path) -> None:
    folder = tiny.save_causal(tmp_path / "m", "gpt2", tokenizer=KINDS["words"](TEXTS))
    steps = [
        {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        {"type": "Lowercase"},
    ]
    change(folder / "tokenizer.json", normalizer={"type": "Sequence", "normalizers": steps})
    assert spans(opened(folder), "the boy") == [(0, 3), (4, 7)]


@pytest.mark.parametrize("content", ["{", '{"model": {}, "normalizer": 5}', "[]", "[" * 5000])
def test_a_damaged_tokenizer_file_is_named(tmp_path: Path, content: str) -> None:
    folder = tiny.save_causal(tmp_path / "m", "gpt2")
    (folder / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        opened(folder)


def test_a_vocabulary_larger_than_the_embeddings_is_refused(tmp_path: Path) -> None:
    folder = tiny.save_causal(tmp_path / "m", "gpt2", vocab_size=300, bos_token_id=0)
    tiny.byte_level_tokenizer(vocabulary=310).save_pretrained(folder)
    with pytest.raises(ModelError, match=r"10 tokens of the tokenizer \(such as .*, id 300\) are beyond .* 300 embedd"):
        opened(folder)


@pytest.mark.parametrize("architecture", ["gpt2", "mamba"])
def test_an_added_token_without_an_embedding_is_refused_where_a_text_has_it(tmp_path: Path, architecture: str) -> None:
    tokenizer = tiny.byte_level_tokenizer(vocabulary=300)
    folder = tiny.save_causal(tmp_path / "m", architecture, tokenizer=tokenizer)
    tokenizer.add_special_tokens({"pad_token": "<pad>"})  # its id is 300, and the model has the embeddings 0 to 299
    tokenizer.save_pretrained(folder)
    model = opened(folder)
    assert spans(model, "the boy")
    with pytest.raises(ModelError, match=r"the token '<pad>' \(id 300\) is beyond the model's 300 embeddings"):
        model.score([Request("the <pad> boy")])


def test_a_source_with_a_token_without_an_embedding_is_refused(tmp_path: Path) -> None:
    folder = save_seq2seq(tmp_path / "m", "t5")

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"extra_special_tokens": ["<far>"]})
    tokenizer.save_pretrained(folder)
    for engine in ("transformers", "auto"):
        model: Any = seq2seq.load(ModelSpec("seq2seq", str(folder), options={"device": "cpu", "engine": engine}))
        with pytest.raises(ModelError, match=r"<far>"):
            model.generate(["the <far> boy"])


def without_alphabet() -> Any:
    """As GPT-2's, but with those bytes alone that the training texts have: those of others are dropped."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.train_from_iterator(["the boy swims"], trainers.BpeTrainer(special_tokens=["<s>"], show_progress=False))
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")


def without_unknown_token() -> Any:
    """Characters that its vocabulary lacks are dropped."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(special_tokens=["<s>", "[MASK]"], show_progress=False)
    backend.train_from_iterator(["the boy swims"], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", mask_token="[MASK]", pad_token="<s>")


DROPPED = ("lack characters that the tokenizer drops",)


@pytest.mark.parametrize("make", [without_alphabet, without_unknown_token])
def test_answers_that_lack_dropped_characters_say_so(tmp_path: Path, make: Any) -> None:
    model = opened(tiny.save_causal(tmp_path / "m", "gpt2", tokenizer=make()))
    whole, part, none = model.score([Request("the boy"), Request("the 日本 boy"), Request("日本")])
    assert (whole.notices, part.notices, none.notices) == ((), DROPPED, DROPPED)
    assert none.starts == ()


def test_answers_of_masked_models_that_lack_dropped_characters_say_so(tmp_path: Path) -> None:
    folder = save_masked(tmp_path / "m", "bert", tokenizer=without_unknown_token())
    model = masked.load(ModelSpec("masked", str(folder), options={"device": "cpu"}))
    whole, part = model.score([Request("the boy"), Request("the 日本 boy")])
    assert (whole.notices, part.notices) == ((), DROPPED)


@pytest.mark.parametrize("kind", ["byte-level BPE", "BPE", "WordPiece", "Unigram"])
def test_answers_of_tokenizers_that_drop_nothing_say_nothing(tmp_path: Path, kind: str) -> None:
    model = opened(tiny.save_causal(tmp_path / "m", "gpt2", tokenizer=KINDS[kind](TEXTS)))
    assert [answer.notices for answer in model.score([Request(text) for text in ["ʘ日 e\u0301", *PROBES]])] == [()] * 4


def test_a_tokenizer_whose_expression_gives_up_on_a_text_is_a_message(tmp_path: Path) -> None:
    folder = tiny.save_causal(tmp_path / "m", "gpt2", tokenizer=KINDS["words"](TEXTS))
    split = {"type": "Split", "pattern": {"Regex": r"(([a-z ]+)+)+\?"}, "behavior": "Isolated", "invert": False}
    change(folder / "tokenizer.json", pre_tokenizer=split)
    model = opened(folder)
    with pytest.raises(ModelError, match=r"the tokenizer fails on a text: .*retry-limit-in-match over"):
        model.score([Request("the keys to the cabinet are on the table and nobody saw them here!")])


@pytest.mark.parametrize("code", ["pass", "def __init__(self, *args, **kwargs): super().__init__(*args, **kwargs)"])
def test_a_models_own_tokenizer_class_is_used_if_trusted_and_equal_to_the_file(
    tmp_path: Path, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny.save_causal(tmp_path / "m", "gpt2", tokenizer=KINDS["words"](TEXTS))
    own = f"from transformers import PreTrainedTokenizerFast\nclass Own(PreTrainedTokenizerFast):\n    {code}\n"
    (folder / "own.py").write_text(own, encoding="utf-8")
    change(folder / "tokenizer_config.json", tokenizer_class="Own", auto_map={"AutoTokenizer": ["own.Own", None]})
    assert spans(opened(folder), "the boy") == [(0, 3), (4, 7)]
    assert "the tokenizer's code of its own (own.Own) is not run" in caplog.text
    if code == "pass":
        assert spans(opened(folder, trust_remote_code="yes"), "the boy") == [(0, 3), (4, 7)]
    else:  # transformers rebuilds it from the vocabulary alone
        with pytest.raises(
            ModelError, match=r"code of its own \(own\.Own\) tokenizes .* differently from tokenizer\.json"
        ):
            opened(folder, trust_remote_code="yes")
