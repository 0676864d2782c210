"""The journal: a schema of its own on the server that says what was done, with the functions that guard, lock and compare."""

from __future__ import annotations

import re

from gpcatalog.model.server import Server
from gpcatalog.probes import library

SCHEMA = "gpcatalog_journal"
ADVISORY = 1735418740
"""First number of the advisory locks that keep two runs of one table's files apart; the second is a hash of its name."""

_LEAVES_CLASSIC = """\
    SELECT '"' || pg_catalog.replace(n.nspname::text, '"', '""') || '"."'
               || pg_catalog.replace(c.relname::text, '"', '""') || '"',
           CASE WHEN r.parisdefault THEN 'DEFAULT'
                WHEN p.parkind = 'l' THEN 'VALUES (' || pg_catalog.pg_get_expr(r.parlistvalues, 0) || ')'
                ELSE pg_catalog.btrim(
                         COALESCE('START (' || pg_catalog.pg_get_expr(r.parrangestart, 0)
                                  || CASE WHEN r.parrangestartincl THEN ')' ELSE ') EXCLUSIVE' END, '')
                         || COALESCE(' END (' || pg_catalog.pg_get_expr(r.parrangeend, 0)
                                  || CASE WHEN r.parrangeendincl THEN ') INCLUSIVE' ELSE ')' END, '')) END
      FROM pg_catalog.pg_partition p
      JOIN pg_catalog.pg_partition_rule r ON r.paroid = p.oid
      JOIN pg_catalog.pg_class c ON c.oid = r.parchildrelid
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE p.parrelid = $1 AND NOT p.paristemplate
"""
_LEAVES = """\
    WITH RECURSIVE tree AS (
        SELECT i.inhrelid AS oid FROM pg_catalog.pg_inherits i WHERE i.inhparent = $1
        UNION ALL
        SELECT i.inhrelid FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
    )
    SELECT '"' || pg_catalog.replace(n.nspname::text, '"', '""') || '"."' || pg_catalog.replace(c.relname::text, '"', '""') || '"',
           COALESCE(pg_catalog.pg_get_expr(c.relpartbound, 0), '')
      FROM tree t
      JOIN pg_catalog.pg_class c ON c.oid = t.oid
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
"""

_SUBPARTITIONS = """\
-- The statement that gives a table the subpartition template of one level that it has now; '' where it has none.
-- above: how a partition of that level is reached ("ALTER PARTITION x ALTER PARTITION y ")
CREATE OR REPLACE FUNCTION @J.template(root text, level int, above text) RETURNS text
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $f$
    SELECT COALESCE((
        SELECT 'ALTER TABLE ' || $1 || ' ' || $3 || 'SET SUBPARTITION TEMPLATE ('
               || pg_catalog.string_agg(pg_catalog.btrim(pg_catalog.pg_get_partition_rule_def(r.oid, true), E' \\n'), ', '
                                        ORDER BY r.parisdefault, r.parruleord, r.oid) || ')'
          FROM pg_catalog.pg_partition p
          JOIN pg_catalog.pg_partition_rule r ON r.paroid = p.oid
         WHERE p.parrelid = pg_catalog.to_regclass($1::cstring)::oid AND p.paristemplate AND p.parlevel = $2), '')
$f$;

"""

