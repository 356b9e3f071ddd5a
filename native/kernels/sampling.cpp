#include "sampling.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace groundup::kernels {

namespace {

double total_of(const float* weights, std::size_t size) { return std::accumulate(weights, weights + size, 0.0); }

// Larger logits first, of equal ones the lower id: a total order, so that any sort gives the same.
auto by_logit(const float* logits) {
    return [logits](std::uint32_t a, std::uint32_t b) {
        return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    };
}

// sampling.py: top_k
void keep_top_k(const float* logits, float* weights, std::size_t vocab_size, std::size_t k, std::uint32_t* order) {
    if (k == 0 || k >= vocab_size) return;
    std::iota(order, order + vocab_size, 0u);
    std::nth_element(order, order + k, order + vocab_size, by_logit(logits));
    for (std::size_t i = k; i < vocab_size; ++i) weights[order[i]] = 0;
}

// sampling.py: top_p
void keep_top_p(const float* logits, float* weights, std::size_t vocab_size, const SamplingOptions& options,
                std::uint32_t* order) {
    if (options.top_p >= 1) return;
    const double total = total_of(weights, vocab_size);
    // All ids below this share together stay below 1 - p: none of them is kept, and none needs to be sorted.
    const double least = (1 - options.top_p) / static_cast<double>(vocab_size) / 2 * total;
    std::uint32_t* end = order;
    for (std::size_t id = 0; id < vocab_size; ++id) {
        if (weights[id] > 0 && weights[id] >= least) *end++ = static_cast<std::uint32_t>(id);
        else weights[id] = 0;
    }
    std::sort(order, end, by_logit(logits));
    double before = 0;
    for (std::uint32_t* id = order; id != end; ++id) {
        const double weight = weights[*id];
        if (id != order && before >= (options.top_p - options.top_p_tolerance) * total) weights[*id] = 0;
        before += weight;
    }
}

}  // namespace

void penalize_repetition(float* logits, const std::int64_t* visible, std::size_t num_visible, double penalty,
                         float* seen) {
    if (penalty == 1) return;
    constexpr double kMost = std::numeric_limits<float>::max();
    for (std::size_t i = 0; i < num_visible; ++i) seen[i] = logits[visible[i]];
    for (std::size_t i = 0; i < num_visible; ++i) {
        const double logit = seen[i] > 0 ? seen[i] / penalty : seen[i] * penalty;
        logits[visible[i]] = static_cast<float>(std::clamp(logit, -kMost, kMost));
    }
}

std::size_t most_likely(const float* logits, std::size_t vocab_size) {
    return static_cast<std::size_t>(std::max_element(logits, logits + vocab_size) - logits);
}

std::size_t draw(const float* logits, float* weights, std::size_t vocab_size, const SamplingOptions& options,
                 double uniform, std::uint32_t* order) {
    keep_top_k(logits, weights, vocab_size, options.top_k, order);
    keep_top_p(logits, weights, vocab_size, options, order);
    const double aim = uniform * total_of(weights, vocab_size);
    double cumulative = 0;
    std::size_t last = 0;
    for (std::size_t id = 0; id < vocab_size; ++id) {
        if (weights[id] == 0) continue;
        last = id;
        cumulative += weights[id];
        if (cumulative > aim) break;
    }
    return last;
}

}  // namespace groundup::kernels
