"""The editor's addresses, asked without a browser."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from browsing import client_of
from job_helpers import ended, shared
from reference import reference
from wug import registry
from wug.families import syntaxgym
from wug.web.editor import suite_editors
from wug.web.jobs import job_queue
from wug.web.site import Site

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def _one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.web.jobs.JobQueue", shared)


def suite(name: str = "agreement", **other: Any) -> dict[str, Any]:
    rows = {"match": ["The boy", "swims", "today ."], "mismatch": ["The boy", "swim", "today ."]}
    return {
        "meta": {"name": name, "metric": "sum"},
        "region_meta": {"1": "subject", "2": "verb", "3": "rest"},
        "predictions": ["(2;%match%) < (2;%mismatch%)"],
        "items": [
            {
                "item_number": 1,
                "conditions": [
                    {
                        "condition_name": condition,
                        "regions": [{"region_number": n, "content": text} for n, text in enumerate(texts, 1)],
                    }
                    for condition, texts in rows.items()
                ],
            }
        ],
        **other,
    }


@pytest.fixture
def ask(site: Site, client: TestClient) -> Callable[..., Any]:
    """Send JSON with the page's token; the answer."""

    def send(method: str, address: str, given: Any = None, **more: Any) -> Any:
        return client.request(method, address, json=given, headers={"x-wug-token": site.csrf_token}, **more)

    return send


@pytest.fixture
def draft(ask: Callable[..., Any]) -> Callable[..., str]:
    """Make a draft of a suite; its address."""

    def make(document: dict[str, Any]) -> str:
        address = str(ask("POST", "/editor/new.json", {"from": "blank"}).json()["address"])
        answer = ask("PUT", f"{address}/draft.json", {"document": document, "changed": 1, "seen": 1})
        assert answer.status_code == 200, answer.text
        return address

    return make


def checked(ask: Callable[..., Any], document: dict[str, Any]) -> dict[str, Any]:
    given = {"document": document, "formulas": document["predictions"]}
    found: dict[str, Any] = ask("POST", "/editor/check.json", given).json()
    return found


def test_the_first_page_lists_drafts_builtin_suites_and_files(
    site: Site, client: TestClient, draft: Callable[..., str]
) -> None:
    (site.folders[0] / "mine.json").write_text(json.dumps(suite()))
    (site.folders[0] / "other.json").write_text('{"something": "else"}')
    address = draft(suite(HOSTILE))
    page = client.get("/editor").text
    assert address in page
    assert "wug_filler_gap" in page
    assert f"file:{site.folders[0]}/mine.json" in page
    assert "other.json" not in page
    assert HOSTILE not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_a_draft_that_was_saved_is_listed_once(site: Site, client: TestClient, draft: Callable[..., str]) -> None:
    address = draft(suite("my suite"))
    (site.folders[0] / "my_suite.json").write_text(json.dumps(suite("my suite")))
    page = client.get("/editor").text
    assert address in page
    assert "saved as <code>my_suite.json</code>" in page
    assert "file:" not in page


def test_drafts_are_no_files_to_open(site: Site, draft: Callable[..., str]) -> None:
    address = draft(suite("mine"))
    around = replace(site, folders=(site.store.path.parent,))
    page = client_of(around).get("/editor").text
    assert address in page
    assert "file:" not in page


def test_a_write_without_the_token_is_refused(client: TestClient) -> None:
    assert client.post("/editor/new.json", json={"from": "blank"}).status_code == 403
    assert client.put("/editor/0123456789ab/draft.json", json={}).status_code == 403


@pytest.mark.parametrize("source", ["blank", "2x2", "builtin:wug_reflexive"])
def test_a_suite_is_begun_from_nothing_a_design_or_a_builtin_suite(ask: Callable[..., Any], source: str) -> None:
    address = ask("POST", "/editor/new.json", {"from": source}).json()["address"]
    found = ask("GET", f"{address}/draft.json").json()
    assert found["revision"] == 1
    assert set(found["document"]) == {"meta", "region_meta", "predictions", "items"}
    assert ask("GET", address).status_code == 200


