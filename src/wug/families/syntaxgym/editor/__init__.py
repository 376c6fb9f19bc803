"""What the suite editor of the site needs to know about SyntaxGym suites.

A family with such a module can be edited. It offers the names below; documents are suites in their JSON form.
"""

from __future__ import annotations

from wug.families.syntaxgym.editor.checking import check as check
from wug.families.syntaxgym.editor.documents import DESIGNS as DESIGNS
from wug.families.syntaxgym.editor.documents import is_document as is_document
from wug.families.syntaxgym.editor.documents import is_suite as is_suite
from wug.families.syntaxgym.editor.documents import open_file as open_file
from wug.families.syntaxgym.editor.documents import open_table as open_table
from wug.families.syntaxgym.editor.documents import suite_of_item as suite_of_item
from wug.families.syntaxgym.editor.documents import suite_of_result as suite_of_result
from wug.families.syntaxgym.editor.documents import to_text as to_text
from wug.families.syntaxgym.editor.results import scores as scores
from wug.families.syntaxgym.measures import METRICS as METRICS

SUFFIXES = (".json", ".csv", ".tsv")
"""Suffixes of suite files; `.gz` may follow."""
FIELDS = (
    ("author", "Author", "Who wrote it"),
    ("reference", "Reference", "The paper that it comes from"),
    ("description", "Description", "What it tests, in a sentence or two"),
    ("comment", "Comment", "Stays in the file; no page or report shows it"),
)
"""Fields of `meta` that the editor shows: key, label, hint."""
