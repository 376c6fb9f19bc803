"""Published test sets by name: what there is, under which licence, and how to get it.

`names()` lists them, `find("blimp/anaphor_agreement")` describes one or a part of it, `get(name)` brings it onto this
machine, `path(name)` says where it lies, `cite(name)` how to cite it.
"""

from __future__ import annotations

from wug.data.catalogue import File, Paper, Selection, TestSet, cite, find, knows, names
from wug.data.fetch import get
from wug.data.folder import FOLDER, fetched, path, paths
from wug.data.places import Place, for_a_run, is_one_suite, known, origin

__all__ = [
    "FOLDER",
    "File",
    "Paper",
    "Place",
    "Selection",
    "TestSet",
    "cite",
    "fetched",
    "find",
    "for_a_run",
    "get",
    "is_one_suite",
    "known",
    "knows",
    "names",
    "origin",
    "path",
    "paths",
]
