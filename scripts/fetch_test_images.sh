#!/usr/bin/env bash
# Gets the images that test/perception and benchmarks/stereo_pairs.py read into build/images: a stereo pair with measured
# depth and the chessboards of Debian's package opencv-doc, and a second pair of scikit-image 0.15. They are not part of
# this project. Where apt or pip is missing, or cannot reach its packages, this prints so and exits with 0: the tests
# that need them are skipped with the same reason.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGE=opencv-doc
FOLDER=build/images
WAIT=60 # seconds per attempt

say() { printf '[images] %s\n' "$*"; }

# fetch FOLDER: the package as a file there; needs no root, only lists of packages.
fetch() { (cd "$1" && timeout "$WAIT" apt-get download -q "$PACKAGE" >/dev/null 2>&1); }

# The pair of scikit-image: later releases do not carry it. A wheel is an archive; nothing of it is installed.
fetch_motorcycle() {
  [ ! -f "$FOLDER/motorcycle_disp.npz" ] || return 0
  local wheels python=${PYTHON:-python3}
  [ ! -x "${VENV:-.venv}/bin/python" ] || python="${VENV:-.venv}/bin/python"
  wheels=$(mktemp -d)
  if timeout "$WAIT" "$python" -m pip download -q --no-deps --only-binary :all: --python-version 3.7 \
    --platform manylinux1_x86_64 -d "$wheels" scikit-image==0.15.0 >/dev/null 2>&1; then
    mkdir -p "$FOLDER"
    "$python" - "$wheels"/*.whl "$FOLDER" <<'END' || true
import pathlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if "/data/motorcycle" in name:
            (pathlib.Path(sys.argv[2]) / pathlib.Path(name).name).write_bytes(wheel.read(name))
END
    say "motorcycle pair in $FOLDER"
  else
    say "pip does not get scikit-image 0.15.0; the tests with its pair are skipped"
  fi
  rm -rf "$wheels"
}
fetch_motorcycle

for known in /usr/share/doc/opencv-doc/examples/data "$FOLDER"; do
  if [ -f "$known/aloeGT.png" ]; then
    say "already in $known"
    exit 0
  fi
done
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  say "no apt here; tests with real images are skipped"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt reads and writes as a user of its own
if ! fetch "$work"; then
  # New machines have no lists of packages yet; only root may get them.
  [ "$(id -u)" -ne 0 ] || timeout "$WAIT" apt-get update -qq >/dev/null 2>&1 || true
  if ! fetch "$work"; then
    say "apt does not get $PACKAGE; tests with real images are skipped (cure: apt-get update, apt-get install $PACKAGE)"
    exit 0
  fi
fi
mkdir -p "$FOLDER"
dpkg-deb --fsys-tarfile "$work"/*.deb |
  tar -x -C "$FOLDER" --wildcards --strip-components=7 \
    './usr/share/doc/opencv-doc/examples/data/aloe*' \
    './usr/share/doc/opencv-doc/examples/data/left*.jpg' \
    './usr/share/doc/opencv-doc/examples/data/right*.jpg'
say "$(find "$FOLDER" -type f | wc -l) images in $FOLDER"
