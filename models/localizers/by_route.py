"""The translators of a profile's routes, tried in order: what one cannot do, the next may."""

from collections.abc import Mapping, Sequence

from babelray.glossary.profile import EngineProfile
from babelray.glossary.records import Failure
from babelray.glossary.translating import Bound, BoundTranslator, Rendered, Spent, damages, failed
from babelray.keys import digest_of


class RoutedTranslator:
    """A `BoundTranslator` that asks others.

    Args:
        translators: By name.
        profile: Its routes say who is asked for a pair, and in which order; without a route, all that know the pair.
    """

    name = "routes"

    def __init__(self, translators: Mapping[str, BoundTranslator], profile: EngineProfile) -> None:
        self._translators = dict(translators)
        self._profile = profile
        self.external = any(one.external for one in translators.values())
        self.version = digest_of(
            [[name, one.version] for name, one in translators.items()]
            + [[route.source, route.target, *route.translators] for route in profile.routes]
        )

    @property
    def spent(self) -> Spent:
        """By all of them."""
        total = Spent()
        for one in self._translators.values():
            total.add(one.spent)
        return total

    def can(self, source: str, target: str) -> bool:
        """Whether one that may be asked knows the pair."""
        return bool(self._asked(source, target))

    def translate(self, strings: Sequence[Bound], source: str, target: str, *, tenant_id: str) -> list[Rendered]:
        """The first good result of each string, else the last failure."""
        results = failed(strings, Failure.NO_TRANSLATOR, f"no translator knows {source}>{target}")
        left = list(range(len(strings)))
        for translator in self._asked(source, target):
            answers = translator.translate([strings[n] for n in left], source, target, tenant_id=tenant_id)
            for number, answer in zip(left, answers, strict=True):
                results[number] = answer
            left = [n for n in left if results[n].output is None or damages(strings[n], results[n])]
            if not left:
                break
        return results

    def _asked(self, source: str, target: str) -> list[BoundTranslator]:
        wanted = self._profile.translators_for(source, target) or tuple(self._translators)
        return [self._translators[name] for name in wanted if self._translators[name].can(source, target)]
