#include "byte_masks.hpp"

#include <atomic>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

namespace groundup {

namespace {

// Eight bytes at once in a plain register. Each test leaves its answer in the top bit of each byte.
constexpr std::uint64_t kOnes = 0x0101010101010101u;
constexpr std::uint64_t kTopBits = 0x80 * kOnes;

// Bytes first..last, all below 0x80. The tops are cleared, so that no sum runs into the next byte.
constexpr std::uint64_t in_range(std::uint64_t bytes, unsigned first, unsigned last) {
    const std::uint64_t low = bytes & ~kTopBits;
    const std::uint64_t from_first = low + (0x80 - first) * kOnes;
    const std::uint64_t past_last = low + (0x7F - last) * kOnes;
    return from_first & ~past_last & ~bytes & kTopBits;
}

constexpr std::uint64_t equals(std::uint64_t bytes, unsigned byte) { return in_range(bytes, byte, byte); }

// The top bits as one byte: the product brings bit 7 + 8 i to bit 56 + i, and nothing else there.
constexpr std::uint64_t gather(std::uint64_t top_bits) { return ((top_bits >> 7) * 0x0102040810204080u) >> 56; }

std::vector<InstructionSet> detect() {
    std::vector<InstructionSet> sets;
#ifdef GROUNDUP_X86
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
        sets.push_back({"avx512", mask_bytes_avx512, list_bits_avx2, look_up_avx2, join_pairs_avx2});
    }
    if (has_avx2) sets.push_back({"avx2", mask_bytes_avx2, list_bits_avx2, look_up_avx2, join_pairs_avx2});
#endif
    sets.push_back({"portable", mask_bytes_portable, list_bits_portable, look_up_portable, join_pairs_portable});
    return sets;
}

std::atomic<const InstructionSet*> in_use{nullptr};

}  // namespace

void mask_bytes_portable(const char* text, std::size_t num_blocks, ByteMasks* masks) {
    for (std::size_t block = 0; block < num_blocks; ++block) {
        ByteMasks m{};
        for (unsigned shift = 0; shift < 64; shift += 8) {
            std::uint64_t bytes;
            std::memcpy(&bytes, text + block * kBlockBytes + shift, sizeof bytes);
            const std::uint64_t upper = in_range(bytes, 'A', 'Z');
            const std::uint64_t blank = equals(bytes, ' ');
            m.letter |= gather(upper | in_range(bytes, 'a', 'z')) << shift;
            m.upper |= gather(upper) << shift;
            m.number |= gather(in_range(bytes, '0', '9')) << shift;
            m.space |= gather(blank | in_range(bytes, '\t', '\r')) << shift;
            m.blank |= gather(blank) << shift;
            m.newline |= gather(equals(bytes, '\n') | equals(bytes, '\r')) << shift;
            m.slash |= gather(equals(bytes, '/')) << shift;
            m.apostrophe |= gather(equals(bytes, '\'')) << shift;
            m.high |= gather(bytes & kTopBits) << shift;
            m.continuation |= gather(bytes & ~(bytes << 1) & kTopBits) << shift;
        }
        masks[block] = m;
    }
}

const char** list_bits_portable(const std::uint64_t* words, std::size_t num_words, const char* first,
                                const char** places) {
    for (std::size_t i = 0; i < num_words; ++i, first += 64) {
        for (std::uint64_t bits = words[i]; bits != 0; bits &= bits - 1) *places++ = first + std::countr_zero(bits);
    }
    return places;
}

const std::vector<InstructionSet>& instruction_sets() {
    static const std::vector<InstructionSet> sets = detect();
    return sets;
}

const InstructionSet& instruction_set() {
    const InstructionSet* const chosen = in_use.load(std::memory_order_relaxed);
    return chosen != nullptr ? *chosen : instruction_sets().front();
}

void use_instruction_set(std::string_view name) {
    std::string known;
    for (const InstructionSet& set : instruction_sets()) {
        if (set.name == name) {
            in_use = &set;
            return;
        }
        known += (known.empty() ? "" : ", ") + std::string(set.name);
    }
    throw std::invalid_argument("instruction set '" + std::string(name) + "' is not one of this processor's: " + known);
}

}  // namespace groundup
