"""One call of one translator: may the text go there, is the translator well, what of it must not leave."""

from collections.abc import Sequence
from dataclasses import dataclass

from babelray.config import DataBoundary
from babelray.errors import UpstreamError
from babelray.glossary.marks import Masked, mark_spans, mask, unmask
from babelray.glossary.redaction import check_service, find_private
from babelray.keys import digest_of
from babelray.protocols import Translator
from models.translators.circuit import CircuitBreaker

# Far above what masking a text can use, and far below what a mark can number.
_LATER_MARKS = 100_000


def boundary_digest(boundary: DataBoundary) -> str:
    """Digest of what a boundary allows and hides."""
    rules = [[rule.name, rule.pattern.pattern, rule.pattern.flags] for rule in boundary.redactions]
    return digest_of([boundary.services, rules])


@dataclass(frozen=True, slots=True)
class Step:
    """A translator for the texts of one tenant."""

    translator: Translator
    breaker: CircuitBreaker
    boundary: DataBoundary
    tenant_id: str
    domain: str

    def take(self, texts: Sequence[str], source: str, target: str) -> list[str | None]:
        """Translate texts that hold marks already.

        Raises:
            AccessDenied: The translator is an external service and the boundary does not name it; nothing was sent.
            UpstreamError: It failed, or has failed so often that it is left alone for now.
        """
        if not texts:
            return []
        translator = self.translator
        if not translator.external:
            return self._call(texts, source, target)
        check_service(self.boundary, translator.name, f"tenant {self.tenant_id}")
        # An earlier step may have put into words what a rule forbids only in this language.
        hidden = [self._hide(text) for text in texts]
        answers = self._call([one.text for one in hidden], source, target)
        return [None if answer is None else _shown(answer, one) for answer, one in zip(answers, hidden, strict=True)]

    def _hide(self, text: str) -> Masked:
        marks = mark_spans(text)
        private = [
            (*_widened(start, end, marks), name)
            for start, end, name in find_private(text, self.boundary.redactions)
            if not any(mark[0] <= start and end <= mark[1] for mark in marks)
        ]
        return mask(text, private=private, first=_LATER_MARKS)

    def _call(self, texts: Sequence[str], source: str, target: str) -> list[str | None]:
        if not self.breaker.allows():
            raise UpstreamError(
                "the translator has failed several times in a row and is left alone for a while",
                where=f"translator {self.translator.name}",
                fix="see that it runs; it is tried again by itself",
            )
        try:
            answers = self.translator.translate(texts, source, target, tenant_id=self.tenant_id, domain=self.domain)
        except UpstreamError:
            self.breaker.failed()
            raise
        except BaseException:
            self.breaker.abandoned()
            raise
        self.breaker.succeeded()
        return answers


def _widened(start: int, end: int, marks: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """A span that cuts through marks, so that it holds them whole."""
    touched = [mark for mark in marks if mark[0] < end and start < mark[1]]
    return min(start, *(mark[0] for mark in touched), start), max(end, *(mark[1] for mark in touched), end)


def _shown(answer: str, hidden: Masked) -> str:
    """The answer with what was hidden back in its place.

    A mark that was lost leaves no trace in the text, so another takes its place that the caller finds nobody put in.
    """
    back = unmask(answer, hidden)
    lost = "".join(f" XQ{hidden.first + number}Z" for number in back.damaged)
    return back.text + lost
