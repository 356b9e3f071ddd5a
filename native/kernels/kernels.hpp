// The kernels: what each computes and takes. One table of them per instruction set, chosen at run time.
//
// Arrays are plain pointers to dense rows; `Value` is float or Bf16, and arithmetic is float32 in either case. Sizes are
// any, zero among them; arrays must not overlap unless a field says so. No result depends on num_threads, at least 1. The oracles
// are functions of src/groundup/model and optim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "attention.hpp"
#include "bf16.hpp"
#include "decode.hpp"

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
    float* x_gradient;               // may be residual_gradient or x
    Value* x_gradient_copy;          // the same in Value; null: not wanted
    float* weight_gradient;
    std::size_t rows;
    std::size_t columns;
    std::size_t num_threads;
};

// out = silu(gate) * up, or silu(gate) alone; silu(z) = z / (1 + e^-z). Twin: model/ops.py, swiglu.
template <class Value>
struct SwiGlu {
    const Value* gate;
    const Value* up;     // null: SiLU
    std::size_t stride;  // from row to row of gate and of up, which may be two halves of the same rows
    Value* out;
    std::size_t rows;
    std::size_t columns;
    std::size_t num_threads;
};

template <class Value>
struct SwiGluBackward {
    const Value* gate;
    const Value* up;  // null: SiLU
    std::size_t stride;
    const Value* out_gradient;
    Value* gate_gradient;         // may be gate
    Value* up_gradient;           // null if up is; may be up
    std::size_t gradient_stride;  // of gate_gradient and up_gradient
    std::size_t rows;
    std::size_t columns;
    std::size_t num_threads;
};

// log_sums_i = log(sum_j e^(l_ij)), losses_i = log_sums_i - l_i,target and gradient_ij = scale * d losses_i / d l_ij,
// which is scale * (softmax_ij - [j = target]). Twin: model/loss.py, cross_entropy.
template <class Value>
struct CrossEntropy {
    const Value* logits;
    const std::int64_t* targets;  // each at least 0 and below columns: check_ids
    float* losses;
    float* log_sums;
    Value* gradient;  // may be logits; null: not wanted
    std::size_t rows;
    std::size_t columns;
    float scale;
    std::size_t num_threads;
};

// The gradient alone, from the log_sums that a forward pass left.
template <class Value>
struct CrossEntropyBackward {
    const Value* logits;
    const std::int64_t* targets;
    const float* log_sums;
    Value* gradient;  // may be logits
    std::size_t rows;
    std::size_t columns;
    float scale;
    std::size_t num_threads;
};

// out_i = weight_(ids_i). Twin: model/ops.py, embedding.
template <class Value>
struct Embedding {
    const Value* weight;
    const std::int64_t* ids;  // each at least 0 and below the number of rows of weight: check_ids
    Value* out;
    std::size_t rows;
    std::size_t columns;
    std::size_t num_threads;
};

// weight_gradient_v = the sum of the rows of out_gradient whose id is v, in their order.
template <class Value>
struct EmbeddingBackward {
    const Value* out_gradient;
    const std::int64_t* ids;
    float* weight_gradient;
    std::size_t rows;
    std::size_t columns;
    std::size_t vocab_size;
    bool accumulate;  // onto what weight_gradient holds, instead of onto 0
    std::size_t num_threads;
};

// A parameter and what its update needs; factors as AdamW makes them of rates, betas and the number of the update.
template <class Value>
struct AdamWTensor {
    float* parameter;
    float* m;
    float* v;
    const Value* gradient;
    Bf16* copy;  // the new parameter once more; null: not wanted
    std::size_t size;
    float keep;    // 1 - lr * weight_decay
    float rate;    // lr / (1 - beta1^t)
    float v_root;  // sqrt(1 - beta2^t)
};

// parameter *= keep; m += m_share * (g - m); v = v_keep * v + v_share * g^2;
// parameter -= rate * m / (sqrt(v) / v_root + eps), with g the gradient. Twin: optim/adamw.py.
template <class Value>
struct AdamW {
    const AdamWTensor<Value>* tensors;
    std::size_t num_tensors;
    float m_share;  // 1 - beta1
    float v_keep;   // beta2
    float v_share;  // 1 - beta2
    float eps;
    std::size_t num_threads;
};

template <class Value>
struct Values {
    Value* data;
    std::size_t size;
};

// *sum = the sum of the squares of all values: of 1,024 at a time in float32, of these sums in float64. Twin:
// optim/gradients.py, global_norm.
template <class Value>
struct SumOfSquares {
    const Values<const Value>* tensors;
    std::size_t num_tensors;
    double* sum;
    std::size_t num_threads;
};

// All values times factor. Twin: optim/gradients.py, clip_gradients.
template <class Value>
struct Scale {
    const Values<Value>* tensors;
    std::size_t num_tensors;
    float factor;
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
    void (*exp2)(const Exp&);
    void (*to_bf16)(const Convert<float, Bf16>&);
    void (*to_float)(const Convert<Bf16, float>&);
    Both<AddRmsNorm> add_rms_norm;
    Both<AddRmsNormBackward> add_rms_norm_backward;
    Both<SwiGlu> swiglu;
    Both<SwiGluBackward> swiglu_backward;
    Both<CrossEntropy> cross_entropy;
    Both<CrossEntropyBackward> cross_entropy_backward;
    Both<Embedding> embedding;
    Both<EmbeddingBackward> embedding_backward;
    Both<AdamW> adamw;
    Both<SumOfSquares> sum_of_squares;
    Both<Scale> scale;
    Both<CausalAttention> causal_attention;
    Both<CausalAttentionBackward> causal_attention_backward;
    void (*decode)(const Decode&);
};

// What this processor can run, the best first; "portable" is always the last.
const std::vector<const Kernels*>& kernel_variants();

// The one in use: the best, unless a test asked for another.
const Kernels& kernels();

// Throws std::invalid_argument for a name that is not among kernel_variants().
void use_kernel_variant(std::string_view name);

// Throws std::out_of_range, which names the first id that is below 0 or not below vocab_size.
void check_ids(const std::int64_t* ids, std::size_t num_ids, std::size_t vocab_size);

}  // namespace groundup::kernels