_TEMPLATE = """\
COMMENT ON SCHEMA @J IS 'what migrations written by gpcatalog have done; the clean-up script removes it';

-- Rows are only ever added, so that migrations of several tables can run side by side.
-- milliseconds: how long readers waited; seconds: how long the step took
CREATE TABLE IF NOT EXISTS @J.step (
    plan text NOT NULL, step text NOT NULL, state text NOT NULL, relation text NOT NULL, milliseconds bigint, seconds double precision,
    at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp())@D;
-- the steps of each file, in their order, and the partitions that its table had before the first one
CREATE TABLE IF NOT EXISTS @J.planned (
    plan text NOT NULL, relation text NOT NULL, step text NOT NULL, n int NOT NULL, title text NOT NULL,
    seconds double precision NOT NULL)@D;
CREATE TABLE IF NOT EXISTS @J.initial (
    plan text NOT NULL, relation text NOT NULL, part text NOT NULL, bound text NOT NULL)@D;
CREATE TABLE IF NOT EXISTS @J.tally (
    plan text NOT NULL, step text NOT NULL, side text NOT NULL, relation text NOT NULL, rows bigint NOT NULL, hash numeric NOT NULL,
    columns text NOT NULL,
    at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp())@D;
CREATE TABLE IF NOT EXISTS @J.tree (
    plan text NOT NULL, relation text NOT NULL, part text NOT NULL, bound text NOT NULL, change int NOT NULL,
    at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp())@D;
-- tables that are built aside: what a crash may leave
CREATE TABLE IF NOT EXISTS @J.stage (
    plan text NOT NULL, step text NOT NULL, relation text NOT NULL,
    at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp())@D;

-- Stops a superuser where statements that read and write these relations would run functions that a role without superuser can
-- replace, or has written into an expression. Relations of other roles are locked first, so that nobody adds such a function
-- afterwards: readers go on, and writers too (Greenplum: UPDATE and DELETE wait).
CREATE OR REPLACE FUNCTION @J.expect_trusted(reads text[], writes text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
-- the closure is found by index: the planner cannot know how few rows it has
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $f$
DECLARE
    found text;
    owners text;
    schemas text[];
    pinned bigint;
BEGIN
    IF pg_catalog.current_setting('@J.run_owner_code') = 'on'
       OR NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolsuper AND r.rolname IN (current_user, session_user)) THEN
        RETURN;
    END IF;
    -- a schema is renamed without a lock on its tables: until the end of the transaction its name stays what it is
    schemas := ARRAY(
        SELECT DISTINCT CASE WHEN x.name LIKE '"%' THEN pg_catalog.replace(pg_catalog.substring(x.name, '^"((?:[^"]|"")*)"'), '""', '"')
                             ELSE pg_catalog.split_part(x.name, '.', 1) END
          FROM (SELECT pg_catalog.unnest($1 || $2) AS name) x);
    PERFORM 1 FROM pg_catalog.pg_namespace n WHERE n.nspname::text = ANY (schemas) FOR KEY SHARE;
    GET DIAGNOSTICS pinned = ROW_COUNT;
    IF pinned <> COALESCE(pg_catalog.array_upper(schemas, 1), 0) THEN
        RAISE EXCEPTION 'changed since it was planned: a schema of the table was renamed or dropped';
    END IF;
    WITH RECURSIVE above (oid) AS (
        SELECT pg_catalog.to_regclass(@C(x.name))::oid FROM (SELECT pg_catalog.unnest($1 || $2) AS name) x
         WHERE pg_catalog.to_regclass(@C(x.name)) IS NOT NULL
        UNION
        SELECT i.inhparent FROM above a JOIN pg_catalog.pg_inherits i ON i.inhrelid = a.oid
    ), held (oid) AS (
        SELECT a.oid FROM above a
        UNION
        SELECT k.confrelid FROM above a JOIN pg_catalog.pg_constraint k ON k.conrelid = a.oid AND k.contype = 'f'
    )
    SELECT pg_catalog.string_agg('ONLY "' || pg_catalog.replace(n.nspname::text, '"', '""') || '"."'
                                 || pg_catalog.replace(c.relname::text, '"', '""') || '"', ', ' ORDER BY c.oid),
           pg_catalog.string_agg(DISTINCT o.rolname::text, ', ')
      INTO found, owners
      FROM held h
      JOIN pg_catalog.pg_class c ON c.oid = h.oid AND c.relkind IN ('r', 'p')@X
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_catalog.pg_roles o ON o.oid = c.relowner AND NOT o.rolsuper;
    IF found IS NOT NULL THEN
        PERFORM @J.lock('LOCK TABLE ' || found || ' IN SHARE UPDATE EXCLUSIVE MODE');
    ELSIF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_roles o ON o.oid = p.proowner
                       WHERE p.oid >= 16384 AND NOT o.rolsuper)
          AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_type t JOIN pg_catalog.pg_roles o ON o.oid = t.typowner
                           WHERE t.oid >= 16384 AND t.typtype = 'd' AND NOT o.rolsuper) THEN
        RETURN;  -- only superusers have written anything that could run
    END IF;
    WITH RECURSIVE relations (oid) AS (
        SELECT pg_catalog.to_regclass(@C(x.name))::oid FROM (SELECT pg_catalog.unnest($1 || $2) AS name) x
         WHERE pg_catalog.to_regclass(@C(x.name)) IS NOT NULL
        UNION
        SELECT i.inhparent FROM relations a JOIN pg_catalog.pg_inherits i ON i.inhrelid = a.oid
    ), written (oid) AS (
        SELECT pg_catalog.to_regclass(@C(x.name))::oid FROM (SELECT pg_catalog.unnest($2) AS name) x
         WHERE pg_catalog.to_regclass(@C(x.name)) IS NOT NULL
    ),
@R    SELECT pg_catalog.string_agg(CASE u.risk WHEN 'owner' THEN u.function || ' of ' || u.owner
                                              ELSE u.function || ', a function of the server with side effects' END,
                                 '; ' ORDER BY u.function) INTO found
      FROM unsafe u WHERE u.risk IN ('owner', 'side effects');
    IF found IS NOT NULL THEN
        RAISE EXCEPTION 'this step would run code of another role with the rights of a superuser: %', found
            USING HINT = 'Connect as the owner of the table, ' || COALESCE(owners, 'or look at that function')
                         || ', and run the files again. Option --run-owner-code of gpcatalog migrate writes files that run it.';
    END IF;
END
$f$;

-- Stops a superuser who is about to create objects from text that names these functions, operators, operator classes and types, if a
-- role without superuser owns what has such a name now. Nothing in the catalog holds them in place once the old objects are gone.
CREATE OR REPLACE FUNCTION @J.expect_trusted_names(names text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    found text;
BEGIN
    IF pg_catalog.current_setting('@J.run_owner_code') = 'on'
       OR NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolsuper AND r.rolname IN (current_user, session_user)) THEN
        RETURN;
    END IF;
    SELECT pg_catalog.string_agg(DISTINCT q.name || ' of ' || o.rolname, '; ') INTO found
      FROM (SELECT @Q(n.nspname) || '.' || @Q(e.name) AS name, e.owner
              FROM (SELECT p.pronamespace AS schema, p.proname AS name, p.proowner AS owner FROM pg_catalog.pg_proc p
                    UNION ALL
                    SELECT x.oprnamespace, x.oprname, p.proowner
                      FROM pg_catalog.pg_operator x JOIN pg_catalog.pg_proc p ON p.oid = x.oprcode
                    UNION ALL
                    SELECT x.opcnamespace, x.opcname, x.opcowner FROM pg_catalog.pg_opclass x
                    UNION ALL
                    SELECT x.opcnamespace, x.opcname, p.proowner
                      FROM pg_catalog.pg_opclass x
                      JOIN pg_catalog.pg_amproc a ON a.amprocfamily = x.opcfamily
                      JOIN pg_catalog.pg_proc p ON p.oid = a.amproc
                    UNION ALL
                    SELECT x.typnamespace, x.typname, x.typowner FROM pg_catalog.pg_type x WHERE x.typtype = 'd'
                    UNION ALL
                    SELECT x.typnamespace, x.typname, p.proowner
                      FROM pg_catalog.pg_type x
                      JOIN pg_catalog.pg_cast k ON x.oid IN (k.castsource, k.casttarget)
                      JOIN pg_catalog.pg_proc p ON p.oid = k.castfunc) e
              JOIN pg_catalog.pg_namespace n ON n.oid = e.schema) q
      JOIN pg_catalog.pg_roles o ON o.oid = q.owner AND NOT o.rolsuper
     WHERE q.name = ANY (names);
    IF found IS NOT NULL THEN
        RAISE EXCEPTION 'this step would run code of another role with the rights of a superuser: %', found
            USING HINT = 'Let a superuser own it, or run the files as the owner of the table.'
                         ' Option --run-owner-code of gpcatalog migrate writes files that run it.';
    END IF;
END
$f$;

-- The same for ANALYZE of a partitioned table, which reads all of its partitions.
CREATE OR REPLACE FUNCTION @J.expect_trusted_tree(root text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
BEGIN
    IF pg_catalog.to_regclass(@C(root)) IS NOT NULL THEN
        PERFORM @J.expect_trusted(ARRAY[root] || ARRAY(
            SELECT p.part FROM @J.partitions(pg_catalog.to_regclass(@C(root))) p
        ), ARRAY[]::text[]);
    END IF;
END
$f$;

-- Stops a superuser where members of an extension belong to a role that is none.
CREATE OR REPLACE FUNCTION @J.expect_extension(extension text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    owners text;
BEGIN
    IF pg_catalog.current_setting('@J.run_owner_code') = 'on'
       OR NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolsuper AND r.rolname IN (current_user, session_user)) THEN
        RETURN;
    END IF;
    SELECT pg_catalog.string_agg(DISTINCT o.rolname::text, ', ') INTO owners
      FROM (SELECT e.extowner AS owner FROM pg_catalog.pg_extension e WHERE e.extname = $1
            UNION ALL
            SELECT n.nspowner FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = $1
            UNION ALL
            SELECT p.proowner
              FROM pg_catalog.pg_extension e
              JOIN pg_catalog.pg_depend d ON d.refclassid = 3079 AND d.refobjid = e.oid AND d.deptype = 'e' AND d.classid = 1255
              JOIN pg_catalog.pg_proc p ON p.oid = d.objid
             WHERE e.extname = $1
            UNION ALL
            SELECT c.relowner
              FROM pg_catalog.pg_extension e
              JOIN pg_catalog.pg_depend d ON d.refclassid = 3079 AND d.refobjid = e.oid AND d.deptype = 'e' AND d.classid = 1259
              JOIN pg_catalog.pg_class c ON c.oid = d.objid
             WHERE e.extname = $1) m
      JOIN pg_catalog.pg_roles o ON o.oid = m.owner AND NOT o.rolsuper;
    IF owners IS NOT NULL THEN
        RAISE EXCEPTION 'this step would call functions of extension %, which belongs in part to %, as superuser', $1, owners
            USING HINT = 'Connect as the owner of the table and run the files again.';
    END IF;
END
$f$;

-- The last state of a step: '' where it was never begun.
CREATE OR REPLACE FUNCTION @J.state(of_plan text, of_step text) RETURNS text
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $f$
    SELECT COALESCE((SELECT s.state FROM @J.step s WHERE s.plan = $1 AND s.step = $2 ORDER BY s.at DESC LIMIT 1), '')
$f$;

-- The end of a rollback file: fails where a step was done for which no rollback could be written.
CREATE OR REPLACE FUNCTION @J.expect_undone(of_plan text, steps text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    found text;
BEGIN
    SELECT pg_catalog.string_agg(x.step, ', ') INTO found
      FROM (SELECT pg_catalog.unnest(steps) AS step) x WHERE @J.state(of_plan, x.step) = 'done';
    IF found IS NOT NULL THEN
        RAISE EXCEPTION 'not rolled back, as no rollback could be written: %', found
            USING HINT = 'Everything else in this file is undone. Restore these tables from a backup, or leave them as they are.';
    END IF;
END
$f$;

-- Every partition below a table, with its bound.
CREATE OR REPLACE FUNCTION @J.partitions(root pg_catalog.regclass, OUT part text, OUT bound text) RETURNS SETOF record
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $f$
@L$f$;

-- Stops unless the table has the partitions, the columns and the owner that the plan rests on; says what changed.
CREATE OR REPLACE FUNCTION @J.expect(of_plan text, root text, signature text, owner text, whole boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    oid_now pg_catalog.oid := pg_catalog.to_regclass(@C(root))::pg_catalog.oid;
    found text;
    lost text;
BEGIN
    IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the transaction must be read committed: rows that arrive before a lock is had would be lost';
    END IF;
    IF oid_now IS NULL THEN
        RAISE EXCEPTION 'changed since it was planned: table % is gone', root;
    END IF;
    SELECT pg_catalog.pg_get_userbyid(c.relowner) INTO found FROM pg_catalog.pg_class c WHERE c.oid = oid_now;
    IF found <> owner THEN
        RAISE EXCEPTION 'changed since it was planned: the owner of % is % and was %', root, found, owner;
    END IF;
    SELECT pg_catalog.string_agg('"' || pg_catalog.replace(a.attname::text, '"', '""') || '" '
                                 || pg_catalog.format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
                                 ', ' ORDER BY a.attnum) INTO found
      FROM pg_catalog.pg_attribute a WHERE a.attrelid = oid_now AND a.attnum > 0 AND NOT a.attisdropped;
    IF found <> signature THEN
        RAISE EXCEPTION 'changed since it was planned: the columns of % are % and were %', root, found, signature;
    END IF;
    IF whole THEN
        SELECT pg_catalog.string_agg(p.part || ' ' || p.bound, ', ' ORDER BY p.part) INTO found
          FROM (SELECT p.part, p.bound FROM @J.partitions(oid_now) p
                EXCEPT SELECT b.part, b.bound FROM @J.believed(of_plan, root) b) p;
        SELECT pg_catalog.string_agg(p.part || ' ' || p.bound, ', ' ORDER BY p.part) INTO lost
          FROM (SELECT b.part, b.bound FROM @J.believed(of_plan, root) b
                EXCEPT SELECT p.part, p.bound FROM @J.partitions(oid_now) p) p;
        IF found IS NOT NULL OR lost IS NOT NULL THEN
            RAISE EXCEPTION 'changed since it was planned: partitions of %: new or different %, gone %',
                root, COALESCE(found, 'none'), COALESCE(lost, 'none');
        END IF;
    END IF;
END
$f$;

-- Stops unless these partitions are there with these bounds.
CREATE OR REPLACE FUNCTION @J.expect_partitions(root text, names text[], bounds text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    lost text;
BEGIN
    SELECT pg_catalog.string_agg(e.name || ' ' || e.bound, ', ') INTO lost
      FROM (SELECT pg_catalog.unnest(names) AS name, pg_catalog.unnest(bounds) AS bound
            EXCEPT SELECT p.part, p.bound FROM @J.partitions(root::pg_catalog.regclass) p) e;
    IF lost IS NOT NULL THEN
        RAISE EXCEPTION 'changed since it was planned: % has no such partitions any more: %', root, lost;
    END IF;
END
$f$;

-- Stops unless exactly these relations are at and below the tops: whatever lies below a partition that goes, goes with it.
CREATE OR REPLACE FUNCTION @J.expect_below(tops text[], parts text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    found text[];
    came text;
    lost text;
BEGIN
    WITH RECURSIVE tree (oid) AS (
        SELECT pg_catalog.to_regclass(@C(x.name))::oid FROM (SELECT pg_catalog.unnest(tops) AS name) x
        UNION
        SELECT i.inhrelid FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
    )
    SELECT pg_catalog.array_agg('"' || pg_catalog.replace(n.nspname::text, '"', '""') || '"."'
                                || pg_catalog.replace(c.relname::text, '"', '""') || '"') INTO found
      FROM tree t
      JOIN pg_catalog.pg_class c ON c.oid = t.oid
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace;
    SELECT pg_catalog.string_agg(e.name, ', ' ORDER BY e.name) INTO came
      FROM (SELECT pg_catalog.unnest(found) AS name EXCEPT SELECT pg_catalog.unnest(parts)) e;
    SELECT pg_catalog.string_agg(e.name, ', ' ORDER BY e.name) INTO lost
      FROM (SELECT pg_catalog.unnest(parts) AS name EXCEPT SELECT pg_catalog.unnest(found)) e;
    IF came IS NOT NULL OR lost IS NOT NULL THEN
        RAISE EXCEPTION 'changed since it was planned: below the partitions that this step removes: new %, gone %',
            COALESCE(came, 'none'), COALESCE(lost, 'none')
            USING HINT = 'Nothing was changed by this step. Plan anew, or drop or detach what is new once its rows are elsewhere.';
    END IF;
END
$f$;

-- Partitions that the table has by the journal: what was planned, and what finished steps changed.
CREATE OR REPLACE FUNCTION @J.believed(of_plan text, of_relation text, OUT part text, OUT bound text) RETURNS SETOF record
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $f$
    SELECT p.part, p.bound FROM @J.tree p WHERE p.plan = $1 AND p.relation = $2
     GROUP BY p.part, p.bound HAVING pg_catalog.sum(p.change) > 0
$f$;

-- Stops where another session runs a file of this table; keeps others out until `leave`, or until the session ends.
CREATE OR REPLACE FUNCTION @J.enter(root text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    other int;
BEGIN
    IF pg_catalog.pg_try_advisory_lock(@A, pg_catalog.hashtext(root)) THEN
        RETURN;
    END IF;
    SELECT pg_catalog.min(l.pid) INTO other
      FROM pg_catalog.pg_locks l
     WHERE l.locktype = 'advisory' AND l.classid = @A::oid AND l.objid = @B(root) AND l.objsubid = 2 AND l.granted
           AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())@O;
    RAISE EXCEPTION 'another session (process %) runs a file of %: nothing was changed', COALESCE(other::text, 'unknown'), root
        USING HINT = 'Wait until it has ended. Then run this file again: it does what is left.', ERRCODE = 'lock_not_available';
END
$f$;

-- Lets other sessions run files of this table.
CREATE OR REPLACE FUNCTION @J.leave(root text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
BEGIN
    PERFORM pg_catalog.pg_advisory_unlock(@A, pg_catalog.hashtext(root));
END
$f$;

-- Stores the partitions that the plan found and the steps of the file, once, and reports how many of them are left.
CREATE OR REPLACE FUNCTION @J.begin(of_plan text, root text, names text[], bounds text[], steps text[], titles text[],
    seconds double precision[])
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    number int := COALESCE(pg_catalog.array_upper(steps, 1), 0);
    ended int := 0;
    rest double precision := 0;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM @J.tree p WHERE p.plan = of_plan AND p.relation = root) THEN
        INSERT INTO @J.tree (plan, relation, part, bound, change)
        SELECT of_plan, root, e.name, e.bound, 1
          FROM (SELECT pg_catalog.unnest(names) AS name, pg_catalog.unnest(bounds) AS bound) e;
        INSERT INTO @J.initial (plan, relation, part, bound)
        SELECT of_plan, root, e.name, e.bound
          FROM (SELECT pg_catalog.unnest(names) AS name, pg_catalog.unnest(bounds) AS bound) e;
        INSERT INTO @J.planned (plan, relation, step, n, title, seconds)
        SELECT of_plan, root, e.step, e.n, e.title, e.seconds
          FROM (SELECT pg_catalog.unnest(steps) AS step, pg_catalog.generate_series(1, number) AS n, pg_catalog.unnest(titles) AS title,
                       pg_catalog.unnest($7) AS seconds) e;
    END IF;
    FOR i IN 1 .. number LOOP
        IF @J.state(of_plan, steps[i]) = 'done' THEN
            ended := ended + 1;
        ELSE
            rest := rest + $7[i];
        END IF;
    END LOOP;
    IF ended < number THEN
        RAISE INFO '%: % of % steps left, about % (estimate)', root, number - ended, number, @J.duration(rest);
    ELSE
        RAISE INFO '%: nothing is left, all % steps are done', root, number;
    END IF;
END
$f$;

-- Seconds as people write them.
CREATE OR REPLACE FUNCTION @J.duration(seconds double precision) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $f$
    SELECT CASE WHEN $1 < 10 THEN pg_catalog.round($1::numeric, 1) || ' s'
                WHEN $1 < 120 THEN pg_catalog.round($1::numeric) || ' s'
                WHEN $1 < 7200 THEN pg_catalog.round(($1 / 60)::numeric) || ' min'
                ELSE pg_catalog.round(($1 / 3600)::numeric, 1) || ' h' END
$f$;

-- Takes locks, again and again with a short timeout, so that nobody queues behind a lock that is not had.
CREATE OR REPLACE FUNCTION @J.lock(statement text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    patience int := pg_catalog.current_setting('@J.attempts')::int;
BEGIN
    FOR n IN 1 .. patience LOOP
        BEGIN
            PERFORM pg_catalog.set_config('lock_timeout', pg_catalog.current_setting('@J.wait'), true);
            EXECUTE statement;
            PERFORM pg_catalog.set_config('lock_timeout', '60s', true);
            RETURN;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            PERFORM pg_catalog.pg_sleep(pg_catalog.current_setting('@J.pause')::double precision);
        END;
    END LOOP;
    RAISE EXCEPTION 'the table was busy % times: nothing was changed, run this file again in a quieter moment', patience
        USING DETAIL = statement, ERRCODE = 'lock_not_available';
END
$f$;

-- Counts and hashes the rows of one relation, order left aside, and notes both; stops where rows lie outside a bound.
CREATE OR REPLACE FUNCTION @J.tally(of_plan text, of_step text, of_side text, relation text, columns text, predicate text, source text)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    number bigint;
    total numeric;
    stray bigint;
BEGIN
    EXECUTE 'SELECT pg_catalog.count(*), COALESCE(pg_catalog.sum(q.h), 0), COALESCE(pg_catalog.sum(q.o), 0) FROM (SELECT @H(ROW('
            || columns || ')::text@S)::numeric AS h, CASE WHEN ' || predicate || ' THEN 0 ELSE 1 END AS o FROM '
            || source || ') q'
       INTO number, total, stray;
    IF stray > 0 THEN
        RAISE EXCEPTION '% of % rows of % lie outside %', stray, number, relation, predicate;
    END IF;
    INSERT INTO @J.tally (plan, step, side, relation, rows, hash, columns)
    VALUES (of_plan, of_step, of_side, relation, number, total, columns);
END
$f$;

-- The last tally of each relation on one side of a step.
CREATE OR REPLACE FUNCTION @J.tallies(of_plan text, of_step text, of_side text, OUT relation text, OUT rows bigint, OUT hash numeric)
RETURNS SETOF record LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $f$
    SELECT DISTINCT ON (t.relation) t.relation, t.rows, t.hash FROM @J.tally t
     WHERE t.plan = $1 AND t.step = $2 AND t.side = $3 ORDER BY t.relation, t.at DESC
$f$;

-- Stops unless both sides of a step hold the same rows: their number and the sum of their hashes are equal.
CREATE OR REPLACE FUNCTION @J.compare(of_plan text, of_step text, one text, other text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    a record;
    b record;
BEGIN
    SELECT COALESCE(pg_catalog.sum(t.rows), 0) AS rows, COALESCE(pg_catalog.sum(t.hash), 0) AS hash INTO a
      FROM @J.tallies(of_plan, of_step, one) t;
    SELECT COALESCE(pg_catalog.sum(t.rows), 0) AS rows, COALESCE(pg_catalog.sum(t.hash), 0) AS hash INTO b
      FROM @J.tallies(of_plan, of_step, other) t;
    IF a.rows <> b.rows OR a.hash <> b.hash THEN
        RAISE EXCEPTION 'the copy differs: % rows hash % (%), % rows hash % (%)', a.rows, a.hash, one, b.rows, b.hash, other;
    END IF;
    RETURN a.rows;
END
$f$;

-- Do both sides of a step hold the same rows?
CREATE OR REPLACE FUNCTION @J.alike(of_plan text, of_step text, one text, other text) RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $f$
    SELECT a.rows = b.rows AND a.hash = b.hash
      FROM (SELECT COALESCE(pg_catalog.sum(t.rows), 0) AS rows, COALESCE(pg_catalog.sum(t.hash), 0) AS hash
              FROM @J.tallies($1, $2, $3) t) a,
           (SELECT COALESCE(pg_catalog.sum(t.rows), 0) AS rows, COALESCE(pg_catalog.sum(t.hash), 0) AS hash
              FROM @J.tallies($1, $2, $4) t) b
$f$;

-- Has a leaf changed since before it was copied?
CREATE OR REPLACE FUNCTION @J.differs(of_plan text, of_step text, of_relation text) RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $f$
    SELECT NOT EXISTS (SELECT 1 FROM @J.tallies($1, $2, 'copied') a JOIN @J.tallies($1, $2, 'old') b ON b.relation = a.relation
                        WHERE a.relation = $3 AND a.rows = b.rows AND a.hash = b.hash)
$f$;

-- Takes from a new table what default privileges gave to others.
CREATE OR REPLACE FUNCTION @J.strip(relation text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    who record;
BEGIN
    FOR who IN SELECT DISTINCT g.grantee
                 FROM (SELECT (pg_catalog.aclexplode(c.relacl)).grantee, c.relowner FROM pg_catalog.pg_class c
                        WHERE c.oid = relation::pg_catalog.regclass) g WHERE g.grantee <> g.relowner LOOP
        EXECUTE 'REVOKE ALL ON TABLE ' || relation || ' FROM '
                || CASE WHEN who.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(who.grantee)) END
                || ' CASCADE';
    END LOOP;
    -- and what they, or an exchange, took from its owner
    FOR who IN SELECT DISTINCT c.relowner FROM pg_catalog.pg_class c, pg_catalog.aclexplode(pg_catalog.acldefault('r', c.relowner)) d
                WHERE c.oid = relation::pg_catalog.regclass AND c.relacl IS NOT NULL AND d.grantee = c.relowner
                      AND NOT EXISTS (SELECT 1 FROM pg_catalog.aclexplode(c.relacl) x
                                       WHERE x.grantee = c.relowner AND x.privilege_type = d.privilege_type) LOOP
        EXECUTE 'GRANT ALL ON TABLE ' || relation || ' TO ' || pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(who.relowner));
    END LOOP;
END
$f$;

-- Runs a GRANT as the role that made it before, where the session may; else the owner grants, and it is said.
CREATE OR REPLACE FUNCTION @J.grant_by(grantor text, statement text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    was text := pg_catalog.current_setting('role');
BEGIN
    BEGIN
        EXECUTE 'SET LOCAL ROLE ' || @Q(grantor);
        EXECUTE statement;
    EXCEPTION WHEN insufficient_privilege OR undefined_object OR invalid_grant_operation THEN
        EXECUTE statement;  -- as the role from before
        RAISE WARNING 'granted by the owner, as this session may not act as %: %', grantor, statement;
    END;
    EXECUTE 'SET LOCAL ROLE ' || CASE was WHEN 'none' THEN 'NONE' ELSE @Q(was) END;
END
$f$;

-- Adds the CHECK from which the server proves the partition constraint, so that ATTACH PARTITION does not read the table.
-- Below other partitions that constraint includes theirs.
CREATE OR REPLACE FUNCTION @J.bound(relation text, name text, own text, parent text, valid boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    above text := pg_catalog.pg_get_partition_constraintdef(parent::pg_catalog.regclass);
BEGIN
    EXECUTE 'ALTER TABLE ' || relation || ' ADD CONSTRAINT ' || pg_catalog.quote_ident(name) || ' CHECK (' || own
            || COALESCE(' AND ' || above, '') || ')' || CASE WHEN valid THEN '' ELSE ' NOT VALID' END;
END
$f$;

-- Notes a table that is built aside.
CREATE OR REPLACE FUNCTION @J.staged(of_plan text, of_step text, relation text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $f$
    INSERT INTO @J.stage (plan, step, relation) VALUES ($1, $2, $3)
$f$;

-- Stores a state of a step and what the table has from now on, and reports a step that has ended.
CREATE OR REPLACE FUNCTION @J.note(of_plan text, of_step text, of_state text, root text, since timestamptz)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    spent bigint := (extract(epoch FROM pg_catalog.clock_timestamp() - since) * 1000)::bigint;
    forth text := CASE WHEN of_state = 'undone' THEN pg_catalog.substr(of_step, 6) ELSE of_step END;
    started timestamptz := pg_catalog.transaction_timestamp();
    taken double precision;
    place int;
    number int;
    what text;
    parts text[];
    bounds text[];
    changes int[];
BEGIN
    IF of_state = 'done' THEN
        -- in online mode a step begins with its first transaction
        SELECT COALESCE(pg_catalog.max(s.at), started) INTO started
          FROM @J.step s WHERE s.plan = of_plan AND s.step = of_step AND s.state = 'staged';
    END IF;
    taken := extract(epoch FROM pg_catalog.clock_timestamp() - started);
    INSERT INTO @J.step (plan, step, state, relation, milliseconds, seconds) VALUES (of_plan, of_step, of_state, root, spent, taken);
    IF of_state IN ('done', 'undone') THEN
        IF of_state = 'undone' THEN
            INSERT INTO @J.step (plan, step, state, relation, milliseconds, seconds)
            VALUES (of_plan, forth, of_state, root, spent, taken);
        END IF;
        -- into variables first: Greenplum lets no function read the journal while a statement writes it
        SELECT pg_catalog.array_agg(e.part), pg_catalog.array_agg(e.bound), pg_catalog.array_agg(e.change) INTO parts, bounds, changes
          FROM (SELECT x.part, x.bound, 1 AS change
                  FROM (SELECT p.part, p.bound FROM @J.partitions(root::pg_catalog.regclass) p
                        EXCEPT SELECT b.part, b.bound FROM @J.believed(of_plan, root) b) x
                UNION ALL
                SELECT y.part, y.bound, -1
                  FROM (SELECT b.part, b.bound FROM @J.believed(of_plan, root) b
                        EXCEPT SELECT p.part, p.bound FROM @J.partitions(root::pg_catalog.regclass) p) y) e;
        INSERT INTO @J.tree (plan, relation, part, bound, change)
        SELECT of_plan, root, e.part, e.bound, e.change
          FROM (SELECT pg_catalog.unnest(parts) AS part, pg_catalog.unnest(bounds) AS bound, pg_catalog.unnest(changes) AS change) e;
        SELECT p.n, p.title INTO place, what FROM @J.planned p WHERE p.plan = of_plan AND p.relation = root AND p.step = forth;
        SELECT pg_catalog.count(*) INTO number FROM @J.planned p WHERE p.plan = of_plan AND p.relation = root;
        -- COMMIT removes the old files and, on Greenplum, waits for all segments: readers wait for it too
        RAISE INFO '% of %, %: % % in %; readers waited % ms and for COMMIT', COALESCE(place::text, '?'), number, root,
            COALESCE(what, of_step), CASE WHEN of_state = 'done' THEN 'done' ELSE 'rolled back' END, @J.duration(taken), COALESCE(spent, 0);
    END IF;
END
$f$;

-- Compares what these steps made with what is there now: rows that came or went since show as a difference.
CREATE OR REPLACE FUNCTION @J.review(of_plan text, of_steps text[], OUT relation text,
    OUT rows_then bigint, OUT rows_now bigint, OUT same boolean)
RETURNS SETOF record LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    t record;
    total numeric;
BEGIN
    FOR t IN SELECT DISTINCT ON (y.relation) y.relation, y.rows, y.hash, y.columns FROM @J.tally y
              WHERE y.plan = of_plan AND y.side = 'new' AND y.step = ANY (of_steps) ORDER BY y.relation, y.at DESC LOOP
        CONTINUE WHEN pg_catalog.to_regclass(@C(t.relation)) IS NULL;
        PERFORM @J.expect_trusted_tree(t.relation);
        -- a table that has its partitions back is read with them
        EXECUTE 'SELECT pg_catalog.count(*), COALESCE(pg_catalog.sum(@H(ROW(' || t.columns || ')::text@S)::numeric), 0) FROM '
                || CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_inherits i WHERE i.inhparent = t.relation::pg_catalog.regclass)
                        THEN '' ELSE 'ONLY ' END || t.relation
           INTO rows_now, total;
        relation := t.relation;
        rows_then := t.rows;
        same := rows_now = t.rows AND total = t.hash;
        RETURN NEXT;
    END LOOP;
END
$f$;

-- Reports one table: 'ok', 'changed' where its rows are others than those copied, 'wrong' where a step is missing or the table differs.
CREATE OR REPLACE FUNCTION @J.judge(of_plan text, root text, steps text[], signature text, owner text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    number int := COALESCE(pg_catalog.array_upper(steps, 1), 0);
    ended text[] := ARRAY[]::text[];
    undone text[] := ARRAY[]::text[];
    missing text[] := ARRAY[]::text[];
    state text;
    moved int := 0;
    compared int := 0;
    counted numeric := 0;
    first text;
    r record;
BEGIN
    FOR i IN 1 .. number LOOP
        state := @J.state(of_plan, steps[i]);
        IF state = 'done' THEN
            ended := ended || steps[i];
        ELSIF state = 'undone' THEN
            undone := undone || ('undo-' || steps[i]);
            missing := missing || steps[i];
        ELSE
            missing := missing || steps[i];
        END IF;
    END LOOP;
    IF missing <> ARRAY[]::text[] AND (ended <> ARRAY[]::text[] OR undone = ARRAY[]::text[]) THEN
        RAISE INFO '%: not done: % of % steps, the first is %', root, pg_catalog.array_upper(missing, 1), number, missing[1];
        RETURN 'wrong';
    END IF;
    BEGIN
        PERFORM @J.expect(of_plan, root, signature, owner, true);
        IF undone <> ARRAY[]::text[] THEN
            SELECT pg_catalog.string_agg(e.part || ' ' || e.bound, ', ' ORDER BY e.part) INTO first
              FROM (SELECT i.part, i.bound FROM @J.initial i WHERE i.plan = of_plan AND i.relation = root
                    EXCEPT SELECT p.part, p.bound FROM @J.partitions(root::pg_catalog.regclass) p) e;
            IF first IS NOT NULL THEN
                RAISE EXCEPTION 'not all partitions are back: %', first;
            END IF;
        END IF;
        FOR r IN SELECT * FROM @J.review(of_plan, ended || undone) LOOP
            compared := compared + 1;
            counted := counted + r.rows_now;
            IF NOT r.same THEN
                moved := moved + 1;
                RAISE INFO '%: % had % rows, now it has %', root, r.relation, r.rows_then,
                    CASE WHEN r.rows_now = r.rows_then THEN 'as many, with other values' ELSE r.rows_now::text END;
            END IF;
        END LOOP;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS first = PG_EXCEPTION_HINT;
        RAISE INFO '%: %', root, SQLERRM || CASE WHEN first <> '' THEN '. ' || first ELSE '' END;
        RETURN 'wrong';
    END;
    RAISE INFO '%: % of % steps %, % of % compared partitions have the rows they got (% rows)', root,
        COALESCE(pg_catalog.array_upper(ended || undone, 1), 0), number,
        CASE WHEN undone = ARRAY[]::text[] THEN 'done' ELSE 'rolled back' END, compared - moved, compared, counted;
    RETURN CASE WHEN moved > 0 THEN 'changed' ELSE 'ok' END;
END
$f$;

-- The last line of a verification: OK, or what differs. Fails where a step is missing or a table is not as the steps left it.
CREATE OR REPLACE FUNCTION @J.conclude(verdicts text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    number int := COALESCE(pg_catalog.array_upper(verdicts, 1), 0);
    wrong int := 0;
    changed int := 0;
BEGIN
    FOR i IN 1 .. number LOOP
        wrong := wrong + CASE verdicts[i] WHEN 'wrong' THEN 1 ELSE 0 END;
        changed := changed + CASE verdicts[i] WHEN 'changed' THEN 1 ELSE 0 END;
    END LOOP;
    IF wrong > 0 THEN
        RAISE EXCEPTION 'NOT OK: % of % tables: steps are not done, or the table differs (see above)', wrong, number;
    ELSIF changed > 0 THEN
        RAISE INFO 'rows of % of % tables differ from those copied (see above); the rest is OK', changed, number;
    ELSE
        RAISE INFO 'OK: % of % tables', number, number;
    END IF;
END
$f$;

-- Drops what was built aside and never swapped in, and constraints that were added for a moment.
CREATE OR REPLACE FUNCTION @J.sweep(of_plan text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    s record;
BEGIN
    FOR s IN SELECT DISTINCT x.relation FROM @J.stage x WHERE x.plan = of_plan LOOP
        IF pg_catalog.to_regclass(@C(s.relation)) IS NOT NULL THEN
            EXECUTE 'DROP TABLE ' || s.relation;
        END IF;
    END LOOP;
    FOR s IN SELECT DISTINCT x.relation FROM @J.tree x WHERE x.plan = of_plan LOOP
        IF pg_catalog.to_regclass(@C(s.relation)) IS NOT NULL THEN
            PERFORM @J.expect_trusted(ARRAY[s.relation], ARRAY[]::text[]);
            PERFORM @J.unbind(s.relation);
        END IF;
    END LOOP;
END
$f$;

-- Drops constraints of ours from the partitions of a table.
CREATE OR REPLACE FUNCTION @J.unbind(root text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    k record;
BEGIN
    FOR k IN SELECT p.part, c.conname FROM @J.partitions(root::pg_catalog.regclass) p
               JOIN pg_catalog.pg_constraint c ON c.conrelid = p.part::pg_catalog.regclass
              WHERE c.contype = 'c' AND c.conname LIKE 'gpcatalog!_bound%' ESCAPE '!' LOOP
        EXECUTE 'ALTER TABLE ' || k.part || ' DROP CONSTRAINT IF EXISTS ' || pg_catalog.quote_ident(k.conname);
    END LOOP;
END
$f$;

-- Stops where the lock table would not hold this transaction: slots are shared by all sessions. Segments may have fewer.
CREATE OR REPLACE FUNCTION @J.expect_locks(needed bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    slots bigint := pg_catalog.current_setting('max_locks_per_transaction')::bigint
                    * (pg_catalog.current_setting('max_connections')::bigint
                       + pg_catalog.current_setting('max_prepared_transactions')::bigint);
    held bigint;
BEGIN
    SELECT pg_catalog.count(*) INTO held FROM pg_catalog.pg_locks l@K;
    IF held + needed > slots THEN
        RAISE EXCEPTION 'about % locks are needed, % of % are taken: nothing was changed', needed, held, slots
            USING HINT = 'wait for others, or raise max_locks_per_transaction';
    END IF;
END
$f$;

-- Stops where a segment has fewer bytes free. Greenplum reports them in gp_toolkit.gp_disk_free, PostgreSQL nowhere. What a session
-- cannot read is reported once.
CREATE OR REPLACE FUNCTION @J.expect_room(needed bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    free numeric;
BEGIN
    IF needed = 0 OR pg_catalog.to_regclass(@C('gp_toolkit.gp_disk_free')) IS NULL
       OR pg_catalog.current_setting('@J.free_space') = 'unknown' THEN
        RETURN;
    END IF;
    -- a schema of this name that another role made could run code of that role
    IF EXISTS (SELECT 1
                 FROM pg_catalog.pg_namespace n
                 JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = 'gp_disk_free'
                 JOIN pg_catalog.pg_roles o ON o.oid IN (n.nspowner, c.relowner)
                WHERE n.nspname = 'gp_toolkit' AND NOT o.rolsuper) THEN
        PERFORM pg_catalog.set_config('@J.free_space', 'unknown', false);
        RAISE INFO 'free disk space is unknown: gp_toolkit does not belong to a superuser; this step needs % bytes on a segment', needed;
        RETURN;
    END IF;
    BEGIN
        EXECUTE 'SELECT pg_catalog.min(d.dfspace) * 1024 FROM gp_toolkit.gp_disk_free d' INTO free;
    EXCEPTION WHEN OTHERS THEN
        PERFORM pg_catalog.set_config('@J.free_space', 'unknown', false);
        RAISE INFO 'free disk space is unknown (%); this step needs % bytes on a segment',
            pg_catalog.split_part(SQLERRM, E'\\n', 1), needed;
        RETURN;
    END;
    IF free < needed THEN
        RAISE EXCEPTION '% bytes are needed on the fullest segment, the one with least has % free: nothing was changed', needed, free;
    END IF;
END
$f$;

-- Opens the window of a session: no step begins that would not end in it.
CREATE OR REPLACE FUNCTION @J.window_from_now(seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
BEGIN
    IF pg_catalog.current_setting('@J.until') = '' THEN
        RAISE undefined_object;
    END IF;
EXCEPTION WHEN undefined_object THEN
    PERFORM pg_catalog.set_config('@J.until', (pg_catalog.clock_timestamp() + seconds * interval '1 second')::text, false);
END
$f$;

-- Stops where the window closes before this step would end.
CREATE OR REPLACE FUNCTION @J.expect_time(seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    closes text;
BEGIN
    BEGIN
        closes := pg_catalog.current_setting('@J.until');
    EXCEPTION WHEN undefined_object THEN
        RETURN;
    END;
    IF closes <> '' AND pg_catalog.clock_timestamp() + seconds * interval '1 second' > closes::timestamptz THEN
        RAISE EXCEPTION 'the window closes at %, this step needs about % s: run this file again in the next one', closes, seconds;
    END IF;
END
$f$;

-- Stops where bytes have outgrown what the plan reckoned with.
CREATE OR REPLACE FUNCTION @J.expect_bytes(relations text[], most bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $f$
DECLARE
    found bigint := 0;
BEGIN
    FOR n IN 1 .. COALESCE(pg_catalog.array_upper(relations, 1), 0) LOOP
        found := found + pg_catalog.pg_relation_size(relations[n]::pg_catalog.regclass);
    END LOOP;
    IF found > most THEN
        RAISE EXCEPTION 'changed since it was planned: the leaves have grown to % bytes, at most % were reckoned with', found, most;
    END IF;
END
$f$;

-- How far the files of each table are, for another session of the same role: SELECT * FROM @J.progress
CREATE OR REPLACE VIEW @J.progress AS
SELECT q.plan, q.relation, q.steps, q.done, a.pid AS running, pg_catalog.clock_timestamp() - a.xact_start AS for_now, q.next_step,
       pg_catalog.round((q.rest * COALESCE(q.taken / NULLIF(q.estimated, 0), 1))::numeric, 1) AS seconds_left, q.last_change
  FROM (SELECT p.plan, p.relation, pg_catalog.count(*) AS steps,
               pg_catalog.sum(CASE WHEN s.state = 'done' THEN 1 ELSE 0 END) AS done,
               (pg_catalog.array_agg(CASE WHEN s.state = 'done' THEN NULL ELSE p.title END
                                     ORDER BY CASE WHEN s.state = 'done' THEN 1 ELSE 0 END, p.n))[1] AS next_step,
               pg_catalog.sum(CASE WHEN s.state = 'done' THEN 0 ELSE p.seconds END) AS rest,
               pg_catalog.sum(CASE WHEN s.state = 'done' THEN p.seconds ELSE 0 END) AS estimated,
               pg_catalog.sum(CASE WHEN s.state = 'done' THEN s.seconds ELSE 0 END) AS taken,
               pg_catalog.max(s.at) AS last_change
          FROM @J.planned p
          LEFT JOIN (SELECT DISTINCT ON (x.plan, x.step) x.plan, x.step, x.state, x.seconds, x.at
                       FROM @J.step x ORDER BY x.plan, x.step, x.at DESC) s ON s.plan = p.plan AND s.step = p.step
         GROUP BY p.plan, p.relation) q
  LEFT JOIN pg_catalog.pg_locks l ON l.locktype = 'advisory' AND l.classid = @A::oid AND l.objid = @B(q.relation) AND l.objsubid = 2
            AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())@O
  LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid;
"""


