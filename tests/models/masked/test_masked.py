"""Masked models score as one plain pass for each masked copy does, whatever the batch."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoModelForMaskedLM, AutoTokenizer, BertForMaskedLM

import tiny
import tiny_masked
import wug
from answers import assert_same, assert_same_scores
from case_selection import examples, share
from wug.errors import InputError, ModelError, UnknownName
from wug.models import masked
from wug.models.huggingface.cpu import prepack
from wug.models.masked import MaskedPlan, MaskedTargets
from wug.models.spec import ModelSpec
from wug.models.tokenization.ragged import Ragged
from wug.requests import Request

Maker = Callable[..., Path]
METRICS = ["within_word_l2r", "original"]
ALL_METRICS = [*METRICS, "whole_word", "global_l2r"]
TEXTS = [
    *tiny.sentences(12, seed=3),
    "",
    " ",
    "the boy  swims .",
    "dog's tall, isn't it?",
    "日本 the café (3.5 %)",
    "unbelievable dogs' lamps",
    "  a girl ",
]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """A function that gives the folder of a tiny masked model of an architecture, made once."""
    made: dict[str, Path] = {}

    def make(architecture: str = "bert") -> Path:
        if architecture not in made:
            made[architecture] = tiny_masked.save_masked(tmp_path_factory.mktemp(architecture), architecture)
        return made[architecture]

    return make


def load(folder: Path, **options: str) -> masked.MaskedModel:
    return masked.load(ModelSpec("masked", str(folder), options={"device": "cpu", **options}))


class Plain:
    """transformers alone: one masked copy, one pass, no batch, no padding."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.network = AutoModelForMaskedLM.from_pretrained(folder).eval()

    def logprob(self, ids: Sequence[int], hidden: Sequence[int], asked: int) -> float:
        """Of the token at place `asked`, with the places `hidden` masked."""
        copy = [self.tokenizer.mask_token_id if place in hidden else token for place, token in enumerate(ids)]
        with torch.no_grad():
            logits = self.network(input_ids=torch.tensor([copy])).logits[0, asked]
        return float(logits.log_softmax(-1)[ids[asked]])

    def logprobs(self, text: str, metric: str) -> list[float]:
        encoded = self.tokenizer(text)
        ids, words = encoded["input_ids"], encoded.word_ids()
        found = []
        for place in range(1, len(ids) - 1):
            word = [p for p in range(1, len(ids) - 1) if words[p] == words[place]]
            hidden = {
                "original": [place],
                "within_word_l2r": [p for p in word if p >= place],
                "whole_word": word,
                "global_l2r": list(range(place, len(ids))),
            }
            found.append(self.logprob(ids, hidden[metric], place))
        return found


@pytest.mark.parametrize("metric", ["whole_word", "global_l2r"])
def test_the_other_ways_of_masking_equal_plain_passes(tiny_model: Maker, metric: str) -> None:
    folder, texts = tiny_model(), ["unbelievable dogs' lamps", "the boy swims ."]
    plain = Plain(folder)
    assert len(plain.logprobs(texts[0], metric)) > 3, "some word has several tokens"
    for text, scored in zip(texts, load(folder, pll=metric).score([Request(text) for text in texts]), strict=True):
        assert_same(scored.logprobs, plain.logprobs(text, metric))


@pytest.mark.parametrize(("architecture", "metric"), share(product(["bert", "roberta", "xlm-roberta"], ALL_METRICS), 4))
def test_scores_equal_one_plain_pass_for_each_masked_copy(tiny_model: Maker, architecture: str, metric: str) -> None:
    folder = tiny_model(architecture)
    plain = Plain(folder)
    for text, scored in zip(TEXTS, load(folder, pll=metric).score([Request(text) for text in TEXTS]), strict=True):
        assert_same(scored.logprobs, plain.logprobs(text, metric))


