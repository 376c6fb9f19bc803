"""How pairs are presented to a model: alone, in a chat template, after a text, or in a question; published prompts."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError, ModelError, UnknownName
from wug.files import checksum, read_text, shortened, user_path
from wug.options import Option
from wug.requests import Chat, ChatFormat, EvaluatedModel, Request

METHODS = ("direct", "in_template", "preamble", "forced_choice", "yes_no")
QUESTIONS = ("forced_choice", "yes_no")
"""Methods that compare the labels of answers."""
MAX_ANSWER_TOKENS = 8
USED_BY = {
    "request": ("in_template",),
    "system": ("in_template", *QUESTIONS),
    "chat_template": ("in_template", *QUESTIONS),
    "prompt": ("preamble", *QUESTIONS),
    "labels": QUESTIONS,
    "answer": QUESTIONS,
}
"""The methods that have a use for each option."""
PRESENTATION_OPTIONS = (
    Option(
        "method",
        METHODS,
        ("direct",),
        "how pairs are presented: sentences alone, in a chat template, after a text, or in a question; several give "
        "one result each",
        many=True,
    ),
    Option("request", str, "Write one sentence.", "with method=in_template, the user turn before the sentence"),
    Option("system", str, None, "the system turn of a chat"),
    Option("chat_template", str, "auto", "auto (if the tokenizer has one), no, or a file with a template (Jinja)"),
    Option("prompt", str, None, r"a published prompt, or a text with {a} and {b}, or {sentence}; \n is a line break"),
    Option("labels", str, (), "the two answers that are compared", many=True),
    Option("answer", ("logprob", "text"), "logprob", "compare the probabilities of the labels, or generate an answer"),
)


FIELDS = {"forced_choice": {"a", "b"}, "yes_no": {"sentence"}, "preamble": {"sentence"}}
"""The fields that a prompt of each method must have."""
LABELS = {"forced_choice": ("A", "B"), "yes_no": ("Yes", "No")}
"""The labels of prompts that a user writes."""
DEFAULTS = {
    "forced_choice": ("ide-2025-ab-1", "hu-frank-2024"),
    "yes_no": ("ide-2025-yn-1", "hu-levy-2023-yesno-complex"),
    "preamble": ("ide-2025-preamble-1", "ide-2025-preamble-1"),
}
"""The prompts of each method without the option, in a chat and as plain text."""
_FIELD = re.compile(r"\{(\w*)\}")


class PairPrompt(NamedTuple):
    """A prompt with fields for sentences."""

    name: str
    """Empty for a text of the user."""
    text: str
    labels: tuple[str, ...] = ()
    join: str = ""
    """What is between the prompt and a label, without a chat template."""
    system: str = ""
    plain_end: str = ""
    """What ends the prompt without a chat template."""
    kind: str = ""

    @property
    def signature(self) -> str:
        """Its name, or the checksum of its text."""
        return self.name or checksum(self.text)

    def fits(self, method: str) -> bool:
        """Whether its fields are those of a method."""
        return self.kind == method or (not self.kind and set(_FIELD.findall(self.text)) == FIELDS.get(method))

    def fill(self, **sentences: str) -> str:
        """The text with sentences in place of fields."""
        return _FIELD.sub(lambda match: sentences[match[1]], self.text)


@dataclass(frozen=True, slots=True)
class Presentation:
    """How pairs are presented: as the user wants it, and completed for one model."""

    method: str = "direct"
    given: bool = False
    prompt: PairPrompt | None = None
    labels: tuple[str, ...] = ()
    system: str = ""
    request: str = ""
    template: str = "auto"
    template_text: str | None = field(default=None, repr=False)
    text_answer: bool = False
    before_user: str = ""
    """For a model: the system text of a published prompt, if the template takes no system turn."""
    chat: Chat = Chat(())  # noqa: RUF009 — frozen
    """For a model, without messages: whether and how a template is used."""
    notices: tuple[str, ...] = ()

    @classmethod
    def each(cls, options: Mapping[str, str], values: Mapping[str, Any]) -> list[Presentation]:
        """One for each method that the user names."""
        methods = tuple(dict.fromkeys(values["method"]))
        for name, users in USED_BY.items():
            if name in options and not set(users) & set(methods):
                raise InputError(f"{name} is for method={' or '.join(users)}, and this is {', '.join(methods)}")
        prompt = None if values["prompt"] is None else read_prompt(values["prompt"])
        if prompt is not None and not any(map(prompt.fits, methods)):
            what = f"{prompt.name} is for method={prompt.kind}" if prompt.kind else "its fields are for another method"
            raise InputError(f"prompt: {what}, and this is {', '.join(methods)}")
        labels = check_labels(values["labels"]) if "labels" in options else ()
        template, text = _template(values["chat_template"])
        if "in_template" in methods and template == "no":
            raise InputError("method=in_template needs a chat template: leave out chat_template=no, or method=preamble")
        return [
            cls(
                method,
                "method" in options,
                prompt if prompt is not None and prompt.fits(method) else None,
                labels,
                values["system"] or "",
                values["request"],
                template,
                text,
                values["answer"] == "text",
            )
            for method in methods
        ]

    def for_model(self, model: EvaluatedModel) -> Presentation:
        """The presentation to a model; ModelError if it cannot be made."""
        form: ChatFormat | None = getattr(model, "chat", None)
        if form is None:
            raise ModelError(
                f"{model.id} cannot be asked with method={self.method}. It can do method=direct; causal models and "
                "servers can do the others"
            )
        in_chat = self.method == "in_template" or (
            self.method in QUESTIONS and self.template != "no" and (self.template == "file" or form.has_template(None))
        )
        prompt = None
        if self.method != "in_template":
            chosen = self.prompt or published()[DEFAULTS[self.method][0 if in_chat else 1]]
            prompt = chosen if self.method in QUESTIONS else _preamble(chosen)
        system, before_user = self._system(form, prompt, in_chat=in_chat)
        labels = self.labels or (prompt.labels if prompt is not None else ()) or LABELS.get(self.method, ())
        chat = Chat((), self.template_text if in_chat else None, not in_chat, self.method in QUESTIONS)
        completed = replace(self, prompt=prompt, labels=labels, system=system, before_user=before_user, chat=chat)
        wrapper = form.wrapper(completed.read_before(a="{a}", b="{b}", sentence="{sentence}"))
        return replace(completed, chat=replace(chat, wrapper=wrapper.checksum), notices=wrapper.notices)

    def assumed(self) -> Presentation:
        """The presentation to a model with a chat template, as long as the model is not known."""
        prompt = self.prompt or published()[DEFAULTS[self.method][0]]
        labels, chat = self.labels or prompt.labels or LABELS[self.method], Chat((), self.template_text, answers=True)
        return replace(self, prompt=prompt, labels=labels, system=prompt.system, chat=chat)

    def read_before(self, **sentences: str) -> Chat:
        """What the model reads before a sentence or a label."""
        user = self.request if self.prompt is None else self.prompt.fill(**sentences)
        if self.chat.plain:
            lead = f"{self.system} " if self.system else ""
            end = self.prompt.plain_end if self.prompt is not None else ""
            return replace(self.chat, messages=(("text", lead + user + end),))
        system = (("system", self.system),) if self.system else ()
        return replace(self.chat, messages=(*system, ("user", self.before_user + user)))

    def answers(self, **sentences: str) -> tuple[Request, ...]:
        """The requests for one question: a label each, or one for generated text."""
        chat = self.read_before(**sentences)
        if self.text_answer:
            return (Request("", chat=chat, generate=MAX_ANSWER_TOKENS),)
        join = self.prompt.join if self.chat.plain and self.prompt is not None else ""
        return tuple(Request(join + label, chat=chat) for label in self.labels)

    @property
    def signature(self) -> dict[str, str]:
        """Everything that can change a judgement."""
        question = self.method in QUESTIONS
        fields = {"method": self.method}
        if self.prompt is not None:
            fields["prompt"] = self.prompt.signature
        if question:
            fields |= {"labels": ",".join(self.labels), "answer": "text" if self.text_answer else "logprob"}
        if self.method == "in_template":
            fields["request"] = _signature_text(self.request)
        if self.system or self.before_user:
            fields["system"] = _signature_text(self.system or self.before_user.rstrip())
        if self.before_user or (self.system and self.chat.plain):
            fields["system_turn"] = "no"
        return {**fields, "chat": "no" if self.chat.plain else "yes", "wrapper": self.chat.wrapper}

    def _system(self, form: ChatFormat, prompt: PairPrompt | None, *, in_chat: bool) -> tuple[str, str]:
        """The system turn, and a system text that is put before the user's."""
        own = prompt.system if prompt is not None else ""
        if not in_chat:
            if self.system:
                raise InputError("system is a turn of a chat, and this question is asked without a chat template")
            return own, ""
        refused = form.refuses_system(self.template_text) if self.system or own else None
        if self.system and refused is not None:
            raise ModelError(f"{refused}. Leave out the system text, or use -S chat_template=FILE")
        return (self.system or own, "") if refused is None else ("", f"{own} ")


