"""Write the character classes of the GPT-2 pattern, as tiktoken knows them, into the two tokenizers.

    python tools/make_unicode_tables.py

makes src/groundup/tokenizer/unicode_classes.py (for reference.py) and native/unicode.cpp (for the
native core). Unicode grows, and today's `regex` calls some 17,000 code points letters that tiktoken
does not: the ids of GPT-2 are those of tiktoken, so its tables are the ones to have.
"""

import importlib.metadata
from pathlib import Path

import tiktoken

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = {"letter": r"\p{L}", "number": r"\p{N}", "space": r"\s"}
Range = tuple[int, int]  # first and last code point, both inside


def main() -> None:
    version = f"tiktoken {importlib.metadata.version('tiktoken')}"
    ranges = {name: to_ranges(members(pattern)) for name, pattern in PATTERNS.items()}
    (ROOT / "src/groundup/tokenizer/unicode_classes.py").write_text(python_module(version, ranges))
    (ROOT / "native/unicode.cpp").write_text(cpp_source(version, ranges))


def members(pattern: str) -> set[int]:
    """The code points that `pattern` matches in tiktoken.

    tiktoken leaves out what its pattern does not match. So all characters in one string, encoded with
    nothing but the 256 bytes and decoded again, come back as those of the class.
    """
    code_points = [*range(0xD800), *range(0xE000, 0x110000)]
    encoding = tiktoken.Encoding(
        "class", pat_str=pattern, mergeable_ranks={bytes([b]): b for b in range(256)}, special_tokens={}
    )
    text = "".join(map(chr, code_points))
    return {ord(c) for c in encoding.decode(encoding.encode_ordinary(text), errors="strict")}


def to_ranges(code_points: set[int]) -> list[Range]:
    """The set as sorted ranges without gaps: {1, 2, 3, 7} -> [(1, 3), (7, 7)]."""
    ranges: list[Range] = []
    for c in sorted(code_points):
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1] = (ranges[-1][0], c)
        else:
            ranges.append((c, c))
    return ranges


def python_module(version: str, ranges: dict[str, list[Range]]) -> str:
    """Source with one string for each class, fit to stand between [ and ] in a pattern of `re`."""
    lines = [
        '"""The letters, numbers and white space of tiktoken, as they stand inside [...] in `re`.',
        "",
        "Made by tools/make_unicode_tables.py: do not edit. The native core has the same (native/unicode.cpp).",
        '"""',
        "",
        f'VERSION = "{version}"',
    ]
    for name, pairs in ranges.items():
        lines += ["", f"{name.upper()}S = ("]
        for row in rows([python_range(pair) for pair in pairs], "", 98):
            lines.append(f'    "{row}"')
        lines.append(")")
    return "\n".join(lines) + "\n"


def python_range(pair: Range) -> str:
    def escape(c: int) -> str:
        return f"\\U{c:08x}" if c > 0xFFFF else f"\\u{c:04x}"

    first, last = pair
    return escape(first) if first == last else f"{escape(first)}-{escape(last)}"


def cpp_source(version: str, ranges: dict[str, list[Range]]) -> str:
    """Source that fills the packed table of unicode.hpp from the same ranges, at compile time."""
    rows_of_ranges = []
    for name, pairs in ranges.items():
        rows_of_ranges += [f"    // {name}s"]
        entries = [f"{{0x{first:X}, 0x{last:X}, CharClass::{name}}}," for first, last in pairs]
        rows_of_ranges += [f"    {row.strip()}" for row in rows(entries, " ", 104)]
    end = max(last for pairs in ranges.values() for _, last in pairs) + 1
    return CPP.format(version=version, ranges="\n".join(rows_of_ranges), end=f"0x{(end + 3) // 4 * 4:X}")


def rows(parts: list[str], separator: str, width: int) -> list[str]:
    """The parts joined to lines of at most `width` characters."""
    lines = [""]
    for part in parts:
        if len(lines[-1]) + len(separator) + len(part) > width:
            lines.append("")
        lines[-1] += (separator if lines[-1] else "") + part
    return lines


CPP = """\
// Made by tools/make_unicode_tables.py: do not edit. The reference has the same classes
// (src/groundup/tokenizer/unicode_classes.py).
#include "unicode.hpp"

namespace groundup {{

namespace {{

struct Range {{
    std::uint32_t first;
    std::uint32_t last;
    CharClass char_class;
}};

constexpr Range kRanges[] = {{
{ranges}
}};

constexpr PackedClasses pack_ranges() {{
    PackedClasses packed{{}};
    for (const Range& range : kRanges) {{
        for (std::uint32_t c = range.first; c <= range.last; ++c) {{
            const unsigned bits = static_cast<unsigned>(range.char_class) << (c % 4 * 2);
            packed[c / 4] = static_cast<std::uint8_t>(packed[c / 4] | bits);
        }}
    }}
    return packed;
}}

}}  // namespace

static_assert(kClassifiedEnd == {end}, "unicode.hpp: kClassifiedEnd must be {end}");

constinit const PackedClasses kPackedClasses = pack_ranges();
const char* const kUnicodeTablesVersion = "{version}";

}}  // namespace groundup
"""

if __name__ == "__main__":
    main()
