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
    std::array<std::uint64_t, 16> by_kind{};
    const char* const first_byte = text.data() + block_begin;
    const char* const text_end = text.data() + text.size();
    const char* p = first_byte + std::countr_zero(block.masks.high);
    while (is_continuation(*p)) --p;  // a character that the block before begins
    std::uint64_t first_bytes = 0;
    std::uint64_t rest = block.masks.high;
    while (rest != 0) {
        const ClassifiedCharacter character = classify_at(p);
        std::uint64_t bits = ~std::uint64_t{0} >> (kBlockBytes - character.num_bytes);
        const std::ptrdiff_t offset = p - first_byte;
        bits = offset < 0 ? bits >> -offset : bits << offset;
        first_bytes |= std::uint64_t{offset >= 0} << (offset & 63);
        by_kind[static_cast<std::size_t>(character.kind)] |= bits;
        rest &= ~bits;
        if (character.kind == CharKind::space && offset >= 0) {
            const char* const after = p + character.num_bytes;
            const bool is_last = after != text_end && classify_at(after).kind != CharKind::space;
            block.last_wide_spaces |= std::uint64_t{is_last} << offset;
        }
        p = first_byte + std::countr_zero(rest);
    }
    const auto of_kind = [&by_kind](CharKind kind) { return by_kind[static_cast<std::size_t>(kind)]; };
    block.uncased = of_kind(CharKind::uncased);
    block.mark = of_kind(CharKind::mark);
    block.continuation = block.masks.high & ~first_bytes;
    block.masks.upper |= of_kind(CharKind::upper);
    block.masks.letter |= of_kind(CharKind::upper) | of_kind(CharKind::lower) | block.uncased;
    block.masks.number |= of_kind(CharKind::number);
    block.masks.space |= of_kind(CharKind::space);
}

}  // namespace

void ClassBlock::clear_before(std::size_t num_bytes) {
    const std::uint64_t kept = num_bytes < kBlockBytes ? ~std::uint64_t{0} << num_bytes : 0;
    for (std::uint64_t* const mask :
         {&masks.letter, &masks.upper, &masks.number, &masks.space, &masks.blank, &masks.newline, &masks.slash,
          &masks.apostrophe, &masks.high, &uncased, &mark, &continuation, &last_wide_spaces, &known}) {
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
    mask_bytes(text.data() + text_begin, num_whole, masks.data());
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
        block = {masks[b], 0, 0, 0, 0, ~std::uint64_t{0}};
        if (block.masks.high != 0) add_wide_characters(text, text_begin + b * kBlockBytes, block);
    }
}

}  // namespace groundup
