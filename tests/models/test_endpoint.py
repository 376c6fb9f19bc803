"""Completions servers: the shapes of their answers, start marks, trouble on the line, parity with `causal:`."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny
from answers import noticed, texts
from case_selection import examples
from command_line import refused, wug
from fake_completions import OPENINGS, FakeServer, Rule, by_rule, echoed, listed, serving
from timeouts import PATIENCE
from wug.errors import InputError, ModelError, UnknownName
from wug.evaluation.models import open_model
from wug.models import endpoint
from wug.models.endpoint import EndpointGenerator, EndpointScorer
from wug.models.endpoint.answers import read_echo, read_next
from wug.models.endpoint.client import Client, read_address
from wug.models.spec import ModelSpec, parse
from wug.models.tokenization.token_offsets import PART
from wug.requests import Request, Scored

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("waits")]


def scorer(server: FakeServer | str, **options: str) -> EndpointScorer:
    address = server if isinstance(server, str) else server.address
    model = endpoint.load(ModelSpec("endpoint", address, options=options))
    assert isinstance(model, EndpointScorer)
    return model


def generator(server: FakeServer, **options: str) -> EndpointGenerator:
    model = endpoint.load(ModelSpec("endpoint", server.address, options={"mode": "generate", **options}))
    assert isinstance(model, EndpointGenerator)
    return model


def one(model: EndpointScorer, text: str) -> Scored:
    (scored,) = model.score([Request(text)])
    return scored


openai = Rule()


def sglang(body: dict[str, Any]) -> Any:
    """A server that knows no offsets and writes a token though none is wanted."""
    return Rule(offsets=False)({**body, "max_tokens": 1})


def refuses_one(body: dict[str, Any]) -> Any:
    """A server that does not continue the text that it echoes."""
    if body.get("echo") and body["max_tokens"]:
        return 400, {"error": {"message": "echo is for reading alone"}}
    return openai(body)


def vllm(body: dict[str, Any]) -> Any:
    """A server that does not echo, but has `prompt_logprobs`."""
    if body.get("echo"):
        return 400, {"object": "error", "message": "echo is not supported"}
    return listed(by_rule(body["prompt"])) if body.get("prompt_logprobs") == 0 else openai(body)


# The letters of "The dogs" add up to 750, those of the whole to 1198: 71 and 34 more than multiples of 97.
EXPECTED = Scored("The dogs bark", (0, 4, 9), (3, 8, 13), (None, -71 / 7, -34 / 7))


@pytest.mark.parametrize(
    ("answer", "bos"),
    [
        (openai, "no"),
        (sglang, "no"),
        (refuses_one, "no"),
        (vllm, "no"),
        (Rule(continues=False), "no"),
        (Rule(usage=False), "unsaid"),
        (Rule(usage=False, continues=False), "unsaid"),
        (Rule(usage=False, offsets=False), "unsaid"),
        (Rule(usage=False, offsets=False, continues=False), "unsaid"),
        (Rule(value_of="next"), "no"),
        (Rule(value_of="next", usage=False, offsets=False), "unsaid"),
    ],
)
def test_every_shape_of_answer_gives_the_same_tokens(answer: Callable[[dict[str, Any]], Any], bos: str) -> None:
    with serving(answer) as server:
        model = scorer(server)
        assert one(model, "The dogs bark") == EXPECTED
        assert model.options == {"bos": bos}


# With "<s>" before them, 60 + 115 + 62 more: "The" 289 + 237 = 526, 41 more than 485; "The dogs" 987, 17 more than 970.
# With "<b>", 17 less: 509 is 24 more than 485, 970 a multiple of 97.
MARKED = Scored("The dogs", (0, 4), (3, 8), (-41 / 7, -17 / 7))
SENT = Scored("The dogs", (0, 4), (3, 8), (-24 / 7, 0.0))


@pytest.mark.parametrize("answer", [Rule(mark="<s>"), Rule(mark="<s>", shows_mark=False)])
def test_a_start_mark_of_the_server_gives_the_first_word_its_log_probability(answer: Rule) -> None:
    with serving(answer) as server:
        model = scorer(server)
        assert one(model, "The dogs") == MARKED
        assert model.options == {"bos": "yes"}


def test_a_start_mark_in_prompt_logprobs_is_found_by_what_is_left_of_the_text() -> None:
    def answer(body: dict[str, Any]) -> Any:
        if body.get("echo"):
            return 422, {"detail": [{"msg": "extra fields not permitted"}]}
        if body.get("prompt_logprobs") == 0:
            return listed([("", None), *by_rule(body["prompt"], "<s>")])
        return Rule(mark="<s>")(body)

    with serving(answer) as server:
        model = scorer(server)
        assert model.options == {"bos": "yes"}
        assert one(model, "The dogs") == MARKED


@pytest.mark.parametrize("answer", [Rule(), Rule(shows_mark=False), Rule(usage=False)])
def test_a_start_mark_of_ones_own_is_sent_and_cut_off(answer: Rule) -> None:
    with serving(answer) as server:
        model = scorer(server, bos="<b>")
        assert one(model, "The dogs") == SENT
        assert model.options == {"bos": "<b>"}
        assert all(body["prompt"].startswith("<b>") for body in server.asked[-5:])


@pytest.mark.parametrize(
    ("answer", "mark", "reason"),
    [
        (Rule(), "<mark>", "bos=<mark> should be one token and alone"),
        (Rule(known_mark="<c>", shows_mark=False), "<mark>", "bos=<mark> should be one token and alone"),
        (Rule(mark="<s>"), "<b>", "should be one token and alone|its own BOS token before every text"),
        (Rule(mark="<s>", shows_mark=False), "<b>", "its own BOS token before every text: leave out bos=<b>"),
        (Rule(shows_mark=False, usage=False), "<b>", r"out of its answers, and by its count of tokens \(None"),
    ],
)
def test_a_start_mark_that_is_not_the_only_one_or_not_one_token_is_refused(
    answer: Rule, mark: str, reason: str
) -> None:
    with serving(answer) as server, pytest.raises(ModelError, match=reason):
        scorer(server, bos=mark)


def test_first_words_missing_in_the_echo_are_found_among_the_next_tokens_after_bos() -> None:
    with serving(Rule(shows_mark=False, first_value=False, names=6)) as server:
        model = scorer(server, bos="<b>")
        assert one(model, "The dogs").logprobs == (OPENINGS["The"], 0.0)
        assert model.options == {"bos": "<b>"}
        for text in ("x dogs", "cats bark"):  # two tokens of one name, and none
            with pytest.raises(
                ModelError, match=f"the response for '{text}' cannot be used: it leaves out how likely the first"
            ):
                one(model, text)


@pytest.mark.parametrize(
    ("answer", "options", "bos"),
    [
        (Rule(shows_mark=False, first_value=False, names=5), {"bos": "<b>"}, "<b>"),
        (Rule(mark="<s>", shows_mark=False, first_value=False), {}, "yes"),
    ],
)
def test_first_words_that_the_server_does_not_score_at_all_are_said_to_be_unscored(
    answer: Rule, options: dict[str, str], bos: str
) -> None:
    with serving(answer) as server:
        model = scorer(server, **options)
        assert one(model, "The dogs").logprobs[0] is None
        assert one(model, "The dogs").logprobs[1] in (SENT.logprobs[1], MARKED.logprobs[1])
        assert model.options == {"bos": bos, "first_word": "unscored"}


def ignores_company(body: dict[str, Any]) -> Any:
    """A server that writes other tokens than its log-probabilities of prompts say."""
    return openai(body) if body.get("echo") else Rule(mark="<s>")(body)


def writes_nothing(body: dict[str, Any]) -> Any:
    return openai(body) if body.get("echo") else (400, {"message": "no text is written here"})


@pytest.mark.parametrize(
    ("answer", "options", "reason"),
    [
        (Rule(value_of="after"), {}, r"not those of its tokens\. After '.*' it writes ' more' with .*-M 'bos="),
        (Rule(value_of="after", continues=False), {}, "llama-cpp-python shifts values by one token"),
        (Rule(value_of="after"), {"dtype": "bfloat16"}, "not those of its tokens"),
        (ignores_company, {}, "12 of 12 such values differ"),
        (writes_nothing, {}, "cannot be checked, since it writes no token: .*no text is written here"),
        (Rule(stale=True), {}, "depend on other requests: .*--no-enable-prefix-caching"),
        (Rule(drops_last=True), {}, r"no token is left for '\.'"),
        (Rule(drops_last=True, usage=False), {}, r"no token is left for '\.'"),
    ],
)
def test_a_server_whose_values_do_not_mean_what_they_seem_to_is_refused(
    answer: Callable[[dict[str, Any]], Any], options: dict[str, str], reason: str
) -> None:
    with serving(answer) as server, pytest.raises(ModelError, match=f"(?s){server.address}.*{reason}"):
        scorer(server, **options)


def test_a_server_that_omits_the_last_token_of_a_text_is_found_out_at_that_text() -> None:
    def answer(body: dict[str, Any]) -> Any:
        return Rule(drops_last=body["prompt"] == "The dogs bark .", usage=False)(body)

    with serving(answer) as server:
        model = scorer(server)
        with pytest.raises(ModelError, match=r"no token is left for '\.'"):
            one(model, "The dogs bark .")


def test_rounding_in_a_coarse_number_format_is_let_pass_where_the_user_names_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Every answer is off by up to 0.06, another way each time."""
    count = [0]

    def answer(body: dict[str, Any]) -> Any:
        found = openai(body)
        values = found["choices"][0]["logprobs"]["token_logprobs"]
        count[0] += 1
        values[:] = [value and value - 0.03 * (count[0] % 3) for value in values]
        return found

    with serving(answer) as server:
        with pytest.raises(ModelError, match=r"-M dtype=bfloat16 allows 0\.25"):
            scorer(server)
        model = scorer(server, dtype="bfloat16")
        assert model.options == {"bos": "no", "dtype": "bfloat16"}
    assert "differs by up to 0.0" in caplog.text


