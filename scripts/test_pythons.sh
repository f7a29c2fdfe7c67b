#!/usr/bin/env bash
# The tests on the other supported Pythons, each in an environment of its own (.venv-3.12, …); `make test-pythons` and
# `make test-all` call it, and arguments are passed to pytest. A Python that is not installed is named and left out.
#
#   VERSIONS  which                                      (3.10 3.11 3.12 3.13)
#   PYTHON    interpreter whose version is left out      (.venv/bin/python)
#   EXTRAS    of setup.py, as for scripts/setup_env.sh
set -uo pipefail
cd "$(dirname "$0")/.."

tested=$("${PYTHON:-.venv/bin/python}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
status=0
report=()

# interpreter VERSION: its path, from PATH or pyenv. pyenv's own python3.12 on PATH fails where another version is set.
interpreter() {
  "python$1" -c 'import sys; print(sys.executable)' 2>/dev/null && return
  local prefix
  prefix=$(pyenv prefix "$1" 2>/dev/null) && echo "$prefix/bin/python3"
}

for version in ${VERSIONS:-3.10 3.11 3.12 3.13}; do
  [ "$version" != "$tested" ] || continue
  if ! path=$(interpreter "$version"); then
    report+=("Python $version: left out, because there is no interpreter python$version; apt or pyenv has one")
    continue
  fi
  environment=.venv-$version
  if ! PYTHON=$path VENV=$environment scripts/setup_env.sh; then
    report+=("Python $version: the environment could not be made; the lines above say why")
    status=1
  elif PYTHON=$environment/bin/python scripts/run_tests.sh "$@"; then
    report+=("Python $version: passed")
  else
    report+=("Python $version: failed")
    status=1
  fi
done
printf '%s\n' "${report[@]}"
exit "$status"
