"""What a running job shows: a Rich bar on a terminal, plain lines elsewhere, nothing when silent."""

import time
from collections import Counter
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from jobs.backfill_summary import BackfillSummary, show_backfill
from jobs.summary import Summary

_LINE_EVERY = 15.0
"""Seconds between plain lines: enough to see that a job lives, few enough for a log."""


@dataclass
class Progress:
    """Told of every step and unit.

    Attributes:
        console: Where it prints; `None` prints nothing.
    """

    console: Console | None
    _bar: Bar | None = None
    _began: float = 0.0
    _last_line: float = 0.0
    _tokens: int = 0
    _total: int = 0
    _before: int = 0
    _outcomes: Counter[str] = field(default_factory=Counter)

    @classmethod
    def silent(cls) -> "Progress":
        """Prints nothing."""
        return cls(None)

    def step(self, what: str) -> None:
        """A step begins that has no units to count."""
        self.note(f"{what} ...")

    def note(self, text: str) -> None:
        """One line that stays."""
        if self.console is not None:
            self.console.print(text, highlight=False, markup=False)

    def start(self, total: int, done: int) -> None:
        """Units will be counted from here."""
        self._total, self._before = total, done
        self._began = self._last_line = time.monotonic()
        self._outcomes = Counter({"done": done})
        if self.console is None:
            return
        if done:
            self.note(f"{done} of {total} units are done already")
        if self.console.is_terminal:
            self._bar = Bar(
                TextColumn("prepare + embed"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("units  {task.fields[rate]:,.0f} tokens/s"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=self.console,
            )
            self._bar.start()
            self._bar.add_task("units", total=total, completed=done, rate=0.0)

    def unit(self, name: str, outcome: str, tokens: int) -> None:
        """A unit ended."""
        self._outcomes[outcome] += 1
        self._tokens += tokens if outcome == "done" else 0
        rate = self._tokens / max(time.monotonic() - self._began, 1e-3)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=1, rate=rate)
        elif self.console is not None and time.monotonic() - self._last_line > _LINE_EVERY:
            self._last_line = time.monotonic()
            ended = sum(self._outcomes.values())
            left = (self._total - ended) * (self._last_line - self._began) / max(ended - self._before, 1)
            self.note(f"{ended} of {self._total} units, {rate:,.0f} tokens/s, about {left:,.0f} s left")

    def stop(self) -> None:
        """No more units."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def finish(self, summary: Summary) -> None:
        """A reindex is over; its numbers are shown also when it ends with an error."""
        if self.console is not None:
            show_summary(self.console, summary)

    def show(self, summary: BackfillSummary) -> None:
        """A backfill is over."""
        if self.console is not None:
            show_backfill(self.console, summary)


def show_summary(console: Console, summary: Summary) -> None:
    """The totals of a run as a table."""
    table = Table(
        show_header=False, title=f"generation {summary.generation} of index {summary.index}", title_justify="left"
    )
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _lines(summary):
        table.add_row(name, value)
    console.print(table)


def _lines(summary: Summary) -> list[tuple[str, str]]:
    quality = "" if summary.recall is None else f"{summary.recall:.3f} without a filter"
    for share, recall in sorted(summary.filtered_recall.items(), reverse=True):
        quality += f", {recall:.3f} at {share:.1%} of rows allowed"
    state = "published" if summary.published else f"not published: babelray generations publish {summary.generation}"
    return [
        ("model", summary.model),
        ("documents", f"{summary.documents:,}"),
        ("blocks", _listed(summary.blocks_by_kind)),
        ("chunks", f"{summary.chunks:,}: {_listed(summary.chunks_by_language)}"),
        ("sentences", f"{summary.sentences:,}"),
        (
            "language",
            f"{summary.low_confidence_blocks:,} blocks uncertain, {summary.code_switching_blocks:,} mix languages",
        ),
        ("rejected records", _listed(summary.rejects_by_reason) or "none"),
        ("texts without vector", _listed(summary.refused_by_reason) or "none"),
        (
            "tokens",
            f"{summary.tokens:,} in {summary.distinct_texts:,} distinct texts of {summary.texts:,}; "
            f"padding waste {summary.padding_waste:.1%}, truncated texts {summary.truncated:,}",
        ),
        (
            "units",
            f"{summary.units:,}: {summary.prepared_now:,} prepared and {summary.embedded_now:,} embedded now, "
            f"the others were there; {len(summary.quarantined)} quarantined",
        ),
        ("index", f"{summary.segments} segments, {summary.index_bytes / 2**20:,.1f} MiB"),
        ("recall", quality),
        ("seconds", ", ".join(f"{name} {value:.1f}" for name, value in summary.seconds.items())),
        (
            "tokens/s",
            f"{summary.tokens_a_second:,.0f} over the whole job" if summary.computed_tokens else "nothing embedded",
        ),
        ("state", f"{'was built before, ' if summary.already_built else ''}{state}"),
    ]


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
