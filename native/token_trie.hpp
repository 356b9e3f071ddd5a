// The tokens of a vocabulary as a tree of bytes: which is the longest one that a text begins with?
//
// A double array: the child of a node for a byte lies `byte` places behind the node's base, if its label is
// that byte. So a step costs one look at memory, and a node eight bytes. Where a single token goes on, its rest
// (its tail) is compared at once; half of the nodes are saved so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace groundup {

class TokenTrie {
public:
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    TokenTrie() = default;
    // The token with number i is tokens[i], or none where that is empty. All single bytes must be tokens.
    // is_complete() is false if there are too many.
    explicit TokenTrie(const std::vector<std::string_view>& tokens);

    bool is_complete() const { return is_complete_; }

    // The number of the longest token that the text (not empty) begins with.
    std::uint32_t longest(std::string_view text) const {
        const Node* node = &nodes_[kRootBase + byte_at(text, 0)];
        auto token = static_cast<std::uint32_t>(kNoToken);
        for (std::size_t i = 1;; ++i) {
            if (node->is_tail) {
                const auto tail_token = static_cast<std::uint32_t>(node->token);
                return begins_with_tail(text.substr(i), node->base) ? tail_token : shorter_[tail_token];
            }
            if (node->token != kNoToken) token = static_cast<std::uint32_t>(node->token);
            if (i == text.size()) return token;
            const std::size_t byte = byte_at(text, i);
            node = &nodes_[node->base + byte];
            if (node->label != byte) return token;
        }
    }

    // The longest token that the given one begins with, but for itself; kNone for a single byte.
    std::uint32_t shorter(std::uint32_t token) const { return shorter_[token]; }

private:
    static constexpr std::uint64_t kRootBase = 256;
    static constexpr std::uint64_t kNoLabel = 256;
    static constexpr int kBaseBits = 30;
    static constexpr int kTokenBits = 24;
    static constexpr std::uint64_t kMostBase = (std::uint64_t{1} << kBaseBits) - 1;
    static constexpr std::uint64_t kNoToken = (1 << kTokenBits) - 1;

    struct Node {
        std::uint64_t base : kBaseBits;  // 0: no children, and no node lies in the first 256 places
        std::uint64_t is_tail : 1;       // base is then the place of the tail, token the one that it belongs to
        std::uint64_t label : 9;
        std::uint64_t token : kTokenBits;  // which ends here
    };

    bool begins_with_tail(std::string_view text, std::size_t place) const {
        const std::string_view tail = std::string_view(tails_).substr(place + kLengthBytes, tail_length(place));
        return text.size() >= tail.size() && std::equal(tail.begin(), tail.end(), text.begin());
    }
    std::size_t tail_length(std::size_t place) const {
        std::uint32_t length;
        std::memcpy(&length, tails_.data() + place, kLengthBytes);
        return length;
    }
    std::size_t add_tail(std::string_view tail) {
        const std::size_t place = tails_.size();
        const auto length = static_cast<std::uint32_t>(tail.size());
        tails_.append(reinterpret_cast<const char*>(&length), kLengthBytes);
        tails_ += tail;
        return place;
    }

    static constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
    static std::size_t byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

    std::vector<Node> nodes_;
    std::string tails_;  // for each: its length, then its bytes
    std::vector<std::uint32_t> shorter_;
    bool is_complete_ = true;
};

}  // namespace groundup
