// The 16-bit float of training: the upper half of a float32, so the same range and 8 bits of precision.
#pragma once

#include <cstdint>

namespace groundup::kernels {

// Bits only; vec.hpp converts.
struct Bf16 {
    std::uint16_t bits;
};

}  // namespace groundup::kernels
