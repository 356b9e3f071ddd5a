// Sixteen floats in a register of AVX-512 (F, BW, VL); with AVX512_BF16 the processor rounds to bf16. See vec.hpp.
#pragma once

#include <immintrin.h>

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

struct Floats {
    static constexpr std::size_t kWidth = 16;
    __m512 v;

    static Floats all(float x) { return {_mm512_set1_ps(x)}; }
};

inline Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Floats operator/(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats max(Floats a, Floats b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Floats min(Floats a, Floats b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Floats sqrt(Floats a) { return {_mm512_sqrt_ps(a.v)}; }
inline Floats round(Floats a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }

// a * 2^n, rounded once.
inline Floats times_power_of_2(Floats a, Floats n) { return {_mm512_scalef_ps(a.v, n.v)}; }

inline __mmask16 first_lanes(std::size_t count) { return static_cast<__mmask16>((1u << count) - 1); }

inline Floats widen(__m256i bf16) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16))};
}

// To the nearest bf16, ties to even; a NaN keeps its upper half and is made quiet. The instruction of AVX512_BF16 takes
// subnormal numbers for 0, which the other variants do not.
inline __m256i narrow(Floats a) {
#ifdef __AVX512BF16__
    return (__m256i)_mm512_cvtneps_pbh(a.v);
#else
    const __m512i bits = _mm512_castps_si512(a.v);
    const __m512i upper = _mm512_srli_epi32(bits, 16);
    const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_srli_epi32(
        _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF))), 16);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(rounded, is_nan, upper, _mm512_set1_epi32(0x40)));
#endif
}

inline Floats load(const float* p, Whole at) { return {_mm512_loadu_ps(p + at.begin)}; }
inline Floats load(const float* p, Part at) { return {_mm512_maskz_loadu_ps(first_lanes(at.count), p + at.begin)}; }
inline void store(float* p, Whole at, Floats a) { _mm512_storeu_ps(p + at.begin, a.v); }
inline void store(float* p, Part at, Floats a) { _mm512_mask_storeu_ps(p + at.begin, first_lanes(at.count), a.v); }

inline Floats load(const Bf16* p, Whole at) {
    return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + at.begin)));
}
inline Floats load(const Bf16* p, Part at) {
    return widen(_mm256_maskz_loadu_epi16(first_lanes(at.count), p + at.begin));
}
inline void store(Bf16* p, Whole at, Floats a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + at.begin), narrow(a));
}
inline void store(Bf16* p, Part at, Floats a) {
    _mm256_mask_storeu_epi16(p + at.begin, first_lanes(at.count), narrow(a));
}

// To the nearest whole numbers, which fit into 16 bits.
inline __m256i to_whole(Floats a) { return _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(a.v)); }
inline void store_whole(std::int16_t* p, Whole at, Floats a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + at.begin), to_whole(a));
}
inline void store_whole(std::int16_t* p, Part at, Floats a) {
    _mm256_mask_storeu_epi16(p + at.begin, first_lanes(at.count), to_whole(a));
}

struct WholeSums {
    __m512i v;
    static WholeSums zero() { return {_mm512_setzero_si512()}; }
};
struct WholePairs {
    __m512i v;
    static WholePairs all(const std::int16_t* pair) {
        std::int32_t both;
        __builtin_memcpy(&both, pair, sizeof both);
        return {_mm512_set1_epi32(both)};
    }
};
inline WholePairs load_pairs(const std::int8_t* p) {
    return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline WholeSums add_products(WholePairs a, WholePairs b, WholeSums sums) {
    return {_mm512_add_epi32(sums.v, _mm512_madd_epi16(a.v, b.v))};
}
inline Floats to_floats(WholeSums sums) { return {_mm512_cvtepi32_ps(sums.v)}; }

inline float sum(Floats a) { return _mm512_reduce_add_ps(a.v); }
inline float largest(Floats a) { return _mm512_reduce_max_ps(a.v); }

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
