"""Chats with a server: texts after a chat, the likeliest first tokens of an answer, and generated answers.

A server that scores any prompt gets the tokens of a chat that is rendered here, if its tokenizer is at hand. Otherwise
it renders the chat itself: vLLM scores a text in an open assistant turn (`prompt_logprobs`), and other servers list the
likeliest first tokens of an answer (`top_logprobs`), or only write text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from wug.alignment import first_visible
from wug.errors import InputError, ModelError
from wug.files import checksum
from wug.models.endpoint.answers import (
    EchoFormat,
    Next,
    ServerRequest,
    in_order,
    read_chat,
    read_chat_tokens,
    read_count,
    read_echo,
    read_text,
)
from wug.models.endpoint.calibration import BEGINNINGS, MIN_BEST_LOGPROB, MIN_COMPARISONS, NEUTRAL, PROBE
from wug.models.endpoint.client import Refusal, Server
from wug.models.tokenization.chat_templates import ChatTemplate
from wug.requests import Chat, ChatWrapper, Messages, Request, Scored

TOP_TOKENS = 20
"""Likeliest tokens that are asked for: no host lists more."""
FIRST_TOKEN = {**NEUTRAL, "max_tokens": 1, "logprobs": True, "top_logprobs": TOP_TOKENS}
OPEN_TURN = {
    **NEUTRAL, "max_tokens": 1, "prompt_logprobs": 0, "continue_final_message": True, "add_generation_prompt": False
}  # fmt: skip
REASONING = ("<think>", "<thinking>", "<reasoning>", "<|channel|>", "[THINK]")
"""First tokens of models that think before they answer."""
RENDER_HERE = "With -M tokenizer=NAME, the chat is rendered here"
QUESTIONS_ONLY = "It can answer questions about pairs: -S method=forced_choice or yes_no"
CHAT = "/chat/completions"
_USER = (("user", "Write one sentence."),)
_SYSTEM = (("system", "You are a careful assistant who answers in one short and simple sentence."), *_USER)


class EndpointChat:
    """What a server does with chats; also its `ChatFormat`."""

    def __init__(
        self, server: Server, echo_format: EchoFormat | ModelError, tokenizer: ChatTemplate | None, tolerance: float
    ) -> None:
        self._server, self._tokenizer, self._address = server, tokenizer, server.client.address
        self._tolerance = tolerance
        self._echo_format = echo_format if isinstance(echo_format, EchoFormat) else None
        self._refusal = echo_format if isinstance(echo_format, ModelError) else None
        """Why it does not score prompts."""
        self._checked = False

    def has_template(self, template: str | None) -> bool:
        """Whether chats can be rendered, here or by the server."""
        if self._tokenizer is not None:
            return self._tokenizer.has_template(template)
        return self.is_offered

    def refuses_system(self, template: str | None) -> str | None:
        """Why system turns cannot be used; a server drops them if it counts no token for them."""
        if self._tokenizer is not None:
            return self._tokenizer.refuses_system(template)
        try:
            with_system, without = (read_count(answer) for answer in self._post([_SYSTEM, _USER], {"max_tokens": 1}))
        except Refusal as error:
            return f"{self._address}: it refuses a system turn ({error})"
        if with_system is not None and without is not None and with_system <= without:
            return f"{self._address}: the server's chat template drops the system turn"
        return None

    def wrapper(self, chat: Chat) -> ChatWrapper:
        """The checksum of what surrounds texts, or of the server and the messages if the server renders them."""
        if self._tokenizer is not None or chat.plain:
            text = "".join(content for _, content in chat.messages)
            return ChatWrapper(checksum(text)) if self._tokenizer is None else self._tokenizer.wrapper(chat)
        digest = checksum("rendered by the server", self._server.identity, repr(chat))
        return ChatWrapper(digest, (f"the server renders the chat template, which is not known. {RENDER_HERE}",))

    def check(self, requests: Sequence[Request]) -> None:
        """Refuse what the server cannot answer, with the fix."""
        if self._tokenizer is not None:
            self._tokenizer.check(requests)
        elif any(request.conversation and request.conversation.template for request in requests):
            raise ModelError(f"{self._address}: the server uses its own chat template. {RENDER_HERE}")
        methods = {self._method_for(request) for request in requests}
        if self._refusal is not None and methods & {self._by_tokens, self._after_text}:
            raise ModelError(f"{self._refusal}. {QUESTIONS_ONLY}")
        if self._in_open_turn in methods and self._no_open_turns is not None:
            raise ModelError(
                f"{self._address}: it cannot score a text in a chat ({self._no_open_turns}). {RENDER_HERE}, for "
                f"servers that score prompts. {QUESTIONS_ONLY}"
            )
        if self._list_labels in methods:
            self._require_steady()

    @cached_property
    def is_offered(self) -> bool:
        """Whether the server has a chat route."""
        try:
            self._post([_USER], {"max_tokens": 1}, retries=1)
        except Refusal as error:
            if error.status in (400, 404, 405, 422, 501):
                return False
            raise
        return True

    def server_requests(self, requests: Mapping[int, Request]) -> Iterator[ServerRequest[Scored]]:
        """What to send for requests, by their positions."""
        labels: dict[Chat, list[int]] = {}
        for position, request in requests.items():
            method, chat = self._method_for(request), request.conversation
            if method == self._list_labels and chat is not None:
                labels.setdefault(chat, []).append(position)
            else:
                yield method(position, request)
        for chat, positions in labels.items():
            yield self._list_labels(chat, positions, [requests[position].text for position in positions])

    def _method_for(self, request: Request) -> Any:
        chat = request.conversation
        if request.generate:
            return self._write
        if chat is None or chat.plain:
            return self._after_text
        if chat.answers and (self._tokenizer is None or self._echo_format is None):
            return self._list_labels
        return self._by_tokens if self._tokenizer is not None else self._in_open_turn

    def _write(self, position: int, request: Request) -> ServerRequest[Scored]:
        chat, text = request.conversation, request.text
        settings = {"temperature": 0.0, "max_tokens": request.generate}
        if chat is None or chat.plain:
            path, body = "/completions", {"prompt": _context(chat) + text, **settings}
        else:
            path, body = CHAT, {**_messages(chat.messages), **settings}

        def read(answer: object) -> list[Scored]:
            generated = read_chat(answer) if path == CHAT else read_text(answer)[0]
            return [Scored(text, (len(text),), (len(text),), (None,), (generated,))]

        return ServerRequest(path, body, text or _context(chat)[-80:], [position], read)

    def _list_labels(self, chat: Chat, positions: Sequence[int], labels: Sequence[str]) -> ServerRequest[Scored]:
        """Labels among the likeliest first tokens; without log-probability if they are not."""

        def read(answer: object) -> list[Scored]:
            likeliest = _first_token(answer).likeliest
            values = [likeliest.get(label, likeliest.get(f" {label}")) for label in labels]
            pairs = zip(labels, values, strict=True)
            return [Scored(label, (0,), (len(label),), (value,)) for label, value in pairs]

        return ServerRequest(CHAT, {**_messages(chat.messages), **FIRST_TOKEN}, _context(chat)[-80:], positions, read)

    def _by_tokens(self, position: int, request: Request) -> ServerRequest[Scored]:
        """A text after a chat that is rendered here and sent as token ids, to which a server adds nothing."""
        assert self._tokenizer is not None
        echo_format, text = self._require_prompts(), request.text
        (rendered,) = self._tokenizer.render([request])
        tokens = self._tokenizer.encode(rendered.full_text)

        def read(answer: object) -> list[Scored]:
            echo = read_echo(answer)
            count = len(echo.tokens) if echo.counted is None else echo.counted
            if count not in (len(tokens.ids), len(tokens.ids) + (echo.counted is None and echo.may_continue)):
                raise InputError(
                    f"it reads {count} tokens where {len(tokens.ids)} were sent: perhaps the server puts a second BOS "
                    "token before them, or has another tokenizer than -M tokenizer"
                )
            values = (None, *echo.logprobs) if echo_format.shifted else echo.logprobs
            text_tokens = slice(len(tokens.ids) if rendered.crossing else rendered.tokens_before, len(tokens.ids))
            text_spans = [(a - rendered.start, b - rendered.start) for a, b in tokens.offsets[text_tokens]]
            return [_scored(text, text_spans, values[text_tokens])]

        return ServerRequest("/completions", {"prompt": tokens.ids, **echo_format.settings}, text, [position], read)

    def _after_text(self, position: int, request: Request) -> ServerRequest[Scored]:
        echo_format, text = self._require_prompts(), request.text
        full_text = _context(request.conversation) + text

        def read(answer: object) -> list[Scored]:
            scored = echo_format.scored(full_text, answer)
            start, spans = len(full_text) - len(text), list(zip(scored.starts, scored.ends, strict=True))
            crossing = any(a < start < b for a, b in spans)
            # White space before the text is an empty span at its beginning.
            first = len(spans) if crossing else sum(a < start or b <= start for a, b in spans)
            text_spans = [(a - start, b - start) for a, b in spans[first:]]
            return [_scored(text, text_spans, scored.logprobs[first:])]

        body = {"prompt": echo_format.bos + full_text, **echo_format.settings}
        return ServerRequest("/completions", body, text, [position], read)

    def _in_open_turn(self, position: int, request: Request) -> ServerRequest[Scored]:
        """A text in an open assistant turn of a chat that the server renders."""
        chat, text = request.conversation, request.text
        assert chat is not None

        def read(answer: object) -> list[Scored]:
            echo = read_echo(answer)
            tokens = [token or "" for token in echo.tokens]
            starts = [0, *accumulate(map(len, tokens))]
            start = starts[-1] - len(text)
            if "".join(tokens)[start:] != text or start not in starts:
                raise InputError(
                    "its tokens do not show where the text begins: the chat template changes it, a token crosses its "
                    f"beginning, or a character has several tokens. {RENDER_HERE}"
                )
            first = starts.index(start)
            text_spans = [(a - start, b - start) for a, b in pairwise(starts[first:])]
            return [_scored(text, text_spans, echo.logprobs[first:])]

        return ServerRequest(
            CHAT, {**_messages((*chat.messages, ("assistant", text))), **OPEN_TURN}, text, [position], read
        )

    def _require_prompts(self) -> EchoFormat:
        """The format of echoes; ModelError for a server that does not score prompts."""
        if self._echo_format is None:
            raise ModelError(str(self._refusal))
        return self._echo_format

    def _first_tokens(self, chats: Sequence[Messages]) -> list[Next]:
        try:
            return [_first_token(answer) for answer in self._post(chats, FIRST_TOKEN)]
        except InputError as error:
            raise ModelError(f"{self._address}: its response cannot be used: {error.message}") from None

    def _open_turns(self, requests: Sequence[Request]) -> list[Scored]:
        server_requests = [self._in_open_turn(position, request) for position, request in enumerate(requests)]
        return in_order(self._server.answer_each(server_requests), len(requests))

    @cached_property
    def _no_open_turns(self) -> str | None:
        """Why texts in an open turn cannot be scored; None if they can, as a calibration shows.

        The likeliest first token of an answer must have the same log-probability in an open turn.
        """
        try:
            self._open_turns([Request(PROBE, chat=_USER)])
            chats = [(("user", beginning),) for beginning in BEGINNINGS]
            requests: list[Request] = []
            expected: list[float] = []
            for chat, first_token in zip(chats, self._first_tokens(chats), strict=True):
                token, logprob = max(first_token.likeliest.items(), key=lambda item: item[1], default=("", 0.0))
                if token.strip() and token.isascii():
                    requests.append(Request(token, chat=chat))
                    expected.append(logprob)
            outputs = self._open_turns(requests)
        except ModelError as error:
            return str(error)
        pairs = [
            (a, scored.logprobs[0]) for a, scored in zip(expected, outputs, strict=True) if len(scored.starts) == 1
        ]
        total, close = len(pairs), sum(b is not None and abs(a - b) <= self._tolerance for a, b in pairs)
        if total < MIN_COMPARISONS or close < total:
            return f"only {close} of {total} log-probabilities agree with those of the tokens that it writes"
        return None

    def _require_steady(self) -> None:
        """Refuse lists of tokens that are not log-probabilities, or change when they are asked for again."""
        if self._checked:
            return
        self._checked = True
        chats = [(("user", beginning),) for beginning in BEGINNINGS[:MIN_COMPARISONS]]
        for first, second in zip(self._first_tokens(chats), self._first_tokens(chats[::-1])[::-1], strict=True):
            values = list(first.likeliest.values())
            if not values or max(values) < MIN_BEST_LOGPROB or math.fsum(map(math.exp, values)) > 1.01:
                raise ModelError(f"{self._address}: what it lists for first tokens are not log-probabilities")
            for token in first.likeliest.keys() & second.likeliest.keys():
                if abs(first.likeliest[token] - second.likeliest[token]) > self._tolerance:
                    raise ModelError(
                        f"{self._address}: the log-probability of {token!r} changes from {first.likeliest[token]:.3f} "
                        f"to {second.likeliest[token]:.3f} when the same is asked again. Use -S answer=text"
                    )

    def _post(self, chats: Sequence[Messages], settings: dict[str, Any], retries: int | None = None) -> list[Any]:
        bodies = [{"model": self._server.model, **_messages(chat), **settings} for chat in chats]
        return self._server.client.post_all(CHAT, bodies, retries)


def _first_token(answer: object) -> Next:
    first = read_chat_tokens(answer)
    if first.text.strip() in REASONING:
        raise InputError(
            f"its answers begin with {first.text!r}: it thinks before it answers, so that the first token says "
            "nothing about a label. Switch that off on the server, or use -S answer=text"
        )
    return first


def _scored(text: str, spans: Sequence[tuple[int, int]], logprobs: Sequence[float | None]) -> Scored:
    starts = tuple(first_visible(text, a) for a, _ in spans)
    return Scored(text, starts, tuple(max(a, b) for a, (_, b) in zip(starts, spans, strict=True)), tuple(logprobs))


def _context(chat: Chat | None) -> str:
    return "" if chat is None else "".join(text for _, text in chat.messages)


def _messages(chat: Messages) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": text} for role, text in chat]}
