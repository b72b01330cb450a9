"""Files and tables to documents."""

from babelray.text.readers.listing import list_parts, read_part
from babelray.text.readers.parts import InputPart

__all__ = ["InputPart", "list_parts", "read_part"]
