// One pre-token to ids by any list of merges, in order of creation. Twin: reference.py, apply_merges.
//
// For vocabularies that Speller cannot take, whose merges do not build upon one another. Always the pair of
// lowest rank, everywhere in the word from left to right, until no pair has a rank.
// Short words: look at all pairs for each merge. Long words: lists of places by rank, so that the cost is
// near linear whatever the word holds. Both give the same ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpe_train.hpp"
#include "id_buffer.hpp"
#include "pair_table.hpp"

namespace groundup {

using Token = std::pair<std::string, TokenId>;

class Merger {
public:
    // Tokens need not be numbered without gaps, nor hold all bytes or all that the merges make: what a word
    // needs and the vocabulary lacks is an error when it is met. Of two ids for one token the lower is used.
    Merger(const std::vector<Token>& tokens, const std::vector<Merge>& merges);

    // Appends the ids of the word. Throws std::invalid_argument that names a token without an id.
    void encode(std::string_view word, IdBuffer& ids) const;

    // The merges that it was made of, in their order.
    std::vector<Merge> merges() const;

private:
    // Inside, tokens are numbered as they come: the 256 bytes, then what the merges name and make.
    using Symbol = std::uint32_t;
    using Rank = std::uint32_t;
    struct Joined {
        Rank rank;
        Symbol symbol;
    };
    static constexpr TokenId kNoId = 0xFFFFFFFF;
    static constexpr std::size_t kLongestShortWord = 64;

    Symbol symbol_of(const std::string& bytes, std::unordered_map<std::string, Symbol>& symbols);
    void encode_short(std::string_view word, IdBuffer& ids) const;
    void encode_long(std::string_view word, IdBuffer& ids) const;
    void append(Symbol symbol, IdBuffer& ids) const;

    std::vector<std::string> symbol_bytes_;
    std::vector<std::uint32_t> symbol_lengths_;
    std::vector<TokenId> symbol_ids_;
    PairTable<Joined> joined_;
    std::vector<std::pair<Symbol, Symbol>> pair_of_rank_;
};

}  // namespace groundup
