CREATE EXTENSION citext;
CREATE DOMAIN email AS citext;
CREATE TABLE em (e email PRIMARY KEY);
CREATE TABLE em2 (e email);
CREATE INDEX ON em2 (e);
CREATE TABLE em3 (e citext PRIMARY KEY);
CREATE INDEX ON em3 ((lower(e::text)));
CREATE INDEX ON em3 ((e::text::citext));
