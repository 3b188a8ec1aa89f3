"""Where things lie: a folder of this machine, or a prefix of a bucket that the user allowed.

A remote location exists only where its scheme was allowed by name (`locate`); none is ever taken
from inside a bundle, manifest or run. What is written is whole or not there. One module, imported
only for an allowed location, opens remote filesystems: `inquesto_core.places.filesystem`.
"""

from __future__ import annotations

from inquesto_core.places.copying import fetch_folder, publish_folder, require_room
from inquesto_core.places.files import read_file_bytes
from inquesto_core.places.local import LocalPlace
from inquesto_core.places.locate import SCHEMES, allowed_schemes, is_uri, locate, shown
from inquesto_core.places.outputs import refuse_inside, require_own, write_text
from inquesto_core.places.place import Location, Place, place_of, read_each, remove_each
from inquesto_core.places.remote import RemotePlace

__all__ = [
    "SCHEMES",
    "LocalPlace",
    "Location",
    "Place",
    "RemotePlace",
    "allowed_schemes",
    "fetch_folder",
    "is_uri",
    "locate",
    "place_of",
    "publish_folder",
    "read_each",
    "read_file_bytes",
    "refuse_inside",
    "remove_each",
    "require_own",
    "require_room",
    "shown",
    "write_text",
]
