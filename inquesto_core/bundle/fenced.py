"""JSON that a language model wrote, with the Markdown fence it likes to put around it.

One fence around the whole is taken off, and nothing else is mended: prose before it, a second
object behind it or a missing brace stay what they are, and are refused by the reader.
"""

from __future__ import annotations

import re

__all__ = ["without_fence"]

_FENCED = re.compile(rb"\s*```[A-Za-z0-9_+-]*[ \t]*\r?\n(?P<body>.*)\n[ \t]*```\s*", re.DOTALL)


def without_fence(data: bytes) -> bytes:
    r"""Return what stands inside one surrounding fence, or the data as they are.

    >>> without_fence(b'```json\n{"verdict": true}\n```\n')
    b'{"verdict": true}'
    """
    found = _FENCED.fullmatch(data)
    return data if found is None else found["body"]
