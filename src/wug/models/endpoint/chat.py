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
from typing import Any, TypeAlias

from wug.alignment import first_visible
from wug.errors import InputError, ModelError
from wug.files import checksum
from wug.models.endpoint.answers import (
    EchoFormat,
    Next,
    Question,
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
from wug.types import Chat, ChatWrapper, Request, Scored

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
Messages: TypeAlias = Sequence[tuple[str, str]]
_USER = (("user", "Write one sentence."),)
_SYSTEM = (("system", "You are a careful assistant who answers in one short and simple sentence."), *_USER)


class EndpointChat:
    """What a server does with chats; also its `ChatFormat`."""

    def __init__(
        self,
        server: Server,
        reading: EchoFormat | ModelError,
        tokenizer: ChatTemplate | None,
        tolerance: float,
    ) -> None:
        self._server, self._tokenizer, self._tolerance = server, tokenizer, tolerance
        self._reading = reading if isinstance(reading, EchoFormat) else None
        self._why = reading if isinstance(reading, ModelError) else None
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
            with_system, without = (read_count(one) for one in self._ask([_SYSTEM, _USER], {"max_tokens": 1}))
        except Refusal as error:
            return f"{self._server.client.address}: it refuses a system turn ({error})"
        if with_system is not None and without is not None and with_system <= without:
            return f"{self._server.client.address}: the server's chat template drops the system turn"
        return None

    def wrapper(self, chat: Chat) -> ChatWrapper:
        """The checksum of what surrounds texts, or of the server and the messages if the server renders them."""
        if self._tokenizer is not None or chat.plain:
            text = "".join(content for _, content in chat.messages)
            return ChatWrapper(checksum(text)) if self._tokenizer is None else self._tokenizer.wrapper(chat)
        found = checksum("rendered by the server", self._server.identity, repr(chat))
        return ChatWrapper(found, (f"the server renders the chat template, which is not known. {RENDER_HERE}",))

    def check(self, requests: Sequence[Request]) -> None:
        """Refuse what the server cannot answer, with the fix."""
        if self._tokenizer is not None:
            self._tokenizer.check(requests)
        if self._tokenizer is None and any((chat := one.conversation) and chat.template for one in requests):
            raise ModelError(f"{self._address}: the server uses its own chat template. {RENDER_HERE}")
        ways = {self._way(request) for request in requests}
        if self._why is not None and ways & {self._by_tokens, self._after_text}:
            raise ModelError(f"{self._why}. {QUESTIONS_ONLY}")
        if self._in_open_turn in ways and self._no_open_turns is not None:
            raise ModelError(
                f"{self._address}: it cannot score a text in a chat ({self._no_open_turns}). {RENDER_HERE}, for "
                f"servers that score prompts. {QUESTIONS_ONLY}"
            )
        if self._list_labels in ways:
            self._require_steady()

    @cached_property
    def is_offered(self) -> bool:
        """Whether the server has a chat route."""
        try:
            self._ask([_USER], {"max_tokens": 1}, retries=1)
        except Refusal as error:
            if error.status in (400, 404, 405, 422, 501):
                return False
            raise
        return True

    def questions(self, requests: Mapping[int, Request]) -> Iterator[Question[Scored]]:
        """What to send for requests, by their positions."""
        labels: dict[Chat, list[int]] = {}
        for place, request in requests.items():
            ask, chat = self._way(request), request.conversation
            if ask == self._list_labels and chat is not None:
                labels.setdefault(chat, []).append(place)
            else:
                yield ask(place, request)
        for chat, places in labels.items():
            yield self._list_labels(chat, places, [requests[place].text for place in places])

    def _way(self, request: Request) -> Any:
        chat = request.conversation
        if request.generate:
            return self._write
        if chat is None or chat.plain:
            return self._after_text
        if self._lists(request):
            return self._list_labels
        return self._by_tokens if self._tokenizer is not None else self._in_open_turn

    def _lists(self, request: Request) -> bool:
        """Whether a label is looked up among the likeliest first tokens of an answer."""
        chat = request.conversation
        by_tokens = self._tokenizer is not None and self._reading is not None
        return chat is not None and chat.answers and not chat.plain and not by_tokens

    def _write(self, place: int, request: Request) -> Question[Scored]:
        chat, text, end = request.conversation, request.text, len(request.text)
        settings = {"temperature": 0.0, "max_tokens": request.generate}
        if chat is None or chat.plain:
            path, body = "/completions", {"prompt": _before(chat) + text, **settings}
        else:
            path, body = CHAT, {**_messages(chat.messages), **settings}

        def read(answer: object) -> list[Scored]:
            written = read_chat(answer) if path == CHAT else read_text(answer)[0]
            return [Scored(text, (end,), (end,), (None,), (written,))]

        return Question(path, body, _last(request), [place], read)

    def _list_labels(self, chat: Chat, places: Sequence[int], labels: Sequence[str]) -> Question[Scored]:
        """Labels among the likeliest first tokens; without log-probability if they are not."""

        def read(answer: object) -> list[Scored]:
            listed = _first_token(answer).likeliest
            values = [listed.get(label, listed.get(f" {label}")) for label in labels]
            found = zip(labels, values, strict=True)
            return [Scored(label, (0,), (len(label),), (value,)) for label, value in found]

        return Question(CHAT, {**_messages(chat.messages), **FIRST_TOKEN}, chat.messages[-1][1], places, read)

    def _by_tokens(self, place: int, request: Request) -> Question[Scored]:
        """A text after a chat that is rendered here and sent as token ids, to which a server adds nothing."""
        assert self._tokenizer is not None
        reading, text = self._requires_prompts(), request.text
        (rendered,) = self._tokenizer.render([request])
        tokens = self._tokenizer.encode(rendered.whole)

        def read(answer: object) -> list[Scored]:
            echo = read_echo(answer)
            count = len(echo.tokens) if echo.counted is None else echo.counted
            if count not in (len(tokens.ids), len(tokens.ids) + (echo.counted is None and echo.may_continue)):
                raise InputError(
                    f"it reads {count} tokens where {len(tokens.ids)} were sent: perhaps the server puts a second BOS "
                    "token before them, or has another tokenizer than -M tokenizer"
                )
            values = (None, *echo.logprobs) if reading.shifted else echo.logprobs
            here = slice(len(tokens.ids) if rendered.crossing else rendered.tokens_before, len(tokens.ids))
            places = [(a - rendered.start, b - rendered.start) for a, b in tokens.offsets[here]]
            return [_scored(text, places, values[here])]

        return Question("/completions", {"prompt": tokens.ids, **reading.settings}, text, [place], read)

    def _after_text(self, place: int, request: Request) -> Question[Scored]:
        reading, text = self._requires_prompts(), request.text
        whole = _before(request.conversation) + text

        def read(answer: object) -> list[Scored]:
            scored = reading.scored(whole, answer)
            start, spans = len(whole) - len(text), list(zip(scored.starts, scored.ends, strict=True))
            crossing = any(a < start < b for a, b in spans)
            # White space before the text is an empty span at its beginning.
            first = len(spans) if crossing else sum(a < start or b <= start for a, b in spans)
            places = [(a - start, b - start) for a, b in spans[first:]]
            return [_scored(text, places, scored.logprobs[first:])]

        return Question("/completions", {"prompt": reading.bos + whole, **reading.settings}, text, [place], read)

    def _in_open_turn(self, place: int, request: Request) -> Question[Scored]:
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
            places = [(a - start, b - start) for a, b in pairwise(starts[first:])]
            return [_scored(text, places, echo.logprobs[first:])]

        return Question(CHAT, {**_messages((*chat.messages, ("assistant", text))), **OPEN_TURN}, text, [place], read)

    def _requires_prompts(self) -> EchoFormat:
        """The format of echoes; ModelError for a server that does not score prompts."""
        if self._reading is None:
            raise ModelError(str(self._why))
        return self._reading

    def _first_tokens(self, chats: Sequence[Messages]) -> list[Next]:
        try:
            return [_first_token(answer) for answer in self._ask(chats, FIRST_TOKEN)]
        except InputError as error:
            raise ModelError(f"{self._address}: its response cannot be used: {error.message}") from None

    def _open_turns(self, requests: Sequence[Request]) -> list[Scored]:
        questions = [self._in_open_turn(place, request) for place, request in enumerate(requests)]
        return in_order(self._server.answer_each(questions), len(requests))

    @cached_property
    def _no_open_turns(self) -> str | None:
        """Why texts in an open turn cannot be scored; None if they can, as a calibration shows.

        The likeliest first token of an answer must have the same log-probability in an open turn.
        """
        try:
            self._open_turns([Request(PROBE, chat=_USER)])
            chats = [(("user", beginning),) for beginning in BEGINNINGS]
            firsts = self._first_tokens(chats)
            best = [max(one.likeliest.items(), key=lambda item: item[1]) for one in firsts]
            visible_ones = [(chat, *one) for chat, one in zip(chats, best, strict=True) if one[0].strip()]
            trials = [one for one in visible_ones if one[1].isascii()]
            scored = self._open_turns([Request(token, chat=chat) for chat, token, _ in trials])
        except ModelError as error:
            return str(error)
        pairs = zip((value for _, _, value in trials), (one.logprobs for one in scored), strict=True)
        found = [(value, logprobs[0]) for value, logprobs in pairs if len(logprobs) == 1]
        close = [a for a, b in found if b is not None and abs(a - b) <= self._tolerance]
        if len(found) < MIN_COMPARISONS or len(close) < len(found):
            return f"only {len(close)} of {len(found)} log-probabilities agree with those of the tokens that it writes"
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

    @property
    def _address(self) -> str:
        return str(self._server.client.address)

    def _ask(self, chats: Sequence[Messages], settings: dict[str, Any], retries: int | None = None) -> list[Any]:
        bodies = [{"model": self._server.model, **_messages(chat), **settings} for chat in chats]
        return self._server.client.post_all(CHAT, bodies, retries)


def _first_token(answer: object) -> Next:
    found = read_chat_tokens(answer)
    if found.text.strip() in REASONING:
        raise InputError(
            f"its answers begin with {found.text!r}: it thinks before it answers, so that the first token says "
            "nothing about a label. Switch that off on the server, or use -S answer=text"
        )
    return found


def _scored(text: str, places: Sequence[tuple[int, int]], logprobs: Sequence[float | None]) -> Scored:
    starts = tuple(first_visible(text, a) for a, _ in places)
    return Scored(text, starts, tuple(max(a, b) for a, (_, b) in zip(starts, places, strict=True)), tuple(logprobs))


def _before(chat: Chat | None) -> str:
    return "" if chat is None else "".join(text for _, text in chat.messages)


def _messages(chat: Messages) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": text} for role, text in chat]}


def _last(request: Request) -> str:
    """The end of what the model reads."""
    chat = request.conversation
    return request.text or ("" if chat is None else chat.messages[-1][1])
