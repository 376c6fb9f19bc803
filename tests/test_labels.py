"""Short names of models: as little of an identity as no other has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.formatting import metric_label
from wug.labels import short_names

PYTHIA = "causal/EleutherAI/pythia-70m@607a30d"


@pytest.mark.parametrize(
    ("models", "names"),
    [
        ([PYTHIA], ["pythia-70m"]),
        (["causal/gpt2@607a30d", "lstm/wug-lstm@1"], ["gpt2", "wug-lstm"]),
        ([PYTHIA, "causal/mine/pythia-70m@1"], ["EleutherAI/pythia-70m", "mine/pythia-70m"]),
        (["causal/gpt2@607a30d", "masked/gpt2@607a30d"], ["causal/gpt2", "masked/gpt2"]),
        (["causal/gpt2@607a30d", "causal/gpt2@607b30d"], ["gpt2@607a", "gpt2@607b"]),
        (["causal/gpt2@607a30d", "causal/gpt2@607a99d"], ["gpt2@607a3", "gpt2@607a9"]),
        (["gpt2", "causal/gpt2@1"], ["gpt2", "causal/gpt2"]),
        (["oracle/pcfgset", "ctranslate/pcfgset@1"], ["oracle:pcfgset", "pcfgset"]),
        (["no shape at all"], ["no shape at all"]),
    ],
)
def test_a_name_is_as_short_as_it_is_unambiguous(models: list[str], names: list[str]) -> None:
    assert list(short_names(models).values()) == names


@given(st.lists(st.text("ab/@", max_size=7), max_size=8))
def test_no_two_models_are_called_alike(models: list[str]) -> None:
    names = short_names(models)
    assert names.keys() == set(models)
    assert len(set(names.values())) == len(names)


def test_a_family_names_its_metrics() -> None:
    assert metric_label("standardised_effect_0", "syntaxgym") == "standardised effect 1"
    assert metric_label("all_predictions/mean", "syntaxgym") == "all predictions/mean"
    assert metric_label("delta_ll:gaze", "reading") == "ΔLL:gaze"
    assert metric_label("prediction_0", "pairs") == "prediction 0"
