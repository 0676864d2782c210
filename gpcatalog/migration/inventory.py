"""Every catalog column that describes a table or a partition, and its treatment in a migration.

Tests compare this list with the catalogs of live servers. They fail if a server has a catalog or a
column that is not listed here.
"""

from __future__ import annotations

from enum import StrEnum


class Treatment(StrEnum):
    """Treatment of a property of partitions that are merged, rebuilt, flattened or
    unpartitioned.
    """

    KEPT = "kept: the new relation has it as the old ones had it"
    MERGED = (
        "merged: kept where the old partitions agree, otherwise by a stated rule; what is lost is"
        " listed behind LOST"
    )
    REFUSED = "refused: a partition that has it is left as it is, or the whole table is refused"
    SERVER = "the server's own: oids, files, counters and flags that it sets from the rest"


K, M, R, S = Treatment.KEPT, Treatment.MERGED, Treatment.REFUSED, Treatment.SERVER

_COLUMNS: dict[str, dict[Treatment, str]] = {
    "pg_class": {
        K: (
            "relname relnamespace relowner relam reltablespace relpersistence relkind relnatts"
            " relispartition relpartbound relstorage"
        ),
        M: "relacl reloptions relchecks relreplident",
        R: "reloftype relrowsecurity relforcerowsecurity relhasoids relisshared",
        S: (
            "oid reltype relfilenode relpages reltuples relallvisible relallfrozen reltoastrelid"
            " relhasindex relhasrules relhastriggers relhassubclass relhaspkey relispopulated"
            " relrewrite relfrozenxid relminmxid"
        ),
    },
    "pg_attribute": {
        K: "attname atttypid atttypmod attcollation attgenerated attlen attbyval attalign",
        M: "attnum attnotnull atthasdef attstorage attcompression attstattarget attoptions attacl",
        R: "attidentity attfdwoptions",
        S: (
            "attrelid attndims attcacheoff atthasmissing attmissingval attisdropped attislocal"
            " attinhcount"
        ),
    },
    "pg_attrdef": {M: "adbin", S: "oid adrelid adnum adsrc"},
    "pg_constraint": {
        K: (
            "conname connamespace contype condeferrable condeferred conkey conbin consrc"
            " conenforced conperiod"
        ),
        M: "convalidated",
        R: (
            "confrelid confupdtype confdeltype confmatchtype confkey conpfeqop conppeqop conffeqop"
            " confdelsetcols conexclop"
        ),
        S: "oid conrelid contypid conindid conparentid conislocal coninhcount connoinherit",
    },
    "pg_index": {
        K: (
            "indnatts indnkeyatts indisunique indnullsnotdistinct indisprimary indimmediate indkey"
            " indcollation indclass indoption indexprs indpred"
        ),
        M: "indisclustered indisreplident",
        R: "indisexclusion indisvalid",
        S: "indexrelid indrelid indcheckxmin indisready indislive",
    },
    "pg_inherits": {K: "inhparent", R: "inhdetachpending", S: "inhrelid inhseqno"},
    "pg_partitioned_table": {
        K: "partstrat partnatts partdefid partattrs partclass partcollation partexprs",
        S: "partrelid",
    },
    "pg_policy": {
        R: "polname polrelid polcmd polpermissive polroles polqual polwithcheck",
        S: "oid",
    },
    "pg_publication": {
        R: "pubname puballtables puballsequences",
        S: "oid pubowner pubinsert pubupdate pubdelete pubtruncate pubviaroot pubgencols",
    },
    # PostgreSQL 19: a property graph needs the tables of its elements
    "pg_propgraph_element": {
        R: (
            "pgepgid pgerelid pgealias pgekind pgesrcvertexid pgedestvertexid pgekey pgesrckey"
            " pgesrcref pgesrceqop pgedestkey pgedestref pgedesteqop"
        ),
        S: "oid",
    },
    "pg_propgraph_element_label": {R: "pgellabelid pgelelid", S: "oid"},
    "pg_propgraph_label": {R: "pglpgid pgllabel", S: "oid"},
    "pg_propgraph_label_property": {R: "plppropid plpellabelid plpexpr", S: "oid"},
    "pg_propgraph_property": {R: "pgppgid pgpname pgptypid pgptypmod pgpcollation", S: "oid"},
    "pg_publication_rel": {R: "prpubid prrelid prexcept prqual prattrs", S: "oid"},
    "pg_publication_namespace": {R: "pnpubid pnnspid", S: "oid"},
    "pg_subscription_rel": {R: "srrelid srsubid", S: "srsubstate srsublsn"},
    "pg_rewrite": {
        R: "rulename ev_class ev_type ev_enabled is_instead ev_qual ev_action",
        S: "oid",
    },
    "pg_sequence": {
        R: "seqrelid",
        S: "seqtypid seqstart seqincrement seqmax seqmin seqcache seqcycle",
    },
    "pg_trigger": {
        M: "tgenabled",
        K: (
            "tgname tgfoid tgtype tgconstrrelid tgconstrindid tgconstraint tgdeferrable"
            " tginitdeferred tgnargs tgattr tgargs tgqual tgoldtable tgnewtable"
        ),
        R: "tgrelid",
        S: "oid tgparentid tgisinternal",
    },
    "pg_statistic_ext": {
        M: "stxname stxnamespace stxowner stxstattarget stxkeys stxkind stxexprs",
        S: "oid stxrelid",
    },
    "pg_statistic_ext_data": {
        S: "stxoid stxdinherit stxdndistinct stxddependencies stxdmcv stxdexpr"
    },
    "pg_statistic": {
        S: (
            "starelid staattnum stainherit stanullfrac stawidth stadistinct "
            + " ".join(
                f"stakind{n} staop{n} stacoll{n} stanumbers{n} stavalues{n}" for n in range(1, 6)
            )
        ),
    },
    "pg_type": {
        R: "typacl",
        S: (
            "oid typname typnamespace typowner typlen typbyval typtype typcategory typispreferred"
            " typisdefined typdelim typrelid typsubscript typelem typarray typinput typoutput"
            " typreceive typsend typmodin typmodout typanalyze typalign typstorage typnotnull"
            " typbasetype typtypmod typndims typcollation typdefaultbin typdefault"
        ),
    },
    "pg_depend": {R: "deptype classid objid objsubid", S: "refclassid refobjid refobjsubid"},
    "pg_shdepend": {M: "deptype refclassid refobjid", S: "dbid classid objid objsubid"},
    "pg_description": {M: "description", S: "objoid classoid objsubid"},
    "pg_seclabel": {R: "provider label", S: "objoid classoid objsubid"},
    "pg_init_privs": {R: "initprivs", S: "objoid classoid objsubid privtype"},
    "pg_extension": {
        R: "extconfig extcondition",
        S: "oid extname extowner extnamespace extrelocatable extversion",
    },
    "pg_foreign_table": {R: "ftrelid ftserver ftoptions"},
    "pg_exttable": {
        R: (
            "reloid urilocation execlocation fmttype fmtopts options command rejectlimit"
            " rejectlimittype logerrors encoding writable"
        )
    },
    # Greenplum
    "pg_partition": {K: "parkind parlevel paristemplate parnatts paratts parclass", S: "parrelid"},
    "pg_partition_rule": {
        K: (
            "parname parisdefault parrangestartincl parrangeendincl parrangestart parrangeend"
            " parlistvalues parreloptions partemplatespace"
        ),
        M: "parrangeevery",
        S: "paroid parchildrelid parparentrule parruleord",
    },
    "pg_partition_encoding": {K: "parencattnum parencattoptions", S: "parencoid"},
    "pg_attribute_encoding": {M: "attoptions", S: "attrelid attnum filenum lastrownums"},
    "gp_distribution_policy": {K: "policytype numsegments distkey distclass", S: "localoid"},
    "gp_partition_template": {K: "level template", S: "relid"},
    "pg_appendonly": {
        M: "blocksize compresslevel checksum compresstype columnstore",
        S: (
            "relid safefswritesize segrelid segidxid blkdirrelid blkdiridxid visimaprelid"
            " visimapidxid version segfilecount"
        ),
    },
    "gp_fastsequence": {S: "objid objmod last_sequence contentid"},
    "pg_stat_last_operation": {
        S: "classid objid staactionname stasysid stausename stasubtype statime"
    },
}

