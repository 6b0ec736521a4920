#!/bin/sh
# Renew both lock files from pyproject.toml (uv is fetched into a throw-away environment).
set -eu
cd "$(dirname "$0")/.."
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools" && "$tools/bin/pip" install --quiet uv
lock() {
    out=requirements/$1.txt; shift
    "$tools/bin/uv" pip compile pyproject.toml --extra spark --extra report --extra fleet --extra decode --extra kafka "$@" --universal \
        --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet -o "$tools/out.txt"
    { echo "# Locked versions with hashes; made anew by requirements/lock.sh"; cat "$tools/out.txt"; } > "$out"
}
lock dev --group dev
lock run -c requirements/dev.txt
