// Products of small matrices with their sums in registers: what attention is made of. Internal linkage: see vec.hpp.
//
// The left factor is read a value at a time, the right one and the result a vector at a time, so both have rows of
// whole vectors. Every step costs kTileRows x kTileVectors multiplications for kTileRows + kTileVectors loads.
#pragma once

#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

// As many sums as registers hold beside the factors: 12 of 16, 24 of 32.
constexpr std::size_t kTileRows = Floats::kWidth == 16 ? 12 : 6;
constexpr std::size_t kTileVectors = 2;
constexpr std::size_t kTileColumns = kTileVectors * Floats::kWidth;

constexpr std::size_t round_up(std::size_t size, std::size_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
}

// A left factor, (rows, steps), by the rows of the matrix at p ...
struct ByRows {
    const float* p;
    std::size_t stride;
    float at(std::size_t row, std::size_t step) const { return p[row * stride + step]; }
};
// ... or by its columns: the factor is that matrix transposed.
struct ByColumns {
    const float* p;
    std::size_t stride;
    float at(std::size_t row, std::size_t step) const { return p[step * stride + row]; }
};

enum class Into { kSet, kAdd };

// result = left * right, or += : kTileRows x kVectors vectors of it.
template <std::size_t kVectors, Into kInto, class Left>
[[gnu::always_inline]] inline void multiply_tile(Left left, const float* right, std::size_t right_stride,
                                                 std::size_t steps, float* result, std::size_t result_stride) {
    constexpr std::size_t kWidth = Floats::kWidth;
    Floats sums[kTileRows][kVectors];
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
        for (std::size_t v = 0; v < kVectors; ++v) {
            sums[i][v] = kInto == Into::kAdd ? load(result + i * result_stride, Whole{v * kWidth}) : Floats::all(0);
        }
    }
    for (std::size_t step = 0; step < steps; ++step) {
        Floats factors[kVectors];
#pragma GCC unroll 2
        for (std::size_t v = 0; v < kVectors; ++v) factors[v] = load(right + step * right_stride, Whole{v * kWidth});
#pragma GCC unroll 12
        for (std::size_t i = 0; i < kTileRows; ++i) {
            const Floats factor = Floats::all(left.at(i, step));
#pragma GCC unroll 2
            for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] = fma(factor, factors[v], sums[i][v]);
        }
    }
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
        for (std::size_t v = 0; v < kVectors; ++v) store(result + i * result_stride, Whole{v * kWidth}, sums[i][v]);
    }
}

// The same over rows of any number of whole vectors.
template <Into kInto, class Left>
inline void multiply_rows(Left left, const float* right, std::size_t right_stride, std::size_t steps,
                          std::size_t columns, float* result, std::size_t result_stride) {
    std::size_t i = 0;
    for (; i + kTileColumns <= columns; i += kTileColumns) {
        multiply_tile<kTileVectors, kInto>(left, right + i, right_stride, steps, result + i, result_stride);
    }
    if (i < columns) multiply_tile<1, kInto>(left, right + i, right_stride, steps, result + i, result_stride);
}

// left times the transpose of a matrix that pack_panels packed: `columns` of the result, rounded up to whole panels.
template <class Left>
inline void multiply_panels(Left left, const float* panels, std::size_t steps, std::size_t columns, float* result,
                            std::size_t result_stride) {
    for (std::size_t i = 0; i < columns; i += kTileColumns) {
        multiply_tile<kTileVectors, Into::kSet>(left, panels + i * steps, kTileColumns, steps, result + i,
                                                result_stride);
    }
}

// The transpose of a matrix in panels of kTileColumns of its rows, each panel (columns, kTileColumns); `rows` is a
// multiple of that.
inline void pack_panels(const float* matrix, std::size_t stride, std::size_t rows, std::size_t columns, float* panels) {
    for (std::size_t first = 0; first < rows; first += kTileColumns) {
        for (std::size_t column = 0; column < columns; ++column, panels += kTileColumns) {
            const float* const source = matrix + first * stride + column;
            for (std::size_t row = 0; row < kTileColumns; ++row) panels[row] = source[row * stride];
        }
    }
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
