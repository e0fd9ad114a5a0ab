PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
EXTRAS := benchmark,demo,dev,onnx,paper,tensorboard

export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: setup demo test test-slow check format clean

setup: $(READY)

# torch first and alone: pip then takes its pinned build, whatever the others would have asked for.
$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet torch
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@touch $(READY)

demo: setup
	$(BIN)/regard demo

test: setup
	$(BIN)/python -m pytest -n 2 -m 'not slow'

test-slow: setup
	$(BIN)/python -m pytest -m slow

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_house.py

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
