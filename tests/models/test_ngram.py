"""ARPA models back off as the format says."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case_selection import examples
from wug.errors import InputError, ModelError, UnknownName
from wug.models import ngram
from wug.models.spec import ModelSpec
from wug.requests import Request, TextScoring

ARPA = """made by hand

\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.5
-0.7\tthe\t-0.3
-0.9\tboy\t-0.2
-1.2\t</s>

\\2-grams:
-0.4\t<s> the\t-0.1
-0.6\tthe boy\t-0.25
-0.8\tboy </s>

\\3-grams:
-0.2\t<s> the boy

\\end\\
"""

TEXT_WORDS = ["the", "boy", "</s>", "<s>", "<unk>", "girl", "", " ", "\t", "the\u00a0boy", "The", "\u2028"]
Grams = dict[tuple[str, ...], tuple[float, float]]


def load(folder: Path, text: str = ARPA, **options: str) -> ngram.NgramModel:
    path = folder / "model.arpa"
    path.write_text(text, encoding="utf-8")
    return ngram.load(ModelSpec("ngram", str(path), options=options))


def log10(model: ngram.NgramModel, text: str) -> list[float | None]:
    (scored,) = model.score([Request(text)])
    return [None if value is None else round(value / math.log(10), 6) for value in scored.logprobs]


def test_a_listed_ngram_has_the_probability_of_the_file(tmp_path: Path) -> None:
    # the | <s> is a bigram, boy | <s> the a trigram
    assert log10(load(tmp_path), "the boy") == [-0.4, -0.2]


def test_the_end_backs_off_from_the_trigram_to_the_bigram(tmp_path: Path) -> None:
    # </s> | the boy: the weight of "the boy" and boy </s>: -0.25 - 0.8
    assert log10(load(tmp_path, eos="yes"), "the boy") == [-0.4, -0.2, -1.05]


def test_a_history_that_is_not_listed_costs_nothing(tmp_path: Path) -> None:
    # boy | <s>: -0.5 - 0.9. the | <s> boy: "<s> boy" is not listed, so it is the | boy: -0.2 - 0.7
    assert log10(load(tmp_path), "boy the") == [-1.4, -0.9]


def test_backing_off_twice_takes_both_weights(tmp_path: Path) -> None:
    # the | the boy: -0.25, then the | boy: -0.2 - 0.7
    assert log10(load(tmp_path), "the boy the") == [-0.4, -0.2, -1.15]


def test_an_unknown_word_is_the_models_own_and_is_named(tmp_path: Path) -> None:
    model = load(tmp_path)
    # <unk> | <s>: -0.5 - 1.0. the | <s> <unk>: neither is listed
    assert log10(model, "wug the") == [-1.5, -0.7]
    assert model.score([Request("wug the")])[0].token_names == ("<unk>", "the")


def test_without_a_word_for_unknown_ones_they_have_no_probability(tmp_path: Path) -> None:
    model = load(tmp_path, ARPA.replace("-1.0\t<unk>\n", "").replace("1=5", "1=4"))
    assert log10(model, "wug the boy") == [None, -0.7, -0.6]
    assert model.score([Request("wug the boy")])[0].token_names == ("<unk>", "the", "boy")


def test_without_a_start_mark_the_first_word_is_a_unigram(tmp_path: Path) -> None:
    text = "\\data\\\nngram 1=2\nngram 2=1\n\\1-grams:\n-0.7 the -0.3\n-0.9 boy\n\\2-grams:\n-0.6 the boy\n\\end\\\n"
    model = load(tmp_path, text)
    assert log10(model, "the boy the") == [-0.7, -0.6, -0.7]
    assert model.options["bos"] == "no"


def test_an_ngram_is_found_although_its_beginning_is_not_listed(tmp_path: Path) -> None:
    text = ARPA.replace("-0.4\t<s> the\t-0.1\n", "").replace("2=3", "2=2")
    # the | <s>: -0.5 - 0.7; boy | <s> the is listed
    assert log10(load(tmp_path, text), "the boy") == [-1.2, -0.2]


def test_an_order_without_ngrams_is_passed_over(tmp_path: Path) -> None:
    text = ARPA.replace("-0.2\t<s> the boy\n", "").replace("3=1", "3=0")
    # boy | <s> the: -0.1, then the boy
    assert log10(load(tmp_path, text), "the boy") == [-0.4, -0.7]


def test_words_have_their_places_and_the_end_mark_stands_after_the_text(tmp_path: Path) -> None:
    (scored,) = load(tmp_path, eos="yes").score([Request("the  boy ")])
    assert (scored.starts, scored.ends) == ((0, 5, 9), (3, 8, 9))
    assert scored.token_names == ("the", "boy", "</s>")


def test_a_written_end_mark_is_not_doubled(tmp_path: Path) -> None:
    assert log10(load(tmp_path, eos="yes"), "the boy </s>") == [-0.4, -0.2, -1.05]


def test_words_after_the_span_are_not_scored(tmp_path: Path) -> None:
    (scored,) = load(tmp_path, eos="yes").score([Request("the boy the", (4, 7))])
    assert scored.starts == (0, 4)


def test_lower_case_is_looked_up_on_request(tmp_path: Path) -> None:
    assert log10(load(tmp_path), "The boy")[0] == -1.5
    model = load(tmp_path, lowercase="yes")
    assert log10(model, "The boy") == [-0.4, -0.2]
    assert model.score([Request("The boy")])[0].token_names == ("the", "boy")
    assert model.options["lowercase"] == "yes"


def test_an_empty_text_has_no_tokens_and_an_empty_list_no_answers(tmp_path: Path) -> None:
    model = load(tmp_path)
    assert model.score([]) == []
    assert [scored.starts for scored in model.score([Request(""), Request("the"), Request(" ")])] == [(), (0,), ()]


def test_gzip_windows_line_ends_and_spaces_for_tabs_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa.gz"
    path.write_bytes(gzip.compress(ARPA.replace("\t", " ").replace("\n", "\r\n").encode()))
    model = ngram.load(ModelSpec("ngram", str(path)))
    assert log10(model, "the boy") == [-0.4, -0.2]
    assert model.id.startswith("ngram/model.arpa.gz@")


def test_a_word_may_contain_a_no_break_space(tmp_path: Path) -> None:
    text = ARPA.replace("boy", "10\u00a0km")
    assert load(tmp_path, text)._arpa.index["10\u00a0km"] == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\\data\\", "data", "no line \\data\\"),
        ("ngram 2=3", "ngram 3=3", "line 5: expected ngram 2=COUNT, found 'ngram 3=3'"),
        ("ngram 2=3", "bigrams: 3", "line 5: expected ngram N=COUNT, found 'bigrams: 3'"),
        ("\\1-grams:", "\\2-grams:", "line 8: expected \\1-grams:, found \\2-grams:"),
        ("\\1-grams:", "\\unigrams:", "line 8: expected \\1-grams:, found '\\\\unigrams:'"),
        ("-1.2\t</s>\n", "", "line 14: 4 1-grams end here, where the header promises 5"),
        ("-0.7\tthe", "minus\tthe", "line 11: expected a number, found 'minus'"),
        ("-0.7\tthe", "nan\tthe", "line 11: expected a number, found 'nan'"),
        ("-0.7\tthe", "0.7\tthe", "line 11: 0.7 is above 0"),
        ("-0.9\tboy", "-0.9\tthe", "line 12: 'the' is there already"),
        ("the boy\t", "the dog\t", "line 17: 'dog' is not among the 1-grams"),
        ("-0.6\tthe boy", "-0.6\t<s> the", "line 17: this n-gram is there already"),
        ("-0.6\tthe boy\t-0.25", "-0.6\tboy", "line 17: expected a log-probability, 2 words and perhaps"),
        ("<s> the boy", "<s> the boy the boy", "line 21: expected a log-probability, 3 words and perhaps"),
        ("\\end\\", "", "ends without \\end\\"),
        ("\\3-grams:\n-0.2\t<s> the boy\n", "", "promises \\3-grams:, which is not there"),
        ("ngram 3=1\n", "", "line 19: expected \\end\\, found \\3-grams:"),
    ],
)
def test_a_malformed_file_is_refused_with_the_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in ARPA
    with pytest.raises(InputError) as caught:
        load(tmp_path, ARPA.replace(old, new, 1))
    assert message in str(caught.value)
    assert "model.arpa" in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n", "\\data\\", "\\data\\\n\\end\\\n", "<html>not found</html>"])
def test_a_file_without_ngrams_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        load(tmp_path, text)


def test_a_header_alone_is_incomplete(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 3: ends without"):
        load(tmp_path, "\\data\\\nngram 1=1\nngram 2=1\n")


def test_a_binary_file_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0\xff")
    with pytest.raises(ModelError, match="Give the ARPA file"):
        ngram.load(ModelSpec("ngram", str(path)))


def test_the_end_mark_cannot_be_requested_where_the_model_has_none(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no </s>"):
        load(tmp_path, ARPA.replace("</s>", "."), eos="yes")


def test_an_unknown_option_and_a_wrong_value_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        load(tmp_path, order="3")
    with pytest.raises(InputError, match="write yes or no"):
        load(tmp_path, eos="maybe")


ARPA_WORDS = ["<unk>", "<s>", "</s>", "a", "b", "c"]


@st.composite
def models(draw: st.DrawFn, *, parts: bool) -> Grams:
    """N-grams of up to four words, as log-probability and back-off weight; with `parts`, all parts of them too."""
    values = st.tuples(st.integers(-400, 0), st.integers(-200, 100)).map(lambda pair: (pair[0] / 100, pair[1] / 100))
    grams: Grams = {(word,): draw(values) for word in ARPA_WORDS}
    for order in (2, 3, 4):
        words = st.tuples(*[st.sampled_from(ARPA_WORDS)] * order)
        for found in draw(st.lists(words, max_size=12)):
            spans = [(a, b) for a in range(order) for b in range(a + 2, order + 1)] if parts else [(0, order)]
            for start, stop in spans:
                grams.setdefault(found[start:stop], draw(values))
    return grams


def arpa(grams: Grams) -> str:
    highest = max(4, *map(len, grams))
    by_order = [[one for one in grams if len(one) == order] for order in range(1, highest + 1)]
    lines = ["\\data\\", *(f"ngram {order}={len(some)}" for order, some in enumerate(by_order, 1))]
    for order, some in enumerate(by_order, 1):
        lines.append(f"\n\\{order}-grams:")
        for one in some:
            back = f"\t{grams[one][1]}" if order < highest else ""
            lines.append(f"{grams[one][0]}\t{' '.join(one)}{back}")
    return "\n".join([*lines, "\n\\end\\", ""])


def defined(grams: Grams, history: tuple[str, ...], word: str) -> float:
    """The definition, word for word."""
    if (*history, word) in grams:
        return grams[*history, word][0]
    return grams.get(history, (0.0, 0.0))[1] + defined(grams, history[1:], word)


texts = st.lists(st.sampled_from(["a", "b", "c", "wug"]), max_size=8).map(" ".join)


@settings(max_examples=examples(60), deadline=None)
@given(grams=models(parts=False), some=st.lists(texts, max_size=6))
def test_scores_follow_the_definition(tmp_path_factory: pytest.TempPathFactory, grams: Grams, some: list[str]) -> None:
    model = load(tmp_path_factory.mktemp("arpa"), arpa(grams), eos="yes")
    for text, scored in zip(some, model.score([Request(text) for text in some]), strict=True):
        words = ["<s>", *("<unk>" if word == "wug" else word for word in text.split()), "</s>"]
        expected = [
            defined(grams, tuple(words[max(0, place - 3) : place]), words[place]) for place in range(1, len(words))
        ]
        assert [value / math.log(10) for value in scored.logprobs if value is not None] == pytest.approx(expected)


def test_entropy_and_rank_have_known_values(tmp_path: Path) -> None:
    model = load(tmp_path)
    (scored,) = model.score([Request("the boy", scoring=TextScoring(distribution=True))])
    # After <s> only "the" is listed; the weight of all others is 10 ** -0.5.
    shares = [10**power for power in (-0.4, -0.5 - 1.0, -0.5 - 99, -0.5 - 0.9, -0.5 - 1.2)]
    total = sum(shares)
    assert scored.entropies is not None
    assert scored.entropies[0] == pytest.approx(-sum(p / total * math.log(p / total) for p in shares))
    assert scored.ranks == (1, 1)
    assert model.score([Request("the boy")])[0].entropies is None


def test_words_of_equal_probability_share_the_best_rank(tmp_path: Path) -> None:
    # After "boy" all but </s> back off with one weight: </s> -0.8, the -0.9, and now -0.7 - 0.2 for <unk> as well.
    model = load(tmp_path, ARPA.replace("-1.0\t<unk>", "-0.7\t<unk>"))
    asked = [Request(f"boy {word}", scoring=TextScoring(distribution=True)) for word in ("</s>", "the", "wug", "boy")]
    assert [scored.ranks[1] for scored in model.score(asked) if scored.ranks] == [1, 2, 2, 4]


def test_a_word_without_a_probability_has_no_rank_but_an_entropy_before_it(tmp_path: Path) -> None:
    model = load(tmp_path, ARPA.replace("-1.0\t<unk>\n", "").replace("1=5", "1=4"))
    (scored,) = model.score([Request("the wug", scoring=TextScoring(distribution=True))])
    assert scored.ranks == (1, None)
    assert scored.entropies is not None
    assert scored.entropies[1] is not None


@settings(max_examples=examples(60), deadline=None)
@given(grams=models(parts=False), some=st.lists(texts, max_size=4))
def test_entropies_and_ranks_follow_the_definition(
    tmp_path_factory: pytest.TempPathFactory, grams: Grams, some: list[str]
) -> None:
    model = load(tmp_path_factory.mktemp("arpa"), arpa(grams), eos="yes")
    asked = [Request(text, scoring=TextScoring(distribution=True)) for text in some]
    for text, scored in zip(some, model.score(asked), strict=True):
        words = ["<s>", *("<unk>" if word == "wug" else word for word in text.split()), "</s>"]
        for place, (entropy, rank) in enumerate(zip(scored.entropies or (), scored.ranks or (), strict=True), 1):
            logs = {word: defined(grams, tuple(words[max(0, place - 3) : place]), word) for word in ARPA_WORDS}
            total = sum(10**value for value in logs.values())
            shares = [10**value / total for value in logs.values()]
            assert entropy == pytest.approx(-sum(p * math.log(p) for p in shares), abs=1e-7)
            assert rank == 1 + sum(value > logs[words[place]] + 1e-9 for value in logs.values())


@settings(max_examples=examples(40), deadline=None)
@given(grams=models(parts=True), some=st.lists(texts, max_size=6))
def test_scores_equal_kenlm(tmp_path_factory: pytest.TempPathFactory, grams: Grams, some: list[str]) -> None:
    kenlm = pytest.importorskip("kenlm")
    folder = tmp_path_factory.mktemp("arpa")
    # KenLM takes no order without n-grams.
    grams = {**{("a",) * order: (-1.0, 0.0) for order in (2, 3, 4)}, **grams}
    model = load(folder, arpa(grams), eos="yes")
    config = kenlm.Config()
    config.show_progress = False
    peer = kenlm.Model(str(folder / "model.arpa"), config)
    for text, scored in zip(some, model.score([Request(text) for text in some]), strict=True):
        expected = [value for value, _, _ in peer.full_scores(text, bos=True, eos=True)]
        found = [value / math.log(10) for value in scored.logprobs if value is not None]
        assert found == pytest.approx(expected, abs=1e-5)


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(TEXT_WORDS), max_size=6), min_size=1, max_size=8), st.data())
def test_texts_of_any_kind_are_scored_together_as_they_are_alone(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], data: st.DataObject
) -> None:
    """Known words and single spaces have a separate code path, which must agree with the general one."""
    model = load(tmp_path_factory.mktemp("model"))
    spans = st.sampled_from([None, None, (0, 4)])
    requests = [Request(text, data.draw(spans)) for text in (" ".join(words) for words in texts)]
    whole = [Request(asked.text, asked.span or (0, len(asked.text) + 1)) for asked in requests]
    assert model.score(requests) == [model.score([request])[0] for request in whole]
