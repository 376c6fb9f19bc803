"""Files from the pinned commit of a repository, over HTTP; what came of a file before a break is not asked for again.

pooch, which is made for such catalogues, throws away the part of a file that came before a break, cannot check the hash
of a Git blob, and needs a second HTTP library: hence the few lines over httpx here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from wug.data.catalogue import File, TestSet, megabytes
from wug.data.folder import PART, Progress, install
from wug.errors import DataError
from wug.files import shortened, writing

if TYPE_CHECKING:
    import httpx

ADDRESS = "WUG_DATA_URL"
"""The environment variable with the address of a mirror, instead of GITHUB."""
GITHUB = "https://raw.githubusercontent.com"
ATTEMPTS = 8
"""How often a file is asked for whose connection breaks after something of it came."""
_PATIENCE = 60.0
"""Seconds without a byte after which a connection counts as broken."""
_ELSEWHERE = "On a machine without a network: wug data get NAME --from FOLDER, with a folder that has the files"


def download(chosen: TestSet, wanted: Sequence[File], folder: Path, progress: Progress) -> None:
    """Fetch files into a folder, one after the other over one connection."""
    import httpx

    # Compressed answers could not be resumed: a range counts the bytes that are sent.
    headers = {"Accept-Encoding": "identity"}
    done, total = 0, sum(file.size or 0 for file in wanted)
    try:
        with httpx.Client(headers=headers, follow_redirects=True, timeout=_PATIENCE) as client:
            for file in wanted:
                _fetch(client, address(chosen, file), file, folder / file.name, partial(_tell, progress, done, total))
                done += (folder / file.name).stat().st_size
    except httpx.InvalidURL as error:
        raise DataError(f"{ADDRESS}={os.environ.get(ADDRESS)!r}: cannot be used as an address ({error})") from None


def _tell(progress: Progress, before: int, total: int, came: int) -> None:
    progress(before + came, max(before + came, total))


def address(chosen: TestSet, file: File) -> str:
    """Where a file is fetched from."""
    base = os.environ.get(ADDRESS) or GITHUB
    repository = chosen.repository.removeprefix("github.com/")
    return f"{base.rstrip('/')}/{repository}/{chosen.commit}/{quote(file.path)}"


def _fetch(client: httpx.Client, url: str, file: File, target: Path, tell: Callable[[int], None]) -> None:
    import httpx

    part = target.with_name(target.name + PART)
    for _ in range(ATTEMPTS):
        start = _size(part)
        try:
            whole = _receive(client, url, file, part, tell)
            reason = "the server ended early"
        except httpx.RequestError as error:
            whole, reason = False, str(error) or type(error).__name__
        if whole and start and file.checksum_of(part) != file.checksum:
            part.unlink()  # what was kept may have been wrong: once more from the beginning
        elif whole:
            return install(file, part, target, url)
        elif _size(part) <= start:
            break
    kept = _size(part)
    remedy = f"{megabytes(kept)} of it are kept: the same command goes on from there" if kept else _ELSEWHERE
    raise DataError(f"{url}: cannot be fetched: {shortened(reason)}. {remedy}")


def _receive(client: httpx.Client, url: str, file: File, part: Path, tell: Callable[[int], None]) -> bool:
    """Fetch what is missing of a file; whether it is whole then, as far as its size tells."""
    start = _size(part)
    if start and start == file.size:
        return True  # it came whole, but the program was stopped before it was checked
    headers = {"Range": f"bytes={start}-"} if start else {}
    with client.stream("GET", url, headers=headers) as answer:
        if answer.status_code == 416:  # no such range: what is kept is not of this file
            part.unlink()
            return _receive(client, url, file, part, tell)
        if answer.status_code not in (200, 206):
            raise DataError(f"{url}: the server answers {answer.status_code} {answer.reason_phrase}. {_ELSEWHERE}")
        goes_on = answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        with writing(part), part.open("ab" if goes_on else "wb") as out:
            came = start if goes_on else 0
            for piece in answer.iter_raw():
                out.write(piece)
                out.flush()  # so that the size on the disk is what was kept
                came += len(piece)
                tell(came)
                if file.size is not None and came > file.size:
                    break  # no more than is needed to see that it is another file
    return file.size is None or came >= file.size


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0
