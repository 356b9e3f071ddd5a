// 2^x for softmax, where no exponent is above 0. Internal linkage: see vec.hpp.
#pragma once

#include "vec.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {
namespace {

// 2^x to 2e-7 for x from -126 to 127, 0 below -127, NaN of NaN; in between, where it is subnormal, that or 0. Half the
// instructions of exp: one factor holds the power, and no product by log2(e) has to be made good.
//
// x = n + r with n whole and |r| <= 1/2; 2^r = 1 + r q(r), q fitted there to the least relative error.
inline Floats exp2(Floats x) {
    using Bits = std::uint32_t __attribute__((vector_size(sizeof(Floats))));
    // The sum has no bits left for a fraction: its lowest byte is n + 127, the exponent of 2^n.
    const Floats magic = Floats::all(0x1.8p+23f + 127);
    const Floats clamped = max(Floats::all(-127), x);
    const Floats sum = clamped + magic;
    const Floats r = clamped - (sum - magic);
    Floats power = sum;
    power.v = (decltype(power.v))((Bits)sum.v << 23);
    Floats q = Floats::all(0x1.5bba14p-10f);
    q = fma(q, r, Floats::all(0x1.3cea88p-7f));
    q = fma(q, r, Floats::all(0x1.c6b752p-5f));
    q = fma(q, r, Floats::all(0x1.ebf9bcp-3f));
    q = fma(q, r, Floats::all(0x1.62e42ap-1f));
    return fma(q, r, Floats::all(1)) * power;
}

}  // namespace
}  // namespace groundup::kernels::GROUNDUP_VARIANT
