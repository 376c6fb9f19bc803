"""Try a sentence: two or more, side by side, token by token, for one or more models."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError, WugError
from wug.runs.opening import model_spec
from wug.web.jobs.queue import Job, Scoring, likeliest_tokens, score_texts, scorers, scoring
from wug.web.json_body import received
from wug.web.pages.sentence.panel import Panel, candidates, panel
from wug.web.site import Site
from wug.web.templating import Json

NAV = ("Try a sentence", "/sentence", 40)
SENTENCES, LONGEST = 12, 2000
"""The most that is asked at once: sentences, and characters of each."""
PATIENCE = 1.5
"""Seconds that a page waits for an answer before it says that one is on its way."""
REMEMBERED = 500
"""Questions whose answers are at hand."""
ELSEWHERE = ("cross-site", "same-site")
"""What a browser says of a request that a page of another site brought about: it must not make a model work."""
LIKELIEST = 10
"""Tokens that are shown as what else could stand in a place."""
LIVE = "x-wug-live"
"""By this header a page that follows what is typed says which page it is."""
EXAMPLE = ("The keys to the cabinet are on the table.", "The keys to the cabinet is on the table.")


def routes(site: Site) -> list[BaseRoute]:
    """The page, how far its jobs are, and what else could stand in a place."""
    asked = Asked(scoring(site))

    def ask(model: str, texts: tuple[str, ...]) -> Job:
        return asked.job((model, texts), model, lambda: score_texts(texts, site.cache))

    def page(request: Request) -> Response:
        texts, models, fault = _given(request, site)
        new = any((model, texts) not in asked for model in models)
        if not fault and texts and new and request.headers.get("sec-fetch-site") in ELSEWHERE:
            fault = "This address came from another page. Press Ask to put its sentences to the model."
        jobs = [] if fault or not texts else [ask(model, texts) for model in models]
        if live := request.headers.get(LIVE, ""):
            asked.follow(live, jobs)
        for job in jobs:
            job.ended.wait(PATIENCE / len(jobs))
        panels = [_panel(job) for job in jobs]
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
        known = [asked.find((model, texts)) for model in models]
        states = [{"model": model} | (job.state() if job else {}) for model, job in zip(models, known, strict=True)]
        done = all(job is None or job.ended.is_set() for job in known)
        return Json({"done": done, "models": states}, headers={"cache-control": "no-store"})

    def instead(given: dict[str, Any]) -> Response:
        text, model, place = given.get("text"), given.get("model"), given.get("token")
        if not isinstance(text, str) or not 0 < len(text) <= LONGEST or model not in site.models:
            raise InputError("a sentence and one of the models of this page are needed")
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < LONGEST:
            raise InputError("'token' should say which token is meant, from 0 on")
        job = asked.job((model, text, place), model, lambda: likeliest_tokens(text, place, LIKELIEST))
        job.ended.wait(PATIENCE)
        found = candidates(job.result) if job.stage == "done" else []
        return Json({"done": job.ended.is_set(), "tokens": found, "error": _why_failed(job)})

    async def likeliest(request: Request) -> Response:
        return await run_in_threadpool(instead, received(await request.body()))

    return [
        Route("/sentence", page),
        Route("/sentence/state.json", state),
        Route("/sentence/likeliest.json", likeliest, methods=["POST"]),
    ]


class Asked:
    """The last job for each question, so that a page that is loaded again looks at the job it began."""

    def __init__(self, jobs: Scoring) -> None:
        self._jobs = jobs
        self._started: dict[Hashable, Job] = {}
        self._followed: dict[str, list[Job]] = {}
        self._one = threading.Lock()

    def __contains__(self, question: Hashable) -> bool:
        return question in self._started

    def find(self, question: Hashable) -> Job | None:
        """The job of a question, if there is one."""
        return self._started.get(question)

    def job(self, question: Hashable, model: str, work: Callable[[], Any]) -> Job:
        """The job of a question, begun where there is none or it failed."""
        with self._one:
            known = self._started.get(question)
            if known is None or (known.ended.is_set() and known.stage != "done"):
                while len(self._started) > REMEMBERED:
                    del self._started[next(iter(self._started))]
                known = self._started[question] = self._jobs.start(model, work())
            return known

    def follow(self, page: str, jobs: list[Job]) -> None:
        """What a page wants now; what it wanted before and what still waits is taken back."""
        with self._one:
            before = self._followed.pop(page, [])
            self._followed[page] = jobs
            while len(self._followed) > REMEMBERED:
                del self._followed[next(iter(self._followed))]
            wanted = {job.id for some in self._followed.values() for job in some}
        for job in before:
            if job.id not in wanted:
                self._jobs.withdraw(job)


def _given(request: Request, site: Site) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """The sentences and models of an address, and what is wrong with them in words."""
    query = request.query_params
    linked = query.getlist("text")
    texts = tuple(text for one in [*query.getlist("s"), *linked] if (text := " ".join(one.split())))
    models = tuple(dict.fromkeys(query.getlist("m")))
    if linked and not models:
        models = _fitting(site, query.get("model", ""))
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


def _fitting(site: Site, identity: str) -> tuple[str, ...]:
    """The model of this page that a result is of (`causal/gpt2@607a30d`), else the first that can be asked."""
    there = scorers(site.models)
    wanted = identity.partition("@")[0]
    return tuple([name for name in there if wanted and _known_as(name) == wanted][:1] or there[:1])


def _known_as(name: str) -> str:
    """What a model is called in results: kind and name; empty where that cannot be told."""
    try:
        spec = model_spec(name)
    except WugError:
        return ""
    return f"{spec.kind}/{Path(spec.name).name if Path(spec.name).exists() else spec.name}"


def _panel(job: Job) -> Panel:
    result: Any = job.result
    if job.stage == "done":
        return panel(job.model, result)
    return Panel(job.model, (), ended=job.ended.is_set(), error=_why_failed(job))


def _why_failed(job: Job) -> str:
    return job.error or ("The job was stopped." if job.stage == "stopped" else "")
