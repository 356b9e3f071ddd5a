// A few rows times a matrix in panels (decode.hpp): the weights are what costs, each is read once for several rows.
// Internal linkage: see vec.hpp.
//
// Every result is one sum in the order of the inputs, however many rows and panels are computed side by side: what a
// row gets does not depend on its neighbours.
#pragma once

#include "decode.hpp"
#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

constexpr std::size_t kPanelVectors = kPanel / Floats::kWidth;
// Sums side by side: as many as registers hold beside the factors, and enough that no addition waits for the last.
constexpr std::size_t kMaxSums = Floats::kWidth == 16 ? 24 : 12;
constexpr std::size_t kMaxRows = Floats::kWidth == 16 ? 8 : 6;

constexpr std::size_t vectors_for(std::size_t rows) {
    std::size_t vectors = kPanelVectors;
    while (rows * vectors > kMaxSums) vectors /= 2;
    return vectors;
}

struct Left {
    const float* p;
    std::size_t stride;  // from row to row
};

// Brings a row of a panel near; beyond the end of a matrix it does nothing.
template <class Weight>
[[gnu::always_inline]] inline void fetch(const Weight* p) {
    __builtin_prefetch(p);
    if constexpr (kPanel * sizeof(Weight) > 64) __builtin_prefetch(p + 64 / sizeof(Weight));
}

template <class Weight>
struct Panels {
    const Weight* p;
    std::size_t stride;   // from panel to panel
    std::size_t steps;    // inputs

    Panels from(std::size_t panel) const { return {p + panel * stride, stride, steps}; }
};

// Inputs that are multiplied at a time where rows need several rounds: so many of a panel stay in the nearest cache
// for all of them, with as many values of each row.
constexpr std::size_t kBlock = 256;

// Which inputs are multiplied, and whether those of the next block are fetched on the way.
struct Steps {
    std::size_t begin;
    std::size_t end;
    bool fetch;
};

// kVectors vectors, the first of them at `column`, of each of kPanels panels. Sums of earlier steps lie in `out`.
template <std::size_t kRows, std::size_t kPanels, std::size_t kVectors, class Weight>
[[gnu::always_inline]] inline void multiply_some(Left left, const Panels<Weight>& right, Steps steps,
                                                 std::size_t column, float* out, std::size_t out_stride) {
    constexpr std::size_t kWidth = Floats::kWidth;
    const auto place = [&](std::size_t v) { return Whole{v / kVectors * kPanel + column + v % kVectors * kWidth}; };
    Floats sums[kRows][kPanels * kVectors];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < kPanels * kVectors; ++v) {
            sums[i][v] = steps.begin == 0 ? Floats::all(0) : load(out + i * out_stride, place(v));
        }
    }
    for (std::size_t step = steps.begin; step < steps.end; ++step) {
        if (steps.fetch) fetch(right.p + (step + kBlock) * kPanel);
#pragma GCC unroll 8
        for (std::size_t v = 0; v < kPanels * kVectors; ++v) {
            const Weight* const values = right.p + v / kVectors * right.stride + step * kPanel;
            const Floats weight = load(values, Whole{column + v % kVectors * kWidth});
#pragma GCC unroll 8
            for (std::size_t i = 0; i < kRows; ++i) {
                sums[i][v] = fma(Floats::all(left.p[i * left.stride + step]), weight, sums[i][v]);
            }
        }
    }
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kPanels * kVectors; ++v) {
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kRows; ++i) store(out + i * out_stride, place(v), sums[i][v]);
    }
}

template <std::size_t kRows, class Weight>
inline void multiply_panel(Left left, const Panels<Weight>& right, Steps steps, float* out, std::size_t out_stride) {
    constexpr std::size_t kVectors = vectors_for(kRows);
    for (std::size_t column = 0; column < kPanel; column += kVectors * Floats::kWidth) {
        multiply_some<kRows, 1, kVectors>(left, right, steps, column, out, out_stride);
        steps.fetch = false;
    }
}

template <std::size_t kRows, class Weight>
inline void multiply_last_rows(std::size_t rows, Left left, const Panels<Weight>& right, Steps steps, float* out,
                               std::size_t out_stride) {
    if (rows == kRows) return multiply_panel<kRows>(left, right, steps, out, out_stride);
    if constexpr (kRows > 1) multiply_last_rows<kRows - 1>(rows, left, right, steps, out, out_stride);
}

// Whole panels of the product of `rows` rows with the first num_panels of `right`.
template <class Weight>
inline void multiply(Left left, std::size_t rows, const Panels<Weight>& right, std::size_t num_panels, float* out,
                     std::size_t out_stride) {
    std::size_t panel = 0;
    if (rows == 1 && kPanelVectors <= 4) {
        for (; panel + 2 <= num_panels; panel += 2) {
            multiply_some<1, 2, kPanelVectors>(left, right.from(panel), {0, right.steps, false}, 0,
                                               out + panel * kPanel, out_stride);
        }
    }
    const std::size_t per_block = rows * kPanelVectors <= kMaxSums ? right.steps : kBlock;
    for (; panel < num_panels; ++panel) {
        const Panels<Weight> one = right.from(panel);
        for (std::size_t begin = 0; begin < right.steps; begin += per_block) {
            const std::size_t end = right.steps - begin < per_block ? right.steps : begin + per_block;
            for (std::size_t row = 0; row < rows; row += kMaxRows) {
                const std::size_t some = rows - row < kMaxRows ? rows - row : kMaxRows;
                multiply_last_rows<kMaxRows>(some, Left{left.p + row * left.stride, left.stride}, one,
                                             {begin, end, row == 0 && per_block == kBlock},
                                             out + row * out_stride + panel * kPanel, out_stride);
            }
        }
    }
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
