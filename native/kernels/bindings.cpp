// The Python face of the kernels: addresses in, nothing out. src/groundup/kernels checks what it passes; nanobind's
// arrays know no bf16 and refuse tensors that require a gradient.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace groundup::kernels {

namespace {

using Address = std::uintptr_t;  // 0: null

template <class T>
T* at(Address address) {
    return reinterpret_cast<T*>(address);
}

template <class Kernel, class Arguments>
void run(const Kernel& kernel, const Arguments& arguments) {
    const nb::gil_scoped_release release;
    kernel(arguments);
}

// call.template operator()<Bf16>() or <float>().
template <class Call>
void for_type(bool bf16, Call&& call) {
    bf16 ? call.template operator()<Bf16>() : call.template operator()<float>();
}

void bind_primitives(nb::module_& module) {
    module.def("exp_each", [](Address x, Address y, std::size_t size) {
        run(kernels().exp, Exp{at<const float>(x), at<float>(y), size});
    }, "x"_a, "y"_a, "size"_a);
    module.def("to_bf16", [](Address x, Address y, std::size_t size, std::size_t num_threads) {
        run(kernels().to_bf16, Convert<float, Bf16>{at<const float>(x), at<Bf16>(y), size, num_threads});
    }, "x"_a, "y"_a, "size"_a, "num_threads"_a);
    module.def("to_float", [](Address x, Address y, std::size_t size, std::size_t num_threads) {
        run(kernels().to_float, Convert<Bf16, float>{at<const Bf16>(x), at<float>(y), size, num_threads});
    }, "x"_a, "y"_a, "size"_a, "num_threads"_a);
}

void bind_rms_norm(nb::module_& module) {
    module.def("add_rms_norm",
               [](Address x, Address y, Address weight, Address sum, Address normed, Address inverse_rms,
                  std::size_t rows, std::size_t columns, float eps, bool bf16, std::size_t num_threads) {
                   for_type(bf16, [&]<class Value>() {
                       run(kernels().add_rms_norm,
                           AddRmsNorm<Value>{at<const float>(x), at<const Value>(y), at<const float>(weight),
                                             at<float>(sum), at<Value>(normed), at<float>(inverse_rms), rows, columns,
                                             eps, num_threads});
                   });
               },
               "x"_a, "y"_a, "weight"_a, "sum"_a, "normed"_a, "inverse_rms"_a, nb::kw_only(), "rows"_a, "columns"_a,
               "eps"_a, "bf16"_a, "num_threads"_a);
    module.def("add_rms_norm_backward",
               [](Address normed_gradient, Address x, Address inverse_rms, Address weight, Address residual_gradient,
                  Address x_gradient, Address x_gradient_copy, Address weight_gradient, std::size_t rows,
                  std::size_t columns, bool bf16, std::size_t num_threads) {
                   for_type(bf16, [&]<class Value>() {
                       run(kernels().add_rms_norm_backward,
                           AddRmsNormBackward<Value>{
                               at<const Value>(normed_gradient), at<const float>(x), at<const float>(inverse_rms),
                               at<const float>(weight), at<const float>(residual_gradient), at<float>(x_gradient),
                               at<Value>(x_gradient_copy), at<float>(weight_gradient), rows, columns, num_threads});
                   });
               },
               "normed_gradient"_a, "x"_a, "inverse_rms"_a, "weight"_a, "residual_gradient"_a, "x_gradient"_a,
               "x_gradient_copy"_a, "weight_gradient"_a, nb::kw_only(), "rows"_a, "columns"_a, "bf16"_a,
               "num_threads"_a);
}

}  // namespace

void bind_kernels(nb::module_& module) {
    module.def("kernel_variants", [] {
        std::vector<std::string> names;
        for (const Kernels* variant : kernel_variants()) names.emplace_back(variant->name);
        return names;
    });
    module.def("use_kernel_variant", [](const std::string& name) { use_kernel_variant(name); }, "name"_a);
    module.def("has_openmp_threads", &has_openmp_threads);
    bind_primitives(module);
    bind_rms_norm(module);
}

}  // namespace groundup::kernels
