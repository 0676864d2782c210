"""The command `lab`: a private PostgreSQL with a bad catalog, for playing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcatalog.commands import streams


def lab(
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Keep the server's data here instead of removing it.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Keep a private PostgreSQL with the demo's bad catalog running, for playing, until Ctrl-C.

    Starts a server of its own on the loopback address; touches no other.

    Example: gpcatalog lab
    """
    import time

    from gpcatalog.lab.demo import demo_server

    with demo_server(streams.progress, keep_at=folder) as server:
        streams.progress_done()
        streams.out(f"{server.conninfo('shop')}\n")
        streams.say('ready: gpcatalog audit "' + server.conninfo("shop") + '" — Ctrl-C stops it')
        while True:
            time.sleep(3600)
