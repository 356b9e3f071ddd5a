// The table of the kernels that are compiled for one instruction set.
#include "variant.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

#define GROUNDUP_NAME_OF(variant) #variant
#define GROUNDUP_NAME(variant) GROUNDUP_NAME_OF(variant)

// constinit: nothing of this source may run before the processor is known.
constinit const Kernels table = {
    .name = GROUNDUP_NAME(GROUNDUP_VARIANT),
    .exp = exp_each,
    .exp2 = exp2_each,
    .to_bf16 = convert,
    .to_float = convert,
    .add_rms_norm = {add_rms_norm, add_rms_norm},
    .add_rms_norm_backward = {add_rms_norm_backward, add_rms_norm_backward},
    .swiglu = {swiglu, swiglu},
    .swiglu_backward = {swiglu_backward, swiglu_backward},
    .cross_entropy = {cross_entropy, cross_entropy},
    .cross_entropy_backward = {cross_entropy_backward, cross_entropy_backward},
    .embedding = {embedding, embedding},
    .embedding_backward = {embedding_backward, embedding_backward},
    .adamw = {adamw, adamw},
    .sum_of_squares = {sum_of_squares, sum_of_squares},
    .scale = {scale, scale},
    .causal_attention = {causal_attention, causal_attention},
    .causal_attention_backward = {causal_attention_backward, causal_attention_backward},
    .decode = decode,
};

}  // namespace groundup::kernels::GROUNDUP_VARIANT