@pytest.mark.parametrize(
    "architecture", ["distilbert", "albert", "electra", "deberta-v2", "modernbert", "fnet", "bart"]
)
def test_the_output_layer_runs_only_where_a_mask_is_and_gives_the_same(
    tiny_model: Maker, architecture: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny_model(architecture)
    with caplog.at_level(logging.WARNING, "wug"):
        model = load(folder)
    assert model.engine.narrow is not None
    assert "slower" not in caplog.text
    plain, texts = Plain(folder), tiny.sentences(8, seed=6)
    for text, scored in zip(texts, model.score([Request(text) for text in texts]), strict=True):
        assert_same(scored.logprobs, plain.logprobs(text, "within_word_l2r"))


@pytest.mark.parametrize("metric", METRICS)
def test_scores_and_linking_functions_equal_those_of_minicons(tmp_path: Path, metric: str) -> None:
    record = json.loads(Path(__file__).with_name("minicons.json").read_text(encoding="utf-8"))
    texts = record["texts"]
    path = tmp_path / "pairs.jsonl"
    rows = ({"sentence_good": good, "sentence_bad": bad} for good, bad in zip(texts[::2], texts[1::2], strict=True))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    model = wug.open_model("wug-masked", device="cpu", options={"pll": metric})
    for scored, expected in zip(model.score(texts), record[metric], strict=True):
        assert_same(scored.logprobs, expected)
    outcomes = wug.run(path, model, options={"link": "sum,token"}).outcomes.to_pandas()
    for name, link in (("accuracy", "sum"), ("accuracy:token", "token")):
        found = outcomes[outcomes["metric"] == name][["score_good", "score_bad"]].to_numpy().ravel()
        assert found == pytest.approx(record[f"{metric}, {link}"], abs=1e-4)


@pytest.fixture(scope="module")
def in_company(tiny_model: Maker) -> dict[tuple[str, str], masked.MaskedModel]:
    """HubModel once: a property test asks them many times."""
    kinds = [("bert", "within_word_l2r"), ("roberta", "original"), ("fnet", "within_word_l2r")]
    return {(kind, metric): load(tiny_model(kind), pll=metric) for kind, metric in kinds}


@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_scores_do_not_depend_on_batch_order_or_duplicates(
    in_company: dict[tuple[str, str], masked.MaskedModel], data: st.DataObject
) -> None:
    model = in_company[data.draw(st.sampled_from(sorted(in_company)))]
    words = st.lists(st.sampled_from(tiny.WORDS), min_size=0, max_size=10).map(" ".join)
    texts = data.draw(st.lists(words | st.text(max_size=8), min_size=1, max_size=12))
    alone = {text: model.score([Request(text)])[0].logprobs for text in texts}
    model.engine.nodes = data.draw(st.sampled_from([1, 40, 300, 4096]))
    many = texts + data.draw(st.permutations(texts))
    for text, scored in zip(many, model.score([Request(text) for text in many]), strict=True):
        assert_same(scored.logprobs, alone[text])


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_every_target_has_its_masked_copy(data: st.DataObject) -> None:
    tokens = st.lists(st.integers(0, 3), min_size=1, max_size=6)
    sequences = data.draw(st.lists(tokens, min_size=1, max_size=8))
    questions = []
    for _ in range(data.draw(st.integers(0, 25))):
        number = data.draw(st.integers(0, len(sequences) - 1))
        place = data.draw(st.integers(0, len(sequences[number]) - 1))
        questions.append((number, place, data.draw(st.integers(place + 1, len(sequences[number])))))
    columns = np.array(questions, dtype=np.int64).reshape(-1, 3).T
    of, places, stops = columns
    planned = MaskedPlan.of(Ragged.of(sequences), MaskedTargets(of, places, places, stops), mask=9)
    nodes, padding = data.draw(st.integers(1, 60)), data.draw(st.booleans())
    answered = {}
    first = 0
    while first < len(planned.order):
        last = planned.cut(first, nodes, padding=padding)
        batch = planned.batch(first, last, pad=8)
        assert batch.tokens.size <= max(nodes, batch.tokens.shape[1])
        assert padding or (batch.lengths == batch.tokens.shape[1]).all()
        rows = [tuple(row[:size]) for row, size in zip(batch.tokens.tolist(), batch.lengths.tolist(), strict=True)]
        assert len(set(zip(rows, batch.positions.tolist(), strict=True))) == len(rows)
        for row, target, where in zip(batch.rows, batch.targets, batch.where, strict=True):
            answered[int(where)] = (rows[row], int(batch.positions[row]), int(target))
        first = last
    for number, (sequence, place, stop) in enumerate(questions):
        text = sequences[sequence]
        assert answered[number] == ((*text[:place], *[9] * (stop - place), *text[stop:]), place, text[place])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_a_span_is_masked_as_a_whole_and_its_pieces_scored_from_left_to_right(
    tiny_model: Maker, architecture: str, metric: str
) -> None:
    folder, text, span = tiny_model(architecture), "the boy unlamped dogs near it", (8, 21)
    assert text[slice(*span)] == "unlamped dogs"
    (scored,) = load(folder, pll=metric).score([Request(text, span)])
    plain = Plain(folder)
    encoded = plain.tokenizer(text, return_offsets_mapping=True)
    inside = [
        place
        for place, (start, end) in enumerate(encoded["offset_mapping"])
        if end > start and span[0] <= start + (text[start] == " ") < span[1]
    ]
    assert len(inside) > 3
    ids = encoded["input_ids"]
    assert_same(scored.logprobs, [plain.logprob(ids, range(place, inside[-1] + 1), place) for place in inside])
    assert (scored.starts[0], scored.ends[-1]) == span
    assert scored.logprob(*span) == pytest.approx(scored.logprob())


def test_a_span_that_ends_within_a_word_masks_the_rest_of_it_too(tiny_model: Maker) -> None:
    folder, text = tiny_model(), "the unlamped boy"
    plain = Plain(folder)
    encoded = plain.tokenizer(text)
    word = [place for place, number in enumerate(encoded.word_ids()) if number == 1]
    assert len(word) > 2
    first = encoded.token_to_chars(word[0])
    (scored,) = load(folder).score([Request(text, (first.start, first.end))])
    assert_same(scored.logprobs, [plain.logprob(encoded["input_ids"], word, word[0])])


def test_a_span_without_a_token_has_no_score(tiny_model: Maker) -> None:
    (scored,) = load(tiny_model()).score([Request("the boy", (3, 4))])
    assert (scored.starts, scored.logprobs) == ((), ())


def test_spans_and_whole_texts_may_be_asked_together(tiny_model: Maker) -> None:
    model = load(tiny_model())
    requests = [Request("the boy swims", (4, 7)), Request("the boy swims"), Request("a girl", (2, 6))]
    together = model.score(requests)
    for request, scored in zip(requests, together, strict=True):
        assert_same(scored.logprobs, model.score([request])[0].logprobs)


def test_special_tokens_written_in_a_text_have_no_probability(tiny_model: Maker) -> None:
    (scored,) = load(tiny_model()).score([Request("the [MASK] boy [SEP]")])
    names = [token.text for token in scored.tokens]
    given = {name: value is not None for name, value in zip(names, scored.logprobs, strict=True)}
    assert given["[MASK]"] is False
    assert given["[SEP]"] is False
    assert given["the"] is True


def test_an_unknown_word_is_named_so_and_has_a_probability(tiny_model: Maker) -> None:
    (scored,) = load(tiny_model()).score([Request("the 日本 boy")])
    assert scored.token_names is not None
    assert scored.token_names[1] == "[UNK]"
    assert scored.logprobs[1] is not None


def test_a_tokenizer_that_splits_no_words_has_them_split_at_white_space(tmp_path: Path) -> None:
    tokenizer = tiny_masked.metaspace_tokenizer(split=False)
    folder = tiny_masked.save_masked(tmp_path, "xlm-roberta", tokenizer=tokenizer)
    text = "the unlamped boy"
    plain = Plain(folder)
    ids = plain.tokenizer(text)["input_ids"]
    names = plain.tokenizer.convert_ids_to_tokens(ids)
    ends = [*[place for place, name in enumerate(names) if name.startswith("▁")][1:], len(ids) - 1]
    stops = [next(end for end in ends if end > place) for place in range(1, len(ids) - 1)]
    assert len(ids) > 5
    (scored,) = load(folder).score([Request(text)])
    expected = [plain.logprob(ids, range(place, stop), place) for place, stop in enumerate(stops, start=1)]
    assert_same(scored.logprobs, expected)


def test_a_model_whose_head_needs_all_positions_is_computed_in_full_with_a_warning(
    tiny_model: Maker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    forward = BertForMaskedLM.forward

    def centred(self: Any, **inputs: Any) -> Any:
        found = forward(self, **inputs)
        found.logits = found.logits - found.logits.mean(dim=1, keepdim=True)
        return found

    monkeypatch.setattr(BertForMaskedLM, "forward", centred)
    with caplog.at_level(logging.WARNING, "wug"):
        model = load(tiny_model())
    assert "at all positions, which is slower" in caplog.text
    (scored,) = model.score([Request("the boy swims")])
    assert_same(scored.logprobs, Plain(tiny_model()).logprobs("the boy swims", "within_word_l2r"))


def test_running_out_of_memory_shrinks_the_batch_and_goes_on(
    tiny_model: Maker, caplog: pytest.LogCaptureFixture
) -> None:
    model = load(tiny_model())
    texts = [Request(text) for text in tiny.sentences(20, seed=2)]
    expected = model.score(texts)
    compute = model.engine._compute

    def cramped(batch: Any, distribution: bool) -> Any:
        if len(batch.tokens) > 3:
            raise torch.OutOfMemoryError("no room")
        return compute(batch, distribution)

    model.engine._compute = cramped  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING, "wug"):
        found = model.score(texts)
    assert "memory ran out" in caplog.text
    assert_same_scores(found, expected)


def test_one_copy_that_does_not_fit_is_an_error_with_a_remedy(tiny_model: Maker) -> None:
    model = load(tiny_model())

    def cramped(batch: Any, distribution: bool) -> Any:
        raise torch.OutOfMemoryError("no room")

    model.engine._compute = cramped  # type: ignore[method-assign]
    with pytest.raises(ModelError, match=r"out of memory for 5 tokens.*bfloat16"):
        model.score([Request("the boy is")])


def test_undoing_the_layout_of_the_weights_gives_them_back(tiny_model: Maker) -> None:
    network = Plain(tiny_model()).network
    before = {name: value.clone() for name, value in network.state_dict().items()}
    prepack(network)()
    assert before.keys() == network.state_dict().keys()
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


def test_old_spellings_of_bert_are_looked_up_under_the_name_of_the_hub(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wug"), pytest.raises(ModelError, match="masked:bert-large-cased: neither"):
        masked.load(ModelSpec("masked", "bert_large_cased"))
    assert "bert_large_cased is spelt bert-large-cased on the Hugging Face Hub" in caplog.text


def test_a_folder_in_an_old_spelling_is_a_folder(
    tiny_model: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_model(), tmp_path / "bert_base_cased")
    monkeypatch.chdir(tmp_path)
    assert load(Path("bert_base_cased")).id.startswith("masked/bert_base_cased@")


def test_weights_named_as_in_the_first_bert_are_read(tiny_model: Maker, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model(), tmp_path / "old"))
    weights = load_file(folder / "model.safetensors")
    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in weights.items()
    }
    assert renamed.keys() != weights.keys()
    save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    (old,), (new,) = load(folder).score([Request("the boy")]), load(tiny_model()).score([Request("the boy")])
    assert_same(old.logprobs, new.logprobs)


