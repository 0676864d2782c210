"""Run the programs of a server as an account other than root: PostgreSQL and Greenplum reject euid
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
    """Enter a user namespace without mapping, in the child: inside it the process is not root,
    outside files keep their owner.
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
    """Keyword arguments for subprocess that make the child unprivileged; empty if this process
    already is.

    Raises CatalogError if neither user namespaces nor another account exist.
    """
    if os.geteuid() != 0:
        return {}
    if _namespaces_work():
        return {"preexec_fn": _leave_root}
    account = _fallback_account()
    if account is None:
        raise CatalogError(
            (
                "a PostgreSQL server cannot run as root, and switching to another user is not"
                " possible here"
            ),
            hint="run the command as an unprivileged user",
            exit_code=Exit.UNREACHABLE,
        )
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def can_execute(program: Path) -> bool:
    """Whether `unprivileged` children can execute this file, or enter this folder.

    Another account cannot do this if it cannot enter a parent folder, such as the home folder of
    root.
    """
    how = unprivileged()
    if "user" not in how:
        return os.access(program, os.X_OK)
    found = subprocess.run(["test", "-x", str(program)], check=False, **how)
    return found.returncode == 0


def hand_over(path: Path) -> None:
    """Change the owner of `path` to the account of `unprivileged` children, if this is another
    account.
    """
    how = unprivileged()
    if "user" in how:
        os.chown(path, how["user"], how["group"])


def open_to_children(folder: Path) -> None:
    """Make the files below `folder` readable for all accounts, and executables executable."""
    for place, _, names in os.walk(folder):
        Path(place).chmod(0o755)
        for name in names:
            file = Path(place) / name
            if not file.is_symlink():
                file.chmod(0o755 if os.access(file, os.X_OK) else 0o644)


def run(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    what: str,
) -> None:
    """Run a command to its end, unprivileged; `what` names the step in the error.

    If `log` is given, the output is written to it: a daemon started by the command must not keep
    pipes of this process open.
    """
    words = [str(word) for word in command]
    try:
        if log is None:
            done = subprocess.run(
                words, env=env, capture_output=True, text=True, check=False, **unprivileged()
            )
            output = done.stderr or done.stdout
        else:
            with log.open("a") as sink:
                done = subprocess.run(
                    words,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=sink,
                    start_new_session=True,  # Ctrl-C is for this process, not for the server
                    check=False,
                    **unprivileged(),
                )
            output = log.read_text(errors="replace")
    except OSError as e:
        raise CatalogError(f"{what}: {words[0]}: {e.strerror}", exit_code=Exit.UNREACHABLE) from e
    if done.returncode != 0:
        tail = " / ".join(line.strip() for line in output.strip().splitlines()[-3:])
        raise CatalogError(
            f"{what} failed (exit {done.returncode}): {tail}", exit_code=Exit.UNREACHABLE
        )
