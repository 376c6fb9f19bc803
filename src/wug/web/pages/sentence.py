"""Try a sentence: sentences side by side, token by token, for one or more models."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.alignment import first_texts
from wug.errors import InputError
from wug.outcomes import Outcome, Result, Signature
from wug.requests import LN2, Scored, Token
from wug.rows import OutcomeRow
from wug.views.parts import ItemView, shade
from wug.views.text_display import characters, join_letters
from wug.web.editor import default_editor
from wug.web.jobs import Job, JobQueue, job_queue, scoring_models
from wug.web.request_body import JsonObject, json_endpoint, whole_number
from wug.web.security import CROSS_SITE
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
        self.jobs: dict[Hashable, Job] = {}
        self._by_page: dict[str, list[Job]] = {}
        self._lock = threading.Lock()

    def start(self, key: Hashable, model: str, task: Callable[[], JobTask]) -> Job:
        """The job of a key, started if there is none or if it failed."""
        with self._lock:
            job = self.jobs.get(key)
            if job is None or (job.ended.is_set() and job.stage != "done"):
                while len(self.jobs) > MAX_CACHED_JOBS:
                    del self.jobs[next(iter(self.jobs))]
                job = self.jobs[key] = self._queue.start(model, task())
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
    is_new = any(cache.jobs.get((model, texts)) is None for model in models)
    if not fault and texts and is_new and request.headers.get("sec-fetch-site") in CROSS_SITE:
        fault = "This link came from another site. Press Score to score its sentences."
    task = functools.partial(score_texts, texts, site.cache)
    jobs = [] if fault or not texts else [cache.start((model, texts), model, task) for model in models]
    if page := request.headers.get(LIVE_HEADER, ""):
        cache.replace(page, jobs)
    for job in jobs:
        job.ended.wait(WAIT_SECONDS / len(jobs))
    panels = [
        score_panel(job.model, job.result)
        if job.stage == "done"
        else ModelPanel(job.model, (), ended=job.ended.is_set(), error=_error(job))
        for job in jobs
    ]
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
    jobs = [cache.jobs.get((model, texts)) for model in models]
    states = [{"model": model} | (job.state() if job else {}) for model, job in zip(models, jobs, strict=True)]
    is_done = all(job is None or job.ended.is_set() for job in jobs)
    return JsonResponse({"done": is_done, "models": states}, headers={"cache-control": "no-store"})


def _likeliest(request: Request, content: JsonObject) -> JsonObject:
    """The most probable tokens at a position of a sentence."""
    site = site_of(request)
    text, model = content.get("text"), content.get("model")
    if not isinstance(text, str) or not 0 < len(text) <= MAX_SENTENCE_CHARACTERS or model not in site.models:
        raise InputError("a sentence and one of the models of this page are needed")
    position = whole_number(content, "token", "the index of a token, from 0", MAX_SENTENCE_CHARACTERS - 1)
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
        models = tuple(scoring_models(site.models)[:1])
    if unknown := [model for model in models if model not in site.models]:
        names = ", ".join(site.models) or "none"
        return texts, (), f"{unknown[0]!r} is not one of the models of this page. There is: {names}"
    if len(texts) > MAX_SENTENCES:
        return texts[:MAX_SENTENCES], models, f"{len(texts)} sentences are too many at once: {MAX_SENTENCES} at most."
    limit = MAX_SENTENCE_CHARACTERS
    if any(len(text) > limit for text in texts):
        return tuple(text[:limit] for text in texts), models, f"A sentence has more than {limit} characters."
    return texts, models, "" if models or not texts else "Choose a model."


def _error(job: Job) -> str:
    return job.error or ("The job was stopped." if job.stage == "stopped" else "")


class TokenBox(NamedTuple):
    """A token as the page shows it, or several tokens that make up one character."""

    text: str
    bits: str
    shade: str
    """CSS class of the background."""
    differs: bool = False
    """Whether it is the first token that not all sentences share."""
    joined: bool = False
    """Whether it continues the word of the previous token."""
    parts: int = 1
    """Number of tokens; several if each is a part of one character."""
    place: int = 0
    """Index of its first token."""
    entropy: str = ""
    """Entropy in bits at its first token; empty if unknown."""
    rank: str = ""
    """Rank of its first token by probability; empty if unknown."""


class ScoredSentence(NamedTuple):
    """A sentence with its tokens."""

    text: str
    pieces: tuple[TokenBox, ...]
    total: str
    mean: str
    """Bits per token."""
    change: str = ""
    """Difference from the first sentence in bits; empty for the first."""
    is_least: bool = False
    """Whether it is the least surprising of several."""
    unscored: int = 0
    """Tokens without a probability."""


class AlignedTokens(NamedTuple):
    """A token of each sentence, either of which may be missing."""

    first: str
    second: str
    difference: float | None
    """Surprisal of the second minus that of the first, in bits; None if one of them is unknown."""

    @property
    def text(self) -> str:
        """The difference with its sign; empty if it is unknown or rounds to 0."""
        difference = round(self.difference or 0.0, 1)
        return f"{'+' if difference > 0 else '−'}{abs(difference):.1f}" if difference else ""

    @property
    def shade(self) -> str:
        """CSS class of the background: the larger the difference, the stronger."""
        return shade(abs(self.difference)) if self.text and self.difference is not None else ""


class ModelPanel(NamedTuple):
    """One model's scores for all sentences."""

    model: str
    lines: tuple[ScoredSentence, ...]
    ended: bool = True
    error: str = ""
    verdict: str = ""
    token_pairs: tuple[AlignedTokens, ...] = ()
    """The tokens of two sentences above each other; empty for another number of sentences."""


