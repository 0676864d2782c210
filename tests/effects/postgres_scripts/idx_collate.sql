CREATE TABLE t (a int, b text);
CREATE INDEX ON t ((b COLLATE "C"));
CREATE INDEX ON t ((b));
CREATE INDEX ON t ((t.*));
CREATE INDEX ON t ((a), (b COLLATE "POSIX"));
