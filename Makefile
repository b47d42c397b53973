# Each target makes its own set-up: nothing but make and Python 3.11 or newer is needed.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: reproduce test test-all lint bench clean
.DEFAULT_GOAL := reproduce

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml requirements.txt | $(BIN)/pip
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.txt -e '.[dev]'
	touch $@

reproduce: $(VENV)/.installed  ## every table of the paper offline: four domains, five seeds; continues where it was stopped
	$(BIN)/agenteval reproduce --workers 2

test: $(VENV)/.installed-dev  ## everything that takes less than a few seconds
	$(BIN)/python -m pytest -n 2

test-all: $(VENV)/.installed-dev  ## the slow ones too
	$(BIN)/python -m pytest -n 2 -m 'slow or not slow'

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check agenteval tests experiments

bench: $(VENV)/.installed-dev  ## figures of the labeller, the mined graph and the counting
	for script in experiments/bench/*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) build dist *.egg-info
