# make demo     set up, run the main job on built-in material, print a table, write demo/report.html
# make test     set up, check the code, run all tests; WORKERS=n for as many processes (three keep two cores busy: browsers and servers make them wait)
# make quick    the same without a browser and without what takes long: three to four minutes on two cores, for every day's work
# make install  the environment in .venv, with all that the demo and the tests need
# make docs     the documentation, into site/; opens from there without a server and without a network
# make check    ruff, mypy, the prose linter, the layers; make lint is ruff and mypy alone
# make coverage run the tests with coverage; fails below 95% over all, or below 90% in a package
# make release  build both wheels, check them, try them in a bare environment; see RELEASING.md
# make lowest   the tests with the oldest versions that pyproject.toml allows, in .venv-lowest (Python 3.11)
# make lock     write lock.txt, the versions that development is done with
# make fuzz     hostile and damaged input, kills, a hostile server: a few minutes; SEED=n for other inputs (docs/fuzzing.md)
# make bench    speed and memory beside lm-eval, minicons, CTranslate2 and generate (installs them in .venv-bench), all in one
#               recorded run (docs/benchmarks.md); AIMS=1 or QUICK=1 for less of it, DEVICE=cuda for the GPU, ONLY=name for some

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name))))
BIN := .venv/bin
PIP := -c constraints.txt
WORKERS ?= 3
SEED ?= $(shell date +%Y%m%d)

.PHONY: demo test quick install docs check lint coverage release lowest lock fuzz bench clean

demo: install
	$(BIN)/wug demo --output demo

test: lint
	$(BIN)/pytest -n $(WORKERS) --maxfail=40

quick: lint
	$(BIN)/pytest -n $(WORKERS) -m 'not slow'

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "wug needs Python 3.11 or later: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet $(PIP) --upgrade pip
	$(BIN)/python -m pip install --quiet $(PIP) --editable '.[dev]'
	@touch $@

docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "The documentation: site/index.html"

check: lint
	$(BIN)/python tests/prose.py
	$(BIN)/pytest tests/test_layers.py

lint: install
	$(BIN)/ruff check src tests benchmarks packages examples hatch_build.py
	$(BIN)/ruff format --check src tests benchmarks packages examples hatch_build.py
	$(BIN)/mypy

coverage: install
	$(BIN)/pytest -n $(WORKERS) --cov --cov-report= --cov-report=json:.coverage.json
	$(BIN)/python tests/coverage_by_package.py .coverage.json

release: install
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir dist packages/wug-models
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/try_wheels.py dist

lowest:
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) tests/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet $(PIP) --upgrade pip
	.venv-lowest/bin/python -m pip install --quiet $(PIP) -c .venv-lowest/lowest.txt --editable '.[dev]'
	.venv-lowest/bin/pytest -n $(WORKERS)

lock: install
	$(BIN)/python -m pip freeze --exclude-editable > lock.txt

fuzz: install
	PYTHONPATH=tests:tests/helpers $(BIN)/python -m fuzz --seed $(SEED)

bench: .venv-bench/installed
	.venv-bench/bin/python benchmarks/recorded.py $(if $(DEVICE),--device $(DEVICE)) $(if $(QUICK),--quick) $(if $(AIMS),--aims) $(if $(ONLY),--only $(ONLY))

.venv-bench/installed: pyproject.toml constraints.txt benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet $(PIP) --upgrade pip
	.venv-bench/bin/python -m pip install --quiet $(PIP) --editable '.[hf,ctranslate,web]' -r benchmarks/requirements.txt
	@touch $@

clean:
	rm -rf .venv .venv-bench .venv-lowest demo dist site .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
