"""Tiny causal models with chat templates like those of well-known models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tiny

LLAMA = """{{- bos_token -}}
{%- for message in messages -%}
{{- '<|start|>' + message['role'] + '<|header|>\n\n' + message['content'] | trim + '<|end|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start|>assistant<|header|>\n\n' -}}{%- endif -%}"""
QWEN = """{%- if messages[0]['role'] != 'system' -%}
{{- '<|start|>system\nYou are a helpful assistant.<|end|>\n' -}}
{%- endif -%}
{%- for message in messages -%}
{{- '<|start|>' + message['role'] + '\n' + message['content'] + '<|end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start|>assistant\n' -}}{%- endif -%}"""
GEMMA = """{{- bos_token -}}
{%- if messages[0]['role'] == 'system' -%}{{- raise_exception('System role not supported') -}}{%- endif -%}
{%- for message in messages -%}
{%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
{{- '<|start|>' + role + '\n' + message['content'] | trim + '<|end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start|>model\n' -}}{%- endif -%}"""
MISTRAL = """{{- bos_token -}}
{%- for message in messages -%}
{%- if message['role'] == 'user' -%}{{- '[INST] ' + message['content'] + ' [/INST]' -}}
{%- elif message['role'] == 'assistant' -%}{{- message['content'] + eos_token -}}{%- endif -%}
{%- endfor -%}"""
TEMPLATES = {"llama": LLAMA, "qwen": QWEN, "gemma": GEMMA, "mistral": MISTRAL}
CONTROL = ["<|start|>", "<|header|>", "<|end|>", "[INST]", "[/INST]"]


def tokenizer(template: str | None, *, bos: bool = True) -> Any:
    """A byte-level tokenizer with control tokens and a template."""
    made = tiny.byte_level_tokenizer(bos=bos)
    made.add_special_tokens({"additional_special_tokens": CONTROL})
    made.chat_template = template
    return made


def save(folder: Path, template: str | None, *, bos: bool = True, **settings: Any) -> Path:
    """A model in a folder."""
    return tiny.save_causal(folder, "llama", tokenizer=tokenizer(template, bos=bos), **settings)


def logprobs(folder: Path, text: str) -> list[tuple[int, int, float]]:
    """Start, end and log-probability of every token of a rendered text but the first, by plain transformers."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    encoded = AutoTokenizer.from_pretrained(folder)(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = torch.tensor([encoded["input_ids"]])
    with torch.no_grad():
        values = model(ids).logits[0, :-1].log_softmax(-1).gather(-1, ids[0, 1:, None])[:, 0].tolist()
    return [(a, b, value) for (a, b), value in zip(encoded["offset_mapping"][1:], values, strict=True)]


def logprob_after(folder: Path, before: str, text: str) -> float:
    """The log-probability of the tokens of a text that begin at its beginning or later."""
    return sum(value for a, _, value in logprobs(folder, before + text) if a >= len(before))
