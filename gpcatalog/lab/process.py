"""Running a server's programs as somebody who is not root: PostgreSQL and Greenplum refuse euid
0.
"""

from __future__ import annotations

import ctypes
import functools
import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpcatalog.errors import CatalogError, Exit

_CLONE_NEWUSER = 0x10000000


def _leave_root() -> None:
    """In the child: a user namespace without mapping; inside it nobody is root, outside files stay
    ours.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


@functools.cache
def _namespaces_work() -> bool:
    try:
        return subprocess.run(["true"], preexec_fn=_leave_root, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


@functools.cache
def _fallback_account() -> pwd.struct_passwd | None:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def unprivileged() -> dict[str, Any]:
    """Keyword arguments for subprocess that make the child unprivileged; empty when we already are.

    Raises CatalogError where neither user namespaces nor another account exist.
    """
    if os.geteuid() != 0:
        return {}
    if _namespaces_work():
        return {"preexec_fn": _leave_root}
    account = _fallback_account()
    if account is None:
        raise CatalogError(
            "a PostgreSQL server refuses to run as root, and this machine offers no other way",
            hint="run the command as an ordinary user",
            exit_code=Exit.UNREACHABLE,
        )
    return {"user": account.pw_uid, "group": account.pw_gid}


def hand_over(path: Path) -> None:
    """Make `path` belong to whoever `unprivileged` children will be, where that is another
    account.
    """
    how = unprivileged()
    if "user" in how:
        os.chown(path, how["user"], how["group"])


def run(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    what: str,
) -> None:
    """Run to the end, unprivileged; `what` names the step in the error.

    Output goes to `log` when given: a daemon started here must not hold our pipes open.
    """
    words = [str(word) for word in command]
    try:
        if log is None:
            done = subprocess.run(
                words, env=env, capture_output=True, text=True, check=False, **unprivileged()
            )
            said = done.stderr or done.stdout
        else:
            with log.open("a") as sink:
                done = subprocess.run(
                    words,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=sink,
                    start_new_session=True,  # Ctrl-C is for us, not for the server
                    check=False,
                    **unprivileged(),
                )
            said = log.read_text(errors="replace")
    except OSError as e:
        raise CatalogError(f"{what}: {words[0]}: {e.strerror}", exit_code=Exit.UNREACHABLE) from e
    if done.returncode != 0:
        tail = " / ".join(line.strip() for line in said.strip().splitlines()[-3:])
        raise CatalogError(
            f"{what} failed (exit {done.returncode}): {tail}", exit_code=Exit.UNREACHABLE
        )
