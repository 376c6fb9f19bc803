"""A server with the model that it is asked about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.errors import InputError, ModelError, suggestion
from wug.models._spec import ModelSpec
from wug.models.endpoint.client import Client, Refusal


@dataclass(frozen=True, slots=True)
class Server:
    """A server and the model that it is asked about."""

    client: Client
    model: str
    identity: str
    """Everything that the server says about the model."""
    threads: int
    maker: str = ""
    """Which program it is, as far as it says: vllm, sglang, llamacpp."""

    def ask(self, prompt: str, settings: Mapping[str, Any], retries: int | None = None) -> Any:
        """The server's answer to one prompt, with nothing else under way."""
        (found,) = self.ask_all([prompt], [settings], retries)
        return found

    def ask_all(
        self, prompts: Sequence[str], settings: Sequence[Mapping[str, Any]], retries: int | None = None
    ) -> list[Any]:
        """The server's answer to each prompt with its settings, in order, several at once."""
        bodies = [
            {"model": self.model, "prompt": prompt, **more} for prompt, more in zip(prompts, settings, strict=True)
        ]
        return self.client.post_all("/completions", bodies, retries)


def find_model(client: Client, wanted: str | None, threads: int) -> Server:
    """The server with the model that is wanted, or the only one there is."""
    try:
        listed = client.get("/models", retries=1)
    except Refusal as error:
        if wanted is None or error.status not in (400, 404, 405, 501):
            raise
        listed = {}
    entries = listed.get("data") if isinstance(listed, dict) else None
    known: dict[str, dict[str, Any]] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            known[entry["id"]] = entry
    if wanted is None:
        if len(known) != 1:
            names = f" It has: {', '.join(list(known)[:12])}" if known else ""
            raise InputError(f"{client.address}: say which model is meant, with -M model=NAME.{names}")
        (wanted,) = known
    elif known and wanted not in known:
        raise ModelError(f"{client.address} has no model {wanted!r}.{suggestion(wanted, known)}")
    described = {name: known.get(wanted, {}).get(name) for name in ("root", "parent", "meta")}
    # A server that says nothing of the model behind the name is known by its address alone.
    where = "" if any(described.values()) else str(client.address)
    maker = str(known.get(wanted, {}).get("owned_by", ""))
    return Server(client, wanted, json.dumps([wanted, where, described], sort_keys=True), threads, maker)


def noted(spec: ModelSpec) -> dict[str, str]:
    """What the user says of the server that it does not say itself."""
    return {name: spec.options[name] for name in ("dtype", "id") if name in spec.options}
