"""Write the character classes of the patterns, as tiktoken knows them, into the two tokenizers.

    python tools/make_unicode_tables.py

makes src/groundup/tokenizer/unicode_classes.py (for reference.py, which has GPT-2's pattern alone) and
native/unicode.cpp (for the native core). Unicode grows, and today's `regex` calls some 17,000 code
points letters that tiktoken does not: the ids are those of tiktoken, so its tables are the ones to have.
"""

import importlib.metadata
from pathlib import Path

import tiktoken

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = {"letter": r"\p{L}", "number": r"\p{N}", "space": r"\s"}
# What o200k tells apart: the first three are all letters, and marks belong to no class of GPT-2's.
KINDS = {"upper": r"[\p{Lu}\p{Lt}]", "lower": r"\p{Ll}", "uncased": r"[\p{Lm}\p{Lo}]", "mark": r"\p{M}"}
KINDS |= {name: PATTERNS[name] for name in ("number", "space")}
PAGE = 256  # code points; unicode.hpp: kPageSize
Range = tuple[int, int]  # first and last code point, both inside


def main() -> None:
    version = f"tiktoken {importlib.metadata.version('tiktoken')}"
    classes = {name: to_ranges(members(pattern)) for name, pattern in PATTERNS.items()}
    kinds = {name: to_ranges(members(pattern)) for name, pattern in KINDS.items()}
    (ROOT / "src/groundup/tokenizer/unicode_classes.py").write_text(python_module(version, classes))
    (ROOT / "native/unicode.cpp").write_text(cpp_source(version, kinds))


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


def cpp_source(version: str, kinds: dict[str, list[Range]]) -> str:
    """Source that fills the tables of unicode.hpp from the ranges, at compile time."""
    ranges = sorted((first, last, name) for name, pairs in kinds.items() for first, last in pairs)
    entries = [f"{{0x{first:X}, 0x{last:X}, CharKind::{name}}}," for first, last, name in ranges]
    lines = [f"    {row.strip()}" for row in rows(entries, " ", 104)]
    end = (ranges[-1][1] // PAGE + 1) * PAGE
    kind_of = {c: name for first, last, name in ranges for c in range(first, last + 1)}
    pages = [{kind_of.get(c) for c in range(start, start + PAGE)} for start in range(0, end, PAGE)]
    num_mixed = sum(len(page) > 1 for page in pages)
    num_pages = num_mixed + len({kind for page in pages if len(page) == 1 for kind in page})
    return CPP.format(version=version, ranges="\n".join(lines), end=f"0x{end:X}", num_pages=num_pages)


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

#include <algorithm>
#include <iterator>

namespace groundup {{

namespace {{

struct Range {{
    std::uint32_t first;
    std::uint32_t last;
    CharKind kind;
}};

constexpr Range kRanges[] = {{
{ranges}
}};

// Most pages are of one kind all through: of such ones the first is kept for all.
constexpr KindTables make_tables() {{
    KindTables tables{{}};
    std::size_t num_pages = 0;
    std::array<std::size_t, 16> page_of_kind{{}};  // plus one; 0: none yet
    const Range* range = kRanges;
    for (std::size_t number = 0; number < tables.page_of.size(); ++number) {{
        const auto first = static_cast<std::uint32_t>(number * kPageSize);
        const std::uint32_t last = first + kPageSize - 1;
        while (range->last < first) ++range;
        const bool is_inside = range->first <= first && range->last >= last;
        const bool is_whole = is_inside || range->first > last;
        const CharKind kind = is_inside ? range->kind : CharKind::other;
        std::size_t& known = page_of_kind[static_cast<std::size_t>(kind)];
        if (is_whole && known != 0) {{
            tables.page_of[number] = static_cast<std::uint8_t>(known - 1);
            continue;
        }}
        tables.page_of[number] = static_cast<std::uint8_t>(num_pages);
        KindPage& page = tables.pages[num_pages++];
        if (is_whole) known = num_pages;
        for (const Range* r = range; r != std::end(kRanges) && r->first <= last; ++r) {{
            const std::uint32_t r_last = std::min(r->last, last);
            for (std::uint32_t c = std::max(r->first, first); c <= r_last; ++c) page[c - first] = r->kind;
        }}
    }}
    return tables;
}}

}}  // namespace

static_assert(kClassifiedEnd == {end}, "unicode.hpp: kClassifiedEnd must be {end}");
static_assert(kNumPages == {num_pages}, "unicode.hpp: kNumPages must be {num_pages}");

constinit const KindTables kKindTables = make_tables();
const char* const kUnicodeTablesVersion = "{version}";

}}  // namespace groundup
"""

if __name__ == "__main__":
    main()