def _template(name: str) -> tuple[str, str | None]:
    if name in ("auto", "no"):
        return name, None
    return "file", read_text(user_path(name))


def _preamble(prompt: PairPrompt) -> PairPrompt:
    """The prompt up to the sentence, which must end it."""
    before, _, after = prompt.text.partition("{sentence}")
    if after.strip() or prompt.text.count("{sentence}") > 1:
        raise InputError("with method=preamble, the prompt ends with {sentence}: nothing may follow it")
    return prompt._replace(text=before)


def _signature_text(text: str) -> str:
    """A text in a signature, or its checksum if it is long or has other characters."""
    return text if len(text) <= 80 and "|" not in text and text.isprintable() else checksum(text)


@functools.cache
def published() -> Mapping[str, PairPrompt]:
    """The published prompts by name."""
    entries = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
    return {
        name: PairPrompt(
            name,
            entry["prompt"],
            tuple(entry.get("labels", ())),
            entry.get("join", " "),
            entry.get("system", ""),
            entry.get("plain_end", ""),
            entry["kind"],
        )
        for name, entry in entries.items()
    }


def read_prompt(written: str) -> PairPrompt:
    """The prompt that a user names or writes."""
    if written in published():
        return published()[written]
    text = written.replace("\\n", "\n")
    fields = _FIELD.findall(text)
    if not fields and not re.search(r"\s", written):
        raise UnknownName("prompt", written, list(published()))
    if set(fields) not in FIELDS.values():
        unknown = sorted(set(fields) - {"a", "b", "sentence"})
        wrong = f"has the unknown field {{{unknown[0]}}}" if unknown else "lacks a field"
        raise InputError(
            f"prompt {shortened(text)!r} {wrong}. Write {{a}} and {{b}} for the two sentences of a forced choice, or "
            "{sentence} for one sentence"
        )
    bare = text.rstrip(" ")  # a space at the end belongs to the label: most tokenizers join it to the next word
    return PairPrompt("", bare, join="" if bare.endswith("\n") else " ")


def check_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse labels that are not two different ones."""
    if len(labels) != 2:
        raise InputError(f"labels={','.join(labels)}: write two labels, separated by a comma")
    first, second = labels
    if first == second:
        raise InputError(f"labels={first},{second}: the labels are the same")
    if first.startswith(second) or second.startswith(first):
        raise InputError(f"labels={first},{second}: one label is the beginning of the other, so answers are ambiguous")
    return labels
