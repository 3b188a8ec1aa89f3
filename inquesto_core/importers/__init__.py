"""A platform's export to call bundles: one file a platform, one registry.

An importer says what an export says and no more. What it had to infer stands in the bundle with
how; what cannot be told from the export is refused with the option that settles it, or makes what
rests on it not evaluated. Nothing is fetched.
"""

from __future__ import annotations

from inquesto_core.importers.draft import ImportOptions
from inquesto_core.importers.registry import platform_names
from inquesto_core.importers.rules import ScenarioRule, scenario_rules
from inquesto_core.importers.run import Imported, import_exports
from inquesto_core.importers.setting import import_options

__all__ = [
    "ImportOptions",
    "Imported",
    "ScenarioRule",
    "import_exports",
    "import_options",
    "platform_names",
    "scenario_rules",
]
