# One command per purpose; every target makes the environment it needs first.
#   make setup PYTHON=python3.12        another interpreter (3.10 or newer)
#   make setup EXTRAS=ros,test          other extras of setup.py
#   make setup INSTALLER=pip            pip instead of uv
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= ros,sim,perception,planning,collision,capability,plots,viewer,big,test
INSTALLER ?= uv
export PYTHON INSTALLER

BENCH_VENV ?= .venv-bench
bin := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup test test-all lint bench bench-core bench-ik bench-collision bench-planning bench-polytope \
	bench-reach bench-perception bench-gpu bench-control bench-nodes bench-setup images architecture sim clean distclean

help:
	@echo "make setup       environment in $(VENV) (a minute; later runs a second)"
	@echo "make test        the tests on all cores (ARGS='-k ik' chooses);  make test-all  also the slow ones"
	@echo "make images      real images for some tests of perception, from Debian's opencv-doc"
	@echo "make lint        ruff check, ruff format --check, mypy"
	@echo "make architecture  draws docs/architecture.md from the import graph and prints its numbers"
	@echo "make bench       every benchmark;  make bench-core  kinematics and dynamics beside their peers"
	@echo "make bench-ik, bench-collision, bench-planning, bench-polytope, bench-reach, bench-gpu  the same for the others"
	@echo "make bench-perception  a stereo pair from image to obstacles, beside the plain way"
	@echo "make bench-control  a minute of control at 1 kHz, and the tracking of every law"
	@echo "make bench-nodes  the planner's action over DDS, and polytopes of a moving arm"
	@echo "make sim         a UR5 on a table in PyBullet, controlled at 1 kHz; SECONDS=20 ends by itself"
	@echo "make clean       build products and caches;  make distclean  also the environments"

setup:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh

test: setup
	@PYTHON=$(bin)/python scripts/run_tests.sh $(ARGS)

test-all: setup
	@PYTHON=$(bin)/python scripts/run_tests.sh -m "slow or not slow" $(ARGS)

# Some tests read real images, and are skipped without; never fails.
images:
	@scripts/fetch_test_images.sh

lint: setup
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/mypy

architecture:
	@$(PYTHON) scripts/draw_architecture.py

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

# make sim SECONDS=20 ends by itself; ROBOT=panda takes another arm; PERCEPTION=0 adds the box to the planner's world
# instead of detecting it with cameras; VIEWER=1 adds a web page that shows everything.
sim: setup
	@$(bin)/python examples/sim_demo $(if $(SECONDS),--seconds $(SECONDS)) $(if $(ROBOT),--robot $(ROBOT)) $(if $(filter 0,$(PERCEPTION)),,--perception) $(if $(VIEWER),--viewer)

clean:
	rm -rf build dist install log manipapy_msgs/build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) $(BENCH_VENV)
