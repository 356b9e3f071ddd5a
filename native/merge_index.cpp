#include "merge_index.hpp"

namespace groundup {

bool MergeIndex::build(const std::vector<Parts>& parts, BlockWriter& block) {
    const std::size_t num_merges = parts.size() - kNumBytes;
    if (parts.size() >= kSymbolMask) return false;
    std::vector<std::uint64_t> slots(std::bit_ceil(num_merges * 2 + kMergeBucket), kFreeSlot);
    std::vector<Symbol> of_bytes(std::size_t{kNumBytes} * kNumBytes, kNone);
    for (auto symbol = Symbol{kNumBytes}; symbol < parts.size(); ++symbol) {
        const auto [left, right] = parts[symbol];
        if (is_byte(left) && is_byte(right)) of_bytes[left << 8 | right] = symbol;
        const std::uint64_t pair = pair_of(left, right);
        std::size_t i = bucket_of(pair, slots.size());
        while (slots[i] != kFreeSlot) i = (i + 1) & (slots.size() - 1);
        slots[i] = pair << kSymbolBits | symbol;
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
        // Tokens that grow by a byte at a time have long edges, whose number grows with the square.
        if (edges.size() > parts.size() * kMostEdges) return false;
    }
    block.add(parts);
    block.add(edges);
    block.add(starts);
    block.add(of_bytes);
    block.add(slots);
    return true;
}

MergeIndex::MergeIndex(BlockReader& block)
    : parts_(block.next<Parts>()),
      edges_(block.next<Symbol>()),
      starts_(block.next<Starts>()),
      of_bytes_(block.next<Symbol>()),
      slots_(block.next<std::uint64_t>()) {}

}  // namespace groundup
