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

.PHONY: setup demo test test-slow test-native check format clean

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

# The native engine's tests with AddressSanitizer and UBSan, and with AVX-512 emulated where SIMDe is installed.
test-native: setup
	$(BIN)/python -m regard.engines.native.build --sanitized --out build/sanitized.so
	REGARD_NATIVE_LIBRARY=$(CURDIR)/build/sanitized.so LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 $(BIN)/python -m pytest tests/engines/native
	@test -d /usr/include/simde || { echo 'There is no SIMDe here (libsimde-dev), so AVX-512 is not tested.'; exit 0; } && \
	  $(BIN)/python -m regard.engines.native.build --emulated --out build/emulated.so && \
	  REGARD_NATIVE_LIBRARY=$(CURDIR)/build/emulated.so REGARD_NATIVE_ISA=avx512-vnni $(BIN)/python -m pytest tests/engines/native

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
