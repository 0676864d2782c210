"""Migrations that run on live servers."""
