"""The suite editor: its start page, the grid, and the endpoints of its script."""

from __future__ import annotations

import dataclasses
import functools
import shlex
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError, StoreError
from wug.evaluation.inline_suites import as_file, read_suite
from wug.labels import short_names
from wug.web.downloads import content_disposition
from wug.web.editor import (
    Document,
    Draft,
    DraftConflict,
    DraftStore,
    SuiteFileExists,
    default_editor,
    editable_builtins,
    find_suites,
    open_suite,
    safe_file_name,
    save_suite,
    suite_editors,
    suite_file_name,
    suite_suffixes,
)
from wug.web.jobs import job_queue, scoring_models
from wug.web.pages.assets import NO_STORE
from wug.web.request_body import JsonObject, json_endpoint, whole_number
from wug.web.site import JsonResponse, NavLink, Site, site_of
from wug.web.worker import run_suites

NAV = NavLink("Suite editor", "/editor", 30)
MEDIA_TYPES = {".json": "application/json", ".csv": "text/csv; charset=utf-8", ".tsv": "text/tab-separated-values"}


@functools.lru_cache(maxsize=4)
def draft_store(site: Site) -> DraftStore:
    """The drafts of a site."""
    return DraftStore(site.store.path.parent / "drafts")


def _start_page(request: Request) -> Response:
    site = site_of(request)
    store = draft_store(site)
    drafts, folder_of_drafts = store.list(), store.folder.resolve()
    names_by_folder = [
        (folder, [name for name in find_suites(folder) if (folder / name).resolve().parent != folder_of_drafts])
        for folder in site.folders
    ]
    stems = {Path(name).name.partition(".")[0]: name for _, names in names_by_folder for name in names}
    # A draft that was saved is listed once: it has what the file has, or more.
    files = {draft.name: suite_file_name(draft.document, "") for draft in drafts if draft.name and not draft.origin}
    saved_names = {name: stems[stem] for name, stem in files.items() if stem in stems}
    return site.render(
        request,
        "editor_start.html",
        drafts=[(draft, saved_names.get(draft.name)) for draft in drafts],
        builtins=list(editable_builtins()),
        folders=[
            (folder, [name for name in names if name not in saved_names.values()]) for folder, names in names_by_folder
        ],
    )


def _grid_page(request: Request) -> Response:
    site, id = site_of(request), request.path_params["draft"]
    draft = draft_store(site).find(id)
    return site.render(
        request,
        "editor.html",
        draft=id,
        name=draft.name if draft else "",
        metrics=list(default_editor().REGION_METRICS),
        fields=default_editor().FIELDS,
        folders=site.folders,
        models=scoring_models(site.models),
    )


def _create_draft(request: Request, content: JsonObject) -> JsonObject:
    """Create a draft: empty, from a design, of a built-in suite, or of a file."""
    site, source = site_of(request), str(content.get("from"))
    kind, _, name = source.partition(":")
    if kind == "builtin":
        builtins = editable_builtins()
        if name not in builtins:
            raise InputError(f"there is no built-in suite {name!r}")
        return _draft_address(site, open_suite(builtins[name])[0], f"the built-in suite {name}")
    if kind == "file":
        document, notes = open_suite(site.resolve_path(name))
        return _draft_address(site, document, " ".join([name, *notes]))
    designs = default_editor().DESIGNS
    if source not in designs:
        raise InputError(f"a suite cannot be created from {source!r}")
    return _draft_address(site, designs[source], "")


async def _upload(request: Request) -> Response:
    """Create a draft of an uploaded file."""
    name = Path(unquote(request.headers.get("x-file-name", "suite.json"))).name
    document, notes = await run_in_threadpool(_open_upload, name, await request.body())
    return JsonResponse(_draft_address(site_of(request), document, " ".join([name, *notes])))


def _read_draft(request: Request) -> Response:
    return JsonResponse(dataclasses.asdict(_draft(request)), headers=NO_STORE)


def _write_draft(request: Request, content: JsonObject) -> Response | JsonObject:
    drafts, id, document = draft_store(site_of(request)), request.path_params["draft"], _document(content)
    changed = whole_number(content, "changed", "a time in milliseconds since 1970")
    is_first = content.get("seen") is None
    seen_revision = None if is_first else whole_number(content, "seen", "a revision number, or null")
    try:
        new_draft = drafts.update(id, document, changed, seen_revision)
    except DraftConflict as conflict:
        their_draft = dataclasses.asdict(conflict.theirs)
        return JsonResponse({"error": str(conflict), "theirs": their_draft}, status_code=409)
    return {"revision": new_draft.revision}


def _delete_draft(request: Request, content: JsonObject) -> JsonObject:
    draft_store(site_of(request)).delete(request.path_params["draft"])
    return {}


def _check(request: Request, content: JsonObject) -> JsonObject:
    formulas = content.get("formulas", [])
    if not isinstance(formulas, list):
        raise InputError("'formulas' should be a list")
    return default_editor().check(_document(content), [str(text) for text in formulas])


def _open_table(request: Request, content: JsonObject) -> JsonObject:
    """The suite in a pasted table."""
    text = content.get("text")
    if not isinstance(text, str):
        raise InputError("'text' should be a table")
    with as_file(text, "the table") as path:
        document, notes = default_editor().open_table(path)
    return {"document": document, "notes": notes}


