// From logits to an id, once the exponentials are there; compiled once, for every processor.
//
// Twin: generation/sampling.py, whose float64 the sums have. The exponentials are float32: an id can differ where the
// random number falls within 1e-7 of a border.
#pragma once

#include <cstddef>
#include <cstdint>

namespace groundup::kernels {

struct SamplingOptions {
    bool greedy;
    float temperature;
    std::size_t top_k;  // 0: off
    double top_p;       // 1: off
    double top_p_tolerance;
    double repetition_penalty;  // 1: off
};

// Makes the ids of `visible` less likely, each once however often it occurs; finite logits stay finite. `seen` has room
// for num_visible.
void penalize_repetition(float* logits, const std::int64_t* visible, std::size_t num_visible, double penalty,
                         float* seen);

// The first id of the largest logit.
std::size_t most_likely(const float* logits, std::size_t vocab_size);

// The first id whose cumulative weight passes `uniform` times the total, after top-k and top-p; never one of weight 0
// unless all are. `weights` are e^((logits - the largest) / temperature) and are changed; `order` has room for
// vocab_size.
std::size_t draw(const float* logits, float* weights, std::size_t vocab_size, const SamplingOptions& options,
                 double uniform, std::uint32_t* order);

}  // namespace groundup::kernels
