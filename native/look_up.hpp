// The look-up of all words of a window in the table of short words, in the widest vectors that the processor has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "short_words.hpp"

namespace groundup {

// begins: where num_words words begin, and where the last one ends; behind each begin 8 bytes can be read, and no byte
// of the words is zero.
// Writes each word's value, 0 where there is none, to `values`, and to `open` the numbers of the words whose ids are
// not in their value. Returns how many those are.
using LookUp = std::size_t (*)(const char* const* begins, std::size_t num_words, WordLines lines,
                               std::uint64_t* values, std::uint16_t* open);

std::size_t look_up_portable(const char* const* begins, std::size_t num_words, WordLines lines, std::uint64_t* values,
                             std::uint16_t* open);
std::size_t look_up_avx2(const char* const* begins, std::size_t num_words, WordLines lines, std::uint64_t* values,
                         std::uint16_t* open);

}  // namespace groundup
