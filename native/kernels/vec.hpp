// A vector of float32 as wide as the instruction set this source is compiled for, and what kernels do with it.
//
// Kernel sources are compiled once per instruction set (CMakeLists.txt), each time in a namespace of that name,
// GROUNDUP_VARIANT. All that lies here and in vec_*.hpp has internal linkage: an inline function compiled for AVX-512
// must never be the copy that the linker keeps for everyone. For the same reason kernels use nothing of the standard
// library that could leave such a copy behind (std::max, std::vector, std::sqrt).
//
// A row of any length is walked by for_each_vector or reduced by fold, whose last step may be a part of a vector:
//
//     for_each_vector(columns, [&](auto at) { store(out, at, load(x, at) * load(y, at)); });
#pragma once

#include <cstddef>
#include <cstdint>

#include "bf16.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

// Where a step of a row begins; a Part takes `count` places, fewer than a vector has.
struct Whole {
    std::size_t begin;
};
struct Part {
    std::size_t begin;
    std::size_t count;
};

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT

// Each gives Floats with kWidth, load and store (float32 and bf16, Whole and Part; the places beyond a Part are 0),
// + - * /, fma(a, b, c) = a * b + c, max and min (the second where either is NaN), sqrt, round, times_power_of_2,
// and the sum and the largest of a vector.
#if defined(__AVX512F__)
#include "vec_avx512.hpp"
#elif defined(__AVX2__)
#include "vec_avx2.hpp"
#else
#include "vec_portable.hpp"
#endif

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

template <class Body>
inline void for_each_vector(std::size_t size, Body&& body) {
    std::size_t i = 0;
    for (; i + Floats::kWidth <= size; i += Floats::kWidth) body(Whole{i});
    if (i < size) body(Part{i, size - i});
}

// Four sums at a time, for an addition has to wait for the one before: step(at, so_far) gives the sum with the values
// at `at`, join(a, b) puts two sums together. A Part's absent places must leave the sum as it is.
template <class Step, class Join>
inline Floats fold(std::size_t size, Floats start, Step&& step, Join&& join) {
    constexpr std::size_t kWidth = Floats::kWidth;
    Floats a = start, b = start, c = start, d = start;
    std::size_t i = 0;
    for (; i + 4 * kWidth <= size; i += 4 * kWidth) {
        a = step(Whole{i}, a);
        b = step(Whole{i + kWidth}, b);
        c = step(Whole{i + 2 * kWidth}, c);
        d = step(Whole{i + 3 * kWidth}, d);
    }
    for (; i + kWidth <= size; i += kWidth) a = step(Whole{i}, a);
    if (i < size) b = step(Part{i, size - i}, b);
    return join(join(a, b), join(c, d));
}

// The sum over a row of what step(at, so_far) adds to the sum so far.
template <class Step>
inline float sum_over(std::size_t size, Step&& step) {
    return sum(fold(size, Floats::all(0), step, [](Floats a, Floats b) { return a + b; }));
}

// e^x to 2e-7 (relative; where the result is subnormal, to its last bit). 0 below -104, infinite from 88.73 on, NaN of
// NaN.
//
// x = n ln 2 + r with n whole and |r| <= ln 2 / 2; e^r = 1 + r + r^2 q(r), q fitted there. Leaving that interval costs
// digits (a fit for [0, 1) used on [-1/2, 1/2] is off by 1.7e-4), hence the clamp and the rounding to nearest.
inline Floats exp(Floats x) {
    constexpr float kLog2E = 0x1.715476p+0f;
    constexpr float kLn2High = 0x1.62e4p-1f;  // 15 bits: exact when multiplied by n
    constexpr float kLn2Low = 0x1.7f7d1cp-20f;
    // NaN passes both: it is the second operand.
    const Floats clamped = min(Floats::all(90), max(Floats::all(-105), x));
    const Floats n = round(clamped * Floats::all(kLog2E));
    const Floats r = fma(n, Floats::all(-kLn2Low), fma(n, Floats::all(-kLn2High), clamped));
    Floats q = Floats::all(0x1.6a23d0p-10f);
    q = fma(q, r, Floats::all(0x1.123a20p-7f));
    q = fma(q, r, Floats::all(0x1.5558f2p-5f));
    q = fma(q, r, Floats::all(0x1.555492p-3f));
    q = fma(q, r, Floats::all(0x1.fffffcp-2f));
    return times_power_of_2(fma(r * r, q, r) + Floats::all(1), n);
}

// 1 / (1 + e^-x).
inline Floats sigmoid(Floats x) {
    const Floats one = Floats::all(1);
    return one / (one + exp(Floats::all(0) - x));
}

inline float to_float(float x) { return x; }
inline float to_float(Bf16 x) {
    const std::uint32_t bits = std::uint32_t{x.bits} << 16;
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
