#include "class_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "unicode.hpp"

namespace groundup {

namespace {

constexpr std::size_t kBlocksAtOnce = 16;

// Puts the bytes of characters that are not ASCII into the masks of their classes.
void add_wide_characters(std::string_view text, std::size_t block_begin, ClassBlock& block) {
    const char* const first_byte = text.data() + block_begin;
    const std::uint64_t continuation = block.masks.continuation;
    std::array<std::uint64_t, 16> by_kind{};  // the first bytes
    const auto of_kind = [&by_kind](CharKind kind) -> std::uint64_t& { return by_kind[static_cast<std::uint8_t>(kind)]; };
    for_each_bit(block.masks.high & ~continuation,
                 [&](unsigned place) { of_kind(classify_at(first_byte + place).kind) |= std::uint64_t{1} << place; });
    for_each_bit(of_kind(CharKind::space), [&](unsigned place) {
        const char* const after = first_byte + place + decode_valid(first_byte + place).num_bytes;
        const bool is_last = after != text.data() + text.size() && classify_at(after).kind != CharKind::space;
        block.last_wide_spaces |= std::uint64_t{is_last} << place;
    });
    CharKind kind_before = CharKind::other;  // of a character that the block before begins
    if ((continuation & 1) != 0) {
        const char* p = first_byte;
        while (is_continuation(*p)) --p;
        kind_before = classify_at(p).kind;
    }
    // All bytes: the sum clears the continuation bytes behind a first byte.
    const auto bytes_of = [&](CharKind kind) {
        const std::uint64_t behind = (of_kind(kind) << 1 | std::uint64_t{kind == kind_before}) & continuation;
        return of_kind(kind) | (continuation & ~(continuation + behind));
    };
    const std::uint64_t upper = bytes_of(CharKind::upper);
    block.uncased = bytes_of(CharKind::uncased);
    block.mark = bytes_of(CharKind::mark);
    block.masks.upper |= upper;
    block.masks.letter |= upper | bytes_of(CharKind::lower) | block.uncased;
    block.masks.number |= bytes_of(CharKind::number);
    block.masks.space |= bytes_of(CharKind::space);
}

}  // namespace

void ClassBlock::clear_before(std::size_t num_bytes) {
    const std::uint64_t kept = num_bytes < kBlockBytes ? ~std::uint64_t{0} << num_bytes : 0;
    for (std::uint64_t* const mask :
         {&masks.letter, &masks.upper, &masks.number, &masks.space, &masks.blank, &masks.newline, &masks.slash,
          &masks.apostrophe, &masks.high, &masks.continuation, &uncased, &mark, &last_wide_spaces, &known}) {
        *mask &= kept;
    }
}

void fill_blocks(std::string_view text, std::size_t text_begin, MaskBytes mask_bytes, ClassBlock* blocks,
                 std::size_t num_blocks) {
    std::array<ByteMasks, kBlocksAtOnce> masks;
    while (num_blocks > kBlocksAtOnce) {
        fill_blocks(text, text_begin, mask_bytes, blocks, kBlocksAtOnce);
        text_begin += kBlocksAtOnce * kBlockBytes;
        blocks += kBlocksAtOnce;
        num_blocks -= kBlocksAtOnce;
    }
    const std::size_t rest = text_begin < text.size() ? text.size() - text_begin : 0;
    const std::size_t num_whole = std::min(num_blocks, rest / kBlockBytes);
    if (num_whole > 0) mask_bytes(text.data() + text_begin, num_whole, masks.data());
    if (num_whole < num_blocks) {
        std::array<char, kBlockBytes> tail;
        tail.fill(' ');
        const std::size_t tail_begin = num_whole * kBlockBytes;
        if (tail_begin < rest) std::memcpy(tail.data(), text.data() + text_begin + tail_begin, rest - tail_begin);
        mask_bytes(tail.data(), 1, &masks[num_whole]);
        tail.fill(' ');
        for (std::size_t b = num_whole + 1; b < num_blocks; ++b) mask_bytes(tail.data(), 1, &masks[b]);
    }
    for (std::size_t b = 0; b < num_blocks; ++b) {
        ClassBlock& block = blocks[b];
        block = {masks[b], 0, 0, 0, ~std::uint64_t{0}};
        if (block.masks.high != 0) add_wide_characters(text, text_begin + b * kBlockBytes, block);
    }
}

}  // namespace groundup
