# Everyday commands; `just` lists them. https://just.systems

python := env("GPCATALOG_VENV", ".venv") / "bin/python"

_default:
    @just --list --unsorted

# Make .venv with everything that tests, lint and types need
setup:
    bash tests/run.sh --version
    {{python}} -m pip install -q --disable-pip-version-check -e '.[dev]'

# All tests that have a server here; words are handed to pytest
test *words:
    bash tests/run.sh {{words}}

# Tests that need no server
quick *words:
    {{python}} -m pytest -q -n 2 -m "not greenplum and not postgres" {{words}}

# Lint, formatting and types
lint:
    {{python}} -m ruff check .
    {{python}} -m ruff format --check .
    {{python}} -m mypy

# Format the code and mend what the linter can
fix:
    {{python}} -m ruff check --fix .
    {{python}} -m ruff format .

# What CI runs
ci:
    .ci/run

# Rewrite all expected outputs and the generated tables of the documentation; review the difference
golden:
    -GPCATALOG_TEST_UPDATE=1 {{python}} -m pytest -q -n 2 -m "not greenplum" tests/planner tests/audit tests/capacity/test_figures.py tests/store/test_format.py tests/effects/test_scripts.py tests/dialect/test_dialect.py tests/test_value_classes.py tests/test_cli.py tests/test_readme.py tests/probes/test_privileges.py
    {{python}} -m gpcatalog audit --snapshot fixtures/greenplum6.gpcatalog > fixtures/greenplum6.txt

# Take the README's picture again: the first part of the HTML report of the example cluster (needs chromium)
picture:
    {{python}} -m gpcatalog report --snapshot fixtures/greenplum6.gpcatalog --html .report.html
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,800 --screenshot=docs/report.png .report.html
    rm .report.html

# Ask the servers that are installed again for what machines without them compare with (fixtures/recorded)
record:
    GPCATALOG_TEST_RECORD=1 bash tests/run.sh tests/capacity tests/effects/test_matrix.py tests/effects/test_scripts.py tests/dialect/test_oracle.py tests/probes/test_truth.py tests/migration

# Predictions of check against a live server, statement by statement
live conninfo +files:
    {{python}} -m tests.effects.live '{{conninfo}}' {{files}}

# Speed and size against named floors; see tests/bench/README.md
bench *words:
    {{python}} -m tests.bench {{words}}

# Mutation testing of packages: capacity, effects, audit, planner, migration, store
mutate +words:
    {{python}} -m tests.mutation {{words}}
