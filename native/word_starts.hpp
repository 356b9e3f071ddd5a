// Where the pre-tokens of a text begin, 64 bytes at a time, by algebra on bit masks.
//
// The same cuts as next_word_end (pretokenize.hpp), which walks from character to character. Here a run of
// letters costs nothing: a word begins where the class of a byte differs from that of the byte before. All
// bytes of a character are in its class, so this also holds for text that is not ASCII. Each family of patterns has
// an algebra of its own (gpt2_starts.hpp, cl100k_starts.hpp, o200k_starts.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "cl100k_starts.hpp"
#include "class_blocks.hpp"
#include "gpt2_starts.hpp"
#include "o200k_starts.hpp"

namespace groundup {

inline constexpr std::size_t kBlocksPerWindow = 64;
inline constexpr std::size_t kWindowBytes = kBlocksPerWindow * kBlockBytes;

// Goes through a text (valid UTF-8, which it does not own) in windows of kWindowBytes.
class WordStarts {
public:
    WordStarts(Pattern pattern, std::string_view text);

    // Moves on to the next window; false at the end of the text.
    bool next();

    // Of this window, after next():
    std::size_t window_begin() const { return begin_; }
    // Bit i of block b: a word begins at window_begin() + 64 b + i.
    const std::array<std::uint64_t, kBlocksPerWindow>& starts() const { return starts_; }

private:
    using Family = std::variant<Gpt2Starts<false>, Gpt2Starts<true>, Cl100kStarts, O200kStarts>;

    static Family family_of(Pattern pattern);
    template <class Starts>
    void find_starts(Starts& family, std::size_t num_blocks);
    std::uint64_t walk(std::size_t block_begin);

    Pattern pattern_;
    std::string_view text_;
    MaskBytes mask_bytes_;
    Family family_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::array<ClassBlock, kBlocksPerWindow + 1> blocks_;  // of the window, and the one after it
    std::array<std::uint64_t, kBlocksPerWindow> starts_{};
    // For families that may give up:
    std::size_t last_start_ = 0;  // where the last word known begins
    std::size_t walked_to_ = 0;   // words up to here were found by walking; here one begins
};

}  // namespace groundup
