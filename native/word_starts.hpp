// Where the pre-tokens of a text begin, 64 bytes at a time, by algebra on bit masks.
//
// The same cuts as next_word_end (pretokenize.hpp), which walks from character to character. Here a run of
// letters costs nothing: a word begins where the class of a byte differs from that of the byte before. All
// bytes of a character are in its class, so this also holds for text that is not ASCII.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "byte_masks.hpp"

namespace groundup {

inline constexpr std::size_t kBlocksPerWindow = 16;
inline constexpr std::size_t kWindowBytes = kBlocksPerWindow * kBlockBytes;

// Goes through a text (valid UTF-8, which it does not own) in windows of kWindowBytes.
class WordStarts {
public:
    explicit WordStarts(std::string_view text);

    // Moves on to the next window; false at the end of the text.
    bool next();

    // Of this window, after next():
    std::size_t window_begin() const { return begin_; }
    std::size_t window_end() const { return end_; }
    // Bit i of block b: a word begins at window_begin() + 64 b + i.
    const std::array<std::uint64_t, kBlocksPerWindow>& starts() const { return starts_; }

private:
    // Of the last byte of the block before: is it in this class? And what a contraction there does here.
    struct Carry {
        std::uint64_t letter = 0;
        std::uint64_t number = 0;
        std::uint64_t space = 0;
        std::uint64_t blank = 0;
        std::uint64_t other = 0;
        std::uint64_t no_start = 0;
        std::uint64_t start = 0;
    };

    struct Block {
        ByteMasks masks;
        // The first bytes of spaces that are not ASCII and stand before something that is no space.
        std::uint64_t last_wide_spaces;
    };

    void fill(std::size_t text_begin, std::size_t first_block, std::size_t num_blocks);
    void add_wide_characters(std::size_t block_begin, Block& block) const;
    std::uint64_t find_starts(std::size_t block_begin, const Block& block, const Block& next);
    void find_contractions(std::size_t block_begin, std::uint64_t apostrophes, std::uint64_t& starts);

    std::string_view text_;
    MaskBytes mask_bytes_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::array<Block, kBlocksPerWindow + 1> blocks_;  // of the window, and the one after it
    std::array<std::uint64_t, kBlocksPerWindow> starts_{};
    Carry carry_;
};

}  // namespace groundup
