// Four floats, as wide as the registers of SSE2 and NEON, in the vector types that GCC and Clang bring. See vec.hpp.
#pragma once

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

struct Floats {
    static constexpr std::size_t kWidth = 4;
    using Lanes = float __attribute__((vector_size(16)));
    using Bits = std::uint32_t __attribute__((vector_size(16)));
    Lanes v;

    static Floats all(float x) { return {Lanes{x, x, x, x}}; }
};

inline Floats operator+(Floats a, Floats b) { return {a.v + b.v}; }
inline Floats operator-(Floats a, Floats b) { return {a.v - b.v}; }
inline Floats operator*(Floats a, Floats b) { return {a.v * b.v}; }
inline Floats operator/(Floats a, Floats b) { return {a.v / b.v}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {a.v * b.v + c.v}; }
inline Floats max(Floats a, Floats b) { return {a.v > b.v ? a.v : b.v}; }
inline Floats min(Floats a, Floats b) { return {a.v < b.v ? a.v : b.v}; }

inline Floats sqrt(Floats a) {
    for (std::size_t i = 0; i < Floats::kWidth; ++i) a.v[i] = __builtin_sqrtf(a.v[i]);
    return a;
}

// To the nearest whole number, for sizes below 2^22: the sum has no bits left for a fraction.
inline Floats round(Floats a) {
    const Floats magic = Floats::all(0x1.8p+23f);
    return (a + magic) - magic;
}

// a * 2^n for whole n from -160 to 160, in two steps: one factor 2^n has no exponent to hold it at the ends.
inline Floats times_power_of_2(Floats a, Floats n) {
    using Ints = std::int32_t __attribute__((vector_size(16)));
    // NaN has no whole number; whatever stands for it, the product is NaN.
    const Floats::Lanes number = n.v == n.v ? n.v : Floats::Lanes{};
    const Ints whole = __builtin_convertvector(number, Ints);
    const Ints half = whole >> 1;
    return {a.v * (Floats::Lanes)((half + 127) << 23) * (Floats::Lanes)((whole - half + 127) << 23)};
}

inline Floats load(const float* p, Whole at) {
    Floats a;
    __builtin_memcpy(&a.v, p + at.begin, sizeof a.v);
    return a;
}
inline Floats load(const float* p, Part at) {
    Floats a = Floats::all(0);
    __builtin_memcpy(&a.v, p + at.begin, at.count * sizeof(float));
    return a;
}
inline void store(float* p, Whole at, Floats a) { __builtin_memcpy(p + at.begin, &a.v, sizeof a.v); }
inline void store(float* p, Part at, Floats a) { __builtin_memcpy(p + at.begin, &a.v, at.count * sizeof(float)); }

using HalfBits = std::uint16_t __attribute__((vector_size(8)));

inline Floats widen(HalfBits bf16) {
    return {(Floats::Lanes)(__builtin_convertvector(bf16, Floats::Bits) << 16)};
}

// To the nearest bf16, ties to even; a NaN keeps its upper half and is made quiet.
inline HalfBits narrow(Floats a) {
    const Floats::Bits bits = (Floats::Bits)a.v;
    const Floats::Bits upper = bits >> 16;
    const Floats::Bits rounded = (bits + (upper & 1) + 0x7FFF) >> 16;
    const Floats::Bits chosen = a.v == a.v ? rounded : (upper | 0x40);
    return __builtin_convertvector(chosen, HalfBits);
}

inline Floats load(const Bf16* p, Whole at) {
    HalfBits bits;
    __builtin_memcpy(&bits, p + at.begin, sizeof bits);
    return widen(bits);
}
inline Floats load(const Bf16* p, Part at) {
    HalfBits bits = {};
    __builtin_memcpy(&bits, p + at.begin, at.count * sizeof(Bf16));
    return widen(bits);
}
inline void store(Bf16* p, Whole at, Floats a) {
    const HalfBits bits = narrow(a);
    __builtin_memcpy(p + at.begin, &bits, sizeof bits);
}
inline void store(Bf16* p, Part at, Floats a) {
    const HalfBits bits = narrow(a);
    __builtin_memcpy(p + at.begin, &bits, at.count * sizeof(Bf16));
}

// To the nearest whole numbers, which fit into 16 bits.
inline void store_whole(std::int16_t* p, Whole at, Floats a) {
    const Floats whole = round(a);
    for (std::size_t i = 0; i < Floats::kWidth; ++i) p[at.begin + i] = static_cast<std::int16_t>(whole.v[i]);
}
inline void store_whole(std::int16_t* p, Part at, Floats a) {
    const Floats whole = round(a);
    for (std::size_t i = 0; i < at.count; ++i) p[at.begin + i] = static_cast<std::int16_t>(whole.v[i]);
}

using WholeNumbers = std::int32_t __attribute__((vector_size(16)));

struct WholeSums {
    WholeNumbers v;
    static WholeSums zero() { return {WholeNumbers{}}; }
};
struct WholePairs {
    WholeNumbers first;
    WholeNumbers second;
    static WholePairs all(const std::int16_t* p) {
        return {WholeNumbers{p[0], p[0], p[0], p[0]}, WholeNumbers{p[1], p[1], p[1], p[1]}};
    }
};
inline WholePairs load_pairs(const std::int8_t* p) {
    return {WholeNumbers{p[0], p[2], p[4], p[6]}, WholeNumbers{p[1], p[3], p[5], p[7]}};
}
inline WholeSums add_products(WholePairs a, WholePairs b, WholeSums sums) {
    return {sums.v + a.first * b.first + a.second * b.second};
}
inline Floats to_floats(WholeSums sums) { return {__builtin_convertvector(sums.v, Floats::Lanes)}; }

inline float sum(Floats a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }

inline float largest(Floats a) {
    float most = a.v[0];
    for (std::size_t i = 1; i < Floats::kWidth; ++i) most = most > a.v[i] ? most : a.v[i];
    return most;
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
