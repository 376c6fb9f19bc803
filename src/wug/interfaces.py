"""What the modules of families, backends and formats offer: every attribute with its type and its default.

A module implements an interface by defining attributes of these names. Those that it leaves out have the default.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from wug.errors import InputError, ModelError
from wug.identity import ModelName
from wug.outcomes import Metric, Outcome, Result, SuiteOutput
from wug.problems import Problem
from wug.requests import ChatFormat, EvaluatedModel, IdentifiedModel, Request, Source
from wug.traits import BackendTraits, FamilyTraits, Returns

if TYPE_CHECKING:
    from wug.models import Identity, ModelSpec
    from wug.options import Option
    from wug.samples import Sample
    from wug.tables import Tabular

Interface = TypeVar("Interface")
Declared = TypeVar("Declared", BackendTraits, FamilyTraits)
ReasonByFile: TypeAlias = Mapping[Path, str]
"""Files with the reason why they are not read; empty for those that are."""
TableRows: TypeAlias = tuple[Sequence[str], Sequence[Sequence[Any]]]
"""The names of columns, and rows."""
LoadedModelOpener: TypeAlias = (
    "Callable[[Any, Any, Mapping[str, str]], tuple[IdentifiedModel, ModelSpec | None] | None]"
)
"""Called with a model, its tokenizer and options."""


@runtime_checkable
class Suite(Protocol):
    """A test suite: sends requests to a model and judges its outputs.

    Examples:
        >>> len(wug.open_suites("wug_agreement_pp")[0].sample(4))
        4
    """

    @property
    def name(self) -> str:
        """The short name that users write."""

    @property
    def kind(self) -> str:
        """The family."""

    @property
    def needs(self) -> Returns:
        """What a model must return."""

    @property
    def checksum(self) -> str:
        """Checksum of everything that can change a result."""

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """Its metrics; the first headline metric represents it."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """Further data for the pages of its results."""

    def __len__(self) -> int:
        """Items."""

    def sample(self, items: int) -> Suite:
        """A sample of `items` items, stratified by group; its options record the size."""

    def requests(self) -> Sequence[Request] | Sequence[str | Source]:
        """The requests (sources, for a generator) known before the run, so that suites can be computed together."""

    def run(self, model: Any) -> Iterator[SuiteOutput]:
        """Send requests to `model` and yield outcomes."""


@runtime_checkable
class AdaptableSuite(Suite, Protocol):
    """A suite that sends different requests to models that score and to models that generate."""

    def for_model(self, model: EvaluatedModel) -> Suite:
        """The suite with the requests for this model."""


@dataclass(frozen=True, slots=True)
class SuiteAttributes:
    """What a suite may have besides the members of `Suite`, with the values for a suite that does not have them."""

    protocol: str | None = None
    """The protocol that its file declares, which applies unless the user names another."""
    sources: Mapping[str, int] = field(default_factory=dict)
    """The number of items by file."""
    understood: str | None = None
    """How an ambiguous table was read."""

    @classmethod
    def of(cls, suite: Suite) -> SuiteAttributes:
        """The attributes of a suite."""
        return cls(**{name: getattr(suite, name) for name in cls.__slots__ if hasattr(suite, name)})


def implemented(interface: type[Interface], *modules: ModuleType, **known: object) -> Interface:
    """The interface that modules implement; an attribute is that of the first module that defines it."""
    attributes: dict[str, object] = {}
    for module in reversed(modules):
        defined = ((field.name, getattr(module, field.name, None)) for field in fields(interface))  # type: ignore[arg-type]
        # A package has its imported submodules as attributes, too.
        attributes |= {name: value for name, value in defined if not isinstance(value, ModuleType | None)}
    return interface(**{**attributes, **known})


def traits_of(module: ModuleType, default: Declared) -> Declared:
    """The traits that a module declares; the default if it declares none, or of another type."""
    declared = getattr(module, "TRAITS", None)
    return declared if isinstance(declared, type(default)) else default


def _reads_nothing(path: Path, options: Mapping[str, str]) -> list[Suite]:
    raise InputError("its family does not define read(path, options)", file=path)


class SubmissionWriter(Protocol):
    """Writes results, each with its model, as the submission of a benchmark; yields lines for the user."""

    def __call__(  # noqa: D102
        self, results: Sequence[tuple[Result, ModelName]], folder: Path, *, collate: bool = False
    ) -> Iterable[str]: ...


class CorrectOutput(Protocol):
    """The correct output for a source, empty if there is none; with `exception`, exceptional pairs are remapped."""

    def __call__(self, source: str, *, exception: bool = False) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Declaration:
    """What a family or a backend declares."""

    name: str
    module: ModuleType

    @classmethod
    def of(cls, name: str, module: ModuleType) -> Self:
        """The family or backend that a module implements."""
        default: Any = next(field.default for field in fields(cls) if field.name == "TRAITS")
        return implemented(cls, module, name=name, module=module, TRAITS=traits_of(module, default))

    @property
    def title(self) -> str:
        """The first line of the docstring; of a family, its name and the question that its tests ask."""
        return (self.module.__doc__ or "").strip().split("\n")[0]


@dataclass(frozen=True)
class Family(Declaration):
    """A type of test, as its package in `families/` declares it. The package may have modules `view` and `editor`."""

    REQUIRED: ClassVar = ("OPTIONS", "recognises", "read", "check")
    OPTIONS: Sequence[Option] = ()
    """Scoring options, given as `-S key=value`."""
    TRAITS: FamilyTraits = FamilyTraits()  # noqa: RUF009 — frozen
    recognises: Callable[[Path, str], bool] = lambda path, head: False
    """Whether a file or folder, with its first characters, belongs to the family."""
    read: Callable[[Path, Mapping[str, str]], list[Suite]] = _reads_nothing
    """Its suites, or one error with all problems."""
    check: Callable[[Path, Mapping[str, str]], list[Problem]] = lambda path, options: []
    """Every problem in a file, as read with these options; an InputError that it raises is one."""
    files_in: Callable[[Path, Mapping[str, str]], ReasonByFile] | None = None
    """The files of a folder that the family knows."""
    read_back: Callable[[Suite], list[str]] = lambda suite: []
    """How a file was read, in English."""
    convert: Callable[[Path, Path, Mapping[str, str]], list[str]] | None = None
    """Writes a file in the format of another suffix; returns notes about what was lost."""
    tsv: Callable[[Sequence[Result]], TableRows] | None = None
    """The table of `--format tsv`."""
    surprisals: Callable[[Sequence[Result]], TableRows] | None = None
    """The table of `wug export --what surprisals`."""
    evaluated_json: Callable[[Result], Mapping[str, Any]] | None = None
    """The document of `wug export --what suite`."""
    oracle: CorrectOutput | None = None
    """The correct output for a source, for the backend `oracle`."""
    read_answers: Callable[[Path], dict[str, str]] | None = None
    """The outputs in a file of predictions by source, for the backend `replay`."""
    export_run: SubmissionWriter | None = None
    """Writes the submission of a benchmark, for `wug export --to FAMILY`."""
    to_sample: Callable[[Outcome, Result], Sample] | None = None
    """An item in the terms of other programs."""
    from_sample: Callable[[Sample], dict[str, Any]] = lambda sample: {}
    """The details of the outcomes of imported choices, with `TRAITS.sample_options`."""
    adopt: Callable[[Path, Path], list[str]] = lambda source, target: []
    """Copies data that is in no repository, for `wug data get NAME --from FOLDER`; a line for each folder."""

    @property
    def schema(self) -> str | None:
        """The JSON Schema of its files, in `schema.json`; None if they are not JSON."""
        from importlib import resources

        try:
            return (resources.files(self.module) / "schema.json").read_text("utf-8")
        except (FileNotFoundError, TypeError):  # a module has no files
            return None

    def submodule(self, name: str) -> ModuleType | None:
        """The module `name` of its package, such as `view`; None if there is none."""
        full_name = f"{self.module.__name__}.{name}"
        is_there = hasattr(self.module, "__path__") and importlib.util.find_spec(full_name) is not None
        return importlib.import_module(full_name) if is_there else None


def _loads_nothing(spec: ModelSpec) -> IdentifiedModel:
    raise ModelError(f"{spec}: its backend does not define load(spec)")


@dataclass(frozen=True)
class Backend(Declaration):
    """A type of model, as its module or package in `models/` declares it."""

    REQUIRED: ClassVar = ("OPTIONS", "TRAITS", "load")
    OPTIONS: Sequence[Option] = ()
    """Given as `-M key=value`."""
    TRAITS: BackendTraits = BackendTraits()  # noqa: RUF009 — frozen
    load: Callable[[ModelSpec], Any] = _loads_nothing
    """A model with `score(requests)` or `generate(sources)`; it gets whole lists and owns batching."""
    identify: Callable[[ModelSpec], Identity | None] = lambda spec: None
    """The identity from the files alone, without loading; None if the model has to be loaded."""
    open_loaded: LoadedModelOpener = lambda model, tokenizer, options: None
    """A model that the user has loaded, and its name if it equals its files; None if it is not of this backend."""
    prefetch: Callable[[ModelSpec], None] = lambda spec: None
    """Fetches files while another model runs."""
    snapshot: Callable[[ModelSpec], Path | None] = lambda spec: None
    """The folder of a model that was downloaded; None if there is none on this machine."""
    revisions: Callable[[str], Mapping[str, str]] | None = None
    """The revisions of a model with their commits, by its name."""
    chat_format: Callable[[ModelSpec], ChatFormat | None] = lambda spec: None
    """How its models read a chat before a text, from the tokenizer alone."""
    wrap: Callable[..., IdentifiedModel] | None = None
    """The model of a Python function, with `TRAITS.wraps_functions`: `wrap(function, name, version, returns)`."""


class TableWriter(Protocol):
    """The text or the bytes of a table; `raw` leaves out protection from formulas of spreadsheets."""

    def __call__(self, table: Tabular, *, raw: bool = False) -> Iterable[str | bytes]: ...  # noqa: D102


@dataclass(frozen=True)
class TableFormat:
    """A format of tables: a module in `views/writers/`."""

    write: TableWriter
    MEDIA_TYPE: str
    """The media type of downloads."""
    SUFFIXES: Sequence[str] = ()
    """Suffixes of files, such as `.csv`."""
    BINARY: bool = False
    """Whether files are not text."""
    require: Callable[[], None] = lambda: None
    """MissingExtra if packages are not installed."""
