#!/usr/bin/env bash
# Makes (or brings up to date) the virtual environment that everything runs in. `make setup` calls it; when nothing
# has changed since the last time it ends at once.
#
#   PYTHON        interpreter to build on, 3.10 or newer             (python3)
#   VENV          folder of the environment                          (.venv)
#   EXTRAS        extras of setup.py, comma separated, or empty      (ros,test)
#   REQUIREMENTS  a further requirements file                        (none)
#   INSTALLER     uv, or pip where uv cannot reach the package index (uv)
#   LOCKED        1: exactly the files of requirements.lock, checked by their hashes; all extras of `make setup`
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
VENV=${VENV:-.venv}
EXTRAS=${EXTRAS-ros,test}
REQUIREMENTS=${REQUIREMENTS:-}
INSTALLER=${INSTALLER:-uv}
LOCKED=${LOCKED:-}
stamps=$VENV/.manipapy
started=$SECONDS

say() { printf '[setup] %s\n' "$*"; }
fail() {
  printf '[setup] %s\n' "$1" >&2
  printf '[setup]   cure: %s\n' "$2" >&2
  exit 1
}

check_python() {
  command -v "$PYTHON" >/dev/null ||
    fail "no interpreter '$PYTHON'" "apt install python3 python3-venv python3-dev, or make setup PYTHON=/path/to/python3.11"
  "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$("$PYTHON" --version) is too old; manipapy needs 3.10 or newer" "make setup PYTHON=python3.11"
  "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "$PYTHON cannot make virtual environments (no venv or ensurepip)" "apt install python3-venv"
}

# The interfaces are compiled here, so the compilers are asked for before minutes of installing, not after.
check_compilers() {
  local tool
  for tool in gcc g++; do
    command -v "$tool" >/dev/null ||
      fail "no $tool, which builds the ROS interfaces" "apt install build-essential, or make setup EXTRAS=test for the library alone"
  done
  "$PYTHON" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
    fail "no Python.h for $("$PYTHON" --version)" "apt install python3-dev, or make setup EXTRAS=test for the library alone"
}

wants_ros() { [[ ",$EXTRAS," == *,ros,* || ",$EXTRAS," == *,all,* ]]; }

# A sourced ROS distribution brings rclpy and the messages; wheels beside it would shadow them.
distribution_has() { [ -n "${AMENT_PREFIX_PATH:-}" ] && [ -n "${ROS_DISTRO:-}" ] && "$PYTHON" -c "import $1" 2>/dev/null; }

# digest PATH...: of names and contents of files, folders with all that is in them.
digest() {
  find "$@" -type f -not -path '*/build/*' -not -path '*/__pycache__/*' -print0 | LC_ALL=C sort -z |
    xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

# up_to_date NAME KEY: whether step NAME was last completed for KEY.
up_to_date() { [ -f "$stamps/$1" ] && [ "$(cat "$stamps/$1")" = "$2" ]; }
completed() { printf '%s' "$2" >"$stamps/$1"; }

# uv does not read pip's configuration, so a private index configured for pip is handed over.
prepare_uv() {
  "$VENV/bin/uv" --version >/dev/null 2>&1 || "$VENV/bin/python" -m pip install -q uv || return 1
  local index=${PIP_INDEX_URL:-$("$VENV/bin/python" -m pip config get global.index-url 2>/dev/null || true)}
  [ -z "$index" ] || export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$index}
  export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-1} UV_LINK_MODE=${UV_LINK_MODE:-hardlink}
}

install() {
  if [ "$INSTALLER" = uv ]; then
    if prepare_uv && "$VENV/bin/uv" pip install --python "$VENV/bin/python" "$@"; then
      return
    fi
    say "uv did not succeed; trying the same with pip"
    INSTALLER=pip
  fi
  "$VENV/bin/python" -m pip install "$@"
}

make_venv() {
  local version
  version=$("$PYTHON" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3], sys.base_prefix)')
  up_to_date venv "$version" && "$VENV/bin/python" -c '' 2>/dev/null && return
  say "virtual environment $VENV on Python $version"
  "$PYTHON" -m venv --clear "$VENV"
  mkdir -p "$stamps"
  completed venv "$version"
}

install_project() {
  local extras=$EXTRAS key
  if wants_ros && distribution_has rclpy; then
    say "ROS $ROS_DISTRO is sourced: its rclpy is used, no ROS wheels are installed"
    extras=$(printf '%s' "$extras" | tr ',' '\n' | grep -vx ros | paste -sd, || true)
  fi
  # Launch files, parameters and executables are copied on installation, hence part of the key.
  key="$extras $(digest setup.py setup.cfg pyproject.toml package.xml launch config manipapy_ros/executables \
    scripts/setup_env.sh ${REQUIREMENTS:+"$REQUIREMENTS"} ${LOCKED:+requirements.lock})"
  up_to_date project "$key" && return
  if [ -n "$LOCKED" ]; then
    say "installing the files of requirements.lock, checked by their hashes"
    install --require-hashes --no-deps -r requirements.lock
    install --no-deps -e .
    completed project "$key"
    return
  fi
  say "installing manipapy${extras:+[$extras]} ${REQUIREMENTS:+and $REQUIREMENTS}"
  install ${REQUIREMENTS:+-r "$REQUIREMENTS"} -e ".${extras:+[$extras]}"
  completed project "$key"
}

# parts_of PACKAGE: folders of packages whose interfaces are in the wheel of this one.
parts_of() { [ "$1" != interfaces/moveit_msgs ] || echo interfaces/object_recognition_msgs interfaces/octomap_msgs; }

install_interfaces() {
  wants_ros || return 0
  if distribution_has rclpy; then
    distribution_has manipapy_msgs ||
      fail "ROS $ROS_DISTRO is sourced, but manipapy_msgs is not built" \
        "colcon build --base-paths manipapy_msgs && source install/setup.bash, then make setup again"
    local package
    for package in control_msgs moveit_msgs octomap_msgs; do
      distribution_has "$package" ||
        fail "ROS $ROS_DISTRO is sourced, but it has no $package" "apt install ros-$ROS_DISTRO-${package//_/-}"
    done
    return 0
  fi
  # These have no wheels; what is used of them is compiled along.
  local package key i changed=() keys=()
  for package in manipapy_msgs interfaces/moveit_msgs interfaces/control_msgs interfaces/tf2_msgs; do
    key=$(digest "$package" manipapy_msgs/cmake $(parts_of "$package"))
    up_to_date "${package//\//-}" "$key" || { changed+=("$package") && keys+=("$key"); }
  done
  [ ${#changed[@]} -gt 0 ] || return 0
  # Its messages are part of the wheel of moveit_msgs now; the wheel of its own would take them along when it goes.
  ! "$VENV/bin/python" -m pip show -q manipapy-octomap-msgs 2>/dev/null ||
    "$VENV/bin/python" -m pip uninstall -q -y manipapy-octomap-msgs
  say "compiling the ROS interfaces of ${changed[*]}, about two minutes on two cores"
  install "${changed[@]/#/./}"
  for i in "${!changed[@]}"; do
    completed "${changed[i]//\//-}" "${keys[i]}"
  done
}

check_python
! wants_ros || distribution_has rclpy || check_compilers
make_venv
install_project
install_interfaces
say "$VENV is ready ($((SECONDS - started)) s)"
