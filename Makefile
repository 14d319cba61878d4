# make demo   set up and repair the examples        make test    set up and run every test
# make check  ruff, mypy --strict, module sizes     make bench   speed, as ratios against a floor
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check bench conformance clean
.DELETE_ON_ERROR:

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "opmend needs Python >= 3.11; run: make PYTHON=python3.11 ...")'
	@command -v g++ >/dev/null || { echo "opmend compiles kernels with g++: install it (Debian: apt-get install g++)"; exit 4; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)
	@$(BIN)/python examples/demo.py

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/house.py

bench: $(READY)
	$(BIN)/python -m pytest tests/bench --benchmark-only -o addopts='--import-mode=importlib'

# TASKS=<folder of tasks> [LIMIT=n] [CASES=n] [TIMEOUT=s]: what builds, runs and passes on this device
conformance: $(READY)
	@test -n "$(TASKS)" || { echo "name a folder of tasks: make conformance TASKS=<folder>"; exit 2; }
	@$(BIN)/python -m adapters.conformance $(TASKS) $(if $(LIMIT),--limit $(LIMIT)) $(if $(CASES),--cases $(CASES)) $(if $(TIMEOUT),--timeout $(TIMEOUT)) $(if $(JOBS),--jobs $(JOBS))

clean:
	rm -rf $(VENV) .opmend .mypy_cache .ruff_cache *.egg-info
