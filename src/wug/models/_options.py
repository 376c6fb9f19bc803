"""Options that several backends have."""

from __future__ import annotations

from pathlib import Path

from wug.options import Option

DTYPES = ("float32", "bfloat16", "float16", "auto")
FLOATS = ("float32", "float64", "bfloat16", "float16")
"""Number formats of networks that wug itself computes."""

DTYPE = Option("dtype", DTYPES, "float32", "the number format of weights and arithmetic; auto: as stored")
DEVICE = Option("device", str, None, "cpu, cuda, cuda:1, mps; by default the best there is")
TRUST = Option("trust_remote_code", bool, False, "run code that the model brings along")
QUANTIZE = Option("quantize", ("no", "int8", "int4"), "no", "keep the weights of its layers in 8 bits, or in 4 (NF4)")
ADAPTER = Option("adapter", Path, None, "the folder of an adapter (peft) that was trained on the model")
DEVICE_MAP = Option(
    "device_map", ("no", "auto"), "no", "auto: layers on all GPUs, what has no room there in memory or on disk"
)
GGUF = Option("gguf", str, None, "of the folder, the GGUF file to load; causal:FILE.gguf is the same")
NODES = Option("nodes", int, None, "tokens computed at a time; by default what memory allows", least=1)
EOS = Option("eos", bool, False, "score the end mark after a text as well")
BEAMS = Option("beams", int, 1, "beams of the search; 1 is greedy", least=1)
MAX_LENGTH = Option(
    "max_length",
    int,
    None,
    "tokens of an answer at most; by default 8 for each of its source, 128 at least, 1024 at most",
    least=1,
)
BATCH = Option(
    "batch",
    int,
    None,
    "tokens computed at a time, room for answers included; by default what is moderate for the device",
    least=1,
)
TEMPLATE = Option(
    "template", str, "{source} ->", r"the prompt, with {source} and perhaps {answer} in it; \n is a line break"
)
EXAMPLES = Option("examples", Path, None, "a file of examples to begin every prompt with, source<TAB>answer a line")
STOP = Option("stop", str, r"\n", "what ends an answer, beside the model's end mark")
