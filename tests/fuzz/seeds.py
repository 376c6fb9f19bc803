"""Small documents in every format that wug reads, all of them good."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from typing import Any

from pickles import MAGIC, SYSTEM, Call, Named, Reference, dumps

SUITE: dict[str, Any] = {
    "meta": {
        "name": "tiny",
        "metric": "sum",
        "tags": ["agreement"],
        "author": "A",
        "description": "d",
        "reference": "",
    },
    "region_meta": {"1": "subject", "2": "verb", "3": "end"},
    "predictions": [
        {"type": "formula", "formula": "(2;%mismatch%) > (2;%match%)"},
        {"type": "formula", "formula": "(*;%mismatch%) - (3;%mismatch%) > 0.5 & (verb;%match%) < 100"},
    ],
    "items": [
        {
            "item_number": number,
            "conditions": [
                {
                    "condition_name": name,
                    "regions": [
                        {"region_number": 1, "content": f"The {noun}"},
                        {"region_number": 2, "content": verb},
                        {"region_number": 3, "content": "."},
                    ],
                }
                for name, verb in (("match", "swims"), ("mismatch", "swim"))
            ],
        }
        for number, noun in ((1, "author"), (2, "guard"))
    ],
}
SUITE_JSON = json.dumps(SUITE, indent=1).encode()
SUITE_CSV = b"item_number,condition_name,region_number,content\n" + b"".join(
    f'{item},{name},{number},"{content}"\n'.encode()
    for item in (1, 2)
    for name, verb in (("match", "swims"), ("mismatch", "swim"))
    for number, content in ((1, "The author"), (2, verb), (3, "."))
)


def evaluated() -> bytes:
    """The suite with a value in each region."""
    tree = json.loads(SUITE_JSON)
    for item in tree["items"]:
        for condition in item["conditions"]:
            for place, region in enumerate(condition["regions"]):
                region["metric_value"] = {"sum": 3.5 + place + len(region["content"])}
                region["oovs"] = []
    return json.dumps(tree).encode()


_ORIGINAL = (
    "pattern\tconstr_id\tsent_id\tcorrect_number\tform\tclass\ttype\tprefix\tn_attr\tpunct\tfreq\tlen_context\t"
    "len_prefix\tsent\tlm1\tlm2\n"
)
ORIGINAL = (
    _ORIGINAL
    + "NOUN!VERB\t1\t1\tsing\tswims\tcorrect\toriginal\tthe boy\t0\t0\t5\t2\t2\tthe boy swims . <eos>\t-3.5\t-2.5\n"
    + "NOUN!VERB\t1\t1\tsing\tswim\twrong\toriginal\tthe boy\t0\t0\t5\t2\t2\tthe boy swims . <eos>\t-4.5\t-2.0\n"
    + "NOUN!VERB\t1\t2\tplur\tswim\tcorrect\tgenerated\tthe boys\t1\t0\t5\t2\t2\tthe boys swim . <eos>\t-1\t-2\n"
    + "NOUN!VERB\t1\t2\tplur\tswims\twrong\tgenerated\tthe boys\t1\t0\t5\t2\t2\tthe boys swim . <eos>\t-2\t-1\n"
).encode()
WORDS = (
    b"pattern\tsent\tform\tform_alt\tlen_prefix\n"
    b"simple\tthe boy swims .\tswims\tswim\t2\nsimple\tno one left\tleft\tleave\t2\n"
)
SENTENCES = (
    b'pattern,sent,sent_alt,condition\nnpi,No one ever left.,Everyone ever left.,past\nnpi,"No, ever.","Yes, ever.",x\n'
)
BLIMP = b"\n".join(
    json.dumps(
        {
            "sentence_good": good, "sentence_bad": bad, "UID": "tiny", "linguistics_term": "agreement",
            "field": "syntax/semantics", "pairID": str(number), "one_prefix_method": True,
            "one_prefix_prefix": "The boy", "one_prefix_word_good": "swims", "one_prefix_word_bad": "swim",
        }
    ).encode()
    for number, (good, bad) in enumerate(
        [("The boy swims.", "The boy swim."), ("The boy swims now.", "The boy swim now.")]
    )
)  # fmt: skip
MARKS = b"True\tthe author laughs\nFalse\tthe author laugh\nTrue\tthe boys swim\nFalse\tthe boys swims\n"
CASES = (
    b"simple_agrmt\tsing\tthe author laughs\tthe author laugh\n"
    b"simple_agrmt\tplur\tthe authors laugh\tthe authors laughs\n"
)
TEXT = b"the boy swims .\nthe boys swim .\n"
GOLD = b"2\tswims\tswim\t0\n2\tswim\tswims\t1\n"
EVAL = b"2\n2\n"
COGS = (
    b"A cat napped .\tcat ( x _ 1 ) AND nap . agent ( x _ 2 , x _ 1 )\tprim_to_subj_common\n"
    b"The cat napped .\t* cat ( x _ 1 ) ; nap . agent ( x _ 2 , x _ 1 )\tcp_recursion\n"
    b"Emma napped .\tnap . agent ( x _ 1 , Emma )\tprim_to_subj_proper\n"
    b"shark\tLAMBDA a . shark ( a )\tprimitive\n"
)
RECOGS = (
    b"A cat napped .\tcat ( 1 ) ; nap ( 2 ) AND agent ( 2 , 1 )\tprim_to_subj_common\n"
    b"Emma saw the cat .\tEmma ( 0 ) ; * cat ( 3 ) ; see ( 1 ) AND agent ( 1 , 0 ) AND theme ( 1 , 3 )\tcp_recursion\n"
)
SLOG = (
    b"Who napped ?\tnap . agent ( x _ 1 , ? )\tq_subj\n"
    b"The cat on the mat napped .\t* cat ( x _ 1 ) ; * mat ( x _ 4 ) ; cat . nmod . on ( x _ 1 , x _ 4 ) AND "
    b"nap . agent ( x _ 5 , x _ 1 )\tpp\n"
)
VARIABLE_FREE = (
    b"A cat napped .\tnap ( agent = cat )\tin_distribution\n"
    b"Emma saw the cat on the mat .\tsee ( agent = Emma , theme = * cat ( nmod . on = * mat ) )\tpp_recursion\n"
)
COGS_ANSWERS = b"\n".join(b"\t".join((row.split(b"\t")[0], row.split(b"\t")[1])) for row in COGS.splitlines())
COGS_LINES = b"\n".join(row.split(b"\t")[1] for row in COGS.splitlines()) + b"\n"
COGS_JSON = b"\n".join(
    json.dumps({"sentence": row.split("\t")[0], "prediction": row.split("\t")[1]}).encode()
    for row in COGS.decode().splitlines()
)
SOURCES = b"repeat A1 B2\nrepeat append A1 , B2 C3\nswap_first_last remove_first A1 , B2 C3 D4\n"
TARGETS = b"A1 B2 A1 B2\nA1 B2 C3 A1 B2 C3\nD4 C3 B2\n"
TWINS = b"repeat_twin A1 B2\nrepeat_twin append A1 , B2 C3\nswap_first_last_twin remove_first A1 , B2 C3 D4\n"
UNROLLED = (
    b"unrolled\tappend A1 , B2 C3\t*1\nunrolled\trepeat *1\tA1 B2 C3 A1 B2 C3\n"
    b"original\trepeat append A1 , B2 C3\tA1 B2 C3 A1 B2 C3\n"
)
EXCEPTION_SOURCES = b"reverse echo A1 B2\nprepend remove_first A1 , B2 , C3\n"
EXCEPTION_TARGETS = b"A1 B2 B2\nA1 B2\n"
TABLE = b"source\ttarget\tprediction\ncopy A1 B2\tA1 B2\tA1 B2\nrepeat A1\tA1 A1\tA1\n"
TWIN_TABLE = b"source\ttarget\tprediction\nrepeat A1\tA1 A1\tA1\nrepeat B1\tB1 B1\tB1 B1\n"
TWIN_OTHER = b"source\ttarget\tprediction\nrepeat_twin A1\tA1 A1\tA1 A1\nrepeat_twin B1\tB1 B1\tB1 B1\n"
TRACE = (
    b"-----\ncopy A1 -> A1\nrepeat A1 -> A1 A1\nrepeat copy A1 -> []\nTrue\n"
    b"-----\necho B1 -> B1 B1\necho B1 -> B1 B1\nFalse\n"
)
FAIRSEQ = b"S-0\tcopy A1 B2\nH-0\t-0.1\tA1 B2\nH-2\t-0.2\tD4 C3 B2\nH-1\t-0.3\tA1\n"
LOG = (
    b"Epoch: 1\nAdapted - Sequence Accuracy: 0.1\nOriginal - Sequence Accuracy: 0.8\n"
    b"Epoch: 2\nAdapted - Sequence Accuracy: 0.5\nOriginal - Sequence Accuracy: 0.4\n"
)
REPLAY_SCORES = b"\n".join(
    json.dumps({"text": text, "tokens": tokens, "logprobs": values}).encode()
    for text, tokens, values in (
        ("The author swims.", ["The", " author", " swims", "."], [None, -3.5, -7.25, -0.5]),
        ("The author swim.", ["The", "\u0120author", "\u0120swim", "."], [-1.0, -3.5, -9.25, -0.5]),
        ("na\u00efve caf\u00e9", ["na", "\u00ef", "ve", " caf\u00e9"], [-1.0, -3.5, -9.25, -0.5]),
    )
)
REPLAY_TEXTS = b'{"source": "copy A1 B2", "prediction": "A1 B2"}\n{"source": "repeat A1", "prediction": ""}\n'
ZOO = (
    b"sentence_id\ttoken_id\ttoken\tsurprisal\n1\t1\tThe\t0.0\n1\t2\tauthor\t7.5\n1\t3\tswims\t8.25\n2\t1\tThe\t0.0\n"
    b"2\t2\tauthor\t7.5\n2\t3\tswim\t9.25\n"
)
ZOO_SENTENCES = b"The author swims\nThe author swim\n"
ARPA = (
    b"\\data\\\nngram 1=7\nngram 2=4\nngram 3=1\n\n\\1-grams:\n-1.0\t<unk>\n-99\t<s>\t-0.5\n"
    b"-0.7\tthe\t-0.3\n-0.9\tboy\t-0.2\n"
    b"-1.2\t</s>\n-1.1\tswims\t-0.1\n-1.3\tswim\n"
    b"\n\\2-grams:\n-0.4\t<s> the\t-0.1\n-0.6\tthe boy\t-0.25\n-0.8\tboy swims\n"
    b"-1.8\tboy swim\n\n\\3-grams:\n-0.2\t<s> the boy\n\n\\end\\\n"
)
UNIGRAMS = b"the\t1000\nboy 20\nswims\t3\nswim\t4\n.\t2000\n"
LEXICON = b"""language = "Tiny"
function_words = ["the", "a"]