def test_identity_and_options_say_what_a_score_depends_on(tiny_model: Maker, tmp_path: Path) -> None:
    first, other = load(tiny_model()), load(tiny_masked.save_masked(tmp_path, seed=1), pll="original")
    assert first.options == {"dtype": "float32", "pll": "within_word_l2r"}
    assert other.options == {"dtype": "float32", "pll": "original"}
    assert first.id.split("@")[1] != other.id.split("@")[1]
    assert first.ordered is False


@pytest.mark.parametrize(("architecture", "limit"), [("bert", 160), ("roberta", 158)])
def test_a_text_longer_than_the_context_is_refused(tiny_model: Maker, architecture: str, limit: int) -> None:
    model = load(tiny_model(architecture), pll="original")
    fits = "!" * (limit - 2)
    assert len(model.score([Request(fits, (0, 1))])[0].starts) == 1
    with pytest.raises(
        ModelError, match=rf"a text of {limit + 1} tokens is longer than the model's context of {limit}"
    ):
        model.score([Request("the boy"), Request(fits + "!")])


def test_a_causal_architecture_is_refused(tiny_causal: Maker) -> None:
    with pytest.raises(ModelError, match=r"is not a masked language model\. Use causal:"):
        load(tiny_causal("gpt2"))


def test_a_tokenizer_without_a_mask_is_refused(tiny_model: Maker, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model(), tmp_path / "model"))
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    del config["mask_token"]
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match=r"no mask token, as masked models have\. Use causal:"):
        load(folder)


