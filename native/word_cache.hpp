// The ids of words met before, in bounded memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "id_buffer.hpp"
#include "word_key.hpp"
#include "word_table.hpp"

namespace groundup {

// What a word is spelled with: up to three ids here, more of them elsewhere.
struct Spelling {
    static constexpr std::uint32_t kMostInside = 3;
    std::array<TokenId, kMostInside> ids;  // with more: the first is their place
    std::uint32_t count;

    bool is_inside() const { return count <= kMostInside; }
};

class WordCache {
public:
    explicit WordCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

    WordTable<Spelling>& words() { return words_; }

    const TokenId* ids_of(const Spelling& spelling) const {
        return spelling.is_inside() ? spelling.ids.data() : many_ids_.data() + spelling.ids[0];
    }

    // Room for so many words at once.
    void reserve(std::size_t num_words) {
        if (words_.size() == 0) words_ = WordTable<Spelling>(std::bit_ceil(num_words * 3 / 2 + kFirstSlots));
    }
    // Remembers the ids [first, last) of a word that is not there. Forgets everything first if it would pass the limit.
    void insert(std::string_view word, const WordKey& key, std::uint64_t hash, const TokenId* first, const TokenId* last);

    bool is_prepared = false;  // whether Encoder::prepare has seen it

private:
    static constexpr std::size_t kFirstSlots = 4096;
    static constexpr std::size_t kMostManyIds = 0xFFFF0000;  // their places have 32 bits

    WordTable<Spelling> words_{kFirstSlots};
    std::vector<TokenId> many_ids_;
    std::size_t limit_bytes_;
};

}  // namespace groundup
