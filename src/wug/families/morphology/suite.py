"""The suite: asks a model for the probability of each form of a new word, or for the form itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Literal, NamedTuple

from wug import registry
from wug.errors import InputError, ModelError
from wug.families.morphology import metrics as measures
from wug.families.morphology.carriers import carriers_of, fill, neutral_carrier, question
from wug.families.morphology.formats import individual_ratings
from wug.families.morphology.item import ParsedForms, WugItem
from wug.families.suite import ItemSuite, strata_of
from wug.formatting import first_items
from wug.outcomes import Metric, Notice, Outcome, SuiteOutput
from wug.requests import Chat, ChatFormat, EvaluatedModel, Request, Scored, Source, text_of

ElicitationMode = Literal["continuation", "infill", "source", "answer", "file"]
"""How a model is asked: by the probability of a form after its carrier (causal), inside it (masked), or given lemma and
tags (encoder–decoder with score=source), or by writing an answer; `file`: its scores were computed elsewhere."""
UNSCORED = "the model gives no log-probability for a form"
SPARE_WORDS = 5
"""Words that an answer may have besides the form."""
MAX_ANSWER_TOKENS = 24
"""Tokens that a model may write in a chat."""
MAX_BYTE_SHARE = 0.2
"""The proportion of bytes and unknown tokens in the forms above which a warning is given."""
BYTE_TOKEN = re.compile(r"<0x[0-9A-F]{2}>|<unk>|\[UNK\]|<\|unk\|>")


class MorphologyOptions(NamedTuple):
    """How a model is asked, and how its scores are compared with ratings."""

    normalise: str = "none"
    prior: str = "both"
    space: bool = True
    source: str | None = None
    """What a model that writes reads: `carrier` or `lemma`; None: what suits the model."""
    chat: str = "no"
    """Whether the question is a user turn, and the model is asked to `score` or to `write`."""
    template: str | None = None
    carriers: tuple[str, ...] = ()
    individual: Path | None = None
    real_words: frozenset[str] = frozenset()
    scale: float = 7.0
    by_token: bool = False


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class MorphologySuite(ItemSuite[WugItem]):
    """Wug test items, and how they are scored."""

    parsed: ParsedForms
    settings: MorphologyOptions
    signature_options: Mapping[str, str]
    elicitation: ElicitationMode = "continuation"
    chat: Chat | None = None
    """How a question is asked in a chat, without its messages; None outside a chat."""
    kind = "morphology"

    @property
    def needs(self) -> Literal["scores", "text"]:
        """What a model must do; `for_model` chooses it."""
        return "text" if self.elicitation == "answer" and self.chat is None else "scores"

    @property
    def options(self) -> Mapping[str, str]:
        """Every option that changes a number, for the signature."""
        chat = {} if self.chat is None else {"chat": "yes", "wrapper": self.chat.wrapper}
        return {**self.signature_options, "asking": self.elicitation, **chat, **self.selection}

    @property
    def metrics(self) -> Sequence[Metric]:
        """What is measured, the headline first."""
        writes = self.elicitation == "answer"
        first = [measures.PREFERENCE] if any(item.rated for item in self.items) else [measures.ACCURACY]
        names = [f"exact_match@{k}" for k in measures.TOP] if writes else first
        return [measures.METRICS[name] for name in dict.fromkeys([*names, *measures.METRICS])]

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show in addition to the rows."""
        tasks = sorted({item.task for item in self.items if item.task})
        return {"format": self.parsed.format, "items": len(self.items), "tasks": ", ".join(tasks)}

    def strata(self) -> list[tuple[str, ...]]:
        """All groups of an item."""
        return strata_of([item.groups for item in self.items])

    def for_model(self, model: EvaluatedModel) -> MorphologySuite:
        """The suite as it suits a model: by probabilities for one that scores, by answers for one that writes."""
        if self.settings.chat != "no":
            return self._in_chat(model)
        elicitation: ElicitationMode = "infill" if registry.sees_right_context(model) else "continuation"
        if model.returns == "text":
            elicitation = "answer"
        elif registry.reads_sources(model):
            elicitation = "source"
        return replace(self, elicitation=elicitation)

    def _in_chat(self, model: EvaluatedModel) -> MorphologySuite:
        form: ChatFormat | None = getattr(model, "chat", None)
        if form is None:
            raise ModelError(f"{model.id} reads no chat: causal: models and servers do. Leave out -S chat")
        if not form.has_template(self.settings.template):
            raise ModelError(f"{model.id} has no chat template. Name a file with one: -S chat_template=FILE")
        if any(item.is_sentence for item in self.items):
            raise InputError("whole sentences have no gap to ask for in a chat. Leave out -S chat")
        writes = self.settings.chat == "write"
        chat = Chat((), self.settings.template, answers=writes)
        wrapper = form.wrapper(_with_question(chat, "{question}"))
        suite = replace(
            self,
            elicitation="answer" if writes else "continuation",
            chat=replace(chat, wrapper=wrapper.checksum),
            notices=(*self.notices, *wrapper.notices),
        )
        form.check([request for request in suite.requests() if isinstance(request, Request)])
        return suite

    def for_file(self, **options: str) -> MorphologySuite:
        """The suite for predictions in a file, with the options that count for them."""
        return replace(self, elicitation="answer" if self.parsed.answers else "file", signature_options=options)

    def requests(self) -> Sequence[Request] | Sequence[Source]:
        """Every question, item by item."""
        if self.elicitation == "answer":
            questions = [question for item in self.items for question in self._questions(item)]
            if self.chat is None:
                return questions
            chats = [_with_question(self.chat, question.text) for question in questions]
            return [Request("", chat=chat, generate=MAX_ANSWER_TOKENS) for chat in chats]
        return [request for item in self.items for request in self._requests(item)]

    def run(self, model: Any) -> Iterator[SuiteOutput]:
        """Outcomes, estimates and warnings of a model."""
        yield from self._answered(model) if self.elicitation == "answer" else self._scored(model)
        if self.settings.individual is not None:
            yield from measures.rating_ceiling(individual_ratings(self.settings.individual)[0])
        names = {item.item for item in self.items}
        if answers := {name: answers_of_item for name, answers_of_item in self.parsed.answers.items() if name in names}:
            yield from measures.answer_ceiling(answers)
        warnings = [str(problem) for problem in self.parsed.problems if problem.level == "warning"]
        if real := self.settings.real_words:
            warnings.append(f"{len(real)} of the forms are words of the lexicon: {first_items(sorted(real))}")
        yield from map(Notice, (*self.notices, *warnings))

    def _questions(self, item: WugItem) -> list[Source]:
        longest = max(len(form.symbols.split()) for form in item.forms)
        if self.settings.source == "lemma":
            return [Source(source_of(item), longest + SPARE_WORDS)]
        carriers = carriers_of(item, self.settings.carriers)
        return [Source(question(carrier, item), longest + SPARE_WORDS) for carrier in carriers]

    def _answered(self, model: Any) -> Iterator[SuiteOutput]:
        questions, requests = [self._questions(item) for item in self.items], self.requests()
        outputs: Iterator[str] = (
            map(text_of, model.generate(requests))
            if self.chat is None
            else ((scored.token_names or ("",))[0] for scored in model.score(requests))
        )
        answers, details, long = [], [], 0
        for item, questions_of_item in zip(self.items, questions, strict=True):
            raw = [next(outputs) for _ in questions_of_item]
            words = [first_word(text, item) for text in raw]
            long += sum(len(text.split()) > 1 for text in raw)
            answers.append(words)
            details.append({"question": questions_of_item[0].text, "outputs": raw})
        yield from measures.answer_rows(self.items, answers, details)
        total = sum(map(len, questions))
        if long:
            yield Notice(f"{long:,} of {total:,} answers have several words: the form is looked for in them")

    def _requests(self, item: WugItem) -> list[Request]:
        """The forms in each carrier, then, for `prior`, in the neutral one."""
        if self.elicitation == "source":
            return [Request(_spaced(form.symbols), source=source_of(item)) for form in item.forms]
        requests = [
            self._request(carrier, item, form.text)
            for carrier in carriers_of(item, self.settings.carriers)
            for form in item.forms
        ]
        if self._uses_prior(item):
            neutral = neutral_carrier(item.language)
            requests += [self._request(neutral, item, form.text) for form in item.forms]
        return requests

    def _request(self, carrier: str, item: WugItem, form: str) -> Request:
        if carrier == "{form}":  # a whole sentence
            return Request(form)
        text, start, end = fill(carrier, item.lemma, form, space=self.settings.space)
        chat = None if self.chat is None else _with_question(self.chat, question(carrier, item))
        # A causal model reads from left to right: the full stop says that the form ends there.
        return Request(text, (start, end if self.elicitation == "infill" else len(text)), chat=chat)

    def _uses_prior(self, item: WugItem) -> bool:
        return self.elicitation != "source" and not item.is_sentence and self.settings.prior != "none"

    def _scored(self, model: Any) -> Iterator[SuiteOutput]:
        requests = [self._requests(item) for item in self.items]
        outputs = iter(model.score([request for requests_of_item in requests for request in requests_of_item]))
        plain: list[measures.ScoredItem] = []
        prior: list[measures.ScoredItem] = []
        unscored: list[Outcome] = []
        counts: Counter[str] = Counter()
        for item, requests_of_item in zip(self.items, requests, strict=True):
            scored = [(request, next(outputs)) for request in requests_of_item]
            counts["tokens"] += sum(len(answer.starts[_part(request, answer)]) for request, answer in scored)
            counts["bytes"] += sum(_byte_tokens(*pair) for pair in scored)
            values = [_score(*pair, self.settings.normalise) for pair in scored]
            known = [value for value in values if value is not None]
            if len(known) < len(values):
                unscored.append(
                    Outcome(
                        item.item, measures.accuracy_of(item), None, item.groups, {"why": UNSCORED, "lemma": item.lemma}
                    )
                )
                continue
            size = len(item.forms)
            rows = [tuple(known[at : at + size]) for at in range(0, len(known), size)]
            neutral = rows.pop() if self._uses_prior(item) else None
            plain.append(self._scored_item(item, rows))
            if neutral is not None:
                relative = [tuple(a - b for a, b in zip(row, neutral, strict=True)) for row in rows]
                prior.append(self._scored_item(item, relative))
        only_prior = self.settings.prior == "subtract" and bool(prior)
        score_rows = partial(measures.score_rows, scale=self.settings.scale, by_token=self.settings.by_token)
        yield from score_rows(prior if only_prior else plain)
        if prior and not only_prior:
            yield from score_rows(prior, suffix=measures.PRIOR)
        yield from unscored
        if counts["bytes"] > MAX_BYTE_SHARE * max(1, counts["tokens"]):
            share = counts["bytes"] / counts["tokens"]
            remedy = "use spelling instead of IPA, and a model with subword tokens"
            yield Notice(f"{share:.0%} of the tokens of the forms are bytes or unknown to the model: {remedy}")

    def _scored_item(self, item: WugItem, rows: Sequence[tuple[float, ...]]) -> measures.ScoredItem:
        carrier = carriers_of(item, self.settings.carriers)[0].replace("{lemma}", item.lemma)
        if len(rows) == 1:
            return measures.ScoredItem(item, rows[0], {"carrier": carrier})
        columns = list(zip(*rows, strict=True))
        detail = {"carrier": carrier, "spread": [pstdev(column) for column in columns]}
        return measures.ScoredItem(item, tuple(map(fmean, columns)), detail, tuple(rows))


