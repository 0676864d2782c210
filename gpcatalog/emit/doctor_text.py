"""The text of `doctor`: one line for each section, then the GRANTs to copy."""

from __future__ import annotations

from rich.console import Console

from gpcatalog.doctor.result import Doctor
from gpcatalog.emit.terminal import table, text


def show(found: Doctor, out: Console) -> None:
    """Print the whole result."""
    place = f"{found.database} on {found.host or 'local'}:{found.port}"
    out.print(
        text(
            f"{found.product} {found.version} · {place} · as"
            f" {found.role}{' (superuser)' if found.superuser else ''}",
            "bold",
        )
    )
    out.print()
    rows = []
    for s in found.sections:
        rows.append(("yes" if s.open else "no", s.name, s.why))
        if s.lost:
            rows.append(("", "", f"missing in the audit: {s.lost}"))
    out.print(table("", ("readable", "data", "privilege or reason"), rows, left=3))
    grants = [g for s in found.sections for g in s.grant]
    if grants:
        out.print()
        out.print(
            text(
                f"Run these statements as superuser{' on the primary' if found.standby else ''} to"
                " grant the missing privileges:",
                "bold",
            )
        )
        for grant in grants:
            out.print(text(f"  {grant}"), soft_wrap=True)
    out.print()
    for note in found.notes:
        out.print(text(note))
