"""Items as plain text."""

from __future__ import annotations

from wug.outcomes import Outcome, Result, Signature
from wug.views.parts import (
    CodePart,
    FactsPart,
    ItemStatement,
    ItemView,
    LabelledText,
    LinesPart,
    StatementsPart,
    TableCell,
    TableColumn,
    TablePart,
    TablePartRow,
    TextPart,
    TreeNode,
    TreePart,
)  # fmt: skip
from wug.views.text import failing_lines, item_lines, part_lines, pieces_text
from wug.views.text_display import Piece

HEADS = tuple(TableColumn(name) for name in ("condition", "verb", "end"))


def test_lines_stand_behind_their_labels_with_marks_and_numbers() -> None:
    good = LabelledText("grammatical", (Piece("A wug "), Piece("swims", differs=True)), "ins", "−5.00")
    bad = LabelledText("ungrammatical", (Piece("A wug "), Piece("swim", differs=True)), "del", "−3.00")
    bar = LabelledText("difference", (), value="−2.00", side=-0.3)
    assert list(part_lines(LinesPart((good, bad, bar)))) == [
        "grammatical    A wug [+swims+]  −5.00",
        "ungrammatical  A wug [-swim-]  −3.00",
        "difference     −2.00",
    ]


def test_a_label_with_a_line_end_is_not_cut() -> None:
    lines = (LabelledText("a\nb", (Piece("wug"),)), LabelledText("cd", (Piece("wugs"),)))
    assert list(part_lines(LinesPart(lines))) == ["a\\nb  wug", "cd    wugs"]


def test_a_word_has_its_number_behind_it_and_shaded_words_are_apart() -> None:
    words = (Piece("A", value="1.4", shade="s0"), Piece("wug", differs=True, value="4.3", shade="s2"))
    assert pieces_text(words, "del") == "A (1.4) [-wug-] (4.3)"
    assert pieces_text((words[0], Piece(" "), words[1]), "ins") == "A (1.4) [+wug+] (4.3)"
    assert pieces_text((), "del") == "(nothing)"


def test_the_cells_of_a_table_stand_below_each_other_however_wide_their_letters_are() -> None:
    rows = (
        TablePartRow((TableCell("plural"), TableCell("来了"), TableCell("."))),
        TablePartRow((TableCell("x"), TableCell("y", line_below="Σ 3.1"), TableCell(""))),
    )
    assert list(part_lines(TablePart("t", "", HEADS, (("", rows),)))) == [
        "condition  verb      end",
        "plural     来了      .",
        "x          y  Σ 3.1",
    ]


def test_a_table_that_is_too_wide_is_a_block_for_each_row() -> None:
    pieces = (Piece("word " * 30, differs=True),)
    row = TablePartRow((TableCell("plural"), TableCell(pieces=pieces, mark="ins"), TableCell(".")))
    assert list(part_lines(TablePart("t", "", HEADS, (("", (row,)),)))) == [
        "plural",
        f"  verb  [+{'word ' * 30}+]",
        "  end   .",
    ]


def test_a_tree_goes_in_with_every_step_and_says_where_it_goes_wrong() -> None:
    nodes = (
        TreeNode(True, 0, "copy", (Piece("A C"),), "later", (Piece("B A"),)),
        TreeNode(True, 0, "reverse", (Piece("A "), Piece("C", differs=True)), "first", (Piece("B A"),)),
        TreeNode(True, 0, "", (Piece("A B"),)),
        TreeNode(False, 1, "", (Piece("D"),)),
    )
    assert list(part_lines(TreePart(nodes, 2, cut=True))) == [
        "copy  A C  wrong  right: B A",
        "  reverse  A [-C-]  first wrong here  right: B A",
        "    A B",
        "  D",
        "The rest of this tree is left out.",
    ]


def test_verdicts_facts_code_and_prose() -> None:
    parts = (
        TextPart("edit distance 5"),
        StatementsPart((ItemStatement(True, "3.0 > 1.0", "(2;%a%) > (2;%b%)"), ItemStatement(False, "1.0 > 3.0", "b"))),
        CodePart("cat ( x _ 1 )\nAND sleep"),
        FactsPart({"a": {"b": [1, 2]}, "c": "d"}),
    )
    assert list(item_lines(ItemView(sentence="The cat sleeps.", chips=("wrong role", "order only"), parts=parts))) == [
        "The cat sleeps.",
        "wrong role, order only",
        "edit distance 5",
        "holds  3.0 > 1.0  (2;%a%) > (2;%b%)",
        "fails  1.0 > 3.0  b",
        "cat ( x _ 1 )",
        "AND sleep",
        "a:",
        "  b: 1, 2",
        "c: d",
    ]


def test_control_characters_are_seen_and_begin_no_line() -> None:
    evil = "a\x1b[2Jb\nc\u202e"
    seen = "a\\x1b[2Jb\\nc\\u202e"
    piece = (Piece(evil),)
    parts = (
        TextPart(evil),
        LinesPart((LabelledText("x", piece),)),
        FactsPart({evil: evil}),
        TablePart("t", "", (TableColumn(evil),), ()),
    )
    for part in (
        *parts,
        StatementsPart((ItemStatement(True, evil, ""),)),
        TreePart((TreeNode(True, 0, evil, piece),), 1, cut=False),
    ):
        [line] = part_lines(part)
        assert seen in line


def failing(kind: str, *outcomes: Outcome) -> list[str]:
    return list(
        failing_lines([Result("words", kind, "m", "complete", Signature.read("wug:1"), 1, (), outcomes=outcomes)])
    )


def test_a_failing_pair_is_printed_with_both_sentences_marked() -> None:
    detail = {"good": "A wug swims.", "bad": "A wug swim.", "logprob_good": -5.0, "logprob_bad": -3.0}
    right, wrong = Outcome("1", "accuracy", True, {}, detail), Outcome("2", "accuracy", False, {}, detail)
    assert failing("pairs", right, wrong) == [
        "words  pair 2  accuracy  by −2.00",
        "    grammatical    A wug [+swims+].  −5.00",
        "    ungrammatical  A wug [-swim-].  −3.00",
        "    difference     −2.00",
    ]


def test_checks_that_show_the_same_are_one_entry_and_others_are_apart() -> None:
    scores = [("accuracy:a", -5.0), ("accuracy:b", -5.0), ("accuracy:c", -9.0)]
    rows = [Outcome("1", metric, False, {}, {"good": good, "bad": -3.0, "forms": "is/are"}) for metric, good in scores]
    assert [line for line in failing("pairs", *rows) if not line.startswith(" ")] == [
        "words  pair 1  accuracy:a, accuracy:b  by −2.00",
        "words  pair 1  accuracy:c  by −6.00",
    ]


def test_items_of_a_family_without_a_view_are_printed_with_all_that_is_known() -> None:
    rows = (
        Outcome("1", "one_check", False, {"type": "x"}, {"sentence": "A wug."}),
        Outcome("1", "another_check", None),
        Outcome("1", "another", True),
    )
    assert failing("no-such-family", *rows) == ["words  item 1  one check", "    type: x", "    sentence: A wug."]


def test_a_difference_that_is_neither_right_nor_wrong_stands_in_brackets() -> None:
    """The twin of a source in substitutivity."""
    assert pieces_text((Piece("repeat_twin", differs=True), Piece(" A1")), "mark") == "[repeat_twin] A1"
