"""`gpcatalog check`: files of DDL are read, their effects weighed and judged by rules."""
