"""The command `lab`: a temporary PostgreSQL server with a bloated catalog, for experiments."""

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
            help="Keep the data of the server in this folder.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run a temporary PostgreSQL server with a bloated catalog.

    The server listens on the loopback address until Ctrl-C.

    Example: gpcatalog lab
    """
    import time

    from gpcatalog.lab.demo import demo_server

    with demo_server(streams.progress, keep_at=folder) as server:
        streams.progress_done()
        streams.out(f"{server.conninfo('shop')}\n")
        streams.log('ready: gpcatalog audit "' + server.conninfo("shop") + '" — Ctrl-C stops it')
        while True:
            time.sleep(3600)
