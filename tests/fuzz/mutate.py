"""Documents made worse: bytes, characters, lines and columns, JSON, compression."""

from __future__ import annotations

import functools
import gzip
import json
import lzma
import random
from collections.abc import Callable, Sequence
from typing import Any

ODD_TEXTS = (
    "", " ", "\t", "\n", "\r", "\0", "\x1b[31m", "\x1b]0;title\x07", "\x07", "\x08", "\x7f", "\x85", "\x9b31m",
    "\u2028",
    "\u200b", "\u202e", "\ufeff", "\ufffd", "\ufffe", "\U0010ffff", "é", "e\u0301", "ﬁ", "١٢", "²", "½", "Ⅷ", "𝟙",
    "😀", "👩\u200d💻", "=1+1", "=cmd|' /C calc'!A0", "@SUM(A1)", "-1", "+1", "%s", "{}", "{0}", "$x", "\\", "\\n", "'",
    '"', '""',
    "<script>alert(1)</script>", "&amp;", "]]>", "[red]x[/red]", "[/]", "|", "||", "*", "/", "../../etc/passwd",
    "~nobody/x",
    "nan", "inf", "-inf", "1e999", "1e-999", "-0", "0x10", "1_000", "true", "null", "None", "a" * 300, "ab " * 2000,
)  # fmt: skip
"""Strings that programs stumble over."""
NUMBERS = (
    "0", "-1", "1", "2147483648", "-2147483649", "9223372036854775808", "1e308", "1e309", "-1e309", "0.1", "1e-320",
    "NaN", "Infinity", "-Infinity", "00", "1.", ".5", "1e", "9" * 400, "9" * 5000, "1e999999999", "-0.0",
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "cp037", "utf-7", "shift_jis")
MARKS = (
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\x00",
    b"\x1f\x8b",
    b"\xfd7zXZ\x00",
    b"PK\x03\x04",
    b"{",
    b"[",
    b"\n",
)


def document(draw: random.Random, data: bytes) -> bytes:
    """A document with one to four things wrong in it; rarely compressed, or a bomb."""
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4))):
        data = draw.choice(STEPS)(draw, data)
    data = data[:LONGEST]
    return compressed(draw, data) if draw.random() < 0.03 else data


LONGEST = 1 << 20
"""Bytes of a document that is not compressed: hostile by what it says, not by its mere size."""


def compressed(draw: random.Random, data: bytes) -> bytes:
    """The document as gzip or xz, whole or damaged; one in a few is a bomb."""
    if draw.random() < 0.02:
        return gzip.compress(data) + _much(draw.choice(FILLINGS)) * draw.choice((1, 16, 64, 320))
    packed = draw.choice((gzip.compress, lambda d: lzma.compress(d, preset=0)))(data)
    return packed if draw.random() < 0.4 else _bytes(draw, packed)


FILLINGS = (b"\0", b"a", b"\n", b"[", b"A1 ", b"the boy swims\t")


