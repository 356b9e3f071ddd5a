// The Python face of causal attention. See bindings.cpp.
#include "bindings.hpp"
#include "kernels.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace groundup::kernels {

void bind_attention(nb::module_& module) {
    module.def("exp2_each", [](Address x, Address y, std::size_t size) {
        run(kernels().exp2, Exp{at<const float>(x), at<float>(y), size});
    }, "x"_a, "y"_a, "size"_a);
    module.def("causal_attention",
               [](Address qkv, Address cos, Address sin, Address out, Address log2_sum, std::size_t batch,
                  std::size_t seq, std::size_t heads, std::size_t kv_heads, std::size_t d_head, bool bf16,
                  std::size_t num_threads) {
                   const AttentionShape shape{batch, seq, heads, kv_heads, d_head};
                   for_type(bf16, [&]<class Value>() {
                       run(kernels().causal_attention,
                           CausalAttention<Value>{at<const Value>(qkv), at<const float>(cos), at<const float>(sin),
                                                  at<Value>(out), at<float>(log2_sum), shape, num_threads});
                   });
               },
               "qkv"_a, "cos"_a, "sin"_a, "out"_a, "log2_sum"_a, nb::kw_only(), "batch"_a, "seq"_a, "heads"_a,
               "kv_heads"_a, "d_head"_a, "bf16"_a, "num_threads"_a);
    module.def("causal_attention_backward",
               [](Address qkv, Address cos, Address sin, Address out, Address log2_sum, Address out_gradient,
                  Address qkv_gradient, std::size_t batch, std::size_t seq, std::size_t heads, std::size_t kv_heads,
                  std::size_t d_head, bool bf16, std::size_t num_threads) {
                   const AttentionShape shape{batch, seq, heads, kv_heads, d_head};
                   for_type(bf16, [&]<class Value>() {
                       run(kernels().causal_attention_backward,
                           CausalAttentionBackward<Value>{
                               at<const Value>(qkv), at<const float>(cos), at<const float>(sin), at<const Value>(out),
                               at<const float>(log2_sum), at<const Value>(out_gradient), at<Value>(qkv_gradient),
                               shape, num_threads});
                   });
               },
               "qkv"_a, "cos"_a, "sin"_a, "out"_a, "log2_sum"_a, "out_gradient"_a, "qkv_gradient"_a, nb::kw_only(),
               "batch"_a, "seq"_a, "heads"_a, "kv_heads"_a, "d_head"_a, "bf16"_a, "num_threads"_a);
}

}  // namespace groundup::kernels
