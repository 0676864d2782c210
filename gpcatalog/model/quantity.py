"""Numbers as text for people: counts with separators, bytes and times with units."""

from __future__ import annotations


def count(value: float) -> str:
    """A count with thousands separators.

    >>> count(1234567), count(0)
    ('1,234,567', '0')
    """
    return f"{round(value):,}"


def plural(value: float, word: str, many: str = "") -> str:
    """A count with its noun.

    >>> plural(1, "leaf", "leaves"), plural(2000, "leaf", "leaves"), plural(0, "table")
    ('1 leaf', '2,000 leaves', '0 tables')
    """
    return f"{count(value)} {word if round(value) == 1 else many or word + 's'}"


def change(before: float, after: float) -> str:
    """The relative change in percent; empty if `before` is 0.

    >>> change(200, 50), change(0, 5)
    ('-75%', '')
    """
    return f"{(after - before) / before:+.0%}" if before else ""


def size(value: float) -> str:
    """Bytes in binary units, with up to three digits.

    >>> size(0), size(1536), size(32768), size(13.17 * 1024**2), size(9 * 1024**4)
    ('0 B', '1.5 KB', '32 KB', '13.2 MB', '9 TB')
    """
    amount = float(value)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(amount) < 1000 or unit == "TB":
            break
        amount /= 1024
    text = (
        f"{amount:.0f}" if unit == "B" or abs(amount) >= 100 else f"{amount:.1f}".removesuffix(".0")
    )
    return f"{text} {unit}"


def duration(seconds: float | None) -> str:
    """A duration in a suitable unit.

    >>> duration(0.0001), duration(0.0)
    ('< 1 ms', '0 ms')
    >>> duration(0.0123), duration(4.2), duration(90), duration(7300), duration(300000)
    ('12 ms', '4.2 s', '90 s', '2 h', '3.5 days')
    """
    if seconds is None:
        return "?"
    if 0 < seconds < 0.0005:
        return "< 1 ms"
    if abs(seconds) < 1:
        return f"{seconds * 1000:.0f} ms"
    for limit, per, unit in ((10, 1, "s"), (120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if abs(seconds) < limit:
            value = seconds / per
            return (
                f"{value:.1f} {unit}".replace(".0 ", " ") if limit == 10 else f"{value:.0f} {unit}"
            )
    return f"{seconds / 86400:.1f} days".replace(".0 ", " ")