def reachable(server: Server) -> str:
    """The common table expressions that end in `unsafe` (function, owner, risk), behind `relations` and `written`."""
    text = library.part("reachable_started", server) + library.part("reachable_code", server)
    return text.replace("{ddl}", "true")


_OPEN = """\
DO $gpcatalog$
DECLARE
    owners text;
BEGIN
    -- DDL runs event triggers with the rights of whoever runs it
    SELECT pg_catalog.string_agg(DISTINCT o.rolname::text, ', ') INTO owners
      FROM pg_catalog.pg_event_trigger e
      JOIN pg_catalog.pg_proc p ON p.oid = e.evtfoid
      JOIN pg_catalog.pg_roles o ON o.oid = p.proowner AND NOT o.rolsuper
     WHERE e.evtenabled <> 'D'
           AND EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolsuper AND r.rolname IN (current_user, session_user));
    IF owners IS NOT NULL AND pg_catalog.current_setting('@J.run_owner_code') <> 'on' THEN
        RAISE EXCEPTION 'event triggers would run functions of % with the rights of a superuser', owners
            USING HINT = 'Connect as the owner of the table, or let a superuser own the functions of event triggers.';
    END IF;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_namespace n WHERE n.nspname = '@J') THEN
@P
    ELSE
        CREATE SCHEMA @J;
    END IF;
END
$gpcatalog$;
"""

