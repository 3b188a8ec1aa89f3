"""Write down what every shipped protocol says now, so that the drift test holds it.

Run from the project folder after a change that is meant, and read the diff before committing it::

    PYTHONPATH=. python tests/protocol/accept_drift.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from inquesto_core.canonical import pretty_bytes
from inquesto_core.protocol.difference import leaf_values
from inquesto_core.protocol.load import protocol_names
from inquesto_core.shipped import protocols_folder


def main(into: Path) -> None:
    """Write one file a protocol into that folder: pointer to value text, sorted."""
    for name in protocol_names():
        values = leaf_values(protocols_folder() / name)
        (into / f"{name}.json").write_bytes(pretty_bytes(dict(sorted(values.items()))))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "drift")
