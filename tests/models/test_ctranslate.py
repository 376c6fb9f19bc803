"""CTranslate2 models, and OpenNMT-py checkpoints that are converted once nothing in them can run."""

from __future__ import annotations

import functools
import io
import json
import os
import shutil
import sys
import types
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny_seq2seq
from answers import noticed, texts
from case_selection import examples
from evaluating import cached
from wug.errors import InputError, MissingExtra, ModelError, UnknownName
from wug.evaluation.evaluate import evaluate
from wug.models import ctranslate
from wug.models.spec import ModelSpec

torch = pytest.importorskip("torch")
ctranslate2 = pytest.importorskip("ctranslate2")
pytestmark = pytest.mark.usefixtures("own_conversions")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opennmt") / "model_step_9000.pt"
    torch.save(tiny_seq2seq.opennmt_checkpoint(), path)
    return path


@pytest.fixture(scope="module")
def folder(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint as CTranslate2's own converter turns it into a folder."""
    made = tmp_path_factory.mktemp("converted") / "folder"
    with torch.serialization.safe_globals([Namespace]):
        ctranslate2.converters.OpenNMTPyConverter(str(checkpoint)).convert(str(made))
    return made


def load(path: Path, **options: str) -> ctranslate.TranslatorModel:
    return ctranslate.load(ModelSpec("ctranslate", str(path), options={"device": "cpu", "threads": "1", **options}))


def test_a_folder_answers_as_its_translator_does(folder: Path) -> None:
    sources = tiny_seq2seq.sources(20)
    plain = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    expected = [
        " ".join(plain.translate_batch([source.split()], beam_size=1, max_decoding_length=9)[0].hypotheses[0])
        for source in sources
    ]
    answers = texts(load(folder, max_length="9").generate(sources))
    # Left to itself the translator writes one word at least.
    assert [a or e for a, e in zip(answers, expected, strict=True)] == expected
    assert len(set(answers)) > 10


@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_an_answer_does_not_depend_on_the_batch(folder: Path, data: st.DataObject) -> None:
    sources = data.draw(st.lists(st.sampled_from(tiny_seq2seq.sources(40, seed=2)), min_size=1, max_size=10))
    options = {
        "beams": data.draw(st.sampled_from(["1", "3"])),
        "batch": data.draw(st.sampled_from(["1", "30", "9999"])),
    }
    model = load(folder, max_length="12", **options)
    alone = {source: texts(model.generate([source]))[0] for source in sources}
    many = sources + data.draw(st.permutations(sources))
    assert texts(model.generate(many)) == [alone[source] for source in many]


def test_a_checkpoint_is_converted_once_and_answers_like_its_folder(checkpoint: Path, folder: Path) -> None:
    sources = tiny_seq2seq.sources(10)
    made = ctranslate.converted(checkpoint)
    assert (made / "model.bin").read_bytes() == (folder / "model.bin").read_bytes()
    before = (made / "model.bin").stat().st_mtime_ns
    model = load(checkpoint, max_length="8")
    assert (made / "model.bin").stat().st_mtime_ns == before
    assert texts(model.generate(sources)) == texts(load(folder, max_length="8").generate(sources))
    assert model.id.startswith("ctranslate/model_step_9000.pt@")
    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_the_file_layout_before_pytorch_1_6_is_read_too(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.pt"
    torch.save(tiny_seq2seq.opennmt_checkpoint(), path, _use_new_zipfile_serialization=False)
    assert (ctranslate.converted(path) / "model.bin").read_bytes() == (folder / "model.bin").read_bytes()


class _Thing:
    """What pickled classes of other packages are made of."""


def _field(words: Sequence[str], modules: dict[str, types.ModuleType]) -> Any:
    """A torchtext field with a vocabulary, as versions 1 and 2 of OpenNMT-py pickle it."""
    vocabulary = modules["torchtext.vocab"].Vocab()
    vocabulary.itos, vocabulary.freqs = list(words), Counter(words)
    vocabulary.stoi = defaultdict(modules["torchtext.vocab"]._default_unk_index, {w: n for n, w in enumerate(words)})
    field = modules["torchtext.data.field"].Field()
    field.vocab, field.dtype = vocabulary, torch.int64
    field.tokenize = functools.partial(modules["onmt.inputters.text_dataset"]._feature_tokenize, layer=0)
    return field


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, types.ModuleType]:
    """Modules of packages that are not installed, with what a checkpoint may name in them."""

    def function() -> int:
        return 0

    named: dict[str, list[str]] = {
        "torchtext.vocab": ["Vocab", "_default_unk_index"],
        "torchtext.data.field": ["Field"],
        "onmt.inputters.text_dataset": ["TextMultiField", "_feature_tokenize"],
    }
    made = {}
    for name, members in named.items():
        module = types.ModuleType(name)
        for member in members:
            kind: Any = (
                type(member, (_Thing,), {}) if member[0] != "_" else types.FunctionType(function.__code__, {}, member)
            )
            kind.__module__ = name
            kind.__qualname__ = member
            setattr(module, member, kind)
        made[name] = module
    for parent in ("torchtext", "torchtext.data", "onmt", "onmt.inputters"):
        monkeypatch.setitem(sys.modules, parent, types.ModuleType(parent))
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    return made


def _multi_fields(words: Sequence[str], modules: dict[str, types.ModuleType]) -> Any:
    both = {}
    for side in ("src", "tgt"):
        both[side] = modules["onmt.inputters.text_dataset"].TextMultiField()
        both[side].fields = [(side, _field(words, modules))]
    return both


def _single_fields(words: Sequence[str], modules: dict[str, types.ModuleType]) -> Any:
    return {side: [(side, _field(words, modules))] for side in ("src", "tgt")}


def _bare_vocabularies(words: Sequence[str], modules: dict[str, types.ModuleType]) -> Any:
    return [(side, _field(words, modules).vocab) for side in ("src", "tgt")]


@pytest.mark.parametrize("shape", [_multi_fields, _single_fields, _bare_vocabularies])
def test_vocabularies_of_older_versions_are_read_without_their_packages(
    shape: Callable[..., Any], modules: dict[str, types.ModuleType], folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "v1.pt"
    vocabularies = shape(tiny_seq2seq.WORDS, modules)
    torch.save({**tiny_seq2seq.opennmt_checkpoint(), "vocab": vocabularies}, path)
    for name in modules:
        monkeypatch.delitem(sys.modules, name)
    made = ctranslate.converted(path)
    assert (made / "model.bin").read_bytes() == (folder / "model.bin").read_bytes()
    assert json.loads((made / "shared_vocabulary.json").read_text()) == tiny_seq2seq.WORDS


class _Executable:
    def __init__(self, target: Path) -> None:
        self._target = target

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._target),)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_checkpoint_with_something_executable_is_refused_by_name(tmp_path: Path, zipped: bool) -> None:
    path, trap = tmp_path / "evil.pt", tmp_path / "sprung"
    evil = {**tiny_seq2seq.opennmt_checkpoint(), "optim": _Executable(trap)}
    torch.save(evil, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(ModelError, match=r"asks for 'posix\.mkdir', which is not part of an OpenNMT-py checkpoint"):
        load(path)
    assert not trap.exists()


def _save(path: Path, **changes: Any) -> Path:
    torch.save({**tiny_seq2seq.opennmt_checkpoint(), **changes}, path)
    return path


def test_a_model_that_is_no_transformer_is_sent_to_onmt_translate(tmp_path: Path) -> None:
    options = Namespace(
        **{**vars(tiny_seq2seq.opennmt_checkpoint()["opt"]), "encoder_type": "rnn", "decoder_type": "rnn"}
    )
    with pytest.raises(ModelError, match=r"cannot run this model \(rnn/rnn\).*onmt_translate"):
        load(_save(tmp_path / "rnn.pt", opt=options))


def test_incomplete_checkpoints_say_what_is_missing(tmp_path: Path) -> None:
    whole = tiny_seq2seq.opennmt_checkpoint()
    torch.save(whole["model"], tmp_path / "weights.pt")
    with pytest.raises(ModelError, match="needs model, generator, vocab and opt"):
        load(tmp_path / "weights.pt")
    fewer = {key: value for key, value in whole["model"].items() if "context_attn" not in key}
    with pytest.raises(ModelError, match=r"lacks the weights 'decoder\.transformer_layers\.0\.context_attn"):
        load(_save(tmp_path / "fewer.pt", model=fewer))
    with pytest.raises(ModelError, match="no tgt vocabulary"):
        load(_save(tmp_path / "words.pt", vocab={"src": list(tiny_seq2seq.WORDS)}))
    with pytest.raises(ModelError, match="word features"):
        load(_save(tmp_path / "features.pt", vocab={"src": [("a", 1), ("b", 2)], "tgt": ["a"]}))
    (tmp_path / "text.pt").write_text("not a checkpoint at all")
    with pytest.raises(ModelError, match="not a file that PyTorch saved"):
        load(tmp_path / "text.pt")


def test_truncated_answers_and_those_to_unknown_words_say_so(folder: Path) -> None:
    sources = tiny_seq2seq.sources(20)
    model = load(folder, max_length="3")
    answers = model.generate([*sources, "copy jabberwocky"])
    longer = texts(load(folder, max_length="40").generate([*sources, "copy jabberwocky"]))
    cut = sum(len(answer.split()) >= 3 for answer in longer)
    assert all(len(answer.split()) <= 3 for answer in texts(answers))
    assert noticed(answers, "cut off") == cut
    assert (noticed(answers[:-1], "does not know"), noticed(answers[-1:], "does not know")) == (0, 1)


def test_an_empty_source_has_an_empty_answer(folder: Path) -> None:
    assert texts(load(folder).generate(["", "copy A1"]))[0] == ""


def test_memory_that_runs_out_makes_batches_smaller(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = load(folder, max_length="5", batch="1024")
    expected = texts(model.generate(tiny_seq2seq.sources(5)))
    translator = model._translator

    class Scarce:
        def translate_batch(self, split: Any, *, max_batch_size: int, **rest: Any) -> Any:
            if max_batch_size > 256:
                raise RuntimeError("CUDA failed with error out of memory")
            return translator.translate_batch(split, max_batch_size=max_batch_size, **rest)

    model._translator = Scarce()
    assert texts(model.generate(tiny_seq2seq.sources(5))) == expected
    assert "continuing with 256 tokens" in caplog.text


def test_a_source_beyond_the_models_positions_is_a_clear_error(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"CTranslate2 failed: .*position"):
        load(folder).generate(["copy " + "A1 " * 1300])


def test_sentencepiece_tokens(tmp_path: Path) -> None:
    import sentencepiece

    model = io.BytesIO()
    lines = [" ".join(source.split()) for source in tiny_seq2seq.sources(200)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=100, minloglevel=2, hard_vocab_limit=False
    )
    (tmp_path / "sp.model").write_bytes(model.getvalue())
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    words = ["<blank>", *[pieces.id_to_piece(number) for number in range(pieces.get_piece_size())]]
    torch.save(tiny_seq2seq.opennmt_checkpoint(words), tmp_path / "sp.pt")
    found = load(tmp_path / "sp.pt", tokens=str(tmp_path / "sp.model"), max_length="6")
    tokens = found._tokens
    assert tokens.join(tokens.split("append A1 , B2 C3")) == "append A1 , B2 C3"
    assert tokens.split("append A1") != ["append", "A1"]
    assert found.options["tokens"].startswith("sentencepiece@")
    assert len(texts(found.generate(lines[:5]))) == 5


def test_the_five_pcfg_set_tests_run_end_to_end(checkpoint: Path, tmp_path: Path) -> None:
    model = load(checkpoint, max_length="10")
    results = list(evaluate(tiny_seq2seq.pcfg_tests(tmp_path / "tests"), cached(model)))
    assert [result.status for result in results] == ["complete"] * 5
    assert "ctranslate/model_step_9000.pt@" in str(results[0].signature)


def test_wrong_names_and_options_are_errors(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file or folder"):
        load(tmp_path / "nothing")
    with pytest.raises(ModelError, match=r"no model\.bin"):
        load(tmp_path)
    with pytest.raises(UnknownName, match="Did you mean 'beams'"):
        load(folder, beam="2")
    with pytest.raises(InputError, match="dtype=float8: use one of"):
        load(folder, dtype="float8")
    with pytest.raises(InputError, match="tokens='bpe'"):
        load(folder, tokens="bpe")
    with pytest.raises(InputError, match="device=cuda:x"):
        load(folder, device="cuda:x")
    with pytest.raises(InputError, match="device=gpu: write cpu, cuda or cuda:1"):
        load(folder, device="gpu")
    (tmp_path / "sp.model").write_text("none")
    with pytest.raises(InputError, match="not a SentencePiece model"):
        load(folder, tokens=str(tmp_path / "sp.model"))
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    (damaged / "model.bin").write_bytes((folder / "model.bin").read_bytes()[:1000])
    with pytest.raises(ModelError, match="cannot be loaded"):
        load(damaged)


def test_a_missing_package_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(MissingExtra, match=r"pip install 'wug\[ctranslate\]'"):
        load(folder)
