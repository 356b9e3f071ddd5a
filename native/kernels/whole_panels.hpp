// A few rows times an int8 matrix in panels (decode.hpp), in whole numbers. Internal linkage: see vec.hpp.
//
// Each row is rounded to 16 bits with a scale of its own. Two products of 8 and 16 bits are one instruction where a
// float32 product would be two, and their sums are exact: they depend on no order.
#pragma once

#include "decode.hpp"
#include "panels.hpp"
#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

struct WholeRows {
    const std::int16_t* p;
    std::size_t stride;   // from row to row, even
    const float* scales;  // what 1 stands for, in each row
};

// The largest whole number of a row: as many products with int8 as it has inputs stay below 2^31.
constexpr std::int32_t largest_whole(std::size_t inputs) {
    const std::size_t most = INT32_MAX / 128 / (inputs == 0 ? 1 : inputs);
    return most < INT16_MAX ? static_cast<std::int32_t>(most) : INT16_MAX;
}

// The nearest whole numbers to row / scale, for the scale it returns: the row's largest value over largest_whole. NaN
// where a value is not finite; 0 where nothing is left of any.
inline float round_row(const float* row, std::size_t size, std::int16_t* whole) {
    const float most = largest(fold(size, Floats::all(0),
                                    [&](auto at, Floats so_far) {
                                        const Floats v = load(row, at);
                                        return max(max(v, Floats::all(0) - v), so_far);
                                    },
                                    [](Floats a, Floats b) { return max(a, b); }));
    const float unknown = sum_over(size, [&](auto at, Floats so_far) {  // 0, or NaN
        return fma(load(row, at), Floats::all(0), so_far);
    });
    const float limit = static_cast<float>(largest_whole(size));
    const float per_scale = limit / most;
    const bool is_zero = unknown != unknown || per_scale > 0x1p+120f;
    const Floats factor = Floats::all(is_zero ? 0 : per_scale);
    for_each_vector(size, [&](auto at) {
        store_whole(whole, at, is_zero ? Floats::all(0) : load(row, at) * factor);
    });
    return unknown + (is_zero ? 0 : most / limit);
}

// Pairs of inputs that are fetched ahead of those that are multiplied, 2 KB: what runs ahead on its own is less.
constexpr std::size_t kAhead = 32;

// kVectors vectors of a panel, the first of them at `column`, for each of kRows rows.
template <std::size_t kRows, std::size_t kVectors>
[[gnu::always_inline]] inline void multiply_some(WholeRows left, const std::int8_t* panel, std::size_t num_pairs,
                                                 const float* scales, std::size_t column, float* out,
                                                 std::size_t out_stride) {
    constexpr std::size_t kWidth = Floats::kWidth;
    WholeSums sums[kRows][kVectors];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] = WholeSums::zero();
    }
    for (std::size_t pair = 0; pair < num_pairs; ++pair) {
        if (column == 0) __builtin_prefetch(panel + 2 * (pair + kAhead) * kPanel);
        WholePairs weights[kVectors];
#pragma GCC unroll 8
        for (std::size_t v = 0; v < kVectors; ++v) {
            weights[v] = load_pairs(panel + 2 * (pair * kPanel + column + v * kWidth));
        }
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kRows; ++i) {
            const WholePairs factor = WholePairs::all(left.p + i * left.stride + 2 * pair);
#pragma GCC unroll 8
            for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] = add_products(factor, weights[v], sums[i][v]);
        }
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kRows; ++i) {
        const Floats scale = Floats::all(left.scales[i]);
#pragma GCC unroll 8
        for (std::size_t v = 0; v < kVectors; ++v) {
            const Whole at{column + v * kWidth};
            store(out + i * out_stride, at, to_floats(sums[i][v]) * load(scales, at) * scale);
        }
    }
}

template <std::size_t kRows>
inline void multiply_last_rows(std::size_t rows, WholeRows left, const std::int8_t* panel, std::size_t num_pairs,
                               const float* scales, float* out, std::size_t out_stride) {
    if (rows == kRows) {
        constexpr std::size_t kVectors = vectors_for(kRows);
        for (std::size_t column = 0; column < kPanel; column += kVectors * Floats::kWidth) {
            multiply_some<kRows, kVectors>(left, panel, num_pairs, scales, column, out, out_stride);
        }
        return;
    }
    if constexpr (kRows > 1) multiply_last_rows<kRows - 1>(rows, left, panel, num_pairs, scales, out, out_stride);
}

// Whole panels of the product of `rows` rows with `num_panels` panels of inputs / 2 pairs.
inline void multiply(WholeRows left, std::size_t rows, const std::int8_t* panels, const float* scales,
                     std::size_t inputs, std::size_t num_panels, float* out, std::size_t out_stride) {
    const std::size_t num_pairs = (inputs + 1) / 2;
    for (std::size_t panel = 0; panel < num_panels; ++panel) {
        for (std::size_t row = 0; row < rows; row += kMaxRows) {
            const WholeRows some{left.p + row * left.stride, left.stride, left.scales + row};
            multiply_last_rows<kMaxRows>(rows - row < kMaxRows ? rows - row : kMaxRows, some,
                                         panels + panel * num_pairs * 2 * kPanel, num_pairs, scales + panel * kPanel,
                                         out + row * out_stride + panel * kPanel, out_stride);
        }
    }
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
