"""What was measured: the tables that the instruments fill and the scoring wing reads."""

from inquesto_core.evidence.tables import KEYS, TABLES, empty_table, make_table, sort_table

__all__ = ["KEYS", "TABLES", "empty_table", "make_table", "sort_table"]
