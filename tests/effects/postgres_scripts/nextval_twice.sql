CREATE SEQUENCE s;
CREATE TABLE t12 (a int DEFAULT (nextval('s') + nextval('s')));
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE TABLE t13 (a int DEFAULT f() + f());
