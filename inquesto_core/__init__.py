"""Score recorded voice-agent calls, offline and reproducibly, under the Inquesto Score protocol.

Each command is a function of the same name and options: ``inquesto_core.score(["calls"],
out="RUN")``. They are loaded when first asked for. Three share their name with the room that they
draw on (`inquesto_core.score`, `.compare`, `.report`): those packages can be called, too.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

#: Where each function lies.
_FUNCTIONS = {
    "compare": "inquesto_core.engine",
    "import_exports": "inquesto_core.importers",
    "leaderboard": "inquesto_core.engine",
    "redact": "inquesto_core.engine",
    "report": "inquesto_core.engine",
    "rescore": "inquesto_core.engine",
    "sample": "inquesto_core.engine",
    "score": "inquesto_core.engine",
    "seal": "inquesto_core.engine",
    "validate": "inquesto_core.engine",
    "verify": "inquesto_core.engine",
}
_ROOMS = ("compare", "report", "score")


class _CallableRoom(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _function(self.__name__.rpartition(".")[2])(*args, **kwargs)


def callable_room(package: str) -> None:
    """Make a package of this one callable: it is then also the function of its name."""
    sys.modules[package].__class__ = _CallableRoom


def _function(name: str) -> Any:
    return getattr(importlib.import_module(_FUNCTIONS[name]), name)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _FUNCTIONS:
        return _function(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FUNCTIONS})
