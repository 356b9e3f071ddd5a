// One pre-token to ids in linear time, for merges as training makes them. Twin: reference.py, apply_merges.
//
// Joining pairs in the order of their ranks needs many looks at each pair. But the result can be known by a
// property of its own: a row of tokens is what the merges make of its bytes if and only if that holds for each
// two neighbours in it, and there is one such row. So the longest token that fits is tried at each place, and
// where it does not go with the one before, a shorter one; a place that led nowhere is not tried again.
// Whether two tokens go together: undo their merges, the latest first, and see whether the symbols that touch
// would have been joined by an earlier merge. Source: H. van Antwerpen, A. Neubeck, "So many tokens, so little
// time: introducing a faster, more flexible byte-pair tokenizer" (2024).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bpe_train.hpp"
#include "id_buffer.hpp"
#include "merge_index.hpp"
#include "merger.hpp"
#include "token_trie.hpp"
#include "word_table.hpp"

namespace groundup {

class Speller {
public:
    // Of two ids for one token the lower is used. Throws std::invalid_argument for an id that is too large.
    Speller(const std::vector<Token>& tokens, const std::vector<Merge>& merges);

    // Whether it can be used: each merge makes a new token out of bytes and of what earlier merges made.
    // Otherwise only Merger knows the ids.
    bool is_usable() const { return is_usable_; }

    // Appends the ids of the word. Throws std::invalid_argument that names a token without an id.
    void encode(std::string_view word, IdBuffer& ids) const;

private:
    // The 256 bytes, then the token of each merge: a symbol is younger than those it consists of.
    using Symbol = MergeIndex::Symbol;
    // Symbols from 256 on; false where a merge is not as it should be.
    bool number_merges(const std::vector<Merge>& merges, WordTable<Symbol>& symbols);
    void add_symbol(std::string_view bytes, MergeIndex::Parts parts);
    void build_trie();
    // Whether the two, side by side, stay as they are under the merges that make symbols below the limit.
    bool go_together(Symbol left, Symbol right, Symbol limit) const;
    bool may_touch(char left, char right) const {
        const std::size_t pair = std::size_t{static_cast<unsigned char>(left)} << 8 | static_cast<unsigned char>(right);
        return (touching_bytes_[pair / 64] >> pair % 64 & 1) != 0;
    }
    // Writes the symbols of the word to `symbols`, which has room for one a byte; how many there are. Places is
    // a set of places in the word.
    template <class Places>
    std::size_t spell(std::string_view word, Symbol* symbols, Places& dead_ends) const;
    void append(const Symbol* symbols, std::size_t num_symbols, IdBuffer& ids) const;

    bool is_usable_ = false;
    std::string all_bytes_;
    std::vector<std::string_view> bytes_;  // of each symbol, in all_bytes_
    std::vector<TokenId> ids_;
    MergeIndex merges_;
    std::array<std::uint64_t, 1024> touching_bytes_{};  // pairs of bytes that stand side by side in some token
    TokenTrie trie_;
};

}  // namespace groundup
