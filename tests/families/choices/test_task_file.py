"""lm-eval task files: the reference outputs of lm-eval 0.4.13, and what is refused."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from command_line import refused, wug
from reference import reference
from wug.errors import InputError
from wug.evaluation.models import builtin_models
from wug.evaluation.request import RunRequest
from wug.evaluation.service import execute
from wug.families.choices.task_file import read_tasks
from wug.outcomes import Outcome, Result

TASK = """task: demo
dataset_path: json
dataset_kwargs: {data_files: {test: data.jsonl}}
output_type: multiple_choice
test_split: test
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: gold
metric_list: [{metric: acc}, {metric: acc_norm}, {metric: acc_bytes}, {metric: acc_mutual_info}]
"""
ROW = {"question": "The sky is ", "choices": ["blue", "a dog"], "gold": 0}


def task(folder: Path, text: str = TASK, rows: tuple[dict[str, object], ...] = (ROW,)) -> Path:
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "task.yaml").write_text(text)
    return folder / "task.yaml"


def run(path: Path, model: str = "wug-causal", protocol: str | None = None) -> Result:
    [result] = execute(RunRequest(suites=[path], models=[model], protocol=protocol)).results
    return result


def accuracies(result: Result) -> dict[str, float]:
    return {one.metric: one.value for one in result.estimates if one.group == "all"}


def judged(result: Result) -> list[Outcome]:
    return [outcome for outcome in result.outcomes if outcome.metric == "accuracy"]


@pytest.mark.parametrize(("name", "expected"), [("demo_coord", 0.9), ("demo_places", 5 / 12)])
def test_log_probabilities_equal_those_of_lm_eval(name: str, expected: float, tmp_path: Path) -> None:
    folder = reference("exchange/lm_eval")
    model = tmp_path / "model"  # lm-eval was run with a tokenizer that adds no BOS token
    shutil.copytree(builtin_models()["wug-causal"], model)
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    (model / "tokenizer.json").write_text(json.dumps({**tokenizer, "post_processor": None}))
    result = run(folder / "task" / f"{name}.yaml", f"causal:{model}")
    [file] = (folder / "output" / "wug-causal").glob(f"samples_{name}_*.jsonl")
    samples = [json.loads(line) for line in file.read_text().splitlines()]
    ours = judged(result)
    assert len(ours) == len(samples)
    for outcome, sample in zip(ours, sorted(samples, key=lambda one: int(one["doc_id"])), strict=True):
        theirs = [float(logprob) for logprob, _ in sample["filtered_resps"]]
        assert outcome.detail["logprobs"] == pytest.approx(theirs, abs=1e-4)
        assert float(bool(outcome.value)) == sample["acc"]
    assert accuracies(result)["accuracy"] == accuracies(result)["accuracy_lm_eval"] == expected


def test_a_task_follows_lm_eval_unless_the_user_names_another_protocol(tmp_path: Path) -> None:
    path = task(tmp_path)
    assert run(path).signature.get("protocol") == "lm-eval-0.4"
    own = run(path, protocol="wug")
    assert own.signature.get("protocol") is None
    assert own.signature.get("bos") == "yes"


def test_white_space_at_the_end_of_a_context_moves_to_the_option(tmp_path: Path) -> None:
    [read] = read_tasks(task(tmp_path))
    assert [one.context for one in read.choices[0].candidates] == ["The sky is", "The sky is"]
    assert [one.option for one in read.choices[0].candidates] == ["  blue", "  a dog"]
    assert read.links == ("sum", "character", "byte", "pmi")


def test_white_space_at_the_end_of_an_option_is_scored(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    result = run(task(tmp_path, rows=({**ROW, "choices": ["blue ", "blue"]},)))
    folder = builtin_models()["wug-causal"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    before = len(tokenizer("The sky is").input_ids)
    expected = []
    for text in ("The sky is  blue ", "The sky is  blue"):
        ids = torch.tensor(tokenizer(text).input_ids)
        with torch.no_grad():
            values = model(ids[None]).logits[0].float().log_softmax(-1)[:-1].gather(-1, ids[1:, None])[:, 0]
        expected.append(float(values[before - 1 :].sum()))
    assert judged(result)[0].detail["logprobs"] == pytest.approx(expected, abs=1e-4)


def test_normalised_metrics_divide_by_the_choice_without_its_delimiter(tmp_path: Path) -> None:
    result = run(task(tmp_path, rows=({**ROW, "choices": ["blau", "grün"]},)))
    scores = {one.metric: one.detail["scores"] for one in result.outcomes if "scores" in one.detail}
    logprobs = judged(result)[0].detail["logprobs"]
    assert scores["accuracy:character"] == pytest.approx([logprobs[0] / 4, logprobs[1] / 4])
    assert scores["accuracy:byte"] == pytest.approx([logprobs[0] / 4, logprobs[1] / 5])


def test_equal_options_are_won_by_the_first_under_lm_eval_and_are_errors_under_wug(tmp_path: Path) -> None:
    path = task(tmp_path, rows=({**ROW, "choices": ["blue", "blue"]},))
    assert accuracies(run(path))["accuracy"] == 1
    own = accuracies(run(path, protocol="wug"))
    assert (own["accuracy"], own["accuracy_lm_eval"]) == (0, 1)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        (
            "doc_to_target: gold",
            "doc_to_target: !function utils.gold",
            ("line 8", "utils.gold", "never runs"),
        ),
        ("multiple_choice", "generate_until\ngeneration_kwargs: {}", ("line 4", "generate_until")),
        ("doc_to_target: gold", "doc_to_target: gold\nrepeats: 3", ("line 9", "repeats", "not supported")),
        ("doc_to_target: gold", "doc_to_target: gold\nnum_fewshot: 5", ("line 9", "num_fewshot: 0")),
        ("dataset_path: json", "dataset_path: super/hub", ("line 2", "super/hub", "data_files")),
        ("{metric: acc}, ", "{metric: bleu}, ", ("line 9", "bleu", "acc_norm")),
        ("data.jsonl", "gone.jsonl", ("line 3", "gone.jsonl")),
        ("{{question}}", "{{question.__class__.mro()}}", ("line 6", "document 1")),
        ("{{question}}", "{{missing}}", ("line 6", "missing")),
        ("doc_to_target: gold", "doc_to_target: 7", ("line 8", "document 1", "7")),
        ("task: demo", "task: [demo", ("line 2", "not YAML")),
        ("task: demo", "include: gone.yaml\ntask: demo", ("line 1", "gone.yaml")),
        ("task: demo", "include: task.yaml\ntask: demo", ("line 1", "without end")),
    ],
)
def test_what_is_not_supported_is_named_with_its_line(
    old: str, new: str, parts: tuple[str, ...], tmp_path: Path
) -> None:
    said = wug("run", task(tmp_path, TASK.replace(old, new)), "--no-save")
    refused(said, "task.yaml", *parts)


def test_a_group_runs_its_tasks_and_an_including_file_wins(tmp_path: Path) -> None:
    task(tmp_path)
    (tmp_path / "other.yaml").write_text("include: task.yaml\ntask: other\ntarget_delimiter: ''\n")
    (tmp_path / "group.yml").write_text("group: both\ntask: [demo, other]\n")
    demo, other = read_tasks(tmp_path / "group.yml")
    assert (demo.name, other.name) == ("demo", "other")
    assert other.choices[0].candidates[0].option == " blue"


def test_a_group_finds_tasks_in_quotes_next_to_files_that_need_python(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps(ROW) + "\n")
    (tmp_path / "a.yaml").write_text("task: a\ndoc_to_text: !function utils.text\n")
    (tmp_path / "b.yaml").write_text(TASK.replace("task: demo", '"task": "demo"  # quoted'))
    (tmp_path / "group.yaml").write_text("group: one\ntask: [demo]\n")
    assert [one.name for one in read_tasks(tmp_path / "group.yaml")] == ["demo"]


def test_a_set_of_the_catalogue_is_found_by_its_id_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "sets"))
    template = (
        "dataset_path: nyu-mll/blimp\noutput_type: multiple_choice\nvalidation_split: train\ndoc_to_text: ''\n"
        "doc_to_target: 0\ndoc_to_choice: '{{[sentence_good, sentence_bad]}}'\n"
    )
    (tmp_path / "_template_yaml").write_text(template)
    path = tmp_path / "causative.yaml"
    path.write_text("dataset_name: causative\ninclude: _template_yaml\ntask: blimp_causative\n")
    refused(wug("run", path, "--no-save"), "wug data get blimp/causative")
    packed = next(reference("pairs/blimp").glob("causative.jsonl*"))
    text = gzip.decompress(packed.read_bytes()) if packed.suffix == ".gz" else packed.read_bytes()
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / "causative.jsonl").write_bytes(text)
    assert wug("data", "get", "blimp/causative", "--from", tmp_path / "copies").code == 0
    [task] = read_tasks(path)
    first = json.loads(text.splitlines()[0])
    assert [one.words for one in task.choices[0].candidates] == [first["sentence_good"], first["sentence_bad"]]
    assert len(task.choices) == 1000
    path.write_text(path.read_text().replace("causative\ninc", "no_paradigm\ninc"))
    refused(wug("run", path, "--no-save"), "line 1", "nyu-mll/blimp", "data_files")


def test_whole_numbers_of_a_csv_file_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("question,a,b,gold\nThe sky is,blue,red,2\n")
    text = TASK.replace("json", "csv").replace("data.csvl", "data.csv").replace("{{choices}}", "{{[a, b]}}")
    (tmp_path / "task.yaml").write_text(text.replace("gold", '"{{gold - 1}}"'))
    [read] = read_tasks(tmp_path / "task.yaml")
    assert read.choices[0].right == 1


def test_yaml_that_is_not_a_task_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: gpt2\n")
    refused(wug("run", tmp_path / "config.yaml", "--no-save"), "YAML")
    (tmp_path / "list.yaml").write_text("- task: a\ntask : 1\n")
    with pytest.raises(InputError):
        read_tasks(tmp_path / "list.yaml")
