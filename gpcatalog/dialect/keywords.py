"""Keyword classes of each server generation, as the servers report and treat them."""

from __future__ import annotations

# Read from live servers: pg_get_keywords() returns the class, Parse messages show whether a word
# can be a label without AS.
# U: unreserved, C: can be a column name, T: can be a type or function name, R: reserved; lower
# case: rejected as a label without AS.
_WORDS = {
    "gp6": {
        "U": (
            """
            abort absolute access action active add admin after aggregate also alter assertion assignment at backward before begin
            by cache called cascade cascaded chain characteristics checkpoint class close cluster comment commit committed
            concurrency connection constraints contains content conversion copy cost cpu_rate_limit cpuset createexttable csv cube
            cursor cycle database deallocate declare defaults deferred definer delete delimiter delimiters disable domain double
            drop each enable encoding encrypted endpoint enum errors escape every exchange excluding exclusive execute explain
            external fields fill first force format forward function global granted handler hash header hold host if immediate
            immutable implicit including inclusive increment index indexes inherit inherits input insensitive insert instead
            invoker isolation key language large last level list listen load local location lock log master match maxvalue
            memory_limit memory_shared_quota memory_spill_ratio minvalue missing mode modifies move name names newline next no
            noovercommit nothing notify nowait nulls object of oids operator option options others overcommit owned owner parallel
            partial partitions password percent persistently prepare prepared preserve prior privileges procedural procedure
            protocol queue quote range read reassign recheck reindex relative release rename repeatable replace reset resource
            restart restrict returns revoke role rollback rows rule savepoint schema scroll search security segment segments
            sequence serializable session set share show simple split sql stable start statement statistics stdin stdout storage
            strict subpartition sysid system tablespace temp template temporary threshold ties transaction trigger truncate
            trusted type uncommitted unencrypted unknown unlisten until update vacuum valid validator value version view volatile
            work write zone
        """
        ),
        "u": (
            """
            always attribute catalog comments configuration continue current data day deny dictionary discard document dxl event
            expand extension family filter fullscan functions hour identity ignore initplan inline label lc_collate lc_ctype
            leakproof mapping materialized minute month nocreateexttable off ordered ordinality over parser passing plans program
            randomly readable reads recursive ref refresh reject replica replicated retrieve rootpartition second sequences server
            snapshot standalone strip tables text types unlogged validate validation varying views web whitespace within without
            wrapper writable xml year yes
        """
        ),
        "C": (
            """
            bigint bit boolean coalesce dec decimal exists extract float greatest group_id grouping inout int integer interval
            least national nchar none nullif numeric out overlay position precision real rollup row setof sets smallint substring
            time timestamp treat trim values varchar
        """
        ),
        "c": (
            """
            between char character median xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlparse xmlpi xmlroot
            xmlserialize
        """
        ),
        "T": (
            """
            authorization binary freeze isnull notnull outer verbose
        """
        ),
        "t": (
            """
            collation concurrently cross current_schema full ilike inner is join left like natural overlaps right similar
        """
        ),
        "r": (
            """
            all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
            current_catalog current_date current_role current_time current_timestamp current_user decode default deferrable desc
            distinct distributed do else end except exclude false fetch following for foreign from grant group having in initially
            intersect into lateral leading limit localtime localtimestamp not null offset on only or order partition placing
            preceding primary references returning scatter select session_user some symmetric table then to trailing true
            unbounded union unique user using variadic when where window with
        """
        ),
    },
    "gp7": {
        "U": (
            """
            abort absolute access action active add admin after aggregate also alter am assertion assignment at attach backward
            before begin by cache call called cascade cascaded chain characteristics checkpoint class close cluster columns
            comment commit committed concurrency connection constraints contains content conversion coordinator copy cost
            cpu_max_percent cpu_weight cpuset createexttable csv cube cursor cycle database deallocate declare defaults deferred
            definer delete delimiter delimiters depends detach disable domain double drop each enable encoding encrypted endpoint
            enum errors escape every exchange excluding exclusive execute explain external fields fill first force format forward
            function generated global granted groups handler hash header hold host if immediate immutable implicit import include
            including inclusive increment index indexes inherit inherits input insensitive insert instead invoker isolation key
            language large last level list listen load local location lock locked log logged master match maxvalue memory_limit
            method min_cost minvalue missing mode modifies move name names new newline next no noovercommit nothing notify nowait
            nulls object of oids old operator option options others overcommit overriding owned owner parallel partial partitions
            password percent persistently policy prepare prepared preserve prior privileges procedural procedure procedures
            protocol publication queue quote range read reassign recheck referencing reindex relative release relopt rename repack
            repeatable replace reset resource restart restrict retrieve returns revoke role rollback rollup routine routines rows
            rule savepoint schema schemas scroll search security segment segments sequence serializable session set sets share
            show simple split sql stable start statement statistics stdin stdout storage stored strict subpartition support sysid
            system tablespace temp template temporary threshold ties transaction transform trigger truncate trusted type
            uncommitted unencrypted unknown unlisten until update vacuum valid validator value version view volatile work write
            zone
        """
        ),
        "u": (
            """
            always attribute catalog comments configuration conflict continue current data day deny dictionary discard document
            dxl event expand extension family filter fullscan functions hour identity ignore initplan inline io_limit label
            leakproof mapping materialized minute month nocreateexttable off ordered ordinality over parser passing plans program
            randomly readable reads recursive ref refresh reject replica replicated rootpartition second sequences server skip
            snapshot standalone strip subscription tables text types unlogged validate validation varying views web whitespace
            within without wrapper writable xml year yes
        """
        ),
        "C": (
            """
            bigint bit boolean coalesce dec decimal exists extract float greatest grouping inout int integer interval least
            national nchar none nullif numeric out overlay position precision real row setof smallint substring time timestamp
            treat trim values varchar
        """
        ),
        "c": (
            """
            between char character group_id median xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse
            xmlpi xmlroot xmlserialize xmltable
        """
        ),
        "T": (
            """
            ao_aux_only authorization binary freeze isnull notnull outer tablesample verbose
        """
        ),
        "t": (
            """
            collation concurrently cross current_schema full ilike inner is join left like natural overlaps right similar
        """
        ),
        "r": (
            """
            all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
            current_catalog current_date current_role current_time current_timestamp current_user decode default deferrable desc
            distinct distributed do else end except exclude false fetch following for foreign from grant group having in initially
            intersect into lateral leading limit localtime localtimestamp not null offset on only or order partition placing
            preceding primary references returning scatter select session_user some symmetric table then to trailing true
            unbounded union unique user using variadic when where window with
        """
        ),
    },
    "pg15": {
        "U": (
            """
            abort absolute access action add admin after aggregate also alter always asensitive assertion assignment at atomic
            attach attribute backward before begin breadth by cache call called cascade cascaded catalog chain characteristics
            checkpoint class close cluster columns comment comments commit committed compression configuration conflict connection
            constraints content continue conversion copy cost csv cube current cursor cycle data database deallocate declare
            defaults deferred definer delete delimiter delimiters depends depth detach dictionary disable discard document domain
            double drop each enable encoding encrypted enum escape event exclude excluding exclusive execute explain expression
            extension external family finalize first following force forward function functions generated global granted groups
            handler header hold identity if immediate immutable implicit import include including increment index indexes inherit
            inherits inline input insensitive insert instead invoker isolation key label language large last leakproof level
            listen load local location lock locked logged mapping match matched materialized maxvalue merge method minvalue mode
            move name names new next nfc nfd nfkc nfkd no normalized nothing notify nowait nulls object of off oids old operator
            option options ordinality others overriding owned owner parallel parameter parser partial partition passing password
            plans policy preceding prepare prepared preserve prior privileges procedural procedure procedures program publication
            quote range read reassign recheck recursive ref referencing refresh reindex relative release rename repeatable replace
            replica reset restart restrict return returns revoke role rollback rollup routine routines rows rule savepoint schema
            schemas scroll search security sequence sequences serializable server session set sets share show simple skip snapshot
            sql stable standalone start statement statistics stdin stdout storage stored strict strip subscription support sysid
            system tables tablespace temp template temporary text ties transaction transform trigger truncate trusted type types
            uescape unbounded uncommitted unencrypted unknown unlisten unlogged until update vacuum valid validate validator value
            version view views volatile whitespace work wrapper write xml yes zone
        """
        ),
        "u": (
            """
            day filter hour minute month over second varying within without year
        """
        ),
        "C": (
            """
            between bigint bit boolean coalesce dec decimal exists extract float greatest grouping inout int integer interval
            least national nchar none normalize nullif numeric out overlay position real row setof smallint substring time
            timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse
            xmlpi xmlroot xmlserialize xmltable
        """
        ),
        "c": (
            """
            char character precision
        """
        ),
        "T": (
            """
            authorization binary collation concurrently cross current_schema freeze full ilike inner is join left like
            natural outer right similar tablesample verbose
        """
        ),
        "t": (
            """
            overlaps isnull notnull
        """
        ),
        "R": (
            """
            all analyse analyze and any asc asymmetric both case cast check collate column constraint current_catalog current_date
            current_role current_time current_timestamp current_user default deferrable desc distinct do else end false foreign in
            initially lateral leading localtime localtimestamp not null only or placing primary references select session_user
            some symmetric table then trailing true unique user using variadic when
        """
        ),
        "r": (
            """
            array as create except fetch for from grant group having intersect into limit offset on order returning to union where
            window with
        """
        ),
    },
    "pg18": {
        "U": (
            """
            abort absent absolute access action add admin after aggregate also alter always asensitive assertion assignment at
            atomic attach attribute backward before begin breadth by cache call called cascade cascaded catalog chain
            characteristics checkpoint class close cluster columns comment comments commit committed compression conditional
            configuration conflict connection constraints content continue conversion copy cost csv cube current cursor cycle data
            database deallocate declare defaults deferred definer delete delimiter delimiters depends depth detach dictionary
            disable discard document domain double drop each empty enable encoding encrypted enforced enum error escape event
            exclude excluding exclusive execute explain expression extension external family finalize first following force format
            forward function functions generated global granted groups handler header hold identity if immediate immutable
            implicit import include including increment indent index indexes inherit inherits inline input insensitive insert
            instead invoker isolation keep key keys label language large last leakproof level listen load local location lock
            locked logged mapping match matched materialized maxvalue merge method minvalue mode move name names nested new next
            nfc nfd nfkc nfkd no normalized nothing notify nowait nulls object objects of off oids old omit operator option
            options ordinality others overriding owned owner parallel parameter parser partial partition passing password path
            period plan plans policy preceding prepare prepared preserve prior privileges procedural procedure procedures program
            publication quote quotes range read reassign recursive ref referencing refresh reindex relative release rename
            repeatable replace replica reset restart restrict return returns revoke role rollback rollup routine routines rows
            rule savepoint scalar schema schemas scroll search security sequence sequences serializable server session set sets
            share show simple skip snapshot source sql stable standalone start statement statistics stdin stdout storage stored
            strict string strip subscription support sysid system tables tablespace target temp template temporary text ties
            transaction transform trigger truncate trusted type types uescape unbounded uncommitted unconditional unencrypted
            unknown unlisten unlogged until update vacuum valid validate validator value version view views virtual volatile
            whitespace work wrapper write xml yes zone
        """
        ),
        "u": (
            """
            day filter hour minute month over second varying within without year
        """
        ),
        "C": (
            """
            between bigint bit boolean coalesce dec decimal exists extract float greatest grouping inout int integer interval json
            json_array json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize json_table
            json_value least merge_action national nchar none normalize nullif numeric out overlay position real row setof
            smallint substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest
            xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
        """
        ),
        "c": (
            """
            char character precision
        """
        ),
        "T": (
            """
            authorization binary collation concurrently cross current_schema freeze full ilike inner is join left like
            natural outer right similar tablesample verbose
        """
        ),
        "t": (
            """
            overlaps isnull notnull
        """
        ),
        "R": (
            """
            all analyse analyze and any asc asymmetric both case cast check collate column constraint current_catalog current_date
            current_role current_time current_timestamp current_user default deferrable desc distinct do else end false foreign in
            initially lateral leading localtime localtimestamp not null only or placing primary references select session_user
            some symmetric system_user table then trailing true unique user using variadic when
        """
        ),
        "r": (
            """
            array as create except fetch for from grant group having intersect into limit offset on order returning to union where
            window with
        """
        ),
    },
}

