"""Try a sentence: sentences side by side, token by token, for one or more models."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError, WugError
from wug.evaluation.models import model_spec
from wug.identity import ModelId
from wug.outcomes import Outcome, Result, Signature
from wug.rows import OutcomeRow
from wug.views.parts import ItemView
from wug.web.editor import default_editor
from wug.web.jobs import Job, JobQueue, job_queue, scoring_models
from wug.web.request_body import JsonObject, json_endpoint
from wug.web.security import CROSS_SITE
from wug.web.sentence_panels import ModelPanel, score_panel, token_candidates
from wug.web.site import JsonResponse, NavLink, Site, site_of
from wug.web.worker import JobTask, likeliest_tokens, score_texts

NAV = NavLink("Try a sentence", "/sentence", 40)
MAX_SENTENCES, MAX_SENTENCE_CHARACTERS = 12, 2000
WAIT_SECONDS = 1.5
"""Time that a request waits for a result before it reports that one is on its way."""
MAX_CACHED_JOBS = 500
MAX_CANDIDATES = 10
"""Most probable tokens shown for a position."""
LIVE_HEADER = "x-wug-live"
"""Header with the id of a page that scores while the user types."""
EXAMPLE = ("The keys to the cabinet are on the table.", "The keys to the cabinet is on the table.")


class JobCache:
    """The last job for each key, so that a reloaded page finds the job it started."""

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self._jobs: dict[Hashable, Job] = {}
        self._by_page: dict[str, list[Job]] = {}
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> Job | None:
        """The job of a key; None if there is none."""
        return self._jobs.get(key)

    def start(self, key: Hashable, model: str, task: Callable[[], JobTask]) -> Job:
        """The job of a key, started if there is none or if it failed."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None or (job.ended.is_set() and job.stage != "done"):
                while len(self._jobs) > MAX_CACHED_JOBS:
                    del self._jobs[next(iter(self._jobs))]
                job = self._jobs[key] = self._queue.start(model, task())
            return job

    def replace(self, page: str, jobs: list[Job]) -> None:
        """Set the jobs that a page waits for; its earlier ones are withdrawn if no page waits for them."""
        with self._lock:
            earlier_jobs = self._by_page.pop(page, [])
            self._by_page[page] = jobs
            while len(self._by_page) > MAX_CACHED_JOBS:
                del self._by_page[next(iter(self._by_page))]
            awaited_ids = {job.id for page_jobs in self._by_page.values() for job in page_jobs}
        for job in earlier_jobs:
            if job.id not in awaited_ids:
                self._queue.withdraw(job)


@functools.lru_cache(maxsize=4)
def job_cache(site: Site) -> JobCache:
    """The cache of a site."""
    return JobCache(job_queue(site))


def _page(request: Request) -> Response:
    site, cache = site_of(request), job_cache(site_of(request))
    texts, models, fault = _parse(request)
    is_new = any(cache.find((model, texts)) is None for model in models)
    if not fault and texts and is_new and request.headers.get("sec-fetch-site") in CROSS_SITE:
        fault = "This link came from another site. Press Score to score its sentences."
    task = functools.partial(score_texts, texts, site.cache)
    jobs = [] if fault or not texts else [cache.start((model, texts), model, task) for model in models]
    if page := request.headers.get(LIVE_HEADER, ""):
        cache.replace(page, jobs)
    for job in jobs:
        job.ended.wait(WAIT_SECONDS / len(jobs))
    panels = [_panel(job) for job in jobs]
    return site.render(
        request,
        "sentence.html",
        texts=[*texts, *[""] * (2 - len(texts))],
        chosen=models,
        models=scoring_models(site.models),
        fault=fault,
        panels=panels,
        waiting=[panel for panel in panels if not panel.ended],
        example=EXAMPLE,
        max_sentences=MAX_SENTENCES,
        max_characters=MAX_SENTENCE_CHARACTERS,
    )


