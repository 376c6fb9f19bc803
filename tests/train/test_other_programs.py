"""Trained and built-in models in other programs: by the conventions of each, the numbers are those of wug.

The conventions are written down here in a few lines each, from the programs' sources: plain transformers, lm-eval
0.4.13, minicons 0.3.39 and the BabyLM evaluation pipeline of 2025.
"""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM, AutoTokenizer

from answers import texts
from command_line import wug
from reference import reference
from wug.evaluation.models import builtin_models, open_model
from wug.files import read_lines
from wug.requests import Request

SUBJECTS = ("The cat", "A dog", "The old man", "My aunt")
PREDICATES = ("sleeps.", "saw a bird.", "ran.", "left him.")
SENTENCES = [f"{subject} {predicate}" for subject, predicate in itertools.product(SUBJECTS, PREDICATES)]
SCORED = ["The cat saw a bird.", "My aunt ran.", "Dogs  bark at naïve cats", "Ran."]
SIZES = "--layers 1 --embedding-size 16 --ffn-size 16 --batch-size 4"
TINY = f"{SIZES} --steps 40 --learning-rate 0.02 --device cpu".split()
CAUSAL, MASKED = ("trained-causal", "wug-causal"), ("trained-masked", "wug-masked")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models of each kind that `wug train` saves in the Hugging Face layout, and the built-in ones."""
    folder = tmp_path_factory.mktemp("models")
    text = folder / "text.txt"
    text.write_text("\n".join(SENTENCES * 4) + "\n", encoding="utf-8")
    (folder / "train.src").write_text("copy A B\nreverse A B\n" * 8, encoding="utf-8")
    (folder / "train.tgt").write_text("A B\nB A\n" * 8, encoding="utf-8")
    rows = ("--vocab", 300, "--context-length", 16)
    for kind, source, more in (("causal", text, rows), ("masked", text, rows), ("seq2seq", folder, ())):
        said = wug("train", kind, source, "-o", folder / f"trained-{kind}", *TINY, "--heads", 2, *more)
        assert said.code == 0, said.err
    return {**{path.name: path for path in folder.glob("trained-*")}, **builtin_models()}


def causal(folder: Path) -> tuple[Any, Any]:
    """The model and the tokenizer as transformers gives them, in float32."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(folder)


def by_wug(folder: Path, requests: list[Request], **options: str) -> list[float]:
    """The sums of log-probabilities that wug gives."""
    found = open_model(str(folder), {"device": "cpu", **options}).score(requests)
    return [scored.logprob(*(request.span or ())) for scored, request in zip(found, requests, strict=True)]


def log_probabilities(model: Any, ids: list[int]) -> list[float]:
    """The log-probability of every token but the first."""
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, :-1]
    return [float(row[token]) for row, token in zip(logits.log_softmax(-1), ids[1:], strict=True)]


@pytest.mark.parametrize("name", CAUSAL)
def test_the_default_encoding_of_a_causal_model_begins_with_the_bos_token_once(
    folders: dict[str, Path], name: str
) -> None:
    _, tokenizer = causal(folders[name])
    plain = tokenizer("My aunt ran.", add_special_tokens=False)["input_ids"]
    assert tokenizer("My aunt ran.")["input_ids"] == [tokenizer.bos_token_id, *plain]


@pytest.mark.parametrize("name", CAUSAL)
def test_the_settings_of_a_causal_models_tokenizer_say_that_it_adds_bos(folders: dict[str, Path], name: str) -> None:
    assert json.loads((folders[name] / "tokenizer_config.json").read_text(encoding="utf-8"))["add_bos_token"] is True


