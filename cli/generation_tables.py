"""How generations are shown: Rich tables for people, plain values for programs."""

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from babelray.index.generations import Listed
from babelray.index.manifest import Manifest
from babelray.index.pointer import Pointer
from babelray.keys import ModelKey

_EVENTS_SHOWN = 10
_COLORS = {"current": "green", "damaged": "red", "unfinished": "yellow"}


def readable_bytes(count: int) -> str:
    """Bytes in the unit that keeps three digits or fewer: `17 kB`, `1.2 GB`."""
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.1f} {unit}" if unit != "B" and size < 10 else f"{size:.0f} {unit}"


def listed_json(one: Listed) -> dict[str, Any]:
    """One generation of the list, flat."""
    shown: dict[str, Any] = {
        "generation": one.generation,
        "current": one.current,
        "status": one.status,
        "pinned": one.pinned,
        "bytes": one.size,
    }
    if one.manifest is None:
        return {**shown, "problem": one.problem}
    manifest = one.manifest
    return {
        **shown,
        "created_at": manifest.created_at.isoformat(),
        "model_key": manifest.model_key.readable(),
        "model_key_digest": manifest.model_key.digest,
        "content_digest": manifest.content_digest,
        "documents": manifest.counts.documents,
        "chunks": manifest.counts.chunks,
        "sentences": manifest.counts.sentences,
        "vector_kind": manifest.vectors.kind,
        "recall": manifest.vectors.recall,
        "lowest_filtered_recall": min(manifest.vectors.filtered_recall.values(), default=None),
    }


def generation_table(listed: Sequence[Listed]) -> Table:
    """All generations of an index."""
    table = Table("generation", "status", "model", "documents", "chunks", "recall", "size", "created")
    for one in listed:
        color = _COLORS.get(one.status)
        status = (f"[{color}]{one.status}[/]" if color else one.status) + (", pinned" if one.pinned else "")
        if one.manifest is None:
            table.add_row(escape(one.generation), status, "", "", "", "", readable_bytes(one.size), "")
            continue
        manifest = one.manifest
        table.add_row(
            escape(one.generation),
            status,
            escape(_model(manifest.model_key)),
            f"{manifest.counts.documents:,}",
            f"{manifest.counts.chunks:,}",
            f"{manifest.vectors.recall:.3f}",
            readable_bytes(one.size),
            f"{manifest.created_at:%Y-%m-%d %H:%M}",
        )
    for column in (0, 1, 6):
        table.columns[column].no_wrap = True
    return table


def fact_table(manifest: Manifest) -> Table:
    """What a generation is, one fact a line."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in _facts(manifest).items():
        table.add_row(name, escape(value))
    return table


def segment_table(manifest: Manifest) -> Table:
    """The segments of a generation."""
    table = Table("segment", "documents", "chunks", "sentences", "files", "size", "content")
    for one in manifest.segments:
        counts = (one.documents, one.rows, one.sentences, len(one.files))
        table.add_row(
            escape(one.name), *(f"{count:,}" for count in counts), readable_bytes(one.size), one.content_digest[:12]
        )
    return table


def event_table(pointer: Pointer) -> Table:
    """The last moves of the pointer, newest first."""
    table = Table("at", "what", "generation", "before", "by", "reason", title="history of the index")
    for event in pointer.history[: -_EVENTS_SHOWN - 1 : -1]:
        cells = (event.action, event.generation, event.replaced or "", event.by, event.reason)
        table.add_row(f"{event.at:%Y-%m-%d %H:%M:%S}", *(escape(cell) for cell in cells))
    return table


def _facts(manifest: Manifest) -> dict[str, str]:
    vectors, counts = manifest.vectors, manifest.counts
    kind = f"{vectors.kind}, {vectors.nlist} lists" if vectors.nlist else vectors.kind
    filtered = ", ".join(f"{value:.3f} at {share:.1%}" for share, value in sorted(vectors.filtered_recall.items()))
    facts = {
        "content": manifest.content_digest,
        "created": f"{manifest.created_at:%Y-%m-%d %H:%M:%S %Z}",
        "parent": manifest.parent or "",
        "model": f"{manifest.model_key.readable()} ({manifest.model_key.digest})",
        "corpus": f"{manifest.corpus}, revision {manifest.corpus_revision}",
        "newest source": f"{manifest.source_high_water:%Y-%m-%d %H:%M:%S}" if manifest.source_high_water else "",
        "policies": f"chunks {manifest.policy_digest}, language {manifest.language_policy_version}, "
        f"words {manifest.analyzer_version}, glossary {manifest.glossary_version or 'none'}",
        "vectors": f"{kind}; recall@{vectors.recall_k} {vectors.recall:.3f} (floor {vectors.floor})",
        "recall filtered": filtered,
        "documents": f"{counts.documents:,}",
        "blocks": _tally(counts.blocks_by_kind),
        "chunks": f"{counts.chunks:,}, {counts.sentences:,} sentences, {counts.tokens:,} tokens",
        "languages": _tally(counts.chunks_by_language),
        "truncated": f"{counts.truncated:,}" if counts.truncated else "",
        "rejects": _tally(counts.rejects_by_reason),
        "without vector": _tally(counts.refused_by_reason),
        "quarantined": f"{counts.quarantined_units:,} units" if counts.quarantined_units else "",
        "size": readable_bytes(manifest.size),
        "built by run": manifest.run,
        "software": ", ".join(f"{name} {version}" for name, version in sorted(manifest.software.items())),
    }
    return {name: value for name, value in facts.items() if value}


def _tally(counts: dict[str, int]) -> str:
    """Counts by falling number."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{name} {count:,}" for name, count in ordered)


def _model(key: ModelKey) -> str:
    return f"{key.name} {key.revision} {key.dtype}"