def _with_question(chat: Chat, text: str) -> Chat:
    return replace(chat, messages=(("user", text),))


def source_of(item: WugItem) -> str:
    """Lemma and tags as the source of a model that was trained to inflect: `f l i n k V;PST`."""
    return " ".join([_spaced(item.symbols), *(item.tag or item.task).split(";")]).strip()


def _spaced(word: str) -> str:
    return word if " " in word else " ".join(word)


def first_word(answer: str, item: WugItem) -> str:
    """The form in an answer: the answer if it is one word, a candidate that it has, or else its first word."""
    words = [word.strip("\"'“”‘’`*_.,:;!?()[]<>") for word in answer.replace("\n", " ").split()]
    words = [word for word in words if word]
    if " " in item.symbols and "".join(words) in {form.text for form in item.forms}:
        return "".join(words)  # IPA symbols, separated by spaces
    known = {form.text for form in item.forms} - {item.lemma}
    return next((word for word in words if word in known), words[0] if words else "")


def _part(request: Request, scored: Scored) -> slice:
    """The tokens of the form, or of the whole sentence with what follows it."""
    return scored.slice(*(request.span or (0, len(request.text) + 1)))


def _score(request: Request, scored: Scored, normalise: str) -> float | None:
    logprobs = scored.logprobs[_part(request, scored)]
    # The first token of a sentence may have no probability.
    if (None in logprobs or not logprobs) and (request.span is not None or len(scored.logprobs) < 2):
        return None
    start, end = request.span or (0, len(request.text) + 1)
    total = scored.logprob(start, end)
    match normalise:
        case "token":
            return total / len(logprobs)
        case "character":
            return total / (min(end, len(request.text)) - start)
    return total


def _byte_tokens(request: Request, scored: Scored) -> int:
    """Tokens of a form that are unknown, or one of several that make up a character."""
    part = _part(request, scored)
    shared = sum(times for times in Counter(scored.starts[part]).values() if times > 1)
    names = scored.token_names[part] if scored.token_names else ()
    return max(shared, sum(bool(BYTE_TOKEN.fullmatch(name)) for name in names))