def _download(request: Request) -> Response:
    document, suffix = _draft(request).document, f".{request.path_params['ending']}"
    if suffix not in MEDIA_TYPES:
        raise HTTPException(404)
    text = default_editor().to_text(document, suffix)
    headers = {"content-disposition": content_disposition(suite_file_name(document, ""), suffix.removeprefix("."))}
    return Response(text, media_type=MEDIA_TYPES[suffix], headers=headers)


def _save(request: Request, content: JsonObject) -> Response | JsonObject:
    """Save a suite to a file in an allowed folder."""
    site = site_of(request)
    document = _document(content) if "document" in content else _draft(request).document
    folder, name = str(content.get("folder", "")), str(content.get("name", "")).strip()
    if not name or name.startswith("/"):
        raise InputError("Give the file a name, such as my_suite.json")
    path = site.resolve_path(str(site.resolve_path(folder) / name))
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path)
    path = path if path.suffix else site.resolve_path(f"{path}.json")
    seen_digest = content.get("seen")
    try:
        digest = save_suite(
            document,
            path,
            overwrite=content.get("overwrite") is True,
            seen_digest=seen_digest if isinstance(seen_digest, str) else None,
        )
    except SuiteFileExists as error:
        return JsonResponse({"error": str(error), "path": str(path)}, status_code=409)
    return {"path": str(path), "digest": digest}


def _score(request: Request, content: JsonObject) -> JsonObject:
    """Start a job that evaluates a model on the draft."""
    site, model, document = site_of(request), str(content.get("model")), _draft(request).document
    if model not in site.models:
        raise InputError(f"{model!r} is not one of the models of this page: {', '.join(site.models) or 'none'}")
    name = suite_file_name(document, ".json")
    command = shlex.join(["wug", "run", name, "--model", model])
    task = run_suites([read_suite(document, name=name)], site.store.path, site.cache, command)
    return job_queue(site).start(model, task).state()


def _job(request: Request) -> Response:
    job = job_queue(site_of(request)).find(request.path_params["job"])
    if job is None:
        raise HTTPException(404, "The server was restarted in the meantime. Score again.")
    return JsonResponse({**job.state(), "run": job.result}, headers=NO_STORE)


def _stop_job(request: Request, content: JsonObject) -> JsonObject:
    queue = job_queue(site_of(request))
    job = queue.find(request.path_params["job"])
    if job is not None:
        queue.stop(job)
    return {}


def _results(request: Request) -> Response:
    """The scores of a run's first suite that can be edited."""
    reader, run = site_of(request).reader, request.path_params["run"]
    summary = next((summary for summary in reader.overview([run]) if summary.kind in suite_editors()), None)
    if summary is None:
        raise StoreError(f"run {run} has no result of a suite that can be edited")
    result, _ = reader.result(summary.id)
    return JsonResponse(
        {
            "run": run,
            "model": result.model,
            "name": short_names(reader.models()).get(result.model, result.model),
            "warnings": list(result.warnings),
            **suite_editors()[result.kind].scores(result, reader.rows(summary.id)),
        }
    )


ROUTES: list[BaseRoute] = [
    Route("/editor", _start_page),
    Route("/editor/new.json", json_endpoint(_create_draft), methods=["POST"]),
    Route("/editor/upload.json", _upload, methods=["POST"]),
    Route("/editor/check.json", json_endpoint(_check), methods=["POST"]),
    Route("/editor/table.json", json_endpoint(_open_table), methods=["POST"]),
    Route("/editor/jobs/{job}.json", _job),
    Route("/editor/jobs/{job}/stop.json", json_endpoint(_stop_job), methods=["POST"]),
    Route("/editor/runs/{run:number}.json", _results),
    Route("/editor/{draft}", _grid_page),
    Route("/editor/{draft}/draft.json", _read_draft),
    Route("/editor/{draft}/draft.json", json_endpoint(_write_draft), methods=["PUT"]),
    Route("/editor/{draft}/draft.json", json_endpoint(_delete_draft), methods=["DELETE"]),
    Route("/editor/{draft}/suite.{ending}", _download),
    Route("/editor/{draft}/save.json", json_endpoint(_save), methods=["POST"]),
    Route("/editor/{draft}/score.json", json_endpoint(_score), methods=["POST"]),
]


def _document(content: JsonObject) -> Document:
    document = content.get("document")
    if not isinstance(document, dict) or not default_editor().is_document(document):
        raise InputError("the request does not contain a suite")
    return document


def _draft(request: Request) -> Draft:
    draft = draft_store(site_of(request)).find(request.path_params["draft"])
    if draft is None:
        raise HTTPException(404, "There is no such draft on this server.")
    return draft


def _draft_address(site: Site, document: Document, origin: str) -> JsonObject:
    return {"address": f"/editor/{draft_store(site).create(document, int(time.time() * 1000), origin).id}"}


def _open_upload(name: str, data: bytes) -> tuple[Document, list[str]]:
    if not name.endswith(suite_suffixes()):
        raise InputError(f"{name!r} is not a suite file: {', '.join(default_editor().SUFFIXES)}")
    with tempfile.TemporaryDirectory(prefix="wug-") as folder:
        path = Path(folder) / safe_file_name(name)
        path.write_bytes(data)
        try:
            return open_suite(path)
        except InputError as error:
            raise InputError(str(error).replace(str(path), name)) from None
