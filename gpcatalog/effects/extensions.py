"""Extensions that create no relation, no type with columns, and no file.

Source: the scripts of the extensions of PostgreSQL 15 and 19 and of Greenplum 6 and 7. A test
creates each of them on every server that has it, and counts rows and files.
"""

from __future__ import annotations

WITHOUT_RELATIONS = frozenset(
    """adminpack amcheck autoinc bloom btree_gin btree_gist citext cube dict_int dict_xsyn earthdistance file_fdw fuzzystrmatch
    gp_array_agg gp_debug_numsegments gp_distribution_policy gp_inject_fault gp_legacy_string_agg gp_percentile_agg gp_sparse_vector
    hstore insert_username intagg intarray isn lo ltree moddatetime old_snapshot pageinspect pg_freespacemap pg_prewarm pg_surgery
    pg_trgm pg_visibility pg_walinspect pgcrypto pgrowlocks pgstattuple postgres_fdw refint seg sslinfo tcn tsm_system_rows
    tsm_system_time unaccent uuid-ossp xml2""".split()
)
TYPES = frozenset(
    """citext cube earth ean13 gbtreekey16 gbtreekey2 gbtreekey32 gbtreekey4 gbtreekey8 gbtreekey_var ghstore gtrgm hstore intbig_gkey
    isbn isbn13 ismn ismn13 issn issn13 lo lquery ltree ltree_gist ltxtquery query_int seg svec upc""".split()
)
"""Names of the types and domains that these extensions create."""
OBJECTS = "catalog rows of the objects of an extension"
