// One pre-token to ids, for merges as training makes them. Twin: reference.py, apply_merges.
//
// A short word: join the pair whose merge came first, and again. In a long word that would be slow, but there the
// result can be known by a property of its own, in linear time: a row of tokens is what the merges make of its bytes
// if and only if that holds for each two neighbours in it, and there is one such row. So the longest token that fits
// is tried at each place, and where it does not go with the one before, a shorter one; a place that led nowhere is
// not tried again. Whether two tokens go together: undo their merges, the latest first, and see whether the symbols
// that touch would have been joined by an earlier merge. Source: H. van Antwerpen, A. Neubeck, "So many tokens, so
// little time: introducing a faster, more flexible byte-pair tokenizer" (2024).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "block.hpp"
#include "bpe_train.hpp"
#include "id_buffer.hpp"
#include "join_pairs.hpp"
#include "merge_index.hpp"
#include "merger.hpp"
#include "token_trie.hpp"
#include "zeroed_array.hpp"

namespace groundup {

class Speller {
public:
    // Of two ids for one token the lower is used. Throws std::invalid_argument for an id that is too large.
    Speller(const std::vector<Token>& tokens, const std::vector<Merge>& merges);
    // Out of what bytes() gave, which lies in the block from `begin` to its end.
    explicit Speller(ZeroedArray<char> block, std::size_t begin = 0);

    // Whether it can be used: each merge makes a new token out of bytes and of what earlier merges made.
    // Otherwise only Merger knows the ids.
    bool is_usable() const { return merges_.num_symbols() != 0; }

    // All of it, as it can be stored.
    std::span<const char> bytes() const { return {block_.begin() + begin_, block_.end()}; }

    // The merges that it was made of, in their order.
    std::vector<Merge> merges() const;

    // Calls visit(bytes, id) for each token that is what the merges make of its bytes.
    template <class Visit>
    void for_each_whole(Visit&& visit) const {
        std::size_t begin = 0;
        for (Symbol symbol = 0; symbol < lengths_.size(); ++symbol) {
            const std::string_view bytes = all_bytes_.substr(begin, lengths_[symbol]);
            begin += bytes.size();
            if (ids_[symbol] != kNoId && is_made_[symbol] != 0) visit(bytes, ids_[symbol]);
        }
    }

    // Appends the ids of the word. Throws std::invalid_argument that names a token without an id.
    void encode(std::string_view word, IdBuffer& ids) const;

    // The same for several words of at most ShortWord::kMostBytes, which takes less time than one after the other;
    // num_ids gets how many each has. The words' symbols are filled in.
    void encode_short(ShortWord* words, std::size_t num_words, IdBuffer& ids, std::uint32_t* num_ids) const;

private:
    // The 256 bytes, then the token of each merge: a symbol is younger than those it consists of.
    using Symbol = MergeIndex::Symbol;

    // Whether the two bytes stand side by side in some token: if not, no merge reaches across them.
    bool may_touch(char left, char right) const;
    // Writes the symbols of the word to `symbols`, which has room for one a byte, and returns how many there are.
    // Places is a set of places in the word.
    template <class Places>
    std::size_t spell(std::string_view word, Symbol* symbols, Places& dead_ends) const;
    void append(const Symbol* symbols, std::size_t num_symbols, IdBuffer& ids) const;
    std::string token_bytes(Symbol symbol) const;

    static constexpr TokenId kNoId = 0xFFFFFFFF;

    ZeroedArray<char> block_;  // holds all that follows, from begin_ on
    std::size_t begin_ = 0;
    MergeIndex merges_;
    TokenTrie trie_;
    std::span<const std::uint64_t> touching_;  // by pairs of bytes: do they stand side by side in some token?
    std::span<const std::uint32_t> lengths_;   // of the symbols, in bytes
    std::span<const TokenId> ids_;             // of the symbols; kNoId: the vocabulary lacks it
    std::span<const char> is_made_;            // by symbols: do the merges make it of its bytes?
    std::string_view all_bytes_;               // of the symbols, one after the other
};

}  // namespace groundup
