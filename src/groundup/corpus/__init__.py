"""Documents out of files: text, JSON lines or Parquet, plain or in .gz or .zst, local or behind a URL.

Everything streams: memory holds a read of the file and one document, or one piece of a long document.
Text is kept exactly: no newline is translated, no byte-order mark dropped. In reading order: `paths.py`
(which files), `reading.py` (file to text), `records.py` (JSON lines, Parquet), `documents.py` (documents
and pieces). Next: `tokenizer/bpe.py` counts what is read here, `data/shards.py` encodes it.
"""

from groundup.corpus.documents import END_OF_TEXT, Piece, iter_documents, iter_pieces
from groundup.corpus.paths import Source, expand_paths, has_fields, is_plain_text, text_size_bytes

__all__ = [
    "END_OF_TEXT",
    "Piece",
    "Source",
    "expand_paths",
    "has_fields",
    "is_plain_text",
    "iter_documents",
    "iter_pieces",
    "text_size_bytes",
]