@functools.cache
def _much(filling: bytes) -> bytes:
    """Sixteen megabytes as a few kilobytes of gzip, of which several may follow each other."""
    return gzip.compress(filling * ((16 << 20) // len(filling)))


def _bytes(draw: random.Random, data: bytes) -> bytes:
    """A few bytes changed, put in, taken out."""
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        at = draw.randrange(len(found) + 1)
        match draw.randrange(5):
            case 0 if at < len(found):
                found[at] ^= 1 << draw.randrange(8)
            case 1 if at < len(found):
                found[at] = draw.randrange(256)
            case 2:
                found[at:at] = draw.randbytes(draw.choice((1, 2, 8)))
            case 3:
                del found[at : at + draw.choice((1, 3, 20))]
            case _:
                found[at:at] = draw.choice(MARKS)
    return bytes(found)


def _cut(draw: random.Random, data: bytes) -> bytes:
    at = draw.randrange(len(data) + 1)
    return draw.choice((data[:at], data[at:]))


def _doubled(draw: random.Random, data: bytes) -> bytes:
    """A part of it several times over."""
    start = draw.randrange(len(data) + 1)
    end = start + draw.choice((1, 5, 30, 200))
    times = draw.choice((1, 2, 10, 100, 2000))
    return (data[:end] + data[start:end] * times + data[end:])[:LONGEST]


def _words(draw: random.Random, data: bytes) -> bytes:
    """Odd characters and numbers in place of others."""
    at = draw.randrange(len(data) + 1)
    odd = draw.choice((draw.choice(ODD_TEXTS), draw.choice(NUMBERS), chr(draw.randrange(0x250))))
    end = at + draw.choice((0, 0, 1, 4))
    return data[:at] + odd.encode("utf-8", "surrogatepass") + data[end:]


def _surrogate(draw: random.Random, data: bytes) -> bytes:
    """Half a pair, as bytes or as JSON writes it."""
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice((b"\xed\xa0\x80", b"\\ud800", b"\\udfff\\ud800", b"\\u0000", b"\\u001b")) + data[at:]


def _lines(draw: random.Random, data: bytes) -> bytes:
    """Lines in another order, missing, twice, ended otherwise."""
    lines = data.split(b"\n")
    at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(7):
        case 0:
            lines[at], lines[other] = lines[other], lines[at]
        case 1:
            del lines[at]
        case 2:
            lines[at:at] = [lines[other]] * draw.choice((1, 3, 300))
        case 3:
            draw.shuffle(lines)
        case 4:
            return draw.choice((b"\r\n", b"\r", b"\x0b", b"\n\n", "\u2028".encode(), b"\x1c")).join(lines)
        case 5:
            lines[at] = b""
        case _:
            lines[at] += b"\r"
    return b"\n".join(lines)[:LONGEST]


def _columns(draw: random.Random, data: bytes) -> bytes:
    """Columns swapped, missing, twice, with another separator."""
    lines = data.split(b"\n")
    mark = draw.choice((b"\t", b",", b" "))
    rows = [line.split(mark) for line in lines]
    width = max(map(len, rows))
    one, other = draw.randrange(width), draw.randrange(width)
    kind = draw.randrange(5)
    for row in rows if draw.random() < 0.5 else draw.sample(rows, 1):
        if max(one, other) >= len(row):
            continue
        if kind == 0:
            row[one], row[other] = row[other], row[one]
        elif kind == 1:
            del row[one]
        elif kind == 2:
            row.insert(one, row[other])
        elif kind == 3:
            row[one] = b'"' + row[one] + draw.choice((b'"', b"", b'""'))
        else:
            row[one] = draw.choice((*ODD_TEXTS, *NUMBERS)).encode("utf-8", "surrogatepass")
    joint = draw.choice((mark, mark, mark, b"\t", b",", b";"))
    return b"\n".join(joint.join(row) for row in rows)


def _encoded(draw: random.Random, data: bytes) -> bytes:
    """The same text in another encoding, or with a byte-order mark."""
    if draw.random() < 0.3:
        return draw.choice(MARKS) + data
    return data.decode("utf-8", "replace").encode(draw.choice(ENCODINGS), "replace")


def _json(draw: random.Random, data: bytes) -> bytes:
    """A value of the JSON document, or of one of its lines, replaced, moved or nested."""
    lines = data.split(b"\n") if data.count(b"\n{") else [data]
    at = draw.randrange(len(lines))
    try:
        tree = json.loads(lines[at])
    except (ValueError, RecursionError):
        return _bytes(draw, data)
    text = json.dumps(changed(draw, tree), ensure_ascii=draw.random() < 0.5)
    for mark, value in RAW.items():
        if mark in text:
            text = text.replace(f'"{mark}"', value(draw))
    lines[at] = text.encode("utf-8", "surrogatepass")
    return b"\n".join(lines)[:LONGEST]


RAW: dict[str, Callable[[random.Random], str]] = {
    "@number@": lambda draw: draw.choice(NUMBERS),
    "@deep@": lambda draw: (lambda n: draw.choice(("[" * n + "]" * n, '{"a":' * n + "1" + "}" * n, "[" * n)))(
        draw.choice((30, 900, 2000, 20_000, 100_000))
    ),
    "@twice@": lambda draw: '{"a":1,"a":2}',
}
"""What `json.dumps` cannot write, put in afterwards."""


def changed(draw: random.Random, tree: Any) -> Any:
    """A JSON value with one place in it changed."""
    places = list(_places(tree))
    if not places:
        return odd_value(draw, tree)
    parent, key = draw.choice(places)
    match draw.randrange(7):
        case 0:
            del parent[key]
        case 1:
            other, name = draw.choice(places)
            parent[key] = json.loads(json.dumps(other[name] if draw.random() < 0.9 else tree))
        case 2 if isinstance(parent, dict):
            parent[draw.choice(ODD_TEXTS)] = parent.pop(key)
        case 3 if isinstance(parent, list):
            parent[key:key] = [parent[key]] * draw.choice((1, 50))
        case 4:
            parent[key] = [parent[key]] if draw.random() < 0.5 else {"x": parent[key]}
        case _:
            parent[key] = odd_value(draw, parent[key])
    return tree


def odd_value(draw: random.Random, value: Any) -> Any:
    """Something else that JSON can say."""
    choices: tuple[Any, ...] = (
        None, True, False, 0, -1, 10**30, 1.5, 1e308, float("nan"), float("inf"), [], {}, [[]], [None], {"": ""},
        "@number@", "@number@", "@deep@", "@twice@", draw.choice(ODD_TEXTS), draw.choice(ODD_TEXTS), str(value)[:50],
        "\ud800", [value], value,
    )  # fmt: skip
    return draw.choice(choices)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value: what holds it, and under which name or number."""
    found: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack and len(found) < 3000:
        node = stack.pop()
        inner: Sequence[tuple[Any, Any]] = (
            list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else ()
        )
        for key, value in inner:
            found.append((node, key))
            stack.append(value)
    return found


STEPS: Sequence[Callable[[random.Random, bytes], bytes]] = (
    _bytes, _bytes, _cut, _doubled, _words, _words, _surrogate, _lines, _lines, _columns, _columns, _encoded, _json,
    _json, _json,
)  # fmt: skip
