#include "word_cache.hpp"

#include <algorithm>

namespace groundup {

void WordCache::insert(std::string_view word, const WordKey& key, std::uint64_t hash, const TokenId* first,
                       const TokenId* last) {
    const std::size_t table_bytes = words_.is_full() ? words_.next_size_bytes() : words_.size_bytes();
    const bool is_large = table_bytes + many_ids_.capacity() * sizeof(TokenId) > limit_bytes_;
    if (is_large || many_ids_.size() > kMostManyIds) {
        words_ = WordTable<Spelling>(kFirstSlots);
        std::vector<TokenId>().swap(many_ids_);
    }
    // The ids come first: a word must not be there before them, should the memory end here.
    const std::size_t place = many_ids_.size();
    const auto count = static_cast<std::uint32_t>(last - first);
    if (count > Spelling::kMostInside) many_ids_.insert(many_ids_.end(), first, last);
    Spelling& spelling = words_.at(word, key, hash);
    spelling.count = count;
    if (spelling.is_inside()) {
        std::copy(first, last, spelling.ids.begin());
    } else {
        spelling.ids[0] = static_cast<TokenId>(place);
    }
}

}  // namespace groundup
