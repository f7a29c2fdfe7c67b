# One command per purpose; every target makes the environment it needs first.
#   make setup PYTHON=python3.12        another interpreter (3.10 or newer)
#   make setup EXTRAS=ros,test          other extras of setup.py
#   make setup INSTALLER=pip            pip instead of uv
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= ros,sim,perception,planning,collision,capability,plots,viewer,test
INSTALLER ?= uv
export PYTHON INSTALLER

BENCH_VENV ?= .venv-bench
bin := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup test test-all lint bench bench-core bench-ik bench-collision bench-planning bench-polytope \
	bench-reach bench-perception bench-gpu bench-control bench-nodes bench-setup pictures sim clean distclean

help:
	@echo "make setup       environment in $(VENV) (a minute; later runs a second)"
	@echo "make test        the tests;  make test-all  also the slow ones"
	@echo "make pictures    real pictures for some tests of perception, from Debian's opencv-doc"
	@echo "make lint        ruff, and mypy on manipapy_core"
	@echo "make bench       every benchmark;  make bench-core  kinematics and dynamics beside their peers"
	@echo "make bench-ik, bench-collision, bench-planning, bench-polytope, bench-reach, bench-gpu  the same for the others"
	@echo "make bench-perception  a stereo pair from picture to obstacles, beside the plain way"
	@echo "make bench-control  a minute of control at 1 kHz, and the tracking of every law"
	@echo "make bench-nodes  the planner asked over DDS, and polytopes of a moving arm"
	@echo "make sim         a UR5 on a table in PyBullet, controlled at 1 kHz; SECONDS=20 ends by itself"
	@echo "make clean       build products and caches;  make distclean  also the environments"

setup:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh

test: setup
	$(bin)/python -m pytest

test-all: setup
	$(bin)/python -m pytest -m "slow or not slow"

# Some tests look at real pictures, and are skipped without; never fails.
pictures:
	@scripts/fetch_test_pictures.sh

lint: setup
	$(bin)/ruff check .
	$(bin)/mypy

bench-setup:
	@VENV=$(BENCH_VENV) EXTRAS= REQUIREMENTS=benchmarks/requirements.txt scripts/setup_env.sh

bench-core: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/core.py

bench-ik: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/ik.py

bench-collision: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/collision.py

bench-planning: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/planning.py

bench-polytope: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/polytope.py

bench-reach: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/reach.py

bench-gpu: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/gpu.py

# PyBullet and ROS are needed in these, so they run where the tests do.
bench-perception:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh
	$(bin)/python benchmarks/perception.py

bench-control:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh
	$(bin)/python benchmarks/control.py

bench-nodes:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh
	$(bin)/python benchmarks/planning_action.py
	$(bin)/python benchmarks/capability_node.py

bench: bench-core bench-ik bench-collision bench-planning bench-polytope bench-reach bench-perception bench-gpu bench-control bench-nodes

# make sim SECONDS=20 ends by itself; ROBOT=panda takes another arm; PERCEPTION=0 tells the planner of the box instead of
# letting it see; VIEWER=1 adds a web page that shows everything.
sim: setup
	@$(bin)/python examples/sim_demo $(if $(SECONDS),--seconds $(SECONDS)) $(if $(ROBOT),--robot $(ROBOT)) $(if $(filter 0,$(PERCEPTION)),,--perception) $(if $(VIEWER),--viewer)

clean:
	rm -rf build dist install log manipapy_msgs/build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) $(BENCH_VENV)
