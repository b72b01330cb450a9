"""Real generations of a few documents, built once a process and planted where a test wants them."""

import tempfile
from functools import cache
from pathlib import Path

from babelray.index.digests import FileRecord
from babelray.index.layout import LAYOUT
from babelray.index.manifest import Manifest, content_digest, read_manifest, write_manifest
from babelray.index.store import open_store
from tests.index.generation_worlds import build


@cache
def _template() -> tuple[Manifest, dict[str, bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        root, work = Path(folder) / "store", Path(folder) / "work"
        work.mkdir()
        store = open_store(str(root))
        manifest = build(store, work, kind="flat", documents=16)
        records = [record for segment in manifest.segments for record in segment.files.values()]
        return manifest, {record.path: store.read_bytes(record.path) for record in records}


def template() -> Manifest:
    """The manifest that all planted generations copy."""
    return _template()[0]


def plant(root, names, **changes):
    """Put generations of these names into the index `main` of a store; returns the store."""
    store = open_store(str(root))
    manifest, files = _template()
    for name in names:
        segments = []
        for segment in manifest.segments:
            records = {}
            for relative, record in segment.files.items():
                path = record.path.replace("/generations/g1/", f"/generations/{name}/")
                target = store.local_path(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(files[record.path])
                records[relative] = FileRecord(path=path, size=record.size, sha256=record.sha256)
            segments.append(segment.model_copy(update={"files": records}))
        update = {"generation": name, "segments": tuple(segments), **changes}
        write_manifest(store, LAYOUT.index("main").generation(name), manifest.model_copy(update=update))
    return store


def planted(store, name) -> Manifest:
    """The manifest of a planted generation."""
    return read_manifest(store, LAYOUT.index("main").generation(name))


def digest(manifest, **changes):
    """The content digest that a manifest should have, with some of its values changed."""
    values = {
        "model_key": manifest.model_key,
        "policy_digest": manifest.policy_digest,
        "analyzer_version": manifest.analyzer_version,
        "corpus_revision": manifest.corpus_revision,
        "kind": manifest.vectors.kind,
        "segments": manifest.segments,
    }
    return content_digest(**{**values, **changes})
