// The classes of 64 bytes of text as bit masks, in the widest vectors that the processor has.
//
// Only ASCII is told apart here; what is not ASCII is one class, `high`, and word_starts.cpp looks at it
// character by character. Each instruction set has a source of its own, compiled for it; which one runs is
// chosen once, at run time, so that one binary serves all processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "join_pairs.hpp"
#include "look_up.hpp"

namespace groundup {

inline constexpr std::size_t kBlockBytes = 64;

// Bit i of each mask belongs to byte i of the block.
struct ByteMasks {
    std::uint64_t letter;        // A-Z a-z
    std::uint64_t upper;         // A-Z
    std::uint64_t number;        // 0-9
    std::uint64_t space;         // \t \n \v \f \r and the blank
    std::uint64_t blank;         // U+0020 alone
    std::uint64_t newline;       // \r \n
    std::uint64_t slash;         // /
    std::uint64_t apostrophe;    // '
    std::uint64_t high;          // from 0x80 on
    std::uint64_t continuation;  // 0x80-0xBF: not the first byte of a character
};

// The masks of num_blocks blocks, which lie one after the other.
using MaskBytes = void (*)(const char* text, std::size_t num_blocks, ByteMasks* masks);

void mask_bytes_portable(const char* text, std::size_t num_blocks, ByteMasks* masks);
void mask_bytes_avx2(const char* text, std::size_t num_blocks, ByteMasks* masks);
void mask_bytes_avx512(const char* text, std::size_t num_blocks, ByteMasks* masks);

// Writes first + i for each bit i that is set in a row of words, in order; the end of what it wrote. It may write up
// to kListSlack more, which mean nothing.
using ListBits = const char** (*)(const std::uint64_t* words, std::size_t num_words, const char* first,
                                  const char** places);
inline constexpr std::size_t kListSlack = 16;

const char** list_bits_portable(const std::uint64_t* words, std::size_t num_words, const char* first,
                                const char** places);
const char** list_bits_avx2(const std::uint64_t* words, std::size_t num_words, const char* first, const char** places);

struct InstructionSet {
    std::string_view name;
    MaskBytes mask_bytes;
    ListBits list_bits;
    LookUp look_up;
    JoinPairs join_pairs;
};

// What this processor can run, the best first; "portable" is always the last.
const std::vector<InstructionSet>& instruction_sets();

// The one in use: the best, unless a test asked for another.
const InstructionSet& instruction_set();

// Throws std::invalid_argument for a name that is not among instruction_sets().
void use_instruction_set(std::string_view name);

}  // namespace groundup
