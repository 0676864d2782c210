"""The synopses of all statements except queries and CREATE TABLE, in the form of the manual."""

# ruff: noqa: E501 - a synopsis keeps the lines the manual would give it

# Parts that statements share. A rule with ~ returns the value of its branch and creates no node.
PARTS = r"""
~behavior = CASCADE | RESTRICT

function_ref = this:function_name ( '(' args:func_arg,* ')' | @v10 )
func_arg = arg:arg_name mode_after:arg_mode kind:func_type
    | mode:arg_mode arg:arg_name kind:func_type
    | arg:arg_name kind:func_type
    | mode:arg_mode kind:func_type
    | kind:func_type
func_arg_default = this:func_arg [ ( DEFAULT default:expr | '=' value:expr ) ]
aggregate_ref = this:function_name args:aggregate_args
aggregate_args = '(' '*' ')'
    | '(' ORDER BY ordered:func_arg,+ ')'
    | '(' direct:func_arg,+ ORDER BY ordered:func_arg,+ ')'
    | '(' direct:func_arg,+ ')'
operator_ref = this:operator '(' ( NONE ',' right:typename ')' | left:typename ',' NONE ')'
    | left:typename ',' right:typename ')' )
cast_ref = '(' source:typename AS target:typename ')'
type_list = '(' typename,+ ')'
name_list = '(' name,+ ')'

# options
generic_option = this:label value:string
generic_options = OPTIONS '(' generic_option,+ ')'
alter_generic_option = option:generic_option | ( SET | ADD ) option:generic_option | DROP this:label
alter_generic_options = OPTIONS '(' alter_generic_option,+ ')'
seq_option = @v10 AS kind:simple_type | CACHE value:number | CYCLE | NO CYCLE | INCREMENT [ BY ] value:number | MAXVALUE value:number
    | MINVALUE value:number | NO MAXVALUE | NO MINVALUE | OWNED BY owner:any_name | @v10 SEQUENCE NAME owner:any_name
    | START [ WITH ] value:number | RESTART [ WITH ] value:number | RESTART | @v15 LOGGED | @v15 UNLOGGED

# settings
var_name = name:name [ '.' sub:label ]
generic_set = this:variable ( TO DEFAULT | '=' DEFAULT | @v19 TO NULL | @v19 '=' NULL | TO values:setting,+ | '=' values:setting,+ )
set_item = TIME ZONE zone:zone_value | CATALOG value:string | SCHEMA value:string | NAMES value:string | NAMES DEFAULT | NAMES
    | ROLE role:word_or_string | SESSION AUTHORIZATION DEFAULT | SESSION AUTHORIZATION role:word_or_string
    | XML OPTION ( DOCUMENT | CONTENT ) | TRANSACTION SNAPSHOT value:string
    | setting:generic_set | variable FROM CURRENT
set_any = SESSION CHARACTERISTICS AS TRANSACTION modes:transaction_modes | @!gp6 TRANSACTION SNAPSHOT value:string
    | TRANSACTION modes:transaction_modes | item:set_item
reset_item = TIME ZONE | TRANSACTION ISOLATION LEVEL | SESSION AUTHORIZATION | ALL | this:variable
set_reset = SET set:set_any | RESET reset:reset_item
function_set = SET set:set_item | RESET reset:reset_item
seq_options = '(' expressions:seq_option+ ')'
transaction_mode = ISOLATION LEVEL level:( READ UNCOMMITTED | READ COMMITTED | REPEATABLE READ | SERIALIZABLE )
    | READ ONLY | READ WRITE | DEFERRABLE | NOT DEFERRABLE
transaction_next = [ ',' ] this:transaction_mode
transaction_modes = this:transaction_mode expressions:transaction_next*

# roles
deny_point = DAY day:(string|integer) [ TIME time:string ]
key_value = this:label '=' value:string
ext_auth = '(' key_value,+ ')'
role_option = PASSWORD NULL | PASSWORD value:string | ENCRYPTED PASSWORD value:string | UNENCRYPTED PASSWORD value:string
    | INHERIT | NOINHERIT | CONNECTION LIMIT limit:signed_integer | VALID UNTIL value:string | @gp RESOURCE QUEUE queue:any_name
    | @gp RESOURCE GROUP queue:any_name | @gp CREATEEXTTABLE [ auth:ext_auth ] | @gp NOCREATEEXTTABLE [ auth:ext_auth ]
    | @gp DENY BETWEEN start:deny_point AND end:deny_point | @gp DENY point:deny_point | USER roles:role,+
    | SUPERUSER | NOSUPERUSER | CREATEDB | NOCREATEDB | CREATEROLE | NOCREATEROLE | @gp6 CREATEUSER | @gp6 NOCREATEUSER | LOGIN | NOLOGIN
    | REPLICATION | NOREPLICATION | @!gp6 BYPASSRLS | @!gp6 NOBYPASSRLS
create_only_role_option = SYSID id:integer | ADMIN roles:role,+ | ROLE roles:role,+ | IN ROLE roles:role,+ | IN GROUP roles:role,+
alter_only_role_option = @gp DROP DENY FOR point:deny_point
~create_role_option = role_option | create_only_role_option
~alter_role_option = role_option | alter_only_role_option
auth_ident = USER | @gp6 CURRENT_USER | this:role

# privileges
privilege = ( SELECT | REFERENCES | CREATE ) [ columns:name_list ] | @v15 ALTER SYSTEM | this:name [ columns:name_list ]
privileges = ALL [ PRIVILEGES ] [ columns:name_list ] | privilege,+
only_table = ONLY this:table_name
~maybe_only = @gp7 only_table | table_name
privilege_target = ( @v10 TABLE tables:maybe_only,+ | TABLE tables:table_name,+ ) | SEQUENCE sequences:table_name,+
    | FOREIGN DATA WRAPPER names:name,+ | FOREIGN SERVER names:name,+ | FUNCTION functions:function_ref,+
    | @v10 PROCEDURE functions:function_ref,+ | @v10 ROUTINE functions:function_ref,+ | DATABASE names:name,+
    | DOMAIN types:any_name,+ | LANGUAGE names:name,+ | LARGE OBJECT ids:number,+ | SCHEMA names:name,+ | TABLESPACE names:name,+
    | @v19 PROPERTY GRAPH tables:table_name,+ | @gp PROTOCOL names:name,+ | TYPE types:any_name,+ | @v15 PARAMETER parameters:variable,+
    | ALL kinds:( TABLES | SEQUENCES | FUNCTIONS | @v10 PROCEDURES | @v10 ROUTINES ) IN SCHEMA names:name,+
    | tables:maybe_only,+
grantee = [ GROUP ] this:role
default_target = TABLES | FUNCTIONS | @v10 ROUTINES | SEQUENCES | TYPES | @v10 SCHEMAS | @v18 LARGE OBJECTS
default_scope = IN SCHEMA schemas:name,+ | FOR ROLE roles:role,+ | FOR USER roles:role,+
default_action = GRANT privileges ON target:default_target TO grantees:grantee,+ [ WITH GRANT OPTION ]
    | REVOKE GRANT OPTION FOR privileges ON target:default_target FROM grantees:grantee,+ [ behavior ]
    | REVOKE privileges ON target:default_target FROM grantees:grantee,+ [ behavior ]

# functions
~language_name = @v14 name | @!v14 word_or_string
function_option = AS this:string [ ',' symbol:string ] | LANGUAGE language:word_or_string | WINDOW
    | @v10 TRANSFORM for_types:transform_type,+ | common:common_function_option | @v14 body:sql_body
transform_type = FOR TYPE kind:typename
common_function_option = CALLED ON NULL INPUT | RETURNS NULL ON NULL INPUT | STRICT | IMMUTABLE | STABLE | VOLATILE
    | EXTERNAL SECURITY DEFINER | EXTERNAL SECURITY INVOKER | SECURITY DEFINER | SECURITY INVOKER | LEAKPROOF | NOT LEAKPROOF
    | COST cost:number | ROWS rows:number | @v12 SUPPORT support:any_name | @v10 PARALLEL parallel:name | @gp NO SQL
    | @gp CONTAINS SQL | @gp READS SQL DATA | @gp MODIFIES SQL DATA | @gp EXECUTE ON ANY | @gp EXECUTE ON MASTER
    | @gp7 EXECUTE ON COORDINATOR | @gp EXECUTE ON INITPLAN | @gp EXECUTE ON ALL SEGMENTS | setting:function_set
table_column = this:arg_name kind:func_type
with_definition = WITH definition

# triggers, rules, policies
trigger_event = INSERT | DELETE | UPDATE OF columns:name,+ | UPDATE | TRUNCATE
or_event = OR this:trigger_event
transition = which:( NEW | OLD ) what:( TABLE | ROW ) [ AS ] this:name
trigger_arg = number:trigger_number | text:string | word:label
constraint_attribute:ConstraintTrait = NOT DEFERRABLE | DEFERRABLE | INITIALLY IMMEDIATE | INITIALLY DEFERRED | NOT VALID | NO INHERIT
    | @v18 ENFORCED | @v18 NOT ENFORCED
rule_tail = ';' [ this:rule_statement ]
event_filter = this:name IN '(' string,+ ')'
and_filter = AND this:event_filter

# operator classes, text search, publications
opclass_item = OPERATOR number:integer ref:operator_ref [ purpose:opclass_purpose ] [ @!v18 RECHECK ]
    | OPERATOR number:integer operator [ purpose:opclass_purpose ] [ @!v18 RECHECK ]
    | FUNCTION number:integer types:type_list function:function_ref | FUNCTION number:integer function:function_ref
    | STORAGE kind:typename
opclass_purpose = FOR SEARCH | FOR ORDER BY family:any_name
opclass_drop = kind:( OPERATOR | FUNCTION ) number:integer types:type_list
publication_object = TABLE table:publication_table | TABLES IN SCHEMA schema:publication_schema | table:publication_table | CURRENT_SCHEMA
~publication_schema = current_schema | name
current_schema = CURRENT_SCHEMA
publication_table = this:relation [ @v15 columns:name_list ] [ @v15 WHERE '(' where:expr ')' ]

publication_more = ',' [ TABLE ] this:relation
publication_all = ALL TABLES [ EXCEPT '(' TABLE this:relation more:publication_more* ')' ] | ALL SEQUENCES

# property graphs
graph_property = this:expr [ AS alias:label ]
graph_properties = NO PROPERTIES | PROPERTIES ALL COLUMNS | PROPERTIES '(' items:graph_property,+ ')'
graph_label = ( LABEL this:name | DEFAULT LABEL ) [ properties:graph_properties ]
graph_vertex = this:table_name [ AS alias:name ] [ KEY key:name_list ] [ ( properties:graph_properties | labels:graph_label+ ) ]
graph_source = SOURCE KEY key:name_list REFERENCES this:name columns:name_list | SOURCE this:name
graph_destination = DESTINATION KEY key:name_list REFERENCES this:name columns:name_list | DESTINATION this:name
graph_edge = this:table_name [ AS alias:name ] [ KEY key:name_list ] source:graph_source destination:graph_destination [ ( properties:graph_properties | labels:graph_label+ ) ]
graph_vertices = ( VERTEX | NODE ) TABLES '(' tables:graph_vertex,+ ')'
graph_edges = ( EDGE | RELATIONSHIP ) TABLES '(' tables:graph_edge,+ ')'
graph_new_label = ADD LABEL this:name properties:graph_properties
graph_action = RENAME TO rename:name | OWNER TO owner:role | SET SCHEMA schema:name | ADD vertices:graph_vertices [ ADD edges:graph_edges ] | ADD edges:graph_edges
    | DROP ( VERTEX | NODE | EDGE | RELATIONSHIP ) TABLES dropped:name_list [ behavior ]
    | ALTER ( VERTEX | NODE | EDGE | RELATIONSHIP ) TABLE table:name ( labels:graph_new_label+ | DROP LABEL label:name [ behavior ]
    | ALTER LABEL label:name ( ADD PROPERTIES '(' items:graph_property,+ ')' | DROP PROPERTIES dropped:name_list [ behavior ] ) )

# databases, copy, explain, maintenance
database_option = @gp6 ( TABLESPACE | TEMPLATE | OWNER ) [ '=' ] ( DEFAULT | name:name ) | @gp6 ( LOCATION | LC_COLLATE | LC_CTYPE ) [ '=' ] ( DEFAULT | text:string )
    | @gp6 ENCODING [ '=' ] ( DEFAULT | text:string | number:integer ) | @gp6 CONNECTION LIMIT [ '=' ] limit:signed_integer
    | @!gp6 ( CONNECTION LIMIT | ENCODING | LOCATION | OWNER | TABLESPACE | TEMPLATE ) [ '=' ] value:database_value
    | @!gp6 this:ident [ '=' ] value:database_value
database_limit = CONNECTION LIMIT [ '=' ] limit:signed_integer
~database_value = DEFAULT | signed_integer | truth_or_word
copy_word = BINARY | @gp6 OIDS | FREEZE | DELIMITER [ AS ] value:string | NULL [ AS ] value:string | CSV | HEADER
    | QUOTE [ AS ] value:string | ESCAPE [ AS ] value:string | FORCE QUOTE '*' | FORCE QUOTE columns:name,+
    | FORCE NOT NULL columns:name,+ | FORCE NULL columns:name,+ | ENCODING value:string | @gp FILL MISSING FIELDS
    | @v19 JSON | @gp NEWLINE [ AS ] value:string | @gp ON SEGMENT | @gp7 IGNORE EXTERNAL PARTITIONS | @gp7 IGNORE FOREIGN PARTITIONS
copy_value_list = '(' truth_or_word,+ ')'
copy_option = this:copy_label [ ( '*' | list:copy_value_list | number:number | word:truth_or_word ) ]
copy_target = PROGRAM command:string | STDIN | STDOUT | file:string
reject_limit = SEGMENT REJECT LIMIT limit:integer [ kind:( ROWS | PERCENT ) ]
error_handling = [ LOG ERRORS [ INTO errors:table_name ] ] reject:reject_limit
option_name = ANALYZE | ANALYSE | this:nonreserved
reindex_word = VERBOSE
vacuum_word = ANALYZE | ANALYSE | VERBOSE | FREEZE | FULL
explain_option = this:option_name [ value:setting ]
vacuum_target = this:vacuum_relation [ columns:name_list ]
fetch_direction = NEXT | PRIOR | FIRST | LAST | ABSOLUTE count:signed_integer | RELATIVE count:signed_integer
    | count:signed_integer | ALL | FORWARD count:signed_integer | FORWARD ALL | FORWARD | BACKWARD count:signed_integer
    | BACKWARD ALL | BACKWARD
fetch_args = direction:fetch_direction [ ( FROM | IN ) ] cursor:name | ( FROM | IN ) cursor:name | cursor:name
lock_mode = ACCESS SHARE | ROW SHARE | ROW EXCLUSIVE | SHARE UPDATE EXCLUSIVE | SHARE ROW EXCLUSIVE | SHARE | EXCLUSIVE
    | ACCESS EXCLUSIVE
queue_option = ACTIVE THRESHOLD value:number | COST THRESHOLD value:number | IGNORE THRESHOLD value:number | OVERCOMMIT | NOOVERCOMMIT
group_option = CONCURRENCY value:signed_integer | @gp6 CPU_RATE_LIMIT value:signed_integer | CPUSET text:string
    | MEMORY_LIMIT value:signed_integer | @gp6 MEMORY_SHARED_QUOTA value:signed_integer | @gp6 MEMORY_SPILL_RATIO value:signed_integer
    | @gp7 CPU_MAX_PERCENT value:signed_integer | @gp7 CPU_WEIGHT value:signed_integer | @gp7 MIN_COST value:signed_integer
    | @gp7 IO_LIMIT text:string

# ALTER TABLE
definition = '(' expressions:def_elem,+ ')'
relopts = '(' expressions:reloption,+ ')'
column_encoding:ColumnEncoding = COLUMN this:name ENCODING encoding:definition | DEFAULT COLUMN ENCODING encoding:definition
partition_start:PartitionStart = START '(' expressions:range_value,+ ')' [ inclusive:( INCLUSIVE | EXCLUSIVE ) ]
partition_end:PartitionEnd = END '(' expressions:range_value,+ ')' [ inclusive:( INCLUSIVE | EXCLUSIVE ) ]
every_step:PartitionEvery = EVERY '(' expressions:range_value,+ ')'
range_bound:PartitionRange = start:partition_start [ end:partition_end ] [ every:every_step ] | end:partition_end [ every:every_step ]
add_range:AddedRange = start:partition_start [ end:partition_end ] | end:partition_end
value_tuple = '(' expressions:boundary_constant,+ ')'
list_values:PartitionValues = VALUES '(' expressions:value_tuple,+ ')' | VALUES '(' expressions:boundary_constant,+ ')'
~classic_bound = list_values | range_bound
~add_bound = @gp6 classic_bound | list_values | add_range
~range_value = @gp6 boundary_value | @!gp6 expr
partition_element:PartitionDefinition = encoding:column_encoding
    | default:( DEFAULT ) role:( PARTITION ) this:partition_name [ @gp6 bound:classic_bound ] [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] encodings:column_encoding* [ '(' partitions:subpartition_element,+ ')' ]
    | role:( PARTITION ) this:partition_name [ bound:classic_bound ] [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] encodings:column_encoding* [ '(' partitions:subpartition_element,+ ')' ]
    | bound:classic_bound [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] encodings:column_encoding* [ '(' partitions:subpartition_element,+ ')' ]
subpartition_element:SubpartitionDefinition = encoding:column_encoding
    | default:( DEFAULT ) role:( SUBPARTITION ) this:partition_name [ @gp6 bound:classic_bound ] [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] encodings:column_encoding* [ '(' partitions:subpartition_element,+ ')' ]
    | role:( SUBPARTITION ) this:partition_name [ bound:classic_bound ] [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] encodings:column_encoding* [ '(' partitions:subpartition_element,+ ')' ]
    | bound:classic_bound [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] encodings:column_encoding* [ '(' partitions:subpartition_element,+ ')' ]
template_element:TemplateElement = encoding:column_encoding
    | default:( DEFAULT ) role:( SUBPARTITION ) this:partition_name [ @gp6 bound:classic_bound ] [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] encodings:column_encoding*
    | role:( SUBPARTITION ) this:partition_name [ bound:classic_bound ] [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] encodings:column_encoding*
    | bound:classic_bound [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] encodings:column_encoding*
partition_by:PartitionBy = @gp6 PARTITION BY kind:old_strategy '(' expressions:name,+ ')' [ subpartition:subpartition_by ] [ '(' partitions:partition_element,+ ')' ]
    | @gp7 PARTITION BY kind:strategy '(' expressions:plain_partition_key,+ ')' subpartition:subpartition_by [ '(' partitions:partition_element,+ ')' ]
    | @gp7 PARTITION BY kind:strategy '(' expressions:plain_partition_key,+ ')' '(' partitions:partition_element,+ ')'
    | @!gp6 PARTITION BY kind:strategy '(' expressions:partition_key,+ ')'
subpartition_by:SubpartitionBy = SUBPARTITION BY ( @gp6 kind:old_strategy '(' expressions:name,+ ')' | @!gp6 kind:strategy '(' expressions:plain_partition_key,+ ')' )
    [ SUBPARTITION TEMPLATE '(' template:template_element,+ ')' ] [ subpartition:subpartition_by ]
~old_strategy = RANGE | LIST
bound_with:BoundWith = FOR VALUES WITH '(' MODULUS modulus:integer ',' REMAINDER remainder:integer ')' | FOR VALUES WITH '(' REMAINDER remainder:integer ',' MODULUS modulus:integer ')'
bound_in:BoundIn = FOR VALUES IN '(' expressions:expr,+ ')'
bound_from_to:BoundFromTo = FOR VALUES FROM '(' lower:expr,+ ')' TO '(' upper:expr,+ ')'
bound_default:BoundDefault = DEFAULT
~partition_bound = bound_with | bound_in | bound_from_to | bound_default
distribution_key:DistributionKey = this:name opclass:any_name
~distribution_item = distribution_key | name
boundary_value_list = '(' values:boundary_value,+ ')'
partition_ref = FOR '(' RANK '(' rank:number ')' ')' | FOR values:boundary_value_list | this:partition_name
partition_target = PARTITION ref:partition_ref | default:default_partition
identity_option = RESTART [ WITH ] value:number | RESTART | SET option:identity_seq_option | SET GENERATED when:generated_when
~generated_when = ALWAYS | BY DEFAULT
identity_seq_option = CACHE value:number | CYCLE | NO CYCLE | INCREMENT [ BY ] value:number | MAXVALUE value:number | MINVALUE value:number
    | NO MAXVALUE | NO MINVALUE | START [ WITH ] value:number
split_into = INTO '(' ( @gp6 first:partition_target | @gp7 first:partition_target_named ) ',' ( @gp6 second:partition_target | @gp7 second:default_partition | @gp7 second:partition_target_named ) ')'
split_into_named = INTO '(' first:partition_target_named ',' second:partition_target_named ')'
partition_target_named = PARTITION this:partition_name

add_column:AddColumn = ADD [ COLUMN ] [ @v10 IF NOT EXISTS ] this:column_definition
add_constraint:AddTableConstraint = ADD this:table_constraint
add_partition:AddPartition = ADD default:( DEFAULT ) PARTITION this:partition_name [ @gp6 bound:add_bound ] [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] [ '(' partitions:subpartition_element,+ ')' ]
    | ADD PARTITION bound:add_bound [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] [ '(' partitions:subpartition_element,+ ')' ]
    | ADD PARTITION this:partition_name [ bound:add_bound ] [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] [ '(' partitions:subpartition_element,+ ')' ]
    | ADD PARTITION [ ( @gp6 WITH options:definition | @gp7 WITH options:relopts | @gp7 WITHOUT OIDS ) ] [ TABLESPACE tablespace:name ] [ '(' partitions:subpartition_element,+ ')' ]
drop_partition:DropPartition = DROP PARTITION IF EXISTS target:partition_ref [ behavior ] | DROP DEFAULT PARTITION IF EXISTS [ behavior ]
    | DROP this:partition_target [ behavior ] | @gp6 DROP PARTITION
exchange_partition:ExchangePartition = EXCHANGE this:partition_target WITH TABLE table:table_name
    [ validation:( WITH VALIDATION | WITHOUT VALIDATION ) ]
rename_partition:RenamePartition = RENAME this:partition_target TO to:ident
truncate_partition:TruncatePartition = TRUNCATE this:partition_target [ behavior ]
split_partition:SplitPartition = SPLIT DEFAULT PARTITION start:partition_start end:partition_end [ into:split_into ]
    | @gp6 SPLIT this:partition_target AT '(' ( values:list_values | at:boundary_value,+ ) ')' [ into:split_into ]
    | SPLIT DEFAULT PARTITION AT '(' ( values:list_values | at:boundary_value,+ ) ')' [ into:split_into ]
    | SPLIT PARTITION ref:partition_ref AT '(' ( values:list_values | at:boundary_value,+ ) ')' [ into_named:split_into_named ]
alter_partition:AlterPartition = ALTER this:partition_target action:alter_table_action
set_template:SetSubpartitionTemplate = SET SUBPARTITION TEMPLATE '(' ')' | SET SUBPARTITION TEMPLATE '(' partitions:template_element,+ ')'
alter_column:AlterColumnAction = ALTER [ COLUMN ] this:column_ref ( SET DEFAULT default:expr | DROP DEFAULT | DROP NOT NULL | SET NOT NULL
    | SET STATISTICS statistics:signed_integer | @v17 SET STATISTICS DEFAULT | @gp7 SET ENCODING encoding:definition | SET STORAGE storage:column_storage_word
    | @v14 SET COMPRESSION compression:storage_word | SET options:relopts | RESET options:relopts
    | @v10 ADD GENERATED when:generated_when AS IDENTITY [ sequence:seq_options ] | @v13 DROP EXPRESSION [ IF EXISTS ]
    | @v17 SET EXPRESSION AS '(' generation:expr ')'
    | @v10 DROP IDENTITY [ IF EXISTS ] | [ SET DATA ] TYPE kind:typename [ COLLATE collate:any_name ] [ USING using:expr ]
    | generic:alter_generic_options | @v10 identity:identity_option+ )
drop_column:DropColumn = DROP [ COLUMN ] [ IF EXISTS ] this:name [ behavior ]
inherit_constraint:InheritConstraint = ALTER CONSTRAINT this:name INHERIT
alter_constraint:AlterConstraint = ALTER CONSTRAINT this:name [ attributes:attribute_spec ]
validate_constraint:ValidateConstraint = VALIDATE CONSTRAINT this:name
drop_constraint:DropConstraint = DROP CONSTRAINT [ IF EXISTS ] this:name [ behavior ]
set_table:SetTable = SET WITHOUT OIDS | @gp6 SET WITH OIDS | SET WITHOUT CLUSTER | @v10 SET LOGGED | @v10 SET UNLOGGED | SET TABLESPACE tablespace:name
    | @gp7 SET ACCESS METHOD method:name [ WITH options:relopts ] | @v15 SET ACCESS METHOD method:access_method_name
    | @gp SET WITH options:definition distribution:distributed | @gp SET WITH options:definition | @gp SET distribution:distributed
    | SET options:relopts | RESET options:relopts
cluster_on:ClusterOn = CLUSTER ON this:name
enable_disable:EnableDisable = ENABLE ( ALWAYS | REPLICA ) TRIGGER this:name | ENABLE TRIGGER ALL | ENABLE TRIGGER USER | ENABLE TRIGGER this:name
    | DISABLE TRIGGER ALL | DISABLE TRIGGER USER | DISABLE TRIGGER this:name | ENABLE ( ALWAYS | REPLICA ) RULE this:name
    | ENABLE RULE this:name | DISABLE RULE this:name | @v10 ENABLE ROW LEVEL SECURITY | @v10 DISABLE ROW LEVEL SECURITY
    | @v10 FORCE ROW LEVEL SECURITY | @v10 NO FORCE ROW LEVEL SECURITY
inherit_action:InheritAction = INHERIT this:table_name | NO INHERIT this:table_name | OF of:any_name | NOT OF
owner_action:OwnerTo = OWNER TO this:role
replica_identity:ReplicaIdentity = REPLICA IDENTITY ( NOTHING | FULL | DEFAULT | USING INDEX this:name )
expand_action:ExpandTable = EXPAND TABLE | EXPAND PARTITION PREPARE
repack_action:RepackColumns = REPACK BY COLUMNS '(' sort_key,+ ')'
generic_action:GenericOptionsAction = this:alter_generic_options
attach_partition:AttachPartition = ATTACH PARTITION this:table_name bound:partition_bound
detach_partition:DetachPartition = DETACH PARTITION this:table_name [ @v14 ( CONCURRENTLY | FINALIZE ) ]
attach_index:AttachIndex = ATTACH PARTITION this:table_name
merge_partitions:MergePartitions = MERGE PARTITIONS '(' tables:table_name,+ ')' INTO this:table_name
split_into_partition:SplitPiece = PARTITION this:table_name bound:partition_bound
split_partitions:SplitPartitionInto = SPLIT PARTITION this:table_name INTO '(' split_into_partition,+ ')'

~alter_table_action = @gp add_partition | add_constraint | add_column | @gp drop_partition | drop_constraint | drop_column
    | @gp exchange_partition | @gp rename_partition | @gp truncate_partition | @gp split_partition | @gp alter_partition
    | @v18 inherit_constraint | alter_constraint | alter_column | validate_constraint | @gp set_template | set_table | cluster_on | enable_disable
    | inherit_action | owner_action | @v10 replica_identity | replica_identity | @gp expand_action | @gp7 repack_action | generic_action
~alone_table_action = @v10 attach_partition | @v10 detach_partition | @v19 merge_partitions | @v19 split_partitions
rename_to:RenameTo = RENAME TO this:name
rename_column:RenameColumnTo = RENAME [ COLUMN ] this:name TO to:name
rename_constraint:RenameConstraint = RENAME CONSTRAINT this:name TO to:name
set_schema:SetSchema = SET SCHEMA this:name
depends_on:DependsOn = [ @v13 NO ] DEPENDS ON EXTENSION this:name
~rename_or_move = rename_to | rename_constraint | rename_column | set_schema
~view_move = rename_to | @v13 rename_column | set_schema
~foreign_move = rename_to | rename_column | set_schema

# types and domains
attribute_action = ADD ATTRIBUTE attribute:typed_name [ behavior ] | DROP ATTRIBUTE [ IF EXISTS ] this:name [ behavior ]
    | ALTER ATTRIBUTE this:name [ SET DATA ] TYPE kind:typename [ COLLATE collate:any_name ] [ behavior ]
domain_action = SET DEFAULT default:expr | DROP DEFAULT | DROP NOT NULL | SET NOT NULL | @v17 ADD [ CONSTRAINT name:name ] not_null:( NOT NULL ) | ADD constraint:table_constraint
    | DROP CONSTRAINT [ IF EXISTS ] this:name [ behavior ] | VALIDATE CONSTRAINT this:name

# external tables
external_on = ON ALL | ON HOST host:string | ON HOST | ON MASTER | @gp7 ON COORDINATOR | ON SEGMENT segment:integer | ON segment:integer
format_word = DELIMITER [ AS ] value:string | NULL [ AS ] value:string | CSV | HEADER | QUOTE [ AS ] value:string
    | ESCAPE [ AS ] value:string | FORCE NOT NULL columns:name,+ | FORCE QUOTE '*' | FORCE QUOTE columns:name,+
    | FILL MISSING FIELDS | NEWLINE [ AS ] value:string
format_pair = this:label '=' ( columns:name_list | value:def_arg )
format_options = '(' pairs:format_pair,+ ')' | '(' words:format_word+ ')' | '(' ')'
external_source = LOCATION '(' locations:string,+ ')' on:external_on* | EXECUTE command:string on:external_on*
external_encoding = ENCODING [ '=' ] value:(string|integer)
external_errors = [ LOG ERRORS [ ( INTO errors:table_name | PERSISTENTLY ) ] ] reject:reject_limit
external_options = OPTIONS '(' generic_option,* ')'
"""

