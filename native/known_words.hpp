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
    struct Unknown {
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
        // Those that are known, but have many ids, need no more than that.
        std::size_t num_unknown = 0;
        const std::size_t num_easy = words.num_readable(WordKey::kReadable);
        for (std::size_t n = 0; n < num_open_; ++n) {
            const std::size_t number = numbers_[n];
            if (values_[number] != 0) continue;
            const std::string_view word = words.word(number);
            const bool is_easy = word.size() <= WordKey::kLongestShort && number < num_easy;
            Unknown& unknown = unknown_[num_unknown++];
            unknown.number = number;
            unknown.key = is_easy ? WordKey::of_short(word.data(), word.size()) : WordKey::of(word);
            unknown.hash = unknown.key.hash();
            cache.prefetch(unknown.hash);
        }
        num_unknown_ = num_unknown;
    }

    // The words whose ids are not in their values.
    std::size_t num_open() const { return num_open_; }
    std::size_t open(std::size_t n) const { return numbers_[n]; }
    // Those of them that have no value yet.
    std::size_t num_unknown() const { return num_unknown_; }
    const Unknown& unknown(std::size_t n) const { return unknown_[n]; }

    // What is known of a word (see ShortSpelling).
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
    std::size_t num_unknown_ = 0;
    std::array<std::uint64_t, WordWindows::kMostWords> values_;
    std::array<std::uint16_t, WordWindows::kMostWords + 1> numbers_;
    std::array<Unknown, WordWindows::kMostWords> unknown_;
};

}  // namespace groundup
