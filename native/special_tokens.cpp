#include "special_tokens.hpp"

#include <algorithm>
#include <stdexcept>

#include "unicode.hpp"

namespace groundup {

namespace {

std::size_t byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

}  // namespace

SpecialTokens::SpecialTokens(const std::vector<std::string>& tokens) {
    sorted_.reserve(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].empty()) throw std::invalid_argument("a special token is empty: give it at least one character");
        sorted_.push_back({tokens[i], i});
    }
    // Equal tokens keep the order given.
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [](const Entry& a, const Entry& b) { return a.bytes < b.bytes; });
    const auto same = [](const Entry& a, const Entry& b) { return a.bytes == b.bytes; };
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), same), sorted_.end());
    for (const Entry& entry : sorted_) {
        longest_ = std::max(longest_, entry.bytes.size());
        const std::size_t first = byte_at(entry.bytes, 0);
        ++first_byte_[first + 1];
        if (entry.bytes.size() > 1) {
            first_two_bytes_.set(first << 8 | byte_at(entry.bytes, 1));
        } else {
            for (std::size_t second = 0; second < 256; ++second) first_two_bytes_.set(first << 8 | second);
        }
    }
    for (std::size_t b = 0; b < 256; ++b) first_byte_[b + 1] += first_byte_[b];
}

bool SpecialTokens::may_begin_at(std::string_view text, std::size_t begin) const {
    const std::size_t first = byte_at(text, begin);
    if (first_byte_[first] == first_byte_[first + 1]) return false;
    return begin + 1 == text.size() || first_two_bytes_[first << 8 | byte_at(text, begin + 1)];
}

SpecialTokens::Match SpecialTokens::match_at(std::string_view text, std::size_t begin, bool more_may_follow) const {
    Match match{kNowhere, 0, 0, false};
    auto low = sorted_.begin() + static_cast<std::ptrdiff_t>(first_byte_[byte_at(text, begin)]);
    auto high = sorted_.begin() + static_cast<std::ptrdiff_t>(first_byte_[byte_at(text, begin) + 1]);
    // [low, high): the tokens that agree with the text in `length` bytes; the one that is no longer than
    // that, if there is one, stands first.
    for (std::size_t length = 1; low != high; ++length) {
        if (low->bytes.size() == length) {
            match = {begin, length, low->index, false};
            ++low;
        }
        if (low == high) break;
        if (begin + length == text.size()) {
            if (more_may_follow) match.open = true;
            break;
        }
        const std::size_t wanted = byte_at(text, begin + length);
        const auto before = [length, wanted](const Entry& e) { return byte_at(e.bytes, length) < wanted; };
        const auto not_after = [length, wanted](const Entry& e) { return byte_at(e.bytes, length) <= wanted; };
        low = std::partition_point(low, high, before);
        high = std::partition_point(low, high, not_after);
    }
    if (match.open) match.begin = begin;
    return match;
}

SpecialTokens::Match SpecialTokens::find(std::string_view text, std::size_t from, bool more_may_follow) const {
    if (sorted_.empty()) return {kNowhere, 0, 0, false};
    // Mostly all of them begin with one byte, and memchr looks at many places at once.
    const bool one_first_byte = sorted_.front().bytes[0] == sorted_.back().bytes[0];
    for (std::size_t begin = from; begin < text.size(); ++begin) {
        if (one_first_byte) {
            begin = text.find(sorted_.front().bytes[0], begin);
            if (begin == std::string_view::npos) break;
        }
        if (!may_begin_at(text, begin)) continue;
        const Match match = match_at(text, begin, more_may_follow);
        if (match.begin != kNowhere) return match;
    }
    return {kNowhere, 0, 0, false};
}

bool SpecialTokens::straddles(std::string_view text, std::size_t cut) const {
    if (longest_ < 2) return false;
    for (std::size_t begin = cut > longest_ ? cut - longest_ + 1 : 0; begin < cut; ++begin) {
        if (!may_begin_at(text, begin)) continue;
        const Match match = match_at(text, begin, false);
        if (match.begin != kNowhere && begin + match.length > cut) return true;
    }
    return false;
}

}  // namespace groundup
