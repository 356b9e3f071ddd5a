#include "pretokenize.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace groundup {

namespace {

// The end of the run of characters that goes on at p.
template <class Belongs>
const char* run_end(const char* p, const char* end, Belongs&& belongs) {
    while (p != end) {
        const ClassifiedCharacter here = classify_at(p);
        if (!belongs(here.kind)) break;
        p += here.num_bytes;
    }
    return p;
}

const char* class_end(const char* p, const char* end, CharClass char_class) {
    return run_end(p, end, [char_class](CharKind kind) { return class_of(kind) == char_class; });
}

// What o200k can begin a word with: letters, and marks, which may also stand among punctuation.
bool is_word_kind(CharKind kind) { return class_of(kind) == CharClass::letter || kind == CharKind::mark; }

bool is_uncased(CharKind kind) { return kind == CharKind::uncased || kind == CharKind::mark; }

const char* number_end(const char* p, const char* end, unsigned most) {
    for (; most > 0 && p != end; --most) {
        const ClassifiedCharacter here = classify_at(p);
        if (here.kind != CharKind::number) break;
        p += here.num_bytes;
    }
    return p;
}

bool is_gpt2_like(Pattern pattern) { return pattern == Pattern::gpt2 || pattern == Pattern::smollm; }

// \s*[\r\n]+|\s+(?!\S)|\s+ (cl100k: |\s++$ first); GPT-2 has no line breaks of its own.
const char* white_space_end(Pattern pattern, const char* begin, const char* end) {
    const char* p = begin;
    const char* last = begin;
    const char* behind_newline = nullptr;
    while (p != end) {
        const ClassifiedCharacter here = classify_at(p);
        if (here.kind != CharKind::space) break;
        last = p;
        p += here.num_bytes;
        if (is_newline(static_cast<unsigned char>(*last))) behind_newline = p;
    }
    if (p == end && pattern == Pattern::cl100k) return p;
    if (behind_newline != nullptr && !is_gpt2_like(pattern)) return behind_newline;
    // A run before something else leaves its last character, if it has more.
    if (pattern == Pattern::smollm && p != end && classify_at(p).kind == CharKind::number) return p;
    return p == end || last == begin ? p : last;
}

const char* next_gpt2(Pattern pattern, const char* begin, const char* end) {
    const bool numbers_apart = pattern == Pattern::smollm;
    ClassifiedCharacter first = classify_at(begin);
    const char* p = begin + first.num_bytes;
    if (*begin == '\'') {
        const std::size_t length = contraction_length(begin, end);
        if (length != 0) return begin + length;
    } else if (*begin == ' ' && p != end) {
        const ClassifiedCharacter second = classify_at(p);
        if (second.kind != CharKind::space && !(numbers_apart && second.kind == CharKind::number)) {
            first = second;
            p += second.num_bytes;
        }
    }
    if (first.kind == CharKind::space) return white_space_end(pattern, begin, end);
    if (first.kind == CharKind::number && numbers_apart) return p;
    return class_end(p, end, first.char_class());
}

const char* next_cl100k(Pattern pattern, const char* begin, const char* end) {
    if (*begin == '\'') {
        const std::size_t length = contraction_length_any_case(begin, end);
        if (length != 0) return begin + length;
    }
    const ClassifiedCharacter first = classify_at(begin);
    const char* p = begin + first.num_bytes;
    if (first.char_class() == CharClass::letter) return class_end(p, end, CharClass::letter);
    if (first.kind == CharKind::number) return number_end(begin, end, most_numbers(pattern));
    const CharClass second = p == end ? CharClass::space : classify_at(p).char_class();
    if (second == CharClass::letter && !is_newline(static_cast<unsigned char>(*begin))) {
        return class_end(p, end, CharClass::letter);
    }
    if (first.kind == CharKind::space && !(*begin == ' ' && second == CharClass::other)) {
        return white_space_end(pattern, begin, end);
    }
    p = class_end(p, end, CharClass::other);
    while (p != end && is_newline(static_cast<unsigned char>(*p))) ++p;
    return p;
}

// U*L+C?|U+L*C? (pattern.hpp), at a letter or mark. U* takes all it can; where no lower case follows, it gives back
// what stands behind the last uncased character, which L+ then takes; and without one, the second half takes all.
const char* cased_word_end(const char* p, const char* end) {
    const char* behind_uncased = nullptr;
    ClassifiedCharacter here = classify_at(p);
    while (is_word_kind(here.kind) && here.kind != CharKind::lower) {
        p += here.num_bytes;
        if (is_uncased(here.kind)) behind_uncased = p;
        if (p == end) break;
        here = classify_at(p);
    }
    if (p != end && here.kind == CharKind::lower) {
        p = run_end(p, end, [](CharKind kind) { return kind == CharKind::lower || is_uncased(kind); });
    } else if (behind_uncased != nullptr) {
        p = behind_uncased;
    }
    return p != end && *p == '\'' ? p + contraction_length_any_case(p, end) : p;
}

const char* next_o200k(const char* begin, const char* end) {
    const ClassifiedCharacter first = classify_at(begin);
    if (is_word_kind(first.kind)) return cased_word_end(begin, end);
    if (first.kind == CharKind::number) return number_end(begin, end, most_numbers(Pattern::o200k));
    const char* p = begin + first.num_bytes;
    const CharKind second = p == end ? CharKind::space : classify_at(p).kind;
    if (is_word_kind(second) && !is_newline(static_cast<unsigned char>(*begin))) return cased_word_end(p, end);
    if (first.kind == CharKind::space && !(*begin == ' ' && second == CharKind::other)) {
        return white_space_end(Pattern::o200k, begin, end);
    }
    p = class_end(p, end, CharClass::other);
    while (p != end && (is_newline(static_cast<unsigned char>(*p)) || *p == '/')) ++p;
    return p;
}

bool is_gpt2_boundary(Pattern pattern, std::uint32_t before, std::uint32_t after) {
    const CharClass left = classify(before);
    const CharClass right = classify(after);
    if (pattern == Pattern::smollm && right == CharClass::number) return true;
    if (left == CharClass::space || left == right) return false;
    return !(before == '\'' && right == CharClass::letter);
}

// White space before something else depends on whether it ends the text, unless it ends with a line break. What is
// neither letter, number nor line break may belong to letters behind it, punctuation to line breaks behind it.
bool is_cl100k_boundary(Pattern pattern, std::uint32_t before, std::uint32_t after) {
    const CharClass left = classify(before);
    const CharClass right = classify(after);
    if (is_newline(before)) return right != CharClass::space;
    if (left == CharClass::space) return false;
    if (left == right) return left == CharClass::number && pattern == Pattern::qwen2;
    if (left != CharClass::other) return true;
    return right == CharClass::number || (right == CharClass::space && !is_newline(after));
}

// Beyond that, a mark belongs to letters or to punctuation, a contraction to the letters before it, and a slash to
// punctuation and line breaks before it.
bool is_o200k_boundary(std::uint32_t before, std::uint32_t after) {
    const CharKind left = kind_of(before);
    const CharKind right = kind_of(after);
    if (is_newline(before)) return right != CharKind::space && after != '/';
    if (left == CharKind::space) return false;
    if (left == CharKind::number) return right != CharKind::number;
    if (right == CharKind::number) return true;
    if (class_of(left) == CharClass::letter) return !is_word_kind(right) && after != '\'';
    return right == CharKind::space && !is_newline(after);
}

}  // namespace

