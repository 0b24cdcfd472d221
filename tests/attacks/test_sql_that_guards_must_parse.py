"""SQL guards understand a whole text or object: what the parse does not show does not pass."""

from __future__ import annotations

from typing import Any

import pytest

from assent.rules.guards import build_guard
from assent.rules.guards.context import Context
from assent.rules.guards.evaluate import NOT_CHECKED, objection_to

TABLES = {"rule": "sql_tables", "block": ["secret"]}
ALLOWED = {"rule": "sql_tables", "allow": ["orders", "public.*"]}
COLUMNS = {"rule": "sql_columns", "columns": ["ssn"]}
READS = {"rule": "sql_read_only"}
LIMIT = {"rule": "sql_limit", "most": 10}

NO_TABLE_IN_THE_PARSE = {
    "postgres": """
        DO $$ BEGIN DELETE FROM secret; END $$
        do language plpgsql $x$ begin perform 1 from secret; end $x$
        EXPLAIN ANALYZE DELETE FROM secret
        EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM secret
        DECLARE c CURSOR FOR SELECT * FROM secret
        FETCH ALL FROM c
        CLOSE c
        SELECT query_to_xml('select * from secret', true, false, '')
        SELECT table_to_xml('secret', true, false, '')
        SELECT * FROM query_to_xml('select * from secret', true, false, '') AS x
        SELECT pg_catalog.query_to_xml('select 1', true, false, '')
        SELECT database_to_xml(true, false, '')
        SELECT * FROM dblink('dbname=x', 'select * from secret') AS t(a int)
        SELECT our_report('secret') FROM orders
        SELECT * FROM ROWS FROM (our_report('secret')) AS r
        SELECT app.lower(name) FROM orders
        SELECT 1 FROM orders; EXECUTE p
        PREPARE p AS SELECT * FROM secret
        COPY (SELECT * FROM secret) TO STDOUT
        COPY secret TO '/tmp/x'
        REFRESH MATERIALIZED VIEW secret
        CREATE FUNCTION f() RETURNS int AS $$ SELECT 1 FROM secret $$ LANGUAGE sql
        CREATE RULE r AS ON SELECT TO orders DO INSTEAD SELECT * FROM secret
        CREATE TRIGGER t AFTER INSERT ON orders EXECUTE FUNCTION f()
        ALTER TABLE orders INHERIT secret
        ALTER TABLE orders ATTACH PARTITION secret DEFAULT
        DROP SCHEMA public CASCADE
        CALL report()
        VACUUM secret
        TABLE secret
        SELECT * FROM U&"s\\0065cret"
        SELECT * FROM ｓecret
        SELECT pg_read_file('/etc/passwd')
        SELECT lo_import('/etc/passwd')
        SHOW all
        SET ROLE admin
        CREATE TABLE copied AS EXECUTE p
        SELECT most_common_vals FROM pg_stats WHERE tablename = 'secret'
        SELECT * FROM pg_catalog.pg_statistic
    """,
    "duckdb": """
        SELECT * FROM st_read('x.gpkg')
        SELECT * FROM query('select * from secret')
        SELECT * FROM query_table('secret')
        SELECT * FROM read_csv('secret.csv')
        SELECT * FROM glob('*')
        SELECT * FROM 's3://bucket/secret.parquet'
        SELECT * FROM 'secret.csv'
        SELECT * FROM (SHOW secret)
        SUMMARIZE secret
        FROM secret
        PIVOT secret ON a USING sum(b)
    """,
    "snowflake": """
        SELECT * FROM TABLE('secret')
        SELECT * FROM TABLE(secret)
        SELECT * FROM TABLE($t)
        SELECT * FROM IDENTIFIER('secret')
        SELECT * FROM IDENTIFIER($name)
        SELECT * FROM @stage
        SELECT * FROM TABLE(RESULT_SCAN(LAST_QUERY_ID()))
        EXECUTE IMMEDIATE 'select 1'
    """,
    "bigquery": """
        SELECT * FROM `d.sec*`
        SELECT * FROM `d.secret$20260101`
        SELECT * FROM EXTERNAL_QUERY('c', 'select * from secret')
        EXECUTE IMMEDIATE 'SELECT * FROM secret'
    """,
    "mysql": """
        SHOW COLUMNS FROM secret
        TABLE secret
        EXPLAIN DELETE FROM secret
        SELECT 1 FROM orders WHERE 1--1 OR 1 = (SELECT max(x) FROM secret)
        SELECT load_file('/etc/passwd')
    """,
    "tsql": """
        EXEC sp_executesql N'select * from secret'
        EXEC('drop table secret')
        SELECT * FROM OPENROWSET('a', 'b', 'c')
        SELECT * FROM OPENQUERY(x, 'select * from secret')
        SELECT 1 DELETE FROM orders
    """,
    "clickhouse": """
        SELECT * FROM remote('h', 'db', 'secret')
        SELECT * FROM url('http://h/')
        SELECT dictGet('secret', 'a', 1)
    """,
    "oracle": """
        SELECT dbms_xmlgen.getxml('select * from secret') FROM orders
        SELECT * FROM orders@link
        SELECT * FROM XMLTABLE('fn:collection("oradb:/X/SECRET")')
    """,
    "spark": """
        SELECT * FROM parquet.`/data/secret`
        SELECT java_method('java.lang.Runtime', 'getRuntime')
        SELECT TRANSFORM(a) USING 'cat' FROM orders
    """,
    "sqlite": """
        EXPLAIN SELECT * FROM secret
        SELECT * FROM pragma_table_info('secret')
        SELECT load_extension('x')
        ATTACH 'other.db' AS other
    """,
}
USER_FUNCTIONS = """
    SELECT to_archive(id) FROM orders
    SELECT json_purge(id) FROM orders
    SELECT jsonb_store('x')
    SELECT date_shift_all(1)
    SELECT array_wipe(tags) FROM orders
    SELECT string_to_queue('x')
    SELECT regexp_apply('x')
    SELECT bit_flip_all()
    SELECT st_import('x')
    SELECT st_fromgdalraster('x')
    SELECT enum_drop('x')
    SELECT inet_block('10.0.0.1')
    SELECT time_travel(1)
    SELECT range_delete(1, 2)
    SELECT percentile_reset()
    SELECT ts_rank_rebuild()
    SELECT app.to_char(1)
    SELECT public.json_agg(1)
    SELECT * FROM to_archive(1)
"""
HIDDEN_COLUMNS = """
    SELECT b FROM users AS u(a, b)
    SELECT x.b FROM users x (a, b)
    SELECT b FROM orders JOIN users AS u(a, b) ON true
    SELECT b FROM ONLY users AS u(a, b)
    SELECT U&"\\0073sn" FROM users
    SELECT u&"!0073sn" UESCAPE '!' FROM users
    SELECT "SSN" FROM users
    SELECT ｓｓｎ FROM users
    SELECT (u).ssn FROM users u
    SELECT u.to_jsonb FROM users u
    SELECT u.row_to_json FROM users AS u
    SELECT ssn(u) FROM users u
    SELECT max(u::text) FROM users u
    SELECT query_to_xml('select ssn from users', true, false, '')
    SELECT array_agg(users) FROM users
    WITH x(a, b) AS (SELECT * FROM users) SELECT b FROM x
    SELECT b FROM (SELECT * FROM users) AS u(a, b)
    TABLE users
    SELECT b FROM (users) AS u(a, b)
    SELECT b FROM (users JOIN orders ON true) AS u(a, b)
    SELECT u.record_out FROM users u
    SELECT u.quote_literal FROM users u
    SELECT histogram_bounds FROM pg_stats
    SELECT name FROM users ORDER BY ssn
    SELECT 1 FROM a JOIN b USING (ssn)
    EXPLAIN ANALYZE SELECT ssn FROM users
    DO $$ BEGIN PERFORM ssn FROM users; END $$
"""
LIMITLESS = """
    SELECT a FROM b FETCH FIRST 5 ROWS WITH TIES
    SELECT a FROM b LIMIT ALL
    SELECT a FROM b LIMIT NULL
    SELECT a FROM b LIMIT 5 + 1000
    SELECT a FROM b LIMIT (SELECT 1000)
    (SELECT a FROM b LIMIT 1) UNION ALL SELECT a FROM b
    SELECT a FROM b LIMIT 5; SELECT a FROM b
    COPY b TO STDOUT
    EXPLAIN SELECT a FROM b LIMIT 5
    FETCH 5 FROM c
    TABLE b
    DO $$ SELECT 1 LIMIT 5 $$
    DECLARE c CURSOR FOR SELECT a FROM b LIMIT 5
    INSERT INTO b SELECT a FROM c LIMIT 5
    SELECT a FROM b LIMIT $1
"""
HONEST: dict[str, tuple[dict[str, Any], str]] = {
    "tables": (
        TABLES,
        """
        SELECT count(*), to_char(created, 'YYYY-MM') FROM orders GROUP BY 2
        SELECT o.id, i.name FROM orders o JOIN public.items i ON i.id = o.item WHERE o.note = 'secret'
        WITH recent AS (SELECT id FROM orders ORDER BY created DESC LIMIT 5) SELECT * FROM recent
        SELECT * FROM generate_series(1, 3) AS g(n)
        SELECT * FROM (VALUES (1, 'a')) AS v(id, name)
        SELECT jsonb_build_object('a', 1), jsonb_array_length(tags), to_tsvector(note) @@ to_tsquery('x') FROM orders
        INSERT INTO orders (id) VALUES (1)
        UPDATE orders SET paid = true WHERE id = 1
        DELETE FROM orders WHERE id = 1
        CREATE TABLE notes (id int PRIMARY KEY, body text)
        SELECT $$secret$$ AS word FROM orders
        SELECT ST_Distance(a.place, b.place) FROM orders a, orders b
        """,
    ),
    "columns": (
        COLUMNS,
        """
        SELECT name, count(*) FROM users GROUP BY name
        SELECT u.name FROM users AS u WHERE u.note = 'ssn'
        SELECT g.n FROM generate_series(1, 3) AS g(n)
        SELECT v.name FROM (VALUES (1, 'a')) AS v(id, name)
        WITH x(a) AS (SELECT name FROM users) SELECT a FROM x
        """,
    ),
    "reads": (
        READS,
        """
        SELECT to_char(now(), 'YYYY'), to_tsvector('a'), json_build_object('a', 1), jsonb_path_query(a, '$') FROM t
        SELECT array_agg(name), string_agg(name, ','), regexp_replace(name, 'a', 'b') FROM t
        SELECT pg_catalog.lower(name), date_trunc('day', at), percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM t
        SELECT st_astext(st_buffer(place, 5)) FROM t
        SELECT * FROM unnest(ARRAY[1, 2]) AS u(a)
        """,
    ),
    "limit": (
        LIMIT,
        """
        SELECT a FROM b LIMIT 10
        SELECT a FROM b FETCH FIRST 5 ROWS ONLY
        (SELECT a FROM b) LIMIT 5
        SELECT a FROM b UNION SELECT a FROM c ORDER BY 1 LIMIT 3
        """,
    ),
}


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def objection(options: dict[str, Any], sql: str, dialect: str = "postgres") -> tuple[str, str] | None:
    return objection_to(build_guard({"dialect": dialect, **options}), {"sql": sql}, Context(tool="tool"))


