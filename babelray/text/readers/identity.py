"""Document ids and revisions: the same for the same page wherever the store lies and however often it is revised."""

from babelray.keys import digest_of


def page_id(tenant: str, knowledge_base: str, root: str, path: str) -> str:
    """Id of a page: tenant, knowledge base, the name of the source's folder and the path under it.

    The folder's name keeps `guides/index.md` of two sources apart; where the folder lies does not matter.
    """
    return digest_of(["page", tenant, knowledge_base, root, path], length=32)


def row_id(tenant: str, knowledge_base: str, key: str) -> str:
    """Id of a row by its own key, so that rows may move between files."""
    return digest_of(["row", tenant, knowledge_base, key], length=32)


def keyless_row_id(tenant: str, knowledge_base: str, root: str, path: str, text: str) -> str:
    """Id of a row without a key: its text stands for one, so a revised row is another document."""
    return digest_of(["text", tenant, knowledge_base, root, path, text], length=32)


def text_revision(text: str) -> str:
    """Digest of a text."""
    return digest_of(text, length=32)