def test_tokens_without_the_space_before_a_word_are_placed() -> None:
    def answer(body: dict[str, Any]) -> Any:
        if not body.get("echo"):
            return openai(body)
        return echoed([(token.strip(), value) for token, value in by_rule(body["prompt"])])

    with serving(answer) as server:
        assert one(scorer(server), "The dogs bark") == EXPECTED


@pytest.mark.parametrize("usage", [True, False])
@pytest.mark.parametrize(
    ("text", "tokens", "offsets", "starts"),
    [
        ("naïve", ["n", "a", "", "", "ve"], [0, 1, 2, 2, 3], (0, 1, 2, 2, 3)),
        ("so naï", ["so", " na", "", ""], [0, 2, 5, 5], (0, 3, 5, 5)),
        # "é é": the space is a part of the third token, whose text is empty without the rest of its character
        ("é é", ["", "", "", ""], [0, 0, 1, 1], (0, 0, 2, 2)),
        ("日本 x", ["", "", "", "", " x"], [0, 0, 1, 1, 2], (0, 0, 1, 1, 3)),
    ],
)
def test_empty_tokens_are_parts_of_characters_that_the_offsets_place(
    text: str, tokens: list[str], offsets: list[int], starts: tuple[int, ...], usage: bool
) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if body["prompt"] != text:
            return Rule(usage=usage)(body)
        values = [None, *(-float(place) for place in range(1, len(tokens) + 1))]
        found = echoed(list(zip([*tokens, " more"], values, strict=True)))
        found["choices"][0]["logprobs"]["text_offset"] = [*offsets, len(text)]
        found["usage"] = {"prompt_tokens": len(tokens)}
        if not usage:
            del found["usage"]
        return found

    with serving(answer) as server:
        scored = one(scorer(server), text)
    assert scored.starts == starts
    assert scored.logprobs == (None, *(-float(place) for place in range(1, len(tokens))))


