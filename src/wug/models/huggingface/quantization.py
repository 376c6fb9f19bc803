"""Quantized weights, and a check that this machine computes correctly with them.

8 bits are torchao's, 4 bits bitsandbytes' NF4 (Dettmers et al. 2023). Both round weights only, not activations, so that
a text's score does not depend on its batch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import MissingExtra, ModelError
from wug.models.spec import ModelSpec

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

USUAL_ERROR = {"int8": 0.01, "int4": 0.09}
"""The usual relative error of a layer."""
MAX_ERROR = {"int8": 0.1, "int4": 0.18}
"""The largest error by rounding; blocks read from the wrong place give 0.25."""
PROBE_ROWS = (1, 8)
"""Batch sizes that are checked: kernels differ for a single row."""

log = logging.getLogger("wug")


def quantization_settings(quantize: str, dtype: torch.dtype) -> Any:
    """The quantization settings for transformers; `dtype` is that of the arithmetic."""
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


def require_right(model: PreTrainedModel, quantize: str, files: Path | None, spec: ModelSpec) -> None:
    """Refuse a model whose layers differ from float32 by more than rounding; one layer of each shape is compared."""
    quantized = list(layers(model))
    for _, layer in quantized:  # a CPU kernel of bitsandbytes computes in bfloat16, and fails for incomplete blocks
        if hasattr(layer, "support_avx512bf16_for_cpu"):
            layer.support_avx512bf16_for_cpu = False
    shapes = {(layer.in_features, layer.out_features): (name, layer) for name, layer in quantized}
    if not shapes:
        raise ModelError(
            f"{spec}: quantize={quantize} changes none of its layers ({type(model).__name__}). "
            + ("Try quantize=int4, or leave it out" if quantize == "int8" else "Leave it out")
        )
    for name, layer in shapes.values():
        weight = None if files is None else _stored(files, f"{name}.weight")
        if weight is None:
            log.warning("%s: quantize=%s could not be compared with float32 in layer %s", spec, quantize, name)
            continue
        try:
            gap = max(_error(layer, weight, rows) for rows in PROBE_ROWS)
        except (RuntimeError, ValueError, TypeError, AssertionError) as error:
            raise ModelError(_refusal(spec, quantize, name, layer, f"cannot be computed ({error})")) from error
        if not gap <= MAX_ERROR[quantize]:  # true for NaN too
            raise ModelError(
                _refusal(
                    spec, quantize, name, layer, f"is off by {gap:.0%} where {USUAL_ERROR[quantize]:.0%} are usual"
                )
            )


def layers(model: PreTrainedModel) -> Iterator[tuple[str, Any]]:
    """The quantized layers of a model, with their names."""
    for name, module in model.named_modules():
        weight = getattr(module, "weight", None)
        packages = {type(module).__module__.split(".")[0], type(weight).__module__.split(".")[0]}
        if hasattr(module, "in_features") and packages & {"torchao", "bitsandbytes"}:
            yield name, module


def _stored(folder: Path, name: str) -> Any:
    from safetensors import safe_open

    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            keys = [key for key in file.keys() if f".{name}".endswith(f".{key}") or key.endswith(f".{name}")]  # noqa: SIM118
            if len(keys) == 1:
                return file.get_tensor(keys[0])
    return None


def _error(layer: torch.nn.Module, weight: torch.Tensor, rows: int) -> float:
    import torch

    generator = torch.Generator().manual_seed(1936)
    inputs = torch.randn(rows, layer.in_features, generator=generator)
    device = next((tensor.device for tensor in layer.parameters() if not tensor.is_meta), torch.device("cpu"))
    dtype = layer.bias.dtype if layer.bias is not None else getattr(layer, "compute_dtype", None) or layer.weight.dtype
    with torch.inference_mode():
        output = layer(inputs.to(device, dtype)).float().cpu()
        output -= 0 if layer.bias is None else layer.bias.float().cpu()
    # GPT-2 and its successors store transposed matrices.
    shape = (layer.in_features, layer.out_features)
    products = [inputs @ matrix for matrix in (weight.float().T, weight.float()) if matrix.shape == shape]
    return min(float((output - product).norm() / product.norm()) for product in products)


def _refusal(spec: ModelSpec, quantize: str, name: str, layer: torch.nn.Module, problem: str) -> str:
    device = layer.weight.device.type
    return (
        f"{spec}: quantize={quantize} on {device}: layer {name} ({layer.in_features} to {layer.out_features}) "
        f"{problem}. "
        f"Use quantize={'int8' if quantize == 'int4' else 'int4'}, or leave it out"
    )
