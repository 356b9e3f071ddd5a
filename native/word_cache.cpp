#include "word_cache.hpp"

#include <array>

namespace groundup {

namespace {

constexpr TokenId kMostSecondId = (TokenId{1} << 30) - 1;

}  // namespace

std::uint64_t WordCache::find(std::string_view word, const WordKey& key, std::uint64_t hash) const {
    if (const std::uint64_t short_key = ShortKey::of(key); short_key != 0) {
        if (const std::uint64_t value = short_words_.find(short_key); value != 0) return value;
    }
    const Spelling* const known = long_words_.find(word, key, hash);
    return known == nullptr ? 0 : known->value;
}

void WordCache::append_ids(std::uint64_t value, IdBuffer& ids) const {
    const auto low = static_cast<TokenId>(value);
    const auto high = static_cast<TokenId>((value & ShortSpelling::kIdsMask) >> 32);
    if (ShortSpelling::is_inside(value)) {
        const std::array<TokenId, 2> inside{low, high};
        ids.append(inside.data(), ShortSpelling::count_inside(value));
    } else {
        ids.append(many_ids_.data() + low, high);
    }
}

std::uint64_t WordCache::insert(std::string_view word, const WordKey& key, std::uint64_t hash,
                                std::span<const TokenId> ids) {
    // The ids come first: a word must not be there before them, should the memory end here.
    const std::uint64_t value = value_of(ids);
    const std::uint64_t short_key = ShortKey::of(key);
    if (short_key == 0 || !short_words_.insert(short_key, value)) long_words_.at(word, key, hash) = {value};
    return value;
}

void WordCache::insert_token(std::string_view bytes, TokenId id) {
    const std::uint64_t value = ShortSpelling::kInside | id;
    if (const std::uint64_t short_key = ShortKey::of(bytes); short_key != 0) {
        if (short_words_.find(short_key) != 0 || short_words_.insert(short_key, value)) return;
    }
    Spelling& spelling = long_words_[bytes];
    if (spelling.value == 0) spelling.value = value;
}

std::uint64_t WordCache::value_of(std::span<const TokenId> ids) {
    if (ids.size() == 1) return ShortSpelling::kInside | ids[0];
    if (ids.size() == 2 && ids[1] <= kMostSecondId) {
        return ShortSpelling::kInside | ShortSpelling::kTwo | std::uint64_t{ids[1]} << 32 | ids[0];
    }
    const std::uint64_t place = many_ids_.size() - kWrittenAtOnce;
    many_ids_.insert(many_ids_.end() - kWrittenAtOnce, ids.begin(), ids.end());
    return std::uint64_t{ids.size()} << 32 | place;
}

void WordCache::make_room(std::size_t num_new) {
    const std::size_t tables = short_words_.size_bytes_with(num_new) + long_words_.size_bytes_with(num_new);
    const std::size_t many = many_ids_.capacity() * sizeof(TokenId);
    if (tables + many <= limit_bytes_ && many_ids_.size() <= kMostManyIds) return;
    short_words_ = ShortWords(kFirstWords);
    long_words_ = WordTable<Spelling>(kFirstWords);
    std::vector<TokenId>(kWrittenAtOnce).swap(many_ids_);
}

}  // namespace groundup
