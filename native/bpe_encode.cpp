#include "bpe_encode.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "errors.hpp"
#include "parallel.hpp"
#include "unicode.hpp"
#include "text_chunks.hpp"
#include "word_batches.hpp"

namespace groundup {

namespace {

constexpr std::size_t kLongestCachedWord = 255;
constexpr std::size_t kTextsPerTurn = 16;

std::vector<std::string> bytes_of(const std::vector<Token>& tokens) {
    std::vector<std::string> bytes;
    bytes.reserve(tokens.size());
    for (const Token& token : tokens) bytes.push_back(token.first);
    return bytes;
}

}  // namespace

void WordCache::insert(std::string_view word, const WordKey& key, std::uint64_t hash, const TokenId* first,
                       const TokenId* last) {
    const std::size_t table_bytes = table_.is_full() ? table_.next_size_bytes() : table_.size_bytes();
    if (table_bytes + many_ids_.capacity() * sizeof(TokenId) > limit_bytes_) {
        table_ = WordTable<Spelling>(kFirstSlots);
        std::vector<TokenId>().swap(many_ids_);
    }
    Spelling& spelling = table_.at(word, key, hash);
    spelling.count = static_cast<std::uint32_t>(last - first);
    if (spelling.count <= Spelling::kMostInside) {
        std::copy(first, last, spelling.ids.begin());
    } else {
        spelling.ids[0] = static_cast<TokenId>(many_ids_.size());
        many_ids_.insert(many_ids_.end(), first, last);
    }
}

Encoder::Encoder(const std::vector<Token>& tokens, const std::vector<Merge>& merges,
                 const std::vector<Token>& special_tokens, std::size_t cache_bytes, bool ignore_merges)
    : speller_(tokens, merges), specials_(bytes_of(special_tokens)), most_caches_(default_num_threads()) {
    if (!speller_.is_usable()) merger_.emplace(tokens, merges);
    if (ignore_merges) {
        for (const auto& [bytes, id] : tokens) {
            const auto [place, is_new] = whole_words_.emplace(bytes, id);
            if (!is_new) place->second = std::min(place->second, id);
        }
    }
    for (const Token& token : special_tokens) special_ids_.push_back(token.second);
    add_token_bytes(tokens);
    add_token_bytes(special_tokens);
    bytes_per_cache_ = cache_bytes;
    idle_caches_.reserve(most_caches_);
}

void Encoder::add_token_bytes(const std::vector<Token>& tokens) {
    const std::size_t dense = tokens.size() * 4 + 65536;
    for (const auto& [bytes, id] : tokens) {
        if (id < dense && id >= spans_.size()) spans_.resize(std::size_t{id} + 1);
        Span& span = id < spans_.size() ? spans_[id] : distant_spans_[id];
        span = {all_bytes_.size(), static_cast<std::uint32_t>(bytes.size()), true};
        all_bytes_ += bytes;
    }
}

std::string_view Encoder::token_bytes(std::int64_t id) const {
    const Span* span = nullptr;
    if (id >= 0 && static_cast<std::uint64_t>(id) < spans_.size()) {
        span = &spans_[static_cast<std::size_t>(id)];
    } else if (id >= 0 && id <= 0xFFFFFFFF) {
        const auto found = distant_spans_.find(static_cast<TokenId>(id));
        if (found != distant_spans_.end()) span = &found->second;
    }
    if (span == nullptr || !span->exists) {
        throw std::invalid_argument("id " + std::to_string(id) + " is not in the vocabulary");
    }
    return {all_bytes_.data() + span->begin, span->length};
}

template <class Id>
std::string Encoder::decode(const Id* ids, std::size_t size, std::ptrdiff_t stride) const {
    std::string bytes;
    bytes.reserve(size * 4);
    const auto count = static_cast<std::ptrdiff_t>(size);
    for (std::ptrdiff_t i = 0; i < count; ++i) bytes += token_bytes(static_cast<std::int64_t>(ids[i * stride]));
    return bytes;
}

template std::string Encoder::decode(const std::uint16_t*, std::size_t, std::ptrdiff_t) const;
template std::string Encoder::decode(const std::uint32_t*, std::size_t, std::ptrdiff_t) const;
template std::string Encoder::decode(const std::int64_t*, std::size_t, std::ptrdiff_t) const;

Encoder::Lease::Lease(const Encoder& encoder) : encoder_(encoder) {
    const std::unique_lock lock(encoder.mutex_, std::try_to_lock);
    if (lock && !encoder.idle_caches_.empty()) {
        cache_ = std::move(encoder.idle_caches_.back());
        encoder.idle_caches_.pop_back();
    } else {
        cache_ = std::make_unique<WordCache>(encoder.bytes_per_cache_);
    }
}

Encoder::Lease::~Lease() {
    const std::unique_lock lock(encoder_.mutex_, std::try_to_lock);
    if (!lock || encoder_.idle_caches_.size() == encoder_.most_caches_) return;
    encoder_.idle_caches_.push_back(std::move(cache_));  // into reserved room: cannot throw
}

void Encoder::spell(std::string_view word, IdBuffer& ids) const {
    if (!whole_words_.empty()) {
        const auto whole = whole_words_.find(std::string(word));
        if (whole != whole_words_.end()) {
            ids.push_back(whole->second);
            return;
        }
    }
    if (merger_) {
        merger_->encode(word, ids);
    } else {
        speller_.encode(word, ids);
    }
}

void Encoder::encode_word(std::string_view word, const WordKey& key, std::uint64_t hash, WordCache& cache,
                          IdBuffer& ids) const {
    if (const Spelling* const spelling = cache.table().find(word, key, hash)) {
        ids.append(cache.ids_of(*spelling), spelling->count);
        return;
    }
    const std::size_t first = ids.size();
    spell(word, ids);
    if (word.size() <= kLongestCachedWord) cache.insert(word, key, hash, ids.begin() + first, ids.end());
}

void Encoder::encode_ordinary(std::string_view text, const char* readable_end, WordCache& cache,
                              IdBuffer& ids) const {
    WordBatches batches(text, readable_end);
    while (batches.next(cache.table())) {
        // No word has more ids than bytes. One spelling more: a known one is written whole, whatever it holds.
        const std::size_t most_ids = batches.num_bytes() + sizeof(Spelling) / sizeof(TokenId);
        TokenId* out = ids.room_for(most_ids);
        for (std::size_t i = 0; i < batches.size(); ++i) {
            const Spelling* const known = cache.table().find_short(batches.key(i), batches.hash(i));
            if (known != nullptr && known->count <= Spelling::kMostInside) {
                std::memcpy(out, known, sizeof(Spelling));
                out += known->count;
            } else {
                ids.advance_to(out);
                encode_word(batches.word(i), batches.key(i), batches.hash(i), cache, ids);
                out = ids.room_for(most_ids);
            }
        }
        ids.advance_to(out);
    }
}

void Encoder::encode_with(WordCache& cache, std::string_view text, bool recognise_special, IdBuffer& ids) const {
    const char* const end = text.data() + text.size();
    std::size_t begin = 0;
    while (recognise_special) {
        const SpecialTokens::Match special = specials_.find(text, begin);
        if (special.begin == kNowhere) break;
        encode_ordinary(text.substr(begin, special.begin - begin), end, cache, ids);
        ids.push_back(special_ids_[special.index]);
        begin = special.begin + special.length;
    }
    encode_ordinary(text.substr(begin), end, cache, ids);
}

void Encoder::encode(std::string_view text, bool recognise_special, IdBuffer& ids) const {
    const Lease cache(*this);
    encode_with(*cache, text, recognise_special, ids);
}

std::vector<IdBuffer> Encoder::encode_batch(const std::vector<std::string_view>& texts,
                                                        bool recognise_special, std::size_t num_threads,
                                                        const std::function<void()>& check) const {
    std::vector<IdBuffer> results(texts.size());
    std::atomic<std::size_t> next{0};
    if (num_threads == 0) num_threads = default_num_threads();
    num_threads = std::min(num_threads, texts.size() / kTextsPerTurn + 1);
    run_in_threads(num_threads, [&](std::size_t thread, const std::atomic<bool>& stop) {
        const Lease cache(*this);
        while (!stop) {
            const std::size_t first = next.fetch_add(kTextsPerTurn);
            if (first >= texts.size()) break;
            for (std::size_t i = first; i < std::min(first + kTextsPerTurn, texts.size()); ++i) {
                encode_with(*cache, texts[i], recognise_special, results[i]);
            }
            if (thread == 0 && check) check();
        }
    });
    return results;
}

void Encoder::encode_words(const std::vector<std::string_view>& words, IdBuffer& ids) const {
    const Lease cache(*this);
    for (const std::string_view word : words) {
        if (word.empty()) continue;
        const WordKey key = WordKey::of(word);
        encode_word(word, key, key.hash(), *cache, ids);
    }
}

std::optional<Encoder::Special> Encoder::find_special(std::string_view text) const {
    const SpecialTokens::Match match = specials_.find(text, 0);
    if (match.begin == kNowhere) return std::nullopt;
    return Special{match.begin, match.length, special_ids_[match.index]};
}

void EncoderStream::push(std::string_view piece, IdBuffer& ids) {
    pending_ += piece;
    const Encoder::Lease cache(encoder_);
    const std::string_view text = pending_;
    const char* const readable_end = text.data() + text.size();
    for (;;) {
        SpecialTokens::Match special{kNowhere, 0, 0, false};
        if (recognise_special_) special = encoder_.specials_.find(text, std::max(begin_, no_special_to_), true);
        no_special_to_ = std::min(special.begin, text.size());
        const bool is_certain = special.begin != kNowhere && !special.open;
        const std::size_t end = is_certain ? special.begin : find_safe_end(no_special_to_);
        encoder_.encode_ordinary(text.substr(begin_, end - begin_), readable_end, *cache, ids);
        begin_ = end;
        if (!is_certain) break;
        ids.push_back(encoder_.special_ids_[special.index]);
        begin_ = special.begin + special.length;
    }
    if (begin_ > pending_.size() / 2) {
        pending_.erase(0, begin_);
        no_cut_to_ -= std::min(no_cut_to_, begin_);
        no_special_to_ -= begin_;
        begin_ = 0;
    }
}

std::size_t EncoderStream::find_safe_end(std::size_t end) {
    const std::size_t searched = std::max(begin_, no_cut_to_);
    std::size_t cut = end;
    while (cut > searched && !is_boundary_at(pending_, cut)) --cut;
    // The end of the pending text can be judged only when more of it is there.
    no_cut_to_ = std::max(searched, end < pending_.size() || end == 0 ? end : end - 1);
    return cut > searched ? cut : begin_;
}

void EncoderStream::finish(IdBuffer& ids) {
    encoder_.encode(std::string_view(pending_).substr(begin_), recognise_special_, ids);
    pending_.clear();
    begin_ = no_cut_to_ = no_special_to_ = 0;
}

}  // namespace groundup
