#!/bin/sh
# Build the image and try it: it is ready, not root, healthy by its own check, and ends in peace.
set -eu
cd "$(dirname "$0")/.."
engine=
for each in docker podman; do
  if timeout 30 "$each" info >/dev/null 2>&1; then engine=$each; break; fi
done
if [ -z "$engine" ]; then
  echo "neither docker nor podman runs here: the image was not built, its files were only read (tests/deploy)" >&2
  exit 0
fi
if ! timeout 300 "$engine" pull python:3.11-slim >/dev/null 2>&1; then
  echo "python:3.11-slim cannot be had: the image was not built, its files were only read (tests/deploy)" >&2
  exit 0
fi
"$engine" build --tag keyhole .
name=keyhole-try-$$
trap '"$engine" rm --force "$name" >/dev/null 2>&1' EXIT
"$engine" run --detach --init --name "$name" --read-only --tmpfs /tmp --cap-drop ALL keyhole serve --demo --log-format json >/dev/null
look="import urllib.request as u; u.urlopen('http://127.0.0.1:8321/ready', timeout=4)"
tries=0
until "$engine" exec "$name" python -c "$look" 2>/dev/null; do
  tries=$((tries + 1))
  if [ $tries -gt 60 ]; then "$engine" logs "$name" >&2; exit 1; fi
  sleep 1
done
test "$("$engine" exec "$name" id -u)" = 10001
"$engine" exec "$name" sh -c '! command -v cc gcc'
"$engine" exec "$name" keyhole backup /data/try.db
"$engine" exec "$name" keyhole restore /data/try.db --store /data/other.db
"$engine" stop --time 60 "$name" >/dev/null
test "$("$engine" inspect --format '{{.State.ExitCode}}' "$name")" = 0
echo "the image was built with $engine, and ran"
