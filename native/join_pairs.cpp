#include "join_pairs.hpp"

namespace groundup {

namespace {

// Written so that it becomes vectors of what every processor has.
std::int32_t smallest(const std::int32_t* numbers) {
    using Four = std::int32_t __attribute__((vector_size(16)));
    Four four[4];
    static_assert(sizeof four == ShortWord::kMostBytes * sizeof *numbers);
    __builtin_memcpy(four, numbers, sizeof four);
    const Four a = four[0] < four[1] ? four[0] : four[1];
    const Four b = four[2] < four[3] ? four[2] : four[3];
    const Four c = a < b ? a : b;
    const std::int32_t d = c[0] < c[1] ? c[0] : c[1];
    const std::int32_t e = c[2] < c[3] ? c[2] : c[3];
    return d < e ? d : e;
}

std::uint32_t find(const MergeTables& merges, std::uint64_t pair) {
    for (std::size_t i = bucket_of(pair, merges.num_slots);; i = (i + kMergeBucket) & (merges.num_slots - 1)) {
        const std::uint64_t* const slot = &merges.slots[i];
        std::uint64_t symbol = kNoSymbol;
        for (std::size_t j = 0; j < kMergeBucket; ++j) {
            symbol = slot[j] >> kSymbolBits == pair ? slot[j] & kSymbolMask : symbol;
        }
        // They are taken in order. A full bucket goes on in the next one.
        if (slot[kMergeBucket - 1] == kFreeSlot || symbol != kNoSymbol) return static_cast<std::uint32_t>(symbol);
    }
}

#include "join_pairs.inc"

}  // namespace

void join_pairs_portable(const MergeTables& merges, ShortWord* words, std::size_t num_words) {
    join_pairs(merges, words, num_words);
}

}  // namespace groundup
