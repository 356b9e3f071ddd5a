#include "word_cache.hpp"

#include <algorithm>

namespace groundup {

const Spelling& WordCache::insert(std::string_view word, const WordKey& key, std::uint64_t hash, const TokenId* first,
                                  const TokenId* last) {
    const std::size_t table_bytes = words_.is_full() ? words_.next_size_bytes() : words_.size_bytes();
    if (table_bytes + many_ids_.capacity() * sizeof(TokenId) > limit_bytes_) {
        words_ = WordTable<Spelling>(kFirstSlots);
        std::vector<TokenId>().swap(many_ids_);
    }
    Spelling& spelling = words_.at(word, key, hash);
    spelling.count = static_cast<std::uint32_t>(last - first);
    if (spelling.is_inside()) {
        std::copy(first, last, spelling.ids.begin());
    } else {
        spelling.ids[0] = static_cast<TokenId>(many_ids_.size());
        many_ids_.insert(many_ids_.end(), first, last);
    }
    return spelling;
}

}  // namespace groundup
