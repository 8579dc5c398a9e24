#!/bin/sh
# Install packages into the environment of a Python: `sh tools/install.sh .venv/bin/python PACKAGE...`
# By uv, which takes seconds; by pip, which takes minutes, where uv cannot be had.
set -eu
python=$1
shift
if ! "$python" -m uv --version >/dev/null 2>&1; then
  "$python" -m pip install --quiet --disable-pip-version-check uv >/dev/null 2>&1 || true
fi
if "$python" -m uv --version >/dev/null 2>&1; then
  exec "$python" -m uv pip install --quiet --python "$python" "$@"
fi
echo "uv could not be installed: pip does it, which takes minutes" >&2
"$python" -m pip install --quiet --upgrade 'pip>=25.1'  # knows dependency groups
exec "$python" -m pip install --quiet "$@"