COLUMNS: dict[str, dict[str, Treatment]] = {
    catalog: {column: treatment for treatment, text in groups.items() for column in text.split()}
    for catalog, groups in _COLUMNS.items()
}
"""Catalog → column → treatment, over all server generations."""

OTHER_CATALOGS = frozenset(
    """
    gp_configuration_history gp_id gp_segment_configuration gp_version_at_initdb gp_warehouse
    pg_aggregate pg_am pg_amop pg_amproc pg_auth_members pg_auth_time_constraint pg_authid pg_cast pg_collation pg_compression
    pg_conversion pg_database pg_db_role_setting pg_default_acl pg_enum pg_event_trigger pg_extprotocol pg_foreign_data_wrapper
    pg_foreign_server pg_language pg_largeobject pg_largeobject_metadata pg_namespace pg_opclass pg_operator pg_opfamily
    pg_parameter_acl pg_pltemplate pg_proc pg_proc_callback pg_profile pg_range pg_replication_origin pg_resgroup
    pg_resgroupcapability pg_resourcetype pg_resqueue pg_resqueuecapability pg_shdescription pg_shseclabel pg_stat_last_shoperation
    pg_subscription pg_tablespace pg_transform pg_ts_config pg_ts_config_map pg_ts_dict pg_ts_parser pg_ts_template pg_type_encoding
    pg_user_mapping
    """.split()
)
"""Catalogs that do not describe tables."""

DEPENDENTS: dict[str, Treatment] = {
    "pg_class": (
        R
        # views, sequences, tables with a column of its row type; indexes, partitions and TOAST
        # tables belong to the relation itself
    ),
    "pg_type": S,  # its row type and the array of it
    "pg_attrdef": M,
    "pg_constraint": M,
    "pg_index": M,
    "pg_trigger": M,
    "pg_statistic_ext": M,
    "pg_rewrite": R,
    "pg_policy": R,
    "pg_publication_rel": R,
    "pg_proc": R,
    "pg_propgraph_element": R,
    "pg_namespace": R,
}
"""Catalogs of objects that can depend on a relation → their treatment.

Other dependent objects are found as well, and refused.
"""
