# One command per purpose; every target makes the environment it needs first.
#   make setup PYTHON=python3.12        another interpreter (3.10 or newer)
#   make setup EXTRAS=ros,test          other extras of setup.py
#   make setup INSTALLER=pip            pip instead of uv
#   make setup LOCKED=1                 exactly the files of requirements.lock, checked by their hashes
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= ros,sim,perception,planning,collision,capability,plots,recording,viewer,big,test
INSTALLER ?= uv
FUZZ_SECONDS ?= 120
HOURS ?= 1
comma := ,
export PYTHON INSTALLER LOCKED
# Where containers set it, every process compiles all its Python modules again: a start takes three times as long.
unexport PYTHONDONTWRITEBYTECODE

BENCH_VENV ?= .venv-bench
DOCS_VENV ?= .venv-docs
NOTEBOOKS_VENV ?= .venv-notebooks
bin := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup lock test test-all test-pythons test-faults fuzz soak lint bench bench-core bench-derivatives bench-ik bench-collision \
	bench-planning bench-polytope \
	bench-constrained bench-servo bench-reach bench-perception bench-stereo bench-eyes bench-hand-eye bench-gpu bench-control bench-sim bench-nodes bench-setup images architecture docs notebooks sim \
	clean distclean

help:
	@echo "make setup       environment in $(VENV) (a minute; later runs a second)"
	@echo "make test        the tests on all cores (ARGS='-k ik' chooses);  make test-all  also the slow ones, and other Pythons"
	@echo "make test-pythons  the tests on every other supported Python that is installed; VERSIONS='3.12 3.13'"
	@echo "make test-faults  faults against real processes, judged by the physics; writes docs/faults.md"
	@echo "make fuzz        broken descriptions, meshes, maps, caches, commands and messages; FUZZ_SECONDS=600"
	@echo "make soak        random goals, obstacles and killed nodes; HOURS=1; writes docs/soak.md"
	@echo "make images      real images for some tests of perception, from Debian's opencv-doc and scikit-image"
	@echo "make lint        ruff check, ruff format --check, mypy"
	@echo "make architecture  draws docs/architecture.md from the import graph and prints its numbers"
	@echo "make docs        the documentation site, in build/docs/index.html, from an environment of its own"
	@echo "make notebooks   opens five notebooks in the browser, from an environment of its own"
	@echo "make bench       every benchmark;  make bench-core  kinematics and dynamics beside their peers"
	@echo "make bench-derivatives, bench-ik, bench-collision, bench-planning, bench-polytope, bench-reach, bench-gpu  the same for the others"
	@echo "make bench-perception  a stereo pair from image to obstacles, beside a plain pipeline"
	@echo "make bench-stereo  disparities of real pairs beside OpenCV's SGBM_3WAY; make images gets the pairs"
	@echo "make bench-eyes  depth images with the noise of a real camera: what the obstacles cover, beside a plain pipeline"
	@echo "make bench-hand-eye  hand-eye calibration on rendered boards with pixel noise, both set-ups"
	@echo "make bench-control  a minute of control at 1 kHz, and the tracking of every law"
	@echo "make bench-sim   both physics engines: step, spawn, camera, agreement with our dynamics"
	@echo "make bench-nodes  the planner's action over DDS, polytopes of a moving arm, and the servo's latency"
	@echo "make sim         a UR5 on a table in a simulation, controlled at 1 kHz; SECONDS=20 ends by itself"
	@echo "make clean       build products and caches;  make distclean  also the environments"

setup:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh

# The versions and hashes of everything that `make setup` installs, for every Python and platform.
lock: setup
	$(bin)/uv pip compile -q setup.py $(addprefix --extra ,$(subst $(comma), ,$(EXTRAS))) --universal --python-version 3.10 \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements.lock

test: setup
	@PYTHON=$(bin)/python scripts/run_tests.sh $(ARGS)

test-all: setup
	@PYTHON=$(bin)/python scripts/run_tests.sh -m "slow or not slow" $(ARGS); status=$$?; \
	  PYTHON=$(bin)/python EXTRAS=$(EXTRAS) scripts/test_pythons.sh $(ARGS) && exit $$status

