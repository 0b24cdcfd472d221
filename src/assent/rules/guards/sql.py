"""Parses SQL and walks its statements: whether they only read, and which tables they name.

A guard understands the whole text or objects: to a statement that the parser keeps as text, a function that is not
known to only read, a table whose name is not written out. `sqlglot` is imported with the first text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from assent.features import require_package
from assent.rules.guards.context import Context
from assent.rules.guards.rule import ValueRule
from assent.rules.guards.text import fold

Dialect = Literal[
    "postgres",
    "mysql",
    "sqlite",
    "tsql",
    "oracle",
    "bigquery",
    "snowflake",
    "redshift",
    "duckdb",
    "clickhouse",
    "databricks",
    "spark",
    "hive",
    "trino",
    "presto",
    "athena",
    "singlestore",
    "materialize",
]
SQL_FIELDS = ("sql", "query", "statement", "sql_query", "sqlQuery", "queries", "statements")
LONGEST = 10_000
"""For all SQL of one call. Parsing takes about 25 microseconds per character."""
_FILE = re.compile(r"\.(?:csv|tsv|json|ndjson|parquet|xlsx|db|duckdb)\Z", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_ENCODED_NAME = re.compile(r"\bu&[\"']", re.IGNORECASE)
_PATTERN = re.compile(r"[*@]|\$\w*\Z")
_XQUERY = re.compile(r"\b(?:ora|fn|doc|collection)\s*[:(]", re.IGNORECASE)
_RUN_COMMENT = re.compile(r"/\*\s*(?:!|m!)", re.IGNORECASE)
_NESTED_COMMENT = re.compile(r"/\*(?:(?!\*/).){0,10000}?/\*", re.DOTALL)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Where it is a statement of its own, a name such as DELETE ends the statement before it in some dialects.
_STATEMENTS = _words("""
    delete drop update insert exec execute truncate merge create alter grant revoke deny backup restore shutdown
    kill use set declare begin commit rollback waitfor reconfigure dbcc bulk call copy load lock unlock vacuum
    attach detach pragma do listen notify prepare deallocate rename reindex refresh import export install
    show explain summarize handler fetch revert checkpoint throw
""")
_READ_ROOTS = _words("Select Union Intersect Except Values Subquery Show Describe With")
_TABLE_ROOTS = _words("""
    Select Union Intersect Except Values Subquery Describe Summarize Insert Update Delete Merge TruncateTable
    Create Drop Alter
""")
"""Statements all of whose tables are in the parse."""
_WRITES = _words("""
    Insert Update Delete Merge Create Drop Alter Command Into Lock Copy Set Use Pragma Attach Detach Transaction
    Commit Rollback Kill Grant Revoke LoadData Cache Uncache Refresh Analyze Export Execute TruncateTable
    QueryTransform Directory Install PropertyEQ Semicolon ReadCSV ReadParquet NextValueFor Declare Put Get Summarize
    Heredoc Block IfBlock WhileBlock StoredProcedure
""")
_OPAQUE = _words("""
    Command Heredoc Block IfBlock WhileBlock StoredProcedure Execute QueryTransform Directory ReadCSV ReadParquet
    DynamicIdentifier UserDefinedFunction Semicolon Copy LoadData ExecuteAsProperty
    AIAgg AIClassify AIEmbed AIForecast AIGenerate AISimilarity AISummarizeAgg Apply FeaturesAtTime GenerateBool
    GenerateDouble GenerateEmbedding GenerateInt GenerateTable GenerateText MLForecast MLTranslate Predict Search
    SearchIp Secret ToFile VectorSearch