def score_panel(model: str, scored: Sequence[Scored]) -> ModelPanel:
    """The panel of one model."""
    totals = [sentence.surprisal() for sentence in scored]
    difference_index = first_difference([sentence.tokens for sentence in scored])
    lines: list[ScoredSentence] = []
    for sentence, total in zip(scored, totals, strict=True):
        count, change = sum(token.logprob is not None for token in sentence.tokens), total - totals[0]
        signed_change = f"{'+' if change >= 0 else '−'}{abs(change):.1f}" if math.isfinite(change) else "–"
        lines.append(
            ScoredSentence(
                text=sentence.text,
                pieces=tuple(_boxes(sentence, difference_index)),
                total=_bits(total),
                mean=_bits(total / count) if count else "–",
                change=signed_change if lines else "",
                is_least=total == min(totals) < max(totals),
                unscored=len(sentence.tokens) - count,
            )
        )
    token_pairs = tuple(align(*scored)) if len(scored) == 2 else ()
    return ModelPanel(model, tuple(lines), verdict=_verdict(totals), token_pairs=token_pairs)


def first_difference(sentences: Sequence[Sequence[Token]]) -> int | None:
    """Index of the first token that not all sentences share; None if there is none."""
    columns = zip_longest(*([token.text for token in tokens] for tokens in sentences))
    return next((index for index, texts in enumerate(columns) if len(set(texts)) > 1), None)


def token_candidates(tokens: Sequence[Token]) -> list[dict[str, str]]:
    """The most probable tokens at a position: text, bits and percent."""
    return [
        {
            "text": token.text.strip() or "␣",
            "bits": _bits(-token.logprob / LN2),
            "percent": f"{100 * math.exp(token.logprob):.1f}",
        }
        for token in tokens
        if token.logprob is not None
    ]


def _verdict(totals: Sequence[float]) -> str:
    if len(totals) < 2:
        return ""
    low = min(totals)
    if all(total == low for total in totals):
        return "All sentences are equally surprising."
    runner_up = sorted(totals)[1]
    margin = f"by {_bits(runner_up - low)} bits" if runner_up > low else "tied with another one"
    word = "less" if len(totals) == 2 else "the least"
    return f"Sentence {totals.index(low) + 1} is {word} surprising, {margin}."


def _boxes(scored: Scored, difference_index: int | None) -> Iterator[TokenBox]:
    """The tokens; those that make up one character as one, with their total surprisal."""
    texts, tokens = first_texts(scored), scored.tokens
    unknown = [None] * len(tokens)
    entropies, ranks = scored.entropies or unknown, scored.ranks or unknown
    spans = characters(texts)
    starts = [tokens[span.start].start for span in spans]
    continues_word = [0 < at < len(scored.text) and not scored.text[at - 1].isspace() for at in starts]
    labels = join_letters(
        ["".join(text for position in span if (text := texts[position])) for span in spans], continues_word
    )
    for span, text, is_joined in zip(spans, labels, continues_word, strict=True):
        known_bits = [bits for position in span if (bits := tokens[position].surprisal) is not None]
        bits = min(sum(known_bits), 1e6) if known_bits else None
        yield TokenBox(
            text=text.strip() or "␣",
            bits="–" if bits is None else _bits(sum(known_bits)),
            shade=shade(bits),
            differs=difference_index in span,
            joined=is_joined,
            parts=len(span),
            place=span.start,
            entropy="" if (nats := entropies[span.start]) is None else _bits(nats / LN2),
            rank="" if (rank := ranks[span.start]) is None else f"{rank:,}",
        )


def _bits(value: float) -> str:
    return "∞" if value == math.inf else f"{value + 0.0:.1f}".replace("-", "−")


def align(first: Scored, second: Scored) -> Iterator[AlignedTokens]:
    """The tokens of two sentences, with equal ones above each other."""
    first_tokens, second_tokens = first.tokens, second.tokens
    texts = [[token.text for token in tokens] for tokens in (first_tokens, second_tokens)]
    for _, start, end, other_start, other_end in SequenceMatcher(
        None, texts[0], texts[1], autojunk=False
    ).get_opcodes():
        for pair in zip_longest(first_tokens[start:end], second_tokens[other_start:other_end]):
            first_text, second_text = ("" if token is None else token.text.strip() or "␣" for token in pair)
            bits = [None if token is None else token.surprisal for token in pair]
            difference = None if bits[0] is None or bits[1] is None else bits[1] - bits[0]
            yield AlignedTokens(first_text, second_text, difference)
