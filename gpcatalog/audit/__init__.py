"""The summary of a snapshot: what the audit reports, before the rules are applied."""