# Releases defined by their differences from another release: the other release, words that only it
# has, words that only this release has.
_DERIVED: dict[str, tuple[str, str, dict[str, str]]] = {
    "pg12": (
        "pg13",
        "expression nfc nfd nfkc nfkd normalize normalized uescape",
        {},
    ),
    "pg13": ("pg14", "asensitive atomic breadth compression depth finalize return", {}),
    "pg14": ("pg15", "matched merge parameter", {}),
    "pg16": (
        "pg15",
        "",
        {
            "U": "absent format indent json keys scalar",
            "C": "json_array json_arrayagg json_object json_objectagg",
            "R": "system_user",
        },
    ),
    "pg19": (
        "pg18",
        "",
        {
            "U": (
                "destination edge graph lsn node partitions portion properties property relationship"
                " repack split vertex wait"
            ),
            "u": "ignore respect",
            "C": "graph_table",
        },
    ),
    "pg17": ("pg18", "enforced objects period virtual", {"U": "recheck"}),
}
# up to PostgreSQL 13, no keyword can be a label without AS
_NO_BARE_LABELS = frozenset(("pg12", "pg13"))

# Words that can be labels without AS, but not the name of a partition in ALTER TABLE … PARTITION
# name.
_NO_PARTITION_NAME = {
    "gp6": "add alter at isnull notnull tablespace",
    "gp7": "add alter at isnull notnull tablespace",
}


def classes(generation: str) -> dict[str, str]:
    """Each keyword of that generation with its class letter (upper case: can be a label without
    AS).

    >>> classes("gp7")["select"], classes("gp7")["between"], classes("gp6")["aggregate"]
    ('r', 'c', 'U')
    """
    if generation in _DERIVED:
        base, removed, new = _DERIVED[generation]
        found = {
            word: letter for word, letter in classes(base).items() if word not in removed.split()
        }
        found.update({word: letter for letter, words in new.items() for word in words.split()})
    else:
        found = {
            word: letter for letter, words in _WORDS[generation].items() for word in words.split()
        }
    return (
        {word: letter.lower() for word, letter in found.items()}
        if generation in _NO_BARE_LABELS
        else found
    )


def partition_names_refused(generation: str) -> frozenset[str]:
    """Keywords that cannot be the name of a partition without quotes, although they can be
    labels.
    """
    return frozenset(_NO_PARTITION_NAME.get(generation, "").split())


EVERY = frozenset(word for table in (*_WORDS, *_DERIVED) for word in classes(table))
