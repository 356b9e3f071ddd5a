// Which symbol two symbols make, for symbols that each are made in one way only.
//
// Whether a pair makes one cannot be foretold, and a wrong guess costs a processor more than the look-up itself. So a
// slot holds the pair and its symbol in one number, four slots lie side by side, and all four are compared without
// a branch: they are hardly ever all taken.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "block.hpp"
#include "join_pairs.hpp"

namespace groundup {

class MergeIndex {
public:
    using Symbol = std::uint32_t;
    static constexpr Symbol kNone = kNoSymbol;

    struct Parts {
        Symbol left;
        Symbol right;
    };

    // Adds the arrays of an index to the block: parts[i] are those of symbol i, the 256 bytes (their own parts) first.
    // False if there are too many.
    static bool build(const std::vector<Parts>& parts, BlockWriter& block);

    MergeIndex() = default;
    // An index out of a block, which must live as long.
    explicit MergeIndex(BlockReader& block);

    std::size_t num_symbols() const { return parts_.size(); }

    // Whether the two, side by side, stay as they are under the merges that make symbols below the limit.
    bool go_together(Symbol left, Symbol right, Symbol limit = kNone) const {
        // Back through the merges of both. The edge of a symbol: itself, its part at that side, the part of that, ...
        const Symbol* left_edge = &edges_[starts_[left].right_edge];
        const Symbol* right_edge = &edges_[starts_[right].left_edge];
        for (;;) {
            if (find(*left_edge, *right_edge) < limit) return false;
            if (is_byte(*left_edge) && is_byte(*right_edge)) return true;
            // Back to before the younger one was made; of two equal ones, the merges made the left one first. A merge
            // of both that comes with the left one's comes too late, with the right one's it does not.
            if (*left_edge > *right_edge) {
                limit = *left_edge++;
            } else {
                limit = *right_edge++ + 1;
            }
        }
    }

    // The symbol that the pair makes, or kNone.
    Symbol find(Symbol left, Symbol right) const {
        const std::uint64_t pair = pair_of(left, right);
        for (std::size_t i = bucket_of(pair, slots_.size());; i = (i + kMergeBucket) & (slots_.size() - 1)) {
            const std::uint64_t* const slot = &slots_[i];
            std::uint64_t symbol = kNone;
            for (std::size_t j = 0; j < kMergeBucket; ++j) {
                symbol = slot[j] >> kSymbolBits == pair ? slot[j] & kSymbolMask : symbol;
            }
            // They are taken in order. A full bucket goes on in the next one.
            if (slot[kMergeBucket - 1] == kFreeSlot || symbol != kNone) return static_cast<Symbol>(symbol);
        }
    }

    // The same for join_pairs.
    MergeTables tables() const { return {slots_.data(), slots_.size(), of_bytes_.data()}; }

    Parts parts(Symbol symbol) const { return parts_[symbol]; }
    static bool is_byte(Symbol symbol) { return symbol < kNumBytes; }

private:
    static constexpr Symbol kNumBytes = 256;
    static constexpr std::size_t kMostEdges = 256;  // for each symbol, on average

    struct Starts {
        std::uint32_t left_edge;
        std::uint32_t right_edge;
    };

    std::span<const Parts> parts_;
    std::span<const Symbol> edges_;         // one after the other, each down to a byte
    std::span<const Starts> starts_;        // in edges_, of each symbol
    std::span<const Symbol> of_bytes_;      // by pairs of bytes
    std::span<const std::uint64_t> slots_;  // pair and symbol; at most half of them in use
};

}  // namespace groundup
