"""Whether the hub answers: asked once, before its own programs ask again and again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from wug.errors import ModelError
from wug.files import existing
from wug.models._fingerprint import snapshot
from wug.models._spec import ModelSpec

log = logging.getLogger("wug")
NO_ANSWER = (502, 503, 504)
"""What a proxy says where nobody answers behind it."""
PATIENCE = 3.0
"""Seconds that the hub has for its first word. Its own programs try for a minute."""


def only_here(spec: ModelSpec) -> bool:
    """Whether a model of the hub has to come from the local cache, since the hub cannot be reached.

    ModelError where it is not there either.
    """
    try:
        from huggingface_hub import constants
    except ImportError:  # what needs it says so
        return False
    if constants.HF_HUB_OFFLINE or reachable(constants.ENDPOINT, PATIENCE):
        return False
    if snapshot(spec) is not None:
        return True
    raise ModelError(
        f"{spec}: neither a folder here nor a model in the hub's local cache, and the hub ({constants.ENDPOINT}) cannot"
        " be reached. Check the spelling and the network, or download the model elsewhere and give its folder"
    )


def hub_is_away() -> bool:
    """Whether the hub cannot be reached, or is not to be."""
    try:
        from huggingface_hub import constants
    except ImportError:
        return True
    return bool(constants.HF_HUB_OFFLINE) or not reachable(constants.ENDPOINT, PATIENCE)


def reachable(endpoint: str, patience: float) -> bool:
    """Whether a server itself says anything, whatever it is, within so many seconds."""
    answered = threading.Event()
    ended = threading.Event()

    def ask() -> None:
        from huggingface_hub import get_session

        try:
            if get_session().head(endpoint, timeout=patience).status_code not in NO_ANSWER:
                answered.set()
        except Exception as error:  # whatever the client of the day raises: no answer is no answer
            log.info("the hub does not answer: %s", error)
        finally:
            ended.set()

    # Looking a name up has no time limit of its own.
    threading.Thread(target=ask, daemon=True).start()
    ended.wait(patience)
    return answered.is_set()


def prefetch(spec: ModelSpec) -> None:
    """Download the files of a model on the Hugging Face Hub, if it is one; errors are left to loading."""
    if existing(spec.name) or spec.name.startswith((".", "/", "~")) or hub_is_away():
        return
    try:
        import huggingface_hub

        files = huggingface_hub.HfApi().list_repo_files(spec.name, revision=spec.revision)
        huggingface_hub.snapshot_download(spec.name, revision=spec.revision, allow_patterns=needed(files))
    except Exception as error:  # without a network, or without the package
        log.debug("%s is not prefetched: %s", spec, error)


def needed(files: Sequence[str]) -> list[str]:
    """The files of a model that loading it needs: of weights in two formats, the safe one."""
    own = [name for name in files if "/" not in name]
    safe = any(name.endswith(".safetensors") for name in own)
    endings = (".json", ".txt", ".model", ".safetensors" if safe else ".bin")
    return [name for name in own if name.endswith(endings) and not name.startswith(("optimizer", "training_args"))]
