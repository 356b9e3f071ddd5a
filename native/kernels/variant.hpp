// The kernels of one instruction set; kernels.hpp says what they compute. Their sources, one for each, define these.
#pragma once

#include "kernels.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

extern const Kernels table;

void exp_each(const Exp& arguments);
template <class From, class To>
void convert(const Convert<From, To>& arguments);
template <class Value>
void add_rms_norm(const AddRmsNorm<Value>& arguments);
template <class Value>
void add_rms_norm_backward(const AddRmsNormBackward<Value>& arguments);

}  // namespace groundup::kernels::GROUNDUP_VARIANT
