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
#include <span>
#include <string_view>
#include <vector>

#include "block.hpp"

namespace groundup {

class TokenTrie {
public:
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    struct Match {
        std::uint32_t token;
        std::size_t length;
        std::size_t num_read;  // where so many bytes come again, so does the match
    };

    // Adds the arrays of a tree to the block. The token with number i is tokens[i], or none where that is empty;
    // all single bytes must be tokens. False if there are too many.
    static bool build(const std::vector<std::string_view>& tokens, BlockWriter& block);

    TokenTrie() = default;
    // A tree out of a block, which must live as long.
    explicit TokenTrie(BlockReader& block)
        : nodes_(block.next<Node>()), tails_(block.next_text()), shorter_(block.next<std::uint32_t>()) {}

    // The longest token that the text (not empty) begins with.
    Match longest(std::string_view text) const {
        const Node* node = &nodes_[kRootBase + byte_at(text, 0)];
        Match match{kNone, 0, 0};
        for (std::size_t i = 1;; ++i) {
            if (node->is_tail) {
                const auto token = static_cast<std::uint32_t>(node->token);
                const std::string_view tail = tail_at(node->base);
                const std::size_t end = i + tail.size();
                if (begins_with(text.substr(i), tail)) return {token, end, end};
                // The longest one that this one begins with is the last one met, or ends right here.
                return {shorter_[token], shorter_[token] == match.token ? match.length : i, end};
            }
            if (node->token != kNoToken) match = {static_cast<std::uint32_t>(node->token), i, 0};
            match.num_read = i + 1;
            if (i == text.size()) return match;
            const std::size_t byte = byte_at(text, i);
            node = &nodes_[node->base + byte];
            if (node->label != byte) return match;
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

    static constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

    std::string_view tail_at(std::size_t place) const {
        std::uint32_t length;
        std::memcpy(&length, tails_.data() + place, kLengthBytes);
        return tails_.substr(place + kLengthBytes, length);
    }
    static bool begins_with(std::string_view text, std::string_view tail) {
        return text.size() >= tail.size() && std::equal(tail.begin(), tail.end(), text.begin());
    }
    static std::size_t byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

    std::span<const Node> nodes_;
    std::string_view tails_;  // for each: its length, then its bytes
    std::span<const std::uint32_t> shorter_;
};

}  // namespace groundup
