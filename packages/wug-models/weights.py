"""Puts the folders of the models into the wheel: from the tree of wug, or from the source archive made of it."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Weights(BuildHookInterface[Any]):
    """Adds what no package folder holds."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say which folder becomes part of `wug_models`."""
        here = Path(self.root)
        packed, tree = here / "models", here.parents[1] / "src" / "wug" / "assets" / "models"
        source = packed if packed.is_dir() else tree
        if not source.is_dir():
            raise FileNotFoundError(f"the models are neither in {packed} nor in {tree}: build in a clone of wug")
        build_data["force_include"][str(source)] = "models" if self.target_name == "sdist" else "wug_models/models"
