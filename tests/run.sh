#!/usr/bin/env bash
# The test suite, from nothing: installs what is missing on a Debian 12 machine, then runs every test that has a server here.
# Words given are handed to pytest. PYTHON names another interpreter (3.11 or later).
set -euo pipefail
cd "$(dirname "$0")/.."

sudo_() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
if [ ! -x /usr/lib/postgresql/15/bin/initdb ] || [ ! -f /usr/share/postgresql/15/extension/pg_partman.control ] || [ ! -x /usr/sbin/pgbouncer ]; then
  if command -v apt-get >/dev/null; then
    # a server of the package's own is not wanted: the tests start throwaway ones
    sudo_ mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" | sudo_ tee /etc/postgresql-common/createcluster.conf >/dev/null
    (sudo_ apt-get update -qq && sudo_ env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      postgresql-15 postgresql-15-partman pgbouncer python3-venv) >/dev/null 2>&1 ||
      echo "tests: some of postgresql-15, postgresql-15-partman, pgbouncer could not be installed; their tests will be skipped" >&2
  fi
fi

python=${PYTHON:-python3}
venv=${GPCATALOG_VENV:-.venv}
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check -e '.[demo,test]'
exec "$venv/bin/python" -m pytest "$@"
