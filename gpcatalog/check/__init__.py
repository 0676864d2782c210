"""`gpcatalog check`: read files of DDL, compute the effects of their statements, apply the
rules.
"""
