PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
EXTRAS := benchmark,demo,dev,korean,onnx,paper,serve,tensorboard

export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The tests of pages need a Chromium, and are skipped where there is none: Debian's, if it may be installed here, and a font for Hangul.
define CHROMIUM
command -v chromium > /dev/null || { test "$$(id -u)" = 0 && command -v apt-get > /dev/null && \
  { apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium fonts-nanum; } > /dev/null 2>&1; } || \
  echo 'There is no Chromium here, so the tests of pages will be skipped; install one and they will run.'
endef

.PHONY: setup demo test test-slow check format clean

setup: $(READY)

# torch first and alone: pip then takes its pinned build, whatever the others would have asked for.
$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet torch
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@$(CHROMIUM)
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
