"""The Hugging Face Hub: whether it can be reached, revisions of models, and downloads.

The connection is checked once, before huggingface_hub retries for a minute.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wug.errors import ModelError, first_line, needs_extra
from wug.files import existing
from wug.models.spec import ModelSpec
from wug.models.weights.fingerprints import snapshot

log = logging.getLogger("wug")
GATEWAY_ERRORS = (502, 503, 504)
"""Statuses of a proxy without a server."""
TIMEOUT_S = 3.0
"""Timeout for the first response."""


def must_be_cached(spec: ModelSpec) -> bool:
    """Whether a model must come from the cache, as the Hugging Face Hub is out of reach; ModelError if it is absent."""
    try:
        from huggingface_hub import constants
    except ImportError:  # reported by what needs it
        return False
    if constants.HF_HUB_OFFLINE or reachable(constants.ENDPOINT, TIMEOUT_S):
        return False
    if snapshot(spec) is not None:
        return True
    raise ModelError(
        f"{spec}: neither a local folder nor a model in the Hub's cache, and the Hub ({constants.ENDPOINT}) cannot be "
        "reached. Check the spelling and the network, or download the model elsewhere and give its folder"
    )


def is_hub_offline() -> bool:
    """Whether the Hugging Face Hub is offline or disabled."""
    try:
        from huggingface_hub import constants
    except ImportError:
        return True
    return bool(constants.HF_HUB_OFFLINE) or not reachable(constants.ENDPOINT, TIMEOUT_S)


def reachable(endpoint: str, timeout_s: float) -> bool:
    """Whether a server responds within `timeout_s` seconds."""
    answered = threading.Event()
    ended = threading.Event()

    def request() -> None:
        from huggingface_hub import get_session

        try:
            if get_session().head(endpoint, timeout=timeout_s).status_code not in GATEWAY_ERRORS:
                answered.set()
        except Exception as error:  # clients raise different exceptions
            log.info("the Hugging Face Hub does not respond: %s", error)
        finally:
            ended.set()

    # In a thread, since name resolution has no timeout.
    threading.Thread(target=request, daemon=True).start()
    ended.wait(timeout_s)
    return answered.is_set()


def revisions(repository: str) -> dict[str, str]:
    """The branches and tags of a model on the Hugging Face Hub with their commits; offline, those stored here."""
    with needs_extra("a model on the Hugging Face Hub", "hf"):
        import huggingface_hub
        from huggingface_hub import errors
    try:
        if is_hub_offline():
            raise ConnectionError("no response")
        refs: Any = huggingface_hub.HfApi().list_repo_refs(repository)
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise ModelError(
            f"{repository}: neither a folder nor a model on the Hugging Face Hub ({first_line(error, 200)})"
        ) from None
    except Exception as error:  # without a network, the exception depends on the HTTP client
        here = _cached_revisions(repository)
        if not here:
            raise ModelError(
                f"{repository}: its revisions are unknown, since the Hugging Face Hub cannot be reached "
                f"({first_line(error, 200)}). Download the model first and name its folders, "
                "or list revisions in a file: @models.txt"
            ) from None
        log.warning(
            "%s: the Hugging Face Hub cannot be reached; using %d revisions on this machine", repository, len(here)
        )
        return here
    return {ref.name: ref.target_commit for ref in (*refs.branches, *refs.tags)}


def _cached_revisions(repository: str) -> dict[str, str]:
    """The revisions in the cache of huggingface_hub on this machine."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    refs = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repository, repo_type="model") / "refs"
    files = [path for path in refs.rglob("*") if path.is_file()] if refs.is_dir() else []
    return {path.relative_to(refs).as_posix(): path.read_text(encoding="utf-8").strip() for path in files}


def prefetch(spec: ModelSpec) -> None:
    """Download the files of a model on the Hugging Face Hub, if it is one; errors are left to loading."""
    if existing(spec.name) or spec.name.startswith((".", "/", "~")) or is_hub_offline():
        return
    try:
        import huggingface_hub

        files = huggingface_hub.HfApi().list_repo_files(spec.name, revision=spec.revision)
        huggingface_hub.snapshot_download(spec.name, revision=spec.revision, allow_patterns=required_files(files))
    except Exception as error:  # without a network, or without the package
        log.debug("%s is not prefetched: %s", spec, error)


def required_files(files: Sequence[str]) -> list[str]:
    """The files that loading needs; of weights in two formats, the safe one."""
    names = [name for name in files if "/" not in name]
    safe = any(name.endswith(".safetensors") for name in names)
    endings = (".json", ".txt", ".model", ".safetensors" if safe else ".bin")
    return [name for name in names if name.endswith(endings) and not name.startswith(("optimizer", "training_args"))]
