"""Try a sentence: two or more, side by side, token by token, for one or more models."""

from __future__ import annotations

import threading
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError
from wug.web.rendering import Json
from wug.web.scoring import Job, score_texts, scorers, scoring
from wug.web.sentences import Panel, panel
from wug.web.site import Site

NAV = ("Try a sentence", "/sentence", 40)
SENTENCES, LONGEST = 12, 2000
"""The most that is asked at once: sentences, and characters of each."""
PATIENCE = 1.5
"""Seconds that a page waits for an answer before it says that one is on its way."""
REMEMBERED = 500
"""Questions whose answers are at hand."""
ELSEWHERE = ("cross-site", "same-site")
"""What a browser says of a request that a page of another site brought about: it must not make a model work."""
EXAMPLE = ("The keys to the cabinet are on the table.", "The keys to the cabinet is on the table.")


def routes(site: Site) -> list[BaseRoute]:
    """The page, and how far its jobs are."""
    jobs = scoring(site)
    started: dict[tuple[str, tuple[str, ...]], Job] = {}
    """The last job for each question, so that a page that is loaded again looks at the job it began."""
    one = threading.Lock()

    def ask(model: str, texts: tuple[str, ...]) -> Job:
        with one:
            known = started.get((model, texts))
            if known is None or (known.ended.is_set() and known.stage != "done"):
                while len(started) > REMEMBERED:
                    del started[next(iter(started))]
                known = started[model, texts] = jobs.start(model, score_texts(texts, site.cache))
            return known

    def page(request: Request) -> Response:
        texts, models, fault = _given(request, site)
        new = any((model, texts) not in started for model in models)
        if not fault and texts and new and request.headers.get("sec-fetch-site") in ELSEWHERE:
            fault = "This address came from another page. Press Ask to put its sentences to the model."
        asked = [] if fault or not texts else [ask(model, texts) for model in models]
        for job in asked:
            job.ended.wait(PATIENCE / len(asked))
        panels = [_panel(job) for job in asked]
        return site.page(
            request,
            "sentence.html",
            texts=[*texts, *[""] * (2 - len(texts))],
            chosen=models,
            models=scorers(site.models),
            fault=fault,
            panels=panels,
            waiting=[one for one in panels if not one.ended],
            example=EXAMPLE,
            most=SENTENCES,
            longest=LONGEST,
        )

    def state(request: Request) -> Response:
        texts, models, fault = _given(request, site)
        if fault:
            raise InputError(fault)
        known = [started.get((model, texts)) for model in models]
        states = [{"model": model} | (job.state() if job else {}) for model, job in zip(models, known, strict=True)]
        done = all(job is None or job.ended.is_set() for job in known)
        return Json({"done": done, "models": states}, headers={"cache-control": "no-store"})

    return [Route("/sentence", page), Route("/sentence/state.json", state)]


def _given(request: Request, site: Site) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """The sentences and models of an address, and what is wrong with them in words."""
    texts = tuple(text for one in request.query_params.getlist("s") if (text := " ".join(one.split())))
    models = tuple(dict.fromkeys(request.query_params.getlist("m")))
    unknown = [model for model in models if model not in site.models]
    if unknown:
        there = ", ".join(site.models) or "none"
        return texts, (), f"{unknown[0]!r} is not one of the models of this page. There is: {there}"
    if len(texts) > SENTENCES:
        return texts[:SENTENCES], models, f"{len(texts)} sentences are too many at once: {SENTENCES} at most."
    if any(len(text) > LONGEST for text in texts):
        return tuple(text[:LONGEST] for text in texts), models, f"A sentence has more than {LONGEST} characters."
    if texts and not models:
        return texts, models, "Choose a model."
    return texts, models, ""


def _panel(job: Job) -> Panel:
    result: Any = job.result
    if job.stage == "done":
        return panel(job.model, result)
    failed = job.error or ("The job was stopped." if job.stage == "stopped" else "")
    return Panel(job.model, (), ended=job.ended.is_set(), error=failed)
