#include "piece_cuts.hpp"

#include <algorithm>
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

// White space for Python, though not for the patterns.
bool is_information_separator(char byte) { return byte >= '\x1c' && byte <= '\x1f'; }

}  // namespace

std::vector<std::size_t> piece_cuts(Pattern pattern, std::string_view text, std::size_t num_chars) {
    std::vector<std::size_t> cuts;
    num_chars = std::max<std::size_t>(num_chars, 1);  // no two cuts at one place
    std::size_t begin = 0;
    for (std::size_t i = skip_characters(text, begin, num_chars); i < text.size(); ++i) {
        if (i == 0 || !is_cut_space(text[i]) || is_information_separator(text[i - 1])) continue;
        if (!is_boundary_at(pattern, text, i)) continue;
        cuts.push_back(i);
        begin = i;
        i = skip_characters(text, begin, num_chars) - 1;
    }
    return cuts;
}

}  // namespace groundup