ROWS = [
    *((TABLES, dialect, sql) for dialect, text in NO_TABLE_IN_THE_PARSE.items() for sql in lines(text)),
    *((READS, "postgres", sql) for sql in lines(USER_FUNCTIONS)),
    *((ALLOWED, "postgres", sql) for sql in lines(USER_FUNCTIONS)),
    *((COLUMNS, "postgres", sql) for sql in lines(HIDDEN_COLUMNS)),
    (COLUMNS, "snowflake", "SELECT $2 FROM users"),
    (COLUMNS, "snowflake", "SELECT u.$2 FROM users u"),
    (COLUMNS, "duckdb", "SELECT COLUMNS('s.*') FROM users"),
    (COLUMNS, "duckdb", "FROM users"),
    (READS, "duckdb", "SELECT * FROM st_read('x')"),
    (READS, "tsql", "SELECT * FROM t WITH (TABLOCKX)"),
    (READS, "tsql", "SELECT 1 REVERT"),
    *((LIMIT, "postgres", sql) for sql in lines(LIMITLESS)),
    (LIMIT, "tsql", "SELECT TOP 5 WITH TIES a FROM b"),
    (LIMIT, "tsql", "SELECT TOP 5 PERCENT a FROM b"),
    (LIMIT, "duckdb", "SELECT a FROM b LIMIT 5%"),
    (LIMIT, "clickhouse", "SELECT a FROM b LIMIT 5 BY x"),
    (LIMIT, "mysql", "SELECT a FROM b LIMIT 5, 100000"),
]


