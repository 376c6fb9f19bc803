"""Completions servers: the shapes of their answers, start marks, trouble on the line, parity with `causal:`."""

from __future__ import annotations

import email.utils
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_completions import FakeServer, by_rule, echoed, listed, serving
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny
from command_line import refused, wug
from patience import PATIENCE
from wug.errors import InputError, ModelError, UnknownName
from wug.models import _endpoint_http as http
from wug.models import endpoint
from wug.models._endpoint_answers import read_echo
from wug.models._endpoint_places import PART
from wug.models._spec import ModelSpec, parse
from wug.models.endpoint import EndpointGenerator, EndpointScorer
from wug.types import Request, Scored


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between tries, which are noted instead of waited for."""
    noted: list[float] = []
    monkeypatch.setattr(http.Client, "_pause", lambda self, seconds: noted.append(seconds))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return noted


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


def openai(body: dict[str, Any]) -> Any:
    """A server that gives all that is asked for."""
    return echoed(by_rule(body["prompt"]), written=" more" if body["max_tokens"] else None)


def sglang(body: dict[str, Any]) -> Any:
    """A server that knows no offsets and writes a token though none is wanted."""
    return echoed(by_rule(body["prompt"]), offsets=False, written="\n")


def refuses_one(body: dict[str, Any]) -> Any:
    """A server that is not to write anything."""
    if body["max_tokens"]:
        return 400, {"error": {"message": "this model does not write"}}
    return openai(body)


def without_usage(body: dict[str, Any]) -> Any:
    """A server that does not say how many tokens the prompt has."""
    found = openai(body)
    del found["usage"]
    return found


def vllm(body: dict[str, Any]) -> Any:
    """A server that does not echo, but has `prompt_logprobs`."""
    if body.get("echo"):
        return 400, {"object": "error", "message": "echo is not supported"}
    assert body["prompt_logprobs"] == 0
    return listed(by_rule(body["prompt"]))


def with_mark(body: dict[str, Any]) -> Any:
    """A server that begins every text with a start mark."""
    return echoed([("<s>", None), *((token, -0.25) for token, _ in by_rule(body["prompt"]))])


# The letters of "The dogs" add up to 750, those of the whole to 1198: 71 and 34 more than multiples of 97.
EXPECTED = Scored("The dogs bark", (0, 4, 9), (3, 8, 13), (None, -71 / 7, -34 / 7))


@pytest.mark.parametrize("answer", [openai, sglang, refuses_one, without_usage, vllm])
def test_every_shape_of_answer_gives_the_same_tokens(answer: Callable[[dict[str, Any]], Any]) -> None:
    with serving(answer) as server:
        model = scorer(server)
        assert one(model, "The dogs bark") == EXPECTED
        assert model.options == {"bos": "no"}


def test_a_start_mark_of_the_server_gives_the_first_word_its_log_probability() -> None:
    with serving(with_mark) as server:
        model = scorer(server)
        assert one(model, "The dogs") == Scored("The dogs", (0, 4), (3, 8), (-0.25, -0.25))
        assert model.options == {"bos": "yes"}


def test_a_start_mark_in_prompt_logprobs_is_found_by_what_is_left_of_the_text() -> None:
    def answer(body: dict[str, Any]) -> Any:
        if body.get("echo"):
            return 422, {"detail": [{"msg": "extra fields not permitted"}]}
        return listed([("", None), *((token, -0.25) for token, _ in by_rule(body["prompt"]))])

    with serving(answer) as server:
        model = scorer(server)
        assert model.options == {"bos": "yes"}
        assert one(model, "The dogs").logprobs == (-0.25, -0.25)


def test_a_start_mark_of_ones_own_is_sent_and_cut_off() -> None:
    def answer(body: dict[str, Any]) -> Any:
        mark, text = body["prompt"][:3], body["prompt"][3:]
        assert mark == "<b>"
        return echoed([("<b>", None), *((token, -1.0) for token, _ in by_rule(text))])

    with serving(answer) as server:
        model = scorer(server, bos="<b>")
        assert one(model, "The dogs") == Scored("The dogs", (0, 4), (3, 8), (-1.0, -1.0))
        assert model.options == {"bos": "<b>"}


def test_a_start_mark_that_the_server_takes_for_text_is_refused() -> None:
    with serving(openai) as server, pytest.raises(ModelError, match=r"bos=<mark> should be one token and alone"):
        scorer(server, bos="<mark>")


def test_tokens_without_the_space_before_a_word_are_placed() -> None:
    def answer(body: dict[str, Any]) -> Any:
        return echoed([(token.strip(), value) for token, value in by_rule(body["prompt"])])

    with serving(answer) as server:
        assert one(scorer(server), "The dogs bark") == EXPECTED


def test_parts_of_characters_count_where_their_character_stands() -> None:
    def answer(body: dict[str, Any]) -> Any:
        if "é" not in body["prompt"]:
            return openai(body)
        return echoed([("A", None), (" caf", -1.0), (PART, -2.0), (PART, -3.0), (" now", -4.0)])

    with serving(answer) as server:
        scored = one(scorer(server), "A café now")
    assert (scored.starts, scored.ends) == ((0, 2, 5, 5, 7), (1, 5, 6, 6, 10))
    assert scored.logprob(2, 7) == -6.0


@settings(max_examples=50)
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


def test_order_company_and_repetition_do_not_matter() -> None:
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


def test_a_server_without_a_list_of_models_is_told_the_name() -> None:
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
    with pytest.raises(InputError, match="OTHER has is no key") as fault:
        scorer("http://h/v1", key="OTHER")
    assert "secret" not in str(fault.value)
    with pytest.raises(InputError, match="password") as fault:
        scorer("http://me:secret@h/v1")
    assert "secret" not in str(fault.value)


def test_a_busy_server_is_asked_again_with_growing_waits(waits: list[float]) -> None:
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
    # Hanging up on a kept connection is no reason to wait: it may only have been too old.
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
        with pytest.raises(ModelError, match=r"/v1/completions gives no answer after 4 tries: status 503: loading\."):
            model.score([Request(text) for text in ("a", "x", "b")])
        assert waits == [0.5, 1.0, 2.0]
        assert one(model, "The dogs bark") == EXPECTED  # it may be asked again
        address = server.address
    with pytest.raises(ModelError, match=f"{address}/models gives no answer.*connection refused.*Is the server run"):
        scorer(address)


def test_an_answer_that_takes_too_long_is_asked_for_again() -> None:
    enough = threading.Event()
    late = [True]

    def answer(body: dict[str, Any]) -> Any:
        if body["prompt"] == "x" and late:
            late.pop()
            enough.wait(PATIENCE)
        return openai(body)

    with serving(answer) as server:
        model = scorer(server, timeout="0.2")
        assert one(model, "x").logprobs == (None,)
        late.append(True)
        model = scorer(server, timeout="0.2", retries="0")
        with pytest.raises(ModelError, match=r"at the first try: nothing came within 0\.2 s"):
            one(model, "x")
        enough.set()


def no_logprobs(body: dict[str, Any]) -> Any:
    return {"choices": [{"text": "hello", "logprobs": None}]}


def generated_only(body: dict[str, Any]) -> Any:
    """As llama-server answers: log-probabilities of what it wrote, not of what it was given."""
    return echoed([], written="hello")


def all_none(body: dict[str, Any]) -> Any:
    return echoed([(token, None) for token, _ in by_rule(body["prompt"])])


@pytest.mark.parametrize("answer", [no_logprobs, generated_only, all_none])
def test_a_server_without_log_probabilities_of_prompts_is_found_out_at_load(
    answer: Callable[[dict[str, Any]], Any],
) -> None:
    with serving(answer) as server, pytest.raises(ModelError, match=r"no usable log-prob.*vLLM and SGLang.*logits_all"):
        scorer(server)


HOSTILE: list[tuple[Any, str]] = [
    (b"not json", "no JSON: 'not json'"),
    (b"\xff\xfe", "no JSON"),
    (b"[" * 100_000, "no JSON"),
    (b"[]", "no choices"),
    ({"choices": []}, "0 choices"),
    ({"choices": [{}, {}]}, "2 choices"),
    ({"choices": "x"}, "no choices"),
    ({"choices": [{"logprobs": {"tokens": ["x"], "token_logprobs": []}}]}, "1 tokens and 0 log-prob"),
    ({"choices": [{"logprobs": {"tokens": [1], "token_logprobs": [None]}}]}, "no text: 1"),
    ({"choices": [{"logprobs": {"tokens": ["token_id:5"], "token_logprobs": [None]}}]}, "return-tokens-as-token-ids"),
    ({"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [None, "?"]}}]}, "no number: '\\?'"),
    ({"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [None, True]}}]}, "no number: True"),
    (b'{"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [null, NaN]}}]}', "nan for a log"),
    (b'{"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [null, -1e999]}}]}', "inf for a log"),
    ({"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [None, 0.5]}}]}, "0.5 for a log"),
    (echoed([("x ", None), ("z", -1.0)]), "no token is left|does not fit"),
    (echoed([("x", None)]), "no token is left for 'yz'"),
    (echoed([("x", None), ("yz", None)]), "no log-probability for token 2 of 2"),
    (echoed([("x", None), (PART, -1.0)]), "in no way, or in several"),
    ({"choices": [{"prompt_logprobs": [None, 5]}]}, "5 for token 2"),
    ({"choices": [{"prompt_logprobs": [None, {"1": {}}]}]}, "without decoded_token"),
    ({"choices": [{"prompt_logprobs": [None, {"1": {}, "2": {}}]}]}, "names 2 tokens in place 2"),
    ({"choices": [{"prompt_logprobs": [None, {"1": {"decoded_token": "q", "logprob": -1}}]}]}, "no text, and the oth"),
    ((302, {"Location": "https://elsewhere/v1"}, b""), "sends on to https://elsewhere/v1"),
    ((400, {"message": "too long:\x1b[31m 9 > 8"}), "refuses the question, status 400: too long:�\\[31m 9 > 8"),
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
    try:
        echo = read_echo(found, written=1)
    except InputError:
        return
    assert len(echo.tokens) == len(echo.logprobs)


@pytest.mark.parametrize(
    ("address", "options", "message"),
    [
        ("localhost:8000/v1", {}, "Write it as endpoint:http://localhost:8000/v1"),
        ("http://h:port/v1", {}, "is no address"),
        ("http:///v1", {}, "is no address"),
        ("http://h/v1", {"concurrency": "0"}, "concurrency='0': write a whole number above 0"),
        ("http://h/v1", {"retries": "-1"}, "retries='-1'"),
        ("http://h/v1", {"timeout": "soon"}, "timeout='soon'"),
        ("http://h/v1", {"mode": "chat"}, "mode='chat' is not one of score, generate"),
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
        assert model.generate(["copy B1 C2", "copy B1 C2"]) == ["B1 C2", "B1 C2"]
        (asked,) = server.asked
        assert asked["prompt"] == "Q: copy A\nA: A\nQ: copy B1 C2\nA:"
        assert (asked["temperature"], asked["max_tokens"], asked["stop"]) == (0.0, 50, ["\n"])
        assert model.options["mode"] == "generate"
        assert model.options["examples"]


def test_answers_that_were_cut_off_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    with serving(lambda body: written("A B C", "length")) as server:
        assert generator(server).generate(["copy A", "copy B"]) == ["A B C", "A B C"]
    assert "did not come to an end in 2 of 2 answers" in caplog.text


def test_an_answer_without_text_is_an_error() -> None:
    fault = "the answer to 'copy A' cannot be used: it has no text"
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
        assert len(server.asked) == asked + 1  # the probe alone
        direct = scorer(server, **dict(pair.split("=", 1) for pair in options[1::2])).score(list(map(Request, texts)))
    assert said.results[0]["estimates"] == own[0]["estimates"]
    from wug.runs.opening import open_model

    same = open_model(f"causal:{folder}", dict(pair.split("=", 1) for pair in causal[1::2]))
    for left, right in zip(direct, same.score(list(map(Request, texts))), strict=True):  # type: ignore[union-attr]
        assert left.starts == right.starts
        assert all(
            (a is None and b is None) or (a is not None and b is not None and math.isclose(a, b, abs_tol=1e-4))
            for a, b in zip(left.logprobs, right.logprobs, strict=True)
        )


def test_a_server_that_is_not_there_is_a_message_of_the_command_line() -> None:
    with serving(openai) as server:
        address = server.address
    refused(wug("run", "wug_agreement_pp", "--model", f"endpoint:{address}"), address, "Is the server running")
