"""How pairs are presented to a model: alone, in a chat template, after a text, or in a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from wug.errors import InputError, ModelError
from wug.families.pairs.prompts import DEFAULTS, LABELS, PairPrompt, check_labels, published, read_prompt
from wug.files import checksum, read_text, user_path
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


class Presentation(NamedTuple):
    """How pairs are presented to one model."""

    method: str
    prompt: PairPrompt | None
    labels: tuple[str, ...]
    system: str
    before_user: str
    """The system text of a published prompt, if the template takes no system turn."""
    request: str
    chat: Chat
    """Without messages: whether and how a template is used."""
    text_answer: bool
    notices: tuple[str, ...] = ()

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


@dataclass(frozen=True, slots=True)
class PresentationSettings:
    """How the user wants pairs to be presented."""

    method: str = "direct"
    given: bool = False
    prompt: PairPrompt | None = None
    labels: tuple[str, ...] = ()
    system: str = ""
    request: str = ""
    template: str = "auto"
    template_text: str | None = field(default=None, repr=False)
    text_answer: bool = False

    @classmethod
    def each(cls, options: Mapping[str, str], values: Mapping[str, Any]) -> list[PresentationSettings]:
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
        presentation = Presentation(
            self.method, prompt, labels, system, before_user, self.request, chat, self.text_answer
        )
        wrapper = form.wrapper(presentation.read_before(a="{a}", b="{b}", sentence="{sentence}"))
        return presentation._replace(chat=replace(chat, wrapper=wrapper.checksum), notices=wrapper.notices)

    def assumed(self) -> Presentation:
        """The presentation to a model with a chat template, as long as the model is not known."""
        prompt = self.prompt or published()[DEFAULTS[self.method][0]]
        labels, chat = self.labels or prompt.labels or LABELS[self.method], Chat((), self.template_text, answers=True)
        return Presentation(self.method, prompt, labels, prompt.system, "", "", chat, self.text_answer)

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
