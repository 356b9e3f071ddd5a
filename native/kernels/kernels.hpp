// The kernels: what each computes and takes. One table of them per instruction set, chosen at run time.
//
// Arrays are plain pointers to dense rows; `Value` is float or Bf16, and arithmetic is float32 in either case. Sizes are
// any, zero among them; arrays must not overlap unless a field says so. No result depends on num_threads. The oracles
// are functions of src/groundup/model and optim.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "bf16.hpp"

namespace groundup::kernels {

// y_i = e^(x_i), to test the primitive that others are made of.
struct Exp {
    const float* x;
    float* y;
    std::size_t size;
};

// To the nearest bf16 and, from bf16, exactly.
template <class From, class To>
struct Convert {
    const From* x;
    To* y;
    std::size_t size;
    std::size_t num_threads;
};

// sum = x + y; normed = sum / sqrt(mean(sum^2) + eps) * weight, for each row. Twin: model/ops.py, rms_norm.
template <class Value>
struct AddRmsNorm {
    const float* x;
    const Value* y;  // null: nothing is added, and sum is not written
    const float* weight;
    float* sum;  // may be x
    Value* normed;
    float* inverse_rms;  // one per row: 1 / sqrt(mean(sum^2) + eps), which the backward pass takes
    std::size_t rows;
    std::size_t columns;
    float eps;
    std::size_t num_threads;
};

// With g = normed_gradient * weight and n = x * inverse_rms:
// x_gradient = residual_gradient + inverse_rms * (g - n * mean(g * n)), weight_gradient = the sum over rows of
// normed_gradient * n.
template <class Value>
struct AddRmsNormBackward {
    const Value* normed_gradient;
    const float* x;  // the sum of the forward pass
    const float* inverse_rms;
    const float* weight;
    const float* residual_gradient;  // what reaches the sum on other ways; null: nothing
    float* x_gradient;               // may be residual_gradient
    Value* x_gradient_copy;          // the same in Value; null: not wanted
    float* weight_gradient;
    std::size_t rows;
    std::size_t columns;
    std::size_t num_threads;
};

// A kernel for both types of values.
template <template <class> class Arguments>
struct Both {
    void (*float32)(const Arguments<float>&);
    void (*bf16)(const Arguments<Bf16>&);

    void operator()(const Arguments<float>& arguments) const { float32(arguments); }
    void operator()(const Arguments<Bf16>& arguments) const { bf16(arguments); }
};

struct Kernels {
    const char* name;  // of the instruction set
    void (*exp)(const Exp&);
    void (*to_bf16)(const Convert<float, Bf16>&);
    void (*to_float)(const Convert<Bf16, float>&);
    Both<AddRmsNorm> add_rms_norm;
    Both<AddRmsNormBackward> add_rms_norm_backward;
};

// What this processor can run, the best first; "portable" is always the last.
const std::vector<const Kernels*>& kernel_variants();

// The one in use: the best, unless a test asked for another.
const Kernels& kernels();

// Throws std::invalid_argument for a name that is not among kernel_variants().
void use_kernel_variant(std::string_view name);

}  // namespace groundup::kernels
