#include "look_up.hpp"

namespace groundup {

std::size_t look_up_portable(const char* const* begins, std::size_t num_words, WordLines lines, std::uint64_t* values,
                             std::uint16_t* open) {
    // First all keys, so that their lines arrive while other keys are made. They stand where the values go.
    for (std::size_t i = 0; i < num_words; ++i) {
        values[i] = ShortKey::of(begins[i], static_cast<std::size_t>(begins[i + 1] - begins[i]));
        __builtin_prefetch(&lines.of(values[i]));
    }
    std::size_t num_open = 0;
    for (std::size_t i = 0; i < num_words; ++i) {
        const std::uint64_t key = values[i];
        const WordLine& line = lines.of(key);
        // Where a word lies, and whether its ids are inside, cannot be foretold: no branch asks.
        std::uint64_t value = 0;
        for (std::size_t j = 0; j < kWordsPerLine; ++j) {
            value |= line.values[j] & (std::uint64_t{0} - std::uint64_t{line.keys[j] == key});
        }
        values[i] = value;
        open[num_open] = static_cast<std::uint16_t>(i);
        num_open += !ShortSpelling::is_inside(value);
    }
    return num_open;
}

}  // namespace groundup