# what others got by default privileges, or had before
_CLOSE = """\

DO $gpcatalog$
DECLARE
    who text;
    what text;
BEGIN
    FOR who IN SELECT DISTINCT CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(g.grantee)) END
                 FROM (SELECT (pg_catalog.aclexplode(n.nspacl)).grantee, n.nspowner AS owner FROM pg_catalog.pg_namespace n
                        WHERE n.nspname = '@J'
                       UNION ALL
                       SELECT (pg_catalog.aclexplode(c.relacl)).grantee, c.relowner
                         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '@J'
                       UNION ALL
                       SELECT (pg_catalog.aclexplode(COALESCE(p.proacl, pg_catalog.acldefault('f', p.proowner)))).grantee, p.proowner
                         FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '@J') g
                WHERE g.grantee <> g.owner LOOP
        FOREACH what IN ARRAY ARRAY['SCHEMA', 'ALL TABLES IN SCHEMA', 'ALL FUNCTIONS IN SCHEMA'] LOOP
            EXECUTE 'REVOKE ALL ON ' || what || ' @J FROM ' || who;
        END LOOP;
    END LOOP;
END
$gpcatalog$;
"""


TABLES = ("step", "planned", "initial", "tally", "tree", "stage")


def proof(*, whole: bool = False) -> list[str]:
    """PL/pgSQL that stops unless the journal belongs to the current role, and nobody else has rights in it.

    Every transaction begins with it: what follows calls functions of the journal with the rights of the current role.
    whole: look at everything in the schema, as prepare does. Later only its owner can have added to it, so its functions and the
    tables by name are enough; pg_class and pg_type are not scanned.
    """
    more = " UNION ALL SELECT t.typnamespace, t.typowner FROM pg_catalog.pg_type t" if whole else ""
    more += " UNION ALL SELECT o.oprnamespace, o.oprowner FROM pg_catalog.pg_operator o" if whole else ""
    names = ", ".join(f"'{name}'" for name in TABLES)
    tables = f" WHERE c.relname IN ({names})"
    # a row written to a table with a trigger or rule runs code: the journal has neither, so they count as another role's
    hooks = f"c.relname IN ({names}) AND (c.relhastriggers OR c.relhasrules)"
    return [
        f"IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace n WHERE n.nspname = '{SCHEMA}') THEN",
        f"    RAISE EXCEPTION 'schema {SCHEMA} is missing: run 0000_prepare.sql first';",
        "END IF;",
        "IF EXISTS (SELECT 1",
        "             FROM (SELECT n.oid AS schema, n.nspowner AS role FROM pg_catalog.pg_namespace n",
        "                   UNION ALL SELECT n.oid, (pg_catalog.aclexplode(n.nspacl)).grantee FROM pg_catalog.pg_namespace n",
        "                   UNION ALL SELECT p.pronamespace, p.proowner FROM pg_catalog.pg_proc p",
        f"                   UNION ALL SELECT c.relnamespace, c.relowner FROM pg_catalog.pg_class c{'' if whole else tables}{more}",
        f"                   UNION ALL SELECT c.relnamespace, 0::oid FROM pg_catalog.pg_class c WHERE {hooks}) x",
        f"            WHERE x.schema = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = '{SCHEMA}')",
        "                  AND x.role <> (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user)) THEN",
        f"    RAISE EXCEPTION 'schema {SCHEMA} does not belong to % alone, so nothing in it is called', current_user",
        "        USING HINT = 'Run all files of a folder as one role. If another role left the schema there, that role can run its"
        " cleanup.sql, or drop it.';",
        "END IF;",
    ]


