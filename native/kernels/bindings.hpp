// Adds the kernels to the Python module.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

#include "bf16.hpp"

namespace groundup::kernels {

void bind_kernels(nanobind::module_& module);
void bind_attention(nanobind::module_& module);
void bind_decode(nanobind::module_& module);

using Address = std::uintptr_t;  // 0: null

template <class T>
T* at(Address address) {
    return reinterpret_cast<T*>(address);
}

template <class Kernel, class Arguments>
void run(const Kernel& kernel, const Arguments& arguments) {
    const nanobind::gil_scoped_release release;
    kernel(arguments);
}

// call.template operator()<Bf16>() or <float>().
template <class Call>
void for_type(bool bf16, Call&& call) {
    bf16 ? call.template operator()<Bf16>() : call.template operator()<float>();
}

}  // namespace groundup::kernels
