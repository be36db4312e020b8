#!/bin/sh
# Pins every requirement with the hashes of all its files. No address of an index is written.
set -eu
uv="${UV:-.venv/bin/uv} pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header"
$uv requirements/uv.in -o requirements/uv.txt
$uv pyproject.toml --extra postgres -o requirements/app.txt
$uv pyproject.toml --extra postgres --group dev -o requirements/dev.txt
$uv requirements/jobs.in -o requirements/jobs.txt
$uv --no-deps requirements/jobs-data.in -o requirements/jobs-data.txt
$uv requirements/sdk.in -o requirements/sdk.txt
