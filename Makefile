PYTHON ?= python3
BIN := .venv/bin
DEMO := .venv/.demo
READY := .venv/.ready
EXTRAS := benchmark,demo,dev,docs,korean,onnx,paper,ray,serve,tensorboard

export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The tests of pages need a Chromium, and are skipped where there is none: Debian's, if it may be installed here, and a font
# for Hangul. It is the one thing that goes outside of .venv, so it is announced.
define CHROMIUM
command -v chromium > /dev/null || { test "$$(id -u)" = 0 && command -v apt-get > /dev/null && \
  echo 'Installing outside of .venv, with apt-get, for the tests of pages: chromium, fonts-nanum.' && \
  { apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium fonts-nanum; } > /dev/null 2>&1; } || \
  echo 'There is no Chromium here, so the tests of pages will be skipped; install one and they will run.'
endef

.PHONY: setup demo test test-slow test-native check format coverage docs outputs pictures wheel hooks clean

setup: $(READY)

# What the demo needs, and nothing else. torch first and alone: pip then takes its pinned build, whatever the others would
# have asked for.
NATIVE := hatch_build.py src/regard/engines/native/build.py $(shell find src/regard/engines/native/source -type f)

$(DEMO): pyproject.toml constraints.txt $(NATIVE)
	@echo 'Installing into .venv: torch, and what the demo and the server need.'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet torch
	$(BIN)/python -m pip install --quiet --editable '.[demo,serve]'
	@touch $(DEMO)

$(READY): $(DEMO)
	@$(CHROMIUM)
	@echo 'Installing into .venv: tools for tests, checks, benchmarks and documentation.'
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@touch $(READY)

demo: $(DEMO)
	$(BIN)/regard demo

test: setup
	$(BIN)/python -m pytest -n 2 -m 'not slow'

test-slow: setup
	$(BIN)/python -m pytest -m slow

# The native engine's tests with AddressSanitizer and UBSan; those with threads with ThreadSanitizer; and all with AVX-512
# emulated where SIMDe is installed.
test-native: setup
	$(BIN)/python -m regard.engines.native.build --sanitizer address --out build/sanitized.so
	REGARD_NATIVE_LIBRARY=$(CURDIR)/build/sanitized.so LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 $(BIN)/python -m pytest tests/engines/native
	$(BIN)/python -m regard.engines.native.build --sanitizer thread --out build/threads.so
	REGARD_NATIVE_LIBRARY=$(CURDIR)/build/threads.so LD_PRELOAD="$$(c++ -print-file-name=libtsan.so)" OMP_NUM_THREADS=1 \
	  TSAN_OPTIONS=ignore_noninstrumented_modules=1,exitcode=66 $(BIN)/python -m pytest tests/engines/native/test_native_engine.py tests/serve/batching/test_slots.py \
	  -k 'neighbours or progress or many or cancelled or beside'
	@test -d /usr/include/simde || { echo 'There is no SIMDe here (libsimde-dev), so AVX-512 is not tested.'; exit 0; } && \
	  $(BIN)/python -m regard.engines.native.build --emulated --out build/emulated.so && \
	  REGARD_NATIVE_LIBRARY=$(CURDIR)/build/emulated.so REGARD_NATIVE_ISA=avx512-vnni $(BIN)/python -m pytest tests/engines/native

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_packages.py

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

coverage: setup
	$(BIN)/python -m pytest -n 2 -m 'not slow' --cov --cov-report=term:skip-covered --cov-report=html

docs: setup
	$(BIN)/python tools/build_site.py

# Runs the tutorial and the guides as a reader would (half an hour on two cores), and writes what they print into the pages.
outputs: setup
	$(BIN)/python tools/pages.py build/outputs

pictures: setup
	$(BIN)/python tools/pictures.py

wheel: setup
	$(BIN)/hatchling build

hooks: setup
	$(BIN)/pre-commit install

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov build dist site .cache
