#include "word_starts.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "pretokenize.hpp"
#include "unicode.hpp"

namespace groundup {

WordStarts::WordStarts(std::string_view text) : text_(text), mask_bytes_(instruction_set().mask_bytes) {
    fill(0, 0, 1);
}

bool WordStarts::next() {
    begin_ = end_;
    if (begin_ == text_.size()) return false;
    end_ = std::min(begin_ + kWindowBytes, text_.size());
    const std::size_t num_blocks = (end_ - begin_ + kBlockBytes - 1) / kBlockBytes;
    fill(begin_ + kBlockBytes, 1, num_blocks);
    for (std::size_t b = 0; b < num_blocks; ++b) {
        starts_[b] = find_starts(begin_ + b * kBlockBytes, blocks_[b], blocks_[b + 1]);
    }
    std::fill(starts_.begin() + static_cast<std::ptrdiff_t>(num_blocks), starts_.end(), 0);
    const std::size_t rest = end_ % kBlockBytes;
    if (rest != 0) starts_[num_blocks - 1] &= ~std::uint64_t{0} >> (kBlockBytes - rest);
    blocks_[0] = blocks_[num_blocks];
    return true;
}

// Behind the text stand blanks: white space at its end is one word, as if more of it followed.
void WordStarts::fill(std::size_t text_begin, std::size_t first_block, std::size_t num_blocks) {
    std::array<ByteMasks, kBlocksPerWindow> masks;
    const std::size_t rest = text_begin < text_.size() ? text_.size() - text_begin : 0;
    const std::size_t num_whole = std::min(num_blocks, rest / kBlockBytes);
    mask_bytes_(text_.data() + text_begin, num_whole, masks.data());
    if (num_whole < num_blocks) {
        std::array<char, kBlockBytes> tail;
        tail.fill(' ');
        const std::size_t tail_begin = num_whole * kBlockBytes;
        if (tail_begin < rest) std::memcpy(tail.data(), text_.data() + text_begin + tail_begin, rest - tail_begin);
        mask_bytes_(tail.data(), 1, &masks[num_whole]);
        tail.fill(' ');
        for (std::size_t b = num_whole + 1; b < num_blocks; ++b) mask_bytes_(tail.data(), 1, &masks[b]);
    }
    for (std::size_t b = 0; b < num_blocks; ++b) {
        Block& block = blocks_[first_block + b];
        block = {masks[b], 0};
        if (block.masks.high != 0) add_wide_characters(text_begin + b * kBlockBytes, block);
    }
}

// Puts the bytes of characters that are not ASCII into the masks of their classes.
void WordStarts::add_wide_characters(std::size_t block_begin, Block& block) const {
    std::array<std::uint64_t, 4> by_class{};
    const char* const first_byte = text_.data() + block_begin;
    const char* const text_end = text_.data() + text_.size();
    const char* p = first_byte + std::countr_zero(block.masks.high);
    while (is_continuation(*p)) --p;  // a character that the block before begins
    std::uint64_t rest = block.masks.high;
    while (rest != 0) {
        const ClassifiedCharacter character = classify_at(p);
        std::uint64_t bits = ~std::uint64_t{0} >> (kBlockBytes - character.num_bytes);
        const std::ptrdiff_t offset = p - first_byte;
        bits = offset < 0 ? bits >> -offset : bits << offset;
        by_class[static_cast<std::size_t>(character.char_class)] |= bits;
        rest &= ~bits;
        if (character.char_class == CharClass::space && offset >= 0) {
            const char* const after = p + character.num_bytes;
            const bool is_last = after != text_end && classify_at(after).char_class != CharClass::space;
            block.last_wide_spaces |= std::uint64_t{is_last} << offset;
        }
        p = first_byte + std::countr_zero(rest);
    }
    block.masks.letter |= by_class[static_cast<std::size_t>(CharClass::letter)];
    block.masks.number |= by_class[static_cast<std::size_t>(CharClass::number)];
    block.masks.space |= by_class[static_cast<std::size_t>(CharClass::space)];
}

std::uint64_t WordStarts::find_starts(std::size_t block_begin, const Block& block, const Block& next) {
    const std::uint64_t letter = block.masks.letter;
    const std::uint64_t number = block.masks.number;
    const std::uint64_t space = block.masks.space;
    const std::uint64_t other = ~(letter | number | space);
    const std::uint64_t blank = block.masks.blank;
    // A run of one class begins a word, unless a blank before it is its first byte.
    const std::uint64_t run_begins = (letter & ~(letter << 1 | carry_.letter)) | (number & ~(number << 1 | carry_.number)) |
                                     (other & ~(other << 1 | carry_.other));
    std::uint64_t starts = run_begins & ~(blank << 1 | carry_.blank);
    // So does white space, and its last character before something else: that is \s+(?!\S).
    const std::uint64_t before_space = space >> 1 | next.masks.space << 63;
    starts |= space & ~(space << 1 | carry_.space);
    starts |= (space & ~before_space & ~block.masks.high) | block.last_wide_spaces;
    starts = (starts & ~carry_.no_start) | carry_.start;
    constexpr unsigned kLast = kBlockBytes - 1;
    carry_ = {letter >> kLast, number >> kLast, space >> kLast, blank >> kLast, other >> kLast, 0, 0};
    const std::uint64_t apostrophes = starts & block.masks.apostrophe;
    if (apostrophes != 0) find_contractions(block_begin, apostrophes, starts);
    return starts;
}

// An apostrophe that begins a word may begin one of two or three bytes, after which another word begins.
void WordStarts::find_contractions(std::size_t block_begin, std::uint64_t apostrophes, std::uint64_t& starts) {
    const char* const end = text_.data() + text_.size();
    for (; apostrophes != 0; apostrophes &= apostrophes - 1) {
        const auto place = static_cast<unsigned>(std::countr_zero(apostrophes));
        const auto length = static_cast<unsigned>(contraction_length(text_.data() + block_begin + place, end));
        if (length == 0) continue;
        // The letter after the apostrophe would begin a word; so it does behind the contraction.
        const unsigned letter = place + 1;
        const unsigned behind = place + length;
        if (letter < kBlockBytes) {
            starts &= ~(std::uint64_t{1} << letter);
        } else {
            carry_.no_start |= std::uint64_t{1} << (letter - kBlockBytes);
        }
        if (behind < kBlockBytes) {
            starts |= std::uint64_t{1} << behind;
        } else {
            carry_.start |= std::uint64_t{1} << (behind - kBlockBytes);
        }
    }
}

}  // namespace groundup
