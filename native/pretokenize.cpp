#include "pretokenize.hpp"

#include <algorithm>
#include <array>

namespace groundup {

namespace {

constexpr std::array<CharClass, 128> make_ascii_classes() {
    std::array<CharClass, 128> classes{};
    for (std::size_t c = 0; c < classes.size(); ++c) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool number = c >= '0' && c <= '9';
        const bool space = c == ' ' || (c >= '\t' && c <= '\r');
        classes[c] = letter   ? CharClass::letter
                     : number ? CharClass::number
                     : space  ? CharClass::space
                              : CharClass::other;
    }
    return classes;
}

constexpr std::array<CharClass, 128> kAsciiClasses = make_ascii_classes();

struct ClassifiedCharacter {
    CharClass char_class;
    std::uint32_t num_bytes;
};

inline ClassifiedCharacter classify_at(const char* p) {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte < 0x80) return {kAsciiClasses[byte], 1};
    const Character character = decode_valid(p);
    return {classify(character.code_point), character.num_bytes};
}

// The end of the run of characters of one class that goes on at p.
inline const char* run_end(const char* p, const char* end, CharClass char_class) {
    while (p != end) {
        const ClassifiedCharacter here = classify_at(p);
        if (here.char_class != char_class) break;
        p += here.num_bytes;
    }
    return p;
}

// Bytes of the contraction at p (an apostrophe), 0 if there is none.
inline std::ptrdiff_t contraction_length(const char* p, const char* end) {
    if (end - p < 2) return 0;
    const char c = p[1];
    if (c == 's' || c == 'd' || c == 'm' || c == 't') return 2;
    if (end - p < 3) return 0;
    const bool two_letters = (c == 'l' && p[2] == 'l') || (c == 'v' && p[2] == 'e') || (c == 'r' && p[2] == 'e');
    return two_letters ? 3 : 0;
}

const char* previous_character(const char* p) {
    do {
        --p;
    } while (is_continuation(*p));
    return p;
}

}  // namespace

const char* next_word_end(const char* begin, const char* end, const char* known_end) {
    const auto resume = [known_end](const char* p) { return known_end == nullptr ? p : std::max(p, known_end); };
    ClassifiedCharacter first = classify_at(begin);
    const char* p = begin + first.num_bytes;
    if (*begin == '\'') {
        const std::ptrdiff_t length = contraction_length(begin, end);
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
