#!/usr/bin/env bash
# The tests, on all cores and in two parts; `make test` calls it, and arguments are passed to pytest.
#
# First the library, a file at a time on every core. Then the ROS nodes, which mostly wait: every worker has a ROS domain
# of its own, and one of them has all the tests with an arm at 1 kHz, because two such arms do not fit on two cores
# (test/ros/conftest.py). Both parts run even if the first fails.
#
#   PYTHON       interpreter of the environment             (.venv/bin/python)
#   WORKERS      processes of the first part                (auto: one per core, at most 8)
#   ROS_WORKERS  processes of the second; 1 if it is busy   (2)
set -uo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-.venv/bin/python}
status=0
unset PYTHONDONTWRITEBYTECODE  # the tests start hundreds of processes, and each would compile its modules again

# 5 is pytest's code for "no test selected", as with -k.
part() {
  local code=0
  "$PYTHON" -m pytest "$@" || code=$?
  [ "$code" -eq 0 ] || [ "$code" -eq 5 ] || status=$code
}

part --durations=15 --durations-min=5 -n "${WORKERS:-auto}" --maxprocesses 8 --dist loadfile --ignore test/ros "$@"
if "$PYTHON" -c 'import rclpy' 2>/dev/null; then
  part --durations=25 --durations-min=10 -n "${ROS_WORKERS:-2}" --dist loadscope test/ros "$@"
else
  echo "test/ros is left out: this environment has no rclpy; make setup installs it"
fi
exit "$status"
