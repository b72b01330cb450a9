"""Puts the response and its trace together."""

from collections.abc import Sequence
from dataclasses import dataclass

from babelray.index.reader import OpenGeneration
from babelray.retrieval.candidates import NO_PASSAGE, Candidate, trace_of, without
from babelray.retrieval.degradation import Degradation
from babelray.retrieval.passages import Draft, places
from babelray.retrieval.plan import QueryPlan
from babelray.retrieval.request import Passage, Request, Response, Status
from babelray.retrieval.searching import Union
from babelray.retrieval.trace import DegradationTrace, StageClock, Trace
from babelray.retrieval.wordings import Wordings


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request.

    Attributes:
        plan: What was searched.
        wordings: How the query was understood.
        union: What the channels found.
        ordered: Candidates after the second look.
        drafts: What was cut of them.
        passages: The drafts, cited.
        degraded: What was done without.
    """

    plan: QueryPlan
    wordings: Wordings
    union: Union
    ordered: Sequence[Candidate]
    drafts: Sequence[Draft]
    passages: Sequence[Passage]
    degraded: Sequence[Degradation]


def build_response(
    generation: OpenGeneration, request_id: str, request: Request, outcome: Outcome, clock: StageClock
) -> Response:
    """The response to a request.

    Args:
        generation: What was searched.
        request_id: Names the request.
        request: What was asked.
        outcome: What became of it.
        clock: Times of the stages.
    """
    plan, union, passages = outcome.plan, outcome.union, outcome.passages
    status = Status.OK if passages else Status.NO_EVIDENCE
    if outcome.wordings.unclear:
        status = Status.NEEDS_CLARIFICATION
    missing = tuple(
        DegradationTrace(reason=str(one.reason), fallback=one.fallback, detail=one.detail)
        for one in dict.fromkeys(outcome.degraded)
    )
    trace = None
    if request.explain:
        again = {one.place: one for one in outcome.ordered}
        told = without((again.get(one.place, one) for one in union.candidates), places(outcome.drafts), NO_PASSAGE)
        trace = Trace(
            request_id=request_id,
            plan=plan,
            stages=clock.stages(),
            channel_counts={str(channel): len(hits) for channel, hits in union.found.items()},
            union=len({hit.place for hits in union.found.values() for hit in hits}),
            candidates=trace_of(generation, told),
            degraded=missing,
        )
    return Response(
        request_id=request_id,
        status=status,
        index=plan.index,
        generation=plan.generation,
        model_key=generation.key.readable(),
        access_revision=plan.access_revision,
        analysis=plan.analysis,
        answer_language=plan.answer_language,
        interface_locale=plan.interface_locale,
        evidence_languages=tuple(dict.fromkeys(one.citation.source_language for one in passages)),
        passages=tuple(passages),
        clarifications=outcome.wordings.clarifications,
        degraded=missing,
        trace=trace,
    )
