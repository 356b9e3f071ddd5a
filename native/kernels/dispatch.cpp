#include <atomic>
#include <stdexcept>
#include <string>

#include "kernels.hpp"

namespace groundup::kernels {

namespace avx512_bf16 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
namespace avx2 {
extern const Kernels table;
}
namespace portable {
extern const Kernels table;
}

namespace {

std::vector<const Kernels*> detect() {
    std::vector<const Kernels*> variants;
#ifdef GROUNDUP_X86
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512vl");
    if (has_avx512 && __builtin_cpu_supports("avx512bf16")) variants.push_back(&avx512_bf16::table);
    if (has_avx512) variants.push_back(&avx512::table);
    if (has_avx2) variants.push_back(&avx2::table);
#endif
    variants.push_back(&portable::table);
    return variants;
}

std::atomic<const Kernels*> in_use{nullptr};

}  // namespace

const std::vector<const Kernels*>& kernel_variants() {
    static const std::vector<const Kernels*> variants = detect();
    return variants;
}

const Kernels& kernels() {
    const Kernels* const chosen = in_use.load(std::memory_order_relaxed);
    return chosen != nullptr ? *chosen : *kernel_variants().front();
}

void use_kernel_variant(std::string_view name) {
    std::string known;
    for (const Kernels* variant : kernel_variants()) {
        if (variant->name == name) {
            in_use = variant;
            return;
        }
        known += (known.empty() ? "" : ", ") + std::string(variant->name);
    }
    throw std::invalid_argument("kernel variant '" + std::string(name) + "' is not one of this processor's: " + known);
}

void check_ids(const std::int64_t* ids, std::size_t num_ids, std::size_t vocab_size) {
    for (std::size_t i = 0; i < num_ids; ++i) {
        if (ids[i] < 0 || static_cast<std::uint64_t>(ids[i]) >= vocab_size) {
            throw std::out_of_range("id " + std::to_string(ids[i]) + " at place " + std::to_string(i) +
                                    " is not one of the vocabulary's " + std::to_string(vocab_size));
        }
    }
}

}  // namespace groundup::kernels
