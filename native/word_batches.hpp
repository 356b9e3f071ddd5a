// The words of a text in batches, each word with its key and hash ready.
//
// Hash tables of words are larger than the caches of a processor. A batch asks for the places of all its words
// at once, so that their memory arrives while others are worked on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "word_key.hpp"
#include "word_windows.hpp"

namespace groundup {

class WordBatches {
public:
    // readable_end: to where memory may be read, at least to the end of the text.
    WordBatches(Pattern pattern, std::string_view text, const char* readable_end)
        : words_(pattern, text, readable_end) {}

    // Makes the next batch, and prefetches its places in the table; false at the end of the text.
    template <class Table>
    bool next(const Table& table) {
        if (!words_.next()) return false;
        const char* const* const begins = words_.begins();
        const std::size_t num_readable = words_.num_readable(WordKey::kReadable);
        for (std::size_t i = 0; i < size(); ++i) {
            const auto length = static_cast<std::size_t>(begins[i + 1] - begins[i]);
            const bool is_easy = length <= WordKey::kLongestShort && i < num_readable;
            keys_[i] = is_easy ? WordKey::of_short(begins[i], length) : WordKey::of({begins[i], length});
            hashes_[i] = keys_[i].hash();
            table.prefetch(hashes_[i]);
        }
        return true;
    }

    std::size_t size() const { return words_.size(); }
    std::string_view word(std::size_t i) const { return words_.word(i); }
    const WordKey& key(std::size_t i) const { return keys_[i]; }
    std::uint64_t hash(std::size_t i) const { return hashes_[i]; }

private:
    WordWindows words_;
    std::array<WordKey, WordWindows::kMostWords> keys_;
    std::array<std::uint64_t, WordWindows::kMostWords> hashes_;
};

}  // namespace groundup