def test_parts_of_characters_count_where_their_character_stands() -> None:
    def answer(body: dict[str, Any]) -> Any:
        if "é" not in body["prompt"]:
            return openai(body)
        return echoed([("A", None), (" caf", -1.0), (PART, -2.0), (PART, -3.0), (" now", -4.0)])

    with serving(answer) as server:
        scored = one(scorer(server), "A café now")
    assert (scored.starts, scored.ends) == ((0, 2, 5, 5, 7), (1, 5, 6, 6, 10))
    assert scored.logprob(2, 7) == -6.0


@settings(max_examples=examples(50))
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=25))
def test_places_are_right_for_any_text(any_server: EndpointScorer, text: str) -> None:
    scored = one(any_server, text)
    expected = [token.strip() for token, _ in by_rule(text)]
    assert [text[a:b].strip() for a, b in zip(scored.starts, scored.ends, strict=True)] == expected
    assert list(scored.starts) == sorted(scored.starts)
    assert scored.logprobs == tuple(value for _, value in by_rule(text))


@pytest.fixture(scope="module")
def any_server() -> Iterator[EndpointScorer]:
    with serving(openai) as server:
        yield scorer(server)


def test_order_batch_and_repetition_do_not_matter() -> None:
    texts = tiny.sentences(60)
    with serving(openai) as server:
        model = scorer(server, concurrency="4")
        together = model.score([Request(text) for text in texts])
        assert [scored.text for scored in together] == texts
        assert model.score([Request(text) for text in reversed(texts)]) == together[::-1]
        before = len(server.asked)
        assert model.score([Request("a"), Request("a", (0, 1)), Request("")])[2] == Scored("", (), (), ())
        assert len(server.asked) == before + 1


