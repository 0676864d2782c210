CREATE EXTENSION hstore;
CREATE TABLE e1 (p hstore, g text GENERATED ALWAYS AS (p -> 'a') STORED);
CREATE TABLE e2 (g text GENERATED ALWAYS AS (p -> 'a') STORED, p hstore);
CREATE TABLE e3 (g text GENERATED ALWAYS AS (q || 'a') STORED, q text);
CREATE TABLE e4 (CHECK (p ? 'a'), p hstore);
CREATE DOMAIN dh AS hstore NOT NULL;
CREATE TABLE e5 (x dh);
CREATE TABLE e6 (x dh, CHECK (x ? 'a'));
CREATE TABLE e7 (x dh, g text GENERATED ALWAYS AS (x -> 'a') STORED);
