"""Task files of the lm-evaluation-harness (YAML): multiple-choice tasks that need no Python code."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError, first_line
from wug.exchange.imported import hub_data
from wug.families.choices.items import ChoiceItem, delimited
from wug.families.named_columns import groups_of
from wug.files import head, read_text, shortened
from wug.problems import refuse_errors
from wug.record_tables import read_table

LINKS = {"acc": "sum", "acc_norm": "character", "acc_bytes": "byte", "acc_mutual_info": "pmi"}
"""The linking function of each metric."""
READ = {
    *("task", "group", "dataset_path", "dataset_kwargs", "output_type", "test_split", "validation_split"),
    *("doc_to_text", "doc_to_choice", "doc_to_target", "target_delimiter", "description", "num_fewshot", "metric_list"),
}
WITHOUT_EFFECT = {
    *("include", "task_alias", "group_alias", "tag", "dataset_name", "training_split", "fewshot_split", "metadata"),
    *("should_decontaminate", "doc_to_decontamination_query", "aggregate_metric_list", "fewshot_delimiter"),
    "fewshot_config",
}
MAX_INCLUDES = 20
_FIELD = re.compile(r"""^(["']?)(task|group|include|output_type|dataset_path)\1[ \t]*:""", re.MULTILINE)


class TaskFile(NamedTuple):
    """A task: its name, the linking functions of its metrics, and its items."""

    name: str
    links: tuple[str, ...]
    choices: Sequence[ChoiceItem]


class TaskField(NamedTuple):
    """A field of a task file, and where it is."""

    value: Any
    file: Path
    line: int

    def error(self, message: str) -> InputError:
        """The error that names the line."""
        return InputError(message, file=self.file, place=f"line {self.line}")


Fields = Mapping[str, TaskField]


def is_task(path: Path, start: str) -> bool:
    """Whether a file is a task or a group of tasks."""
    return path.suffix.lower() in (".yaml", ".yml") and _FIELD.search(start) is not None


def read_tasks(path: Path) -> list[TaskFile]:
    """The tasks of a file: one, or those of a group; InputError with the line of what is not supported."""
    fields = _fields(path)
    if "group" not in fields:
        return [_task(fields, path)]
    listed = fields.get("task", fields["group"])
    names = listed.value if isinstance(listed.value, list) else [listed.value]
    return [_task(_listed(name, listed), path) for name in names]


def _listed(name: object, listed: TaskField) -> Fields:
    """A task of a group: its fields, or its name in a file of the group's folder."""
    if isinstance(name, dict):
        inline = {key: TaskField(value, listed.file, listed.line) for key, value in name.items()}
        return _included(inline, listed.file, 1)
    word = re.escape(str(name))
    declared = re.compile(rf"""^(["']?)task\1[ \t]*:[ \t]*(["']?){word}\2[ \t]*(#.*)?\r?$""", re.MULTILINE)
    for path in sorted(listed.file.parent.glob("*.y*ml")):
        if declared.search(head(path)):
            return _fields(path)
    raise listed.error(f"there is no task {name!r} in the files of this folder")


def _fields(path: Path, depth: int = 0) -> Fields:
    """The fields of a file with those of the files that it includes."""
    import yaml

    def refuse(loader: object, node: Any) -> None:
        what = f"{node.tag} {node.value}" if isinstance(node.value, str) else node.tag
        message = f"{shortened(what)} is Python code, which wug never runs: only tasks with templates can be read"
        raise InputError(message, file=path, place=f"line {node.start_mark.line + 1}")

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Refuses all tags but those of YAML."""

    Loader.add_constructor(None, refuse)
    try:
        loader = Loader(read_text(path))
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise InputError("a task file is a mapping: task: NAME, dataset_path: json, …", file=path)
        content: dict[str, Any] = loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = None if mark is None else f"line {mark.line + 1}"
        raise InputError(f"not YAML: {getattr(error, 'problem', None) or error}", file=path, place=place) from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"not YAML that can be read: {first_line(error)}", file=path) from None
    lines = {str(key.value): key.start_mark.line + 1 for key, _ in node.value}
    fields = {str(key): TaskField(value, path, lines.get(str(key), 1)) for key, value in content.items()}
    return _included(fields, path, depth)


def _included(fields: dict[str, TaskField], path: Path, depth: int) -> Fields:
    """The fields with those of included files below them."""
    if "include" not in fields:
        return fields
    include = fields["include"]
    if depth > MAX_INCLUDES:
        raise include.error("files include one another without end")
    names = include.value if isinstance(include.value, list) else [include.value]
    inherited: dict[str, TaskField] = {}
    for name in names:
        target = path.parent / str(name)
        if not target.is_file():
            raise include.error(f"there is no file {name!r} to include")
        inherited |= _fields(target, depth + 1)
    return {**inherited, **fields}


def _task(fields: Fields, path: Path) -> TaskFile:
    kind = _need(fields, "output_type", path)
    if kind.value != "multiple_choice":
        raise kind.error(f"output_type {shortened(str(kind.value))!r} is not supported: only multiple_choice")
    for name, field in fields.items():
        if name not in READ | WITHOUT_EFFECT:
            raise field.error(f"the field {name} is not supported")
    if "num_fewshot" in fields and fields["num_fewshot"].value not in (0, None):
        raise fields["num_fewshot"].error("wug reads tasks without examples: num_fewshot: 0")
    name = str(_need(fields, "task", path).value)
    choices = [_choice(row, number, fields, path) for number, row in enumerate(_rows(fields, path), 1)]
    if not choices:
        raise InputError("the task has no items", file=path)
    return TaskFile(name, _links(fields), choices)


def _links(fields: Fields) -> tuple[str, ...]:
    """The linking functions of the metrics, that of `acc` first."""
    if "metric_list" not in fields:
        return ("sum",)
    listed = fields["metric_list"]
    links = []
    for entry in listed.value if isinstance(listed.value, list) else [listed.value]:
        metric = entry.get("metric") if isinstance(entry, dict) else entry
        if metric not in LINKS:
            raise listed.error(f"the metric {metric!r} is not supported: only {', '.join(LINKS)}")
        links.append(LINKS[metric])
    return tuple(dict.fromkeys(["sum", *links]))


def _rows(fields: Fields, path: Path) -> list[Mapping[str, Any]]:
    """The documents of the test split, from a local file."""
    source = _need(fields, "dataset_path", path)
    form = "dataset_path: json with dataset_kwargs: {data_files: {test: FILE}}"
    if source.value not in ("json", "csv"):  # a set of the catalogue that the Hugging Face Hub has, too
        part = fields.get("dataset_name", source)
        published = hub_data(str(source.value), str(part.value))
        if published is None:
            raise part.error(f"{source.value!r} is on the Hugging Face Hub. Download it, and write {form}")
        return _table_rows(published)
    split = fields.get("test_split", fields.get("validation_split"))
    arguments = fields["dataset_kwargs"].value if "dataset_kwargs" in fields else None
    files = arguments.get("data_files") if isinstance(arguments, dict) else None
    wanted = "test" if split is None else str(split.value)
    if isinstance(files, dict):
        files = files.get(wanted)
    if not isinstance(files, str):
        raise (fields.get("dataset_kwargs") or source).error(f"no file for the split {wanted!r}: write {form}")
    candidates = [path.parent / files, Path(files)]
    data = next((candidate for candidate in candidates if candidate.is_file()), None)
    if data is None:
        raise fields["dataset_kwargs"].error(f"there is no file {files!r}")
    if data.suffix == ".json" and (text := read_text(data)).lstrip().startswith("["):
        try:
            rows = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {error}", file=data) from None
        if not all(isinstance(row, dict) for row in rows):
            raise InputError("write a list of objects", file=data)
        return list(rows)
    return _typed(_table_rows(data)) if source.value == "csv" else _table_rows(data)


def _table_rows(path: Path) -> list[Mapping[str, Any]]:
    table = read_table(path)
    refuse_errors(table.problems, path)
    return [record.fields for record in table.records]


def _typed(rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows of a CSV file, with columns of whole numbers as numbers."""
    columns = {name for row in rows for name in row}
    numeric = {name for name in columns if all(re.fullmatch(r"-?\d{1,18}", str(row.get(name))) for row in rows)}
    return [{name: int(value) if name in numeric else value for name, value in row.items()} for row in rows]


def _choice(row: Mapping[str, Any], number: int, fields: Fields, path: Path) -> ChoiceItem:
    context = _rendered(fields["doc_to_text"], row, number) if "doc_to_text" in fields else ""
    if not isinstance(context, str):
        raise fields["doc_to_text"].error(f"document {number}: the context is {shortened(repr(context))}, not text")
    described = fields["description"].value if "description" in fields else ""
    delimiter = fields["target_delimiter"].value if "target_delimiter" in fields else " "
    field = _need(fields, "doc_to_choice", path)
    options = _rendered(field, row, number)
    if isinstance(options, str):
        try:
            options = ast.literal_eval(options)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise field.error(f"document {number}: {shortened(repr(options))} is not a list of options") from None
    options = list(options.values()) if isinstance(options, dict) else options
    if not isinstance(options, list) or len(options) < 2:
        raise field.error(f"document {number}: {shortened(repr(options))} is not a list of at least two options")
    texts = [str(option) for option in options]
    target = _need(fields, "doc_to_target", path)
    right = _rendered(target, row, number)
    if isinstance(right, str) and (right.isdigit() or right in texts):
        right = int(right) if right.isdigit() else texts.index(right)
    if not isinstance(right, int) or not 0 <= right < len(texts):
        raise target.error(f"document {number}: {shortened(repr(right))} is not one of {len(texts)} options")
    candidates = tuple(delimited(f"{described or ''}{context}", text, str(delimiter)) for text in texts)
    # Named as lm-eval numbers documents, so that its samples can be compared item by item.
    return ChoiceItem(str(number - 1), candidates, int(right), groups_of(row))


def _rendered(field: TaskField, row: Mapping[str, Any], number: int) -> Any:
    """The value of a field for a document: a constant, a column, or a template in a sandbox."""
    template = field.value
    if not isinstance(template, str):
        return template
    if template in row:
        return row[template]
    if "{" not in template:
        return template
    try:
        return _template(template).render(**row)
    except Exception as error:  # whatever a template does
        message = f"document {number}: the template {shortened(template)!r} fails: {first_line(error)}"
        raise field.error(message) from None


@functools.cache
def _template(text: str) -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True).from_string(text)


def _need(fields: Fields, name: str, path: Path) -> TaskField:
    if name not in fields:
        raise InputError(f"the field {name} is missing", file=path)
    return fields[name]
