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
#include "word_starts.hpp"

namespace groundup {

class WordBatches {
public:
    static constexpr std::size_t kMostWords = kWindowBytes + 1;

    // readable_end: to where memory may be read, at least to the end of the text.
    WordBatches(Pattern pattern, std::string_view text, const char* readable_end)
        : starts_(pattern, text),
          list_bits_(instruction_set().list_bits),
          text_(text),
          last_readable_(readable_end - text.data() < kReadable ? nullptr : readable_end - kReadable) {}

    // Makes the next batch, and prefetches its places in the table; false at the end of the text.
    template <class Table>
    bool next(const Table& table) {
        if (!find_words()) return false;
        for (std::size_t i = 0; i < size_; ++i) {
            const char* const begin = begins_[i];
            const auto length = static_cast<std::size_t>(begins_[i + 1] - begin);
            const bool is_easy = length <= WordKey::kLongestShort && begin <= last_readable_;
            keys_[i] = is_easy ? WordKey::of_short(begin, length) : WordKey::of({begin, length});
            hashes_[i] = keys_[i].hash();
            table.prefetch(hashes_[i]);
        }
        return true;
    }

    std::size_t size() const { return size_; }
    std::string_view word(std::size_t i) const {
        return {begins_[i], static_cast<std::size_t>(begins_[i + 1] - begins_[i])};
    }
    const WordKey& key(std::size_t i) const { return keys_[i]; }
    std::uint64_t hash(std::size_t i) const { return hashes_[i]; }
    std::size_t num_bytes() const { return static_cast<std::size_t>(begins_[size_] - begins_[0]); }

private:
    static constexpr std::ptrdiff_t kReadable = WordKey::kReadable;

    bool find_words() {
        if (is_done_) return false;
        std::size_t num_begins = 0;
        if (has_open_word_) begins_[num_begins++] = begins_[size_];
        if (starts_.next()) {
            const char* const window = text_.data() + starts_.window_begin();
            const char** const end = list_bits_(starts_.starts().data(), kBlocksPerWindow, window, &begins_[num_begins]);
            num_begins = static_cast<std::size_t>(end - begins_.data());
        } else {
            is_done_ = true;
            if (!has_open_word_) return false;
            begins_[num_begins++] = text_.data() + text_.size();
        }
        size_ = num_begins - 1;
        has_open_word_ = true;
        return true;
    }

    WordStarts starts_;
    ListBits list_bits_;
    std::string_view text_;
    const char* last_readable_;  // from where kReadable bytes can be read, as from all places before it; nullptr: none
    bool has_open_word_ = false;
    bool is_done_ = false;
    std::size_t size_ = 0;
    std::array<const char*, kMostWords + 1 + kListSlack> begins_;  // of the words, and the end of the last one
    std::array<WordKey, kMostWords> keys_;
    std::array<std::uint64_t, kMostWords> hashes_;
};

}  // namespace groundup
