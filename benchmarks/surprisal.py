"""Word surprisals of the same sentences with the same random GPT-2, through `wug surprisal` and minicons, in one run.

    python benchmarks/surprisal.py                     two CPU cores, 124M parameters, 2,000 sentences
    python benchmarks/surprisal.py --large             peak memory of wug with a vocabulary of 256,000
    python benchmarks/surprisal.py --parity            1,000 sentences and six tokenizers, word for word

Times are of whole processes: start, loading, tokenising, scoring, writing a CSV file. minicons (`word_score_tokenized`)
gives surprisals alone, in several batch sizes, of which the fastest counts; so does wug in the first line, and entropy
and rank as well in the second. Sentences are those of benchmarks/scoring.py.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import scoring
from timing import DATA, ROOT, Took, head, line, took

Rows: TypeAlias = dict[tuple[int, int], tuple[str, float]]
"""Word and bits by text and place."""
GEMMA = 256_000
NEAR = 1e-4
"""Bits by which two programs may differ."""

MINICONS = """
import csv, json, sys, torch
from minicons.scorer import IncrementalLMScorer
model, source, out, batch = sys.argv[1:]
texts = json.load(open(source))
scorer = IncrementalLMScorer(model, "cpu", dtype=torch.float32)
with open(out, "w", newline="") as file:
    writer = csv.writer(file)
    for first in range(0, len(texts), int(batch)):
        some = texts[first : first + int(batch)]
        with torch.inference_mode():
            found = scorer.word_score_tokenized(
                some, tokenize_function=str.split, bos_token=True, surprisal=True, base_two=True
            )
        for number, words in enumerate(found, first + 1):
            for place, (word, bits) in enumerate(words, 1):
                writer.writerow([number, place, word, bits])
"""


def sentences(count: int) -> list[str]:
    """Half of them of SyntaxGym, half of BLiMP, each spread evenly; shorter than any context."""
    gym = scoring.syntaxgym_sentences(DATA)
    blimp = scoring.blimp_sentences(DATA, 2 * count)
    half = count // 2 if blimp else count
    return [*gym[:: max(1, len(gym) // half)][:half], *blimp[:: max(1, len(blimp) // half)][: count - half]]


def wug(model: Path, texts: Path, out: Path, *more: str) -> list[str]:
    """The command."""
    return [
        *(sys.executable, "-m", "wug", "surprisal", str(texts), "--model", f"causal:{model}"),
        *("--no-cache", "-o", str(out), *more),
    ]


def read_rows(path: Path, columns: Sequence[int]) -> Rows:
    """Word and bits by text and place."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = (row for row in csv.reader(file) if row[columns[0]].isdigit())
        return {
            (int(row[columns[0]]), int(row[columns[1]])): (row[columns[2]], float(row[columns[3]] or "nan"))
            for row in rows
        }


def compare(options: argparse.Namespace, folder: Path) -> None:
    """Print a line for each program."""
    texts = sentences(options.count)
    model = folder / "model"
    scoring.make_model(model, options.size, texts, DATA)
    source, listed = folder / "texts.txt", folder / "texts.json"
    source.write_text("\n".join(texts) + "\n", encoding="utf-8")
    listed.write_text(json.dumps(texts), encoding="utf-8")
    print(f"\n{options.size} parameters, {len(texts):,} sentences, whole processes\n")
    head(
        "program", "batch", "seconds", "time ÷ wug's", "CPU seconds", "CPU ÷ wug's", "peak GiB",
        "largest difference (bits)",
    )  # fmt: skip
    first: Took | None = None
    expected: Rows = {}
    for title, more in (("wug", ["--no-entropy"]), ("wug, with entropy and rank", ["--entropy"])):
        used = took(wug(model, source, folder / "wug.csv", *more))
        first = first or used
        found = read_rows(folder / "wug.csv", (0, 2, 3, 6))
        expected = expected or found
        _line(title, "", used, first, _gap(found, expected))
    for batch in options.batches:
        theirs = folder / "minicons.csv"
        used = took([sys.executable, "-c", MINICONS, str(model), str(listed), str(theirs), str(batch)])
        _line("minicons", batch, used, first or used, _gap(read_rows(theirs, (0, 1, 2, 3)), expected))


def _gap(found: Rows, expected: Rows) -> float:
    """The most by which two tables of the same words differ."""
    assert found.keys() == expected.keys()
    return max(abs(found[key][1] - expected[key][1]) for key in found)


def _line(program: str, batch: object, used: Took, first: Took, gap: float) -> None:
    ratio, processor = used.wall / first.wall, used.cpu / first.cpu
    line(
        program, batch, f"{used.wall:.1f}", f"{ratio:.2f} ×", f"{used.cpu:.1f}", f"{processor:.2f} ×",
        f"{used.peak / 1024:.2f}", f"{gap:.1e}",
    )  # fmt: skip


