"""Types of the results of the server's own functions and operators; "" if a type is unknown."""

from __future__ import annotations

from collections.abc import Sequence

TEXTS = frozenset(("text", "varchar", "bpchar"))
UNKNOWN = "unknown"
"""The type of a string constant, which gets the type that its function or operator needs."""
INTEGERS = ("int2", "int4", "int8")
_TESTS = ("IN", "BETWEEN", "BETWEEN SYMMETRIC", "LIKE", "ILIKE", "SIMILAR TO")
_STATES = ("NULL", "TRUE", "FALSE", "UNKNOWN", "DISTINCT FROM")
_NUMBERS = (*INTEGERS, "numeric", "float4", "float8")  # each is converted to those after it
PREDICATES = frozenset(
    [
        "",
        "EXISTS",
        *(f"{negation}{test}" for negation in ("", "NOT ") for test in _TESTS),
        *(f"IS {negation}{state}" for negation in ("", "NOT ") for state in _STATES),
    ]
)
"""Words of conditions, whose result is a boolean."""

_BY_TYPE = {
    "text": """to_char md5 concat concat_ws replace btrim ltrim rtrim string_agg split_part lpad rpad left right initcap repeat reverse
        format translate regexp_replace quote_ident quote_literal quote_nullable chr to_hex pg_size_pretty current_setting version
        array_to_string pg_get_viewdef pg_get_indexdef pg_get_constraintdef format_type obj_description col_description
        json_extract_path_text jsonb_extract_path_text json_typeof jsonb_typeof""",
    "int8": """count row_number rank dense_rank nextval currval lastval setval pg_relation_size pg_total_relation_size pg_table_size
        pg_indexes_size pg_database_size txid_current""",
    "int4": """length char_length character_length octet_length strpos ascii ntile array_length array_upper array_lower array_ndims
        cardinality array_position json_array_length jsonb_array_length hashtext pg_backend_pid width_bucket""",
    "float8": """date_part percent_rank cume_dist pi sin cos tan asin acos atan atan2 degrees radians corr covar_pop
        covar_samp regr_slope regr_intercept regr_r2""",
    "bool": "bool_and bool_or every starts_with pg_try_advisory_lock",
    "timestamptz": "now clock_timestamp statement_timestamp transaction_timestamp to_timestamp make_timestamptz",
    "timestamp": "make_timestamp",
    "date": "to_date make_date",
    "interval": "age make_interval justify_days justify_hours justify_interval",
    "numeric": "to_number",
    "json": "json_agg json_build_object json_build_array json_object_agg row_to_json to_json array_to_json json_strip_nulls json_object",
    "jsonb": "jsonb_agg jsonb_build_object jsonb_build_array jsonb_object_agg to_jsonb jsonb_set jsonb_strip_nulls jsonb_object",
    "uuid": "gen_random_uuid",
    "_array": "array_agg string_to_array regexp_split_to_array regexp_matches array_append array_prepend array_cat array_remove",
    "tsvector": "to_tsvector setweight",
    "tsquery": "to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery",
}
FUNCTIONS = {name: kind for kind, names in _BY_TYPE.items() for name in names.split()}
"""Functions with a result of one type."""
# of the type of the first argument
_LIKE_FIRST = frozenset(("lag", "lead", "first_value", "last_value", "nth_value", "abs", "mode"))
_SUMS = {  # by the type of the argument
    "sum": (
        {"int2": "int8", "int4": "int8", "int8": "numeric"}
        | {t: t for t in ("numeric", "float4", "float8", "interval", "money")}
    ),
    "avg": (
        dict.fromkeys((*INTEGERS, "numeric"), "numeric")
        | {"float4": "float8", "float8": "float8", "interval": "interval"}
    ),
}
for _name in ("stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp"):
    _SUMS[_name] = dict.fromkeys((*INTEGERS, "numeric"), "numeric") | dict.fromkeys(
        ("float4", "float8"), "float8"
    )
for _name in ("round", "ceil", "ceiling", "floor", "trunc", "sign", "sqrt", "exp", "ln"):
    _SUMS[_name] = {"numeric": "numeric"} | dict.fromkeys((*INTEGERS, "float4", "float8"), "float8")
