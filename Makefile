# Two commands matter: `make demo` and `make test`. Both work straight after `git clone`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Bytecode is kept, whatever the environment says: else every process compiles SciPy and pandas again, for ten seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help kernels demo test browser test-sanitized test-long lint benchmark defaults scale reproduce reproduce-quick questions docs docs-quick wheels release-check clean

help:
	@echo "make demo       install into .venv, cluster an example dataset, write demo/"
	@echo "make test       install the extras, run linter, type checker and every test"
	@echo "make kernels    compile the C kernels again, after a change of them"
	@echo "make test-sanitized  the tests of the kernels, compiled so that every access to memory is checked"
	@echo "make test-long  the statistical studies and the large datasets"
	@echo "make benchmark  speed, memory and quality beside other implementations (25 minutes)"
	@echo "make defaults   how good every method's defaults are, on public and generated data (under 15 minutes)"
	@echo "make scale      time, memory and quality from 10^4 to 10^7 objects, in memory, from files, on workers (20 minutes)"
	@echo "make reproduce  the tables and figures of the papers (under an hour on two cores); reproduce-quick: a few minutes"
	@echo "make questions  which pairs to ask an expert about, beside scikit-query (some minutes)"
	@echo "make docs       the site, into docs/_build/html; every example run, every picture drawn (under ten minutes)"
	@echo "make docs-quick the site without examples and pictures: are code and links of the pages right? (a minute)"
	@echo "make wheels     wheels for Linux, macOS and Windows, compiled on this machine into dist/"
	@echo "make release-check  wheel and sdist, the wheel in an empty environment, the demo from it"
	@echo "make clean      remove .venv, demo/ and caches"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The package alone: enough for the program and the demo. The kernels are compiled while pip brings what the package
# needs; where no compiler is found, that is left to the installation, which then brings one. Python modules are left to
# be compiled when they are first imported (--no-compile): most of those that pip brings never are.
REQUIREMENTS := import tomllib; told = tomllib.load(open("pyproject.toml", "rb")); \
	print("editables", *told["build-system"]["requires"], *told["project"]["dependencies"], sep="\n")
$(VENV)/.installed: pyproject.toml hatch_build.py
	@$(PYTHON) src/dempster/_native/build.py 2>/dev/null & compiling=$$!; \
	$(PYTHON) -m venv $(VENV) && $(BIN)/python -c '$(REQUIREMENTS)' >$(VENV)/requirements.txt && \
	$(BIN)/python -m pip install --quiet --no-compile -r $(VENV)/requirements.txt; installed=$$?; \
	wait $$compiling && here=--no-build-isolation; [ $$installed = 0 ] && \
	$(BIN)/python -m pip install --quiet --no-compile --no-deps $$here --editable .
	@touch $@

# The extras and the tools of the developers. torch comes first and by its exact version: asking for a range
# would fetch the newest release with several gigabytes of GPU libraries.
$(VENV)/.installed-all: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --no-compile "torch==2.13.0"
	$(BIN)/python -m pip install --quiet --no-compile --editable ".[all,test,docs]"
	@touch $@

# What only the workflows of the site need; without it these pages are built, but not run.
$(VENV)/.installed-docs: $(VENV)/.installed-all pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[workflows]"
	@touch $@

kernels: $(VENV)/.installed
	@$(BIN)/python src/dempster/_native/build.py

demo: $(VENV)/.installed kernels
	$(BIN)/dempster demo --output demo

lint: $(VENV)/.installed-all
	$(BIN)/ruff check src tests benchmarks docs examples reproduce tools
	$(BIN)/ruff format --check src tests benchmarks docs examples reproduce tools
	$(BIN)/mypy

# Pages are tried in a real browser, which no Python package brings. Without one those tests are skipped, and say so.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do \
	    command -v $$name >/dev/null && exit 0; \
	done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get install -qq -y chromium >/dev/null 2>&1 || \
	    (apt-get update -qq && apt-get install -qq -y chromium) >/dev/null 2>&1; \
	fi; \
	command -v chromium >/dev/null || echo "no Chromium and no Chrome here: tests in a browser will be skipped"

# What is read runs side by side; then two files of tests at a time, each in a process with one thread for linear algebra:
# on two cores three took no less time.
test: $(VENV)/.installed-all kernels
	@$(MAKE) --no-print-directory -j 3 --output-sync lint docs-quick browser
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Errors in memory and undefined behaviour end the tests. Python does not give back all it takes, which is no error, and
# neither is a request for more memory than there is.
SANITIZED := build/sanitized
KERNEL_TESTS := tests/native tests/optimize $(wildcard tests/cluster/test_kernels.py tests/cluster/*/test_kernels.py)
test-sanitized: $(VENV)/.installed-all
	$(BIN)/python src/dempster/_native/build.py --sanitize $(SANITIZED)
	DEMPSTER_KERNELS=$(CURDIR)/$(SANITIZED)/kernels.so LD_PRELOAD=$$($${CC:-cc} -print-file-name=libasan.so) \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 $(BIN)/python -m pytest -q -p no:cacheprovider $(KERNEL_TESTS)

test-long: $(VENV)/.installed-all
	$(BIN)/python -m pytest -m long

benchmark: $(VENV)/.installed-all
	$(BIN)/python -m pip install --quiet --no-deps evclust==0.2.1 seaborn scikit-fuzzy daqp
	$(BIN)/python -m benchmarks --markdown benchmarks/RESULTS.md

defaults: $(VENV)/.installed-all
	$(BIN)/python -m benchmarks.defaults

scale: $(VENV)/.installed-all
	-$(BIN)/python -m pip install --quiet --no-deps dask-ml dask-glm multipledispatch sparse
	$(BIN)/python -m benchmarks.scale

reproduce: $(VENV)/.installed-all
	$(BIN)/python -m reproduce

reproduce-quick: $(VENV)/.installed-all
	$(BIN)/python -m reproduce --quick

questions: $(VENV)/.installed-all
	$(BIN)/python -m pip install --quiet --no-deps scikit-query==0.4.2 scikit-fuzzy cvxopt
	$(BIN)/python -m benchmarks.questions

# Warnings are errors. What is kept in docs/_build/kept is used again until a source changes.
SPHINX := $(BIN)/python -m sphinx -W --keep-going -q -j 2
docs: $(VENV)/.installed-docs kernels
	$(SPHINX) docs docs/_build/html
	@echo "open docs/_build/html/index.html"

docs-quick: $(VENV)/.installed-all kernels
	$(SPHINX) -b dummy -D quick=1 docs docs/_build/quick

# Every platform is compiled here, by zig; only the wheel of this machine can be tried here.
wheels: $(BIN)/python
	$(BIN)/python -m pip install --quiet hatchling ziglang
	for target in $$($(BIN)/python src/dempster/_native/build.py --targets); do \
	    DEMPSTER_TARGET=$$target $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist . || exit 1; \
	done
	@ls dist
	@echo "Not run here: all but those for $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_platform())')"

# Before a release: what is built is what a user gets. docs/releasing.md says what comes after.
release-check: $(BIN)/python
	$(BIN)/python -m pip install --quiet hatchling
	rm -rf build/release
	$(BIN)/python -m hatchling build -d build/release
	$(BIN)/python tools/release_check.py build/release

clean:
	rm -rf $(VENV) demo build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
