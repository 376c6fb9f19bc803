"""Try a sentence, without a browser."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from browsing import client_of
from job_helpers import shared
from tiny_masked import save_masked
from wug.requests import Scored, Token
from wug.web.jobs import JobQueue
from wug.web.pages.sentence import align, first_difference, score_panel, token_candidates
from wug.web.site import Site

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def _one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.web.jobs.JobQueue", shared)


def scored(text: str, *bits: float | None) -> Scored:
    tokens, start = [], 0
    for word, value in zip(text.split(), bits, strict=True):
        start = text.index(word, start)
        tokens.append(Token(word, start, start + len(word), None if value is None else -value * math.log(2)))
        start += len(word)
    return Scored.of(text, tokens)


def client_with(site: Site, *models: object) -> tuple[Site, TestClient]:
    asked = replace(site, models=tuple(map(str, models)))
    return asked, client_of(asked)


def page(client: TestClient, texts: list[str], models: list[str]) -> str:
    return client.get("/sentence?" + urlencode([*(("s", text) for text in texts), *(("m", m) for m in models)])).text


def answered(client: TestClient, texts: list[str], models: list[str]) -> str:
    """The page when no answer is missing any more; each look waits for one."""
    for _ in range(200):
        if "data-waiting" not in (found := page(client, texts, models)):
            break
    return found


def test_totals_differences_and_the_first_difference() -> None:
    shown = score_panel("m", [scored("the boy swims", 1, 2, 3), scored("the boy swim", 1, 2, 6.5)])
    first, second = shown.lines
    assert (first.total, first.mean, first.change, first.is_least) == ("6.0", "2.0", "", True)
    assert (second.total, second.change, second.is_least) == ("9.5", "+3.5", False)
    assert [piece.differs for piece in second.pieces] == [False, False, True]
    assert [(piece.text, piece.bits, piece.shade) for piece in first.pieces] == [
        ("the", "1.0", "s0"), ("boy", "2.0", "s1"), ("swims", "3.0", "s1"),
    ]  # fmt: skip
    assert shown.verdict == "Sentence 1 is less surprising, by 3.5 bits."


def test_a_token_without_a_probability_is_counted_and_shown_as_none() -> None:
    (line,) = score_panel("m", [scored("the boy", None, 2)]).lines
    assert (line.pieces[0].bits, line.pieces[0].shade, line.unscored, line.mean) == ("–", "sx", 1, "2.0")


def test_a_token_of_no_probability_at_all_is_infinite() -> None:
    shown = score_panel("m", [scored("the", math.inf), scored("boy", 1)])
    assert [(line.total, line.change) for line in shown.lines] == [("∞", ""), ("1.0", "–")]
    assert shown.lines[0].pieces[0].shade == "s9"


def test_the_same_sentence_twice_differs_nowhere() -> None:
    one = scored("the boy", 1, 2)
    shown = score_panel("m", [one, one])
    assert first_difference([one.tokens, one.tokens]) is None
    assert shown.verdict == "All sentences are equally surprising."
    assert not any(line.is_least for line in shown.lines)


def test_a_sentence_that_goes_on_differs_where_the_other_ends() -> None:
    assert first_difference([scored("the boy", 1, 1).tokens, scored("the boy swims", 1, 1, 1).tokens]) == 2


def test_a_piece_of_a_word_is_joined_to_the_one_before() -> None:
    text = Scored.of("swims", [Token("swim", 0, 4, -1.0), Token("s", 4, 5, -1.0)])
    assert [piece.joined for piece in score_panel("m", [text]).lines[0].pieces] == [False, True]


def test_without_models_the_page_says_how_to_name_one(client: TestClient) -> None:
    assert "wug view --model" in client.get("/sentence").text


@pytest.mark.parametrize(
    ("texts", "models", "said"),
    [
        (["a"], ["other"], "is not one of the models"),
        (["a"], [], "Choose a model"),
        (["a"] * 13, ["some"], "too many"),
        (["a" * 2001], ["some"], "more than 2000 characters"),
    ],
)
def test_what_cannot_be_asked_is_said(site: Site, texts: list[str], models: list[str], said: str) -> None:
    _, client = client_with(site, "some")
    assert said in page(client, texts, models)


def test_two_sentences_are_scored_by_two_models_and_the_address_restores_the_page(
    site: Site, tiny_causal: Callable[..., Path], tmp_path: Path
) -> None:
    masked = save_masked(tmp_path / "masked")
    asked, client = client_with(site, tiny_causal(), f"masked:{masked}")
    texts = ["the boy swims .", f"the boy swim {HOSTILE}"]
    found = answered(client, texts, list(asked.models))
    assert found.count('<ol class="scored">') == 2, found
    assert found.count("first difference") >= 4
    assert HOSTILE not in found
    assert page(client, texts, list(asked.models)) == found
    state = client.get("/sentence/state.json", params={"s": texts, "m": asked.models[0]}).json()
    assert state["done"] is True


def test_a_model_that_cannot_be_loaded_is_one_message_and_is_tried_again(site: Site, tmp_path: Path) -> None:
    _, client = client_with(site, tmp_path / "nowhere")
    found = page(client, ["a b"], [str(tmp_path / "nowhere")])
    assert 'role="alert"' in found
    assert "Traceback" not in found
    (tmp_path / "nowhere").mkdir()
    assert 'role="alert"' in page(client, ["a b"], [str(tmp_path / "nowhere")])


def test_a_process_that_dies_is_one_message_and_the_next_question_is_answered(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = JobQueue(
        (sys.executable, str(Path(__file__).parents[1] / "stand_in_worker.py"), str(tmp_path / "loads.txt"))
    )
    monkeypatch.setattr("wug.web.jobs.JobQueue", lambda: jobs)
    _, client = client_with(site, "leaving", "words")
    found = answered(client, ["the boy"], ["leaving"])
    assert found.count('role="alert"') == 1
    assert "the process that runs leaving exited with code 3" in found
    assert '<ol class="scored">' in answered(client, ["the boy"], ["words"])
    jobs.close()


def test_a_page_of_another_site_cannot_make_a_model_work(site: Site) -> None:
    _, client = client_with(site, "causal:nowhere")
    query = urlencode({"s": "the boy", "m": "causal:nowhere"})
    found = client.get(f"/sentence?{query}", headers={"sec-fetch-site": "cross-site"}).text
    assert "Press Score" in found
    assert 'value="the boy"' in found
    assert client.get(f"/sentence/state.json?{query}").json()["models"] == [{"model": "causal:nowhere"}]


def test_entropy_and_rank_stand_with_each_token() -> None:
    given = Scored("a b", (0, 2), (1, 3), (-1.0, -2.0), entropies=(None, 3 * math.log(2)), ranks=(None, 1234))
    first, second = score_panel("m", [given]).lines[0].pieces
    assert (first.place, first.entropy, first.rank) == (0, "", "")
    assert (second.place, second.entropy, second.rank) == (1, "3.0", "1,234")


def test_candidates_have_bits_and_percent() -> None:
    found = token_candidates([Token(" dog", 0, 0, math.log(0.25)), Token(" ", 0, 0, math.log(0.0625))])
    assert found == [
        {"text": "dog", "bits": "2.0", "percent": "25.0"},
        {"text": "␣", "bits": "4.0", "percent": "6.2"},
    ]


def likeliest(asked: Site, client: TestClient, given: object) -> Any:
    return client.post("/sentence/likeliest.json", json=given, headers={"x-wug-token": asked.csrf_token})


def test_the_likeliest_tokens_come_from_the_model(site: Site, tiny_causal: Callable[..., Path]) -> None:
    asked, client = client_with(site, tiny_causal())
    given = {"text": "the boy swims", "model": asked.models[0], "token": 1}
    for _ in range(200):
        if (said := likeliest(asked, client, given).json())["done"]:
            break
    assert said["error"] == ""
    assert len(said["tokens"]) == 10
    assert client.post("/sentence/likeliest.json", json=given).status_code == 403, "without the page's token"


@pytest.mark.parametrize(
    "given",
    [{}, {"text": "a", "model": "other", "token": 0}, {"text": "", "token": 0}, {"text": 3, "token": 0},
     {"text": "a", "token": -1}, {"text": "a", "token": True}, {"text": "a", "token": "0"},
     {"text": "a" * 3000, "token": 0}],
)  # fmt: skip
def test_a_question_for_likeliest_tokens_that_makes_no_sense_is_refused(
    site: Site, tiny_causal: Callable[..., Path], given: dict[str, Any]
) -> None:
    asked, client = client_with(site, tiny_causal())
    answer = likeliest(asked, client, {"model": asked.models[0], **given})
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_tokens_are_aligned_and_their_difference_is_in_bits() -> None:
    found = list(
        align(scored("the boys swim here", 1, 2, 3, 4), scored("the boys over there swim here", 1, 2, 5, 6, 4.5, 4))
    )
    assert [(one.first, one.second, one.text) for one in found] == [
        ("the", "the", ""),
        ("boys", "boys", ""),
        ("", "over", ""),
        ("", "there", ""),
        ("swim", "swim", "+1.5"),
        ("here", "here", ""),
    ]
    assert found[0].shade == ""
    assert found[4].shade
