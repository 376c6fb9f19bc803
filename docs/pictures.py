"""Draw the pictures of the documentation: `python docs/pictures.py` writes docs/images/diagram-*.svg and figure-*.svg.

Every number in a diagram is computed with the built-in model wug-causal. Diagrams follow the reader's light or dark
colour scheme by themselves. Figures are the charts of `Results.plot`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import wug

IMAGES = Path(__file__).with_name("images")
MODEL = "wug-causal"
STYLE = """
  .bg { fill: #ffffff } .box { fill: #f2f5f5; stroke: #9fb3b1 } .key { fill: #fdeee4; stroke: #d9622b }
  .good { fill: #e3f2ec; stroke: #2c8a67 } .bad { fill: #fbe6e6; stroke: #c03c3c }
  .rule { stroke: #6b7f7d; fill: none } text { fill: #1d2b2a } .soft { fill: #55686a } .mark { fill: #b3470f }
  @media (prefers-color-scheme: dark) {
    .bg { fill: #1e2129 } .box { fill: #2a303b; stroke: #5d6b7a } .key { fill: #4a2f1f; stroke: #f08a52 }
    .good { fill: #1f3d33; stroke: #55b892 } .bad { fill: #472427; stroke: #e07a7a }
    .rule { stroke: #93a3b3 } text { fill: #e8ecf1 } .soft { fill: #aeb9c5 } .mark { fill: #f5a272 }
  }
"""


@dataclass
class Drawing:
    """An SVG picture, part by part."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, text: str, kind: str = "", size: int = 14, anchor: str = "start") -> None:
        """A line of text; `kind` may be soft, mark, bold or mono."""
        bold = ' font-weight="600"' if "bold" in kind else ""
        mono = ' font-family="monospace"' if "mono" in kind else ""
        where = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"'
        self.parts.append(f'<text class="{kind}" {where}{bold}{mono}>{escape(text)}</text>')

    def box(
        self, x: float, y: float, width: float, height: float, lines: Sequence[str] = (), kind: str = "box"
    ) -> None:
        """A box with lines of text in its middle, the first of them in bold type."""
        size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        self.parts.append(f'<rect class="{kind}" {size} rx="6"/>')
        top = y + height / 2 - 9 * (len(lines) - 1) + 5
        for number, line in enumerate(lines):
            style = "bold" if number == 0 and len(lines) > 1 else "soft" if number else ""
            self.text(x + width / 2, top + 18 * number, line, style, 13 if number else 14, "middle")

    def line(self, *points: tuple[float, float], arrow: bool = False, dashed: bool = False) -> None:
        """A line through points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        end, dash = ' marker-end="url(#tip)"' if arrow else "", ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(f'<polyline class="rule" points="{path}"{end}{dash}/>')

    def svg(self) -> str:
        """The file."""
        tip = '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="system-ui, sans-serif">'
        defs = f'<defs>{tip}<path class="rule" d="M0 0 L8 4 L0 8"/></marker></defs>'
        back = f'<rect class="bg" width="{self.width}" height="{self.height}" rx="8"/>'
        title = f"<title>{escape(self.title)}</title>"
        return "\n".join([head, title, f"<style>{STYLE}</style>", defs, back, *self.parts, "</svg>\n"])


ITEM = {
    "sing_match": ("The bridge", "near", "the mills", "was", "built of stone", "."),
    "sing_mismatch": ("The bridge", "near", "the mills", "were", "built of stone", "."),
    "plur_match": ("The bridges", "near", "the mill", "were", "built of stone", "."),
    "plur_mismatch": ("The bridges", "near", "the mill", "was", "built of stone", "."),
}
"""Item 8 of wug_agreement_pp."""
REGIONS = ("subject", "preposition", "attractor", "verb", "continuation", "end")


def item() -> Drawing:
    """One item of a 2 × 2 design: conditions in rows, regions in columns, with the surprisal of the verb."""
    table = wug.surprisal([list(texts) for texts in ITEM.values()], MODEL, unit="regions")
    bits = {(row["text_id"], row["region_id"]): row["surprisal"] for row in table}
    drawing = Drawing(900, 372, "One item of a two-by-two suite")
    columns = [190, 305, 405, 515, 620, 755, 810]
    drawing.text(20, 32, "One item, four conditions: number of the subject × agreement of the verb", "bold", 16)
    drawing.text(20, 72, "condition", "soft")
    for number, (name, x) in enumerate(zip(REGIONS, columns, strict=False), 1):
        drawing.text(x, 60, f"region {number}", "soft", 12)
        drawing.text(x, 78, name, "mark bold" if name == "verb" else "bold", 13)
    drawing.box(505, 94, 105, 166, kind="key")
    for row, (condition, texts) in enumerate(ITEM.items()):
        y = 116 + 40 * row
        drawing.text(20, y, condition, "mono", 13)
        for number, (text, x) in enumerate(zip(texts, columns, strict=False), 1):
            drawing.text(x, y, text, "bold" if number == 4 else "")
        drawing.text(515, y + 17, f"{bits[row + 1, 4]:.1f} bits", "mark", 12)
    drawing.text(557, 278, "critical region", "mark", 13, "middle")
    drawing.text(20, 306, "Predictions", "bold", 14)
    for row, (first, second) in enumerate((("sing_match", "sing_mismatch"), ("plur_match", "plur_mismatch"))):
        left, right = (bits[list(ITEM).index(name) + 1, 4] for name in (first, second))
        y = 330 + 24 * row
        drawing.text(20, y, f"{row + 1}   (verb;%{first}%) < (verb;%{second}%)", "mono", 13)
        verdict = "holds" if left < right else "fails"
        drawing.text(480, y, f"{left:.1f} < {right:.1f} bits: {verdict} for this item", "soft", 13)
    return drawing


def tokens() -> Drawing:
    """A sentence as the model's tokens, and the regions that their surprisals are added up to."""
    regions = ITEM["plur_match"]
    scored = wug.open_model(MODEL).score(" ".join(regions))
    drawing = Drawing(900, 258, "Tokens and regions of one sentence")
    drawing.text(20, 32, "Tokens are what the model reads; regions are what the linguist compares", "bold", 16)
    drawing.text(20, 84, "token", "soft")
    drawing.text(20, 110, "bits", "soft")
    drawing.text(20, 192, "region", "soft")
    drawing.text(20, 218, "bits (sum)", "soft")
    starts, place = [], 0
    for text in regions:
        starts.append(place)
        place += len(text) + 1
    x, spans = 110.0, [[0.0, 0.0, 0.0] for _ in regions]
    for token in scored.tokens:
        width = 26 + 8.5 * len(token.text)
        region = max(number for number, start in enumerate(starts) if start <= token.start)
        spans[region] = [spans[region][0] or x, x + width, spans[region][2] + (token.surprisal or 0.0)]
        drawing.box(x, 62, width, 34, [token.text], "key" if token.text in ("brid", "ges") else "box")
        drawing.text(x + width / 2, 112, f"{token.surprisal:.1f}", "soft", 12, "middle")
        x += width + 7
    for text, name, (left, right, bits) in zip(regions, REGIONS, spans, strict=True):
        middle = (left + right) / 2
        drawing.line((left, 124), (left, 132), (right, 132), (right, 124))
        drawing.line((middle, 132), (middle, 142))
        drawing.text(middle, 158, name, "bold", 12, "middle")
        drawing.text(middle, 192, text, "mark" if text == "The bridges" else "", 13, "middle")
        drawing.text(middle, 218, f"{bits:.1f}", "soft", 12, "middle")
    drawing.text(20, 244, "A word may be several tokens: “bridges” is read as “brid” + “ges”.", "soft", 13)
    return drawing


def localism() -> Drawing:
    """A PCFG SET source as a tree, and the steps in which localism evaluates it."""
    drawing = Drawing(900, 330, "Localism: the whole input against its steps")
    drawing.text(20, 32, "append swap_first_last A1 B2 C3 , echo D4 E5", "mono", 15)
    drawing.text(20, 62, "The input as a tree", "bold")
    drawing.text(470, 62, "Localism compares two ways to compute it", "bold")
    drawing.box(135, 80, 150, 48, ["append", "C3 B2 A1 D4 E5 E5"], "key")
    drawing.box(30, 168, 160, 48, ["swap_first_last", "C3 B2 A1"])
    drawing.box(240, 168, 160, 48, ["echo", "D4 E5 E5"])
    drawing.box(50, 262, 120, 36, ["A1 B2 C3"])
    drawing.box(260, 262, 120, 36, ["D4 E5"])
    for start, end in (
        ((110, 168), (190, 128)),
        ((320, 168), (230, 128)),
        ((110, 262), (110, 216)),
        ((320, 262), (320, 216)),
    ):
        drawing.line(start, end, arrow=True)
    drawing.text(470, 92, "as a whole", "mark bold", 13)
    drawing.text(470, 114, "append swap_first_last A1 B2 C3 , echo D4 E5", "mono", 12)
    drawing.text(490, 134, "→ the model's output for the whole", "soft", 13)
    drawing.text(470, 168, "step by step, with the model's own outputs", "mark bold", 13)
    steps = (
        "swap_first_last A1 B2 C3  → output 1",
        "echo D4 E5  → output 2",
        "append [output 1] , [output 2]  → output 3",
    )
    for number, step in enumerate(steps):
        drawing.text(470, 190 + 22 * number, f"{number + 1}  {step}", "mono", 12)
    drawing.box(
        470, 256, 400, 46, ["consistent if the two outputs are equal,", "whether or not they are correct"], "good"
    )
    return drawing


def chooser() -> Drawing:
    """Which type of test answers which question."""
    drawing = Drawing(900, 420, "Which type of test do I need?")
    drawing.text(20, 32, "Which type of test do I need?", "bold", 16)
    rows = (
        (
            "Does the effect appear at one word?",
            "agreement, NPIs, garden paths",
            "SyntaxGym suite",
            "surprisal of regions by condition",
        ),
        (
            "Are two whole sentences enough?",
            "grammatical against ungrammatical",
            "Minimal pairs",
            "accuracy by phenomenon",
        ),
        (
            "Is the right continuation one of several?",
            "world knowledge, entity tracking",
            "Choices",
            "accuracy against chance",
        ),
        (
            "Do you have reading times?",
            "or want a value for every word of a text",
            "Surprisal in texts",
            "one row per word",
        ),
        (
            "How does the model compose?",
            "functions over strings, exactly controlled",
            "PCFG SET",
            "five tests of compositionality",
        ),
        (
            "Does it parse unseen structures?",
            "English sentences to logical forms",
            "COGS",
            "exact and semantic match by type",
        ),
    )
    for number, (question, example, name, result) in enumerate(rows):
        y = 56 + 60 * number
        drawing.box(20, y, 430, 48, [question, example])
        drawing.line((450, y + 24), (548, y + 24), arrow=True)
        drawing.box(550, y, 330, 48, [name, result], "key" if number < 4 else "good")
        drawing.text(498, y + 17, "score" if number < 4 else "generate", "soft", 12, "middle")
    return drawing


def run() -> Drawing:
    """What a run reads and writes."""
    drawing = Drawing(900, 330, "A run, its cache and its store")
    drawing.text(20, 32, "What happens in a run", "bold", 16)
    drawing.box(20, 70, 170, 60, ["Suite", "items and predictions"])
    drawing.box(20, 190, 170, 60, ["Model", "causal:gpt2, …"])
    drawing.box(300, 120, 220, 80, ["wug run", "requests in, outcomes out"], "key")
    drawing.box(300, 250, 220, 56, ["Cache", "model outputs, by fingerprint"], "good")
    drawing.box(640, 120, 230, 80, ["Store", "runs: outcomes, estimates,", "signatures"], "good")
    drawing.line((190, 100), (300, 145), arrow=True)
    drawing.line((190, 220), (300, 175), arrow=True)
    drawing.line((390, 200), (390, 250), arrow=True)
    drawing.line((430, 250), (430, 200), arrow=True)
    drawing.line((520, 160), (640, 160), arrow=True)
    drawing.text(580, 150, "results", "soft", 13, "middle")
    drawing.text(535, 270, "Rerunning resumes: outputs that are", "soft", 13)
    drawing.text(535, 288, "cached are not computed again.", "soft", 13)
    drawing.line((755, 120), (755, 92), arrow=True)
    drawing.text(755, 62, "wug show · view · compare", "mono", 13, "middle")
    drawing.text(755, 82, "report · export", "mono", 13, "middle")
    return drawing


PICTURES: dict[str, Callable[[], Drawing]] = {
    "item": item,
    "tokens": tokens,
    "localism": localism,
    "chooser": chooser,
    "run": run,
}


def files() -> Iterator[tuple[Path, str]]:
    """Every picture: its file, and what it should contain."""
    for name, draw in PICTURES.items():
        yield IMAGES / f"diagram-{name}.svg", draw().svg()


FIGURES: dict[str, tuple[str, str, int | None, str | None]] = {
    "regions": ("wug_npi_licensing", "wug-causal", None, None),
    "choices": ("wug_choices", "wug-causal", None, None),
    "words": ("wug_morphology", "wug-causal", None, None),
    "patterns": ("wug_coord", "wug-causal", 200, "Accuracy by pattern"),
    "steps": ("localism", "oracle:pcfgset?error=0.05", 300, "steps"),
    "types": ("wug_cogs_gen", "wug-cogs", 63, "Matches by type"),
}
"""By name: suite, model, number of items, and which of the family's charts."""


def draw_figures() -> None:
    """Run the suites and save their charts."""
    for name, (suite, model, limit, which) in FIGURES.items():
        results = wug.run(suite, model, limit=limit)
        chart = results.plot(which) if which else results.plot()
        chart.save(str(IMAGES / f"figure-{name}.svg"))


if __name__ == "__main__":
    for path, text in files():
        path.write_text(text, encoding="utf-8")
    draw_figures()
