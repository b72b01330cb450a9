"""What a run did, in numbers: made from receipts, so it is the same whoever asks and however often it was resumed."""

from collections import Counter
from typing import Any

from pydantic import BaseModel, ConfigDict

from babelray.index.manifest import Counts
from jobs.ledger import Outcome, Receipt, total


class Summary(BaseModel):
    """Totals of a run.

    Attributes:
        failed: Unit -> error of this invocation; running again tries them again.
        unfinished: Units that ended without an error and without a result: not reached, or lost with their workers.
        seconds: Wall seconds of this invocation by step, after Ray was up.
        stage_seconds: Seconds inside the stages, added up over workers and earlier invocations.
        computed_tokens: Tokens that this invocation embedded, not those of reused shards.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    generation: str
    index: str
    model: str
    published: bool = False
    already_built: bool = False
    documents: int = 0
    chunks: int = 0
    sentences: int = 0
    blocks_by_kind: dict[str, int] = {}
    chunks_by_language: dict[str, int] = {}
    low_confidence_blocks: int = 0
    code_switching_blocks: int = 0
    rejects_by_reason: dict[str, int] = {}
    refused_by_reason: dict[str, int] = {}
    texts: int = 0
    distinct_texts: int = 0
    tokens: int = 0
    padding_waste: float = 0.0
    truncated: int = 0
    units: int = 0
    prepared_now: int = 0
    embedded_now: int = 0
    computed_tokens: int = 0
    quarantined: tuple[str, ...] = ()
    failed: dict[str, str] = {}
    unfinished: int = 0
    segments: int = 0
    index_bytes: int = 0
    recall: float | None = None
    filtered_recall: dict[float, float] = {}
    seconds: dict[str, float] = {}
    stage_seconds: dict[str, float] = {}

    @property
    def tokens_a_second(self) -> float:
        """Tokens embedded in this invocation over its wall time after Ray was up."""
        spent = self.seconds.get("total", 0.0)
        return self.computed_tokens / spent if spent else 0.0


def totals(prepare: dict[str, Receipt], embed: dict[str, Receipt]) -> dict[str, Any]:
    """Fields of a summary that come from receipts."""
    prepared, rejects = total(prepare.values())
    embedded, _ = total(embed.values())
    seconds: Counter[str] = Counter()
    for receipt in [*prepare.values(), *embed.values()]:
        seconds.update(receipt.seconds)
    quarantined = {
        unit for group in (prepare, embed) for unit, one in group.items() if one.outcome is Outcome.QUARANTINED
    }
    computed = embedded["padded_tokens"]
    return {
        "documents": prepared["documents"],
        "chunks": prepared["chunks"],
        "sentences": prepared["sentences"],
        "blocks_by_kind": _below("blocks.", prepared),
        "chunks_by_language": _below("chunks.", prepared),
        "low_confidence_blocks": prepared["blocks_low_confidence"],
        "code_switching_blocks": prepared["blocks_code_switching"],
        "rejects_by_reason": dict(rejects),
        "refused_by_reason": _below("refused.", embedded),
        "texts": embedded["texts"],
        "distinct_texts": embedded["distinct_texts"],
        "tokens": embedded["tokens"],
        "padding_waste": 1.0 - embedded["tokens"] / computed if computed else 0.0,
        "truncated": embedded["truncated"],
        "quarantined": tuple(sorted(quarantined)),
        "stage_seconds": {name: round(value, 3) for name, value in seconds.items()},
    }


def manifest_counts(prepare: dict[str, Receipt], embed: dict[str, Receipt], quarantined: int) -> Counts:
    """The counts that a manifest holds, over the units that are in the generation.

    Args:
        prepare: Of units that ended well.
        embed: Of the units in the generation.
        quarantined: Units of the run that were given up, in whichever stage.
    """
    values = totals({unit: prepare[unit] for unit in embed}, embed)
    _, rejects = total(prepare.values())
    return Counts(
        documents=values["documents"],
        blocks_by_kind=values["blocks_by_kind"],
        chunks=values["chunks"],
        sentences=values["sentences"],
        chunks_by_language=values["chunks_by_language"],
        tokens=values["tokens"],
        truncated=values["truncated"],
        rejects_by_reason=dict(rejects),
        refused_by_reason=values["refused_by_reason"],
        quarantined_units=quarantined,
    )


def _below(prefix: str, counts: Counter[str]) -> dict[str, int]:
    found = {name.removeprefix(prefix): value for name, value in counts.items() if name.startswith(prefix)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