def test_tokens_after_a_span_are_left_out() -> None:
    with serving(openai) as server:
        (scored,) = scorer(server).score([Request("The dogs bark", (4, 8))])
    assert scored.starts == (0, 4)


def test_white_space_at_the_end_of_a_text_belongs_to_a_span_to_there() -> None:
    with serving(openai) as server:
        (scored,) = scorer(server).score([Request("The dogs bark ", (4, 14))])
    assert scored.starts == (0, 4, 9, 14)


def test_no_more_questions_are_under_way_than_allowed() -> None:
    lock, under_way, most = threading.Lock(), [0], [0]

    def answer(body: dict[str, Any]) -> Any:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        found = openai(body)
        with lock:
            under_way[0] -= 1
        return found

    with serving(answer) as server:
        scorer(server, concurrency="3").score([Request(f"text {n}") for n in range(40)])
    assert most[0] <= 3


def test_the_identity_has_the_name_and_what_the_server_says_of_the_model() -> None:
    with serving(openai) as server:
        first = scorer(server).id
        assert first.startswith("endpoint/tiny@")
        with serving(openai) as other:  # another port, the same model
            assert scorer(other).id == first
            other.models = {"data": [{"id": "tiny", "root": "/models/other", "created": 5}]}
            assert scorer(other).id != first
            other.models = {"data": [{"id": "tiny", "created": 5}]}
            unsaid = scorer(other).id
            server.models = {"data": [{"id": "tiny", "created": 6}]}
            assert scorer(server).id != unsaid
        assert scorer(server, dtype="bfloat16", id="v2").options == {"bos": "no", "dtype": "bfloat16", "id": "v2"}


def test_options_may_stand_in_the_address() -> None:
    spec = parse("endpoint:http://h:1/v1?model=a/b", ["endpoint"], {"timeout": "5"})
    assert (spec.name, spec.options) == ("http://h:1/v1?model=a/b", {"timeout": "5"})
    with serving(openai) as server:
        server.models = {"data": [{"id": "a"}, {"id": "b/c"}]}
        assert scorer(server.address + "?model=b/c&concurrency=2").id.startswith("endpoint/b/c@")
        with pytest.raises(UnknownName, match="Did you mean 'model'"):
            scorer(server.address + "?modell=a")
        with pytest.raises(InputError, match=r"-M model=NAME\. It has: a, b/c"):
            scorer(server)
        with pytest.raises(ModelError, match=r"has no model 'b/x'\. Did you mean 'b/c'"):
            scorer(server, model="b/x")