_NILADIC = {
    "CURRENT_DATE": "date",
    "CURRENT_TIMESTAMP": "timestamptz",
    "LOCALTIMESTAMP": "timestamp",
    "CURRENT_TIME": "timetz",
    "LOCALTIME": "time",
    **dict.fromkeys(
        (
            "CURRENT_USER",
            "SESSION_USER",
            "USER",
            "CURRENT_ROLE",
            "CURRENT_CATALOG",
            "CURRENT_SCHEMA",
        ),
        "name",
    ),
}
# names of columns before PostgreSQL 10, if neither that of the type nor the word
_OLD_NAMES = {
    "USER": "current_user",
    "CURRENT_ROLE": "current_user",
    "CURRENT_CATALOG": "current_database",
}
_TRUNCATED = frozenset(("date", "timestamp", "timestamptz", "interval"))
_COMPARISONS = frozenset("~ ~* !~ !~* ~~ !~~ ~~* !~~* = <> < > <= >=".split())
# types with an operator || of their own
_CONCATENATED = frozenset(
    ("bytea", "jsonb", "_array", "tsvector", "tsquery", "bit", "varbit", "hstore")
)
_JSON = {"->": "", "#>": "", "->>": "text", "#>>": "text"}  # "": of the type of the left side


def common_type(kinds: set[str]) -> str:
    """The type to which values of these types are converted; "" if it is unknown."""
    if len(kinds) == 1:
        return next(iter(kinds))
    return max(kinds, key=_NUMBERS.index) if kinds <= {*_NUMBERS} else ""


def function_result(name: str, types: Sequence[str]) -> str:
    """The type of the result of a function, by the types of its arguments; a string constant is of
    type UNKNOWN.
    """
    first = types[0] if types else ""
    if name in _SUMS and len(types) == 1:
        return _SUMS[name].get(first, "")
    if name in ("round", "trunc") and len(types) == 2:
        return "numeric" if {first, types[1]} <= {"numeric", *INTEGERS} else ""
    if name in _LIKE_FIRST:
        return "" if first == UNKNOWN else first
    if name in ("lower", "upper", "substr", "substring"):  # also of ranges, or of bytea and bit
        return "text" if first in {*TEXTS, UNKNOWN} else ""
    if name == "date_trunc" and len(types) == 2:
        return types[1].replace("date", "timestamptz") if types[1] in _TRUNCATED else ""
    if name == "nullif" and len(types) == 2:
        alike = set(types) <= {*INTEGERS} or (first == types[1] and first not in {*TEXTS, UNKNOWN})
        return first if alike else ""
    if name == "random":  # PostgreSQL 17 has others with a range
        return "" if types else "float8"
    if name == "age":  # also of a transaction
        return "interval" if first in ("timestamp", "timestamptz", "date") else ""
    kind = FUNCTIONS.get(name, "")
    return "" if first == "bytea" and kind == "text" else kind


def operator_result(operator: str, left: str, right: str) -> str:
    """The type of the result of an operator; a string constant is of type UNKNOWN."""
    if operator == "||":
        texts = {*TEXTS, UNKNOWN}
        if left in texts and right in texts:
            return "text"
        if left == right and left in ("bytea", "jsonb", "tsvector", "tsquery", "hstore"):
            return left
        # with a constant, the other side determines the type: bytea, jsonb, an array
        other = right if left in texts else left
        constant = UNKNOWN in (left, right)
        return "" if other in _CONCATENATED and (constant or other == "_array") else "text"
    if operator in _JSON and left in ("json", "jsonb"):
        return _JSON[operator] or left
    if operator in _COMPARISONS and left in TEXTS:
        return "bool"
    return ""


def special_result(word: str, side: str, types: Sequence[str], base: int) -> tuple[str, str]:
    """The name of the column and the type of a call with its own syntax, as CURRENT_DATE.

    side: LEADING or TRAILING of TRIM; types: of the arguments; base: the version of PostgreSQL on
    which the server is based
    """
    text = "text" if types and types[0] in TEXTS else ""  # others are of bytea
    if word == "EXTRACT":
        return ("extract", "numeric") if base >= 14 else ("date_part", "float8")
    if word == "POSITION":
        return "position", "int4"
    if word == "TRIM":
        return {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "btrim"), text
    if word in ("SUBSTRING", "OVERLAY"):
        return word.lower(), text
    kind = _NILADIC.get(word, "")
    if base >= 10 or not kind:
        return word.lower(), kind
    if word == "CURRENT_TIMESTAMP" and not types:
        return "now", kind
    return _OLD_NAMES.get(word, word.lower() if kind == "name" else kind), kind
