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
    static void build(const std::vector<Parts>& parts, BlockWriter& block) {
        const std::size_t num_merges = parts.size() - kNumBytes;
        std::vector<std::uint64_t> slots(std::bit_ceil(num_merges * 2 + 2), kEmpty);
        std::vector<std::uint64_t> filter(std::bit_ceil(num_merges * kFilterBits / 64 + 1));
        for (auto symbol = Symbol{kNumBytes}; symbol < parts.size(); ++symbol) {
            const std::uint64_t hash = hash_of(parts[symbol].left, parts[symbol].right);
            filter[static_cast<std::size_t>(hash >> 12) & (filter.size() - 1)] |= filter_bits(hash);
            std::size_t i = static_cast<std::size_t>(hash) & (slots.size() - 1);
            while (slots[i] != kEmpty) i = (i + 1) & (slots.size() - 1);
            slots[i] = (hash & kTagMask) | symbol;
        }
        block.add(parts);
        block.add(slots);
        block.add(filter);
    }

    MergeIndex() = default;
    // An index out of a block, which must live as long.
    explicit MergeIndex(BlockReader& block)
        : parts_(block.next<Parts>()), slots_(block.next<std::uint64_t>()), filter_(block.next<std::uint64_t>()) {}

    std::size_t num_symbols() const { return parts_.size(); }

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

    std::span<const Parts> parts_;
    std::span<const std::uint64_t> slots_;   // the upper half of the hash and the symbol; at most half of them in use
    std::span<const std::uint64_t> filter_;  // two bits in a word for each merge
};

}  // namespace groundup
