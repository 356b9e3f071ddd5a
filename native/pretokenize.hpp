// The GPT-2 pattern as a hand-written scanner (reference.py: GPT2_PATTERN).
//
//   '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// Cost: one look at each character. All text here is valid UTF-8.
#pragma once

#include <string_view>

#include "unicode.hpp"

namespace groundup {

// The end of the pre-token that begins at `begin` (< end). `end` is the end of the text for the pattern.
// A caller that scanned the same pre-token before, when the text was shorter, hands in the end found then
// as `known_end`, so that a long pre-token that arrives in pieces is not read from its start each time.
const char* next_word_end(const char* begin, const char* end, const char* known_end = nullptr);

// Bytes of the contraction at p (an apostrophe), 0 if there is none.
std::size_t contraction_length(const char* p, const char* end);

// Whether the pre-token found at `begin` stays the same whatever text is added after `end`.
bool is_final_word(const char* begin, const char* word_end, const char* end);

// Whether a pre-token ends between these two characters in every text. True only where the two
// characters alone decide it: then a text may be cut there and the parts be handled apart.
bool is_boundary(std::uint32_t before, std::uint32_t after);

// Calls visit(std::string_view) for each pre-token of the text, in order.
template <class Visit>
void for_each_word(std::string_view text, Visit&& visit) {
    const char* p = text.data();
    const char* const end = p + text.size();
    while (p != end) {
        const char* const word_end = next_word_end(p, end);
        visit(std::string_view(p, static_cast<std::size_t>(word_end - p)));
        p = word_end;
    }
}

}  // namespace groundup
