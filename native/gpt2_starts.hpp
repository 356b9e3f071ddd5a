// Where the words of the patterns gpt2 and smollm begin, by algebra on the classes of 64 bytes.
#pragma once

#include "class_blocks.hpp"
#include "pretokenize.hpp"

namespace groundup {

// kNumbersApart: each number is a word of its own (smollm).
template <bool kNumbersApart>
class Gpt2Starts {
public:
    static constexpr bool kMayGiveUp = false;

    std::uint64_t find(const ClassBlock& block, const ClassBlock& next, const BlockPlace& place) {
        const std::uint64_t letter = block.masks.letter;
        const std::uint64_t number = block.masks.number;
        const std::uint64_t space = block.masks.space;
        const std::uint64_t other = block.other();
        // A run of one class begins a word, unless a blank before it is its first byte.
        std::uint64_t run_begins = (letter & ~behind_letter_(letter)) | (other & ~behind_other_(other));
        if (!kNumbersApart) run_begins |= number & ~behind_number_(number);
        std::uint64_t starts = run_begins & ~behind_blank_(block.masks.blank);
        if (kNumbersApart) starts |= number & ~block.masks.continuation;
        // So does white space, and its last character before something else: that is \s+(?!\S).
        std::uint64_t not_last = space >> 1 | next.masks.space << (kBlockBytes - 1);
        if (kNumbersApart) not_last |= number >> 1 | next.masks.number << (kBlockBytes - 1);
        starts |= space & ~behind_space_(space);
        starts |= (space & ~not_last & ~block.masks.high) | last_wide_spaces(block, place);
        starts = (starts & ~no_start_) | start_;
        start_ = no_start_ = 0;
        const std::uint64_t apostrophes = starts & block.masks.apostrophe;
        if (apostrophes != 0) find_contractions(apostrophes, place, starts);
        return starts;
    }

private:
    static std::uint64_t last_wide_spaces(const ClassBlock& block, const BlockPlace& place) {
        std::uint64_t last = block.last_wide_spaces;
        if (!kNumbersApart) return last;
        for_each_bit(block.last_wide_spaces, [&](unsigned space) {
            const char* const p = place.block + space;
            const CharKind after = classify_at(p + decode_valid(p).num_bytes).kind;  // not the end of the text
            last &= ~(std::uint64_t{after == CharKind::number} << space);
        });
        return last;
    }

    // An apostrophe that begins a word may begin one of two or three bytes, after which another word begins.
    void find_contractions(std::uint64_t apostrophes, const BlockPlace& place, std::uint64_t& starts) {
        for_each_bit(apostrophes, [&](unsigned apostrophe) {
            const std::size_t length = contraction_length(place.block + apostrophe, place.text_end);
            if (length == 0) return;
            // The letter after the apostrophe would begin a word; so it does behind the contraction.
            const std::size_t letter = apostrophe + 1;
            const std::size_t behind = apostrophe + length;
            if (letter < kBlockBytes) {
                starts &= ~(std::uint64_t{1} << letter);
            } else {
                no_start_ |= std::uint64_t{1} << (letter - kBlockBytes);
            }
            if (behind < kBlockBytes) {
                starts |= std::uint64_t{1} << behind;
            } else {
                start_ |= std::uint64_t{1} << (behind - kBlockBytes);
            }
        });
    }

    Behind behind_letter_;
    Behind behind_number_;
    Behind behind_other_;
    Behind behind_blank_;
    Behind behind_space_;
    // What a contraction at the end of the block before does here.
    std::uint64_t start_ = 0;
    std::uint64_t no_start_ = 0;
};

}  // namespace groundup
