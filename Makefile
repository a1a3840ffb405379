# `make run` simulates a robot arm on a ROS 2 graph, `make test` runs all tests; both install what they need into .venv.
# A sourced ROS 2 is used instead of the ROS wheels from PyPI, in an environment of its own: the two never mix.

ROBOT ?= arm
SUPPORTED := 3.10 3.11 3.12 3.13 3.14
PYTHONS ?= $(SUPPORTED:%=python%)

# the sourced ROS 2, if any: the first prefix that holds rclpy and is no virtual environment with the wheels
ROS_PREFIX := $(firstword $(foreach prefix,$(subst :, ,$(AMENT_PREFIX_PATH)),\
  $(if $(wildcard $(prefix)/pyvenv.cfg),,\
    $(if $(wildcard $(prefix)/share/ament_index/resource_index/packages/rclpy),$(prefix)))))

VENV ?= .venv$(if $(ROS_PREFIX),-ros-$(notdir $(ROS_PREFIX)))
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check install --no-deps --no-compile

# if set, every process compiles all modules again, a quarter of a node's start time
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help run tools test test-fast test-long fuzz bench corpus pictures docs lint format clean pins python

help:  ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile
	@echo 'Variables: ROBOT=<name or URDF file>, VIEW=1 (show it in a browser), ARGS="<options of sim_bridge run, pytest, the fuzzer or the benchmark>",'
	@echo '  PYTHON=<interpreter, $(firstword $(SUPPORTED)) to $(lastword $(SUPPORTED))>, VENV=<folder>'

# VIEW=1 shows the robot in a browser
SHOWN := $(filter-out 0 false,$(VIEW))
FILMED := $(filter-out 0 false,$(FILM))
CLUSTERED := $(filter-out 0 false,$(RAY))

run: $(VENV)/.run $(if $(SHOWN),$(VENV)/.view)  ## simulate ROBOT (default: arm) with a controller in a second process; Ctrl-C ends both
	@exec $(BIN)/python -m sim_bridge run "$(ROBOT)" $(if $(SHOWN),--view) $(ARGS)

tools: $(VENV)/.sweep $(if $(FILMED),$(VENV)/.film) $(if $(CLUSTERED),$(VENV)/.ray)  ## install the tools for recordings, pages, curves, Gymnasium and sweeps; FILM=1: also pictures and films of runs; RAY=1: also clusters
	@echo 'For `sim_bridge` as a command: . $(BIN)/activate'

test: $(VENV)/.test  ## run all tests, on all processors
	@$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

test-fast: $(VENV)/.test  ## run the tests without ROS graphs and other processes
	@$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m 'not long and not ros and not process and not slow' $(ARGS)

test-long: $(VENV)/.test $(VENV)/.browser $(VENV)/.pictures  ## run the tests that take minutes, on all processors
	@$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m long $(ARGS)

fuzz: $(VENV)/.test  ## read hostile inputs for an hour; ARGS="--seconds 600 --kinds urdf,api"
	@PYTHONPATH='$(CURDIR):$(CURDIR)/test/support' exec $(BIN)/python -m fuzzing $(ARGS)

bench: $(VENV)/.pictures  ## run the benchmarks beside MuJoCo, ODE, Bullet, Pinocchio, Embree and VTK
	@$(BIN)/python -m benchmarks $(ARGS)

corpus: $(VENV)/.run  ## try the robot files below DIR, a folder of clones; ARGS="--limit 60"
	@$(BIN)/python -m corpus "$(or $(DIR),$(error name a folder of clones: make corpus DIR=~/clones))" $(ARGS)

pictures: $(VENV)/.pictures  ## run the tutorial's pages and draw their pictures; ARGS=4_separation.md
	@$(BIN)/python docs/tutorial/make_pictures.py $(ARGS)

docs: $(VENV)/.docs  ## build the documentation site, build/docs/index.html
	@$(BIN)/python docs/site/build.py $(ARGS)

lint: $(VENV)/.lint  ## check style, directions of imports, and types
	@$(BIN)/python -m ruff check
	@$(BIN)/python -m ruff format --check --quiet
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m mypy

format: $(VENV)/.lint  ## format the code
	@$(BIN)/python -m ruff format

clean:  ## delete environments and all outputs of builds and tests
	rm -rf .venv .venv-ros-* build dist install log *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

pins:  ## resolve the version ranges of setup.py again, for all PYTHONS
	$(or $(PYTHON),python3) -m venv --clear .venv-pins
	.venv-pins/bin/python -m pip --quiet install --upgrade pip
	.venv-pins/bin/python requirements/pin.py $(foreach python,$(PYTHONS),"$$(command -v $(python))")
	rm -rf .venv-pins

# A stamp file marks a finished installation, and is out of date when a file it was made from changes.
# All versions are pinned, so nothing is resolved; packages without a wheel are built with the
# pinned setuptools. With a sourced ROS 2 its numpy is kept: its messages were built against it.

ifdef ROS_PREFIX
RUNTIME := $(VENV)/run.txt
else
RUNTIME := requirements/run.txt requirements/ros.txt
TESTED := requirements/ros-test.txt
endif
# some of the robots that ship are OpenPLX scenes; many others are MJCF and USD files
RUNTIME += requirements/openplx.txt requirements/mjcf.txt requirements/usd.txt