def test_a_server_without_a_list_of_models_needs_the_name() -> None:
    with serving(openai) as server:
        server.models = (404, {"detail": "Not Found"})
        assert scorer(server, model="mine").id.startswith("endpoint/mine@")
        assert server.asked[0]["model"] == "mine"
        with pytest.raises(ModelError, match="status 404: Not Found"):
            scorer(server)


def test_the_key_is_sent_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(body: dict[str, Any]) -> Any:
        return 401, {"error": {"message": "wrong key: sk-secret"}}

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with serving(openai) as server:
        model = scorer(server)
        assert all(headers["Authorization"] == "Bearer sk-secret" for headers in server.headers)
        assert "secret" not in model.id + str(model.options)
    monkeypatch.setenv("OTHER", "sk-secret")
    with serving(answer) as server, pytest.raises(ModelError, match=r"refused, status 401: wrong key: \*\*\*") as error:
        scorer(server, key="OTHER")
    assert "secret" not in str(error.value)
    with pytest.raises(InputError, match="Name the variable, not the key") as fault:
        scorer("http://h/v1", key="sk-secret")
    assert "secret" not in str(fault.value)
    monkeypatch.setenv("OTHER", "sk-secret\nX-Header: 1")
    with pytest.raises(InputError, match="OTHER is not a valid key") as fault:
        scorer("http://h/v1", key="OTHER")
    assert "secret" not in str(fault.value)
    with pytest.raises(InputError, match="password") as fault:
        scorer("http://me:secret@h/v1")
    assert "secret" not in str(fault.value)


def test_requests_to_a_busy_server_are_repeated_with_growing_waits(waits: list[float]) -> None:
    troubles: list[Any] = [
        (429, {"Retry-After": "7"}, b"slow down"),
        (503, {}, b""),
        (0, {}, b""),
        (500, {}, b"<html>oops</html>"),
    ]

    def answer(body: dict[str, Any]) -> Any:
        return troubles.pop(0) if troubles and body["prompt"] == "The dogs bark" else openai(body)

    with serving(answer) as server:
        assert one(scorer(server), "The dogs bark") == EXPECTED
    # Hanging up on a kept connection does not call for a delay: it may only have been too old.
    assert waits in ([7.0, 1.0, 2.0], [7.0, 1.0, 2.0, 4.0])


def test_retry_after_may_be_a_date_and_too_long_a_wait_is_not_waited(waits: list[float]) -> None:
    later = email.utils.formatdate(time.time() + 120, usegmt=True)
    troubles = [(429, {"Retry-After": later}, b""), (429, {"Retry-After": "4000"}, b"")]

    def answer(body: dict[str, Any]) -> Any:
        return troubles.pop(0) if body["prompt"] == "x" else openai(body)

    with serving(answer) as server:
        model = scorer(server)
        with pytest.raises(ModelError, match="It asks to wait 4,000 s"):
            one(model, "x")
    assert len(waits) == 1
    assert 60 < waits[0] <= 120


def test_a_server_that_stays_away_is_given_up_with_address_and_remedy(waits: list[float]) -> None:
    def answer(body: dict[str, Any]) -> Any:
        return (503, {"error": "loading"}) if body["prompt"] == "x" else openai(body)

    with serving(answer) as server:
        model = scorer(server, retries="3")
        with pytest.raises(ModelError, match=r"/v1/completions does not respond after 4 tries: status 503: loading\."):
            model.score([Request(text) for text in ("a", "x", "b")])
        assert waits == [0.5, 1.0, 2.0]
        assert one(model, "The dogs bark") == EXPECTED  # it may be asked again
        address = server.address
    with pytest.raises(ModelError, match=f"{address}/models does not respond.*connection refused.*Is the server run"):
        scorer(address)


