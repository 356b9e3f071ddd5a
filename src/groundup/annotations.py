"""Whether the names that stand in annotations are wanted.

Type checkers take TYPE_CHECKING for true, and read annotations. Programs do not, and `typing` and `collections.abc`
alone would take as long to import as a tokenizer takes to load: so the modules that a cached load needs
(`tokenizer/bpe.py` and what it imports) leave annotations as text and import their names only under this. The
tests check calls with beartype, which reads annotations too.
"""

import sys

TYPE_CHECKING = "beartype" in sys.modules
