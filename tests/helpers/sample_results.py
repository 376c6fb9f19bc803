"""Sample results of every family, and one of the size of BLiMP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wug import stats
from wug.outcomes import Estimate, Metric, Outcome, Result, Signature
from wug.results.store import Store, run_key

HOSTILE = "<img src=x onerror=alert(1)>"
MODEL = "causal/gpt2@607a30d"


def syntaxgym(suite: str = "number_prep", items: int = 6, model: str = MODEL) -> Result:
    """Items whose verb is less surprising where it agrees; every third one fails."""
    outcomes: list[Outcome] = []
    for number in range(1, items + 1):
        fails = number % 3 == 0
        regions = {"match": 4.0 + number / 10, "mismatch": 3.0 if fails else 9.5 + number / 10}
        compared = {
            "formula": "(2;%mismatch%) > (2;%match%)", "left": regions["mismatch"], "operator": ">",
            "right": regions["match"], "holds": not fails,
        }  # fmt: skip
        margin = regions["mismatch"] - regions["match"]
        detail = {"margin": margin, "comparisons": [compared]}
        outcomes.append(Outcome(str(number), "prediction_0", not fails, {}, detail))
        conditions = {
            name: {
                "sentence": f"The author {verb}",
                "regions": [
                    {"number": 1, "content": "The author", "value": 11.0, "tokens": [["The", 2.5], [" author", 8.5]]},
                    {"number": 2, "content": verb, "value": bits, "tokens": [[verb, bits]]},
                ],
            }
            for (name, bits), verb in zip(regions.items(), ("laughs", "laugh"), strict=True)
        }
        outcomes.append(Outcome(str(number), "all_predictions", not fails, {}, {"conditions": conditions}))
    english = "the verb is more surprising in mismatch than in match"
    formula = {
        "source": "((2;%mismatch%) > (2;%match%))",
        "canonical": "(2;%mismatch%) > (2;%match%)",
        "english": english,
        "regions": [[2, "mismatch"], [2, "match"]],
    }
    return Result(
        suite=suite, kind="syntaxgym", model=model, status="complete",
        signature=Signature.read(f"wug:0|suite:{suite}@1|unit:bits"),
        n=items, estimates=tuple(stats.estimates(outcomes)), warnings=("item 2 has a region with a trailing space",),
        outcomes=tuple(outcomes),
        metrics=(Metric("prediction_0", meaning=english), Metric("all_predictions", meaning="every prediction holds")),
        meta={"regions": {"1": "subject", "2": "verb"}, "formulas": [formula], "metric": ["sum"],
              "phenomenon": "Agreement", "description": "The verb agrees with its subject."},
    )  # fmt: skip


def pairs(suite: str = "reflexives", items: int = 60, model: str = MODEL, paradigms: int = 2) -> Result:
    """Pairs of several paradigms; every fourth one fails, the last is not judged."""
    outcomes = list(_pairs(items, paradigms))
    return Result(
        suite=suite, kind="pairs", model=model, status="complete",
        signature=Signature.read(f"wug:0|suite:{suite}@2|normalise:none"),
        n=items, estimates=tuple(stats.estimates(outcomes)), outcomes=tuple(outcomes),
        metrics=(Metric("accuracy", meaning="the grammatical sentence has the higher log-probability"),),
    )  # fmt: skip


def _pairs(items: int, paradigms: int) -> Iterator[Outcome]:
    for number in range(items):
        paradigm = number * paradigms // items
        groups = {"paradigm": f"paradigm_{paradigm}", "term": f"term_{paradigm % 13}", "field": "syntax"}
        detail = {
            "good": f"Many girls insulted themselves {number}.",
            "bad": f"Many girls insulted herself {number}.",
            "logprob_good": -20.5 - number % 7,
            "logprob_bad": -20.5 - number % 7 + (1.5 if number % 4 == 0 else -3.25),
        }
        if number == items - 1:
            yield Outcome(str(number), "accuracy", None, groups, {**detail, "why": "no token begins in the target"})
        else:
            yield Outcome(str(number), "accuracy", number % 4 != 0, groups, detail)


def words(suite: str = "word_probs", model: str = MODEL) -> Result:
    """One pair, word by word."""
    detail = {
        "good": "She laughs .", "bad": "She laugh .", "logprob_good": -5.0, "logprob_bad": -9.0,
        "words_good": [["She", -1.0], ["laughs", -3.0], [".", -1.0]],
        "words_bad": [["She", -1.0], ["laugh", -7.0], [".", None]],
    }  # fmt: skip
    outcome = Outcome("1", "accuracy", True, {"pattern": "simple"}, detail)
    return Result(
        suite, "pairs", model, "complete", Signature.read("wug:0"), 1, tuple(stats.estimates([outcome])), (), (outcome,)
    )


def localism(suite: str = "localism", model: str = MODEL) -> Result:
    """Two samples: one whose first step goes wrong, one that is right."""
    outcomes: list[Outcome] = []
    for item, first in (("1", "A C"), ("2", "B A")):
        steps = [
            {"source": "reverse A B", "inputs": ["A B"], "answer": first, "right": "B A", "diverges": first != "B A"},
            {"source": f"copy {first}", "inputs": [0], "answer": first, "right": first, "diverges": False},
        ]
        detail = {"source": "copy reverse A B", "target": "B A", "answer": "B A", "steps": steps}
        groups = {"function": "copy", "steps": "2", "depth": "2"}
        outcomes.append(Outcome(item, "consistency", first == "B A", groups, detail))
        outcomes.append(Outcome(item, "unrolled_accuracy", first == "B A", groups))
        outcomes.append(Outcome(item, "original_accuracy", True, groups))
    return _made(suite, "pcfgset", model, outcomes)


def substitutivity(suite: str = "substitutivity", model: str = MODEL) -> Result:
    """A pair of synonyms with equal outputs, and one with different outputs."""
    outcomes: list[Outcome] = []
    for item, second in (("1", "A B"), ("2", "A A")):
        groups = {"function": "swap_first_last" if item == "2" else "copy"}
        detail = {"source": "copy A B", "twin": "copy_syn A B", "target": "A B", "answer": "A B", "twin_answer": second}
        values = {
            "accuracy_original": True, "accuracy_twin": second == "A B", "consistency": second == "A B",
            "consistent_correct": second == "A B", "consistent_incorrect": False,
        }  # fmt: skip
        for metric, value in values.items():
            outcomes.append(Outcome(item, metric, value, groups, detail if metric == "consistency" else {}))
    return _made(suite, "pcfgset", model, outcomes)


def overgeneralisation(suite: str = "overgeneralisation", model: str = MODEL) -> Result:
    """Exceptions answered by the rules, as an exception, and otherwise."""
    outcomes: list[Outcome] = []
    for item, answer in (("1", "A B"), ("2", "B B"), ("3", "C")):
        detail = {"source": "copy A B", "original": "A B", "exception": "B B", "answer": answer}
        groups = {"pair": "reverse echo", "functions": "2"}
        outcomes.append(Outcome(item, "overgeneralisation", answer == "A B", groups, detail))
        outcomes.append(Outcome(item, "memorisation", answer == "B B", groups))
    return _made(suite, "pcfgset", model, outcomes)


def plain(suite: str = "systematicity", model: str = MODEL) -> Result:
    """A right and a wrong answer."""
    outcomes = [
        Outcome(item, "accuracy", answer == "A B", {"function": "copy", "depth": item},
                {"source": "copy A B", "target": "A B", "answer": answer})
        for item, answer in (("1", "A B"), ("2", "A"))
    ]  # fmt: skip
    return _made(suite, "pcfgset", model, outcomes)


def cogs(suite: str = "cogs_gen", model: str = MODEL) -> Result:
    """A right line, a line with a wrong role, a line that breaks off."""
    gold = "* cat ( x _ 1 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , Emma )"
    answers = (
        ("prim_to_subj_common", gold),
        ("subj_to_obj_common", gold.replace("theme", "recipient")),
        ("pp_recursion", "* cat ("),
    )
    outcomes: list[Outcome] = []
    for number, (kind, answer) in enumerate(answers, 1):
        right = answer == gold
        detail: dict[str, Any] = {
            "sentence": "The cat saw Emma .",
            "gold": gold,
            "edit_distance": 0 if right else 5,
            "errors": [],
            "violations": [],
        }
        if not right:
            detail |= {"prediction": answer, "errors": ["role"] if "recipient" in answer else ["ill-formed"]}
        groups = {"type": kind, "kind": "lexical"}
        outcomes.append(Outcome(str(number), "exact_match", right, groups, detail))
        outcomes.append(Outcome(str(number), "well_formed", "recipient" in answer or right, groups))
    return _made(suite, "cogs", model, outcomes)


def unknown(suite: str = HOSTILE, model: str = f"command/{HOSTILE}") -> Result:
    """A family that the program does not know, with hostile names everywhere."""
    outcomes = [
        Outcome(
            HOSTILE,
            f"check{HOSTILE}",
            value,
            {HOSTILE: HOSTILE, "half": str(value)},
            {HOSTILE: [HOSTILE, {"a": HOSTILE}]},
        )
        for value in (True, False)
    ]
    found = _made(suite, "other-family", model, outcomes)
    return Result(
        found.suite, found.kind, found.model, found.status, Signature.read(f"wug:0|{HOSTILE}"), found.n,
        found.estimates, (HOSTILE,), found.outcomes, {HOSTILE: HOSTILE},
        (Metric(f"check{HOSTILE}", meaning=HOSTILE),),
    )  # fmt: skip


def every() -> list[Result]:
    """One of each."""
    return [
        syntaxgym(), pairs(), words(), localism(), substitutivity(), overgeneralisation(), plain(), cogs(), unknown(),
        syntaxgym(f"sg {HOSTILE}"), pairs(f"p {HOSTILE}", items=4),
    ]  # fmt: skip


def blimp(model: str = MODEL) -> Result:
    """As many pairs as BLiMP has."""
    return pairs("blimp", items=67_000, model=model, paradigms=67)


def keep(store: Store, *results: Result, status: str = "complete", command: str = "wug run") -> int:
    """A run with these results."""
    run = store.begin(run_key([r.signature for r in results], {"n": len(store.runs())}), results[0].model, command)
    for result in results:
        store.add(run, result)
    if status != "running":
        store.finish(run, status)  # type: ignore[arg-type]
    return run


def _made(suite: str, kind: str, model: str, outcomes: list[Outcome]) -> Result:
    estimates: tuple[Estimate, ...] = tuple(stats.estimates(outcomes))
    n = len({outcome.item for outcome in outcomes})
    return Result(
        suite, kind, model, "complete", Signature.read(f"wug:0|suite:{suite}@3"), n, estimates, (), tuple(outcomes)
    )