def client(server: FakeServer, *, timeout: float, retries: int = 0) -> Client:
    return Client(read_address(server.address), key=None, timeout=timeout, retries=retries)


def test_an_answer_that_takes_too_long_is_requested_again() -> None:
    enough = threading.Event()
    late = [True]

    def answer(body: dict[str, Any]) -> Any:
        if late:
            late.pop()
            enough.wait(PATIENCE)
        return {"ok": True}

    with serving(answer) as server:
        assert client(server, timeout=1.5, retries=6).post_all("/completions", [{}]) == [{"ok": True}]
        enough.set()
        assert len(server.asked) >= 2


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nX-Long: ", b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_a_server_that_drips_is_given_up_when_the_time_for_the_whole_answer_is_over(start: bytes) -> None:
    enough = threading.Event()

    def dripping() -> Iterator[bytes]:
        yield start or b" "
        while not enough.wait(0.02):
            yield b" "

    with serving(lambda body: (-1 if start else 200, {}, dripping())) as server:
        with pytest.raises(ModelError, match=r"at the first try: no complete response came within 0\.5 s"):
            client(server, timeout=0.5).post_all("/completions", [{}])
        enough.set()


def test_an_answer_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.models.endpoint.client.MAX_ANSWER_BYTES", 2**20)

    parts = [b"HTTP/1.1 200 OK\r\n\r\n", *[b" " * 2**16] * 99]
    with serving(lambda body: (-1, {}, iter(parts))) as server, pytest.raises(ModelError, match="more than 1 MiB"):
        client(server, timeout=60).post_all("/completions", [{}])


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(openai) as server:
        assert one(scorer(server), "The dogs bark") == EXPECTED


def test_a_server_may_be_asked_from_within_an_event_loop() -> None:
    async def ask(model: EndpointScorer) -> Scored:
        return one(model, "The dogs bark")

    # In a separate thread: in this one a browser, opened by another test, may have left a loop that runs.
    with serving(openai) as server, ThreadPoolExecutor(1) as apart:
        assert apart.submit(lambda: asyncio.run(ask(scorer(server)))).result() == EXPECTED


def no_logprobs(body: dict[str, Any]) -> Any:
    return {"choices": [{"text": "hello", "logprobs": None}]}


def generated_only(body: dict[str, Any]) -> Any:
    """As llama-server answers: log-probabilities of what it wrote, not of what it was given."""
    return echoed([("hello", -0.5)])


def all_none(body: dict[str, Any]) -> Any:
    return echoed([(token, None) for token, _ in by_rule(body["prompt"])])


@pytest.mark.parametrize("answer", [no_logprobs, generated_only, all_none])
def test_a_server_without_log_probabilities_of_prompts_is_found_out_at_load(
    answer: Callable[[dict[str, Any]], Any],
) -> None:
    with serving(answer) as server, pytest.raises(ModelError, match=r"no usable log-prob.*vLLM and SGLang.*logits_all"):
        scorer(server)