Pattern pattern_named(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Pattern>, 6> kNames = {{{"gpt2", Pattern::gpt2},
                                                                           {"smollm", Pattern::smollm},
                                                                           {"cl100k", Pattern::cl100k},
                                                                           {"llama3", Pattern::llama3},
                                                                           {"qwen2", Pattern::qwen2},
                                                                           {"o200k", Pattern::o200k}}};
    std::string known;
    for (const auto& [known_name, pattern] : kNames) {
        if (known_name == name) return pattern;
        known += (known.empty() ? "" : ", ") + std::string(known_name);
    }
    throw std::invalid_argument("there is no scanner '" + std::string(name) + "'; there are " + known);
}

const char* next_word_end(Pattern pattern, const char* begin, const char* end) {
    switch (pattern) {
        case Pattern::gpt2:
        case Pattern::smollm: return next_gpt2(pattern, begin, end);
        case Pattern::o200k: return next_o200k(begin, end);
        default: return next_cl100k(pattern, begin, end);
    }
}

std::size_t contraction_length(const char* p, const char* end) {
    if (end - p < 2) return 0;
    const char c = p[1];
    if (c == 's' || c == 'd' || c == 'm' || c == 't') return 2;
    if (end - p < 3) return 0;
    const bool two_letters = (c == 'l' && p[2] == 'l') || (c == 'v' && p[2] == 'e') || (c == 'r' && p[2] == 'e');
    return two_letters ? 3 : 0;
}

std::size_t contraction_length_any_case(const char* p, const char* end) {
    constexpr std::string_view kLongS = "\u017f";
    std::array<char, 3> lower{};
    const std::size_t size = std::min(lower.size(), static_cast<std::size_t>(end - p));
    const auto to_lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
    for (std::size_t i = 0; i < size; ++i) lower[i] = to_lower(p[i]);
    if (size == 3 && std::string_view(p + 1, 2) == kLongS) return 3;
    return contraction_length(lower.data(), lower.data() + size);
}

bool is_boundary(Pattern pattern, std::uint32_t before, std::uint32_t after) {
    switch (pattern) {
        case Pattern::gpt2:
        case Pattern::smollm: return is_gpt2_boundary(pattern, before, after);
        case Pattern::o200k: return is_o200k_boundary(before, after);
        default: return is_cl100k_boundary(pattern, before, after);
    }
}

std::size_t whole_numbers(Pattern pattern, std::string_view text) {
    if (pattern == Pattern::gpt2) return 0;
    std::size_t whole = 0;
    unsigned in_word = 0;
    for (std::size_t i = 0; i < text.size();) {
        const ClassifiedCharacter here = classify_at(text.data() + i);
        if (here.kind != CharKind::number) break;
        i += here.num_bytes;
        if (++in_word < most_numbers(pattern)) continue;
        whole = i;
        in_word = 0;
    }
    return whole;
}

LineEnd find_line_end(const char* p, const char* end) {
    for (; p != end; p += decode_valid(p).num_bytes) {
        if (is_newline(static_cast<unsigned char>(*p))) return LineEnd::newline;
        if (classify_at(p).kind != CharKind::space) return LineEnd::none;
    }
    return LineEnd::text_end;
}

}  // namespace groundup
