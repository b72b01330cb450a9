"""Draws the trace of a search in the terminal: plan, stages as bars, channels side by side, candidates."""

from collections.abc import Sequence

from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from babelray.retrieval.plan import Variant
from babelray.retrieval.trace import CandidateTrace, StageTrace, Trace

BAR = 40
"""Characters of the longest bar."""
SHOWN = 10
"""Ranks shown of each channel."""
CANDIDATES = 40
"""Rows of the candidate table."""


def print_trace(console: Console, trace: Trace) -> None:
    """Draw a trace.

    Args:
        console: Where to.
        trace: Of a request with `explain`.
    """
    console.print()
    console.print(_plan(trace))
    console.print(_stages(trace.stages))
    console.print(_channels(trace))
    console.print(_candidates(trace.candidates))


def _plan(trace: Trace) -> Group:
    analysis = trace.plan.analysis
    languages = ", ".join(f"{one.language} {one.probability:.2f}" for one in analysis.candidates)
    scripts = ", ".join(f"{name} {share:.2f}" for name, share in sorted(analysis.scripts.items()))
    anchors = ", ".join(f"{one.value} ({one.type})" for one in analysis.anchors if one.must_preserve)
    lines = [
        f"[bold]Query[/]  {escape(analysis.text)}",
        f"languages {escape(languages or 'none')}; scripts {escape(scripts or 'none')}",
        f"types {escape(', '.join(analysis.types) or 'none')}; anchors {escape(anchors or 'none')}",
    ]
    if analysis.suspicions:
        lines.append("[yellow]suspicious: " + escape(", ".join(one.kind for one in analysis.suspicions)) + "[/]")
    table = Table(title="Variants", title_justify="left", box=None, pad_edge=False)
    for column in ("variant", "purpose", "language", "source", "text", "verdict"):
        table.add_column(column, overflow="fold")
    for one in trace.plan.variants:
        table.add_row(one.variant_id, one.purpose, one.language, one.source, escape(one.text), _verdict(one))
    return Group(*(Text.from_markup(line) for line in lines), Text(), table)


def _verdict(variant: Variant) -> str:
    if variant.accepted:
        return "searched"
    problems = (f"{one.kind}: {one.expected or 'nothing'} -> {one.got or 'nothing'}" for one in variant.problems)
    return "[red]" + escape("; ".join(problems)) + "[/]"


def _stages(stages: Sequence[StageTrace]) -> Table:
    """A bar a stage, from when it began to when it ended."""
    table = Table(title="Stages", title_justify="left", box=None, pad_edge=False)
    table.add_column("stage")
    table.add_column("ms", justify="right")
    table.add_column("out", justify="right")
    table.add_column("when")
    end = max((one.start_ms + one.milliseconds for one in stages), default=0.0) or 1.0
    for one in stages:
        before = round(one.start_ms / end * BAR)
        width = max(round(one.milliseconds / end * BAR), 1)
        table.add_row(one.name, f"{one.milliseconds:.1f}", str(one.count or ""), " " * before + "█" * width)
    return table


def _channels(trace: Trace) -> Table:
    """The first ranks of each channel, side by side."""
    table = Table(title="Channels", title_justify="left", pad_edge=False)
    table.add_column("#", justify="right")
    ranked: dict[str, dict[int, CandidateTrace]] = {}
    for candidate in trace.candidates:
        for channel, place in candidate.channels.items():
            ranked.setdefault(channel, {})[place.rank] = candidate
    shown = [channel for channel in trace.channel_counts if ranked.get(channel)]
    for channel in shown:
        weight = trace.plan.weights.get(channel, 1.0)
        table.add_column(f"{channel} ({trace.channel_counts[channel]}) x{weight:g}", overflow="fold")
    for rank in range(1, SHOWN + 1):
        if not any(rank in ranked[channel] for channel in shown):
            break
        cells = [_cell(ranked[channel].get(rank), channel) for channel in shown]
        table.add_row(str(rank), *cells)
    return table


def _cell(candidate: CandidateTrace | None, channel: str) -> str:
    if candidate is None:
        return ""
    score = candidate.channels[channel].score
    name = escape(candidate.source_uri)
    return f"{name} [dim]{candidate.language} {score:.3f}[/]"


def _candidates(candidates: Sequence[CandidateTrace]) -> Table:
    more = f", first {CANDIDATES} of {len(candidates)}" if len(candidates) > CANDIDATES else ""
    table = Table(title=f"Candidates{more}", title_justify="left", box=None, pad_edge=False)
    for column in ("fused", "again", "score", "document", "language", "channels", "anchors", "fate"):
        table.add_column(column, overflow="fold", justify="right" if column in ("fused", "again", "score") else "left")
    for one in candidates[:CANDIDATES]:
        channels = " ".join(f"{name}#{place.rank}" for name, place in one.channels.items())
        fate = f"[dim]{escape(one.removed_reason)}[/]" if one.removed_reason else "[green]in the answer[/]"
        table.add_row(
            str(one.fused_rank),
            str(one.rerank_rank or ""),
            f"{one.fused_score:.4f}",
            escape(one.source_uri),
            one.language,
            channels,
            escape(" ".join(one.anchors)),
            fate,
        )
    return table
