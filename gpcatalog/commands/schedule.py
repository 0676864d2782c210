"""The command `schedule`: scheduled jobs for the audits of a fleet."""

from __future__ import annotations

import getpass
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from gpcatalog.commands import streams
from gpcatalog.commands.fleet import Config
from gpcatalog.commands.options import NotifyCommand
from gpcatalog.errors import CatalogError
from gpcatalog.model.output_file import refuse_standard_output

# files that libpq reads; a job needs their paths
_LIBPQ = ("PGSERVICEFILE", "PGPASSFILE", "PGSYSCONFDIR", "PGSSLROOTCERT")
FOLDER = "/etc/systemd/system"


def _program() -> tuple[str, ...]:
    """The command line that starts this program again."""
    named = shutil.which(sys.argv[0]) if os.sep not in sys.argv[0] else sys.argv[0]
    if named and os.access(named, os.X_OK) and not named.endswith(".py"):
        return (os.path.abspath(named),)
    return (sys.executable, "-m", "gpcatalog")


def _socket(conninfo: str) -> bool:
    """Whether a connection uses a Unix-domain socket of this host."""
    from gpcatalog.probes.target import target

    host = target(conninfo).host
    return not host or host.startswith(("/", "@"))


def schedule(
    systemd: Annotated[
        bool, typer.Option("--systemd", help="Print service and timer units of systemd.")
    ] = False,
    cron: Annotated[bool, typer.Option("--cron", help="Print lines for crontab.")] = False,
    config: Config = "",
    metrics: Annotated[
        Path | None,
        typer.Option(
            "--metrics",
            metavar="FOLDER",
            help="Folder of a textfile collector; each run writes its metrics there.",
            show_default=False,
        ),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(
            "--site",
            metavar="FOLDER",
            help="Folder of a site; another job writes it every hour.",
            show_default=False,
        ),
    ] = None,
    notify_command: NotifyCommand = "",
    user: Annotated[
        str,
        typer.Option(
            "--user",
            metavar="NAME",
            help="Account of the jobs. Default: the current one.",
            show_default=False,
        ),
    ] = "",
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Write the units to files in this folder instead.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print systemd units or crontab lines that audit the fleet.

    There is one job for each schedule of the fleet file, one that deletes old snapshots, and with --site one that writes the site. The jobs
    use the current paths of this program, the fleet file, the snapshots and the files of libpq. No server is contacted.

    Example: gpcatalog schedule --systemd --metrics /var/lib/prometheus/node-exporter
    """
    from gpcatalog.emit import schedule as texts
    from gpcatalog.fleet import settings
    from gpcatalog.store import series

    if systemd == cron:
        raise CatalogError("give --systemd or --cron")
    if folder is not None and cron:
        raise CatalogError("--folder is for --systemd", hint="use -o FILE for crontab lines")
    refuse_standard_output("--folder", folder)
    if notify_command:
        from gpcatalog.services.notification import words_of

        words_of(notify_command)
    fleet = settings.read(config)
    setup = texts.Setup(
        program=_program(),
        config=fleet.file.resolve(),
        home=series.home().resolve(),
        user=user or getpass.getuser(),
        metrics=metrics.resolve() if metrics is not None else None,
        site=site.resolve() if site is not None else None,
        notify=notify_command,
        variables={
            name: os.path.abspath(value) for name in _LIBPQ if (value := os.environ.get(name))
        },
        timeout=fleet.timeout,
        sockets=any(_socket(one.conninfo) for one in fleet.clusters.values()),
    )
    words = [*setup.program, *setup.environment().values(), setup.user, str(setup.config)]
    if any(not word.isprintable() for word in words):
        raise CatalogError("a path or name contains a control character")
    planned = texts.jobs({name: fleet.schedule_of(one) for name, one in fleet.clusters.items()})
    if cron:
        streams.out(texts.cron(setup, planned))
        return
    units = texts.systemd(setup, planned)
    if folder is None:
        streams.out(texts.systemd_text(setup, units, FOLDER))
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise CatalogError(f"cannot create {folder}: {e.strerror or e}") from None
    for name, text in units.items():
        streams.save(folder / name, text)
        streams.out(f"{folder / name}\n")
