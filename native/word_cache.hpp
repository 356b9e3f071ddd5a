// The ids of words met before, in bounded memory.
#pragma once

#include <array>
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

    // Remembers the ids [first, last) of a word that is not there. Forgets everything first if it would pass the limit.
    const Spelling& insert(std::string_view word, const WordKey& key, std::uint64_t hash, const TokenId* first,
                           const TokenId* last);

private:
    static constexpr std::size_t kFirstSlots = 4096;

    WordTable<Spelling> words_{kFirstSlots};
    std::vector<TokenId> many_ids_;
    std::size_t limit_bytes_;
};

}  // namespace groundup
