"""Chat templates: what a model reads before a text, rendered and checked before anything is computed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wug.errors import ModelError, first_line
from wug.files import checksum, shortened
from wug.models.tokenization.tokens import SpecialTokens, require_offsets, tokenizer_errors
from wug.requests import Chat, ChatWrapper, Request

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PLACEHOLDER = "{sentence}"
"""In place of texts, in the wrapper whose checksum is in signatures."""
_PROBE, _SYSTEM = "Probe of an answer", "Probe of a system turn"
_PROBES = tuple(f"Probe of turn {chr(number)}" for number in range(ord("a"), ord("z") + 1))
_DATE = re.compile(r"strftime_now\(\s*(['\"])(.+?)\1")


@dataclass(frozen=True, slots=True)
class RenderedText:
    """A text after what is read before it."""

    full_text: str
    start: int
    """Where the text begins."""
    tokens_before: int
    crossing: str = ""
    """The token that begins before the text and ends in it."""


class ChatTemplate:
    """Renders what a model reads before texts, by the template of its tokenizer or by another."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
        require_offsets(tokenizer)
        self._tokenizer, self._name = tokenizer, name
        added = tokenizer.added_tokens_decoder.values()
        self._control_tokens = sorted({token.content for token in added if token.special and token.content.strip()})
        self._open_turns: dict[str | None, bool] = {}
        self._frames: dict[tuple[object, ...], str] = {}
        self._last_header: tuple[Chat, str] | None = None

    def has_template(self, template: str | None) -> bool:
        """Whether there is a template: the given one, or the tokenizer's own."""
        try:
            return bool(template or self._tokenizer.get_chat_template())
        except ValueError:  # none, or several of which none is the default
            return False

    def refuses_system(self, template: str | None) -> str | None:
        """Why system turns cannot be rendered; None if they can."""
        messages = (("system", _SYSTEM), ("user", _PROBE))
        try:
            rendered = self._apply(messages, template, "none")
        except ModelError as error:
            return str(error)
        return None if _SYSTEM in rendered else f"{self._name}: its chat template drops the system turn"

    def wrapper(self, chat: Chat) -> ChatWrapper:
        """The checksum of what surrounds texts, and what a user should know about the template."""
        rendered = self._header(chat, PLACEHOLDER) + PLACEHOLDER
        return ChatWrapper(checksum(rendered), () if chat.plain else tuple(self._notices(chat, rendered)))

    def check(self, requests: Sequence[Request]) -> None:
        """Refuse texts that the template changes, or that the tokenizer does not separate from it."""
        for request in requests:
            self._checked_header(request)
        self.render([request for request in requests if request.conversation and not request.conversation.answers])

    @tokenizer_errors()
    def render(self, requests: Sequence[Request]) -> list[RenderedText]:
        """Each text with what is read before it."""
        headers = [self._checked_header(request) for request in requests]
        texts = [header + request.text for header, request in zip(headers, requests, strict=True)]
        encoded = self._tokenizer.backend_tokenizer.encode_batch(texts, add_special_tokens=False)
        rendered = []
        for request, text, header, encoding in zip(requests, texts, headers, encoded, strict=True):
            start = len(header)
            index = encoding.char_to_token(start) if request.text else None
            if index is None:  # white space that the offsets leave out, or no text
                index = bisect_left(encoding.offsets, (start,))
            first, end = encoding.token_to_chars(index) or (start, start) if index < len(encoding) else (start, start)
            crossing = text[first:end] if first < start < end else ""
            chat = request.conversation
            if crossing and chat is not None and not chat.answers:
                raise ModelError(
                    f"{self._name}: the token {crossing!r} begins before the text {shortened(request.text)!r} and ends "
                    "in it, so that the text has no probability of its own. Use another request or prompt, or "
                    "-S chat_template=FILE with a template that ends otherwise"
                )
            rendered.append(RenderedText(text, start, index, crossing))
        return rendered

    def encode(self, text: str) -> Any:
        """The tokens of a rendered text, with `ids` and `offsets`."""
        return self._tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)

    def _checked_header(self, request: Request) -> str:
        """What precedes the text of a request; ModelError if texts do not appear verbatim."""
        chat = request.conversation or Chat((), plain=True)
        if request.generate and not chat.answers:
            chat = replace(chat, answers=True)
        cached_header = None if self._last_header is None or self._last_header[0] is not chat else self._last_header[1]
        header = self._header(chat, request.text) if cached_header is None else cached_header
        if chat.plain:
            return header
        for text in (request.text, *(content for _, content in chat.messages if cached_header is None)):
            if control := next((token for token in self._control_tokens if token in text), None):
                raise ModelError(
                    f"{self._name}: {shortened(text)!r} contains {control!r}, a control token of the model. Take it out"
                )
        if cached_header is not None:
            return cached_header
        expected = self._frame(chat)
        for (role, text), probe in zip(chat.messages, _PROBES, strict=False):
            if role == "system" and probe not in expected and (reason := self.refuses_system(chat.template)):
                raise ModelError(f"{reason}. Leave the system text out, or use -S chat_template=FILE")
            expected = expected.replace(probe, text, 1)
        if header != expected:
            turns = "; ".join(f"{role}: {shortened(text)!r}" for role, text in chat.messages)
            raise ModelError(
                f"{self._name}: its chat template changes the text of a turn, or leaves it out ({turns}). Perhaps it "
                "removes white space at the ends. Change the text, or use -S chat_template=FILE, or no for questions"
            )
        if chat.answers:  # the same for both labels
            self._last_header = chat, header
        return header

    def _frame(self, chat: Chat) -> str:
        """Everything before a text, with probes in place of the messages."""
        roles = tuple(role for role, _ in chat.messages)
        key = (roles, chat.template, chat.answers)
        if key not in self._frames:
            if len(roles) > len(_PROBES):
                raise ModelError(f"{self._name}: a chat of {len(roles)} turns; at most {len(_PROBES)} can be read")
            messages = tuple(zip(roles, _PROBES, strict=False))
            self._frames[key] = self._header(replace(chat, messages=messages), _PROBE)
        return self._frames[key]

    def _header(self, chat: Chat, text: str) -> str:
        if chat.plain:
            return "".join(content for _, content in chat.messages)
        if chat.answers and not self._answers_in_open_turn(chat.template):
            return self._apply(chat.messages, chat.template, "prompt")
        text = text or _PROBE  # an empty turn may be rendered differently
        rendered = self._apply((*chat.messages, ("assistant", text)), chat.template, "open")
        if not rendered.endswith(text):
            raise ModelError(
                f"{self._name}: its chat template changes {shortened(text)!r}: the rendered text ends in "
                f"{rendered[-len(text) - 10 :]!r}. Remove white space at the ends of the sentence, or use another "
                "template"
            )
        return rendered[: len(rendered) - len(text)]

    def _answers_in_open_turn(self, template: str | None) -> bool:
        """Whether the template has no generation prompt though assistant turns have a header."""
        if template not in self._open_turns:
            prompt, ignored, header = self._beginnings(template)
            self._open_turns[template] = ignored and header.rstrip() != prompt.rstrip()
        return self._open_turns[template]

    def _beginnings(self, template: str | None) -> tuple[str, bool, str]:
        """The generation prompt, whether it is nothing, and the header of an open turn, after the same user turn."""
        messages = (("user", _PROBE),)
        prompt = self._apply(messages, template, "prompt")
        rendered = self._apply((*messages, ("assistant", _SYSTEM)), template, "open")
        return prompt, prompt == self._apply(messages, template, "none"), rendered.removesuffix(_SYSTEM)

    def _apply(self, messages: Sequence[tuple[str, str]], template: str | None, end: str) -> str:
        """The rendered messages, with an open last turn, with the generation prompt, or with neither."""
        if not self.has_template(template):
            raise ModelError(
                f"{self._name}: its tokenizer has no chat template. Name a file with one (-S chat_template=FILE), or "
                "ask without a template: -S method=preamble, or -S chat_template=no for questions"
            )
        try:
            rendered = self._tokenizer.apply_chat_template(
                [{"role": role, "content": text} for role, text in messages],
                chat_template=template,
                tokenize=False,
                add_generation_prompt=end == "prompt",
                continue_final_message=end == "open",
            )
        except Exception as error:  # templates raise whatever they like
            roles = ", ".join(role for role, _ in messages)
            raise ModelError(
                f"{self._name}: its chat template cannot render turns of {roles}: {first_line(error)}"
            ) from error
        return str(rendered)

    def _notices(self, chat: Chat, rendered: str) -> list[str]:
        template = str(chat.template or self._tokenizer.get_chat_template())
        prompt, ignored, header = self._beginnings(chat.template)
        notices = []
        if prompt != header:
            header, prompt = (text.partition(_PROBE)[2] for text in (header, prompt))
            follows_prompt = chat.answers and not self._answers_in_open_turn(chat.template)
            notices.append(
                f"the chat template begins an assistant turn with {header!r}, and its generation prompt is {prompt!r}: "
                f"texts follow the {'second' if follows_prompt else 'first'}"
            )
        if ignored and chat.answers:
            notices.append("the chat template has no generation prompt (it ignores add_generation_prompt)")
        dates = [datetime.now().strftime(date_format) for _, date_format in _DATE.findall(template)]
        if any(date and date in rendered for date in dates):
            notices.append("the chat template writes today's date into every text: scores may change from day to day")
        bos = self._tokenizer.bos_token
        if bos and rendered.startswith(bos * 2):
            notices.append(f"the chat template writes the BOS token {bos!r} twice")
        default_bos = SpecialTokens.of(self._tokenizer.backend_tokenizer).before
        if default_bos and not rendered.startswith(self._tokenizer.convert_ids_to_tokens(default_bos[0])):
            notices.append("the chat template writes no BOS token, and the tokenizer would: texts are read without one")
        return notices
