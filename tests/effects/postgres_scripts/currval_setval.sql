CREATE SEQUENCE s;
CREATE TABLE t1 (a int DEFAULT currval('s'));
CREATE TABLE t2 (b bigint DEFAULT setval('s', 5));
CREATE TABLE t3 (b regclass DEFAULT 's');