def _state(request: Request) -> Response:
    texts, models, fault = _parse(request)
    if fault:
        raise InputError(fault)
    cache = job_cache(site_of(request))
    jobs = [cache.find((model, texts)) for model in models]
    states = [{"model": model} | (job.state() if job else {}) for model, job in zip(models, jobs, strict=True)]
    is_done = all(job is None or job.ended.is_set() for job in jobs)
    return JsonResponse({"done": is_done, "models": states}, headers={"cache-control": "no-store"})


def _likeliest(request: Request, content: JsonObject) -> JsonObject:
    """The most probable tokens at a position of a sentence."""
    site = site_of(request)
    text, model, position = content.get("text"), content.get("model"), content.get("token")
    if not isinstance(text, str) or not 0 < len(text) <= MAX_SENTENCE_CHARACTERS or model not in site.models:
        raise InputError("a sentence and one of the models of this page are needed")
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < MAX_SENTENCE_CHARACTERS:
        raise InputError("'token' should be the index of a token, from 0")
    job = job_cache(site).start(
        (model, text, position), model, lambda: likeliest_tokens(text, position, MAX_CANDIDATES)
    )
    job.ended.wait(WAIT_SECONDS)
    candidates = token_candidates(job.result) if job.stage == "done" else []
    return {"done": job.ended.is_set(), "tokens": candidates, "error": _error(job)}


def _as_suite(request: Request) -> Response:
    """A suite with one item: the two sentences as its conditions."""
    texts, _, _ = _parse(request)
    result = Result("sentences", "", "", "complete", Signature(), 1, ())
    row = OutcomeRow(0, Outcome("1", "", None))
    suite = default_editor().suite_of_item(result, [row], ItemView(sentences=texts)) if len(texts) == 2 else None
    if suite is None:
        raise HTTPException(404, "A suite is made of two sentences.")
    return JsonResponse(suite)


ROUTES: list[BaseRoute] = [
    Route("/sentence", _page),
    Route("/sentence/suite.json", _as_suite),
    Route("/sentence/state.json", _state),
    Route("/sentence/likeliest.json", json_endpoint(_likeliest), methods=["POST"]),
]


def _parse(request: Request) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Sentences and models in the query, and an error message."""
    site, query = site_of(request), request.query_params
    if not query.keys() & {"s", "text", "m"} and (models := tuple(scoring_models(site.models)[:1])):
        return EXAMPLE, models, ""
    linked_texts = query.getlist("text")
    texts = tuple(text for sentence in [*query.getlist("s"), *linked_texts] if (text := " ".join(sentence.split())))
    models = tuple(dict.fromkeys(query.getlist("m")))
    if linked_texts and not models:
        models = _matching_model(site, query.get("model", ""))
    unknown_models = [model for model in models if model not in site.models]
    if unknown_models:
        names = ", ".join(site.models) or "none"
        return texts, (), f"{unknown_models[0]!r} is not one of the models of this page. There is: {names}"
    if len(texts) > MAX_SENTENCES:
        return texts[:MAX_SENTENCES], models, f"{len(texts)} sentences are too many at once: {MAX_SENTENCES} at most."
    limit = MAX_SENTENCE_CHARACTERS
    if any(len(text) > limit for text in texts):
        return tuple(text[:limit] for text in texts), models, f"A sentence has more than {limit} characters."
    if texts and not models:
        return texts, models, "Choose a model."
    return texts, models, ""


def _matching_model(site: Site, id: str) -> tuple[str, ...]:
    """The model of this page with a model id from a result, else the first that can score sentences."""
    scorers = scoring_models(site.models)
    model_id = ModelId.parse(id)
    matches = [name for name in scorers if id and _result_name(name) == (model_id.backend, model_id.name)]
    return tuple(matches[:1] or scorers[:1])


def _result_name(name: str) -> tuple[str, str] | None:
    """Backend and name that a model has in results; None if that is unknown."""
    try:
        spec = model_spec(name)
    except WugError:
        return None
    return spec.backend, Path(spec.name).name if Path(spec.name).exists() else spec.name


def _panel(job: Job) -> ModelPanel:
    if job.stage == "done":
        return score_panel(job.model, job.result)
    return ModelPanel(job.model, (), ended=job.ended.is_set(), error=_error(job))


def _error(job: Job) -> str:
    return job.error or ("The job was stopped." if job.stage == "stopped" else "")
