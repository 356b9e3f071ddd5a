// Compiled with -mavx2 -mbmi -mbmi2. As in byte_masks_avx2.cpp, no inline function of others may be compiled here, but
// for those that are always inlined.
#include <immintrin.h>

#include "look_up.hpp"

namespace groundup {

std::size_t look_up_avx2(const char* const* begins, std::size_t num_words, WordLines lines, std::uint64_t* values,
                         std::uint16_t* open) {
    // First all keys, so that their lines arrive while other keys are made. They stand where the values go.
    for (std::size_t i = 0; i < num_words; ++i) {
        const std::uint64_t key = ShortKey::of(begins[i], static_cast<std::size_t>(begins[i + 1] - begins[i]));
        values[i] = key;
        __builtin_prefetch(&lines.of(key));
    }
    std::size_t num_open = 0;
    for (std::size_t i = 0; i < num_words; ++i) {
        const std::uint64_t key = values[i];
        const WordLine& line = lines.of(key);
        const __m256i keys = _mm256_load_si256(reinterpret_cast<const __m256i*>(line.keys));
        const __m256i equal = _mm256_cmpeq_epi64(keys, _mm256_set1_epi64x(static_cast<long long>(key)));
        const auto place = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(equal)));
        // Where a word lies, and whether its ids are inside, cannot be foretold: no branch asks. 8: the last one, so
        // that there is a place to read where none is equal.
        const std::uint64_t there = line.values[_tzcnt_u32(place | 8)];
        std::uint64_t is_there = std::uint64_t{0} - std::uint64_t{place != 0};
        asm("" : "+r"(is_there));
        const std::uint64_t value = there & is_there;
        values[i] = value;
        open[num_open] = static_cast<std::uint16_t>(i);
        num_open += 1 - (value >> 63);
    }
    return num_open;
}

}  // namespace groundup