@pytest.mark.parametrize(("options", "dialect", "sql"), ROWS)
def test_what_the_parse_does_not_show_is_not_allowed(options: dict[str, Any], dialect: str, sql: str) -> None:
    found = objection(options, sql, dialect)
    assert found is not None
    assert found[1] != NOT_CHECKED


@pytest.mark.parametrize(("options", "sql"), [(rule, sql) for rule, text in HONEST.values() for sql in lines(text)])
def test_honest_sql_passes(options: dict[str, Any], sql: str) -> None:
    assert objection(options, sql) is None


@pytest.mark.parametrize("options", [TABLES, COLUMNS, READS, LIMIT])
def test_what_is_no_text_is_not_allowed(options: dict[str, Any]) -> None:
    rule = build_guard({"dialect": "postgres", **options})
    for value in (7, True, ["SELECT 1 LIMIT 1", 7], {"a": 1}, "", ";", "\x00"):
        assert objection_to(rule, {"sql": value}, Context(tool="tool")) is not None, value


def test_a_function_of_your_own_can_be_named() -> None:
    assert objection({**TABLES, "functions": ["our_*"]}, "SELECT our_rate(price) FROM orders") is None
    assert objection({**COLUMNS, "functions": ["app.rate"]}, "SELECT app.rate(price) FROM orders") is None
    assert objection({**TABLES, "functions": ["our_*"]}, "SELECT our_rate(price) FROM secret") is not None
