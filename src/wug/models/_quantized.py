"""Weights of 8 or 4 bits: how they are asked for, and that this machine computes with them what they mean.

8 bits are torchao's, 4 bits bitsandbytes' NF4 (Dettmers et al. 2023). Both shorten weights alone: numbers that pass
through the layers stay as they are, so that a text's score does not depend on what it is asked together with.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wug.errors import MissingExtra, ModelError
from wug.models._spec import ModelSpec

USUAL = {"int8": 0.01, "int4": 0.09}
"""The error of a layer, as a share of what it gives in float32."""
FAR = {"int8": 0.1, "int4": 0.18}
"""The largest error that is taken for rounding: blocks that are read in the wrong place make 0.25."""
ROWS = (1, 8)
"""Inputs of a layer that are tried: programs take other ways for a single one."""
NOISY = ("accelerate", "bitsandbytes", "torchao", "torch.utils._pytree")
"""Loggers that tell of parts which are not used here."""

log = logging.getLogger("wug")


def hush() -> None:
    """Let packages be silent that transformers imports wherever they are installed."""
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.ERROR)


def settings(quantize: str, dtype: Any) -> Any:
    """What transformers is told; `dtype` is the number format of the arithmetic."""
    try:
        import accelerate  # noqa: F401
        import transformers

        if quantize == "int8":
            from torchao.quantization import Int8WeightOnlyConfig

            return transformers.TorchAoConfig(Int8WeightOnlyConfig(version=2))
        import bitsandbytes  # noqa: F401

        return transformers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
        )
    except ImportError:
        raise MissingExtra(f"quantize={quantize}", "bigger") from None


def prepare(model: Any) -> None:
    """Let 4 bits be computed as they are on every machine: unpacked to the number format of the arithmetic.

    On CPUs that can, bitsandbytes computes in bfloat16, whatever is asked, and fails for rows that are no whole blocks.
    """
    for _, layer in layers(model):
        if hasattr(layer, "support_avx512bf16_for_cpu"):
            layer.support_avx512bf16_for_cpu = False


def require_right(model: Any, quantize: str, files: Path | None, spec: ModelSpec) -> None:
    """Refuse a model whose layers, on this machine, give something else than shortened weights can explain.

    A layer of each shape is compared with its weights in the `files` of the model.
    """
    shapes = {(layer.in_features, layer.out_features): (name, layer) for name, layer in layers(model)}
    if not shapes:
        raise ModelError(
            f"{spec}: quantize={quantize} changes none of its layers ({type(model).__name__}). "
            + ("Try quantize=int4, or leave it out" if quantize == "int8" else "Leave it out")
        )
    for name, layer in shapes.values():
        weight = None if files is None else stored(files, f"{name}.weight")
        if weight is None:
            log.warning("%s: quantize=%s could not be compared with float32 in layer %s", spec, quantize, name)
            continue
        try:
            gap = max(_error(layer, weight, rows) for rows in ROWS)
        except (RuntimeError, ValueError, TypeError, AssertionError) as error:
            raise ModelError(_refusal(spec, quantize, name, layer, f"cannot be computed ({error})")) from error
        if not gap <= FAR[quantize]:  # true for NaN too
            raise ModelError(
                _refusal(spec, quantize, name, layer, f"is off by {gap:.0%} where {USUAL[quantize]:.0%} are usual")
            )


def layers(model: Any) -> Iterator[tuple[str, Any]]:
    """The layers of a model whose weights are quantised, with their names."""
    for name, module in model.named_modules():
        weight = getattr(module, "weight", None)
        home = {type(module).__module__.split(".")[0], type(weight).__module__.split(".")[0]}
        if hasattr(module, "in_features") and home & {"torchao", "bitsandbytes"}:
            yield name, module


def stored(folder: Path, name: str) -> Any:
    """A weight as the safetensors files of a folder have it; None where they have none of this name."""
    from safetensors import safe_open

    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            known = [key for key in file.keys() if f".{name}".endswith(f".{key}") or key.endswith(f".{name}")]  # noqa: SIM118
            if len(known) == 1:
                return file.get_tensor(known[0])
    return None


def _error(layer: Any, weight: Any, rows: int) -> float:
    """How far a layer is from its product in float32, as a share of that."""
    import torch

    draw = torch.Generator().manual_seed(1936)
    inputs = torch.randn(rows, layer.in_features, generator=draw)
    device = next((tensor.device for tensor in layer.parameters() if not tensor.is_meta), torch.device("cpu"))
    dtype = layer.bias.dtype if layer.bias is not None else getattr(layer, "compute_dtype", None) or layer.weight.dtype
    with torch.inference_mode():
        found = layer(inputs.to(device, dtype)).float().cpu()
        found -= 0 if layer.bias is None else layer.bias.float().cpu()
    # Models after GPT-2 store their matrices the other way round, which a square one does not show.
    ways = [way for way in (weight.float().T, weight.float()) if way.shape == (layer.in_features, layer.out_features)]
    products = [inputs @ way for way in ways]
    return min(float((found - product).norm() / product.norm()) for product in products)


def _refusal(spec: ModelSpec, quantize: str, name: str, layer: Any, fault: str) -> str:
    device = layer.weight.device.type
    return (
        f"{spec}: quantize={quantize} on {device}: layer {name} ({layer.in_features} to {layer.out_features}) {fault}. "
        f"Use quantize={'int8' if quantize == 'int4' else 'int4'}, or leave it out"
    )
