// The Python face of decoding: a decoder is kept, with the addresses of what src/groundup/kernels packed. See
// bindings.cpp.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
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
// num_ids, start, cached, steps.
using RowAfter = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

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
    BoundDecoder(std::vector<DecoderLayer> bound, const Decoder& rest)
        : layers(std::move(bound)), decoder(rest) {
        decoder.layers = layers.data();
        decoder.num_layers = layers.size();
    }
    BoundDecoder(const BoundDecoder&) = delete;  // decoder points into layers
    BoundDecoder& operator=(const BoundDecoder&) = delete;

    std::vector<DecoderLayer> layers;
    Decoder decoder;
};

// Throws std::invalid_argument or std::out_of_range for counts or ids that would lead out of the arrays.
void check_row(const DecodedRow& row, const DecoderShape& shape, std::size_t max_length) {
    const std::size_t most = std::min(max_length, shape.context_length);
    if (row.start >= row.num_ids || row.cached >= row.num_ids - row.start || row.num_ids - row.start > most) {
        throw std::invalid_argument("a row of " + std::to_string(row.num_ids) + " ids begins at " +
                                    std::to_string(row.start) + " with " + std::to_string(row.cached) +
                                    " kept and room for " + std::to_string(most));
    }
    // Beyond the context the window moves on and never grows again.
    if (max_length < shape.context_length && row.steps > max_length - (row.num_ids - row.start)) {
        throw std::invalid_argument(std::to_string(row.steps) + " steps are more than there is room for");
    }
    check_ids(row.ids, row.num_ids, shape.vocab_size);
}

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
                 new (self) BoundDecoder(std::move(bound),
                                         {shape, to_type(weights), nullptr, 0, at<const float>(embedding),
                                          at<const float>(final_norm), to_matrix(head), at<const float>(cos),
                                          at<const float>(sin)});
             },
             "layers"_a, "embedding"_a, "final_norm"_a, "head"_a, "cos"_a, "sin"_a, nb::kw_only(), "weights"_a,
             "d_model"_a, "heads"_a, "kv_heads"_a, "d_ff"_a, "vocab_size"_a, "context_length"_a, "norm_eps"_a)
        .def("decode",
             [](const BoundDecoder& self, const std::vector<Row>& given, Address cache, std::size_t max_length,
                std::size_t max_passes, std::int64_t end_id, Address forbidden, std::size_t num_forbidden, bool greedy,
                float temperature, std::size_t top_k, double top_p, double top_p_tolerance, double repetition_penalty,
                std::size_t num_threads) {
                 const DecoderShape& shape = self.decoder.shape;
                 check_ids(at<const std::int64_t>(forbidden), num_forbidden, shape.vocab_size);
                 std::vector<DecodedRow> rows;
                 for (const auto& [ids, uniform, logprobs, num_ids, start, cached, steps] : given) {
                     rows.push_back({at<std::int64_t>(ids), num_ids, start, cached, steps, at<const double>(uniform),
                                     at<double>(logprobs)});
                     check_row(rows.back(), shape, max_length);
                 }
                 bool finite = true;
                 run(kernels().decode,
                     Decode{self.decoder, rows.data(), rows.size(), at<float>(cache), max_length, max_passes, nullptr,
                            end_id, at<const std::int64_t>(forbidden), num_forbidden,
                            {greedy, temperature, top_k, top_p, top_p_tolerance, repetition_penalty}, &finite,
                            num_threads});
                 std::vector<RowAfter> after;
                 for (const DecodedRow& row : rows) {
                     after.emplace_back(row.num_ids, row.start, row.cached, row.steps);
                 }
                 return std::make_tuple(after, finite);
             },
             "rows"_a, "cache"_a, nb::kw_only(), "max_length"_a, "max_passes"_a, "end_id"_a, "forbidden"_a,
             "num_forbidden"_a, "greedy"_a, "temperature"_a, "top_k"_a, "top_p"_a, "top_p_tolerance"_a,
             "repetition_penalty"_a, "num_threads"_a)
        .def("logits",
             [](const BoundDecoder& self, Address ids, Address cache, Address logits, std::size_t length,
                std::size_t num_threads) {
                 DecodedRow row{at<std::int64_t>(ids), length, 0, 0, 0, nullptr, nullptr};
                 check_row(row, self.decoder.shape, length);
                 run(kernels().decode, Decode{self.decoder, &row, 1, at<float>(cache), length, SIZE_MAX,
                                              at<float>(logits), -1, nullptr, 0, {}, nullptr, num_threads});
             },
             "ids"_a, "cache"_a, "logits"_a, nb::kw_only(), "length"_a, "num_threads"_a);
}

}  // namespace groundup::kernels
