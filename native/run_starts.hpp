// Parts of the algebra that cl100k and o200k share: numbers in groups, white space with line breaks, and the
// character that may stand before letters.
#pragma once

#include "class_blocks.hpp"
#include "pretokenize.hpp"

namespace groundup {

// \p{N}{1,most}
class NumberStarts {
public:
    explicit NumberStarts(unsigned most) : most_(most) {}

    std::uint64_t find(const ClassBlock& block) {
        const std::uint64_t number = block.masks.number;
        const std::uint64_t behind_number = behind_number_(number);
        std::uint64_t starts = 0;
        for_each_bit(number & ~block.masks.continuation, [&](unsigned place) {
            const bool goes_on = (behind_number >> place & 1) != 0 && in_word_ < most_;
            in_word_ = goes_on ? in_word_ + 1 : 1;
            starts |= std::uint64_t{!goes_on} << place;
        });
        return starts;
    }

private:
    unsigned most_;
    unsigned in_word_ = 0;  // numbers in the last word, so far
    Behind behind_number_;
};

// \s*[\r\n]+|\s+(?!\S)|\s+
class WhiteSpaceStarts {
public:
    explicit WhiteSpaceStarts(Pattern pattern) : pattern_(pattern) {}

    // taken: line breaks that belong to the punctuation before them.
    std::uint64_t find(const ClassBlock& block, const ClassBlock& next, const BlockPlace& place, std::uint64_t taken) {
        const std::uint64_t space = block.masks.space;
        const std::uint64_t newline = block.masks.newline;
        const std::uint64_t left = space & ~taken;
        // A run begins a word, and so does its last character before something else, if that is no line break.
        const std::uint64_t before_space = space >> 1 | next.masks.space << (kBlockBytes - 1);
        std::uint64_t starts = left & ~behind_left_(left);
        starts |= (space & ~newline & ~before_space & ~block.masks.high) | block.last_wide_spaces;
        // So does what follows the last line break of a run.
        const std::uint64_t indents = space & ~newline & behind_newline_(newline) & ~starts;
        for_each_bit(indents, [&](unsigned indent) {
            starts |= std::uint64_t{!reaches_newline(block, place, indent)} << indent;
        });
        return starts;
    }

private:
    bool reaches_newline(const ClassBlock& block, const BlockPlace& place, unsigned indent) const {
        const std::uint64_t others = block.masks.space & ~block.masks.newline;
        const unsigned end = indent + static_cast<unsigned>(std::countr_one(others >> indent));
        if (end < kBlockBytes) return (block.masks.newline >> end & 1) != 0;
        const LineEnd line_end = find_line_end(place.block + indent, place.text_end);
        return line_end == LineEnd::newline || (line_end == LineEnd::text_end && pattern_ == Pattern::cl100k);
    }

    Pattern pattern_;
    Behind behind_left_;
    Behind behind_newline_;
};

// The bytes right behind characters that have any number of bytes.
class BehindCharacters {
public:
    std::uint64_t operator()(std::uint64_t first_bytes, std::uint64_t continuation) {
        // The sum runs from behind a first byte through the bytes of its character.
        const std::uint64_t from = behind_(first_bytes) | carry_;
        const std::uint64_t sum = from + continuation;
        carry_ = std::uint64_t{sum < from};
        return sum & ~continuation;
    }

private:
    Behind behind_;
    std::uint64_t carry_ = 0;
};

}  // namespace groundup
