"""The suite: asks a model for the logical form of every sentence, and scores its predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wug.errors import ModelError
from wug.families.cogs.logical_form import ERRORS, Dialect, recognise
from wug.families.cogs.metrics import METRICS, MetricOptions
from wug.families.cogs.read import (
    EDITIONS,
    SPLITS,
    GoldLine,
    checked,
    known_dialect,
    meta_of,
    plain_name,
    read_lines_of,
)
from wug.families.pcfgset.suite import PcfgSuite
from wug.types import Generator, Row, Source, text_of

_OLD_GEN = "this is gen as of 2020: 51 of its forms (obj_pp_to_subj_pp) were corrected in 2022"


@dataclass(frozen=True, slots=True)
class CogsSuite(PcfgSuite[GoldLine]):
    """A gold file as a test of a model."""

    kind = "cogs"
    metrics = METRICS
    file: str = ""
    dialect: Dialect = "cogs"
    metric_options: MetricOptions = field(default_factory=MetricOptions)

    @property
    def sources(self) -> Mapping[str, int]:
        """The number of lines of the file."""
        return {Path(self.file).name: len(self)}

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show with the outcomes."""
        edition = self.options["edition"]
        return {"dialect": self.dialect, "edition": edition, "errors": ERRORS, **meta_of(self.items)}

    def requests(self) -> list[str | Source]:
        """The sentences, in the order of the file."""
        return [line.sentence for line in self.items]

    def run(self, model: Generator) -> Iterator[Row]:
        """Generate the form of every sentence and score them all, with their white space."""
        from wug.families.cogs.scoring import score_forms

        answers = model.generate([line.sentence for line in self.items])
        if len(answers) != len(self):
            raise ModelError(f"{model.id} gave {len(answers)} answers to {len(self)} sentences")
        yield from score_forms(self, model.id, list(map(text_of, answers))).rows()

    def strata(self, item: GoldLine) -> tuple[str, ...]:
        """Lexical or structural, and the type."""
        return item.groups.get("kind", ""), item.type


def read_gold(path: Path, dialect: str | None = None, options: MetricOptions | None = None) -> CogsSuite:
    """The suite of a gold file; InputError at the first line that cannot be read."""
    options = options or MetricOptions()
    lines, identity = read_lines_of(path)
    chosen = known_dialect(dialect)
    edition, used = EDITIONS.get(identity, ("unpublished", chosen or recognise(line.form for line in lines)))
    if edition != "unpublished" and chosen in (None, used):  # its forms are known to be well-formed
        warnings = [_OLD_GEN] if edition == "cogs-gen-2020" else []
    else:
        used = chosen or used
        warnings = checked(lines, used, path)
    name = plain_name(path)
    signature = {"dialect": used, "edition": edition, **options.signature}
    name = f"cogs-{name}" if name in SPLITS else name
    return CogsSuite(
        name, tuple(lines), identity, tuple(warnings), signature, "cogs", str(path), used, metric_options=options
    )
