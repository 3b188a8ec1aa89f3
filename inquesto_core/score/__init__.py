"""From evidence to a score: pass rule, accounting, rates, views, record and citation line."""
