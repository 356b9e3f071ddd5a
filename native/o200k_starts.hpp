// Where the words of o200k's pattern begin, by algebra on the classes of 64 bytes.
#pragma once

#include "run_starts.hpp"

namespace groundup {

// Gives up where upper case follows an uncased letter or a mark (whether a word begins there depends on the next
// lower case, at any distance), and where a mark may belong to punctuation.
class O200kStarts {
public:
    static constexpr bool kMayGiveUp = true;

    std::uint64_t find(const ClassBlock& block, const ClassBlock& next, const BlockPlace& place) {
        const std::uint64_t word = block.masks.letter | block.mark;
        const std::uint64_t uncased = block.uncased | block.mark;
        const std::uint64_t upper = block.masks.upper;
        const std::uint64_t newline = block.masks.newline;
        const std::uint64_t symbol = block.other() & ~block.mark;
        const std::uint64_t taken = taken_by_punctuation(symbol, newline, block.masks.slash);
        const std::uint64_t other = symbol & ~taken;
        const std::uint64_t behind_other = behind_other_(other);
        const std::uint64_t punctuation = other & ~behind_other & ~behind_blank_(block.masks.blank);
        const std::uint64_t behind_first = behind_first_(punctuation, block.masks.continuation);
        gave_up_ = ((upper & behind_uncased_(uncased)) | (block.mark & behind_other & ~behind_first)) != 0;
        if (gave_up_) return 0;
        const std::uint64_t behind_word = behind_word_(word);
        const std::uint64_t prefixed = behind_first | behind_space_(block.masks.space & ~newline);
        std::uint64_t starts = punctuation | (word & ~behind_word & ~prefixed) | numbers_.find(block);
        starts |= upper & behind_lower_(block.masks.letter & ~upper & ~uncased);
        starts |= white_space_.find(block, next, place, taken);
        starts = (starts & ~no_start_) | start_;
        const std::uint64_t forced = start_;
        start_ = no_start_ = 0;
        const std::uint64_t apostrophes = punctuation & behind_word & block.masks.apostrophe;
        if (apostrophes != 0) find_contractions(apostrophes, place, forced, starts);
        return starts;
    }

    // Whether find() could not tell: all it knew is of no use any more.
    bool gave_up() const { return gave_up_; }

private:
    // [\r\n/]* behind punctuation, as it begins with a line break: a slash is punctuation itself.
    std::uint64_t taken_by_punctuation(std::uint64_t symbol, std::uint64_t newline, std::uint64_t slash) {
        const std::uint64_t run = newline | slash;
        std::uint64_t begins = newline & (symbol << 1 | ends_with_other_);
        begins |= run & ends_with_taken_;
        std::uint64_t taken = 0;
        while (begins != 0) {
            const auto begin = static_cast<unsigned>(std::countr_zero(begins));
            const std::uint64_t from_begin = ~std::uint64_t{0} << begin;
            // The sum clears the run from its beginning on.
            const std::uint64_t cleared = run & from_begin & ~((run & from_begin) + (std::uint64_t{1} << begin));
            taken |= cleared;
            begins &= ~cleared;
        }
        ends_with_taken_ = taken >> (kBlockBytes - 1);
        ends_with_other_ = (symbol & ~taken) >> (kBlockBytes - 1);
        return taken;
    }

    // A contraction belongs to the letters before it, if those are not the end of a contraction themselves.
    void find_contractions(std::uint64_t apostrophes, const BlockPlace& place, std::uint64_t forced,
                           std::uint64_t& starts) {
        for_each_bit(apostrophes, [&](unsigned apostrophe) {
            if ((forced >> apostrophe & 1) != 0) return;
            const std::size_t length = contraction_length_any_case(place.block + apostrophe, place.text_end);
            if (length == 0) return;
            for (std::size_t i = apostrophe; i < apostrophe + length; ++i) {
                if (i < kBlockBytes) {
                    starts &= ~(std::uint64_t{1} << i);
                } else {
                    no_start_ |= std::uint64_t{1} << (i - kBlockBytes);
                }
            }
            const std::size_t behind = apostrophe + length;
            if (behind < kBlockBytes) {
                starts |= std::uint64_t{1} << behind;
                forced |= std::uint64_t{1} << behind;
            } else {
                start_ |= std::uint64_t{1} << (behind - kBlockBytes);
            }
        });
    }

    NumberStarts numbers_{most_numbers(Pattern::o200k)};
    WhiteSpaceStarts white_space_{Pattern::o200k};
    Behind behind_word_;
    Behind behind_lower_;
    Behind behind_uncased_;
    Behind behind_other_;
    Behind behind_blank_;
    Behind behind_space_;
    BehindCharacters behind_first_;
    std::uint64_t ends_with_other_ = 0;
    std::uint64_t ends_with_taken_ = 0;
    // What a contraction at the end of the block before does here.
    std::uint64_t start_ = 0;
    std::uint64_t no_start_ = 0;
    bool gave_up_ = false;
};

}  // namespace groundup
