// Compiled with -mavx2 -mbmi -mpopcnt. Nothing of the standard library is used here: an inline function compiled for AVX2
// could be the copy that the linker keeps for everyone.
#include <immintrin.h>

#include "byte_masks.hpp"

namespace groundup {

namespace {

// 32 bytes each; the bits of both make a mask.
struct Half {
    __m256i bytes;

    __m256i equals(char byte) const { return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte)); }

    // 0x80-0xBF: as signed numbers those below 0xC0, which is -64.
    __m256i is_continuation() const { return _mm256_cmpgt_epi8(_mm256_set1_epi8(-64), bytes); }

    // first..last: after the subtraction, those that are at most last - first as unsigned numbers.
    __m256i in_range(char first, char last) const {
        const __m256i from_first = _mm256_sub_epi8(bytes, _mm256_set1_epi8(first));
        const __m256i most = _mm256_set1_epi8(static_cast<char>(last - first));
        return _mm256_cmpeq_epi8(_mm256_min_epu8(from_first, most), from_first);
    }
};

inline std::uint64_t bits(__m256i low, __m256i high) {
    const auto bits_of = [](__m256i bytes) { return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes)); };
    return std::uint64_t{bits_of(high)} << 32 | bits_of(low);
}

inline __m256i either(__m256i a, __m256i b) { return _mm256_or_si256(a, b); }

}  // namespace

void mask_bytes_avx2(const char* text, std::size_t num_blocks, ByteMasks* masks) {
    for (std::size_t block = 0; block < num_blocks; ++block) {
        const auto* const p = reinterpret_cast<const __m256i*>(text + block * kBlockBytes);
        const Half a{_mm256_loadu_si256(p)};
        const Half b{_mm256_loadu_si256(p + 1)};
        const __m256i upper_a = a.in_range('A', 'Z');
        const __m256i upper_b = b.in_range('A', 'Z');
        const __m256i blank_a = a.equals(' ');
        const __m256i blank_b = b.equals(' ');
        ByteMasks& m = masks[block];
        m.letter = bits(either(upper_a, a.in_range('a', 'z')), either(upper_b, b.in_range('a', 'z')));
        m.upper = bits(upper_a, upper_b);
        m.number = bits(a.in_range('0', '9'), b.in_range('0', '9'));
        m.space = bits(either(blank_a, a.in_range('\t', '\r')), either(blank_b, b.in_range('\t', '\r')));
        m.blank = bits(blank_a, blank_b);
        m.newline = bits(either(a.equals('\n'), a.equals('\r')), either(b.equals('\n'), b.equals('\r')));
        m.slash = bits(a.equals('/'), b.equals('/'));
        m.apostrophe = bits(a.equals('\''), b.equals('\''));
        m.high = bits(a.bytes, b.bytes);
        m.continuation = m.high == 0 ? 0 : bits(a.is_continuation(), b.is_continuation());
    }
}

const char** list_bits_avx2(const std::uint64_t* words, std::size_t num_words, const char* first,
                            const char** places) {
    // Eight at a time, set or not: how many there are cannot be foretold, and a wrong guess costs more.
    constexpr int kStep = 8;
    for (std::size_t i = 0; i < num_words; ++i, first += 64) {
        std::uint64_t bits = words[i];
        const char** const end = places + _mm_popcnt_u64(bits);
        do {
            for (int j = 0; j < kStep; ++j) {
                places[j] = first + _tzcnt_u64(bits);
                bits = _blsr_u64(bits);
            }
            places += kStep;
        } while (places < end);
        places = end;
    }
    return places;
}

}  // namespace groundup
