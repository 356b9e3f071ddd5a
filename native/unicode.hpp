// Character classes of the patterns (\p{L}, \p{N}, \s and finer), as tiktoken has them, and UTF-8.
// The tables are made by tools/make_unicode_tables.py; reference.py uses the same classes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace groundup {

// The classes of GPT-2's pattern.
enum class CharClass : std::uint8_t { other = 0, letter = 1, number = 2, space = 3 };

// Finer, for o200k: letters by case (Lu and Lt; Ll; Lm and Lo), and marks. The low two bits are the CharClass.
enum class CharKind : std::uint8_t { other = 0, number = 2, space = 3, upper = 5, lower = 9, mark = 12, uncased = 13 };

inline CharClass class_of(CharKind kind) { return static_cast<CharClass>(static_cast<unsigned>(kind) & 3); }

// Code points from here on are `other`. The kinds of those before, in pages, of which equal ones are kept once.
inline constexpr std::uint32_t kClassifiedEnd = 0xE0200;
inline constexpr std::uint32_t kPageSize = 256;
inline constexpr std::size_t kNumPages = 141;
using KindPage = std::array<CharKind, kPageSize>;
struct KindTables {
    std::array<std::uint8_t, kClassifiedEnd / kPageSize> page_of;
    std::array<KindPage, kNumPages> pages;
};
extern const KindTables kKindTables;
extern const char* const kUnicodeTablesVersion;

inline CharKind kind_of(std::uint32_t code_point) {
    if (code_point >= kClassifiedEnd) return CharKind::other;
    return kKindTables.pages[kKindTables.page_of[code_point / kPageSize]][code_point % kPageSize];
}

inline CharClass classify(std::uint32_t code_point) { return class_of(kind_of(code_point)); }

struct Character {
    std::uint32_t code_point;
    std::uint32_t num_bytes;
};

inline bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The character at p, which must be the first byte of a whole, valid one.
inline Character decode_valid(const char* p) {
    const auto byte = [p](int i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(p[i])); };
    const std::uint32_t first = byte(0);
    if (first < 0x80) return {first, 1};
    if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
    if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
    return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

struct ClassifiedCharacter {
    CharKind kind;
    std::uint32_t num_bytes;

    CharClass char_class() const { return class_of(kind); }
};

// The class of the character at p, which must be the first byte of a whole, valid one.
inline ClassifiedCharacter classify_at(const char* p) {
    const Character character = decode_valid(p);
    return {kind_of(character.code_point), character.num_bytes};
}

inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// The bytes of the character that text begins with, 0 where it is not valid UTF-8 (cut short, an
// overlong form, a surrogate, past U+10FFFF).
std::size_t valid_character(std::string_view text);

// Offset of the first byte that begins no valid character, or kNowhere.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace groundup
