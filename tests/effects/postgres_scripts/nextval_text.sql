CREATE SEQUENCE sq;
CREATE TABLE t (b int DEFAULT nextval('sq'::text));
CREATE TABLE t2 (b int DEFAULT nextval('sq'::text::regclass));
CREATE TABLE t3 (b int DEFAULT nextval(('sq'::text)::regclass));
DROP SEQUENCE sq;
