"""What a backfill did, by locale pair: made from receipts, so it is the same however often the run was resumed."""

from collections import Counter

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.table import Table

from jobs.ledger import Outcome, Receipt, total


class PairSummary(BaseModel):
    """Totals of one locale pair.

    Attributes:
        enforced: Kind of match -> terms that were given.
        dead: Reason -> strings without a translation; without a translator there are none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    strings: int = 0
    translated: int = 0
    enforced: dict[str, int] = {}
    hints: int = 0
    contested: int = 0
    dead: dict[str, int] = {}


class BackfillSummary(BaseModel):
    """Totals of a run.

    Attributes:
        failed: Unit -> error of this invocation; running again tries them again.
        seconds: Wall seconds of this invocation by step, after Ray was up.
        stage_seconds: Seconds inside the stages, added up over workers and earlier invocations.
        cost: Of this run's requests, in the currency of the configured prices.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    name: str
    output: str
    glossaries: dict[str, int]
    translated: bool
    units: int
    localized_now: int = 0
    payloads: int = 0
    pairs: dict[str, PairSummary] = {}
    windows: int = 0
    distinct_windows: int = 0
    embedded_windows: int = 0
    rejects_by_reason: dict[str, int] = {}
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    quarantined: tuple[str, ...] = ()
    failed: dict[str, str] = {}
    unfinished: int = 0
    seconds: dict[str, float] = {}
    stage_seconds: dict[str, float] = {}

    @property
    def dead_letters(self) -> int:
        """Strings without a translation, over all pairs."""
        return sum(sum(one.dead.values()) for one in self.pairs.values())


def summarize(stages: dict[str, dict[str, Receipt]]) -> dict[str, object]:
    """Fields of a summary that come from receipts.

    Args:
        stages: Stage -> unit -> receipt.
    """
    localized, rejects = total(stages["localize"].values())
    windows, _ = total(stages["windows"].values())
    hints, _ = total(stages["hints"].values())
    seconds: Counter[str] = Counter()
    for receipts in stages.values():
        for receipt in receipts.values():
            seconds.update(receipt.seconds)
    return {
        "payloads": localized["payloads"],
        "pairs": _pairs(localized),
        "windows": windows["occurrences"],
        "distinct_windows": hints["distinct_windows"],
        "embedded_windows": hints["embedded"],
        "rejects_by_reason": dict(rejects),
        "requests": localized["requests"],
        "tokens_in": localized["tokens_in"],
        "tokens_out": localized["tokens_out"],
        "cost": sum(float(one.details.get("cost", 0.0)) for one in stages["localize"].values()),
        "quarantined": tuple(
            sorted(
                f"{stage} {unit}"
                for stage, receipts in stages.items()
                for unit, one in receipts.items()
                if one.outcome is Outcome.QUARANTINED
            )
        ),
        "stage_seconds": {name: round(value, 3) for name, value in seconds.items()},
    }


def _pairs(counts: Counter[str]) -> dict[str, PairSummary]:
    """Counts such as `en>es enforced exact`, by pair."""
    plain: dict[str, dict[str, int]] = {}
    below: dict[str, dict[str, dict[str, int]]] = {}
    for name, value in sorted(counts.items()):
        pair, _, rest = name.partition(" ")
        if not rest:
            continue
        kind, _, detail = rest.partition(" ")
        if detail:
            below.setdefault(pair, {}).setdefault(kind, {})[detail] = value
        else:
            plain.setdefault(pair, {})[kind] = value
    return {pair: PairSummary.model_validate(plain[pair] | below.get(pair, {})) for pair in plain}


def show_backfill(console: Console, summary: BackfillSummary) -> None:
    """The totals of a run as two tables."""
    table = Table("pair", "strings", "translated", "terms enforced", "hints", "contested", "dead letters")
    for pair, one in summary.pairs.items():
        table.add_row(
            pair,
            f"{one.strings:,}",
            f"{one.translated:,}",
            _listed(one.enforced),
            f"{one.hints:,}",
            f"{one.contested:,}",
            _listed(one.dead) if summary.translated else "no translator",
        )
    console.print(table)
    rows = [
        ("payloads", f"{summary.payloads:,}; rejected: {_listed(summary.rejects_by_reason) or 'none'}"),
        ("glossaries", ", ".join(f"{name} version {version}" for name, version in summary.glossaries.items())),
        (
            "windows",
            f"{summary.windows:,} not covered by a term, {summary.distinct_windows:,} different, "
            f"{summary.embedded_windows:,} embedded",
        ),
        (
            "translation",
            f"{summary.requests:,} requests, {summary.tokens_in:,} + {summary.tokens_out:,} tokens, "
            f"cost {summary.cost:.4f}",
        ),
        (
            "units",
            f"{summary.units:,}: {summary.localized_now:,} localized now; {len(summary.quarantined)} quarantined",
        ),
        ("seconds", ", ".join(f"{name} {value:.1f}" for name, value in summary.seconds.items())),
        ("output", summary.output),
    ]
    below = Table(show_header=False, title=f"backfill {summary.name}, run {summary.run}", title_justify="left")
    below.add_column(style="bold")
    below.add_column(overflow="fold")
    for name, value in rows:
        below.add_row(name, value)
    console.print(below)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
