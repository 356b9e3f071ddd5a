// Each pattern as a hand-written scanner that goes from character to character. word_starts.hpp finds the same
// words faster; this is what it is tested against, and what it turns to where its algebra does not reach.
//
// Cost: each character is looked at a few times at most. All text here is valid UTF-8.
#pragma once

#include <string_view>

#include "pattern.hpp"
#include "unicode.hpp"

namespace groundup {

// The end of the pre-token that begins at `begin` (< end). `end` is the end of the text for the pattern.
const char* next_word_end(Pattern pattern, const char* begin, const char* end);

// Bytes of the contraction at p (an apostrophe), 0 if there is none: 's 't 're 've 'm 'll 'd.
std::size_t contraction_length(const char* p, const char* end);
// In any case, as all but GPT-2's have it. U+017F (long s) is an s then.
std::size_t contraction_length_any_case(const char* p, const char* end);

// Whether a pre-token ends between these two characters in every text. True only where the two
// characters alone decide it: then a text may be cut there and the parts be handled apart.
bool is_boundary(Pattern pattern, std::uint32_t before, std::uint32_t after);

// \p{N}{1,3}, \p{N}: how many numbers a word may have. GPT-2 has no limit.
constexpr unsigned most_numbers(Pattern pattern) {
    return pattern == Pattern::qwen2 || pattern == Pattern::smollm ? 1 : 3;
}

// Bytes of the whole words in a run of numbers that the text, which goes on, begins with: between numbers no two
// characters decide anything, but every third may end a word (GPT-2: none).
std::size_t whole_numbers(Pattern pattern, std::string_view text);

inline bool is_newline(std::uint32_t code_point) { return code_point == '\n' || code_point == '\r'; }

// Whether white space that goes on at p (< end) comes to a line break before it ends, or to the end of the text.
enum class LineEnd : std::uint8_t { none, newline, text_end };
LineEnd find_line_end(const char* p, const char* end);

// Calls visit(std::string_view) for each pre-token of the text, in order.
template <class Visit>
void for_each_word(Pattern pattern, std::string_view text, Visit&& visit) {
    const char* p = text.data();
    const char* const end = p + text.size();
    while (p != end) {
        const char* const word_end = next_word_end(pattern, p, end);
        visit(std::string_view(p, static_cast<std::size_t>(word_end - p)));
        p = word_end;
    }
}

}  // namespace groundup
