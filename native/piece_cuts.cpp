#include "piece_cuts.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

#include "text_chunks.hpp"
#include "unicode.hpp"

namespace groundup {

namespace {

// Where the character num_chars after the one at `begin` begins; the end of the text if there are not as many.
std::size_t skip_characters(std::string_view text, std::size_t begin, std::size_t num_chars) {
    std::size_t i = begin;
    std::uint64_t eight_bytes = 0;
    for (; num_chars >= sizeof eight_bytes && i + sizeof eight_bytes <= text.size(); i += sizeof eight_bytes) {
        std::memcpy(&eight_bytes, text.data() + i, sizeof eight_bytes);
        // A continuation byte: the highest bit set, the next one not.
        const std::uint64_t continuations = eight_bytes & ~(eight_bytes << 1) & 0x8080808080808080u;
        num_chars -= sizeof eight_bytes - static_cast<std::size_t>(std::popcount(continuations));
    }
    for (; i < text.size(); ++i) {
        if (is_continuation(text[i])) continue;
        if (num_chars == 0) break;
        --num_chars;
    }
    return i;
}

bool is_cut_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

bool is_information_separator(char byte) { return byte >= '\x1c' && byte <= '\x1f'; }

// Whether the character before `cut` is white space.
bool is_space_before(std::string_view text, std::size_t cut) {
    if (is_information_separator(text[cut - 1])) return true;
    std::size_t begin = cut - 1;
    while (begin > 0 && is_continuation(text[begin])) --begin;
    const std::string_view character = text.substr(begin, cut - begin);
    return valid_character(character) == character.size() && classify_at(character.data()).char_class() == CharClass::space;
}

}  // namespace

std::vector<std::size_t> piece_cuts(Pattern pattern, std::string_view text, std::size_t num_chars) {
    std::vector<std::size_t> cuts;
    std::size_t begin = 0;
    for (std::size_t i = skip_characters(text, begin, num_chars); i < text.size(); ++i) {
        if (i == 0 || !is_cut_space(text[i]) || is_space_before(text, i) || !is_boundary_at(pattern, text, i)) continue;
        cuts.push_back(i);
        begin = i;
        i = skip_characters(text, begin, num_chars) - 1;
    }
    return cuts;
}

}  // namespace groundup
