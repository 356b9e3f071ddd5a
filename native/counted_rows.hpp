// The distinct words as rows of symbols, each with the number of times it occurs.
//
// The count that belongs to a place in the rows is found by the number of words that end before it. So a place
// is 4 bytes, which matters in the millions, and not 8 with the number of its word.
#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "symbol_row.hpp"

namespace groundup {

class CountedRows {
public:
    using Position = SymbolRow::Position;

    // For so many words of so many bytes in all. Throws std::invalid_argument when they are 4 GiB or more.
    CountedRows(std::size_t num_words, std::size_t num_bytes) {
        const std::size_t num_slots = num_words + num_bytes + 1;
        if (num_slots >= kMostSlots) {
            throw std::invalid_argument("the distinct words hold " + std::to_string(num_bytes) +
                                        " bytes, and training can index 4 GiB: train on a part of the text");
        }
        row_.reserve(num_slots);
        counts_.reserve(num_words);
        blocks_.resize(num_slots / kBlockSlots + 1);
    }

    // The symbols of the word are its bytes.
    void add_word(std::string_view word, std::uint64_t count) {
        row_.add_word(word, [](unsigned char byte) { return std::uint32_t{byte}; });
        counts_.push_back(count);
        const std::size_t end = row_.size() - 1;
        blocks_[end / kBlockSlots].ends |= std::uint64_t{1} << end % kBlockSlots;
    }

    // To be called between the last word and the first look at a count.
    void number_words() {
        std::uint32_t words_before = 0;
        for (Block& block : blocks_) {
            block.words_before = words_before;
            words_before += static_cast<std::uint32_t>(std::popcount(block.ends));
        }
    }

    SymbolRow& row() { return row_; }

    // How often the word of that number occurs; those that were added are numbered from 0.
    std::uint64_t count_of_word(std::size_t word) const { return counts_[word]; }
    // How often the word at the position occurs.
    std::uint64_t count_at(Position position) const { return counts_[word_at(position)]; }

    // For calls of `row` and `count_at` that come later; first the one, then the other.
    void prefetch_row(Position position) const {
        row_.prefetch(position);
        __builtin_prefetch(&blocks_[position / kBlockSlots]);
    }
    void prefetch_count(Position position) const { __builtin_prefetch(&counts_[word_at(position)]); }

private:
    static constexpr std::size_t kMostSlots = 0xFFFFFFFE;
    static constexpr std::size_t kBlockSlots = 64;
    struct Block {
        std::uint64_t ends = 0;  // bits of the slots behind a word
        std::uint32_t words_before = 0;
    };

    std::size_t word_at(Position position) const {
        const Block& block = blocks_[position / kBlockSlots];
        const std::uint64_t before = block.ends & ((std::uint64_t{1} << position % kBlockSlots) - 1);
        return block.words_before + static_cast<std::size_t>(std::popcount(before));
    }

    SymbolRow row_;
    std::vector<std::uint64_t> counts_;
    std::vector<Block> blocks_;
};

}  // namespace groundup