def test_the_design_needs_only_a_name_to_be_ready(ask: Callable[..., Any]) -> None:
    address = ask("POST", "/editor/new.json", {"from": "2x2"}).json()["address"]
    document = ask("GET", f"{address}/draft.json").json()["document"]
    assert [problem["places"][0]["field"] for problem in checked(ask, document)["problems"]] == ["name"]
    document["meta"]["name"] = "x"
    assert checked(ask, document)["problems"] == []


@pytest.mark.parametrize("source", ["file:/etc/passwd", "file:../store", "file:nothing.json", "builtin:no", "who", ""])
def test_what_cannot_be_opened_is_an_error_that_says_so(ask: Callable[..., Any], source: str) -> None:
    answer = ask("POST", "/editor/new.json", {"from": source})
    assert answer.status_code in (400, 403)
    assert answer.json()["error"]


def test_a_file_outside_the_folders_is_not_opened_through_a_link(site: Site, ask: Callable[..., Any]) -> None:
    outside = site.folders[0].parent / "secret.json"
    outside.write_text(json.dumps(suite("secret")))
    (site.folders[0] / "link.json").symlink_to(outside)
    assert ask("POST", "/editor/new.json", {"from": f"file:{site.folders[0]}/link.json"}).status_code == 403


def test_a_missing_draft_gives_404(ask: Callable[..., Any]) -> None:
    assert ask("GET", "/editor/0123456789ab/draft.json").status_code == 404
    assert ask("GET", "/editor/..%2fwug/draft.json").status_code in (400, 404)


def test_a_draft_changed_elsewhere_is_sent_along_with_the_refusal(
    ask: Callable[..., Any], draft: Callable[..., str]
) -> None:
    address = draft(suite("theirs"))
    answer = ask("PUT", f"{address}/draft.json", {"document": suite("mine"), "changed": 2, "seen": 1})
    assert answer.status_code == 409
    assert answer.json()["theirs"]["document"]["meta"]["name"] == "theirs"


@pytest.mark.parametrize("given", [{}, {"document": []}, {"document": {"meta": {}}}, [], "x"])
def test_what_is_not_a_suite_is_not_kept(ask: Callable[..., Any], given: Any) -> None:
    answer = ask("PUT", "/editor/0123456789ab/draft.json", given)
    assert answer.status_code == 400
    assert ask("GET", "/editor/0123456789ab/draft.json").status_code == 404


def test_a_discarded_draft_is_gone(ask: Callable[..., Any], draft: Callable[..., str]) -> None:
    address = draft(suite())
    assert ask("DELETE", f"{address}/draft.json", {}).status_code == 200
    assert ask("GET", f"{address}/draft.json").status_code == 404


def test_a_good_prediction_is_read_back_in_english(ask: Callable[..., Any]) -> None:
    (found,) = checked(ask, suite())["predictions"]
    assert found["english"] == "region 2 (verb) is less surprising in match than in mismatch"


def test_a_faulty_prediction_has_a_caret_under_its_fault(ask: Callable[..., Any]) -> None:
    document = suite(predictions=["(2;%match%) < (2;%mismach%)"])
    said = checked(ask, document)
    (found,) = said["predictions"]
    assert found["error"] == "unknown condition 'mismach'. Did you mean 'mismatch'?"
    assert found["caret"] == "(2;%match%) < (2;%mismach%)\n                 ^^^^^^^^^"
    (problem,) = said["problems"]
    assert problem["places"][0]["prediction"] == 0


def test_problems_name_the_cell_that_they_are_about(ask: Callable[..., Any]) -> None:
    document = suite()
    document["items"][0]["conditions"][1]["regions"][2]["content"] = " today ."
    (problem,) = checked(ask, document)["problems"]
    assert problem["level"] == "warning"
    place = problem["places"][0]
    assert (place["item"], place["row"], place["region"]) == (0, 1, 2)