[lexicon.person]
forms = ["sing", "plur"]
items = [["author", "authors"], ["poet", "poets"]]

[lexicon.verb]
forms = ["sing", "plur"]
items = [["swims", "swim"], ["laughs", "laugh"]]

[[pattern]]
name = "simple"
category = "agreement"
text = "the {person.N} [{verb.N}|*{verb.-N}]."
vary = { N = ["sing", "plur"] }
"""
EXAMPLES = b"copy A1\tA1\nrepeat A1\tA1 A1\n"
LSTM_CONFIG = json.dumps(
    {
        "architectures": ["WordLSTM"], "model_type": "wug-lstm", "kind": "LSTM", "layers": 1, "width": 2, "hidden": 2,
        "projection": None, "tied": False, "lowercase": False, "words": "spaces",
    }
).encode()  # fmt: skip
VOCABULARY = b"<eos>\n<unk>\nthe\nboy\nswims\n"
SHAPES = {
    "encoder.weight": (5, 2), "rnn.weight_ih_l0": (8, 2), "rnn.weight_hh_l0": (8, 2), "rnn.bias_ih_l0": (8,),
    "rnn.bias_hh_l0": (8,), "decoder.weight": (5, 2), "decoder.bias": (5,),
}  # fmt: skip
"""The tensors of an LSTM of five words."""


def _numbers(count: int) -> bytes:
    return struct.pack(f"<{count}f", *(((7 * place) % 13) / 13 - 0.5 for place in range(count)))


def _size(shape: tuple[int, ...]) -> int:
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def safetensors() -> bytes:
    """The weights as safetensors: the length of a JSON header, the header, the numbers."""
    header: dict[str, Any] = {}
    data = b""
    for name, shape in SHAPES.items():
        own = _numbers(_size(shape))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(own)]}
        data += own
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def _state(*, old: bool) -> dict[str, Any]:
    found = {}
    for key, (name, shape) in enumerate(SHAPES.items()):
        stride = (shape[1], 1) if len(shape) > 1 else (1,)
        kept = ("storage", Named("torch", "FloatStorage"), str(key), "cpu", _size(shape))
        stored = Reference((*kept, None)) if old else Reference(kept)
        found[name] = Call(Named("torch._utils", "_rebuild_tensor"), (stored, 0, shape, stride))
    return found


def pt_archive() -> bytes:
    """The weights in a zip archive, as PyTorch saves them today."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("archive/data.pkl", dumps(_state(old=False)))
        file.writestr("archive/byteorder", "little")
        for key, shape in enumerate(SHAPES.values()):
            file.writestr(f"archive/data/{key}", _numbers(_size(shape)))
        file.writestr("archive/version", "3\n")
    return stream.getvalue()


def pt_legacy() -> bytes:
    """The weights as PyTorch saved them before 1.6: one pickle after the other, then the numbers."""
    keys = [str(key) for key in range(len(SHAPES))]
    parts = [dumps(part) for part in (MAGIC, 1001, SYSTEM, _state(old=True), keys)]
    for shape in SHAPES.values():
        parts += [struct.pack("<q", _size(shape)), _numbers(_size(shape))]
    return b"".join(parts)


def repacked(archive: bytes, change: Any) -> bytes:
    """A zip archive again, its pickle changed: so that not every change is caught by a checksum."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data) if name.endswith("data.pkl") else data)
    return stream.getvalue()
