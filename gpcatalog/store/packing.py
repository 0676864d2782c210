"""The compact form of the largest table of a snapshot: names and bounds are stored as a few forms
and many numbers, and a view combines them again.
"""

from __future__ import annotations

PACKED = "relation_packed"  # the stored table of the view `relation`

# text column → number of its numbers that are stored separately; a text with more numbers, or with
# a number of over 18 digits, is stored unchanged in its form
_NUMBERS = {"name": 6, "bound": 12}
_LONGEST = 18  # number of digits that always fit in a BIGINT


def _numbers(column: str) -> list[str]:
    return [f"{column}_{n}" for n in range(1, _NUMBERS[column] + 1)]


def packed_shape(columns: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names and types of the columns of the packed table, from those of `relation`."""
    out = []
    for name, kind in columns:
        out += (
            [(f"{name}_form", "VARCHAR"), *((n, "BIGINT") for n in _numbers(name))]
            if name in _NUMBERS
            else [(name, kind)]
        )
    return out


def _form(column: str) -> str:
    """SQL expression for a printf format with a directive in place of each number; "%04d" for a
    number with leading zeros, so that no digit is lost.
    """
    runs, between = f"{column}_runs", f"{column}_between"
    return (
        f"array_to_string(list_transform(range(len({between})), lambda i: replace({between}[i +"
        f" 1], '%', '%%') || CASE WHEN i >= len({runs}) THEN '' WHEN {runs}[i + 1] LIKE '0_%' THEN"
        f" '%0' || length({runs}[i + 1]) || 'd' ELSE '%d' END), '')"
    )


def _forms(column: str) -> str:
    """SELECT of the form of each mask, for masks with few and short numbers. A mask is a text with 1
    instead of the digits 2 to 9: its texts have one form, and there are few masks.
    """
    return (
        f"SELECT {column}_mask, {_form(column)} AS {column}_form FROM (SELECT *,"
        f" regexp_extract_all({column}_mask, '[0-9]+') AS {column}_runs,"
        f" string_split_regex({column}_mask, '[0-9]+') AS {column}_between"
        f" FROM (SELECT DISTINCT {column}_mask FROM masked))"
        f" WHERE len({column}_runs) <= {_NUMBERS[column]}"
        f" AND len(list_filter({column}_runs, lambda r: length(r) > {_LONGEST})) = 0"
    )


def pack(columns: list[str]) -> str:
    """SELECT over `relation` with the given columns that returns the rows of the packed table,
    sorted so that similar rows are adjacent.
    """
    texts = [column for column in columns if column in _NUMBERS]
    masks = "".join(f", translate({c}, '23456789', '11111111') AS {c}_mask" for c in texts)
    forms = "".join(f", {c}_forms AS ({_forms(c)})" for c in texts)
    joins = "".join(f" LEFT JOIN {c}_forms USING ({c}_mask)" for c in texts)
    runs = "".join(
        f", CASE WHEN {c}_form IS NOT NULL THEN regexp_extract_all({c}, '[0-9]+') END AS {c}_runs"
        for c in texts
    )
    out = []
    for column in columns:
        if column not in _NUMBERS:
            out.append(f'"{column}"')
            continue
        out.append(f"coalesce({column}_form, replace({column}, '%', '%%')) AS {column}_form")
        out += [
            f"coalesce({column}_runs[{n}]::BIGINT, 0) AS {name}"
            for n, name in enumerate(_numbers(column), 1)
        ]
    return (
        f"WITH masked AS MATERIALIZED (SELECT *{masks} FROM relation){forms}"
        f" SELECT {', '.join(out)} FROM (SELECT *{runs} FROM masked{joins}) ORDER BY root,"
        " level, oid"
    )


def unpack(columns: list[str], table: str, *, keyed: bool = False) -> str:
    """SELECT over the packed table that returns the rows of `relation`; keyed: with `bound_key`,
    see `key`.
    """
    out = [
        (
            f"printf({column}_form, {', '.join(_numbers(column))}) AS {column}"
            if column in _NUMBERS
            else f'"{column}"'
        )
        for column in columns
    ]
    if keyed:
        out.append(f"{key(packed=True)} AS bound_key")
    return f"SELECT {', '.join(out)} FROM {table}"


def key(*, packed: bool) -> str:
    """SQL expression for a 64-bit number that is the same for equal bounds. From packed columns, it
    is computed without building the text.
    """
    return f"hash(bound_form, {', '.join(_numbers('bound'))})" if packed else "hash(bound)"