$(VENV)/.run: $(VENV)/.created requirements/build.txt requirements/trim.py $(RUNTIME) setup.py package.xml
	@test -n '$(ROS_PREFIX)' || test "$$(uname -sm)" = 'Linux x86_64' || { \
	  echo "There are ROS 2 wheels for Linux on x86_64 only, not for $$(uname -sm)." >&2; \
	  echo 'Install ROS 2, source its setup file and run make again.' >&2; exit 1; }
	@echo 'Installing into $(VENV), with the ROS 2 $(if $(ROS_PREFIX),in $(ROS_PREFIX),wheels) …'
	@$(PIP) --requirement requirements/build.txt
	@$(PIP) --no-build-isolation --use-pep517 $(RUNTIME:%=--requirement %) --editable .
	@$(BIN)/python requirements/trim.py $(VENV)
	@touch $@

$(VENV)/run.txt: requirements/run.txt $(VENV)/.created
	@grep -v '^numpy==' $< > $@

$(VENV)/.view: $(VENV)/.run requirements/view.txt
	@echo 'Installing the requirements of the live page …'
	@$(PIP) --requirement requirements/view.txt
	@touch $@

$(VENV)/.plot: $(VENV)/.view requirements/plot.txt
	@echo 'Installing the tools for curves …'
	@$(PIP) --requirement requirements/plot.txt
	@touch $@

$(VENV)/.gym: $(VENV)/.plot requirements/gym.txt
	@echo 'Installing Gymnasium …'
	@$(PIP) --requirement requirements/gym.txt
	@touch $@

$(VENV)/.sweep: $(VENV)/.gym requirements/sweep.txt
	@echo 'Installing the tools for sweeps …'
	@$(PIP) --requirement requirements/sweep.txt
	@touch $@

# Ray needs only click of the versions pinned for lint
$(VENV)/.ray: $(VENV)/.sweep requirements/ray.txt requirements/lint.txt
	@echo 'Installing Ray …'
	@grep '^click==' requirements/lint.txt > $(VENV)/ray.txt
	@$(PIP) --requirement $(VENV)/ray.txt --requirement requirements/ray.txt
	@touch $@

$(VENV)/.film: $(VENV)/.plot requirements/pictures.txt requirements/film.txt
	@echo 'Installing the tools for pictures and films of runs …'
	@$(PIP) --requirement requirements/pictures.txt --requirement requirements/film.txt
	@touch $@

$(VENV)/.bench: $(VENV)/.plot requirements/bench.txt
	@echo 'Installing the engines for the benchmarks …'
	@$(PIP) --requirement requirements/bench.txt
	@touch $@

$(VENV)/.pictures: $(VENV)/.bench requirements/pictures.txt
	@$(PIP) --requirement requirements/pictures.txt
	@touch $@

$(VENV)/.test: $(VENV)/.bench $(VENV)/.ray $(VENV)/.lint $(VENV)/.docs requirements/test.txt requirements/meshes.txt requirements/film.txt $(TESTED)
	@echo 'Installing the requirements of the tests …'
	@$(PIP) --requirement requirements/test.txt --requirement requirements/meshes.txt --requirement requirements/film.txt $(TESTED:%=--requirement %)
	@$(if $(ROS_PREFIX),,echo 'Generating the message packages that have no wheels …'; $(BIN)/python -m sim_bridge interfaces >/dev/null)
	@touch $@

# Sphinx needs only docutils of the versions pinned for the tests
$(VENV)/.docs: $(VENV)/.plot requirements/docs.txt requirements/test.txt
	@echo 'Installing the tools for the documentation site …'
	@grep '^docutils==' requirements/test.txt > $(VENV)/docs.txt
	@$(PIP) --requirement $(VENV)/docs.txt --requirement requirements/docs.txt
	@touch $@

$(VENV)/.browser: $(VENV)/.view requirements/browser.txt requirements/browser.py
	@echo 'Installing a browser for tests …'
	@$(PIP) --requirement requirements/browser.txt
	@$(BIN)/python requirements/browser.py $(VENV)/browser
	@touch $@

$(VENV)/.lint: $(VENV)/.gym requirements/lint.txt
	@$(PIP) --requirement requirements/lint.txt
	@touch $@

# An interpreter is usable if it runs (a pyenv shim may not), has a supported version, and can make virtual environments.
, := ,
CHECK := import ensurepip, sys, venv; sys.exit(sys.version_info[:2] not in {$(foreach v,$(SUPPORTED),($(subst .,$(,),$(v))),)})
CANDIDATES := $(if $(ROS_PREFIX),,$(foreach v,3.12 3.11 3.13 3.14 3.10,python$(v)))

# a different interpreter: make the environment again
ifneq ($(and $(PYTHON),$(wildcard $(VENV)/.created)),)
ifneq ($(PYTHON),$(shell cat $(VENV)/.created))
$(VENV)/.created: FORCE
endif
endif
FORCE:

$(VENV)/.created:
	@set -e; found=; \
	for python in $(if $(PYTHON),"$(PYTHON)",python3 $(CANDIDATES)); do \
	  if "$$python" -c '$(CHECK)' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	test -n "$$found" || { \
	  echo 'No Python $(firstword $(SUPPORTED)) to $(lastword $(SUPPORTED)) with venv found; tried: $(or $(PYTHON),python3 $(CANDIDATES)).' >&2; \
	  echo 'Install one (Debian and Ubuntu: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3.' >&2; \
	  exit 1; }; \
	if test -n '$(ROS_PREFIX)' && ! "$$found" -c 'import rclpy'; then \
	  echo "The ROS 2 in $(ROS_PREFIX) is sourced, but its rclpy cannot be imported by $$found." >&2; \
	  echo 'Name the interpreter it is for (make PYTHON=/usr/bin/python3), or start a shell without it.' >&2; \
	  exit 1; fi; \
	"$$found" -m venv --clear $(if $(ROS_PREFIX),--system-site-packages) $(VENV); \
	echo "$$found" > $@