@pytest.mark.parametrize("name", [*CAUSAL, *MASKED, "trained-seq2seq", "wug-pcfg", "wug-cogs"])
def test_a_tokenizer_has_a_class_that_transformers_4_knows_as_well(folders: dict[str, Path], name: str) -> None:
    settings = json.loads((folders[name] / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert settings["tokenizer_class"] == "PreTrainedTokenizerFast"


def sums_of_wug(folder: Path) -> Any:
    return pytest.approx(by_wug(folder, [Request(text) for text in SCORED]), abs=1e-3)


@pytest.mark.parametrize("name", CAUSAL)
def test_plain_transformers_gives_the_numbers_of_wug(folders: dict[str, Path], name: str) -> None:
    model, tokenizer = causal(folders[name])
    sums = [sum(log_probabilities(model, tokenizer(text)["input_ids"])) for text in SCORED]
    assert sums == sums_of_wug(folders[name])


@pytest.mark.parametrize("name", CAUSAL)
def test_lm_eval_gives_the_numbers_of_wug(folders: dict[str, Path], name: str) -> None:
    """A text without context is encoded without special tokens, after the BOS token."""
    model, tokenizer = causal(folders[name])
    sums = []
    for text in SCORED:
        continuation = tokenizer.encode(text, add_special_tokens=False)
        sums.append(sum(log_probabilities(model, [tokenizer.bos_token_id, *continuation])))
    assert sums == sums_of_wug(folders[name])


@pytest.mark.parametrize("name", CAUSAL)
def test_lm_eval_gives_the_numbers_of_wug_for_a_continuation(folders: dict[str, Path], name: str) -> None:
    """Context and continuation are encoded together, by default, and split after as many tokens as the context has."""
    model, tokenizer = causal(folders[name])
    context, continuation = "My aunt", " saw a bird."
    whole, given = tokenizer.encode(context + continuation), tokenizer.encode(context)
    asked = Request(context + continuation, (len(context), len(context + continuation)))
    total = sum(log_probabilities(model, whole)[len(given) - 1 :])
    assert [total] == pytest.approx(by_wug(folders[name], [asked]), abs=1e-3)


@pytest.mark.parametrize("name", CAUSAL)
def test_minicons_gives_the_numbers_of_wug(folders: dict[str, Path], name: str) -> None:
    """Texts are padded on the right with the EOS token; what the attention mask shows counts, but the first token."""
    model, tokenizer = causal(folders[name])
    tokenizer.pad_token, tokenizer.padding_side = tokenizer.eos_token, "right"
    encoded = tokenizer(SCORED, return_tensors="pt", padding=True)
    with torch.no_grad():
        logits = model(**encoded).logits.log_softmax(-1)
    sums = []
    for row, ids, mask in zip(logits, encoded["input_ids"].tolist(), encoded["attention_mask"].tolist(), strict=True):
        shown = [token for token, seen in zip(ids, mask, strict=True) if seen][1:]
        sums.append(sum(float(row[place, token]) for place, token in enumerate(shown)))
    assert sums == sums_of_wug(folders[name])


@pytest.mark.parametrize("name", CAUSAL)
def test_the_babylm_pipeline_gives_the_numbers_of_wug(folders: dict[str, Path], name: str) -> None:
    """Tokens whose offsets end after the first character of the completion count: not the BOS token, at (0, 0)."""
    model, tokenizer = causal(folders[name])
    sums = []
    for text in SCORED:
        encoded = tokenizer(text, return_offsets_mapping=True)
        counted = [end > 0 for _, end in encoded["offset_mapping"]]
        values = log_probabilities(model, encoded["input_ids"])
        sums.append(sum(value for value, counts in zip(values, counted[1:], strict=True) if counts))
    assert sums == sums_of_wug(folders[name])


def test_the_babylm_pipeline_of_2025_itself_gave_the_numbers_of_wug() -> None:
    """Its log-probabilities of 1,800 pairs, recorded with this tokenizer; accuracy is 77.06% where ties count."""
    recorded = reference("exchange/babylm/pipeline_2025/bos/logprobs.json.gz")
    pairs = json.loads(gzip.decompress(recorded.read_bytes()))
    asked: list[Request] = []
    for paradigm in dict.fromkeys(name for name, _ in pairs):
        for line in itertools.islice(read_lines(reference(f"pairs/blimp/{paradigm}.jsonl.gz")), 300):
            pair = json.loads(line)
            asked += [Request(pair["sentence_good"]), Request(pair["sentence_bad"])]
    expected = [value for _, both in pairs for value in both]
    found = by_wug(builtin_models()["wug-causal"], asked)
    assert found == pytest.approx(expected, abs=1e-3)
    right = sum(good >= bad for good, bad in zip(found[::2], found[1::2], strict=True))
    assert round(100 * right / len(pairs), 2) == 77.06


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("pll", ["original", "within_word_l2r"])
def test_minicons_and_the_babylm_pipeline_give_the_pseudo_log_likelihoods_of_wug(
    folders: dict[str, Path], name: str, pll: str
) -> None:
    """By default encoding, tokens of the text are masked one by one, or with the rest of their word as well."""
    model = AutoModelForMaskedLM.from_pretrained(folders[name], dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folders[name])
    sums = []
    for text in SCORED:
        encoded = tokenizer(text)
        ids, words = encoded["input_ids"], encoded.word_ids()
        assert (ids[0], ids[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
        total = 0.0
        for place, word in enumerate(words):
            if word is None:
                continue
            masked = list(ids)
            later = [at for at in range(place + 1, len(ids)) if words[at] == word and pll == "within_word_l2r"]
            for hidden in (place, *later):
                masked[hidden] = tokenizer.mask_token_id
            with torch.no_grad():
                total += float(model(torch.tensor([masked])).logits[0, place].log_softmax(-1)[ids[place]])
        sums.append(total)
    assert sums == pytest.approx(by_wug(folders[name], [Request(text) for text in SCORED], pll=pll), abs=1e-3)


@pytest.mark.parametrize(
    ("name", "source"),
    [("trained-seq2seq", "reverse A B"), ("wug-pcfg", "copy A1 B2"), ("wug-cogs", "A woman slept .")],
)
def test_plain_transformers_writes_the_answers_of_wug(folders: dict[str, Path], name: str, source: str) -> None:
    model = AutoModelForSeq2SeqLM.from_pretrained(folders[name], dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folders[name])
    encoded = tokenizer(source, return_tensors="pt")
    assert encoded["input_ids"][0, -1] == tokenizer.eos_token_id
    written = tokenizer.decode(model.generate(**encoded, max_new_tokens=30)[0], skip_special_tokens=True)
    assert [written] == texts(open_model(str(folders[name]), {"device": "cpu"}).generate([source]))
