-- Names and sizes of the files of relations in one directory, as one text of records with content (-1), name and size. Fields are
-- separated by a slash, which no file name contains, and records by two. Existing files, regardless of the catalog. Some other files are
-- among them. Shared relations are in another directory. A file that was removed meanwhile is skipped too.
-- needs: superuser, or EXECUTE on pg_ls_dir(text) and pg_stat_file(text, boolean)
-- locks: none
-- cost: one directory listing and one stat per file; about 15 bytes of memory per file on the server
SELECT '-1/' || (
           SELECT pg_catalog.string_agg(file || '/' || (s).size, '//-1/')
             FROM (SELECT file, {stat_file}('{folder}/' || file, true) AS s
                     FROM {list_folder}('{folder}') file WHERE file < 'u' COLLATE pg_catalog."C") stated
            WHERE (s).size IS NOT NULL) AS records
