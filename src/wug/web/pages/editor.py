"""The suite editor: where suites are begun or opened, the grid, and what its script asks for."""

from __future__ import annotations

import dataclasses
import hashlib
import shlex
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError
from wug.runs.suite_texts import read_suite
from wug.web.editor import checking, suite_files
from wug.web.editor.drafts import Conflict, Draft, Drafts
from wug.web.editor.results import editor_results
from wug.web.jobs.queue import run_suites, scorers, scoring
from wug.web.json_body import moment, received, revision
from wug.web.site import Site, address
from wug.web.templating import Json

NAV = ("Suite editor", "/editor", 30)
METRICS = ("sum", "mean", "median", "range", "max", "min")
FIELDS = (
    ("author", "Author", "Who wrote it"),
    ("reference", "Reference", "The paper that it comes from"),
    ("description", "Description", "What it tests, in a sentence or two"),
    ("comment", "Comment", "Stays in the file; no page or report shows it"),
)
KINDS = {".json": "application/json", ".csv": "text/csv; charset=utf-8", ".tsv": "text/tab-separated-values"}

Answer = Callable[[Request], Awaitable[Response]]
Said = Callable[[Request, dict[str, Any]], Any]


def routes(site: Site) -> list[BaseRoute]:
    """The addresses of the editor."""
    drafts = Drafts(site.store.path.parent / "drafts")
    jobs = scoring(site)

    def start(request: Request) -> Response:
        there = [(folder, suite_files.suites_in(folder)) for folder in site.folders]
        return site.page(
            request, "editor_start.html", drafts=drafts.all(), builtins=list(suite_files.builtins()), folders=there
        )

    def begin(request: Request, given: dict[str, Any]) -> Any:
        return {"address": f"/editor/{_begin(site, drafts, str(given.get('from'))).id}"}

    async def upload(request: Request) -> Response:
        name = Path(unquote(request.headers.get("x-file-name", "suite.json"))).name
        made = await run_in_threadpool(_upload, drafts, name, await request.body())
        return Json({"address": f"/editor/{made.id}"})

    def grid(request: Request) -> Response:
        id = request.path_params["draft"]
        draft = drafts.find(id)
        return site.page(
            request,
            "editor.html",
            draft=id,
            name=draft.name if draft else "",
            metrics=METRICS,
            fields=FIELDS,
            folders=site.folders,
            models=scorers(site.models),
        )

    def edit(request: Request) -> Response:
        draft = _of_result(site, drafts, request.query_params.get("result", ""))
        item = request.query_params.get("item")
        return RedirectResponse(address(f"/editor/{draft.id}", {"item": item}), status_code=303)

    def read(request: Request) -> Response:
        return _fresh(_draft(drafts, request))

    def keep(request: Request, given: dict[str, Any]) -> Any:
        id = request.path_params["draft"]
        try:
            kept = drafts.keep(id, _document(given), moment(given, "changed"), revision(given, "seen"))
        except Conflict as conflict:
            return Json({"error": str(conflict), "theirs": _shown(conflict.theirs)}, status_code=409)
        return {"revision": kept.revision}

    def remove(request: Request, given: dict[str, Any]) -> Any:
        drafts.remove(request.path_params["draft"])
        return {}

    def check(request: Request, given: dict[str, Any]) -> Any:
        formulas = given.get("formulas", [])
        if not isinstance(formulas, list):
            raise InputError("'formulas' should be a list")
        return checking.check(_document(given), [str(text) for text in formulas])

    def table(request: Request, given: dict[str, Any]) -> Any:
        text = given.get("text")
        if not isinstance(text, str):
            raise InputError("'text' should be a table")
        opened = suite_files.open_text(text)
        return {"document": opened.document, "notes": opened.notes}

    def download(request: Request) -> Response:
        document, ending = _draft(drafts, request).document, f".{request.path_params['ending']}"
        if ending not in KINDS:
            raise HTTPException(404)
        text = suite_files.as_text(document, ending)
        name = suite_files.file_name(document, ending)
        plain = name.encode("ascii", "replace").decode().replace("?", "_")
        quoted = "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}" for byte in name.encode())
        named = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quoted}"
        return Response(text, media_type=KINDS[ending], headers={"content-disposition": named})

    def save(request: Request, given: dict[str, Any]) -> Any:
        document = _document(given) if "document" in given else _draft(drafts, request).document
        folder, name = str(given.get("folder", "")), str(given.get("name", "")).strip()
        if not name or name.startswith("/"):
            raise InputError("Give the file a name, such as my_suite.json")
        path = site.inside(str(site.inside(folder) / name))
        if path.is_dir():
            raise InputError("is a folder, not a file", file=path)
        path = path if path.suffix else site.inside(f"{path}.json")
        try:
            seen = given.get("seen")
            digest = suite_files.save(
                document,
                path,
                overwrite=given.get("overwrite") is True,
                seen=seen if isinstance(seen, str) else None,
            )
        except suite_files.Exists as error:
            return Json({"error": str(error), "path": str(path)}, status_code=409)
        return {"path": str(path), "digest": digest}

    def score(request: Request, given: dict[str, Any]) -> Any:
        model, document = str(given.get("model")), _draft(drafts, request).document
        if model not in site.models:
            raise InputError(f"{model!r} is not one of the models of this page: {', '.join(site.models) or 'none'}")
        name = suite_files.file_name(document, ".json")
        suites = [read_suite(document, name=name)]
        command = shlex.join(["wug", "run", name, "--model", model])
        return jobs.start(model, run_suites(suites, site.store.path, site.cache, command)).state()

    def job(request: Request) -> Response:
        found = jobs.find(request.path_params["job"])
        if found is None:
            raise HTTPException(404, "The server was started again in the meantime. Score once more.")
        return Json({**found.state(), "run": found.result}, headers={"cache-control": "no-store"})

    def stop(request: Request, given: dict[str, Any]) -> Any:
        found = jobs.find(request.path_params["job"])
        if found is not None:
            jobs.stop(found)
        return {}

    def outcome(request: Request) -> Response:
        return Json(editor_results(site.shelf, int(request.path_params["run"])))

    return [
        Route("/editor", start),
        Route("/edit", edit),
        Route("/editor/new.json", _said(begin), methods=["POST"]),
        Route("/editor/upload.json", upload, methods=["POST"]),
        Route("/editor/check.json", _said(check), methods=["POST"]),
        Route("/editor/table.json", _said(table), methods=["POST"]),
        Route("/editor/jobs/{job}.json", job),
        Route("/editor/jobs/{job}/stop.json", _said(stop), methods=["POST"]),
        Route("/editor/runs/{run:number}.json", outcome),
        Route("/editor/{draft}", grid),
        Route("/editor/{draft}/draft.json", read),
        Route("/editor/{draft}/draft.json", _said(keep), methods=["PUT"]),
        Route("/editor/{draft}/draft.json", _said(remove), methods=["DELETE"]),
        Route("/editor/{draft}/suite.{ending}", download),
        Route("/editor/{draft}/save.json", _said(save), methods=["POST"]),
        Route("/editor/{draft}/score.json", _said(score), methods=["POST"]),
    ]


