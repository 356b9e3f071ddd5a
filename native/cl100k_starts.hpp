// Where the words of the patterns cl100k, llama3 and qwen2 begin, by algebra on the classes of 64 bytes.
#pragma once

#include "run_starts.hpp"

namespace groundup {

class Cl100kStarts {
public:
    static constexpr bool kMayGiveUp = false;

    explicit Cl100kStarts(Pattern pattern) : numbers_(most_numbers(pattern)), white_space_(pattern) {}

    std::uint64_t find(const ClassBlock& block, const ClassBlock& next, const BlockPlace& place) {
        const std::uint64_t letter = block.masks.letter;
        const std::uint64_t newline = block.masks.newline;
        const std::uint64_t other = block.other();
        const std::uint64_t behind_other = behind_other_(other);
        // Punctuation begins a word, unless a blank does for it. Its first character takes letters behind it along,
        // as all white space does but line breaks.
        const std::uint64_t punctuation = other & ~behind_other & ~behind_blank_(block.masks.blank);
        const std::uint64_t prefixed = behind_first_(punctuation, block.masks.continuation) |
                                       behind_space_(block.masks.space & ~newline);
        std::uint64_t starts = punctuation | (letter & ~behind_letter_(letter) & ~prefixed) | numbers_.find(block);
        // Line breaks behind punctuation belong to it: the sum clears them.
        const std::uint64_t taken = newline & ~(newline + (newline & (behind_other | behind_taken_)));
        behind_taken_ = taken >> (kBlockBytes - 1);
        starts |= white_space_.find(block, next, place, taken) | start_;
        start_ = 0;
        for_each_bit(punctuation & block.masks.apostrophe, [&](unsigned apostrophe) {
            const std::size_t length = contraction_length_any_case(place.block + apostrophe, place.text_end);
            if (length == 0) return;
            const std::size_t behind = apostrophe + length;
            if (behind < kBlockBytes) {
                starts |= std::uint64_t{1} << behind;
            } else {
                start_ |= std::uint64_t{1} << (behind - kBlockBytes);
            }
        });
        return starts;
    }

private:
    NumberStarts numbers_;
    WhiteSpaceStarts white_space_;
    Behind behind_letter_;
    Behind behind_other_;
    Behind behind_blank_;
    Behind behind_space_;
    BehindCharacters behind_first_;
    std::uint64_t behind_taken_ = 0;
    std::uint64_t start_ = 0;  // behind a contraction that begins in the block before
};

}  // namespace groundup
