# One command per purpose; every target makes the environment it needs first.
#   make setup PYTHON=python3.12        another interpreter (3.10 or newer)
#   make setup EXTRAS=ros,test,sim      more of the extras in setup.py
#   make setup INSTALLER=pip            pip instead of uv
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= ros,test
INSTALLER ?= uv
export PYTHON INSTALLER

BENCH_VENV ?= .venv-bench
bin := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup test test-all lint bench bench-core bench-setup sim clean distclean

help:
	@echo "make setup       environment in $(VENV) (a minute; later runs a second)"
	@echo "make test        the tests;  make test-all  also the slow ones"
	@echo "make lint        ruff, and mypy on manipapy_core"
	@echo "make bench       every benchmark;  make bench-core  kinematics and dynamics beside their peers"
	@echo "make sim         the simulated robot"
	@echo "make clean       build products and caches;  make distclean  also the environments"

setup:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh

test: setup
	$(bin)/python -m pytest

test-all: setup
	$(bin)/python -m pytest -m "slow or not slow"

lint: setup
	$(bin)/ruff check .
	$(bin)/mypy

bench-setup:
	@VENV=$(BENCH_VENV) EXTRAS= REQUIREMENTS=benchmarks/requirements.txt scripts/setup_env.sh

bench-core: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/core.py

bench: bench-core

sim: setup
	@echo "The simulated suite (PyBullet bridge, controller, planner) is not here yet; it arrives with the ROS suite."
	@echo "What works today: the library (README), the node model_server, and the robot itself:"
	@echo
	@$(bin)/manipapy describe ur5

clean:
	rm -rf build dist install log manipapy_msgs/build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) $(BENCH_VENV)