def test_a_model_that_looks_only_to_the_left_is_refused(tiny_model: Maker, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model(), tmp_path / "model"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"is_decoder": True}), encoding="utf-8")
    with pytest.raises(ModelError, match="does not look at words to the right"):
        load(folder)


def test_weights_that_are_no_numbers_are_refused(tiny_model: Maker, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model(), tmp_path / "model"))
    weights = load_file(folder / "model.safetensors")
    weights["bert.encoder.layer.0.output.LayerNorm.weight"][:] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="NaN"):
        load(folder)


def test_options_that_are_not_known_are_refused(tiny_model: Maker) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'pll'"):
        load(tiny_model(), pl="original")
    with pytest.raises(InputError, match="pll=l2r: use one of within_word_l2r, original"):
        load(tiny_model(), pll="l2r")
    with pytest.raises(InputError, match="nodes=0: write a whole number, 1 or more"):
        load(tiny_model(), nodes="0")


def test_half_precision_is_in_the_options_and_close(tiny_model: Maker) -> None:
    tiny.assert_close_in_half_precision(load, tiny_model())


def test_answers_come_in_the_order_of_the_requests(tiny_model: Maker) -> None:
    model = load(tiny_model())
    tiny.assert_in_order(model)
    assert model.score([]) == []


def test_the_words_of_a_minimal_pair_share_a_masked_copy() -> None:
    sequences = Ragged.of([[2, 5, 6, 3], [2, 5, 7, 3], [2, 6, 7, 3]])
    places = np.array([2, 2, 2])
    plan = MaskedPlan.of(sequences, MaskedTargets(np.arange(3), places, places, places + 1), mask=9)
    batch = plan.batch(0, 3, pad=0)
    assert batch.tokens.tolist() == [[2, 5, 9, 3], [2, 6, 9, 3]]
    assert (batch.rows.tolist(), batch.targets.tolist()) == ([0, 0, 1], [6, 7, 7])