STATEMENTS = r"""
alter_table = ALTER TABLE exists:[ IF EXISTS ] this:relation ( actions:alter_table_action,+ | action:alone_table_action | move:rename_or_move )
    | ALTER TABLE ALL IN TABLESPACE name [ OWNED BY owners:role,+ ] SET TABLESPACE target:name [ NOWAIT ]
alter_external_table = @gp ALTER EXTERNAL TABLE this:relation actions:alter_table_action,+
alter_foreign_table = ALTER FOREIGN TABLE exists:[ IF EXISTS ] this:relation ( actions:alter_table_action,+ | move:foreign_move )
alter_index = ALTER INDEX ALL IN TABLESPACE name [ OWNED BY owners:role,+ ] SET TABLESPACE target:name [ NOWAIT ]
    | @v10 ALTER INDEX this:table_name ( attach:attach_index | depends:depends_on )
    | ALTER INDEX exists:[ IF EXISTS ] this:table_name ( actions:alter_table_action,+ | rename:rename_to )
alter_sequence = ALTER SEQUENCE exists:[ IF EXISTS ] this:table_name ( options:seq_option+ | actions:alter_table_action,+ | rename:rename_to | schema:set_schema )
alter_view = ALTER VIEW exists:[ IF EXISTS ] this:table_name ( actions:alter_table_action,+ | move:view_move )
alter_materialized_view = ALTER MATERIALIZED VIEW ALL IN TABLESPACE name [ OWNED BY owners:role,+ ] SET TABLESPACE target:name [ NOWAIT ]
    | ALTER MATERIALIZED VIEW exists:[ IF EXISTS ] this:table_name ( actions:alter_table_action,+ | move:foreign_move )
    | @v10 ALTER MATERIALIZED VIEW this:table_name depends:depends_on
alter_type = ALTER TYPE this:any_name ( @gp SET DEFAULT ENCODING encoding:definition | actions:attribute_action,+
    | ADD VALUE [ IF NOT EXISTS ] value:string [ ( BEFORE | AFTER ) neighbor:string ] | @v10 RENAME VALUE value:string TO new_value:string
    | RENAME TO rename:name | RENAME ATTRIBUTE attribute:name TO rename:name [ behavior ] | SET SCHEMA schema:name | OWNER TO owner:role
    | @v13 SET '(' settings:operator_option,+ ')' )
alter_domain = ALTER DOMAIN this:any_name ( action:domain_action | RENAME TO rename:name | RENAME CONSTRAINT constraint:name TO rename:name
    | SET SCHEMA schema:name | OWNER TO owner:role )
alter_function = ALTER kind:( FUNCTION | @v10 PROCEDURE | @v10 ROUTINE ) this:function_ref ( options:common_function_option+ [ RESTRICT ]
    | RENAME TO rename:name | SET SCHEMA schema:name | OWNER TO owner:role | @v10 depends:depends_on )
alter_aggregate = ALTER AGGREGATE this:aggregate_ref ( RENAME TO rename:name | SET SCHEMA schema:name | OWNER TO owner:role )
alter_operator = ALTER OPERATOR ( CLASS | FAMILY ) class:any_name USING method:name ( RENAME TO rename:name | SET SCHEMA schema:name | OWNER TO owner:role )
    | ALTER OPERATOR FAMILY class:any_name USING method:name ( ADD items:opclass_item,+ | DROP drops:opclass_drop,+ )
    | ALTER OPERATOR this:operator_ref ( SET SCHEMA schema:name | OWNER TO owner:role | @v10 SET '(' options:operator_option,+ ')' )
alter_collation = ALTER COLLATION this:any_name ( RENAME TO rename:name | SET SCHEMA schema:name | OWNER TO owner:role | @v10 REFRESH VERSION )
alter_conversion = ALTER CONVERSION this:any_name ( RENAME TO rename:name | SET SCHEMA schema:name | OWNER TO owner:role )
alter_database = ALTER DATABASE this:name ( RENAME TO rename:name | OWNER TO owner:role | SET TABLESPACE tablespace:name | setting:set_reset | @v15 REFRESH COLLATION VERSION
    | @gp6 [ WITH ] options:database_limit* | @!gp6 [ WITH ] options:database_option* )
alter_default_privileges = ALTER DEFAULT PRIVILEGES scopes:default_scope* action:default_action
alter_event_trigger = ALTER EVENT TRIGGER this:name ( ENABLE REPLICA | ENABLE ALWAYS | ENABLE | DISABLE | RENAME TO rename:name | OWNER TO owner:role )
alter_extension = ALTER EXTENSION this:name UPDATE updates:extension_update* | @gp6 ALTER EXTENSION this:any_name SET SCHEMA schema:name | @!gp6 ALTER EXTENSION this:name SET SCHEMA schema:name
    | ALTER EXTENSION this:name ( ADD | DROP ) member:extension_member
extension_update = TO version:word_or_string
extension_member = ACCESS METHOD name | AGGREGATE aggregate:aggregate_ref | CAST cast:cast_ref | @gp6 DOMAIN any_name | @v10 DOMAIN kind:typename
    | ( FUNCTION | @v10 PROCEDURE | @v10 ROUTINE ) function:function_ref | [ PROCEDURAL ] LANGUAGE name | OPERATOR ( CLASS | FAMILY ) any_name USING method:name
    | OPERATOR operator:operator_ref | SCHEMA name | EVENT TRIGGER name | ( TABLE | SEQUENCE | VIEW | MATERIALIZED VIEW | FOREIGN TABLE | COLLATION | CONVERSION
    | TEXT SEARCH PARSER | TEXT SEARCH DICTIONARY | TEXT SEARCH TEMPLATE | TEXT SEARCH CONFIGURATION | @v19 PROPERTY GRAPH ) any_name
    | FOREIGN DATA WRAPPER name | SERVER name | @v14 ( DATABASE | ROLE | SUBSCRIPTION | TABLESPACE | PUBLICATION ) name | @v10 TRANSFORM FOR kind:typename LANGUAGE name | @gp6 TYPE any_name | @v10 TYPE kind:typename
alter_foreign_data_wrapper = ALTER FOREIGN DATA WRAPPER this:name ( RENAME TO rename:name | OWNER TO owner:role
    | handlers:fdw_option* generic:alter_generic_options | handlers:fdw_option+ )
fdw_option = @v19 CONNECTION handler:any_name | @v19 NO CONNECTION | HANDLER handler:any_name | NO HANDLER | VALIDATOR handler:any_name | NO VALIDATOR
alter_group = ALTER GROUP this:role ( ( ADD | DROP ) USER users:role,+ | RENAME TO rename:role )
alter_language = ALTER [ PROCEDURAL ] LANGUAGE this:name ( RENAME TO rename:name | OWNER TO owner:role )
alter_large_object = ALTER LARGE OBJECT this:number OWNER TO owner:role
alter_policy = @v10 ALTER POLICY [ IF EXISTS ] this:name ON table:table_name RENAME TO rename:name
    | @v10 ALTER POLICY this:name ON table:table_name ( [ TO roles:role,+ ] [ USING '(' using:expr ')' ] [ WITH CHECK '(' check:expr ')' ] )
alter_protocol = @gp6 ALTER PROTOCOL this:any_name RENAME TO rename:name | @gp ALTER PROTOCOL this:name ( RENAME TO rename:name | OWNER TO owner:role )
alter_publication = @v10 ALTER PUBLICATION this:name ( RENAME TO rename:name | OWNER TO owner:role | @v19 SET all:publication_all,+ | @v15 ( SET | ADD | DROP ) objects:publication_object,+
    | SET TABLE tables:publication_table,+ | ADD TABLE tables:publication_table,+ | DROP TABLE tables:publication_table,+ | SET options:definition )
alter_property_graph = @v19 ALTER PROPERTY GRAPH exists:( IF EXISTS ) this:table_name SET SCHEMA schema:name
    | @v19 ALTER PROPERTY GRAPH this:table_name action:graph_action
alter_resource_queue = @gp ALTER RESOURCE QUEUE this:nonreserved options:queue_option* [ WITH with:definition ] [ WITHOUT without:definition ]
alter_resource_group = @gp ALTER RESOURCE GROUP this:name SET option:group_option
alter_role = ALTER ( ROLE | USER ) ALL [ IN DATABASE database:name ] setting:set_reset
    | ALTER ( ROLE | USER ) this:role ( [ IN DATABASE database:name ] setting:set_reset | RENAME TO rename:role | [ WITH ] options:alter_role_option* )
alter_rule = ALTER RULE this:name ON table:table_name RENAME TO rename:name
alter_schema = ALTER SCHEMA this:name ( RENAME TO rename:name | OWNER TO owner:role )
alter_server = ALTER SERVER this:name ( RENAME TO rename:name | OWNER TO owner:role
    | [ VERSION ( NULL | version:string ) ] generic:alter_generic_options | VERSION ( NULL | version:string ) )
alter_statistics = @v13 ALTER STATISTICS exists:( IF EXISTS ) this:any_name SET STATISTICS target:signed_integer
    | @v10 ALTER STATISTICS this:any_name ( RENAME TO rename:name | SET SCHEMA schema:name | OWNER TO owner:role | @v13 SET STATISTICS target:signed_integer )
alter_subscription = @v10 ALTER SUBSCRIPTION this:name ( RENAME TO rename:name | OWNER TO owner:role | CONNECTION connection:string
    | @v19 SERVER server:name | @v19 REFRESH SEQUENCES | REFRESH PUBLICATION [ options:with_definition ] | SET PUBLICATION publications:label,+ [ options:with_definition ]
    | @v14 ( ADD | DROP ) PUBLICATION publications:label,+ [ options:with_definition ] | SET set:definition | ENABLE | DISABLE | @v15 SKIP set:definition )
alter_system = ALTER SYSTEM ( SET setting:generic_set | RESET ALL | RESET this:variable )
alter_tablespace = ALTER TABLESPACE this:name ( RENAME TO rename:name | OWNER TO owner:role | SET options:relopts | RESET options:relopts )
alter_text_search = ALTER TEXT SEARCH CONFIGURATION this:any_name ( ADD MAPPING FOR tokens:name,+ WITH dictionaries:any_name,+
    | ALTER MAPPING FOR tokens:name,+ REPLACE old:any_name WITH new:any_name | ALTER MAPPING FOR tokens:name,+ WITH dictionaries:any_name,+
    | ALTER MAPPING REPLACE old:any_name WITH new:any_name | DROP MAPPING [ IF EXISTS ] FOR tokens:name,+
    | RENAME TO rename:name | SET SCHEMA schema:name | OWNER TO owner:role )
    | ALTER TEXT SEARCH DICTIONARY this:any_name ( options:definition | RENAME TO rename:name | SET SCHEMA schema:name | OWNER TO owner:role )
    | ALTER TEXT SEARCH ( PARSER | TEMPLATE ) this:any_name ( RENAME TO rename:name | SET SCHEMA schema:name )
alter_trigger = ALTER TRIGGER this:name ON table:table_name ( RENAME TO rename:name | @v10 depends:depends_on )
alter_user_mapping = ALTER USER MAPPING FOR user:auth_ident SERVER server:name generic:alter_generic_options

create_access_method = @v10 CREATE ACCESS METHOD this:name TYPE ( INDEX | TABLE ) HANDLER handler:any_name
create_aggregate = CREATE [ @v10 OR REPLACE ] [ @gp ORDERED ] AGGREGATE this:function_name ( args:aggregate_args options:definition | '(' old:old_aggregate_option,+ ')' )
create_assertion = CREATE ASSERTION ( @gp6 this:name | @!gp6 this:any_name ) CHECK '(' check:expr ')' [ attributes:attribute_spec ]
create_cast = CREATE CAST cast:cast_ref ( WITH FUNCTION function:function_ref | WITHOUT FUNCTION | WITH INOUT ) [ context:( AS IMPLICIT | AS ASSIGNMENT ) ]
create_collation = CREATE COLLATION [ @v10 IF NOT EXISTS ] this:any_name ( options:definition | FROM source:any_name )
create_conversion = CREATE [ DEFAULT ] CONVERSION this:any_name FOR source:string TO target:string FROM function:any_name
create_database = CREATE DATABASE this:name [ WITH ] options:database_option*
create_domain = CREATE DOMAIN this:any_name [ AS ] kind:typename constraints:column_constraint*
create_event_trigger = CREATE EVENT TRIGGER this:name ON event:label [ WHEN filter:event_filter filters:and_filter* ] EXECUTE ( PROCEDURE | @v11 FUNCTION )
    function:function_name '(' ')'
create_extension = CREATE EXTENSION [ IF NOT EXISTS ] this:name [ WITH ] options:extension_option*
extension_option = SCHEMA schema:name | VERSION version:word_or_string | FROM from:word_or_string | @v10 CASCADE
create_foreign_data_wrapper = CREATE FOREIGN DATA WRAPPER this:name handlers:fdw_option* [ options:generic_options ]
create_function = CREATE [ OR REPLACE ] FUNCTION this:function_name '(' args:func_arg_default,* ')'
    [ ( RETURNS TABLE '(' columns:table_column,+ ')' | RETURNS returns:func_type ) ] options:function_option+ [ @gp with:with_definition ]
create_procedure:CreateProcedure = @v11 CREATE [ OR REPLACE ] PROCEDURE this:function_name '(' args:func_arg_default,* ')' options:function_option+
create_group = CREATE GROUP this:role [ WITH ] options:create_role_option*
create_language = CREATE [ OR REPLACE ] [ TRUSTED ] [ PROCEDURAL ] LANGUAGE this:language_name
    [ HANDLER handler:any_name [ INLINE inline:any_name ] [ ( VALIDATOR validator:any_name | NO VALIDATOR ) ] ]
create_operator_class = CREATE OPERATOR CLASS this:any_name [ DEFAULT ] FOR TYPE kind:typename USING method:name [ FAMILY family:any_name ] AS items:opclass_item,+
create_operator_family = CREATE OPERATOR FAMILY this:any_name USING method:name
create_operator = CREATE OPERATOR this:operator options:definition
create_policy = @v10 CREATE POLICY this:name ON table:table_name [ AS which:( PERMISSIVE | RESTRICTIVE ) ] [ FOR ( ALL | SELECT | INSERT | UPDATE | DELETE ) ] [ TO roles:role,+ ]
    [ USING '(' using:expr ')' ] [ WITH CHECK '(' check:expr ')' ]
create_protocol = @gp CREATE [ TRUSTED ] PROTOCOL this:name options:definition
create_publication = @v10 CREATE PUBLICATION this:name [ ( @v19 FOR all:publication_all,+ | FOR ALL TABLES | @v15 FOR objects:publication_object,+ | FOR TABLE tables:publication_table,+ ) ] [ options:with_definition ]
create_property_graph = @v19 CREATE [ temporary:temp_word ] PROPERTY GRAPH this:table_name [ vertices:graph_vertices ] [ edges:graph_edges ]
create_resource_queue = @gp CREATE RESOURCE QUEUE this:nonreserved options:queue_option* [ WITH with:definition ]
create_resource_group = @gp CREATE RESOURCE GROUP this:name WITH with:definition
create_role = CREATE ( ROLE | USER ) this:role [ WITH ] options:create_role_option*
create_rule = CREATE [ OR REPLACE ] RULE this:name AS ON event:( SELECT | UPDATE | DELETE | INSERT ) TO table:table_name [ WHERE where:expr ] DO [ which:( INSTEAD | ALSO ) ]
    ( NOTHING | '(' [ first:rule_statement ] tails:rule_tail* ')' | action:rule_statement )
create_schema = CREATE SCHEMA [ IF NOT EXISTS ] ( [ this:name ] AUTHORIZATION owner:role elements:schema_element* | this:name elements:schema_element* )
create_sequence = CREATE [ temporary:temp_word ] SEQUENCE [ @v10 IF NOT EXISTS ] this:table_name options:seq_option*
create_server = CREATE SERVER [ @v10 IF NOT EXISTS ] this:name [ TYPE type:string ] [ VERSION ( NULL | version:string ) ] FOREIGN DATA WRAPPER wrapper:name [ options:generic_options ]
create_statistics = @v10 CREATE STATISTICS [ IF NOT EXISTS ] this:any_name [ kinds:name_list ] ON expressions:statistics_item,+ FROM source:from_items
create_statistics_unnamed = @v16 CREATE STATISTICS [ kinds:name_list ] ON expressions:statistics_item,+ FROM source:from_items
create_subscription = @v10 CREATE SUBSCRIPTION this:name ( CONNECTION connection:string | @v19 SERVER server:name ) PUBLICATION publications:label,+ [ options:with_definition ]
create_tablespace = CREATE TABLESPACE this:name [ OWNER owner:role ] LOCATION location:string [ WITH options:relopts ]
create_text_search = CREATE TEXT SEARCH ( PARSER | DICTIONARY | TEMPLATE | CONFIGURATION ) this:any_name options:definition
create_transform = @v10 CREATE [ OR REPLACE ] TRANSFORM FOR kind:typename LANGUAGE language:name '(' ( FROM SQL WITH FUNCTION from:function_ref [ ',' TO SQL WITH FUNCTION to:function_ref ] | TO SQL WITH FUNCTION to:function_ref [ ',' FROM SQL WITH FUNCTION from:function_ref ] ) ')'
create_trigger = CREATE [ @v14 OR REPLACE ] TRIGGER this:name timing:( BEFORE | AFTER | INSTEAD OF ) event:trigger_event events:or_event* ON table:table_name
    [ @v10 REFERENCING transitions:transition+ ] [ FOR [ EACH ] level:( ROW | STATEMENT ) ] [ WHEN '(' when:expr ')' ]
    EXECUTE ( PROCEDURE | @v11 FUNCTION ) function:function_name '(' args:trigger_arg,* ')'
    | CREATE [ @v14 OR REPLACE ] CONSTRAINT TRIGGER this:name AFTER event:trigger_event events:or_event* ON table:table_name [ FROM source:table_name ]
    [ attributes:attribute_spec ] FOR EACH ROW [ WHEN '(' when:expr ')' ]
    EXECUTE ( PROCEDURE | @v11 FUNCTION ) function:function_name '(' args:trigger_arg,* ')'
create_type = CREATE TYPE this:any_name ( AS '(' attributes:typed_name,* ')' | AS ENUM '(' values:string,* ')' | AS RANGE options:definition | options:definition )
    | CREATE TYPE this:any_name
create_user_mapping = CREATE USER MAPPING [ @v10 IF NOT EXISTS ] FOR user:auth_ident SERVER server:name [ options:generic_options ]

drop_object = DROP kind:( TABLE | SEQUENCE | VIEW | MATERIALIZED VIEW | FOREIGN TABLE | @gp EXTERNAL WEB TABLE | @gp EXTERNAL TABLE | COLLATION | CONVERSION
    | @v10 STATISTICS | @v19 PROPERTY GRAPH | TEXT SEARCH PARSER | TEXT SEARCH DICTIONARY | TEXT SEARCH TEMPLATE | TEXT SEARCH CONFIGURATION ) exists:[ IF EXISTS ] names:any_name,+ [ behavior ]
    | @v10 DROP kind:( TYPE | DOMAIN ) exists:[ IF EXISTS ] types:typename,+ [ behavior ]
    | @v10 DROP kind:( ACCESS METHOD | EVENT TRIGGER | EXTENSION | FOREIGN DATA WRAPPER | PUBLICATION | SCHEMA | SERVER ) exists:[ IF EXISTS ] simple:name,+ [ behavior ]
    | @gp7 DROP kind:( PROTOCOL ) exists:[ IF EXISTS ] simple:name,+ [ behavior ]
    | @gp6 DROP kind:( EVENT TRIGGER | EXTENSION | SCHEMA | PROTOCOL | TYPE | DOMAIN ) exists:[ IF EXISTS ] names:any_name,+ [ behavior ]
    | @gp6 DROP kind:( FOREIGN DATA WRAPPER | SERVER ) exists:[ IF EXISTS ] this:name [ behavior ]
    | DROP INDEX [ CONCURRENTLY ] exists:[ IF EXISTS ] indexes:any_name,+ [ behavior ]
    | DROP kind:( @v10 POLICY | RULE | TRIGGER ) exists:[ IF EXISTS ] this:name ON table:any_name [ behavior ]
drop_assertion = @gp6 DROP ASSERTION this:name [ behavior ]
drop_aggregate = DROP AGGREGATE exists:[ IF EXISTS ] ( @v10 aggregates:aggregate_ref,+ | aggregates:aggregate_ref ) [ behavior ]
drop_cast = DROP CAST exists:[ IF EXISTS ] cast:cast_ref [ behavior ]
drop_database = DROP DATABASE exists:[ IF EXISTS ] this:name [ @v13 [ WITH ] '(' options:force_word,+ ')' ]
force_word = FORCE
drop_function = DROP ( @v10 FUNCTION IF EXISTS functions:function_ref,+ | @gp6 FUNCTION IF EXISTS function:function_ref_one | @v10 PROCEDURE IF EXISTS functions:function_ref,+
    | @v10 ROUTINE IF EXISTS functions:function_ref,+ | @v10 FUNCTION functions:function_ref,+ | @gp6 FUNCTION function:function_ref_one
    | @v10 PROCEDURE functions:function_ref,+ | @v10 ROUTINE functions:function_ref,+ ) [ behavior ]
function_ref_one = this:function_name '(' args:func_arg,* ')'
drop_language = @v14 DROP [ PROCEDURAL ] LANGUAGE exists:[ IF EXISTS ] languages:name,+ [ behavior ]
    | DROP [ PROCEDURAL ] LANGUAGE exists:[ IF EXISTS ] this:language_name [ behavior ]
drop_operator = DROP OPERATOR ( CLASS | FAMILY ) exists:[ IF EXISTS ] class:any_name USING method:name [ behavior ]
    | DROP OPERATOR exists:[ IF EXISTS ] ( @v10 operators:operator_ref,+ | operators:operator_ref ) [ behavior ]
drop_owned = DROP OWNED BY roles:role,+ [ behavior ]
drop_resource = @gp DROP RESOURCE ( QUEUE | GROUP ) this:nonreserved
drop_role = DROP ( ROLE | USER | GROUP ) exists:[ IF EXISTS ] roles:role,+
drop_subscription = @v10 DROP SUBSCRIPTION exists:[ IF EXISTS ] this:name [ behavior ]
drop_tablespace = DROP TABLESPACE exists:[ IF EXISTS ] this:name
drop_transform = @v10 DROP TRANSFORM exists:[ IF EXISTS ] FOR kind:typename LANGUAGE language:name [ behavior ]
drop_user_mapping = DROP USER MAPPING exists:[ IF EXISTS ] FOR user:auth_ident SERVER server:name

truncate = TRUNCATE [ TABLE ] tables:relation,+ [ ( CONTINUE IDENTITY | RESTART IDENTITY ) ] [ behavior ]
comment_on = COMMENT ON ( @v10 TYPE kind:typename | @v10 DOMAIN kind:typename | AGGREGATE aggregate:aggregate_ref | FUNCTION function:function_ref | @v10 PROCEDURE function:function_ref
    | @v10 ROUTINE function:function_ref | OPERATOR CLASS class:any_name USING method:name | OPERATOR FAMILY class:any_name USING method:name | OPERATOR operator:operator_ref
    | @v10 CONSTRAINT name ON DOMAIN table:any_name | CONSTRAINT name ON table:any_name | @v10 POLICY name ON table:any_name | RULE name ON table:any_name | @gp6 RULE name
    | TRIGGER name ON table:any_name | @v10 TRANSFORM FOR kind:typename LANGUAGE name | LARGE OBJECT id:number | CAST cast:cast_ref
    | ( COLUMN | INDEX | SEQUENCE | @v10 STATISTICS | TABLE | VIEW | MATERIALIZED VIEW | COLLATION | CONVERSION | FOREIGN TABLE | TEXT SEARCH CONFIGURATION
    | TEXT SEARCH DICTIONARY | TEXT SEARCH PARSER | TEXT SEARCH TEMPLATE | @v19 PROPERTY GRAPH ) object:any_name
    | @v10 ( ACCESS METHOD | DATABASE | EVENT TRIGGER | EXTENSION | FOREIGN DATA WRAPPER | PROCEDURAL LANGUAGE | LANGUAGE | PUBLICATION | ROLE | SCHEMA | SERVER | SUBSCRIPTION
    | TABLESPACE ) name
    | @gp7 ( RESOURCE QUEUE | RESOURCE GROUP ) name
    | @gp6 ( DATABASE | EVENT TRIGGER | EXTENSION | FOREIGN DATA WRAPPER | PROCEDURAL LANGUAGE | LANGUAGE | ROLE | SCHEMA | SERVER | TABLESPACE | RESOURCE QUEUE | RESOURCE GROUP
    | TYPE | DOMAIN ) object:any_name
    ) IS ( NULL | text:string )
security_label = SECURITY LABEL [ FOR provider:word_or_string ] ON ( @v10 TYPE kind:typename | @v10 DOMAIN kind:typename | AGGREGATE aggregate:aggregate_ref
    | FUNCTION function:function_ref | @v10 PROCEDURE function:function_ref | @v10 ROUTINE function:function_ref | LARGE OBJECT id:number
    | ( COLUMN | FOREIGN TABLE | SEQUENCE | TABLE | VIEW | MATERIALIZED VIEW | @v19 PROPERTY GRAPH ) object:any_name
    | ( DATABASE | EVENT TRIGGER | PROCEDURAL LANGUAGE | LANGUAGE | @v10 PUBLICATION | ROLE | SCHEMA | @v10 SUBSCRIPTION | TABLESPACE ) name
    | @gp6 ( TYPE | DOMAIN ) object:any_name ) IS ( NULL | text:string )

grant = GRANT privileges ON target:privilege_target TO grantees:grantee,+ [ WITH GRANT OPTION ] [ @v14 GRANTED BY grantor:role ]
grant_role = GRANT roles:privilege,+ TO grantees:role,+ [ ( WITH ADMIN OPTION | @v16 WITH options:grant_option,+ ) ] [ GRANTED BY grantor:role ]
grant_option = this:label value:( OPTION | TRUE | FALSE )
revoke = REVOKE [ GRANT OPTION FOR ] privileges ON target:privilege_target FROM grantees:grantee,+ [ @v14 GRANTED BY grantor:role ] [ behavior ]
revoke_role = REVOKE [ ( ADMIN OPTION FOR | @v16 option:label OPTION FOR ) ] roles:privilege,+ FROM grantees:role,+ [ GRANTED BY grantor:role ] [ behavior ]
reassign_owned = REASSIGN OWNED BY roles:role,+ TO target:role

begin_work = ( BEGIN [ ( WORK | TRANSACTION ) ] | START TRANSACTION ) [ modes:transaction_modes ]
end_work = ( COMMIT PREPARED gid:string | ROLLBACK PREPARED gid:string | PREPARE TRANSACTION gid:string | ROLLBACK [ ( WORK | TRANSACTION ) ] TO SAVEPOINT savepoint:name | ROLLBACK [ ( WORK | TRANSACTION ) ] TO savepoint:name
    | ( COMMIT | END | ROLLBACK | ABORT ) [ ( WORK | TRANSACTION ) ] [ @v12 ( AND CHAIN | AND NO CHAIN ) ] )
savepoint = SAVEPOINT this:name | RELEASE SAVEPOINT this:name | RELEASE this:name
set_constraints = SET CONSTRAINTS ( ALL | names:table_name,+ ) ( DEFERRED | IMMEDIATE )
set_variable = SET item:set_any | SET scope:( LOCAL | SESSION ) item:set_any
reset_variable = RESET item:reset_item
show_variable = SHOW item:reset_item
discard = DISCARD what:( ALL | TEMPORARY | TEMP | PLANS | @v10 SEQUENCES | SEQUENCES )

analyze = ( ANALYZE | ANALYSE ) ( @!gp6 '(' options:explain_option,+ ')' [ targets:vacuum_target,+ ] | [ VERBOSE ] ( @gp ROOTPARTITION ALL | @gp6 ROOTPARTITION target:vacuum_target
    | @gp7 ROOTPARTITION targets:vacuum_target,+ | @gp6 FULLSCAN target:vacuum_target | @gp7 FULLSCAN targets:vacuum_target,+ | @gp6 target:vacuum_target
    | @!gp6 targets:vacuum_target,+ ) | [ VERBOSE ] )
vacuum = VACUUM '(' ( @gp6 words:vacuum_word,+ | @!gp6 options:explain_option,+ ) ')' [ ( @gp6 target:vacuum_target | targets:vacuum_target,+ ) ]
    | @gp6 VACUUM [ FULL ] [ FREEZE ] [ VERBOSE ] ( analyze:analyze | table:table_name )
    | @gp6 VACUUM [ FULL ] [ FREEZE ] [ VERBOSE ]
    | @!gp6 VACUUM [ FULL ] [ FREEZE ] [ VERBOSE ] [ ( ANALYZE | ANALYSE ) ] [ @gp7 AO_AUX_ONLY ] [ targets:vacuum_target,+ ]
cluster = @v17 CLUSTER '(' options:explain_option,+ ')' [ table:table_name [ USING using:name ] ]
    | @v14 CLUSTER '(' options:explain_option,+ ')' table:table_name [ USING using:name ]
    | CLUSTER [ VERBOSE ] ( index:name ON table:table_name | table:table_name [ USING using:name ] ) | CLUSTER [ VERBOSE ]
reindex = REINDEX [ ( @v14 '(' options:explain_option,+ ')' | @v10 '(' verbose:reindex_word,+ ')' ) ] ( ( INDEX | TABLE ) [ @v12 CONCURRENTLY ] this:table_name
    | @v16 ( SYSTEM | DATABASE ) [ CONCURRENTLY ] [ name ] | @v10 ( SCHEMA | SYSTEM | DATABASE ) [ @v12 CONCURRENTLY ] name | @gp6 ( SYSTEM | DATABASE ) name ) [ @gp6 FORCE ]
refresh = REFRESH MATERIALIZED VIEW [ CONCURRENTLY ] this:table_name [ ( WITH DATA | WITH NO DATA ) ]
repack = @v19 REPACK [ '(' options:explain_option,+ ')' ] ( target:vacuum_target [ USING INDEX [ index:name ] ] | USING INDEX )
    | @v19 REPACK [ '(' options:explain_option,+ ')' ]
checkpoint = @v19 CHECKPOINT '(' options:explain_option,+ ')' | CHECKPOINT
wait = @v19 WAIT FOR LSN position:string [ WITH '(' options:explain_option,+ ')' ]
load = LOAD this:string
lock = LOCK [ TABLE ] tables:relation,+ [ IN mode:lock_mode MODE ] [ NOWAIT ] [ ( @gp MASTER ONLY | @gp7 COORDINATOR ONLY ) ]
notify = NOTIFY this:name [ ',' payload:string ]
listen = LISTEN this:name
unlisten = UNLISTEN ( '*' | this:name )

copy = COPY '(' query:copy_query ')' TO target:copy_target ( [ WITH ] '(' options:copy_option,+ ')' | [ WITH ] words:copy_word* )
    | COPY [ BINARY ] this:table_name [ columns:name_list ] [ @gp6 WITH OIDS ] ( FROM | TO ) target:copy_target [ [ USING ] DELIMITERS delimiters:string ]
    ( [ WITH ] '(' options:copy_option,+ ')' | [ WITH ] words:copy_word* ) [ @v12 WHERE where:expr ] [ @gp errors:error_handling ] [ @gp6 IGNORE EXTERNAL PARTITIONS ]
do_block = DO parts:do_part+
do_part = body:string | LANGUAGE language:word_or_string
call_procedure = @v11 CALL this:call
prepare = PREPARE this:name [ types:type_list ] AS statement:statement_body
execute = EXECUTE this:name [ '(' args:expr,+ ')' ]
deallocate = DEALLOCATE PREPARE ALL | DEALLOCATE PREPARE this:name | DEALLOCATE ALL | DEALLOCATE this:name
declare_cursor = DECLARE this:name options:cursor_option* CURSOR [ hold:( WITH HOLD | WITHOUT HOLD ) ] FOR query:select
cursor_option = NO SCROLL | SCROLL | BINARY | INSENSITIVE | @gp PARALLEL RETRIEVE | @v14 ASENSITIVE
retrieve = @gp RETRIEVE ( ALL | count:signed_integer ) FROM ENDPOINT endpoint:name
fetch = ( FETCH | MOVE ) args:fetch_args
close_cursor = CLOSE ( ALL | this:name )
explain = EXPLAIN '(' options:explain_option,+ ')' statement:explainable
    | EXPLAIN ( ANALYZE | ANALYSE ) [ VERBOSE ] [ @gp DXL ] statement:explainable
    | EXPLAIN VERBOSE [ @gp DXL ] statement:explainable
    | EXPLAIN statement:explainable
import_foreign_schema = @v10 IMPORT FOREIGN SCHEMA this:name [ ( LIMIT TO | EXCEPT ) '(' tables:relation,+ ')' ] FROM SERVER server:name INTO schema:name [ options:generic_options ]
"""
