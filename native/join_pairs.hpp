// Short words from bytes to symbols: in each, the pair whose merge came first is joined, and again.
//
// Each step waits for the memory that the one before asked for, which takes longer than all there is to compute. So
// several words are worked on in turns. In the widest vectors that the processor has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace groundup {

// The tables of a MergeIndex, as plain as an instruction set of its own needs them.
struct MergeTables {
    const std::uint64_t* slots;     // buckets of kMergeBucket: a pair of symbols above, what they make below; all bits: free
    std::size_t num_slots;          // a power of two
    const std::uint32_t* of_bytes;  // by pairs of bytes: what they make, or kNoSymbol
};
inline constexpr std::size_t kMergeBucket = 4;
inline constexpr int kSymbolBits = 21;  // three symbols are a number
inline constexpr std::uint32_t kNoSymbol = 0xFFFFFFFF;
inline constexpr std::uint64_t kSymbolMask = (std::uint64_t{1} << kSymbolBits) - 1;
inline constexpr std::uint64_t kFreeSlot = ~std::uint64_t{0};

// Two symbols as one number, and the first slot of the bucket where it is looked for.
[[gnu::always_inline]] inline std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << kSymbolBits | right;
}
[[gnu::always_inline]] inline std::size_t bucket_of(std::uint64_t pair, std::size_t num_slots) {
    return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15u) >> 40) & (num_slots - kMergeBucket);
}

struct ShortWord {
    static constexpr std::size_t kMostBytes = 16;

    const char* bytes;
    std::size_t num_bytes;              // 1 to kMostBytes
    std::size_t num_symbols;            // the result
    std::uint32_t symbols[kMostBytes];  // the result
};

inline constexpr std::size_t kMostAtOnce = 16;

// Fills in the results of up to kMostAtOnce words.
using JoinPairs = void (*)(const MergeTables& merges, ShortWord* words, std::size_t num_words);

void join_pairs_portable(const MergeTables& merges, ShortWord* words, std::size_t num_words);
void join_pairs_avx2(const MergeTables& merges, ShortWord* words, std::size_t num_words);

}  // namespace groundup
