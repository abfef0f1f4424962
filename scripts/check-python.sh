#!/bin/sh
# SPDX-License-Identifier: MIT
# Python passes ruff, and mypy with strict types.

. "$(dirname "$0")/check-common.sh"

find_python
for tool in ruff mypy; do
	"$python" -m "$tool" --version >/dev/null 2>&1 ||
		missing "$tool" "scripts/setup.sh installs it from lab/pyproject.toml"
done

# The caches of the tools are beside the tools, because a checkout may be read-only.
# Each checkout has a folder there; folders unused for a month are removed.
memory=$venv/cache/$(pwd -P | sha256sum | cut -c1-12)
mkdir -p "$memory"
touch "$memory"
find "$venv/cache" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf -- {} +
export RUFF_CACHE_DIR="$memory/ruff" MYPY_CACHE_DIR="$memory/mypy"
files=$(tracked '*.py')
status=0

# shellcheck disable=SC2086 # no blanks in these names
{
	"$python" -m ruff check --quiet --output-format concise --config lab/pyproject.toml $files || status=1
	"$python" -m ruff format --quiet --check --output-format concise --config lab/pyproject.toml $files || status=1
	MYPYPATH=lab:python/src:scripts:tests/guest$(printf ':%s' tests/guest/*/):tests/gst:tests/python:tests/format "$python" -m mypy --config-file lab/pyproject.toml --strict \
		--explicit-package-bases --scripts-are-modules --no-error-summary $files || status=1
}

exit $status
