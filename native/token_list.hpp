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

// What add_tokens added, in its place: the block must live as long.
class TokenList {
public:
    // Throws std::invalid_argument if the arrays do not fit together.
    explicit TokenList(BlockReader& block)
        : ids_(block.next<TokenId>()), lengths_(block.next<std::uint32_t>()), bytes_(block.next_text()) {
        if (ids_.size() != lengths_.size() ||
            std::accumulate(lengths_.begin(), lengths_.end(), std::uint64_t{0}) != bytes_.size()) {
            throw std::invalid_argument("stored tokens do not fit together");
        }
    }

    std::size_t size() const { return ids_.size(); }

    // Calls visit(bytes, id) for each token.
    template <class Visit>
    void for_each(Visit&& visit) const {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < ids_.size(); ++i) {
            visit(bytes_.substr(begin, lengths_[i]), ids_[i]);
            begin += lengths_[i];
        }
    }

    template <class Item>
    std::vector<Item> to_vector() const {
        std::vector<Item> items;
        items.reserve(size());
        for_each([&items](std::string_view bytes, TokenId id) { items.emplace_back(bytes, id); });
        return items;
    }

private:
    std::span<const TokenId> ids_;
    std::span<const std::uint32_t> lengths_;
    std::string_view bytes_;
};

}  // namespace groundup