# The other Pythons that are installed: VERSIONS='3.12 3.13' chooses.
test-pythons: setup
	@PYTHON=$(bin)/python EXTRAS=$(EXTRAS) VERSIONS="$(VERSIONS)" scripts/test_pythons.sh $(ARGS)

test-faults: setup
	PYTHONPATH=test:. $(bin)/python -m faults.run $(ARGS)

fuzz: setup
	PYTHONPATH=test:. $(bin)/python -m fuzz.run --seconds $(FUZZ_SECONDS) $(ARGS)
	PYTHONPATH=test:. $(bin)/python -m fuzz.messages --seconds $(FUZZ_SECONDS)

soak: setup
	PYTHONPATH=. $(bin)/python scripts/soak.py --hours $(HOURS) $(ARGS)

# Some tests read real images, and are skipped without; never fails.
images:
	@scripts/fetch_test_images.sh

lint: setup
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/mypy

architecture:
	@$(PYTHON) scripts/draw_architecture.py

# Every warning is an error. The pages of the nodes are written by scripts/describe_nodes.py, which needs ROS.
docs:
	@VENV=$(DOCS_VENV) EXTRAS=docs scripts/setup_env.sh
	$(DOCS_VENV)/bin/python -m sphinx -b html -W --keep-going -q docs build/docs
	@echo "build/docs/index.html"

notebooks:
	@VENV=$(NOTEBOOKS_VENV) EXTRAS=notebooks,plots,ik,collision,capability scripts/setup_env.sh
	$(NOTEBOOKS_VENV)/bin/jupyter notebook notebooks

bench-setup:
	@VENV=$(BENCH_VENV) EXTRAS= REQUIREMENTS=benchmarks/requirements.txt scripts/setup_env.sh

bench-core: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/core.py

bench-derivatives: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/derivatives.py

bench-ik: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/ik.py

bench-collision: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/collision.py

bench-planning: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/planning.py
	$(BENCH_VENV)/bin/python benchmarks/constrained_planning.py

bench-polytope: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/polytope.py

bench-constrained: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/constrained.py

bench-servo: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/servo.py

bench-reach: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/reach.py

bench-gpu: bench-setup
	$(BENCH_VENV)/bin/python benchmarks/gpu.py

bench-sim:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh
	$(bin)/python benchmarks/simulators.py

# The physics engines and ROS are needed in these, so they run where the tests do.
bench-perception:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh
	$(bin)/python benchmarks/perception.py

bench-stereo: images
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh
	$(bin)/python benchmarks/stereo_pairs.py $(ARGS)

bench-eyes:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh
	$(bin)/python benchmarks/eyes.py

bench-hand-eye:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh
	$(bin)/python benchmarks/hand_eye.py

bench-control:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh
	$(bin)/python benchmarks/control.py

bench-nodes:
	@VENV=$(VENV) EXTRAS=$(EXTRAS) scripts/setup_env.sh
	$(bin)/python benchmarks/planning_action.py
	$(bin)/python benchmarks/capability_node.py
	$(bin)/python benchmarks/servo_latency.py

bench: bench-core bench-derivatives bench-ik bench-collision bench-planning bench-polytope bench-constrained bench-servo bench-reach bench-perception bench-stereo bench-eyes bench-hand-eye bench-gpu bench-control bench-sim bench-nodes

# make sim SECONDS=20 ends by itself; ROBOT=panda takes another arm; PERCEPTION=0 adds the box to the planner's world
# instead of detecting it with cameras; VIEWER=1 adds a web page that shows everything; SIMULATOR=pybullet takes the
# other physics engine.
sim: setup
	@$(bin)/python examples/sim_demo $(if $(SECONDS),--seconds $(SECONDS)) $(if $(ROBOT),--robot $(ROBOT)) $(if $(filter 0,$(PERCEPTION)),,--perception) $(if $(SIMULATOR),--simulator $(SIMULATOR)) $(if $(VIEWER),--viewer)

clean:
	rm -rf build dist install log docs/api manipapy_msgs/build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) $(BENCH_VENV) $(DOCS_VENV) $(NOTEBOOKS_VENV)
