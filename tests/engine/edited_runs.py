"""Run folders that a test changed, with a manifest that says so."""

from __future__ import annotations

import json

from inquesto_core.canonical import digest_bytes


def as_written(run):
    """Let the manifest of a changed run tell the files that lie there now; return the run."""
    file = run / "manifest.json"
    manifest = json.loads(file.read_bytes())
    names = {each["file"] for each in manifest["outputs"] if not each["file"].startswith("record")}
    files = [*run.glob("record.json"), *run.glob("records/*.json")]
    files += [run / name for name in sorted(names) if (run / name).is_file()]
    manifest["outputs"] = [
        {"file": path.relative_to(run).as_posix(), "sha256": digest_bytes(path.read_bytes())}
        for path in files
    ]
    file.write_text(json.dumps(manifest), encoding="utf-8")
    return run
