CREATE EXTENSION btree_gist;
CREATE TABLE t (room int, span tsrange, EXCLUDE USING gist (room WITH =, span WITH &&));
CREATE INDEX ON t USING gist (room);
CREATE TABLE t2 (a int, s tsrange, PRIMARY KEY (a, s WITHOUT OVERLAPS));
ALTER TABLE t DROP CONSTRAINT t_room_span_excl;
