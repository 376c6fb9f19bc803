"""An LSTM with attention learns, is saved, is loaded, and answers the same in any company."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import noticed, texts
from attention_models import SHAPE, SHAPES, VOCABULARY, WORDS, make
from case_selection import examples
from wug.errors import InputError, ModelError, UnknownName
from wug.evaluation.models import model_spec, open_model
from wug.models import attention_lstm as backend
from wug.models.attention_lstm import AttentionShape, load_attention_lstm, network, save_attention_lstm, source_numbers
from wug.models.attention_lstm.network import AttentionLSTM
from wug.models.spec import ModelSpec


def load(folder: Path, **options: str) -> backend.AttentionLSTMModel:
    model = backend.load(ModelSpec("attention_lstm", str(folder), options={"device": "cpu", **options}))
    assert isinstance(model, backend.AttentionLSTMModel)
    return model


def filled(rows: Sequence[Sequence[int]], width: int = 0) -> tuple[Any, Any]:
    """Rows side by side, and where they have words."""
    width = max(width, *map(len, rows))
    return (
        torch.tensor([[*row, *[0] * (width - len(row))] for row in rows]),
        torch.tensor([[n < len(row) for n in range(width)] for row in rows]),
    )


def task(length: int, rng: random.Random) -> tuple[str, str]:
    """A source such as `reverse A B C`, and its answer."""
    words = rng.choices("ABCDE", k=length)
    verb = rng.choice(["copy", "reverse"])
    return f"{verb} {' '.join(words)}", " ".join(words if verb == "copy" else words[::-1])


def train(model: Any, pairs: Sequence[tuple[str, str]], steps: int) -> float:
    """The last loss after training on batches of fixed shapes."""
    source, present = filled([source_numbers(one, VOCABULARY) for one, _ in pairs])
    target, counted = filled([[VOCABULARY.index["<s>"], *source_numbers(other, VOCABULARY)] for _, other in pairs])
    wanted = target[:, 1:].masked_fill(~counted[:, 1:], -100).flatten()
    optimiser = torch.optim.Adam(model.train().parameters(), lr=0.01)
    value = 0.0
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(source, present, target[:, :-1]).flatten(0, 1), wanted)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        value = loss.item()
    return value


def test_it_learns_to_copy_and_reverse_and_answers_after_saving_and_loading(tmp_path: Path) -> None:
    rng = random.Random(1)
    pairs = list(dict(task(rng.randint(1, 3), rng) for _ in range(40)).items())
    torch.manual_seed(1)
    shape = AttentionShape(len(WORDS), layers=1, width=32, hidden=64, dropout=0.05)
    model = AttentionLSTM(shape)
    assert train(model, pairs, 400) < 0.1
    save_attention_lstm(tmp_path, model, WORDS, dtype="float16")
    asked = load(tmp_path)
    assert texts(asked.generate([source for source, _ in pairs])) == [answer for _, answer in pairs]


@pytest.mark.parametrize("shape", SHAPES)
def test_teacher_forcing_gives_the_numbers_of_writing_word_by_word(shape: AttentionShape) -> None:
    model = make(shape)
    source, present = filled([[5, 6, 7, 2], [4, 8, 2]])
    target = torch.tensor([[1, 6, 7, 8, 9], [1, 9, 9, 4, 3]])
    with torch.no_grad():
        forced = model(source, present, target)
        memory, state = model.read(source, present)
        for place in range(target.shape[1]):
            logits, state = model.write(target[:, place], memory, state)
            assert torch.allclose(logits, forced[:, place], atol=1e-5)
    assert forced.shape == (2, 5, len(WORDS))


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_those_of_writing_word_by_word(shape: AttentionShape) -> None:
    source, present = filled([[5, 6, 7, 2], [4, 8, 2], [7, 2]])
    target = torch.tensor([[1, 6, 7, 8, 9, 4], [1, 9, 9, 4, 3, 3], [1, 5, 5, 6, 6, 7]])

    def gradients(logits: Callable[[Any], Any]) -> dict[str, Any]:
        model = make(shape).double()
        # Weighed so that every word and every row has another share in the loss.
        given = logits(model)
        (given.log_softmax(2) * torch.arange(given.numel()).view_as(given).sin()).sum().backward()
        return {name: parameter.grad for name, parameter in model.named_parameters()}

    def word_by_word(model: Any) -> Any:
        memory, state = model.read(source, present)
        found = []
        for word in target.unbind(1):
            logits, state = model.write(word, memory, state)
            found.append(logits)
        return torch.stack(found, dim=1)

    at_once, plain = gradients(lambda model: model(source, present, target)), gradients(word_by_word)
    assert at_once.keys() == plain.keys()
    for name, gradient in plain.items():
        assert torch.allclose(at_once[name], gradient, rtol=1e-5, atol=1e-5 * float(gradient.abs().max())), name


def test_gradients_under_autocast_are_near_the_exact_ones() -> None:
    source, present = filled([[5, 6, 7, 2], [4, 8, 2]])
    target = torch.tensor([[1, 6, 7, 8, 9], [1, 9, 9, 4, 3]])

    def gradients(enabled: bool) -> Any:
        torch.manual_seed(3)
        model = AttentionLSTM(SHAPE)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled, cache_enabled=False):
            loss = model(source, present, target).float().log_softmax(2)[..., 4].sum()
        loss.backward()
        return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])

    exact, rounded = gradients(False), gradients(True)
    assert torch.linalg.vector_norm(exact - rounded) < 0.02 * torch.linalg.vector_norm(exact)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_fills_up_a_row_changes_nothing(shape: AttentionShape) -> None:
    model = make(shape)
    rows = [[5, 6, 7, 8, 9, 2], [4, 8, 2], [2]]
    target = torch.tensor([[1, 6, 7]] * 3)
    source, present = filled(rows, width=11)
    source = source.masked_fill(~present, 9)  # a word where none counts
    with torch.no_grad():
        together = model(source, present, target)
        for number, row in enumerate(rows):
            alone = model(*filled([row]), target[:1])[0]
            assert torch.allclose(alone, together[number], atol=1e-5)


def test_a_row_without_any_word_gives_numbers(tmp_path: Path) -> None:
    source, present = torch.zeros(2, 4, dtype=torch.long), torch.zeros(2, 4, dtype=torch.bool)
    assert bool(make()(source, present, torch.tensor([[1, 6], [1, 7]])).isfinite().all())


def test_one_layer_reads_as_a_bidirectional_lstm_of_torch_with_biases() -> None:
    model = make(replace(SHAPE, layers=1))
    theirs, ours = torch.nn.LSTM(6, 4, batch_first=True, bidirectional=True), model.encoder[0]
    with torch.no_grad():
        for side in ("", "_reverse"):
            weight = getattr(ours, f"weight_ih_l0{side}")
            getattr(theirs, f"weight_ih_l0{side}").copy_(weight[:, :-1])
            getattr(theirs, f"bias_ih_l0{side}").copy_(weight[:, -1])
            getattr(theirs, f"weight_hh_l0{side}").copy_(getattr(ours, f"weight_hh_l0{side}"))
            getattr(theirs, f"bias_hh_l0{side}").zero_()
        for row in ([5, 6, 7, 2], [4, 2]):
            source, present = filled([row], width=6)
            expected, _ = theirs(model.source(torch.tensor([row])))
            memory, _ = model.read(source, present)
            assert torch.allclose(memory.states[:, : len(row)], expected, atol=1e-6)


def test_forget_gates_begin_open() -> None:
    model = AttentionLSTM(SHAPE)
    assert model.encoder[1].weight_ih_l0[:, -1].tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8
    assert model.decoder[1].bias_ih.tolist() == [0.0] * 8 + [1.0] * 8 + [0.0] * 16


def test_the_same_seed_gives_the_same_model_and_loading_moves_no_seed(tmp_path: Path) -> None:
    save_attention_lstm(tmp_path, make(seed=3), WORDS)
    again = make(seed=3)
    drawn = torch.rand(1)
    make(seed=3)
    load_attention_lstm(tmp_path)
    assert torch.rand(1) == drawn
    loaded, _ = load_attention_lstm(tmp_path)
    assert all(value.equal(loaded.state_dict()[name]) for name, value in again.state_dict().items())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("attention")
    save_attention_lstm(made, make(), WORDS)
    return made


def plain(model: Any, source: str, most: int) -> list[str]:
    """The answer word by word, each from a new reading of the source and of the answer so far."""
    asked, present = filled([source_numbers(source, VOCABULARY)])
    written = [1]
    with torch.no_grad():
        while len(written) <= most:
            logits = model(asked, present, torch.tensor([written]))[0, -1]
            logits[:2] = -torch.inf
            written.append(int(logits.argmax()))
            if written[-1] == 2:
                written.pop()
                break
    return [WORDS[word] for word in written[1:]]


sources = st.lists(st.sampled_from(WORDS[4:]), max_size=9).map(" ".join)


def test_answers_equal_the_plain_computation(folder: Path) -> None:
    model, _ = load_attention_lstm(folder)
    rng = random.Random(2)
    asked = [" ".join(rng.choices(WORDS[4:], k=rng.randint(0, 9))) for _ in range(30)]
    answers = texts(load(folder, max_length="20").generate(asked))
    assert [answer.split() for answer in answers] == [plain(model, source, 20) for source in asked]
    assert len(set(answers)) > 5
    assert len({len(answer.split()) for answer in answers}) > 5


@settings(max_examples=examples(25), deadline=None)
@given(asked=st.lists(sources, min_size=1, max_size=12), batch=st.sampled_from(["1", "60", "100000"]))
def test_an_answer_does_not_depend_on_the_batch(folder: Path, asked: list[str], batch: str) -> None:
    model = load(folder, max_length="20", batch=batch)
    alone = {source: texts(model.generate([source]))[0] for source in asked}
    assert texts(model.generate(asked + asked[::-1])) == [alone[source] for source in asked + asked[::-1]]


def test_marks_and_words_become_numbers() -> None:
    assert source_numbers("copy A  wug", VOCABULARY) == [4, 6, 3, 2]
    assert source_numbers("", VOCABULARY) == [2]


def test_an_answer_to_unknown_words_says_so(folder: Path) -> None:
    unknown, known = load(folder).generate(["copy wug", "copy A"])
    assert (noticed([unknown], "does not know"), noticed([known], "does not know")) == (1, 0)


def test_answers_that_come_to_no_end_are_cut_off_and_say_so(tmp_path: Path) -> None:
    model = make()
    model.output.bias.data[2] = -1e9
    save_attention_lstm(tmp_path, model, WORDS)
    answers = load(tmp_path, max_length="13").generate(["copy A", "copy B"])
    assert [len(answer.split()) for answer in texts(answers)] == [13, 13]
    assert noticed(answers, "cut off") == 2


def test_filling_and_start_marks_are_never_written(tmp_path: Path) -> None:
    model = make()
    model.output.bias.data[:2] = 1e9
    save_attention_lstm(tmp_path, model, WORDS)
    (answer,) = texts(load(tmp_path, max_length="9").generate(["copy A"]))
    assert not {"<pad>", "<s>"} & set(answer.split())


def test_a_source_is_decoded_once_and_no_sources_give_no_outputs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(folder)
    asked: list[int] = []
    greedily = network.decode_greedily

    def counting(model: Any, vocabulary: Any, rows: Sequence[Sequence[int]], bound: int) -> Any:
        asked.append(len(rows))
        return greedily(model, vocabulary, rows, bound)

    monkeypatch.setattr(network, "decode_greedily", counting)
    answers = texts(model.generate(["copy A", "copy B", "copy A"]))
    assert (asked, answers[0]) == ([2], answers[2])
    assert texts(model.generate([])) == []


def test_memory_that_runs_out_halves_the_batch(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = load(folder, max_length="9")
    asked = [f"copy {word}" for word in "ABCDE"]
    expected = texts(model.generate(asked))
    greedily = network.decode_greedily
    most = 2

    def scarce(model: Any, vocabulary: Any, rows: Sequence[Sequence[int]], bound: int) -> Any:
        if len(rows) > most:
            raise torch.OutOfMemoryError("no room")
        return greedily(model, vocabulary, rows, bound)

    monkeypatch.setattr(network, "decode_greedily", scarce)
    assert texts(model.generate(asked)) == expected
    assert "memory ran out" in caplog.text
    most = 0
    with pytest.raises(ModelError, match="out of memory for 3 words"):
        model.generate(["copy A"])


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_other_precisions_answer_and_are_reported(folder: Path, dtype: str) -> None:
    model = load(folder, dtype=dtype, max_length="4")
    assert len(texts(model.generate(["copy A B"]))) == 1
    assert model.options == {"dtype": dtype, "beams": "1", "max_length": "4"}


def test_a_bare_folder_is_known_by_its_configuration(folder: Path) -> None:
    assert model_spec(str(folder)).backend == "attention_lstm"
    model: Any = open_model(f"{folder}?device=cpu")
    assert model.id.startswith(f"attention_lstm/{folder.name}@")
    assert texts(model.generate(["copy A B"])) == texts(load(folder).generate(["copy A B"]))


def test_the_id_changes_with_weights_and_words_alone(tmp_path: Path) -> None:
    ids: list[str] = []
    for seed, words in ((1, WORDS), (1, WORDS), (2, WORDS), (1, [*WORDS[:-1], ";"])):
        save_attention_lstm(tmp_path, make(seed=seed), words)
        config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
        (tmp_path / "config.json").write_text(json.dumps({**config, "note": len(ids)}), encoding="utf-8")
        ids.append(load(tmp_path).id)
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_the_configuration_says_what_the_model_is(folder: Path) -> None:
    assert json.loads((folder / "config.json").read_text(encoding="utf-8")) == {
        "architectures": ["AttentionLSTM"], "model_type": "wug-attention-lstm", "vocabulary": 12, "layers": 2,
        "width": 6, "hidden": 8, "attention": "general", "tied": True, "dropout": 0.0,
    }  # fmt: skip


def copied(folder: Path, target: Path) -> Path:
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hidden": 10}, r"encoder\.0\.weight_ih_l0 is 16 × 7 where 20 × 7 was expected"),
        ({"hidden": 7}, r"hidden: is 7; expected an even number"),
        ({"layers": 1}, r"encoder\.1\..* is nothing that a model with this config\.json has|bridge"),
        ({"tied": False}, r"combine\.weight is 6 × 16 where 8 × 16|is missing|was expected"),
        ({"attention": "dot"}, r"attention\.weight does not belong"),
        ({"attention": "hard"}, r"attention: is \"hard\"; expected one of general, dot"),
        ({"vocabulary": 13}, r"says that it has 13 words, and vocab\.txt has 12"),
        ({"dropout": 1.5}, r"dropout: is 1\.5; expected a number from 0 to 1"),
        ({"model_type": "t5"}, r"model_type is \"t5\" where \"wug-attention-lstm\" was expected"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(
    folder: Path, tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    path = copied(folder, tmp_path) / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | fields), encoding="utf-8")
    with pytest.raises((InputError, ModelError), match=message):
        load(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocab.txt"])
def test_a_missing_file_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    (copied(folder, tmp_path) / name).unlink()
    with pytest.raises(InputError, match=f"{name}: no such file"):
        load(tmp_path)


def test_a_vocabulary_without_a_mark_is_refused(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path) / "vocab.txt"
    path.write_text(path.read_text(encoding="utf-8").replace("<s>", "s"), encoding="utf-8")
    with pytest.raises(InputError, match=r"vocab\.txt: has no <s>"):
        load(tmp_path)


def test_weights_that_are_no_numbers_are_an_error(tmp_path: Path) -> None:
    model = make()
    model.bridge.bias.data[0] = float("nan")
    save_attention_lstm(tmp_path, model, WORDS)
    with pytest.raises(ModelError, match="NaN"):
        load(tmp_path).generate(["copy A"])


def test_a_wrong_option_or_folder_is_named(folder: Path, tmp_path: Path) -> None:
    faults: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: load(folder, beam="2"), UnknownName, "unknown option 'beam' of attention_lstm models"),
        (lambda: load(folder, max_length="0"), InputError, "max_length=0: write a whole number, 1 or more"),
        (lambda: load(folder, dtype="int8"), InputError, "dtype=int8: use one of"),
        (lambda: load(folder, device="abacus"), InputError, "device abacus: unknown"),
        (lambda: load(tmp_path / "none"), ModelError, "no such folder"),
    ]
    for fault, error, message in faults:
        with pytest.raises(error, match=message):
            fault()


@pytest.mark.parametrize("field", ["layers", "width", "hidden"])
def test_settings_larger_than_the_weights_are_refused_before_a_model_is_built(tmp_path: Path, field: str) -> None:
    save_attention_lstm(tmp_path, make(), WORDS)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(config | {field: 10**9}), encoding="utf-8")
    with pytest.raises(ModelError, match=rf"config\.json says {field} 1,000,000,000, which its weights rule out"):
        load(tmp_path)
