"""Which terms a locale may use: BCP 47 tags compared by language, then script, then region."""

from functools import cache

from langcodes import Language
from langcodes.tag_parser import LanguageTagError

from babelray.errors import InputError

ANY = "*"
"""Target locale of a term that holds for every target."""


@cache
def serves(term_locale: str, wanted: str) -> int | None:
    """How specific a term's locale is to a wanted one: 0 for `*`, up to 3; `None` if the term is not for it.

    A term of `pt` serves `pt-BR`; one of `pt-BR` does not serve `pt` or `pt-PT`. `zh-CN` and `zh-Hans` are the same
    script and serve each other, `zh-TW` does not.

    Raises:
        InputError: A tag is not well-formed BCP 47.
    """
    if term_locale == ANY:
        return 0
    mine, theirs = _parsed(term_locale), _parsed(wanted)
    if mine.language != theirs.language:
        return None
    full_mine, full_theirs = mine.maximize(), theirs.maximize()
    if full_mine.script != full_theirs.script and (mine.script or mine.territory or theirs.script or theirs.territory):
        return None
    if mine.territory and mine.territory != (theirs.territory or full_theirs.territory):
        return None
    if mine.territory and not theirs.territory and not (mine.script or full_mine.script != "Latn"):
        return None
    return 1 + bool(mine.script or mine.territory) + bool(mine.territory and mine.territory == theirs.territory)


@cache
def _parsed(tag: str) -> Language:
    try:
        return Language.get(tag.replace("_", "-"))
    except LanguageTagError as error:
        raise InputError(
            "not a language tag", got=tag, allowed="BCP 47, such as en, pt-BR or zh-Hans", fix=str(error)
        ) from None
