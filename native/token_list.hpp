// Tokens and their ids as arrays in a block, out of which they can be read in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "block.hpp"
#include "id_buffer.hpp"

namespace groundup {

using TokenView = std::pair<std::string_view, TokenId>;

inline void add_tokens(const std::vector<TokenView>& tokens, BlockWriter& block) {
    std::vector<TokenId> ids;
    std::vector<std::uint32_t> lengths;
    std::string all_bytes;
    for (const auto& [bytes, id] : tokens) {
        ids.push_back(id);
        lengths.push_back(static_cast<std::uint32_t>(bytes.size()));
        all_bytes += bytes;
    }
    block.add(ids);
    block.add(lengths);
    block.add(std::string_view(all_bytes));
}

// What add_tokens added; the block must live as long as the views. Throws std::invalid_argument if it does not fit.
inline std::vector<TokenView> next_tokens(BlockReader& block) {
    const std::span<const TokenId> ids = block.next<TokenId>();
    const std::span<const std::uint32_t> lengths = block.next<std::uint32_t>();
    std::string_view bytes = block.next_text();
    if (ids.size() != lengths.size() ||
        std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}) != bytes.size()) {
        throw std::invalid_argument("stored tokens do not fit together");
    }
    std::vector<TokenView> tokens;
    tokens.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        tokens.emplace_back(bytes.substr(0, lengths[i]), ids[i]);
        bytes.remove_prefix(lengths[i]);
    }
    return tokens;
}

}  // namespace groundup
