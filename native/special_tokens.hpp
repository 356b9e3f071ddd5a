// Literal special tokens in text: found leftmost first, and longest first at one place.
// Twin: reference.py, split_special.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace groundup {

// A sorted list, narrowed byte by byte from the place where a token may begin. A place whose first two
// bytes begin no token costs two look-ups, so a hundred thousand special tokens do not slow the text down.
class SpecialTokens {
public:
    // Throws std::invalid_argument for an empty token. A token given twice keeps its first index.
    explicit SpecialTokens(const std::vector<std::string>& tokens);

    struct Match {
        std::size_t begin;   // kNowhere: no special token
        std::size_t length;  // bytes
        std::size_t index;   // place in the list given
        bool open;           // a special token, or a longer one, may begin here: the text ends too early to tell
    };

    bool empty() const { return sorted_.empty(); }
    std::size_t longest() const { return longest_; }

    // The first special token at or after `from`. With `more_may_follow` a place where the rest of the text
    // is the beginning of a longer token ends the search as an open match.
    Match find(std::string_view text, std::size_t from, bool more_may_follow = false) const;

    // Whether a special token begins before `cut` and ends after it.
    bool straddles(std::string_view text, std::size_t cut) const;

private:
    struct Entry {
        std::string bytes;
        std::size_t index;
    };

    Match match_at(std::string_view text, std::size_t begin, bool more_may_follow) const;
    bool may_begin_at(std::string_view text, std::size_t begin) const;

    std::vector<Entry> sorted_;
    std::size_t longest_ = 0;
    // Those that begin with byte b: sorted_[first_byte_[b]] to before sorted_[first_byte_[b + 1]].
    std::array<std::size_t, 257> first_byte_{};
    std::bitset<65536> first_two_bytes_;
};

}  // namespace groundup