def large(folder: Path) -> None:
    """Print what wug takes with a vocabulary of Gemma's size."""
    import torch
    from tokenizers import Tokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    texts = sentences(200)
    small = folder / "small"
    scoring.make_model(small, "tiny", texts, DATA)
    backend = Tokenizer.from_file(str(small / "tokenizer.json"))
    backend.add_tokens([f"<unused{number}>" for number in range(GEMMA - backend.get_vocab_size())])
    end = "<|endoftext|>"
    model = folder / "large"
    PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=end, eos_token=end).save_pretrained(model)
    torch.manual_seed(0)
    GPT2LMHeadModel(
        GPT2Config(vocab_size=GEMMA, bos_token_id=0, eos_token_id=0, n_layer=4, n_embd=768)
    ).save_pretrained(model)
    source = folder / "texts.txt"
    source.write_text("\n".join(texts) + "\n", encoding="utf-8")
    weights = sum(path.stat().st_size for path in model.glob("*.safetensors")) / 2**30
    for options in ([], ["--boundary"]):
        used = took(wug(model, source, folder / "wug.csv", *options))
        print(
            f"vocabulary {GEMMA:,}{' with --boundary' * bool(options)}: {len(texts)} sentences, {used.cpu:.1f} s of "
            f"CPU, peak {used.peak / 1024:.2f} GiB, of which the weights are {weights:.2f} GiB",
            flush=True,
        )


def parity(options: argparse.Namespace, folder: Path) -> None:
    """Print for each kind of tokenizer how many words both programs define, and their largest difference."""
    from minicons.scorer import IncrementalLMScorer

    from wug.texts import surprisal

    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    tiny: Any = importlib.import_module("tiny")
    kinds: Any = importlib.import_module("tokenizers_of_all_kinds").KINDS
    texts = sentences(1000)
    head(
        "tokenizer", "words", "same tokens in both", "largest difference there (bits)", "tokens",
        "of all tokens (bits)", "of entropies (bits)",
    )  # fmt: skip
    for kind, make in kinds.items():
        model = tiny.save_causal(folder / kind.replace(" ", "_"), tokenizer=make(texts))
        words = surprisal(texts, f"causal:{model}").to_dicts()
        tokens = surprisal(texts, f"causal:{model}", "token")
        scorer = IncrementalLMScorer(str(model), "cpu")
        by_word, by_token, by_place = zip(*(_minicons(scorer, text) for text in texts), strict=True)
        theirs = [row for some in by_word for row in some]
        both = _both(words, theirs, scorer.tokenizer, texts)
        gap = max(abs(a - b) for a, b in both)
        flat = [bits for some in by_token for bits in some]
        apart = max(abs(a - b) for a, b in zip(tokens["surprisal"], flat, strict=True))
        plain = [bits for some in by_place for bits in some]
        spread = max(abs(a - b) for a, b in zip(tokens["entropy"], plain, strict=True))
        assert max(gap, apart, spread) < NEAR, kind
        line(kind, f"{len(words):,}", f"{len(both):,}", f"{gap:.1e}", f"{len(flat):,}", f"{apart:.1e}", f"{spread:.1e}")


def _minicons(scorer: Any, text: str) -> tuple[list[tuple[str, float]], list[float], list[float]]:
    """Its words and its tokens with their bits, and by the definition the entropy at each token."""
    import torch

    settings = {"bos_token": True, "surprisal": True, "base_two": True}
    (words,) = scorer.word_score_tokenized([text], tokenize_function=str.split, **settings)
    (tokens,) = scorer.token_score([text], **settings)
    tokenizer = scorer.tokenizer
    ids = [tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]
    with torch.inference_mode():
        logs = scorer.model(input_ids=torch.tensor([ids])).logits[0, :-1].double().log_softmax(dim=-1)
    return words, [bits for _, bits in tokens[1:]], (-(logs.exp() * logs).sum(dim=-1) / math.log(2)).tolist()


def _both(
    ours: Sequence[dict[str, Any]], theirs: Sequence[tuple[str, float]], tokenizer: Any, texts: Sequence[str]
) -> list[tuple[float, float]]:
    """The bits of those words that have the same tokens in both.

    minicons cuts a sentence into its words by tokenising each with a space before it: where those tokens are not the
    ones of the sentence, the word that it scores is another.
    """
    found = []
    rows = iter(zip(ours, theirs, strict=True))
    for text in texts:
        whole = tokenizer(text, add_special_tokens=False)["input_ids"]
        parts = list(_parts(text, tokenizer))
        same = [token for part in parts for token in part] == whole
        for part in parts:
            row, (word, bits) = next(rows)
            assert row["word"] == word
            if same and row["tokens"] == len(part):
                found.append((row["surprisal"], bits))
    return found


def _parts(text: str, tokenizer: Any) -> Iterator[list[int]]:
    for place, word in enumerate(text.split()):
        yield tokenizer(f" {word}" if place else word, add_special_tokens=False)["input_ids"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--size", default="124M", choices=list(scoring.SHAPES))
    parser.add_argument("--batches", nargs="+", type=int, default=[8, 32, 128])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--parity", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        if options.parity:
            parity(options, Path(name))
        elif options.large:
            large(Path(name))
        else:
            compare(options, Path(name))


if __name__ == "__main__":
    main()