""")
"""Parts that hold a text which the database runs or a name which it makes up, or that ask a model or read a secret."""
# Functions of databases that sqlglot does not know and that have no effect. Each is named in full: a pattern such as
# `to_*` would also allow a function of somebody's own.
_HARMLESS = frozenset(
    _words("""
    json_agg json_agg_strict json_array json_array_elements json_array_elements_text json_array_length json_arrayagg
    json_build_array json_build_object json_contains json_contains_path json_depth json_each json_each_text json_exists
    json_extract json_extract_path json_extract_path_text json_extract_scalar json_format json_group_array
    json_group_object json_insert json_keys json_length json_merge_patch json_object json_object_agg json_object_keys
    json_objectagg json_overlaps json_parse json_patch json_pretty json_query json_quote json_remove json_replace
    json_scalar json_search json_serialize json_set json_size json_strip_nulls json_to_record json_to_recordset
    json_tree json_type json_typeof json_unquote json_valid json_value jsonb_agg jsonb_agg_strict jsonb_array_elements
    jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text
    jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_keys
    jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty
    jsonb_set jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof row_to_json
    to_array to_ascii to_base64 to_binary to_boolean to_char to_date to_days to_decimal to_double to_geography
    to_geometry to_hex to_iso8601 to_json to_jsonb to_json_string to_milliseconds to_number to_numeric to_object
    to_regclass to_regtype to_seconds to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_timestamp_tz
    to_tsquery to_tsvector to_unixtime to_utf8 to_varchar to_variant to_xml
    date_add date_bin date_diff date_format date_from_parts date_from_unix_date date_part date_sub date_trunc
    date_bucket time_bucket time_format time_slice time_to_sec time_trunc age clock_timestamp datediff dateadd
    datename datepart dayname formatdatetime format_date getdate hour isfinite julianday justify_days justify_hours
    justify_interval localtimestamp make_date make_interval make_time make_timestamp make_timestamptz minute
    monthname now quarter second statement_timestamp strftime transaction_timestamp weekday yearweek
    array_agg array_append array_cat array_contains array_dims array_distinct array_except array_fill array_intersect
    array_join array_length array_lower array_max array_min array_ndims array_position array_positions array_prepend
    array_remove array_replace array_reverse array_size array_slice array_sort array_sum array_to_json array_to_string
    array_union array_upper arrays_overlap arrays_zip cardinality unnest generate_subscripts
    string_agg string_to_array string_to_table str_split str_to_date str_to_map
    regexp_count regexp_extract regexp_extract_all regexp_full_match regexp_instr regexp_like regexp_match
    regexp_matches regexp_replace regexp_split regexp_split_to_array regexp_split_to_table regexp_substr
    range_agg range_intersect_agg range_merge bit_and bit_count bit_length bit_or bit_xor
    st_area st_asbinary st_asgeojson st_astext st_aswkt st_azimuth st_boundary st_buffer st_centroid st_closestpoint
    st_collect st_contains st_convexhull st_coveredby st_covers st_crosses st_difference st_dimension st_disjoint
    st_distance st_distancesphere st_dwithin st_envelope st_equals st_geogfromtext st_geohash st_geometrytype
    st_geomfromgeojson st_geomfromtext st_geomfromwkb st_intersection st_intersects st_isempty st_isvalid st_length
    st_makeenvelope st_makeline st_makepoint st_maxdistance st_npoints st_overlaps st_perimeter st_point
    st_pointfromtext st_setsrid st_simplify st_srid st_symdifference st_touches st_transform st_union st_within st_x
    st_xmax st_xmin st_y st_ymax st_ymin
    ascii btrim char_length character_length chr current_setting digest encode decode enum_first enum_last enum_range
    format gen_random_uuid grouping host inet_aton inet_merge inet_ntoa inet_same_family inet6_aton inet6_ntoa initcap
    instr int4 int8 isnull isnumeric len locate lower mode netmask num_nonnulls num_nulls numnode octet_length overlay
    percentile_cont percentile_disc plainto_tsquery phraseto_tsquery position printf quote_ident quote_literal
    quote_nullable replace reverse round row rpad lpad scale similarity sign split_part sqlite_version strpos text total
    translate trunc ts_headline ts_rank ts_rank_cd tsvector_to_array typeof upper version websearch_to_tsquery
    width_bucket word_similarity pg_size_pretty pg_table_size pg_total_relation_size pg_relation_size obj_description
    col_description pg_get_viewdef pg_get_indexdef pg_get_constraintdef pg_typeof format_type has_table_privilege
    floor ceil ceiling div mod power degrees radians sin cos tan asin acos atan atan2 exp ln log log10 sqrt cbrt pi
