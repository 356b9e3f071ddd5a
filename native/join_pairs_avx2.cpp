// Compiled with -mavx2 -mbmi -mbmi2. As in byte_masks_avx2.cpp, no inline function of others may be compiled here, but
// for those that are always inlined.
#include <immintrin.h>

#include "join_pairs.hpp"

namespace groundup {

namespace {

std::int32_t smallest(const std::int32_t* numbers) {
    const auto* const p = reinterpret_cast<const __m256i*>(numbers);
    const __m256i eight = _mm256_min_epi32(_mm256_loadu_si256(p), _mm256_loadu_si256(p + 1));
    const __m128i four = _mm_min_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_min_epi32(four, _mm_shuffle_epi32(four, 0b01'00'11'10));
    return _mm_cvtsi128_si32(_mm_min_epi32(two, _mm_shuffle_epi32(two, 0b10'11'00'01)));
}

std::uint32_t find(const MergeTables& merges, std::uint64_t pair) {
    const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(pair));
    for (std::size_t i = bucket_of(pair, merges.num_slots);; i = (i + kMergeBucket) & (merges.num_slots - 1)) {
        const std::uint64_t* const slot = &merges.slots[i];
        const __m256i pairs = _mm256_srli_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(slot)), kSymbolBits);
        const int equal = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(pairs, wanted)));
        const auto there = static_cast<std::uint32_t>(slot[_tzcnt_u32(static_cast<unsigned>(equal) | 8)] & kSymbolMask);
        // They are taken in order. A full bucket goes on in the next one.
        if (slot[kMergeBucket - 1] == kFreeSlot || equal != 0) {
            std::uint32_t none = equal != 0 ? 0 : kNoSymbol;
            asm("" : "+r"(none));  // a choice of values: which pairs make a symbol cannot be foretold
            return there | none;
        }
    }
}

#include "join_pairs.inc"

}  // namespace

void join_pairs_avx2(const MergeTables& merges, ShortWord* words, std::size_t num_words) {
    join_pairs(merges, words, num_words);
}

}  // namespace groundup
