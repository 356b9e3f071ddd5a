#include "merge_index.hpp"

#include <stdexcept>

namespace groundup {

void MergeIndex::build(const std::vector<Parts>& parts, BlockWriter& block) {
    const std::size_t num_merges = parts.size() - kNumBytes;
    std::vector<std::uint64_t> slots(std::bit_ceil(num_merges * 2 + 2), kEmpty);
    std::vector<std::uint64_t> filter(std::bit_ceil(num_merges * kFilterBits / 64 + 1));
    std::vector<Symbol> of_bytes(std::size_t{kNumBytes} * kNumBytes, kNone);
    for (auto symbol = Symbol{kNumBytes}; symbol < parts.size(); ++symbol) {
        const auto [left, right] = parts[symbol];
        if (is_byte(left) && is_byte(right)) of_bytes[left << 8 | right] = symbol;
        const std::uint64_t hash = hash_of(left, right);
        filter[static_cast<std::size_t>(hash >> 12) & (filter.size() - 1)] |= filter_bits(hash);
        std::size_t i = static_cast<std::size_t>(hash) & (slots.size() - 1);
        while (slots[i] != kEmpty) i = (i + 1) & (slots.size() - 1);
        slots[i] = (hash & kTagMask) | symbol;
    }
    std::vector<Symbol> edges;
    std::vector<Starts> starts;
    for (Symbol symbol = 0; symbol < parts.size(); ++symbol) {
        Starts start{};
        start.left_edge = static_cast<std::uint32_t>(edges.size());
        for (Symbol s = symbol;; s = parts[s].left) {
            edges.push_back(s);
            if (is_byte(s)) break;
        }
        start.right_edge = static_cast<std::uint32_t>(edges.size());
        for (Symbol s = symbol;; s = parts[s].right) {
            edges.push_back(s);
            if (is_byte(s)) break;
        }
        starts.push_back(start);
    }
    block.add(parts);
    block.add(edges);
    block.add(starts);
    block.add(of_bytes);
    block.add(slots);
    block.add(filter);
}

MergeIndex::MergeIndex(BlockReader& block)
    : parts_(block.next<Parts>()),
      edges_(block.next<Symbol>()),
      starts_(block.next<Starts>()),
      of_bytes_(block.next<Symbol>()),
      slots_(block.next<std::uint64_t>()),
      filter_(block.next<std::uint64_t>()) {}

}  // namespace groundup
