"""The figures of the gallery: runs the page's Python, shows each figure below its lines, and offers it as PDF."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from contextlib import chdir
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

PAGE, FOLDER = "gallery.md", "gallery/"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SAVED = re.compile(r'^(.*)\.save\("([\w-]+)\.svg"\)$', re.MULTILINE)
_IN_BOTH_FORMATS = r'_figure = \1\n_figure.save("\2.svg")\n_figure.save("\2.pdf")'
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Run the page's Python in a temporary folder, and add what it saves to the site."""
    page = files.get_file_from_path(PAGE)
    if page is None:
        return files
    names: dict[str, Any] = {}
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of small models wait for each other
    with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that draw
        for code in _BLOCK.findall(page.content_string):
            exec(compile(_SAVED.sub(_IN_BOTH_FORMATS, code), PAGE, "exec"), names)
        for figure in sorted(Path(folder).glob("*.svg")):
            files.append(File.generated(config, FOLDER + figure.name, content=figure.read_text(encoding="utf-8")))
        for figure in sorted(Path(folder).glob("*.pdf")):
            files.append(File.generated(config, FOLDER + figure.name, content=figure.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put each figure below its lines, with the heading above them as its description."""
    if page.file.src_uri != PAGE:
        return markdown

    def below(found: re.Match[str]) -> str:
        saved = _SAVED.search(found[1])
        title = (_HEADING.findall(markdown[: found.start()]) or [""])[-1]
        if not saved:
            return found[0]
        name = FOLDER + saved[2]
        return f"{found[0]}\n\n![{title}]({name}.svg)\n\n[{title}, as PDF]({name}.pdf)"

    return _BLOCK.sub(below, markdown)
