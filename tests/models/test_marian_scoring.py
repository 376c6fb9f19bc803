"""Marian models as they are published, with a tokenizer in Python, score as plain transformers does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from wug.errors import InputError
from wug.models import ModelSpec, seq2seq
from wug.requests import Request

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses:UserWarning")

SOURCES = ["a lamp", "the guard swims near the tall authors", "who saw the boy"]
TEXTS = [
    "the keys to the cabinet are here",
    "nobody saw  the authors",
    " ﬁne… the naïve ½ wugs",  # letters that SentencePiece takes apart before it looks them up
    "wugs",
    "東京 is what she gave",  # unknown
]


@pytest.fixture(scope="module")
def opus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two SentencePiece models and one vocabulary: end mark first, pad mark last, which begins answers."""
    folder = tmp_path_factory.mktemp("opus")
    names: set[str] = set()
    for name, texts in (("source", SOURCES), ("target", TEXTS[:-1])):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts * 20),
            model_prefix=str(folder / name),
            vocab_size=60,
            hard_vocab_limit=False,
            character_coverage=1.0,
            minloglevel=2,
        )
        (folder / f"{name}.model").rename(folder / f"{name}.spm")
        pieces = sentencepiece.SentencePieceProcessor(str(folder / f"{name}.spm"))
        names |= {pieces.id_to_piece(number) for number in range(pieces.get_piece_size())}
    whole = ["</s>", "<unk>", *sorted(names - {"<s>", "</s>", "<unk>"}), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(whole)}))
    files = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    MarianTokenizer(*files).save_pretrained(folder)
    pad = len(whole) - 1
    torch.manual_seed(4)
    size = {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in SIZES.items()}
    model = MarianMTModel(
        MarianConfig(
            vocab_size=len(whole), d_model=32, max_position_embeddings=64,
            pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=0, **size,
        )
    )  # fmt: skip
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.3)
    model.save_pretrained(folder)
    return folder


SIZES = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}


def load(folder: Path, **options: str) -> Any:
    return seq2seq.load(ModelSpec("seq2seq", str(folder), options={"device": "cpu", "score": "source", **options}))


def test_each_token_has_the_log_probability_of_plain_transformers_and_its_own_place(opus: Path) -> None:
    model, tokenizer = MarianMTModel.from_pretrained(opus).eval(), MarianTokenizer.from_pretrained(opus)
    assert not tokenizer.is_fast
    asked = [Request(text, source=source) for text in TEXTS for source in SOURCES]
    for request, scored in zip(asked, load(opus, eos="yes").score(asked), strict=True):
        labels = tokenizer(text_target=request.text, return_tensors="pt")["input_ids"]
        source = tokenizer(request.source, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logits = model(input_ids=source, labels=labels).logits[0]
        expected = torch.log_softmax(logits.double(), -1).gather(1, labels.T)[:, 0].tolist()
        assert scored.logprobs == pytest.approx(expected, abs=1e-4)
        spans = list(zip(scored.starts, scored.ends, strict=True))
        letters = "".join(request.text[a:b] for a, b in spans)
        assert letters.replace(" ", "") == request.text.replace(" ", "")
        assert spans[-1] == (len(request.text), len(request.text))


def test_places_are_those_of_the_letters_that_were_written(opus: Path) -> None:
    text = " ﬁne… the naïve ½ wugs"
    (scored,) = load(opus).score([Request(text)])
    spans = list(zip(scored.starts, scored.ends, strict=True))
    for word in ("ﬁne…", "the", "naïve", "½", "wugs"):
        start = text.index(word)
        within = [(a, b) for a, b in spans if start <= a < start + len(word)]
        assert within[0][0] == start
        assert within[-1][1] == start + len(word)


def test_a_question_about_a_part_goes_as_far_as_that_part(opus: Path) -> None:
    text = TEXTS[0]
    scorer = load(opus)
    whole, part = scorer.score([Request(text), Request(text, span=(0, text.index(" cabinet")))])
    assert part.logprobs == pytest.approx(whole.logprobs[: len(part.logprobs)], abs=1e-4)
    assert part.ends[-1] == text.index(" cabinet")


@pytest.mark.parametrize("text", ["the </s> keys", ">>de<< the keys"])
def test_a_text_with_marks_of_the_tokenizer_is_refused_with_the_text(opus: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"token offsets of this text are unknown"):
        load(opus).score([Request(text)])
