// Which symbol two symbols make, for symbols that each are made in one way only.
//
// Most pairs that are asked for make none. A bit table that stays in the processor's nearer caches answers
// nearly all of those; the others cost one look at a slot of eight bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "block.hpp"

namespace groundup {

class MergeIndex {
public:
    using Symbol = std::uint32_t;
    static constexpr Symbol kNone = 0xFFFFFFFF;

    struct Parts {
        Symbol left;
        Symbol right;
    };

    // Adds the arrays of an index to the block: parts[i] are those of symbol i, the 256 bytes (their own parts) first.
    static void build(const std::vector<Parts>& parts, BlockWriter& block);

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

    // The symbol that two bytes make, or kNone: a plain table.
    Symbol find_bytes(char left, char right) const {
        return of_bytes_[std::size_t{static_cast<unsigned char>(left)} << 8 | static_cast<unsigned char>(right)];
    }

    // The symbol that the pair makes, or kNone.
    Symbol find(Symbol left, Symbol right) const {
        const std::uint64_t hash = hash_of(left, right);
        const std::uint64_t bits = filter_bits(hash);
        if ((filter_[filter_word(hash)] & bits) != bits) return kNone;
        for (std::size_t i = place(hash); slots_[i] != kEmpty; i = (i + 1) & (slots_.size() - 1)) {
            if (((slots_[i] ^ hash) & kTagMask) != 0) continue;
            const auto symbol = static_cast<Symbol>(slots_[i]);
            if (parts_[symbol].left == left && parts_[symbol].right == right) return symbol;
        }
        return kNone;
    }

    Parts parts(Symbol symbol) const { return parts_[symbol]; }
    static bool is_byte(Symbol symbol) { return symbol < kNumBytes; }

private:
    static constexpr Symbol kNumBytes = 256;
    static constexpr std::size_t kFilterBits = 16;  // for each merge
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
    static constexpr std::uint64_t kTagMask = ~std::uint64_t{0} << 32;

    static std::uint64_t hash_of(Symbol left, Symbol right) {
        const std::uint64_t hash = (std::uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15u;
        return hash ^ (hash >> 29);
    }
    std::size_t place(std::uint64_t hash) const { return static_cast<std::size_t>(hash) & (slots_.size() - 1); }
    std::size_t filter_word(std::uint64_t hash) const {
        return static_cast<std::size_t>(hash >> 12) & (filter_.size() - 1);
    }
    static std::uint64_t filter_bits(std::uint64_t hash) {
        return std::uint64_t{1} << (hash & 63) | std::uint64_t{1} << (hash >> 6 & 63);
    }

    struct Starts {
        std::uint32_t left_edge;
        std::uint32_t right_edge;
    };

    std::span<const Parts> parts_;
    std::span<const Symbol> edges_;   // one after the other, each down to a byte
    std::span<const Starts> starts_;  // in edges_, of each symbol
    std::span<const Symbol> of_bytes_;    // by pairs of bytes
    std::span<const std::uint64_t> slots_;   // the upper half of the hash and the symbol; at most half of them in use
    std::span<const std::uint64_t> filter_;  // two bits in a word for each merge
};

}  // namespace groundup
