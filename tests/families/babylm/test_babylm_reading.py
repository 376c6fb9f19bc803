"""BabyLM's reading times against the pipeline's own arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

import wug as api
from babylm_times import COLUMNS, WORDS, table
from command_line import refused, wug
from tiny_masked import save_masked
from wug.errors import ModelError
from wug.families.babylm import read
from wug.families.babylm.suite import reading_scores
from wug.families.babylm.tasks import BabylmItem, read_task
from wug.models import causal, masked
from wug.models.spec import ModelSpec
from wug.outcomes import Estimate
from wug.requests import Request, text_of

CONTEXTS = ("The cat", "The unbelievable dog sees", "A", "  The cat ")


def next_token(model: Any, tokenizer: Any, context: str, masks: int, target: int) -> float:
    """The probability of a token after a context, as the pipeline computes it."""
    text = context + tokenizer.mask_token * masks if masks else context
    inputs = tokenizer(text, return_tensors="pt")
    last_is_mask = masks and inputs.input_ids[0, -1] == tokenizer.mask_token_id
    place = -1 if not masks else -masks if last_is_mask else -(masks + 1)
    with torch.no_grad():
        logits = model(input_ids=inputs.input_ids, attention_mask=inputs.attention_mask).logits[0, place]
    return float(torch.softmax(logits, dim=-1)[target])


def pipeline(model: Any, tokenizer: Any, context: str, word: str, masks: int = 0) -> float:
    """get_p2 and get_p2_mlm of the pipeline: surprisal in nats, token by token, each context tokenized again."""
    target = tokenizer(word, add_special_tokens=False)["input_ids"]
    found = next_token(model, tokenizer, context, masks, target[0])
    context += tokenizer.decode(target[0])
    for token in target[1:]:
        piece = tokenizer.decode(token)
        found *= next_token(
            model, tokenizer, context, masks, tokenizer(piece, add_special_tokens=False)["input_ids"][0]
        )
        context += piece
    return -math.log(found)


def requests() -> list[Request]:
    return [Request(context + word, separate_word_start=len(context)) for context in CONTEXTS for word in WORDS]


@pytest.mark.parametrize("bos", ["tokenizer", "no"])
def test_words_after_their_contexts_have_the_surprisals_of_the_pipeline(
    bos: str, tiny_causal: Callable[..., Path]
) -> None:
    folder = tiny_causal()
    scored = causal.load(ModelSpec("causal", str(folder), options={"bos": bos})).score(requests())
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    if bos == "no":
        tokenizer.backend_tokenizer.post_processor = None
    expected = [pipeline(model.eval(), tokenizer, context, word) for context in CONTEXTS for word in WORDS]
    assert [-one.logprob() for one in scored] == pytest.approx(expected, abs=1e-4)
    assert any(len(one.starts) > 1 for one in scored)


def test_masked_models_read_a_word_at_the_first_of_three_masks(tmp_path: Path) -> None:
    folder = save_masked(tmp_path)
    scored = masked.load(ModelSpec("masked", str(folder))).score(requests())
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder)
    expected = [pipeline(model.eval(), tokenizer, context, word, 3) for context in CONTEXTS for word in WORDS]
    assert [-one.logprob() for one in scored] == pytest.approx(expected, abs=1e-4)


def test_the_scores_are_those_of_statsmodels_formulas(tmp_path: Path) -> None:
    path = table(tmp_path / "reading" / "reading_data.csv")
    items = read_task("reading", path.parent)
    random = np.random.default_rng(1)
    found = [(float(a), float(b) if len(i.texts) > 1 else math.nan) for i, (a, b) in
             zip(items, random.gamma(3, 2, (len(items), 2)), strict=True)]  # fmt: skip
    ours = {one.metric: one.value for one in reading_scores(items, found) if isinstance(one, Estimate)}
    data = pd.read_csv(path, dtype={"item": str})
    data["pred"], data["prev_pred"] = zip(*found, strict=True)

    def gain(measure: str, base: str, columns: list[str]) -> float:
        both = []
        for formula, more in ((base, []), (f"{base} + pred", ["pred"])):
            rows = data[[measure, *columns, *more]].dropna()
            both.append(float(smf.ols(f"{measure} ~ {formula}", data=rows).fit().rsquared))
        return 100 * (both[1] - both[0]) / (1 - both[0])

    three = ["Subtlex_log10", "length", "context_length"]
    eyes = [gain(name, f"({' + '.join(three)})**2", three) for name in COLUMNS[4:8]]
    five = [*three, "prev_length", "prev_pred"]
    assert ours["eye_tracking"] == pytest.approx(sum(eyes) / 4)
    assert ours["self_paced"] == pytest.approx(gain("self_paced_reading_time", f"({' + '.join(five)})**2", five))


def test_a_context_that_pandas_reads_as_missing_is_the_word_none(tmp_path: Path) -> None:
    items = read_task("reading", table(tmp_path / "reading" / "reading_data.csv").parent)
    assert items[0].texts == ("Nonesleeps",)
    assert items[1].texts == ("The catunbelievable", "Thecat")


def test_the_folder_gives_the_score_of_the_protocol_and_one_with_a_space(tmp_path: Path) -> None:
    [plain, spaced] = read(table(tmp_path / "reading" / "reading_data.csv").parent, {})
    assert list(map(text_of, spaced.requests()))[1:3] == ["The cat unbelievable", "The cat"]
    assert list(map(text_of, plain.requests()))[1:3] == ["The catunbelievable", "Thecat"]
    assert any("60 items and not 1,726" in text for text in plain.notices)  # type: ignore[attr-defined]


def test_too_few_rows_have_no_score() -> None:
    values = dict.fromkeys(COLUMNS[4:], 1.0)
    items = [BabylmItem("reading", ("a b",), ("b",), ("a b",), values=values)] * 5
    assert not any(isinstance(one, Estimate) for one in reading_scores(items, [(1.0, 1.0)] * 5))


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        (lambda text: text.replace("prev_length", "other"), "prev_length"),
        (lambda text: text.replace("NA", "fast"), "fast"),
        (lambda text: text.replace("NA", "inf"), "not a finite number"),
        (lambda text: text.splitlines()[0] + "\n", "is empty"),
        (lambda text: text + "a,b\n", "line 62"),
    ],
)
def test_damaged_reading_times_are_refused_with_their_place(
    damage: Callable[[str], str], part: str, tmp_path: Path
) -> None:
    path = table(tmp_path / "reading" / "reading_data.csv")
    path.write_text(damage(path.read_text()))
    refused(wug("run", path.parent, "--protocol", "babylm", "--no-save"), "reading_data.csv", part)


def test_tables_with_a_byte_order_mark_and_crlf_read_alike(tmp_path: Path) -> None:
    path = table(tmp_path / "a" / "reading" / "reading_data.csv")
    other = tmp_path / "b" / "reading" / "reading_data.csv"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert [one.checksum for one in read(path.parent, {})] == [one.checksum for one in read(other.parent, {})]


def test_a_model_that_cannot_tokenize_a_word_apart_is_refused() -> None:
    with pytest.raises(ModelError, match="cannot tokenize a word apart from its context"):
        api.open_model("wug-lstm").score(Request("The cat", separate_word_start=4))
