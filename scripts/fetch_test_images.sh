#!/usr/bin/env bash
# Gets the stereo pair with measured depth and the chessboards that test/perception reads, out of Debian's package
# opencv-doc, into build/images. They are not part of this project. Where there is no apt, or it cannot reach its
# packages, this prints so and exits with 0: the tests that need them are skipped with the same reason.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGE=opencv-doc
FOLDER=build/images
WAIT=60 # seconds per attempt

say() { printf '[images] %s\n' "$*"; }

# fetch FOLDER: the package as a file there; needs no root, only lists of packages.
fetch() { (cd "$1" && timeout "$WAIT" apt-get download -q "$PACKAGE" >/dev/null 2>&1); }

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
