"""Tries the built wheels as their users do: the core in a bare environment, then the models and the demo.

`make release` calls it with the folder of the wheels. The core judges predictions and writes a report without torch;
its size is printed, and must stay small.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
MOST = 120_000_000
"""Bytes that the core and all it needs may take once installed."""
FORM = "* cat ( x _ 1 ) ; sleep . agent ( x _ 2 , x _ 1 )"
OTHER = "* dog ( x _ 1 ) ; sleep . agent ( x _ 2 , x _ 1 )"


def main(folder: str) -> int:
    """Install, judge, report, demo; the first thing that fails ends it."""
    wheels = Path(folder).resolve()
    [core] = wheels.glob("wug-*.whl")
    [models] = wheels.glob("wug_models-*.whl")
    with tempfile.TemporaryDirectory() as place:
        bare = Path(place)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare / "env"], check=True)
        install(bare, str(core))
        size = sum(path.stat().st_size for path in installed(bare))
        print(f"the core and all it needs: {size / 1e6:.0f} MB installed; {core.stat().st_size / 1e6:.1f} MB the wheel")
        if size > MOST:
            raise SystemExit(f"that is more than {MOST / 1e6:.0f} MB")
        gold, answers = bare / "gold.tsv", bare / "answers.tsv"
        gold.write_text(f"The cat slept .\t{FORM}\tin_distribution\n" * 2, encoding="utf-8")
        answers.write_text(f"{FORM}\n{OTHER}\n", encoding="utf-8")
        wug(bare, "score", "cogs", "--gold", gold, "--predictions", answers, "--save")
        wug(bare, "report", "1", "-o", bare / "page.html")
        install(bare, f"wug[hf,report,ctranslate] @ {core.as_uri()}", str(models))
        size = sum(path.stat().st_size for path in installed(bare))
        print(
            f"with models and all that the demo needs: {size / 1e9:.1f} GB; {models.stat().st_size / 1e6:.1f} MB models"
        )
        wug(bare, "demo", "--output", bare / "demo")
    return 0


def install(bare: Path, *what: str) -> None:
    """Install packages into the environment by the pip of this one."""
    python = str(bare / "env" / "bin" / "python")
    command = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "-c", str(CONSTRAINTS), *what]
    subprocess.run(command, check=True)


def installed(bare: Path) -> Iterator[Path]:
    """All files of the packages in the environment."""
    return (path for path in (bare / "env" / "lib").rglob("*") if path.is_file())


def wug(bare: Path, *words: str | Path) -> None:
    """Run a command of the environment, with another home folder."""
    home = {"WUG_STORE": str(bare / "store"), "WUG_CACHE": str(bare / "answers.db"), "HOME": str(bare)}
    print("$ wug", *words, flush=True)
    subprocess.run([bare / "env" / "bin" / "wug", *words], check=True, cwd=bare, env={**os.environ, **home})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
