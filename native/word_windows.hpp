// The words of a text, those of a window at a time.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "word_starts.hpp"

namespace groundup {

class WordWindows {
public:
    static constexpr std::size_t kMostWords = kWindowBytes + 1;

    // readable_end: to where memory may be read, at least to the end of the text.
    WordWindows(Pattern pattern, std::string_view text, const char* readable_end)
        : starts_(pattern, text),
          list_bits_(instruction_set().list_bits),
          text_(text),
          readable_end_(readable_end) {}

    // Moves on to the next words; false at the end of the text.
    bool next() {
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

    std::size_t size() const { return size_; }
    // Where each word begins, and where the last one ends.
    const char* const* begins() const { return begins_.data(); }
    std::string_view word(std::size_t i) const {
        return {begins_[i], static_cast<std::size_t>(begins_[i + 1] - begins_[i])};
    }
    std::size_t num_bytes() const { return static_cast<std::size_t>(begins_[size_] - begins_[0]); }

    // How many of the words, from the first on, have so many readable bytes behind their begin. The window is
    // short where it is not all of them.
    std::size_t num_readable(std::size_t num_bytes) const {
        std::size_t num_words = size_;
        while (num_words > 0 && readable_end_ - begins_[num_words - 1] < static_cast<std::ptrdiff_t>(num_bytes)) {
            --num_words;
        }
        return num_words;
    }

private:
    WordStarts starts_;
    ListBits list_bits_;
    std::string_view text_;
    const char* readable_end_;
    bool has_open_word_ = false;
    bool is_done_ = false;
    std::size_t size_ = 0;
    std::array<const char*, kMostWords + 1 + kListSlack> begins_;
};

}  // namespace groundup
