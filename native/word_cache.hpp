// The ids of words met before, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "id_buffer.hpp"
#include "short_words.hpp"
#include "word_key.hpp"
#include "word_table.hpp"

namespace groundup {

class WordCache {
public:
    explicit WordCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

    // Most words are in here.
    const ShortWords& short_words() const { return short_words_; }
    // Brings the place of one that is not into the processor's cache.
    void prefetch(std::uint64_t hash) const { long_words_.prefetch(hash); }

    // What is known of any word (see ShortSpelling); 0 for a new one. `hash` is that of `key`.
    std::uint64_t find(std::string_view word, const WordKey& key, std::uint64_t hash) const;
    void append_ids(std::uint64_t value, IdBuffer& ids) const;
    // Writes the ids of a value that does not hold them, and up to kWrittenAtOnce places more; the end of the ids.
    TokenId* write_many(std::uint64_t value, TokenId* out) const {
        const TokenId* from = many_ids_.data() + static_cast<std::uint32_t>(value);
        TokenId* const end = out + (value >> 32);
        for (TokenId* to = out; to < end; to += kWrittenAtOnce, from += kWrittenAtOnce) {
            std::memcpy(to, from, kWrittenAtOnce * sizeof(TokenId));
        }
        return end;
    }
    static constexpr std::size_t kWrittenAtOnce = 4;

    // Remembers the ids of a word that is not there; its value.
    std::uint64_t insert(std::string_view word, const WordKey& key, std::uint64_t hash, std::span<const TokenId> ids);

    // Remembers a word that is one token. If it is there already, that stays.
    void insert_token(std::string_view bytes, TokenId id);

    // Forgets everything if so many new words could pass the limit. Values from before mean nothing then.
    void make_room(std::size_t num_new);
    // Room for so many words at once.
    void reserve(std::size_t num_words) { short_words_ = ShortWords(num_words); }

    bool is_prepared = false;  // whether Encoder::prepare has seen it

private:
    static constexpr std::size_t kFirstWords = 4096;
    static constexpr std::size_t kMostManyIds = 0xF0000000;  // their places have 32 bits

    struct alignas(16) Spelling {  // a slot is then half a line
        std::uint64_t value;
    };

    std::uint64_t value_of(std::span<const TokenId> ids);

    ShortWords short_words_{kFirstWords};
    WordTable<Spelling> long_words_{kFirstWords};  // and those that found no room in their line
    std::vector<TokenId> many_ids_ = std::vector<TokenId>(kWrittenAtOnce);  // the last ones are only there to be read
    std::size_t limit_bytes_;
};

}  // namespace groundup
