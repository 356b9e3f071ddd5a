// The words of a window after the look-up: the ids of most of them, and which ones are left to do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "byte_masks.hpp"
#include "id_buffer.hpp"
#include "word_cache.hpp"
#include "word_key.hpp"
#include "word_windows.hpp"

namespace groundup {

class KnownWords {
public:
    struct Open {
        std::size_t number;  // of the word
        std::uint64_t hash;
        WordKey key;
    };

    void look_up(const WordWindows& words, const WordCache& cache) {
        const bool has_zero = std::memchr(words.begins()[0], 0, words.num_bytes()) != nullptr;
        const std::size_t num_readable = has_zero ? 0 : words.num_readable(ShortKey::kReadable);
        num_open_ = look_up_(words.begins(), num_readable, cache.short_words().lines(), values_.data(), numbers_.data());
        for (std::size_t i = num_readable; i < words.size(); ++i) {
            values_[i] = 0;
            numbers_[num_open_++] = static_cast<std::uint16_t>(i);
        }
        const std::size_t num_easy = words.num_readable(WordKey::kReadable);
        for (std::size_t n = 0; n < num_open_; ++n) {
            const std::size_t number = numbers_[n];
            const std::string_view word = words.word(number);
            const bool is_easy = word.size() <= WordKey::kLongestShort && number < num_easy;
            open_[n].number = number;
            open_[n].key = is_easy ? WordKey::of_short(word.data(), word.size()) : WordKey::of(word);
            open_[n].hash = open_[n].key.hash();
            cache.prefetch(open_[n].hash);
        }
    }

    std::size_t num_open() const { return num_open_; }
    const Open& open(std::size_t n) const { return open_[n]; }

    std::uint64_t value(std::size_t word) const { return values_[word]; }
    void set(std::size_t word, std::uint64_t value) { values_[word] = value; }

    // Writes the ids of the words [first, last), all of them inside their values, and one more place; the end of the ids.
    TokenId* write(std::size_t first, std::size_t last, TokenId* out) const {
        for (std::size_t i = first; i < last; ++i) {
            const std::uint64_t ids = values_[i] & ShortSpelling::kIdsMask;
            std::memcpy(out, &ids, sizeof ids);
            out += ShortSpelling::count_inside(values_[i]);
        }
        return out;
    }

private:
    LookUp look_up_ = instruction_set().look_up;
    std::size_t num_open_ = 0;
    std::array<std::uint64_t, WordWindows::kMostWords> values_;
    std::array<std::uint16_t, WordWindows::kMostWords + 1> numbers_;
    std::array<Open, WordWindows::kMostWords> open_;
};

}  // namespace groundup
