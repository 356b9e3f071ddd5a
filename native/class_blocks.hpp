// Text as blocks of 64 bytes, in which each byte has the class of its character.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "byte_masks.hpp"

namespace groundup {

// Bit i of each mask belongs to byte i. All bytes of a character are in its class.
struct ClassBlock {
    ByteMasks masks;             // marks and other symbols beyond ASCII are in no class
    std::uint64_t uncased;  // letters that are neither upper (Lu, Lt) nor lower case (Ll)
    std::uint64_t mark;     // \p{M}
    // The first bytes of spaces that are not ASCII and stand before something that is no space.
    std::uint64_t last_wide_spaces;
    std::uint64_t known;  // all, but for clear_before()

    std::uint64_t other() const { return known & ~(masks.letter | masks.number | masks.space); }

    // Takes the first bytes out of all classes: the text seems to begin behind them.
    void clear_before(std::size_t num_bytes);
};

// Fills `blocks` with the text from text_begin on. Behind the text stand blanks: white space at its end is one word,
// as if more of it followed.
void fill_blocks(std::string_view text, std::size_t text_begin, MaskBytes mask_bytes, ClassBlock* blocks,
                 std::size_t num_blocks);

// Where a block lies in the text.
struct BlockPlace {
    const char* block;
    const char* text_end;
};

// For the blocks of a text in turn: the bytes right behind those of a mask.
class Behind {
public:
    std::uint64_t operator()(std::uint64_t mask) {
        const std::uint64_t behind = mask << 1 | last_;
        last_ = mask >> (kBlockBytes - 1);
        return behind;
    }

private:
    std::uint64_t last_ = 0;  // of the block before
};

// Calls visit(place) for each bit of the mask, from the lowest on.
template <class Visit>
void for_each_bit(std::uint64_t mask, Visit&& visit) {
    for (; mask != 0; mask &= mask - 1) visit(static_cast<unsigned>(std::countr_zero(mask)));
}

}  // namespace groundup
