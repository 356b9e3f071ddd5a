// Eight floats in a register of AVX2, with FMA. See vec.hpp.
#pragma once

#include <immintrin.h>

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

struct Floats {
    static constexpr std::size_t kWidth = 8;
    __m256 v;

    static Floats all(float x) { return {_mm256_set1_ps(x)}; }
};

inline Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Floats operator/(Floats a, Floats b) { return {_mm256_div_ps(a.v, b.v)}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats max(Floats a, Floats b) { return {_mm256_max_ps(a.v, b.v)}; }
inline Floats min(Floats a, Floats b) { return {_mm256_min_ps(a.v, b.v)}; }
inline Floats sqrt(Floats a) { return {_mm256_sqrt_ps(a.v)}; }
inline Floats round(Floats a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }

// a * 2^n for whole n from -160 to 160, in two steps: one factor 2^n has no exponent to hold it at the ends.
inline Floats times_power_of_2(Floats a, Floats n) {
    const __m256i whole = _mm256_cvtps_epi32(n.v);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    const auto power = [](__m256i exponent) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23));
    };
    return {_mm256_mul_ps(_mm256_mul_ps(a.v, power(half)), power(_mm256_sub_epi32(whole, half)))};
}

inline __m256i first_lanes(std::size_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline Floats widen(__m128i bf16) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bf16), 16))};
}

// To the nearest bf16, ties to even; a NaN keeps its upper half and is made quiet.
inline __m128i narrow(Floats a) {
    const __m256i bits = _mm256_castps_si256(a.v);
    const __m256i upper = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
    const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q));
    const __m256i chosen = _mm256_blendv_epi8(rounded, quiet, is_nan);
    const __m256i packed = _mm256_packus_epi32(chosen, chosen);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}

inline Floats load(const float* p, Whole at) { return {_mm256_loadu_ps(p + at.begin)}; }
inline Floats load(const float* p, Part at) { return {_mm256_maskload_ps(p + at.begin, first_lanes(at.count))}; }
inline void store(float* p, Whole at, Floats a) { _mm256_storeu_ps(p + at.begin, a.v); }
inline void store(float* p, Part at, Floats a) { _mm256_maskstore_ps(p + at.begin, first_lanes(at.count), a.v); }

inline Floats load(const Bf16* p, Whole at) {
    return widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + at.begin)));
}
inline Floats load(const Bf16* p, Part at) {
    Bf16 row[Floats::kWidth] = {};
    __builtin_memcpy(row, p + at.begin, at.count * sizeof(Bf16));
    return load(row, Whole{0});
}
inline void store(Bf16* p, Whole at, Floats a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + at.begin), narrow(a));
}
inline void store(Bf16* p, Part at, Floats a) {
    Bf16 row[Floats::kWidth];
    store(row, Whole{0}, a);
    __builtin_memcpy(p + at.begin, row, at.count * sizeof(Bf16));
}

// To the nearest whole numbers, which fit into 16 bits.
inline __m128i to_whole(Floats a) {
    const __m256i wide = _mm256_cvtps_epi32(a.v);
    return _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
}
inline void store_whole(std::int16_t* p, Whole at, Floats a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + at.begin), to_whole(a));
}
inline void store_whole(std::int16_t* p, Part at, Floats a) {
    std::int16_t row[Floats::kWidth];
    store_whole(row, Whole{0}, a);
    __builtin_memcpy(p + at.begin, row, at.count * sizeof(std::int16_t));
}

struct WholeSums {
    __m256i v;
    static WholeSums zero() { return {_mm256_setzero_si256()}; }
};
struct WholePairs {
    __m256i v;
    static WholePairs all(const std::int16_t* pair) {
        std::int32_t both;
        __builtin_memcpy(&both, pair, sizeof both);
        return {_mm256_set1_epi32(both)};
    }
};
inline WholePairs load_pairs(const std::int8_t* p) {
    return {_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline WholeSums add_products(WholePairs a, WholePairs b, WholeSums sums) {
    return {_mm256_add_epi32(sums.v, _mm256_madd_epi16(a.v, b.v))};
}
inline Floats to_floats(WholeSums sums) { return {_mm256_cvtepi32_ps(sums.v)}; }

inline float sum(Floats a) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

inline float largest(Floats a) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
