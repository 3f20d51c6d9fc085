# Two commands: `make run` shows what catspace does, `make test` checks it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := -m pip install --quiet --disable-pip-version-check --constraint
PIP_INSTALL := $(PIP) constraints.txt
PIP_INSTALL_LOWEST := $(PIP) constraints-lowest.txt

# Where the Rossmann files are, for the real experiments.
CATSPACE_DATA ?= ../shared/data

.PHONY: run test test-lowest lint browser docs release-check bench peers trust reproduce format clean

run: $(VENV)/.installed
	$(BIN)/catspace reproduce --figures --report --out out

test: lint browser
	$(BIN)/python -m pytest -n 2 -m "not cluster" --cov
	$(BIN)/python -m pytest -m cluster --cov --cov-append

# The same tests with the lowest version of each package that pyproject.toml promises.
LOWEST := .lowest-venv
test-lowest: $(LOWEST)/.installed browser
	$(LOWEST)/bin/python -m pytest -n 2 -m "not cluster"
	$(LOWEST)/bin/python -m pytest -m cluster

$(LOWEST)/.installed: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python $(PIP_INSTALL_LOWEST) torch
	$(LOWEST)/bin/python $(PIP_INSTALL_LOWEST) --editable ".[dev]"
	touch $@

lint: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The report's page is tested in a real browser: Debian's, where the machine has none and lets us.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null \
	|| (apt-get update -qq && apt-get install -qq -y chromium >/dev/null) \
	|| echo "There is no Chromium here and none can be installed: the browser tests will be skipped."

format: $(VENV)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) torch
	$(BIN)/python $(PIP_INSTALL) --editable ".[dev]"
	touch $@

# The site in docs/_build/html, gallery included; a warning is an error. A few minutes.
DOCS := .docs-venv
docs: $(DOCS)/.installed
	$(DOCS)/bin/python -m sphinx --builder html --fail-on-warning --keep-going docs docs/_build/html
	$(DOCS)/bin/python docs/check_site.py docs/_build/html

$(DOCS)/.installed: pyproject.toml constraints.txt docs/requirements.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python $(PIP_INSTALL) torch
	$(DOCS)/bin/python $(PIP_INSTALL) --editable ".[cli,onnx,plots,ray,report]" --requirement docs/requirements.txt
	touch $@

# What would be published: built, looked into, installed alone, and the sdist's own tests run.
RELEASE := .release-venv
SDIST_TESTS ?= tests
release-check: $(VENV)/.installed
	rm -rf dist $(RELEASE)
	$(PYTHON) -m venv $(RELEASE)/tools
	$(RELEASE)/tools/bin/python $(PIP_INSTALL) build twine
	$(RELEASE)/tools/bin/python -m build --outdir dist .
	$(RELEASE)/tools/bin/python -m twine check --strict dist/*
	$(RELEASE)/tools/bin/python tests/release/contents.py dist
	$(PYTHON) -m venv $(RELEASE)/empty
	$(RELEASE)/empty/bin/python $(PIP_INSTALL) dist/*.whl
	$(RELEASE)/empty/bin/python -I -W error tests/release/smoke.py
	$(RELEASE)/empty/bin/python tests/release/weight.py
	$(BIN)/python tests/release/sdist_tests.py dist $(SDIST_TESTS)

# Both tables of the paper on its own data, about two hours; a run that was interrupted goes on.
reproduce: $(VENV)/.installed
	$(BIN)/catspace reproduce --data $(CATSPACE_DATA) --out docs/reproduction

# Damaged and crafted files, kills, threads, full disks, hostile names, lost nodes: about three hours.
trust: $(VENV)/.installed browser
	$(BIN)/python benchmarks/trust.py

# Keras and the real tables live in an environment of their own.
BENCH := .bench-venv
bench: $(BENCH)/.installed $(VENV)/.installed browser
	$(BENCH)/bin/python benchmarks/rossmann.py
	$(BENCH)/bin/python benchmarks/choices.py
	$(BENCH)/bin/python benchmarks/travel.py
	$(BENCH)/bin/python benchmarks/highcard.py
	$(BENCH)/bin/python benchmarks/transform.py
	$(BIN)/python benchmarks/nearest.py
	$(BIN)/python benchmarks/commands.py
	$(BIN)/python benchmarks/scale.py

$(BENCH)/.installed: pyproject.toml constraints.txt benchmarks/requirements.txt benchmarks/requirements-data.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(PIP_INSTALL) torch
	$(BENCH)/bin/python $(PIP_INSTALL) --editable . --requirement benchmarks/requirements.txt
	$(BENCH)/bin/python $(PIP_INSTALL) --no-deps --requirement benchmarks/requirements-data.txt
	touch $@

# fastai, pytorch_tabular, RealMLP, TabM and boosting beside catspace: hours. Nothing here needs
# torchvision, which fastai brings and which does not go together with every build of torch.
PEERS := .peers-venv
peers: $(PEERS)/.installed
	$(PEERS)/bin/python benchmarks/peers.py
	$(PEERS)/bin/python benchmarks/peers.py arena

$(PEERS)/.installed: pyproject.toml constraints.txt benchmarks/requirements-peers.txt benchmarks/requirements-data.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python $(PIP_INSTALL) torch
	$(PEERS)/bin/python $(PIP_INSTALL) --editable . --requirement benchmarks/requirements-peers.txt
	$(PEERS)/bin/python $(PIP_INSTALL) --no-deps --requirement benchmarks/requirements-data.txt
	$(PEERS)/bin/python -m pip uninstall --quiet --yes torchvision
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) $(BENCH) $(PEERS) $(DOCS) $(RELEASE) dist docs/_build docs/gallery docs/generated .coverage out .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
