"""Published test sets by name: the catalogue, licences, and fetching.

`names()` lists sets, `find("blimp/anaphor_agreement")` describes a set or a part, `get(name)` fetches it, `path(name)`
returns its path, `cite(name)` its citation.
"""

from __future__ import annotations

from wug.data.catalogue import File, Paper, SetSelection, TestSet, cite, find, is_known, names
from wug.data.fetch import get
from wug.data.folder import FOLDER, DataLocation, adopted, fetched, location_of, origin, path, paths, run_locations

__all__ = [
    "FOLDER",
    "DataLocation",
    "File",
    "Paper",
    "SetSelection",
    "TestSet",
    "adopted",
    "cite",
    "fetched",
    "find",
    "get",
    "is_known",
    "location_of",
    "names",
    "origin",
    "path",
    "paths",
    "run_locations",
]
