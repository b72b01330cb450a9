"""What may leave for a service: whether any text may, and which parts of it stay here."""

from collections.abc import Sequence

from babelray.config import DataBoundary, Redaction
from babelray.errors import AccessDenied


def find_private(text: str, rules: Sequence[Redaction]) -> list[tuple[int, int, str]]:
    """Start, end and rule name of everything that must not leave, each rule applied to the whole text.

    The spans may overlap. `babelray.glossary.marks` replaces them, puts them back and says which were lost.
    """
    return sorted(
        (match.start(), match.end(), rule.name)
        for rule in rules
        for match in rule.pattern.finditer(text)
        if match.end() > match.start()
    )


def check_service(boundary: DataBoundary, service: str, whose: str) -> None:
    """Refuse an external service that text may not go to.

    Args:
        boundary: What text may leave, and to whom.
        service: Name of the service.
        whose: Tenant or profile that the text belongs to, for the message.

    Raises:
        AccessDenied: The service is not among the boundary's.
    """
    if service not in boundary.services:
        raise AccessDenied(
            "text may not go to the service",
            where=whose,
            got=service,
            allowed=", ".join(boundary.services) or "no external service",
            fix="name the service in the boundary if its operator may see this text",
        )
