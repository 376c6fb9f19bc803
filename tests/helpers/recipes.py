"""Recipes of `wug reproduce`, written as TOML from their parts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Table = Mapping[str, Any]


def recipe(
    title: str,
    *,
    seeds: Sequence[int] = (),
    networks: Mapping[str, Table],
    materials: Mapping[str, Table],
    tests: Sequence[Table],
) -> str:
    """A recipe with these sections."""
    parts = [_lines({"title": title, "seeds": list(seeds)})]
    parts += [f"[networks.{name}]\n{_lines(network)}" for name, network in networks.items()]
    parts += [f"[materials.{name}]\n{_lines(material)}" for name, material in materials.items()]
    parts += [f"[[tests]]\n{_lines(test)}" for test in tests]
    return "\n".join(parts)


def task_test(network: str, published: Sequence[float], **more: Any) -> Table:
    """The accuracy of a training on the material `base`."""
    return {
        "row": "task",
        "train_on": "{base}",
        "suite": "{base}/test.src",
        "metric": "accuracy",
        **more,
        "published": {network: list(published)},
    }


def profile_test(network: str, options: str = "", **more: Any) -> Table:
    """The test of overgeneralisation after every epoch of a training on exceptions."""
    suite = "--suite {exceptions}/test_pcfg_ratio=0.02_exception.src"
    return {
        "row": "profile",
        "train_on": "{exceptions}/train_pcfg_ratio=0.02.src",
        "profile": f"{suite} {options}".strip(),
        "metric": "overgeneralisation",
        **more,
        "published": {network: []},
    }


def _lines(table: Table) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_value(part)}' for key, part in value.items())} }}"
    return json.dumps(value)