def test_the_same_problem_of_many_sentences_is_said_once(ask: Callable[..., Any]) -> None:
    document = suite(predictions=[])
    for condition in document["items"][0]["conditions"]:
        for region in condition["regions"]:
            region["content"] = ""
    (problem,) = checked(ask, document)["problems"]
    assert (problem["message"], problem["count"]) == ("the sentence has no text", 2)
    assert [place["row"] for place in problem["places"]] == [0, 1]


def test_a_family_from_another_package_does_not_replace_the_editor_of_new_suites(
    ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "aardvark"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "editor.py").write_text("DESIGNS = {}\n")
    entries = [EntryPoint("aardvark", "aardvark", "wug.families")]
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        patch.setattr(registry, "entry_points", lambda group: entries if group == "wug.families" else [])
        registry._entry_points.cache_clear()
        suite_editors.cache_clear()
        assert "aardvark" in suite_editors()
        answer = ask("POST", "/editor/new.json", {"from": "blank"})
    registry._entry_points.cache_clear()
    suite_editors.cache_clear()
    assert answer.status_code == 200, answer.text


def test_the_json_that_is_downloaded_is_the_draft(ask: Callable[..., Any], draft: Callable[..., str]) -> None:
    document = suite("naïve suite")
    answer = ask("GET", f"{draft(document)}/suite.json")
    assert answer.json() == document
    assert "filename*=UTF-8''na%C3%AFve_suite.json" in answer.headers["content-disposition"]


def test_the_table_that_is_downloaded_can_be_opened_again(
    site: Site, ask: Callable[..., Any], draft: Callable[..., str]
) -> None:
    document = suite(predictions=["no formula at all"])
    answer = ask("GET", f"{draft(document)}/suite.csv")
    headers = {"x-wug-token": site.csrf_token, "x-file-name": quote("agreement.csv")}
    client = client_of(site)
    address = client.post("/editor/upload.json", content=answer.content, headers=headers).json()["address"]
    found = client.get(f"{address}/draft.json").json()["document"]
    assert found["items"] == document["items"]
    assert found["region_meta"] == document["region_meta"]
    assert found["meta"] == document["meta"]
    assert found["predictions"] == [{"type": "formula", "formula": "no formula at all"}]


def test_a_wide_table_is_read_alike_from_a_file_and_when_pasted(site: Site, ask: Callable[..., Any]) -> None:
    table = "# prediction: (verb;%a%) < (verb;%b%)\nitem,condition,subj,verb\n1,a,The boy,swims\n1,b,The boy,swim\n"
    how = (
        "Read as a wide table: 2 conditions × 1 item, regions subj, verb; 1 prediction; first sentence: The boy swims."
    )
    headers = {"x-wug-token": site.csrf_token, "x-file-name": "mine.csv"}
    client = client_of(site)
    address = client.post("/editor/upload.json", content=table, headers=headers).json()["address"]
    opened = client.get(f"{address}/draft.json").json()
    pasted = ask("POST", "/editor/table.json", {"text": table}).json()
    assert opened["origin"] == f"mine.csv {how}"
    assert pasted["notes"] == [how]
    assert opened["document"]["items"] == pasted["document"]["items"]
    assert opened["document"]["meta"]["name"] == "mine"
    (site.folders[0] / "wide.csv").write_text(table)
    assert "wide.csv" in client.get("/editor").text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,condition,a\n1,x,one\n1,x,two\n", "line 3: item 1 has the condition 'x' twice"),
        ("a,b\n1,2\n", "line 1: not a SyntaxGym suite: no column 'item_number'"),
        ("item_number,condition_name,region_number,content\n1,a,2,x\n", "numbered from 1 without gaps"),
        (7, "'text' should be a table"),
    ],
)
def test_a_table_with_faults_is_refused_with_their_lines(ask: Callable[..., Any], text: Any, said: str) -> None:
    answer = ask("POST", "/editor/table.json", {"text": text})
    assert answer.status_code == 400
    assert said in answer.json()["error"]
    assert "/tmp" not in answer.json()["error"]


