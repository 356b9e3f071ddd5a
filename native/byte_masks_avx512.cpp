// Compiled with -mavx512f -mavx512bw. Nothing of the standard library is used here (see byte_masks_avx2.cpp).
#include <immintrin.h>

#include "byte_masks.hpp"

namespace groundup {

namespace {

struct Block {
    __m512i bytes;

    std::uint64_t equals(char byte) const { return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte)); }

    std::uint64_t in_range(char first, char last) const {
        const __m512i from_first = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first));
        return _mm512_cmple_epu8_mask(from_first, _mm512_set1_epi8(static_cast<char>(last - first)));
    }
};

}  // namespace

void mask_bytes_avx512(const char* text, std::size_t num_blocks, ByteMasks* masks) {
    for (std::size_t block = 0; block < num_blocks; ++block) {
        const Block b{_mm512_loadu_si512(text + block * kBlockBytes)};
        ByteMasks& m = masks[block];
        m.upper = b.in_range('A', 'Z');
        m.letter = m.upper | b.in_range('a', 'z');
        m.number = b.in_range('0', '9');
        m.blank = b.equals(' ');
        m.space = m.blank | b.in_range('\t', '\r');
        m.newline = b.equals('\n') | b.equals('\r');
        m.slash = b.equals('/');
        m.apostrophe = b.equals('\'');
        m.high = _mm512_movepi8_mask(b.bytes);
        m.continuation = b.in_range(static_cast<char>(0x80), static_cast<char>(0xBF));
    }
}

}  // namespace groundup
