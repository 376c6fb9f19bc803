"""A pickle gets placeholders: none of its calls is run, and names that are not on the list are refused.

The files are written instruction by instruction: see `pickles`.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case_selection import examples
from pickles import MAGIC, SYSTEM, Call, Named, Reference, Writer, archive, dumps, legacy, storage, tensor
from wug.errors import InputError, ModelError
from wug.models.weights.unpickling import Inert, InertDict, read

torch = pytest.importorskip("torch")


def load(folder: Path, content: bytes, allowed: Collection[str] = ()) -> Any:
    path = folder / "model.pt"
    path.write_bytes(content)
    return read(path, allowed, what="a test")


SIX = np.arange(6, dtype="<f4")


@pytest.mark.parametrize("write", [legacy, archive])
def test_a_tensor_is_a_view_of_its_storage(tmp_path: Path, write: Any) -> None:
    columns = tensor(storage("7", 6, old=write is legacy), (3, 2), (1, 3))
    assert load(tmp_path, write({"weight": columns}, {"7": SIX}))["weight"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_tensor_may_begin_inside_its_storage(tmp_path: Path) -> None:
    found = load(tmp_path, legacy(tensor(storage("7", 6), (2,), (1,), offset=4), {"7": SIX}))
    assert found.tolist() == [4, 5]


def test_a_storage_may_be_part_of_another(tmp_path: Path) -> None:
    found = load(tmp_path, legacy(tensor(storage("7", 6, view=("8", 2, 3)), (3,), (1,)), {"7": SIX}))
    assert found.tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    "made",
    [
        # PyTorch 0.3 and 0.4; 0.4 with requires_grad; 1.0 and later
        Call(Named("torch.nn.parameter", "Parameter"), (tensor(storage("7", 6), (6,), (1,)),), (True, False, None)),
        Call(Named("torch.nn.parameter", "Parameter"), (tensor(storage("7", 6), (6,), (1,)), True)),
        Call(Named("torch._utils", "_rebuild_parameter"), (tensor(storage("7", 6), (6,), (1,)), True, {})),
    ],
)
def test_parameters_of_every_age_are_tensors(tmp_path: Path, made: Call) -> None:
    assert load(tmp_path, legacy({"weight": made}, {"7": SIX}))["weight"].tolist() == SIX.tolist()


@pytest.mark.parametrize(("kind", "dtype"), [("HalfStorage", "<f2"), ("LongStorage", "<i8"), ("FloatStorage", "<f4")])
def test_numbers_keep_their_kind(tmp_path: Path, kind: str, dtype: str) -> None:
    found = load(tmp_path, legacy(tensor(storage("7", 6, kind), (6,), (1,)), {"7": SIX.astype(dtype)})).numpy()
    assert (found.dtype.str, found.tolist()) == (dtype, SIX.tolist())


def test_an_empty_tensor_has_no_numbers(tmp_path: Path) -> None:
    found = load(tmp_path, legacy(tensor(storage("7", 0), (0, 4), (4, 1)), {"7": SIX[:0]}))
    assert found.shape == (0, 4)


def test_stand_ins_remember_what_they_were_given(tmp_path: Path) -> None:
    made = [
        Call(Named("model", "RNNModel"), (1, "two"), {"nhid": 650}, new=True),
        Call(Named("collections", "Counter"), ({"the": 3},), {"ignored": True}),
        Call(Named("builtins", "set"), ([1, 2],)),
    ]
    module, counter, numbers = load(tmp_path, legacy(made, {}), ["model.RNNModel"])
    assert (module.stands_for, module.args, module.state) == ("model.RNNModel", (1, "two"), {"nhid": 650})
    assert counter == {"the": 3}
    assert numbers == {1, 2}


def test_the_source_code_of_a_module_is_passed_over(tmp_path: Path) -> None:
    marked = Reference(("module", Named("model", "RNNModel"), "/home/me/model.py", "import os\nos.system('no')"))
    found = load(tmp_path, legacy(Call(marked, (), {"nhid": 2}, new=True), {}), ["model.RNNModel"])
    assert found.state == {"nhid": 2}


EVIL = [
    ("os", "system", ("touch {}",)),
    ("posix", "system", ("touch {}",)),
    ("builtins", "eval", ("open('{}', 'w')",)),
    ("__builtin__", "eval", ("open('{}', 'w')",)),
    ("builtins", "exec", ("open('{}', 'w')",)),
    ("subprocess", "Popen", (["touch", "{}"],)),
    ("builtins", "getattr", ("", "join")),
    ("torch.nn.modules.conv", "Conv2d", ()),
    ("model", "RNNModel.forward", ()),
    ("torch", "_utils._rebuild_tensor.__globals__", ()),
]


@pytest.mark.parametrize("write", [legacy, archive])
@pytest.mark.parametrize(("module", "name", "args"), EVIL)
def test_a_name_that_is_not_listed_is_refused_and_nothing_is_run(
    tmp_path: Path, module: str, name: str, args: tuple[Any, ...], write: Any
) -> None:
    touched = tmp_path / "touched"
    filled = tuple(one.format(touched) if isinstance(one, str) else [w.format(touched) for w in one] for one in args)
    with pytest.raises(ModelError) as caught:
        load(tmp_path, write({"weight": Call(Named(module, name), filled)}, {}))
    assert f"{module}.{name}" in str(caught.value)
    assert "model.pt" in str(caught.value)
    assert "state_dict" in str(caught.value)
    assert not touched.exists()


def test_the_pickles_around_the_model_are_held_to_the_same(tmp_path: Path) -> None:
    evil = Call(Named("os", "system"), (f"touch {tmp_path / 'touched'}",))
    for content in (legacy({}, {}, system=evil), legacy({}, {}, keys=evil)):
        with pytest.raises(ModelError, match=r"os\.system"):
            load(tmp_path, content)
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("code", [b"(S'touch {}'\nios\nsystem\n.", b"cos\nsystem\n(S'touch {}'\ntR.", b"\x82\x01."])
def test_the_oldest_instructions_are_no_way_around_the_list(tmp_path: Path, code: bytes) -> None:
    head = legacy({}, {})[: -len(dumps({}) + dumps([]))]
    with pytest.raises(ModelError):
        load(tmp_path, head + code.replace(b"{}", bytes(tmp_path / "touched")))
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    "name", [("model", "RNNModel"), ("torch._utils", "_rebuild_tensor"), ("collections", "OrderedDict")]
)
def test_a_pickle_cannot_give_a_class_or_function_other_attributes(tmp_path: Path, name: tuple[str, str]) -> None:
    # BUILD with a pair of states sets attributes: here it is meant for the class and not for an object of it.
    stream = io.BytesIO()
    writer = Writer(stream, protocol=2)
    writer.write(pickle.PROTO + b"\x02")
    writer.save(Named(*name))
    writer.save((None, {"stands_for": "torch.FloatStorage"}))
    writer.write(pickle.BUILD + pickle.STOP)
    content = b"".join([*map(dumps, (MAGIC, 1001, SYSTEM)), stream.getvalue(), dumps([])])
    with contextlib.suppress(ModelError):
        load(tmp_path, content, ["model.RNNModel"])
    assert not any(hasattr(thing, "stands_for") for thing in (torch._utils._rebuild_tensor, InertDict))
    assert Inert.stands_for == ""


def test_a_pickle_cannot_have_memory_filled(tmp_path: Path) -> None:
    huge = b"\x80\x02Nr\xff\xff\xff\x7f."  # keep None as number 2,147,483,647
    assert load(tmp_path, b"".join(map(dumps, (MAGIC, 1001, SYSTEM))) + huge + dumps([])) is None


def doubled(times: int) -> bytes:
    """A tuple of twice the previous tuple, repeated: a pickle of a few hundred bytes."""
    pairs = (b"h%ch%c\x86q%c0" % (number, number, number + 1) for number in range(times))
    return b")q\x000" + b"".join(pairs) + b"h%c" % times


@pytest.mark.parametrize(
    "key", [doubled(60), b"(" * 100_000 + b"t" * 100_000], ids=["twice the one before", "one in another"]
)
def test_tuples_whose_hash_would_take_forever_are_no_keys(tmp_path: Path, key: bytes) -> None:
    for entry in (b"}" + key + b"K\x01s.", b"}(" + key + b"K\x01u."):
        with pytest.raises(ModelError, match="unhashable"):
            load(tmp_path, b"".join(map(dumps, (MAGIC, 1001, SYSTEM))) + b"\x80\x02" + entry + dumps([]))


def test_archives_that_unpack_to_far_more_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WUG_MAX_BYTES", "1000000")
    stream = io.BytesIO(archive({}, {}))
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/other", bytes(2_000_000))
    with pytest.raises(ModelError, match=r"the bound is 1,000,000.*WUG_MAX_BYTES"):
        load(tmp_path, stream.getvalue())


def test_a_torchscript_program_is_not_run(tmp_path: Path) -> None:
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), tmp_path / "program.pt")
    with pytest.raises(ModelError, match="a TorchScript program"):
        load(tmp_path, (tmp_path / "program.pt").read_bytes())


@pytest.mark.parametrize(
    "root",
    [
        tensor(storage("7", 6), (7,), (1,)),
        tensor(storage("7", 6), (2, 3), (4, 1)),
        tensor(storage("7", 6), (3,), (1,), offset=4),
        tensor(storage("7", 6), (3,), (1,), offset=-1),
        tensor(storage("7", 6), (3,), (-1,), offset=4),
        tensor(storage("7", 6), (1000, 1000), (0, 0)),
        tensor(storage("7", 6), (6,), (1, 1)),
        Call(Named("torch._utils", "_rebuild_tensor_v2"), ("7", 0, (6,), (1,))),
        Call(Named("torch._utils", "_rebuild_tensor_v2"), ()),
    ],
)
def test_a_tensor_cannot_reach_beyond_its_storage(tmp_path: Path, root: Call) -> None:
    with pytest.raises(ModelError, match="damaged"):
        load(tmp_path, legacy(root, {"7": SIX} if root.args and root.args[0] != "7" else {}))


@pytest.mark.parametrize(
    "root",
    [
        tensor(storage("7", 10**12), (6,), (1,)),
        tensor(storage("8", 6), (6,), (1,)),
        tensor(storage("7", 6, view=("8", 4, 3)), (3,), (1,)),
        Reference(("file", "/etc/passwd")),
        Reference(("storage", "torch.FloatStorage", "7", "cpu", 6)),
    ],
)
@pytest.mark.parametrize("write", [legacy, archive])
def test_a_storage_that_is_not_as_described_is_an_error(tmp_path: Path, root: Any, write: Any) -> None:
    with pytest.raises(ModelError, match="damaged"):
        load(tmp_path, write(root, {"7": SIX}))


@pytest.mark.parametrize("write", [legacy, archive])
def test_a_file_that_is_cut_off_anywhere_is_an_error(tmp_path: Path, write: Any) -> None:
    whole = write({"weight": tensor(storage("7", 6, old=write is legacy), (6,), (1,))}, {"7": SIX})
    for length in range(len(whole)):
        with pytest.raises(ModelError, match=r"model\.pt"):
            load(tmp_path, whole[:length])


@settings(max_examples=examples(200), deadline=None)
@given(content=st.binary(max_size=200), layout=st.sampled_from([b"", b"PK\x03\x04", dumps(MAGIC)]))
def test_random_bytes_are_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes, layout: bytes) -> None:
    with pytest.raises(ModelError):
        load(tmp_path_factory.getbasetemp(), layout + content)


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_a_byte_that_was_changed_gives_an_answer_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    write = data.draw(st.sampled_from([legacy, archive]))
    whole = bytearray(write({"weight": tensor(storage("7", 6, old=write is legacy), (6,), (1,))}, {"7": SIX}))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 127))
    arrays, message = [], "model.pt"
    try:
        root = load(tmp_path_factory.getbasetemp(), bytes(whole))
        values = list(root.values()) if isinstance(root, dict) else [root]
        arrays = [value.numpy() for value in values if isinstance(value, torch.Tensor)]
    except ModelError as error:
        message = str(error)
    assert "model.pt" in message
    # What is read is within the six numbers of the file, in whatever type the byte made of them.
    assert all(array.nbytes <= SIX.nbytes for array in arrays)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"\x1f\x8b\x08\x00", "gzipped"),
        (b"<!DOCTYPE html><html>", "it is text that begins with '<!DOCTYPE"),
        (b"\x80\x02}q\x00.", "begins with the bytes 80 02"),
        (archive({}, {}).replace(b"data.pkl", b"date.pkl"), "damaged"),
        (archive({}, {}).replace(b"little", b"biggie"), "damaged"),
        (legacy({}, {}).replace(b"\xe9\x03.", b"\xea\x03.", 1), "protocol version: 1002"),
    ],
)
def test_what_is_no_such_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(tmp_path, content)


def test_an_integer_of_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    for number, content in enumerate(({10**5000: SIX}, {"mode": 10**5000})):
        torch.save(content, tmp_path / f"{number}.pt")
        with pytest.raises(ModelError, match=r"damaged or incomplete \(an integer of 16,610 bits\)"):
            read(tmp_path / f"{number}.pt", (), what="a test")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "none.pt", (), what="a test")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path, (), what="a test")