def test_a_table_that_cannot_be_written_yet_says_why(ask: Callable[..., Any], draft: Callable[..., str]) -> None:
    document = suite()
    document["items"][0]["conditions"][0]["condition_name"] = "50%"
    answer = ask("GET", f"{draft(document)}/suite.csv")
    assert answer.status_code == 400
    assert "cannot contain % or ;" in answer.json()["error"]
    assert "/tmp" not in answer.json()["error"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_from_the_disk_is_opened(site: Site, client: TestClient, packed: bool) -> None:
    data = json.dumps(suite("mine", more={"a": [1.5, None]})).encode()
    headers = {"x-wug-token": site.csrf_token, "x-file-name": quote("näh.json.gz" if packed else "näh.json")}
    content = gzip.compress(data) if packed else data
    address = client.post("/editor/upload.json", content=content, headers=headers).json()["address"]
    assert client.get(f"{address}/draft.json").json()["document"] == suite("mine", more={"a": [1.5, None]})


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b"{", "not valid JSON"),
        ("a.json", b"[]", "not a SyntaxGym suite"),
        ("a.json", b'{"meta": {"name": "x"}}', "'region_meta' is missing"),
        ("a.json", json.dumps({**suite(), "items": 3}).encode(), "items"),
        ("a.csv", b"a,b\n1,2\n", "no column"),
        ("a.exe", b"MZ", "is not a suite file: .json, .csv, .tsv"),
        ("../../a.json", b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_file_that_is_no_suite_says_why(site: Site, client: TestClient, name: str, content: bytes, said: str) -> None:
    headers = {"x-wug-token": site.csrf_token, "x-file-name": quote(name)}
    answer = client.post("/editor/upload.json", content=content, headers=headers)
    assert answer.status_code == 400
    assert said in answer.json()["error"]
    assert "/tmp" not in answer.json()["error"]


def test_missing_regions_are_added_with_a_message(site: Site, client: TestClient) -> None:
    document = suite()
    del document["items"][0]["conditions"][0]["regions"][2]
    headers = {"x-wug-token": site.csrf_token, "x-file-name": "a.json"}
    address = client.post("/editor/upload.json", content=json.dumps(document), headers=headers).json()["address"]
    found = client.get(f"{address}/draft.json").json()
    assert found["document"]["items"][0]["conditions"][0]["regions"][2] == {"region_number": 3, "content": ""}
    assert "were added, empty" in found["origin"]


def test_a_suite_with_a_faulty_prediction_opens_to_be_mended(site: Site, client: TestClient) -> None:
    document = suite(predictions=["(2;%match%) <"])
    headers = {"x-wug-token": site.csrf_token, "x-file-name": "a.json"}
    assert client.post("/editor/upload.json", content=json.dumps(document), headers=headers).status_code == 200


def test_saving_never_writes_over_a_file_without_being_told_to(
    site: Site, ask: Callable[..., Any], draft: Callable[..., str]
) -> None:
    address = draft(suite("new"))
    path = site.folders[0] / "there.json"
    path.write_text("precious")
    where = {"folder": str(site.folders[0]), "name": "there.json"}
    answer = ask("POST", f"{address}/save.json", where)
    assert answer.status_code == 409
    assert path.read_text() == "precious"
    assert ask("POST", f"{address}/save.json", {**where, "overwrite": True}).status_code == 200
    assert json.loads(path.read_text()) == suite("new")
    assert ask("POST", f"{address}/save.json", where).status_code == 200, "nothing would change"


@pytest.mark.parametrize(("name", "saved"), [("a.json", "a.json"), ("b", "b.json"), ("deep/c.csv", "deep/c.csv")])
def test_a_suite_is_saved_under_its_name(
    site: Site, ask: Callable[..., Any], draft: Callable[..., str], name: str, saved: str
) -> None:
    answer = ask("POST", f"{draft(suite())}/save.json", {"folder": str(site.folders[0]), "name": name})
    path = site.folders[0].resolve() / saved
    assert answer.json() == {"path": str(path), "digest": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert len(syntaxgym.read(site.folders[0] / saved, {})[0].items) == 1


@pytest.mark.parametrize("name", ["../out.json", "/tmp/out.json", "a/../../out.json", "", "x\0.json", "run.sh"])
def test_nothing_is_saved_outside_the_folders(
    site: Site, ask: Callable[..., Any], draft: Callable[..., str], name: str
) -> None:
    answer = ask("POST", f"{draft(suite())}/save.json", {"folder": str(site.folders[0]), "name": name})
    assert answer.status_code in (400, 403)
    assert not list(site.folders[0].parent.glob("**/out.json*"))
    outside = ask("POST", f"{draft(suite())}/save.json", {"folder": str(site.folders[0].parent), "name": "out.json"})
    assert outside.status_code == 403


def test_scoring_asks_only_models_of_the_page(ask: Callable[..., Any], draft: Callable[..., str]) -> None:
    answer = ask("POST", f"{draft(suite())}/score.json", {"model": "command:rm -r"})
    assert answer.status_code == 400
    assert "not one of the models" in answer.json()["error"]


def test_a_draft_is_scored_and_its_run_shown(site: Site, tiny_causal: Callable[..., Path]) -> None:
    site = replace(site, models=(str(tiny_causal()),))
    client = client_of(site)
    headers = {"x-wug-token": site.csrf_token}
    address = client.post("/editor/new.json", json={"from": "2x2"}, headers=headers).json()["address"]
    document = client.get(f"{address}/draft.json").json()["document"]
    document["meta"]["name"] = "two by two"
    client.put(f"{address}/draft.json", json={"document": document, "changed": 2, "seen": 1}, headers=headers)
    started = client.post(f"{address}/score.json", json={"model": site.models[0]}, headers=headers).json()
    job = job_queue(site).find(started["id"])
    assert job is not None
    ended(job)
    state = client.get(f"/editor/jobs/{job.id}.json").json()
    assert (state["stage"], state["error"]) == ("done", None)
    shown = client.get(f"/editor/runs/{state['run']}.json").json()
    assert [row["name"] for row in shown["metrics"]] == ["prediction 1", "prediction 2", "all predictions"]
    assert shown["metrics"][0]["formula"] == document["predictions"][0]
    cells = shown["items"]["1"]["conditions"]["match_sing"]
    assert [cell["content"] for cell in cells] == ["The boy", "near the dogs", "swims", "today ."]
    assert all(float(cell["text"]) > 0 for cell in cells)
    assert site.reader.run(state["run"]).command == f"wug run two_by_two.json --model {site.models[0]}"


def test_a_suite_with_faults_is_not_scored_but_told_why(
    site: Site, ask: Callable[..., Any], draft: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = replace(site, models=("some",))
    client = client_of(site)
    address = draft(suite(predictions=["(2;%match%) < (9;%match%)"]))
    answer = client.post(f"{address}/score.json", json={"model": "some"}, headers={"x-wug-token": site.csrf_token})
    assert answer.status_code == 400
    assert "unknown region 9" in answer.json()["error"]
    assert "^" in answer.json()["error"]
    assert "/tmp" not in answer.json()["error"]


def test_a_job_of_before_the_restart_says_so(ask: Callable[..., Any]) -> None:
    answer = ask("GET", "/editor/jobs/0123456789abcdef.json")
    assert answer.status_code == 404
    assert "Score again" in answer.json()["error"]


def test_every_published_suite_opens_and_is_saved_back_without_loss(site: Site) -> None:
    folder = reference("syntaxgym/suites")
    site = replace(site, folders=(folder, *site.folders))
    client = client_of(site)
    headers = {"x-wug-token": site.csrf_token}
    paths = sorted(folder.glob("*.json"))
    assert len(paths) == 34
    for path in paths:
        address = client.post("/editor/new.json", json={"from": f"file:{path}"}, headers=headers).json()["address"]
        where = {"folder": str(site.folders[1]), "name": path.name}
        assert client.post(f"{address}/save.json", json=where, headers=headers).status_code == 200
        saved = site.folders[1] / path.name
        assert json.loads(saved.read_text()) == json.loads(path.read_text())
        before, after = syntaxgym.read(path, {})[0], syntaxgym.read(saved, {})[0]
        assert before.checksum == after.checksum
