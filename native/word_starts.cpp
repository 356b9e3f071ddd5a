#include "word_starts.hpp"

#include <algorithm>
#include <bit>

#include "pretokenize.hpp"

namespace groundup {

WordStarts::Family WordStarts::family_of(Pattern pattern) {
    switch (pattern) {
        case Pattern::gpt2: return Gpt2Starts<false>();
        case Pattern::smollm: return Gpt2Starts<true>();
        case Pattern::o200k: return O200kStarts();
        default: return Cl100kStarts(pattern);
    }
}

WordStarts::WordStarts(Pattern pattern, std::string_view text)
    : pattern_(pattern), text_(text), mask_bytes_(instruction_set().mask_bytes), family_(family_of(pattern)) {
    fill_blocks(text_, 0, mask_bytes_, blocks_.data(), 1);
}

bool WordStarts::next() {
    begin_ = end_;
    if (begin_ == text_.size()) return false;
    end_ = std::min(begin_ + kWindowBytes, text_.size());
    const std::size_t num_blocks = (end_ - begin_ + kBlockBytes - 1) / kBlockBytes;
    fill_blocks(text_, begin_ + kBlockBytes, mask_bytes_, &blocks_[1], num_blocks);
    std::visit([this, num_blocks](auto& family) { find_starts(family, num_blocks); }, family_);
    std::fill(starts_.begin() + static_cast<std::ptrdiff_t>(num_blocks), starts_.end(), 0);
    const std::size_t rest = end_ % kBlockBytes;
    if (rest != 0) starts_[num_blocks - 1] &= ~std::uint64_t{0} >> (kBlockBytes - rest);
    blocks_[0] = blocks_[num_blocks];
    return true;
}

template <class Starts>
void WordStarts::find_starts(Starts& family, std::size_t num_blocks) {
    for (std::size_t b = 0; b < num_blocks; ++b) {
        const std::size_t block_begin = begin_ + b * kBlockBytes;
        const BlockPlace place{text_.data() + block_begin, text_.data() + text_.size()};
        if constexpr (Starts::kMayGiveUp) {
            if (walked_to_ > block_begin) blocks_[b].clear_before(walked_to_ - block_begin);
        }
        starts_[b] = family.find(blocks_[b], blocks_[b + 1], place);
        if constexpr (Starts::kMayGiveUp) {
            if (family.gave_up()) {
                starts_[b] = walk(block_begin);
                family = Starts();
            } else if (starts_[b] != 0) {
                last_start_ = block_begin + (kBlockBytes - 1) - static_cast<std::size_t>(std::countl_zero(starts_[b]));
            }
        }
    }
}

// The words that begin in a block, from the last one known before it on. No byte is walked twice.
std::uint64_t WordStarts::walk(std::size_t block_begin) {
    const std::size_t block_end = std::min(block_begin + kBlockBytes, text_.size());
    std::uint64_t starts = 0;
    std::size_t begin = last_start_;
    while (begin < block_end) {
        if (begin >= block_begin) starts |= std::uint64_t{1} << (begin - block_begin);
        const char* const word_end = next_word_end(pattern_, text_.data() + begin, text_.data() + text_.size());
        begin = static_cast<std::size_t>(word_end - text_.data());
    }
    last_start_ = walked_to_ = begin;
    return starts;
}

}  // namespace groundup
