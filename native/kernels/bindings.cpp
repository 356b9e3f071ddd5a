// The Python face of the kernels: addresses in, nothing out. src/groundup/kernels checks what it passes; nanobind's
// arrays know no bf16 and refuse tensors that require a gradient.
#include "bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace groundup::kernels {

namespace {

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

void bind_swiglu(nb::module_& module) {
    module.def("swiglu",
               [](Address gate, Address up, Address out, std::size_t stride, std::size_t rows, std::size_t columns,
                  bool bf16, std::size_t num_threads) {
                   for_type(bf16, [&]<class Value>() {
                       run(kernels().swiglu, SwiGlu<Value>{at<const Value>(gate), at<const Value>(up), stride,
                                                           at<Value>(out), rows, columns, num_threads});
                   });
               },
               "gate"_a, "up"_a, "out"_a, nb::kw_only(), "stride"_a, "rows"_a, "columns"_a, "bf16"_a, "num_threads"_a);
    module.def("swiglu_backward",
               [](Address gate, Address up, Address out_gradient, Address gate_gradient, Address up_gradient,
                  std::size_t stride, std::size_t gradient_stride, std::size_t rows, std::size_t columns, bool bf16,
                  std::size_t num_threads) {
                   for_type(bf16, [&]<class Value>() {
                       run(kernels().swiglu_backward,
                           SwiGluBackward<Value>{at<const Value>(gate), at<const Value>(up), stride,
                                                 at<const Value>(out_gradient), at<Value>(gate_gradient),
                                                 at<Value>(up_gradient), gradient_stride, rows, columns, num_threads});
                   });
               },
               "gate"_a, "up"_a, "out_gradient"_a, "gate_gradient"_a, "up_gradient"_a, nb::kw_only(), "stride"_a,
               "gradient_stride"_a, "rows"_a, "columns"_a, "bf16"_a, "num_threads"_a);
}

void bind_cross_entropy(nb::module_& module) {
    module.def("cross_entropy",
               [](Address logits, Address targets, Address losses, Address log_sums, Address gradient,
                  std::size_t rows, std::size_t columns, float scale, bool bf16, std::size_t num_threads) {
                   check_ids(at<const std::int64_t>(targets), rows, columns);
                   for_type(bf16, [&]<class Value>() {
                       run(kernels().cross_entropy,
                           CrossEntropy<Value>{at<const Value>(logits), at<const std::int64_t>(targets),
                                               at<float>(losses), at<float>(log_sums), at<Value>(gradient), rows,
                                               columns, scale, num_threads});
                   });
               },
               "logits"_a, "targets"_a, "losses"_a, "log_sums"_a, "gradient"_a, nb::kw_only(), "rows"_a, "columns"_a,
               "scale"_a, "bf16"_a, "num_threads"_a);
    module.def("cross_entropy_backward",
               [](Address logits, Address targets, Address log_sums, Address gradient, std::size_t rows,
                  std::size_t columns, float scale, bool bf16, std::size_t num_threads) {
                   check_ids(at<const std::int64_t>(targets), rows, columns);
                   for_type(bf16, [&]<class Value>() {
                       run(kernels().cross_entropy_backward,
                           CrossEntropyBackward<Value>{at<const Value>(logits), at<const std::int64_t>(targets),
                                                       at<const float>(log_sums), at<Value>(gradient), rows, columns,
                                                       scale, num_threads});
                   });
               },
               "logits"_a, "targets"_a, "log_sums"_a, "gradient"_a, nb::kw_only(), "rows"_a, "columns"_a, "scale"_a,
               "bf16"_a, "num_threads"_a);
}

void bind_embedding(nb::module_& module) {
    module.def("embedding",
               [](Address weight, Address ids, Address out, std::size_t rows, std::size_t columns,
                  std::size_t vocab_size, bool bf16, std::size_t num_threads) {
                   check_ids(at<const std::int64_t>(ids), rows, vocab_size);
                   for_type(bf16, [&]<class Value>() {
                       run(kernels().embedding,
                           Embedding<Value>{at<const Value>(weight), at<const std::int64_t>(ids), at<Value>(out), rows,
                                            columns, num_threads});
                   });
               },
               "weight"_a, "ids"_a, "out"_a, nb::kw_only(), "rows"_a, "columns"_a, "vocab_size"_a, "bf16"_a,
               "num_threads"_a);
    module.def("embedding_backward",
               [](Address out_gradient, Address ids, Address weight_gradient, std::size_t rows, std::size_t columns,
                  std::size_t vocab_size, bool accumulate, bool bf16, std::size_t num_threads) {
                   check_ids(at<const std::int64_t>(ids), rows, vocab_size);
                   for_type(bf16, [&]<class Value>() {
                       run(kernels().embedding_backward,
                           EmbeddingBackward<Value>{at<const Value>(out_gradient), at<const std::int64_t>(ids),
                                                    at<float>(weight_gradient), rows, columns, vocab_size, accumulate,
                                                    num_threads});
                   });
               },
               "out_gradient"_a, "ids"_a, "weight_gradient"_a, nb::kw_only(), "rows"_a, "columns"_a, "vocab_size"_a,
               "accumulate"_a, "bf16"_a, "num_threads"_a);
}

// Addresses of parameter, m, v, gradient and copy; size; keep, rate, v_root.
using UpdateItem = std::tuple<Address, Address, Address, Address, Address, std::size_t, float, float, float>;
using ValuesItem = std::pair<Address, std::size_t>;

template <class Value>
std::vector<Values<Value>> to_values(const std::vector<ValuesItem>& items) {
    std::vector<Values<Value>> values;
    values.reserve(items.size());
    for (const auto& [address, size] : items) values.push_back({at<Value>(address), size});
    return values;
}

void bind_update(nb::module_& module) {
    module.def("adamw",
               [](const std::vector<UpdateItem>& items, float m_share, float v_keep, float v_share, float eps,
                  bool bf16, std::size_t num_threads) {
                   for_type(bf16, [&]<class Value>() {
                       std::vector<AdamWTensor<Value>> tensors;
                       tensors.reserve(items.size());
                       for (const auto& [parameter, m, v, gradient, copy, size, keep, rate, v_root] : items) {
                           tensors.push_back({at<float>(parameter), at<float>(m), at<float>(v),
                                              at<const Value>(gradient), at<Bf16>(copy), size, keep, rate, v_root});
                       }
                       run(kernels().adamw, AdamW<Value>{tensors.data(), tensors.size(), m_share, v_keep, v_share, eps,
                                                         num_threads});
                   });
               },
               "tensors"_a, nb::kw_only(), "m_share"_a, "v_keep"_a, "v_share"_a, "eps"_a, "bf16"_a,
               "num_threads"_a);
    module.def("sum_of_squares",
               [](const std::vector<ValuesItem>& items, bool bf16, std::size_t num_threads) {
                   double sum = 0;
                   for_type(bf16, [&]<class Value>() {
                       const auto tensors = to_values<const Value>(items);
                       run(kernels().sum_of_squares,
                           SumOfSquares<Value>{tensors.data(), tensors.size(), &sum, num_threads});
                   });
                   return sum;
               },
               "tensors"_a, nb::kw_only(), "bf16"_a, "num_threads"_a);
    module.def("scale",
               [](const std::vector<ValuesItem>& items, float factor, bool bf16, std::size_t num_threads) {
                   for_type(bf16, [&]<class Value>() {
                       const auto tensors = to_values<Value>(items);
                       run(kernels().scale, Scale<Value>{tensors.data(), tensors.size(), factor, num_threads});
                   });
               },
               "tensors"_a, "factor"_a, nb::kw_only(), "bf16"_a, "num_threads"_a);
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
    bind_swiglu(module);
    bind_cross_entropy(module);
    bind_embedding(module);
    bind_update(module);
    bind_attention(module);
    bind_decode(module);
}

}  // namespace groundup::kernels
