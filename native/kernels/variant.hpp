// The kernels of one instruction set; kernels.hpp says what they compute. Their sources, one for each, define these.
#pragma once

#include "kernels.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

extern const Kernels table;

void exp_each(const Exp& arguments);
void exp2_each(const Exp& arguments);
template <class From, class To>
void convert(const Convert<From, To>& arguments);
template <class Value>
void add_rms_norm(const AddRmsNorm<Value>& arguments);
template <class Value>
void add_rms_norm_backward(const AddRmsNormBackward<Value>& arguments);
template <class Value>
void swiglu(const SwiGlu<Value>& arguments);
template <class Value>
void swiglu_backward(const SwiGluBackward<Value>& arguments);
template <class Value>
void cross_entropy(const CrossEntropy<Value>& arguments);
template <class Value>
void cross_entropy_backward(const CrossEntropyBackward<Value>& arguments);
template <class Value>
void embedding(const Embedding<Value>& arguments);
template <class Value>
void embedding_backward(const EmbeddingBackward<Value>& arguments);
template <class Value>
void adamw(const AdamW<Value>& arguments);
template <class Value>
void sum_of_squares(const SumOfSquares<Value>& arguments);
template <class Value>
void scale(const Scale<Value>& arguments);
template <class Value>
void causal_attention(const CausalAttention<Value>& arguments);
template <class Value>
void causal_attention_backward(const CausalAttentionBackward<Value>& arguments);
void decode(const Decode& arguments);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
