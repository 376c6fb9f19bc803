"""The same sentences through `causal:wug-causal` and through a llama-cpp-python server that has the same weights.

    python -m venv server && server/bin/pip install 'llama-cpp-python[server]' gguf safetensors
    python benchmarks/endpoint.py --python server/bin/python

The model is written as a GGUF file, twice: with a tokenizer that leaves BOS tokens to the client, and with one that
puts one before every text. Every token of the sentences (accents, dashes, emoji and Chinese among them) is then
compared, with and without a start mark. Prints for each way the largest difference in nats, or why wug refuses it, and
how many questions a second the first server answers with several under way at once. The server needs an environment of
its own, because wug does not depend on it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "src" / "wug" / "assets" / "models" / "wug-causal"
MARK = "<|endoftext|>"
PORT = 8471
UNUSUAL = (
    "The naïve café owner paid the fiancée’s coöperative in Zürich.",
    "She came — late, as ever – and left…",
    "It was great fun \N{GRINNING FACE} for all of us.",
    "The sign said 日本語 and nothing else.",
    "A “quoted” word, a £5 note and 20 °C.",
    "Ærøskøbing lies on Ærø.",
    "  Two spaces first, and  two within.",
    "Здравствуй, said the author.",
    "\N{FAMILY}\N{GRINNING FACE} came first.",
    "日本語だけの文。",
    "x",
)
ADDED = ("— naïvely", "in Zürich", "\N{GRINNING FACE}", "日本語", "“so”…", "à la carte", "– perhaps –", "w Łodzi")
"""Sentences whose characters take several tokens, begin in several ways, or are in other scripts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the Python that has llama-cpp-python and gguf")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 4, 16], help="questions under way at once")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--threads", type=int, default=1, help="of the server; they wait for each other busily")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--add-mark", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_gguf(options.write, add_mark=options.add_mark)
        return
    texts = sentences(options.sentences)
    print(versions(options.python), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for add_mark in (False, True):
            file = Path(folder) / f"wug-causal-{'marked' if add_mark else 'bare'}.gguf"
            more = ["--add-mark"] if add_mark else []
            subprocess.run([options.python, __file__, "--write", str(file), *more], check=True)
            for precise in (True, False):
                with serving(options, file, precise=precise) as (address, server):
                    print(f"keys and values kept in {'float32' if precise else 'float16, the default'}:")
                    compare(address, texts, add_mark=add_mark)
                    if precise and not add_mark:
                        speed(address, server, texts, options.concurrency)


def versions(python: str) -> str:
    """What is compared with what, and where."""
    packages = ("llama-cpp-python", "gguf")
    code = f"from importlib.metadata import version; print(*(f'{{n}} {{version(n)}}' for n in {packages!r}), sep=', ')"
    theirs = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    ours = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    return f"{theirs}; {ours}; {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def speed(address: str, server: int, texts: Sequence[str], concurrencies: Sequence[int]) -> None:
    """Print how fast questions are answered, with several under way at once."""
    from wug.evaluation.models import open_model
    from wug.requests import Request

    requests = [Request(text) for text in texts if text[0].isascii() and not text[0].isspace()]
    print("| questions under way | a second | ms of the server's CPU each |\n|---|---|---|")
    for concurrency in concurrencies:
        model = open_model(f"endpoint:{address}", {"bos": MARK, "concurrency": str(concurrency)})
        began, used = time.perf_counter(), cpu_seconds(server)
        model.score(requests)
        took, used = time.perf_counter() - began, cpu_seconds(server) - used
        each = 1000 * used / len(requests)
        print(f"| {concurrency} | {len(requests) / took:.1f} | {each:.1f} |", flush=True)
    same = open_model(f"causal:{MODEL}", {"device": "cpu"})
    same.score(requests[:1])  # loads it
    began, used = time.perf_counter(), time.process_time()
    same.score(requests)
    took, used = time.perf_counter() - began, time.process_time() - used
    print(f"| causal: itself | {len(requests) / took:.1f} | {1000 * used / len(requests):.1f} |", flush=True)


def cpu_seconds(process: int) -> float:
    """Processor time of a process so far, as Linux tells it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compare(address: str, texts: Sequence[str], *, add_mark: bool) -> None:
    """Print how far the server is from the model itself, in each way of asking that makes sense."""
    server = "a server that adds a start mark" if add_mark else "a server that adds none"
    for given in ({}, {"bos": MARK}):
        name = f"{server}, {'wug sends one' if given else 'wug sends none'}"
        marked = add_mark or bool(given)
        print(f"{name}: {verdict(address, texts, given, {} if marked else {'bos': 'no'})}", flush=True)


def verdict(address: str, texts: Sequence[str], given: dict[str, str], causal: dict[str, str]) -> str:
    """What one way of asking gives, in words."""
    from wug.errors import WugError
    from wug.evaluation.models import open_model
    from wug.requests import Request

    try:
        model = open_model(f"endpoint:{address}", given)
    except WugError as error:
        return f"refused. {error}"
    same = open_model(f"causal:{MODEL}", causal)
    tokens = compared = 0
    largest = 0.0
    refused: list[str] = []
    for text, expected in zip(texts, same.score([Request(text) for text in texts]), strict=True):
        try:
            (found,) = model.score([Request(text)])
        except WugError as error:
            refused.append(str(error))
            continue
        compared += 1
        if found.starts != expected.starts:
            return f"DIFFERENT PLACES in {text!r}: {found.starts} and {expected.starts}"
        for place, (left, right) in enumerate(zip(found.logprobs, expected.logprobs, strict=True)):
            unscored = model.options.get("first_word") == "unscored" and not place
            if (left is None) != (right is None or unscored):
                return f"DIFFERENT in {text!r}: {left} and {right}"
            if left is not None and right is not None:
                tokens, largest = tokens + 1, max(largest, abs(left - right))
    lines = "".join(f"\n    {reason}" for reason in refused)
    return (
        f"{compared} of {len(texts)} sentences, {tokens:,} tokens, {model.options}, largest difference "
        f"{largest:.2e} nats; {len(refused)} refused{lines}"
    )


def sentences(count: int) -> list[str]:
    """Unusual sentences first, then those of the built-in minimal pairs, every fourth with something unusual in it."""
    plain: list[str] = []
    for file in sorted((ROOT / "src" / "wug" / "assets" / "suites" / "pairs").glob("*.tab")):
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                plain += [row["sent"], row["sent_alt"]]
    plain = list(dict.fromkeys(plain))
    wanted = count - len(UNUSUAL)
    spread = [plain[place * len(plain) // wanted] for place in range(wanted)]
    for place in range(0, wanted, 4):
        spread[place] = spread[place].removesuffix(".") + f" {ADDED[place // 4 % len(ADDED)]}."
    return [*UNUSUAL, *spread]


@contextmanager
def serving(options: argparse.Namespace, file: Path, *, precise: bool) -> Iterator[tuple[str, int]]:
    """A llama-cpp-python server on this machine, gone at the end: its address and its process."""
    threads = str(options.threads)
    command = [options.python, "-m", "llama_cpp.server", "--model", str(file), "--port", str(options.port)]
    command += ["--logits_all", "true", "--n_ctx", "512", "--verbose", "false"]
    command += ["--n_threads", threads, "--n_threads_batch", threads]
    if precise:
        command += ["--type_k", "0", "--type_v", "0"]  # keys and values are kept in float16 otherwise
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{options.port}/v1"
    try:
        for _ in range(600):
            if server.poll() is not None:
                raise SystemExit(f"the server ended at once, status {server.returncode}: {' '.join(command)}")
            try:
                urllib.request.urlopen(f"{address}/models").close()
                break
            except OSError:
                time.sleep(0.2)
        yield address, server.pid
    finally:
        server.terminate()
        server.wait()


def write_gguf(target: Path, *, add_mark: bool) -> None:
    """The built-in causal model as a GGUF file, its numbers as float32."""
    import gguf
    import numpy
    from safetensors.numpy import load_file

    config = json.loads((MODEL / "config.json").read_text(encoding="utf-8"))
    tokenizer = json.loads((MODEL / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    heads = config["num_attention_heads"]
    writer = gguf.GGUFWriter(str(target), "llama")
    writer.add_name("wug-causal")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    vocabulary = sorted(tokenizer["vocab"], key=tokenizer["vocab"].__getitem__)
    kinds = [gguf.TokenType.CONTROL if token == MARK else gguf.TokenType.NORMAL for token in vocabulary]
    writer.add_token_list(vocabulary)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(add_mark)
    for name, values in load_file(MODEL / "model.safetensors").items():
        array: Any = values.astype(numpy.float32)
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            # llama.cpp rotates neighbouring numbers, transformers the two halves of a head.
            size = array.shape[0]
            array = array.reshape(heads, 2, size // heads // 2, -1).swapaxes(1, 2).reshape(array.shape)
        writer.add_tensor(_tensor_name(name), array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensor_name(name: str) -> str:
    """What llama.cpp calls a tensor of a Llama."""
    parts = {
        "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
        "model.embed_tokens": "token_embd", "model.norm": "output_norm", "model.layers": "blk",
    }  # fmt: skip
    for theirs, ours in parts.items():
        name = name.replace(theirs, ours)
    return name


if __name__ == "__main__":
    main()