def _said(act: Said) -> Answer:
    """What answers a request that sends JSON; the work is done beside the loop that serves everyone."""

    async def answer(request: Request) -> Response:
        given = received(await request.body())
        made = await run_in_threadpool(act, request, given)
        return made if isinstance(made, Response) else Json(made)

    return answer


def _document(given: dict[str, Any]) -> dict[str, Any]:
    document = given.get("document")
    if not isinstance(document, dict) or not {"meta", "region_meta", "predictions", "items"} <= document.keys():
        raise InputError("what was sent is not a suite")
    return document


def _draft(drafts: Drafts, request: Request) -> Draft:
    found = drafts.find(request.path_params["draft"])
    if found is None:
        raise HTTPException(404, "There is no such draft on this server.")
    return found


def _fresh(draft: Draft) -> Response:
    return Json(_shown(draft), headers={"cache-control": "no-store"})


def _shown(draft: Draft) -> dict[str, Any]:
    keys = ("id", "revision", "changed", "document", "origin")
    return {key: getattr(draft, key) for key in keys}


def _begin(site: Site, drafts: Drafts, source: str) -> Draft:
    """A new draft: from nothing, from a design, of a built-in suite, or of a file."""
    kind, _, name = source.partition(":")
    now = int(time.time() * 1000)
    if kind == "builtin":
        known = suite_files.builtins()
        if name not in known:
            raise InputError(f"there is no built-in suite {name!r}")
        return drafts.new(suite_files.open_file(known[name]).document, now, f"the built-in suite {name}")
    if kind == "file":
        opened = suite_files.open_file(site.inside(name))
        return drafts.new(opened.document, now, " ".join([name, *opened.notes]))
    designs = {"blank": suite_files.blank, "2x2": suite_files.two_by_two}
    if kind not in designs:
        raise InputError(f"a suite cannot be begun from {source!r}")
    return drafts.new(designs[kind](), now)


def _of_result(site: Site, drafts: Drafts, given: str) -> Draft:
    """The draft of a stored result's suite: the one that was begun when it was first opened, edited or not."""
    if not (given.isascii() and given.isdigit() and len(given) < 16):
        raise HTTPException(404, "Name a result: /edit?result=7&item=12")
    result, run = site.shelf.result(int(given))
    if result.kind != "syntaxgym":
        raise InputError(f"{result.suite} is of the family {result.kind}: only SyntaxGym suites open in the editor")
    own = hashlib.sha256(f"{given} {run.id} {run.started} {result.signature}".encode()).hexdigest()[:16]
    known = drafts.find(own)
    if known is not None:
        return known
    origin = f"result {given}, {result.suite} as {result.model} was asked it"
    judged = dataclasses.replace(result, outcomes=tuple(row.outcome for row in site.shelf.every(int(given))))
    return drafts.new(suite_files.of_result(judged), int(time.time() * 1000), origin, own)


def _upload(drafts: Drafts, name: str, data: bytes) -> Draft:
    if not name.endswith(suite_files.KINDS):
        raise InputError(f"{name!r} is no .json, .csv or .tsv file")
    with tempfile.TemporaryDirectory(prefix="wug-") as folder:
        path = Path(folder) / suite_files.fit_name(name)
        path.write_bytes(data)
        try:
            opened = suite_files.open_file(path)
        except InputError as error:
            raise InputError(str(error).replace(str(path), name)) from None
    return drafts.new(opened.document, int(time.time() * 1000), " ".join([name, *opened.notes]))
