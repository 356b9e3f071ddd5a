#include <array>
#include <cstring>

#include "unicode.hpp"

namespace groundup {

std::size_t valid_character(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (text.empty()) return 0;
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return 0;
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (text.size() < length) return 0;
    // The second byte rules out overlong forms (E0, F0), surrogates (ED) and the end of Unicode (F4).
    const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < low || byte(1) > high) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if (!is_continuation(text[i])) return 0;
    }
    return length;
}

std::size_t find_invalid_utf8(std::string_view text) {
    constexpr std::uint64_t kTopBits = 0x8080808080808080u;
    std::size_t i = 0;
    while (i < text.size()) {
        // ASCII in large steps, what follows it in small ones.
        std::array<std::uint64_t, 4> step;
        while (text.size() - i >= sizeof step) {
            std::memcpy(step.data(), text.data() + i, sizeof step);
            if (((step[0] | step[1] | step[2] | step[3]) & kTopBits) != 0) break;
            i += sizeof step;
        }
        std::uint64_t eight_bytes = kTopBits;
        while (text.size() - i >= sizeof eight_bytes) {
            std::memcpy(&eight_bytes, text.data() + i, sizeof eight_bytes);
            if ((eight_bytes & kTopBits) != 0) break;
            i += sizeof eight_bytes;
        }
        if (i == text.size()) break;
        const std::size_t length = valid_character(text.substr(i));
        if (length == 0) return i;
        i += length;
    }
    return kNowhere;
}

}  // namespace groundup