def prepare(server: Server) -> str:
    """SQL that makes the journal's schema, tables and functions in one transaction; running it again changes nothing."""
    text = _TEMPLATE.replace("@L", _LEAVES_CLASSIC if server.classic_partitions else _LEAVES)
    text = text.replace("@R", reachable(server))
    text = re.sub(r"@Q\((\S+?)\)", r"""'"' || pg_catalog.replace(\1::text, '"', '""') || '"'""", text)
    # an external table of Greenplum 6 is a table to the catalog and takes no lock
    text = text.replace("@X", " AND c.relstorage NOT IN ('x', 'f')" if server.classic_partitions else "")
    text = re.sub(r"@C\((\S+?)\)", r"\1::cstring" if server.classic_partitions else r"\1", text)
    text = text.replace("@H", "pg_catalog.hashtext" if server.classic_partitions else "pg_catalog.hashtextextended")
    text = text.replace("@S", "" if server.classic_partitions else ", 0")
    text = text.replace("@K", " WHERE l.gp_segment_id = -1" if server.greenplum else "")
    # advisory locks of the journal: a number of our own, and the name of the table
    text = text.replace("@A", str(ADVISORY))
    text = re.sub(r"@B\((\S+?)\)", r"(pg_catalog.hashtext(\1)::bigint & 4294967295)::oid", text)
    text = text.replace("@O", " AND l.gp_segment_id = -1" if server.greenplum else "")
    text = text.replace("@D", " DISTRIBUTED BY (plan)" if server.greenplum else "")
    text += _SUBPARTITIONS if server.classic_partitions else ""
    opening = _OPEN.replace("@P", "\n".join("        " + line for line in proof(whole=True)))
    return "BEGIN;\n" + (opening + text + _CLOSE).replace("@J", SCHEMA) + "COMMIT;\n"


def remove() -> str:
    """SQL that takes the journal away."""
    return f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE;\n"
