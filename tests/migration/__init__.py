"""Migrations run on live servers."""
