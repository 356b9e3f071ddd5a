#include "pretokenize.hpp"

#include <algorithm>

namespace groundup {

namespace {

// The end of the run of characters of one class that goes on at p.
inline const char* run_end(const char* p, const char* end, CharClass char_class) {
    while (p != end) {
        const ClassifiedCharacter here = classify_at(p);
        if (here.char_class != char_class) break;
        p += here.num_bytes;
    }
    return p;
}

const char* previous_character(const char* p) {
    do {
        --p;
    } while (is_continuation(*p));
    return p;
}

}  // namespace

std::size_t contraction_length(const char* p, const char* end) {
    if (end - p < 2) return 0;
    const char c = p[1];
    if (c == 's' || c == 'd' || c == 'm' || c == 't') return 2;
    if (end - p < 3) return 0;
    const bool two_letters = (c == 'l' && p[2] == 'l') || (c == 'v' && p[2] == 'e') || (c == 'r' && p[2] == 'e');
    return two_letters ? 3 : 0;
}

const char* next_word_end(const char* begin, const char* end, const char* known_end) {
    const auto resume = [known_end](const char* p) { return known_end == nullptr ? p : std::max(p, known_end); };
    ClassifiedCharacter first = classify_at(begin);
    const char* p = begin + first.num_bytes;
    if (*begin == '\'') {
        const std::size_t length = contraction_length(begin, end);
        if (length != 0) return begin + length;
    } else if (*begin == ' ' && p != end) {
        const ClassifiedCharacter second = classify_at(p);
        if (second.char_class != CharClass::space) {
            first = second;
            p += second.num_bytes;
        }
    }
    const char* const run = run_end(resume(p), end, first.char_class);
    if (first.char_class != CharClass::space || run == end) return run;
    // \s+(?!\S): a run of white space before something else leaves its last character, if it has more.
    const char* const last = previous_character(run);
    return last == begin ? run : last;
}

bool is_final_word(const char* begin, const char* word_end, const char* end) {
    // An apostrophe may become a contraction with the next two letters.
    return word_end != end && !(*begin == '\'' && end - begin < 3);
}

bool is_boundary(std::uint32_t before, std::uint32_t after) {
    const CharClass left = classify(before);
    const CharClass right = classify(after);
    if (left == CharClass::space || left == right) return false;
    return !(before == '\'' && right == CharClass::letter);
}

}  // namespace groundup
