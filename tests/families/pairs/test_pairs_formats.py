"""Published formats, each from a made-up file of its shape; every pair and group is written out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from fake_models import FakeScorer
from wug.errors import InputError, SuiteError
from wug.families import pairs
from wug.families.pairs.formats import format_of
from wug.families.pairs.suite import PairsSuite
from wug.files import head
from wug.outcomes import Notice, Outcome


def lines(*rows: object) -> str:
    return "".join(f"{row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)}\n" for row in rows)


@dataclass(frozen=True)
class Case:
    """A file, and what should be read from it."""

    format: str
    path: str
    text: str
    pairs: list[tuple[str, str]]
    groups: dict[str, str]
    """Of the first pair."""
    right: int
    """Pairs whose good sentence is the shorter one."""


CASES = [
    Case(
        "rublimp",
        "x.csv",
        lines(
            "id,source_sentence,target_sentence,source_word,target_word,level,phenomenon,PID,subtype,domain,tree_depth",
            '7,"Кот спит, пёс нет.","Кот спят, пёс нет.",спит,спят,Syntax,Agreement,agr,agr_n,news,2',
            "8,Пёс лает.,Пёс лаяла.,лает,лаяла,Syntax,Agreement,agr,agr_n,news,2",
        ),
        [("Кот спит, пёс нет.", "Кот спят, пёс нет."), ("Пёс лает.", "Пёс лаяла.")],
        {
            "paradigm": "agr",
            "phenomenon": "Agreement",
            "level": "Syntax",
            "subtype": "agr_n",
            "domain": "news",
            "language": "ru",
        },
        1,
    ),
    Case(
        "turblimp",
        "base_x.csv",
        lines(
            "good_sentence;bad_sentence;good_cue;bad_cue;critical_region;phenomenon;subtype",
            '"Kedi" uyudu, gitti.;"Kediyi" uyudu, gitti.;Kedi;Kediyi;uyudu;case;transitive',
        ),
        [('"Kedi" uyudu, gitti.', '"Kediyi" uyudu, gitti.')],
        {"phenomenon": "case", "subtype": "transitive", "paradigm": "base_x", "language": "tr"},
        1,
    ),
    Case(
        "turblimp",
        "exp_OSV.csv",
        lines(
            "good_sentence,bad_sentence,good_cue,bad_cue,critical_region,phenomenon,subtype",
            "Kedi uyudu.,Kediyi uyudu.,Kedi,Kediyi,uyudu,case,transitive",
        ),
        [("Kedi uyudu.", "Kediyi uyudu.")],
        {"phenomenon": "case", "subtype": "transitive", "paradigm": "exp_OSV", "language": "tr"},
        1,
    ),
    Case(
        "jblimp",
        "x.jsonl",
        lines(
            {
                "ID": 0,
                "good_sentence": "猫が寝た。",
                "bad_sentence": "猫を寝た。",
                "type": "acceptability",
                "phenomenon": "argument structure",
                "phenomenon-2": None,
                "paradigm": "case",
            }
        ),
        [("猫が寝た。", "猫を寝た。")],
        {"phenomenon": "argument structure", "paradigm": "case", "type": "acceptability", "language": "ja"},
        0,
    ),
    Case(
        "jblimp",
        "x.csv",
        "ID,bad_sentence_raw,bad_sentence,good_sentence_raw,good_sentence,good_gloss,type,phenomenon,phenomenon-2,paradigm\n"
        '3,?,猫を寝た。,?,猫が寝た。,"cat\nslept",t,p,,q\n',
        [("猫が寝た。", "猫を寝た。")],
        {"phenomenon": "p", "paradigm": "q", "type": "t", "language": "ja"},
        0,
    ),
    *(
        Case(
            "malindo",
            f"validated-{code}.jsonl",
            lines(
                {
                    "ID": "4",
                    "original_language": "ind",
                    "good_sentence_raw": "no",
                    "bad_sentence_raw": "no",
                    "good_sentence": "Dia tidur.",
                    "bad_sentence": "Dia ditidur.",
                    "phenomenon": "voice",
                    "paradigm": "passive",
                }
            ),
            [("Dia tidur.", "Dia ditidur.")],
            {"phenomenon": "voice", "paradigm": "passive", "language": language},
            1,
        )
        for code, language in (("zsm", "ms"), ("ind", "id"))
    ),
    Case(
        "lindsea",
        "lindsea/ta/syntax/x.jsonl",
        lines(
            {
                "id": 0,
                "linguistic_phenomenon": "negation",
                "category": "npi",
                "subcategory": "none",
                "correct": "அவன் வந்தான்",
                "wrong": " அவன் வந்தாள் ",
            }
        ),
        [("அவன் வந்தான்", "அவன் வந்தாள்")],
        {"phenomenon": "negation", "paradigm": "npi", "language": "ta"},
        0,
    ),
    Case(
        "gevalm",
        "x.jsonl",
        lines(
            {
                "text": "Der Hund bellt .",
                "text_masked": "Der Hund [MASK] .",
                "candidates": ["bellt", "bellen"],
                "indexMASK": -2,
                "case": "Simple_sg",
            }
        ),
        [("Der Hund bellt .", "Der Hund bellen .")],
        {"paradigm": "Simple_sg", "language": "de"},
        1,
    ),
    Case(
        "qfrblimp",
        "x.jsonl",
        lines(
            {
                "sentence_a": "Je ne sais pas.",
                "sentence_b": "Je sais ne pas trop.",
                "category": "syntax",
                "type": 7,
                "subcat": None,
                "annotator_1": 0,
                "annotator_3": 0,
                "annotator_4": 1,
                "label": 0.0,
            },
            {
                "sentence_a": "Il faut y va.",
                "sentence_b": "Il faut y aller.",
                "category": "syntax",
                "type": 6,
                "subcat": 61.0,
                "annotator_1": 1,
                "annotator_3": 1,
                "label": 1.0,
            },
        ),
        [("Je ne sais pas.", "Je sais ne pas trop."), ("Il faut y aller.", "Il faut y va.")],
        {"phenomenon": "7", "field": "syntax", "language": "fr-CA"},
        1,
    ),
    Case(
        "qfrblimp-table",
        "dataset.tsv",
        lines(
            "id\tlabel\tsentence_bad\tsource\tcategory\ttype\tsubcat\tsentence_good\tcommentaire",
            '1\t0\t"Il y va", dit-elle trop.\thttps\tsyntax\t5.0\t51.0\t"Il va", dit-elle.\t',
        ),
        [('"Il va", dit-elle.', '"Il y va", dit-elle trop.')],
        {"phenomenon": "5", "field": "syntax", "language": "fr-CA"},
        1,
    ),
    Case(
        "multiblimp",
        "nld.tsv",
        lines("sen\twrong_sen\tphenomenon\tcop", "Hij slaapt.\tHij slapen.\tSV-#\t"),
        [("Hij slaapt.", "Hij slapen.")],
        {"phenomenon": "SV-#", "language": "nld"},
        0,
    ),
    Case(
        "labelled",
        "multiblimp.jsonl",  # the keys come in either order, and the label says which came first
        lines(
            {"sentence_good": "Les chats dorment.", "sentence_bad": "Les chats dort.", "label": 0},
            {"sentence_bad": "Le chat dorment.", "sentence_good": "Le chat dort.", "label": 1},
        ),
        [("Les chats dorment.", "Les chats dort."), ("Le chat dort.", "Le chat dorment.")],
        {"paradigm": "multiblimp"},
        1,
    ),
    Case(
        "sling",
        "animacy_baseline.jsonl",
        lines(
            {
                "sentence_good": "她伤害了她自己。",
                "sentence_bad": "她伤害了它。",
                "phenomenon": "animacy_as_subj",
                "Phenomenon": "Reflexive_auto",
                "Paradigm": "animacy_effect",
                "pair_ID": "0",
                "field": "syntax",
            }
        ),
        [("她伤害了她自己。", "她伤害了它。")],
        {"phenomenon": "Reflexive_auto", "paradigm": "animacy_baseline", "field": "syntax", "language": "zh"},
        0,
    ),
    Case(
        "blimp",
        "zhoblimp.jsonl",
        lines(
            {
                "UID": "BA_x",
                "phenomenon": "BA",
                "sentence_good": "他把书看了。",
                "sentence_bad": "他书把看了过。",
                "pairID": 0,
            }
        ),
        [("他把书看了。", "他书把看了过。")],
        {"paradigm": "BA_x", "phenomenon": "BA"},
        1,
    ),
    Case(
        "blimp",
        "bl2mp.jsonl",
        lines({"sentence_good": "Etxera noa.", "sentence_bad": "Etxea noa.", "type": "E1: Deklinabidea", "level": "A"}),
        [("Etxera noa.", "Etxea noa.")],
        {"type": "E1: Deklinabidea", "level": "A"},
        0,
    ),
    Case(
        "blimp",
        "climp.jsonl",
        lines({"sentence_good": "他买了一本书", "sentence_bad": "他买了一条的书", "category": "classifier_x"}),
        [("他买了一本书", "他买了一条的书")],
        {"paradigm": "classifier_x"},
        1,
    ),
    Case(
        "mandarin-two",
        "Classifier_none.csv",
        "\ufeffID,Grammatical_1,Ungrammatical_1,Grammatical_2,Ungrammatical_2,Notes\r\n"
        "1,一位明星。,一首的明星。,一首歌。,一位歌。,\r\n2,一条鱼。,一本鱼。,,,\r\n",
        [("一位明星。", "一首的明星。"), ("一首歌。", "一位歌。"), ("一条鱼。", "一本鱼。")],
        {"paradigm": "Classifier_none", "contrast": "1", "language": "zh"},
        1,
    ),
    Case(
        "mandarin",
        "MObj_none.csv",
        "ID,Ungrammatical,Grammatical\n1,我很喜欢。,我很喜欢音乐。\n",  # the ungrammatical one comes first here
        [("我很喜欢音乐。", "我很喜欢。")],
        {"paradigm": "MObj_none", "language": "zh"},
        0,
    ),
    Case(
        "blimp-nl",
        "Phenomenon01.csv",
        "Number (phenomenon),Phenomenon,Number (paradigm),Paradigm,Item,Grammaticality,Sentence,Critical,Cue\r\n"
        "1,Anaphor agreement,1,number,1,Grammatical,Ik zie mezelf. ,mezelf,Ik\r\n"
        "1,Anaphor agreement,1,number,1,Ungrammatical,Wij zien mezelf.,mezelf,Wij\r\n"
        '1,Anaphor agreement,1,number,2,Grammatical,""Ik leer het mezelf, gewoon zo."",mezelf,Ik\r\n'
        '1,Anaphor agreement,1,number,2,Ungrammatical,""Wij leren het mezelf, gewoon zo."",mezelf,Wij',
        [
            ("Ik zie mezelf.", "Wij zien mezelf."),
            ("Ik leer het mezelf, gewoon zo.", "Wij leren het mezelf, gewoon zo."),
        ],
        {"phenomenon": "Anaphor agreement", "paradigm": "1 number", "language": "nl"},
        2,
    ),
    Case(
        "event-knowledge",
        "clean_X.csv",
        lines(
            '"ItemNum","Sentence","Plausibility","Voice","TrialType"',
            '"1","The cook, tired, cut the bread.","Plausible","active","AI"',
            '"1","The bread was cut by the cook.","Plausible","passive","AI"',
            '"1","The cook, tired, cut the storms.","Implausible","active","AI"',
            '"1","The bread was cut by the oak.","Implausible","passive","AI"',
        ),
        [
            ("The cook, tired, cut the bread.", "The cook, tired, cut the storms."),
            ("The bread was cut by the cook.", "The bread was cut by the oak."),
        ],
        {"voice": "active", "type": "AI", "paradigm": "clean_X", "language": "en"},
        1,
    ),
    Case(
        "climp",
        "classifier_1000.csv",
        ",0,1,2,3\n0,classifier,classifier_x,他买了一本书,1\n1,classifier,classifier_x,他买了一条的书,0\n",
        [("他买了一本书", "他买了一条的书")],
        {"phenomenon": "classifier", "paradigm": "classifier_x", "language": "zh"},
        1,
    ),
    Case(
        "number-units",
        "adv.txt",
        "The cat sleeps\tsingular\tcorrect\tid1\nThe cat sleep\tsingular\twrong\tid1\n",
        [("The cat sleeps", "The cat sleep")],
        {"condition": "singular", "paradigm": "adv", "language": "en"},
        0,
    ),
    Case(
        "true-false",
        "he_evalset/simple_agrmt.txt",
        "True\tה מלצר רוקד\nFalse\tה מלצר רוקדים",
        [("ה מלצר רוקד", "ה מלצר רוקדים")],
        {"pattern": "simple_agrmt", "language": "he"},
        1,
    ),
    Case(
        "good-bad",
        "mine.csv",
        "good_sentence,bad_sentence,phenomenon\nA cat.,A cats.,number\n",
        [("A cat.", "A cats.")],
        {"phenomenon": "number"},
        1,
    ),
]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def read(path: Path, **options: str) -> PairsSuite:
    (suite,) = pairs.read(path, options)
    assert isinstance(suite, PairsSuite)
    return suite


def told(suite: PairsSuite) -> list[tuple[str, str]]:
    return [(pair.good, pair.bad) for pair in suite.items]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.format}-{case.path}")
def test_a_file_of_each_format_is_recognised_and_read_and_judged(case: Case, tmp_path: Path) -> None:
    path = written(tmp_path, case.path, case.text)
    assert format_of(path, head(path)) == case.format
    assert pairs.recognises(path, head(path))
    suite = read(path)
    assert told(suite) == case.pairs
    assert suite.items[0].groups == case.groups
    outcomes = [row for row in suite.run(FakeScorer()) if isinstance(row, Outcome)]
    assert sum(outcome.value is True for outcome in outcomes) == case.right
    assert len({pair.item for pair in suite.items}) == len(suite.items)


def test_the_gap_of_gevalm_is_the_target(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.format == "gevalm")
    (pair,) = read(written(tmp_path, case.path, case.text)).items
    assert pair.target is not None
    assert pair.good[pair.target.start : pair.target.good_end] == "bellt"
    assert pair.bad[pair.target.start : pair.target.bad_end] == "bellen"


def test_the_share_of_people_who_chose_the_good_sentence_travels_with_the_outcome(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.format == "qfrblimp")
    rows = list(read(written(tmp_path, case.path, case.text)).run(FakeScorer()))
    assert [row.detail["human"] for row in rows if isinstance(row, Outcome)] == [pytest.approx(2 / 3), 1.0]


def test_a_column_of_judgements_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "good_sentence,bad_sentence,rating\nA cat.,A cats.,1.5\nIt is.,It are.,\n")
    assert [pair.human for pair in read(path, human="rating").items] == [1.5, None]
    assert [pair.human for pair in read(path).items] == [None, None]
    with pytest.raises(InputError, match="'ratings'"):
        read(path, human="ratings")
    wrong = written(tmp_path, "w.csv", "good_sentence,bad_sentence,rating\nA cat.,A cats.,high\n")
    with pytest.raises(SuiteError, match="line 2: rating is 'high', not a number"):
        read(wrong, human="rating")


def test_two_rows_of_a_pair_are_judged_by_the_difference_of_their_ratings(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "r.csv",
        "ItemNum,Sentence,Plausibility,Voice,rating\n1,It is.,Plausible,a,6.5\n1,It are.,Implausible,a,2\n",
    )
    assert [pair.human for pair in read(path, human="rating").items] == [4.5]


def test_wrongly_quoted_lines_are_read_whole_and_told_of(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.format == "blimp-nl")
    suite = read(written(tmp_path, case.path, case.text))
    assert [notice for notice in suite.notices if "doubled" in notice] == [
        '2 lines have a sentence in doubled quotation marks (""…""), which is read whole: 4, 5'
    ]


ALTERNATING = "the books is old .\nthe books are old .\nthe cat sleep .\nthe cat sleeps .\n"


def test_which_of_alternating_lines_is_good_is_never_guessed(tmp_path: Path) -> None:
    path = written(tmp_path, "agreement-in_question.txt", ALTERNATING)
    assert format_of(path, head(path)) is None
    with pytest.raises(InputError, match="lines=good-bad or -S lines=bad-good"):
        pairs.read(path, {})
    with pytest.raises(InputError, match="nothing in the file tells which is the good one"):
        pairs.read(path, {"format": "lines"})
    zorro, climp = read(path, lines="bad-good"), read(path, lines="good-bad")
    assert told(zorro)[0] == ("the books are old .", "the books is old .")
    assert told(climp) == [(bad, good) for good, bad in told(zorro)]
    assert zorro.items[0].groups == {"phenomenon": "agreement", "paradigm": "agreement-in_question"}


def test_the_header_that_a_copy_of_climp_has_is_no_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, "ba.csv", ",0\r\n他把书卖了\r\n他被书卖了\r\n")
    assert told(read(path, lines="good-bad")) == [("他把书卖了", "他被书卖了")]


def test_alternating_lines_that_do_not_go_up_are_a_message(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="3 sentences"):
        read(written(tmp_path, "x.txt", "a b\na c\na d\n"), lines="good-bad")


@pytest.mark.parametrize(
    ("format", "old", "new", "message"),
    [
        ("gevalm", "[MASK]", "gap", r"line 1: text_masked does not have one \[MASK\]"),
        ("gevalm", '"bellen"]', '"bellen", "x"]', "line 1: candidates is not a list of two words"),
        ("qfrblimp", '"label": 0.0', '"label": 2', "line 1: label is 2, not 0 or 1"),
        ("climp", ",0\n", ",2\n", "line 3: 3 is '2', not '1' or '0'"),
        ("climp", ",0\n", ",1\n", "line 3: a second 1 row of 1; see line 2"),
        ("number-units", "wrong\tid1", "wrong\tid2", r"line 1: id1 has no wrong row"),
        ("rublimp", "Пёс лает.", " ", "line 3: source_sentence is empty"),
        ("event-knowledge", "Implausible", "Odd", "line 4: Plausibility is 'Odd', not 'Plausible' or 'Implausible'"),
    ],
)
def test_faults_are_reported_with_their_place(format: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.format == format)
    assert old in case.text
    with pytest.raises(SuiteError, match=message):
        read(written(tmp_path, case.path, case.text.replace(old, new)))


def test_a_pair_without_any_text_is_left_out_and_told_of(tmp_path: Path) -> None:
    rows = [{"sentence_good": "Etxera noa.", "sentence_bad": "Etxea noa."}, {"sentence_good": "", "sentence_bad": ""}]
    suite = read(written(tmp_path, "bl2mp_type_lemma.jsonl", lines(*rows)))
    assert len(suite.items) == 1
    assert suite.notices == ("line 2: both sentences are empty: left out",)
    with pytest.raises(SuiteError, match="line 1: sentence_bad is empty"):
        read(written(tmp_path, "x.jsonl", lines({"sentence_good": "Etxera noa.", "sentence_bad": ""})))


def test_crows_pairs_are_refused_because_no_sentence_is_right(tmp_path: Path) -> None:
    path = written(
        tmp_path, "crows.csv", ",sent_more,sent_less,stereo_antistereo,bias_type\n0,They age.,You age.,stereo,age\n"
    )
    assert pairs.recognises(path, head(path))
    with pytest.raises(InputError, match=r"measures bias.*-S good=sent_more"):
        pairs.read(path, {})
    assert told(read(path, good="sent_more", bad="sent_less", groups="bias_type")) == [("They age.", "You age.")]


def test_identical_and_repeated_pairs_are_counted_and_said(tmp_path: Path) -> None:
    rows = ("A cat.,A cats.", "A cat.,A cats.", "It is.,It is.", "A cat.,A cats.")
    suite = read(written(tmp_path, "x.csv", lines("good_sentence,bad_sentence", *rows)))
    said = [row.text for row in suite.run(FakeScorer()) if isinstance(row, Notice)]
    assert said == [
        "2 pairs are copies of others, and counted like them",
        "1 pair of identical sentences, counted as failures",
    ]


def test_a_folder_is_one_suite_with_files_as_paradigms_and_folders_as_phenomena(tmp_path: Path) -> None:
    row = {"text": "x", "text_masked": "Es [MASK] .", "candidates": ["ist", "sind"], "indexMASK": -2}
    for place in ("SVPP/a", "SVPP/b", "RA/c"):
        written(tmp_path, f"{place}.jsonl", lines(row))
    written(tmp_path, "RA/.hidden.jsonl", "?")
    suite = read(tmp_path)
    assert [(pair.item, pair.groups) for pair in suite.items] == [
        ("RA/c/1", {"paradigm": "c", "phenomenon": "RA", "language": "de"}),
        ("SVPP/a/1", {"paradigm": "a", "phenomenon": "SVPP", "language": "de"}),
        ("SVPP/b/1", {"paradigm": "b", "phenomenon": "SVPP", "language": "de"}),
    ]


def test_of_the_same_pairs_in_two_forms_a_folder_has_them_once(tmp_path: Path) -> None:
    written(tmp_path, "pairs.csv", "good_sentence,bad_sentence\nA cat.,A cats.\n")
    written(tmp_path, "pairs.jsonl", lines({"good_sentence": "A cat.", "bad_sentence": "A cats."}))
    assert [pair.item for pair in read(tmp_path).items] == ["pairs/1"]
    assert len(read(tmp_path, files="*.csv,*.jsonl").items) == 2


def test_files_of_a_folder_can_be_chosen_and_may_differ_in_format(tmp_path: Path) -> None:
    written(tmp_path, "a_1.csv", ",0,1,2,3\n0,x,y,他去,1\n1,x,y,去他,0\n")
    written(tmp_path, "b_1.csv", "他把\n他被\n")
    written(tmp_path, "c.csv", "他去\n")
    suite = read(tmp_path, files="*_1.csv", lines="good-bad", language="zh")
    assert told(suite) == [("他去", "去他"), ("他把", "他被")]
    assert [pair.groups["language"] for pair in suite.items] == ["zh", "zh"]


def test_a_folder_without_pairs_is_none_of_pairs(tmp_path: Path) -> None:
    for name in "bcd":
        written(tmp_path, f"{name}.csv", "x,y\n1,2\n")
    assert not pairs.recognises(tmp_path, "")
    assert pairs.files_in(tmp_path, {}) == {}
    found = written(tmp_path, "a.csv", "good_sentence,bad_sentence\nA cat.,A cats.\n")
    assert pairs.recognises(tmp_path, "")
    assert pairs.files_in(tmp_path, {}) == {found: ""}


def test_what_the_language_is_called_does_not_change_the_checksum(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", "good_sentence,bad_sentence\nA cat.,A cats.\n")
    assert read(path).checksum == read(path, language="en").checksum
    assert read(path, language="en").items[0].groups == {"language": "en"}


# Columns that the user names

BLIMP = {"sentence_good": "A cat.", "sentence_bad": "A cats.", "UID": "p"}
RUBLIMP = "id,source_sentence,target_sentence,PID\n7,Он спит.,Он спят.,x\n7,Она спит.,Она спят.,x\n"
TWO_ROWS = "Plausibility,Sentence,ItemNum,Voice\nPlausible,A cat naps.,1,a\nImplausible,A nap cats.,1,a\n"


@pytest.mark.parametrize("option", ["groups", "item", "pattern"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", lines(BLIMP)),
        ("b.csv", RUBLIMP),
        ("c.csv", TWO_ROWS),
        ("d.txt", "True\tA cat naps.\nFalse\tA cat nap.\n"),
        ("e.tsv", "npi\tpast\tno cats have ever slept\tthe cats have ever slept\n"),
    ],
)
def test_a_column_that_no_row_has_is_refused_in_every_format(
    tmp_path: Path, name: str, content: str, option: str
) -> None:
    with pytest.raises(InputError, match="typo"):
        pairs.read(written(tmp_path, name, content), {option: "typo"})


def test_a_column_that_one_file_of_a_folder_has_groups_its_pairs(tmp_path: Path) -> None:
    written(tmp_path, "a.jsonl", lines(BLIMP))
    written(tmp_path, "b.jsonl", lines({**BLIMP, "who": "ann"}))
    assert [pair.groups.get("who") for pair in read(tmp_path, groups="who").items] == [None, "ann"]


@pytest.mark.parametrize(
    ("name", "content", "column", "items"),
    [
        ("b.csv", RUBLIMP, "id", ["7", "7"]),
        ("c.csv", TWO_ROWS, "Voice", ["a"]),
    ],
)
def test_pairs_have_the_names_in_the_column_that_the_user_names(
    tmp_path: Path, name: str, content: str, column: str, items: list[str]
) -> None:
    assert [pair.item for pair in read(written(tmp_path, name, content), item=column).items] == items


def test_a_pattern_of_files_that_none_fits_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "a.jsonl", lines(BLIMP))
    with pytest.raises(InputError, match=r"no file matches -S files=b\*"):
        pairs.read(tmp_path, {"files": "a*,b*"})


def test_alternating_lines_with_a_gap_within_a_pair_are_refused(tmp_path: Path) -> None:
    with_gaps = written(tmp_path, "a.txt", "A cats.\n\nA cat.\nA dogs.\n\nA dog.\n")
    with pytest.raises(InputError, match="line 2: an empty line between the two sentences of a pair"):
        pairs.read(with_gaps, {"lines": "bad-good"})
    between = written(tmp_path, "b.txt", "A cats.\nA cat.\n\nA dogs.\nA dog.\n")
    assert told(read(between, lines="bad-good")) == [("A cat.", "A cats."), ("A dog.", "A dogs.")]


def test_quotation_marks_around_a_field_that_is_not_unquoted_are_reported(tmp_path: Path) -> None:
    text = 'good_sentence;bad_sentence;critical_region\n"Ben geldim.";"Ben geldi.";geldim\n'
    (problem,) = pairs.check(written(tmp_path, "t.csv", text), {})
    assert str(problem) == (
        "line 2: the quotation marks around '\"Ben geldim.\"' count as part of the sentence: this format is not quoted"
    )
