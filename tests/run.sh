#!/usr/bin/env bash
# The test suite, from nothing: installs what is missing on a Debian 12 machine, then runs every test that has a server here.
# Arguments are passed to pytest; without -n, three workers run the tests. PYTHON names another interpreter (3.11 or later).
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(postgresql-15 postgresql-15-partman pgbouncer git chromium poppler-utils python3-venv)

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo -n "$@"; else return 1; fi
}

install_packages() {
  # the tests start temporary servers; a permanent one is not wanted
  as_root mkdir -p /etc/postgresql-common || return 1
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.conf || return 1
  as_root apt-get update -qq || return 1
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
}

all_installed() {
  local program
  for program in /usr/lib/postgresql/15/bin/initdb /usr/sbin/pgbouncer git chromium pdftotext; do
    command -v "$program" >/dev/null || return 1
  done
  [ -f /usr/share/postgresql/15/extension/pg_partman.control ]
}

if ! all_installed && command -v apt-get >/dev/null; then
  install_packages >/dev/null 2>&1 || echo "tests: not all of ${packages[*]} could be installed (root or sudo is needed)" >&2
fi

python=${PYTHON:-python3}
venv=${GPCATALOG_VENV:-.venv}
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || {
  rm -rf "$venv"
  echo "tests: $python cannot create a virtual environment: install python3-venv (Python 3.11 or later)" >&2
  exit 1
}
"$venv/bin/python" -m pip install -q --disable-pip-version-check -e '.[demo,test]'
"$venv/bin/python" -m tests.machine

# The test servers create and delete so many files that ext4 spends a quarter of the processor time on the search for free inodes.
# Their data is stored in memory if enough is free, also within the limit of a container.
enough=$((16 << 20)) # KB
memory_is_free() {
  local limit
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  [ "$(awk '$1 == "MemAvailable:" {print $2}' /proc/meminfo)" -ge $enough ] &&
    [ "$(df -kP /dev/shm | awk 'NR == 2 {print $4}')" -ge $enough ] &&
    { [ "$limit" = max ] || [ "$limit" -ge $((enough * 1024)) ]; }
}
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && memory_is_free 2>/dev/null; then
  TMPDIR=$(mktemp -d /dev/shm/gpcatalog-tests.XXXXXX)
  export TMPDIR
  chmod 711 "$TMPDIR" # servers run as another user if the tests run as root
  trap 'rm -rf "$TMPDIR"' EXIT
fi
# Tests start some thousand short processes: without compiled files, each would compile what it imports again.
unset PYTHONDONTWRITEBYTECODE
# three workers on two cores: many tests wait for a server's time limit; four are slower, also without Greenplum
workers=(-n 3)
for word in "$@"; do
  case $word in -n* | --numprocesses* | --pdb | --version) workers=() ;; esac
done
"$venv/bin/python" -m pytest ${workers[@]+"${workers[@]}"} "$@"
