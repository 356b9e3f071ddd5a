// Compiled with -mavx2 -mbmi -mbmi2. As in byte_masks_avx2.cpp, no inline function of others may be compiled here, but
// for those that are always inlined.
#include <immintrin.h>

#include "look_up.hpp"

namespace groundup {

namespace {

constexpr std::size_t kGroup = 64;  // words: as many as a mask has bits

__m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

__m128i eight_bytes_of_two(const char* a, const char* b) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(a));
    return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(low), reinterpret_cast<const __m64*>(b)));
}

// The keys of four words.
__m256i keys_of(const char* const* begins) {
    const __m256i num_bits = _mm256_slli_epi64(_mm256_sub_epi64(load(begins + 1), load(begins)), 3);
    const __m256i unused = _mm256_sub_epi64(_mm256_set1_epi64x(64), num_bits);
    const __m256i bytes = _mm256_set_m128i(eight_bytes_of_two(begins[2], begins[3]),
                                           eight_bytes_of_two(begins[0], begins[1]));
    // Of a word that is too long the number is negative. As a shift that is a large one, which leaves nothing.
    return _mm256_srlv_epi64(_mm256_sllv_epi64(bytes, unused), unused);
}

// ShortKey::hash of four keys, as the places of their lines in bytes.
__m256i places_of(__m256i keys, __m128i hash_bits) {
    constexpr auto kFactors = static_cast<long long>(std::uint64_t{ShortKey::kHighFactor} << 32 | ShortKey::kLowFactor);
    const __m256i products = _mm256_mullo_epi32(keys, _mm256_set1_epi64x(kFactors));
    const __m256i hashes = _mm256_xor_si256(products, _mm256_srli_epi64(products, 32));
    const __m256i lines = _mm256_srl_epi64(_mm256_slli_epi64(hashes, 32), _mm_sub_epi64(_mm_set1_epi64x(64), hash_bits));
    return _mm256_slli_epi64(lines, 6);
    static_assert(sizeof(WordLine) == 64);
}

// The value of a key, or zeros: each half of it in one of the two numbers, and their union is the value.
__m128i look_up_one(const WordLine& line, const std::uint64_t* key) {
    const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(*key));
    const __m256i found = _mm256_and_si256(_mm256_cmpeq_epi64(load(line.keys), wanted), load(line.values));
    return _mm_or_si128(_mm256_castsi256_si128(found), _mm256_extracti128_si256(found, 1));
}

}  // namespace

std::size_t look_up_avx2(const char* const* begins, std::size_t num_words, WordLines lines, std::uint64_t* values,
                         std::uint16_t* open) {
    const __m128i hash_bits = _mm_cvtsi32_si128(lines.hash_bits);
    const auto* const first = reinterpret_cast<const char*>(lines.first);
    std::size_t num_open = 0;
    std::size_t i = 0;
    for (; i + kGroup <= num_words; i += kGroup) {
        // First all keys, which stand where the values go: their lines arrive while other keys are made.
        alignas(32) std::uint64_t places[kGroup];
        for (std::size_t j = 0; j < kGroup; j += 4) {
            const __m256i keys = keys_of(begins + i + j);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + i + j), keys);
            _mm256_store_si256(reinterpret_cast<__m256i*>(places + j), places_of(keys, hash_bits));
            for (std::size_t k = 0; k < 4; ++k) __builtin_prefetch(first + places[j + k]);
        }
        std::uint64_t is_inside = 0;
        for (std::size_t j = 0; j < kGroup; j += 2) {
            std::uint64_t* const two = values + i + j;
            const __m128i a = look_up_one(*reinterpret_cast<const WordLine*>(first + places[j]), two);
            const __m128i b = look_up_one(*reinterpret_cast<const WordLine*>(first + places[j + 1]), two + 1);
            const __m128i both = _mm_or_si128(_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(two), both);
            is_inside |= static_cast<std::uint64_t>(_mm_movemask_pd(_mm_castsi128_pd(both))) << j;
        }
        for (std::uint64_t rest = ~is_inside; rest != 0; rest &= rest - 1) {
            open[num_open++] = static_cast<std::uint16_t>(i + _tzcnt_u64(rest));
        }
    }
    for (; i < num_words; ++i) {
        const std::uint64_t key = ShortKey::of(begins[i], static_cast<std::size_t>(begins[i + 1] - begins[i]));
        const __m128i found = look_up_one(lines.of(key), &key);
        values[i] = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_or_si128(found, _mm_unpackhi_epi64(found, found))));
        open[num_open] = static_cast<std::uint16_t>(i);
        num_open += 1 - (values[i] >> 63);
    }
    return num_open;
}

}  // namespace groundup
