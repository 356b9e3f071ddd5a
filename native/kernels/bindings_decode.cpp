// The Python face of decoding: a decoder is kept, with the addresses of what src/groundup/kernels packed. See
// bindings.cpp.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "kernels.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace groundup::kernels {

namespace {

using Matrix = std::tuple<Address, Address>;  // values, scales
// Norm, qkv, output; norm, gate and up, down.
using Layer = std::tuple<Address, Matrix, Matrix, Address, Matrix, Matrix>;
// Addresses of ids, uniform numbers and log-probabilities; num_ids, start, cached, steps.
using Row = std::tuple<Address, Address, Address, std::size_t, std::size_t, std::size_t, std::size_t>;
// num_ids, start, cached.
using RowAfter = std::tuple<std::size_t, std::size_t, std::size_t>;

PackedMatrix to_matrix(const Matrix& matrix) {
    return {at<const void>(std::get<0>(matrix)), at<const float>(std::get<1>(matrix))};
}

WeightType to_type(const std::string& name) {
    if (name == "float32") return WeightType::kFloat32;
    if (name == "bf16") return WeightType::kBf16;
    if (name == "int8") return WeightType::kInt8;
    throw std::invalid_argument("weights are '" + name + "'; they can be float32, bf16 or int8");
}

struct BoundDecoder {
    std::vector<DecoderLayer> layers;
    Decoder decoder;
};

}  // namespace

void bind_decode(nb::module_& module) {
    module.def("decoder_cache_size",
               [](std::size_t num_layers, std::size_t kv_heads, std::size_t d_head, std::size_t max_length) {
                   DecoderShape shape{};
                   shape.kv_heads = kv_heads;
                   shape.d_head = d_head;
                   return cache_size(shape, num_layers, max_length);
               },
               nb::kw_only(), "num_layers"_a, "kv_heads"_a, "d_head"_a, "max_length"_a);
    nb::class_<BoundDecoder>(module, "Decoder")
        .def("__init__",
             [](BoundDecoder* self, const std::vector<Layer>& layers, Address embedding, Address final_norm,
                const Matrix& head, Address cos, Address sin, const std::string& weights, std::size_t d_model,
                std::size_t heads, std::size_t kv_heads, std::size_t d_ff, std::size_t vocab_size,
                std::size_t context_length, float norm_eps) {
                 std::vector<DecoderLayer> bound;
                 for (const auto& [norm1, qkv, output, norm2, gate_up, down] : layers) {
                     bound.push_back({at<const float>(norm1), to_matrix(qkv), to_matrix(output),
                                      at<const float>(norm2), to_matrix(gate_up), to_matrix(down)});
                 }
                 const DecoderShape shape{d_model, heads, kv_heads, d_model / heads, d_ff,
                                          vocab_size, context_length, norm_eps};
                 new (self) BoundDecoder{std::move(bound),
                                         {shape, to_type(weights), nullptr, layers.size(), at<const float>(embedding),
                                          at<const float>(final_norm), to_matrix(head), at<const float>(cos),
                                          at<const float>(sin)}};
                 self->decoder.layers = self->layers.data();
             },
             "layers"_a, "embedding"_a, "final_norm"_a, "head"_a, "cos"_a, "sin"_a, nb::kw_only(), "weights"_a,
             "d_model"_a, "heads"_a, "kv_heads"_a, "d_ff"_a, "vocab_size"_a, "context_length"_a, "norm_eps"_a)
        .def("decode",
             [](const BoundDecoder& self, const std::vector<Row>& given, Address cache, std::size_t max_length,
                std::int64_t end_id, Address forbidden, std::size_t num_forbidden, bool greedy, float temperature,
                std::size_t top_k, double top_p, double top_p_tolerance, float repetition_penalty,
                std::size_t num_threads) {
                 std::vector<DecodedRow> rows;
                 for (const auto& [ids, uniform, logprobs, num_ids, start, cached, steps] : given) {
                     check_ids(at<const std::int64_t>(ids), num_ids, self.decoder.shape.vocab_size);
                     rows.push_back({at<std::int64_t>(ids), num_ids, start, cached, steps, at<const double>(uniform),
                                     at<double>(logprobs)});
                 }
                 bool finite = true;
                 run(kernels().decode,
                     Decode{self.decoder, rows.data(), rows.size(), at<float>(cache), max_length, end_id,
                            at<const std::int64_t>(forbidden), num_forbidden,
                            {greedy, temperature, top_k, top_p, top_p_tolerance, repetition_penalty}, &finite,
                            num_threads});
                 std::vector<RowAfter> after;
                 for (const DecodedRow& row : rows) after.emplace_back(row.num_ids, row.start, row.cached);
                 return std::make_tuple(after, finite);
             },
             "rows"_a, "cache"_a, nb::kw_only(), "max_length"_a, "end_id"_a, "forbidden"_a, "num_forbidden"_a,
             "greedy"_a, "temperature"_a, "top_k"_a, "top_p"_a, "top_p_tolerance"_a, "repetition_penalty"_a,
             "num_threads"_a);
}

}  // namespace groundup::kernels