""")
)
_STATISTICS = frozenset(
    _words("""
    pg_stats pg_statistic pg_stats_ext pg_stats_ext_exprs pg_statistic_ext_data pg_largeobject column_statistics
    sqlite_stat3 sqlite_stat4 sqlite_dbpage all_tab_histograms dba_tab_histograms user_tab_histograms
    all_tab_col_statistics dba_tab_col_statistics user_tab_col_statistics
""")
)
_LOCKS = frozenset({"UPDLOCK", "XLOCK", "TABLOCK", "TABLOCKX", "HOLDLOCK", "PAGLOCK", "ROWLOCK", "SERIALIZABLE"})
_BUILTIN_SCHEMAS = frozenset({"pg_catalog", "sys", "information_schema"})


class NotRead(Exception):
    """SQL that cannot be read in one clear way; the text says why."""


@lru_cache(1)
def sqlglot() -> Any:
    """The parser, imported on first use."""
    import sqlglot as parser

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    return parser


@lru_cache(16)
def parse(text: str, dialect: str) -> list[Any]:
    """The statements of a text; raises NotRead. Several guards of one call share them."""
    if len(text) > LONGEST:
        raise NotRead(f"it has more than {LONGEST} characters")
    if _CONTROL.search(text):
        raise NotRead("it contains control characters")
    if _ENCODED_NAME.search(text):
        raise NotRead("it contains a name or text in escapes (U&)")
    if _RUN_COMMENT.search(text):
        raise NotRead("it contains a comment that some databases run")
    if _NESTED_COMMENT.search(text):
        raise NotRead("it contains nested comments, which databases read differently")
    if "\\'" in text or '\\"' in text:
        raise NotRead("it contains a backslash before a quote, which databases read differently")
    try:
        found = [one for one in sqlglot().parse(text, read=dialect) if one is not None]
    except Exception:  # A deeply nested text ends in a RecursionError.
        raise NotRead("it is not SQL that can be read") from None
    if not found:
        raise NotRead("it holds no statement")
    return found


def effect_of(statements: list[Any], functions: tuple[str, ...] = ()) -> str | None:
    """Why statements are more than one that only reads, or None."""
    if len(statements) > 1:
        return "it has more than one statement"
    root = statements[0]
    if type(root).__name__ not in _READ_ROOTS:
        return "it is not a query"
    for node in root.walk():
        if (reason := _effect(node, functions)) is not None:
            return reason
    return None


def _effect(node: Any, functions: tuple[str, ...]) -> str | None:
    kind = type(node).__name__
    locks = kind == "WithTableHint" and any(hint.name.upper() in _LOCKS for hint in node.expressions)
    if kind in _WRITES or locks:
        return "it does more than read"
    return _unclear(node, functions)


def unclear_part(root: Any, functions: tuple[str, ...] = ()) -> str | None:
    """Why the tables and columns of a statement are not all in the parse, or None."""
    kind = type(root).__name__
    if kind not in _TABLE_ROOTS or (kind in ("Create", "Drop", "Alter") and root.args.get("kind") not in _TABLE_KINDS):
        return "it is a statement whose tables cannot be read"
    if root.find(sqlglot().exp.Show):
        return "it holds a part that cannot be read"
    return next((reason for node in root.walk() if (reason := _unclear(node, functions))), None)


_TABLE_KINDS = ("TABLE", "VIEW", "INDEX")


def _unclear(node: Any, functions: tuple[str, ...]) -> str | None:
    kind = type(node).__name__
    if kind in _OPAQUE:
        return "it holds a part that cannot be read"
    if kind == "Identifier":
        is_statement = not node.args.get("quoted") and node.name.lower() in _STATEMENTS
        return "it uses a statement's name as a name" if is_statement else None
    if kind in ("Anonymous", "AnonymousAggFunc"):
        return None if _is_harmless(node, functions) else "it calls a function that is not known to only read"
    if kind == "TableFromRows" and not isinstance(node.this, sqlglot().exp.Func):
        return "it makes up the name of a table"
    if kind == "XMLTable" and _XQUERY.search(node.this.name):
        return "it holds a part that cannot be read"
    if kind == "Lateral" and isinstance(node.this, sqlglot().exp.Column | sqlglot().exp.Identifier):
        return "it uses a table that is not read as one"
    return _unclear_table(node) if kind == "Table" else None


def _unclear_table(node: Any) -> str | None:
    """A table whose name is a file, a pattern or made up, as DuckDB, Spark, BigQuery and Snowflake accept."""
    exp = sqlglot().exp
    if not isinstance(node.this, exp.Identifier | exp.Func | exp.Dot):
        return None if node.args.get("rows_from") or node.args.get("db") else "it makes up the name of a table"
    name = node.name
    if "/" in name or "\\" in name or _FILE.search(name):
        return "it reads a file"
    if name.lower() in _STATISTICS or name.lower().startswith("pg_toast"):
        return "it reads statistics, which hold values of other tables"
    return "it names tables by a pattern" if _PATTERN.search(name) else None


def _is_harmless(node: Any, functions: tuple[str, ...]) -> bool:
    name = str(node.this).lower()
    parent = node.parent
    schema = parent.this.name.lower() if type(parent).__name__ == "Dot" and parent.expression is node else ""
    table = parent if type(parent).__name__ == "Table" else None
    schema = schema or (table.db.lower() if table is not None else "")
    if any(fnmatchcase(f"{schema}.{name}" if schema else name, one.lower()) for one in functions):
        return True
    return name in _HARMLESS and (not schema or schema in _BUILTIN_SCHEMAS)


def tables_of(root: Any) -> Iterator[str]:
    """The tables of a statement as people read them, with their schemas; common table expressions are left out."""
    exp = sqlglot().exp
    for table in root.find_all(exp.Table):
        if isinstance(table.this, exp.Func) or table.args.get("rows_from"):
            continue
        parts = [fold(part.name) for part in table.parts if hasattr(part, "name")]
        name = ".".join(parts)
        if len(parts) > 1 or not _is_common(table, name):
            yield name


def _is_common(table: Any, name: str) -> bool:
    """Whether a name is that of a common table expression that is visible where it is used."""
    inside: Any = None
    here = table
    while here is not None:
        if type(here).__name__ == "CTE":
            inside = here
        given = here.args.get("with_")
        for cte in given.expressions if given is not None else ():
            if fold(cte.alias) == name and (cte is not inside or cte.parent.args.get("recursive")):
                return True
            if cte is inside:
                break  # Those after it are not visible in it.
        here = here.parent
    return False


def matches_table(name: str, pattern: str, *, exact: bool) -> bool:
    """Whether a table matches a pattern; without `exact`, a pattern without a schema matches in every schema."""
    plain = pattern.lower()
    if fnmatchcase(name, plain):
        return "." in plain or "." not in name or not exact
    return not exact and fnmatchcase(name.rpartition(".")[2], plain) if "." not in plain else name.endswith("." + plain)


class SqlRule(ValueRule):
    """A rule that parses every text of its fields as SQL. A text that is none is not allowed."""

    usual_fields: ClassVar[tuple[str, ...]] = SQL_FIELDS
    on_results: ClassVar[bool] = False
    changed: ClassVar[tuple[str, str]] = ("functions", "functions that are not known to only read are refused")
    per_character: ClassVar[float] = 25.0
    most_characters: ClassVar[int] = LONGEST

    dialect: Dialect = Field(description="The dialect of the database.")
    functions: Annotated[tuple[str, ...], Field(description="Further functions that only read, or patterns.")] = ()

    def model_post_init(self, context: Any) -> None:
        require_package("sqlglot", "guards")  # A guard that cannot read must not wait for its first call to say so.

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str):
            return "it is not SQL"
        try:
            return self.judge(parse(value, self.dialect))
        except NotRead as unread:
            return str(unread)

    def judge(self, statements: list[Any]) -> str | None:
        """Why these statements are not allowed, or None."""
        raise NotImplementedError
