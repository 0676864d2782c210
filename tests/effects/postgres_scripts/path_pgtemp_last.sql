SET search_path = public, pg_temp;
CREATE TABLE e (x int);
CREATE TEMP TABLE e (x int, y text);
DROP TABLE e;
CREATE TEMP TABLE e3 (x int);
CREATE TABLE e3 (x int, y text);
ALTER TABLE e3 ADD COLUMN z int;
