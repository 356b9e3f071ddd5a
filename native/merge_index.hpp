// Which symbol two symbols make, for symbols that each are made in one way only.
//
// Most pairs that are asked for make none. A bit table that stays in the processor's nearer caches answers
// nearly all of those; the others cost one look at a slot of eight bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace groundup {

class MergeIndex {
public:
    using Symbol = std::uint32_t;
    static constexpr Symbol kNone = 0xFFFFFFFF;

    struct Parts {
        Symbol left;
        Symbol right;
    };

    void reserve(std::size_t num_merges) {
        slots_.assign(std::bit_ceil(num_merges * 2 + 2), kEmpty);
        filter_.assign(std::bit_ceil(num_merges * kFilterBits / 64 + 1), 0);
        parts_.reserve(num_merges + kNumBytes);
    }

    // Numbers symbols as they come: the 256 bytes (as their own parts), then one for each pair. No more than reserved.
    Symbol add(Parts parts) {
        const auto symbol = static_cast<Symbol>(parts_.size());
        parts_.push_back(parts);
        if (symbol < kNumBytes) return symbol;
        const std::uint64_t hash = hash_of(parts.left, parts.right);
        filter_[filter_word(hash)] |= filter_bits(hash);
        std::size_t i = place(hash);
        while (slots_[i] != kEmpty) i = (i + 1) & (slots_.size() - 1);
        slots_[i] = (hash & kTagMask) | symbol;
        return symbol;
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

    std::vector<Parts> parts_;
    std::vector<std::uint64_t> slots_;   // the upper half of the hash and the symbol; at most half of them in use
    std::vector<std::uint64_t> filter_;  // two bits in a word for each merge
};

}  // namespace groundup