HOSTILE: list[tuple[Any, str]] = [
    (b"not json", "not JSON: 'not json'"),
    (b"\xff\xfe", "not JSON"),
    (b"[" * 100_000, "not JSON"),
    (b"[]", "no choices"),
    ({"choices": []}, "0 choices"),
    ({"choices": [{}, {}]}, "2 choices"),
    ({"choices": "x"}, "no choices"),
    ({"choices": [{"logprobs": {"tokens": ["x"], "token_logprobs": []}}]}, "1 tokens and 0 log-prob"),
    ({"choices": [{"logprobs": {"tokens": [1], "token_logprobs": [None]}}]}, "not text: 1"),
    ({"choices": [{"logprobs": {"tokens": ["token_id:5"], "token_logprobs": [None]}}]}, "return-tokens-as-token-ids"),
    ({"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [None, "?"]}}]}, "'\\?' is not a log-prob"),
    ({"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [None, True]}}]}, "True is not a log-prob"),
    (b'{"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [null, NaN]}}]}', "nan is not a log-prob"),
    (b'{"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [null, -1e999]}}]}', "inf is not a log-prob"),
    ({"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [None, 0.5]}}]}, "0.5 is not a log-prob"),
    (echoed([("x ", None), ("z", -1.0)]), "no token is left|does not fit"),
    (echoed([("x", None)]), "no token is left for 'yz'"),
    (echoed([("x", None), ("yz", None)]), "no log-probability for token 2 of 2"),
    (echoed([("x", None), (PART, -1.0)]), "in no way, or in several"),
    ({"choices": [{"prompt_logprobs": [None, 5]}]}, "5 for token 2"),
    ({"choices": [{"prompt_logprobs": [None, {"1": {}}]}]}, "without decoded_token"),
    ({"choices": [{"prompt_logprobs": [None, {"1": {}, "2": {}}]}]}, "names 2 tokens in place 2"),
    ({"choices": [{"prompt_logprobs": [None, {"1": {"decoded_token": "q", "logprob": -1}}]}]}, "no text, and the oth"),
    ((302, {"Location": "https://elsewhere/v1"}, b""), "redirects to https://elsewhere/v1"),
    ((400, {"message": "too long:\x1b[31m 9 > 8"}), "refuses the request, status 400: too long:�\\[31m 9 > 8"),
    ((404, b"<html>"), "status 404: <html>.*up to /v1"),
]


@pytest.mark.parametrize(("content", "message"), HOSTILE)
def test_an_answer_that_cannot_be_used_is_one_clear_error(content: Any, message: str) -> None:
    with serving(lambda body: content if body["prompt"] == "xyz" else openai(body)) as server:
        model = scorer(server)
        with pytest.raises(ModelError, match=f"(?s){server.address}.*{message}"):
            one(model, "xyz")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "logprobs", "tokens", "token_logprobs", "prompt_logprobs", "usage"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_json_makes_anything_but_a_clear_error(found: Any) -> None:
    with contextlib.suppress(InputError):
        read_next(found)
    try:
        echo = read_echo(found)
    except InputError:
        return
    assert len(echo.tokens) == len(echo.logprobs)


@pytest.mark.parametrize(
    ("address", "options", "message"),
    [
        ("localhost:8000/v1", {}, "Write it as endpoint:http://localhost:8000/v1"),
        ("http://h:port/v1", {}, "is not an address"),
        ("http:///v1", {}, "is not an address"),
        ("http://h/v1", {"concurrency": "0"}, "concurrency=0: write a whole number, 1 or more"),
        ("http://h/v1", {"retries": "-1"}, "retries=-1: write a whole number from 0 to 9,999"),
        ("http://h/v1", {"timeout": "soon"}, "timeout=soon: write a number"),
        ("http://h/v1", {"mode": "chat"}, "mode=chat: use one of score, generate"),
        ("http://h/v1", {"template": "{source}"}, "template is of no use without mode=generate"),
        ("http://h/v1", {"mode": "generate", "bos": "<s>"}, "bos is of no use with mode=generate"),
    ],
)
def test_wrong_addresses_and_options_are_errors(address: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        scorer(address, **options)


def written(text: str, reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"text": text, "finish_reason": reason}]}


def test_texts_are_generated_from_a_prompt(tmp_path: Path) -> None:
    examples = tmp_path / "shots.tsv"
    examples.write_text("copy A\tA\n")
    with serving(lambda body: written(" B1 C2 \nQ: next")) as server:
        model = generator(server, template=r"Q: {source}\nA: {answer}\n", examples=str(examples), max_length="50")
        assert texts(model.generate(["copy B1 C2", "copy B1 C2"])) == ["B1 C2", "B1 C2"]
        (asked,) = server.asked
        assert asked["prompt"] == "Q: copy A\nA: A\nQ: copy B1 C2\nA:"
        assert (asked["temperature"], asked["max_tokens"], asked["stop"]) == (0.0, 50, ["\n"])
        assert model.options["mode"] == "generate"
        assert model.options["examples"]


def test_answers_that_were_cut_off_say_so() -> None:
    with serving(lambda body: written("A B C", "length")) as server:
        answers = generator(server).generate(["copy A", "copy B"])
    assert texts(answers) == ["A B C", "A B C"]
    assert noticed(answers, "cut off") == 2


def test_an_answer_without_text_is_an_error() -> None:
    fault = "the response for 'copy A' cannot be used: it has no text"
    with serving(lambda body: {"choices": [{"text": None}]}) as server, pytest.raises(ModelError, match=fault):
        generator(server).generate(["copy A"])


def tiny_server(folder: Path, *, mark: bool) -> Callable[[dict[str, Any]], Any]:
    """A server that answers with a model's own numbers, one text at a time, computed by transformers alone."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    lock = threading.Lock()

    def answer(body: dict[str, Any]) -> Any:
        with lock, torch.inference_mode():
            ids = tokenizer(body["prompt"], add_special_tokens=False)["input_ids"]
            if mark:
                ids = [tokenizer.bos_token_id, *ids]
            values = model(torch.tensor([ids])).logits[0].log_softmax(-1)
            if not body.get("echo"):
                best = int(values[-1].argmax())
                return echoed([(tokenizer.decode([best]), float(values[-1, best]))])
            picked = values[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()
        texts = [tokenizer.decode([token]) for token in ids]
        return echoed(list(zip(texts, [None, *picked], strict=True)))

    return answer


@pytest.mark.parametrize(
    ("architecture", "tokens", "mark", "options", "causal"),
    [
        ("gpt2", "byte_level", False, ["-M", "bos=<|endoftext|>"], []),
        ("gpt2", "byte_level", False, [], ["-M", "bos=no"]),
        ("llama", "metaspace", True, [], []),
    ],
)
def test_a_run_through_a_server_equals_one_with_the_model_itself(
    tiny_causal: Callable[..., Path],
    tmp_path: Path,
    architecture: str,
    tokens: str,
    mark: bool,
    options: list[str],
    causal: list[str],
) -> None:
    folder = tiny_causal(architecture, tokens)
    suite = tmp_path / "pairs.jsonl"
    texts = [text for text in tiny.sentences(80) if text.isascii() or tokens == "byte_level"][:20]
    assert len(texts) == 20
    rows = [{"sentence_good": a, "sentence_bad": b, "UID": "x"} for a, b in zip(texts[::2], texts[1::2], strict=True)]
    suite.write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = wug("run", suite, "--model", f"causal:{folder}", *causal, "--format", "json").results
    with serving(tiny_server(folder, mark=mark)) as server:
        given = ("--model", f"endpoint:{server.address}", *options)
        said = wug("run", suite, *given, "--format", "json")
        asked = len(server.asked)
        assert wug("run", suite, *given, "--format", "json").out == said.out
        again = {body["prompt"] for body in server.asked[asked:]}
        assert not again & {start + text for start in ("", "<|endoftext|>") for text in texts}
        direct = scorer(server, **dict(pair.split("=", 1) for pair in options[1::2])).score(list(map(Request, texts)))
    theirs, ours = (
        [(one["metric"], one["group"], one["n"], pytest.approx(one["value"], abs=1e-4)) for one in result["estimates"]]
        for result in (said.results[0], own[0])
    )
    assert theirs == ours

    same = open_model(f"causal:{folder}", dict(pair.split("=", 1) for pair in causal[1::2]))
    for left, right in zip(direct, same.score(list(map(Request, texts))), strict=True):
        assert left.starts == right.starts
        assert all(
            (a is None and b is None) or (a is not None and b is not None and math.isclose(a, b, abs_tol=1e-4))
            for a, b in zip(left.logprobs, right.logprobs, strict=True)
        )


def test_a_server_that_is_not_there_is_a_message_of_the_command_line() -> None:
    with serving(openai) as server:
        address = server.address
    refused(wug("run", "wug_agreement_pp", "--model", f"endpoint:{address}"), address, "Is the server running")
