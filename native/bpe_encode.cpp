#include "bpe_encode.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "errors.hpp"
#include "parallel.hpp"
#include "pretokenize.hpp"

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

bool WordCache::append(std::string_view word, std::vector<TokenId>& ids) const {
    const std::uint64_t* const value = table_.find(word);
    if (value == nullptr) return false;
    const auto low = static_cast<std::uint32_t>(*value);
    const auto count = static_cast<std::uint32_t>(*value >> 32);
    if (count == 1) {
        ids.push_back(low);
    } else {
        const auto first = ids_.begin() + static_cast<std::ptrdiff_t>(low);
        ids.insert(ids.end(), first, first + static_cast<std::ptrdiff_t>(count));
    }
    return true;
}

void WordCache::insert(std::string_view word, const std::vector<TokenId>& ids, std::size_t first) {
    if (table_.size_bytes() + ids_.capacity() * sizeof(TokenId) > limit_bytes_) {
        table_.clear();
        std::vector<TokenId>().swap(ids_);
    }
    const std::size_t count = ids.size() - first;
    const std::uint64_t low = count == 1 ? ids[first] : ids_.size();
    if (count != 1) ids_.insert(ids_.end(), ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
    table_[word] = std::uint64_t{count} << 32 | low;
}

Encoder::Encoder(const std::vector<Token>& tokens, const std::vector<Merge>& merges,
                 const std::vector<Token>& special_tokens, std::size_t cache_bytes)
    : merger_(tokens, merges), specials_(bytes_of(special_tokens)), most_caches_(default_num_threads()) {
    for (const Token& token : special_tokens) special_ids_.push_back(token.second);
    add_token_bytes(tokens);
    add_token_bytes(special_tokens);
    bytes_per_cache_ = cache_bytes / most_caches_;
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

void Encoder::encode_word(std::string_view word, WordCache& cache, std::vector<TokenId>& ids) const {
    if (word.size() > kLongestCachedWord) {
        merger_.encode(word, ids);
    } else if (!cache.append(word, ids)) {
        const std::size_t first = ids.size();
        merger_.encode(word, ids);
        cache.insert(word, ids, first);
    }
}

void Encoder::encode_ordinary(std::string_view text, WordCache& cache, std::vector<TokenId>& ids) const {
    for_each_word(text, [&](std::string_view word) { encode_word(word, cache, ids); });
}

void Encoder::encode_with(WordCache& cache, std::string_view text, bool recognise_special,
                          std::vector<TokenId>& ids) const {
    std::size_t begin = 0;
    while (recognise_special) {
        const SpecialTokens::Match special = specials_.find(text, begin);
        if (special.begin == kNowhere) break;
        encode_ordinary(text.substr(begin, special.begin - begin), cache, ids);
        ids.push_back(special_ids_[special.index]);
        begin = special.begin + special.length;
    }
    encode_ordinary(text.substr(begin), cache, ids);
}

void Encoder::encode(std::string_view text, bool recognise_special, std::vector<TokenId>& ids) const {
    const Lease cache(*this);
    encode_with(*cache, text, recognise_special, ids);
}

std::vector<std::vector<TokenId>> Encoder::encode_batch(const std::vector<std::string_view>& texts,
                                                        bool recognise_special, std::size_t num_threads,
                                                        const std::function<void()>& check) const {
    std::vector<std::vector<TokenId>> results(texts.size());
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

void Encoder::encode_words(const std::vector<std::string_view>& words, std::vector<TokenId>& ids) const {
    const Lease cache(*this);
    for (const std::string_view word : words) {
        if (!word.empty()) encode_word(word, *cache, ids);
    }
}

std::optional<Encoder::Special> Encoder::find_special(std::string_view text) const {
    const SpecialTokens::Match match = specials_.find(text, 0);
    if (match.begin == kNowhere) return std::nullopt;
    return Special{match.begin, match.length, special_ids_[match.index]};
}

void EncoderStream::push(std::string_view piece, std::vector<TokenId>& ids) {
    pending_ += piece;
    const Encoder::Lease cache(encoder_);
    const std::string_view text = pending_;
    for (;;) {
        SpecialTokens::Match special{kNowhere, 0, 0, false};
        if (recognise_special_) special = encoder_.specials_.find(text, std::max(begin_, no_special_to_), true);
        no_special_to_ = std::min(special.begin, text.size());
        const bool is_certain = special.begin != kNowhere && !special.open;
        const char* const end = text.data() + no_special_to_;
        const char* p = text.data() + begin_;
        while (p != end) {
            const char* const word_end = next_word_end(p, end, text.data() + std::max(word_end_, begin_));
            word_end_ = static_cast<std::size_t>(word_end - text.data());
            if (!is_certain && !is_final_word(p, word_end, end)) break;
            encoder_.encode_word(std::string_view(p, static_cast<std::size_t>(word_end - p)), *cache, ids);
            p = word_end;
            begin_ = word_end_;
        }
        if (!is_certain) break;
        ids.push_back(encoder_.special_ids_[special.index]);
        begin_ = special.begin + special.length;
        word_end_ = begin_;
    }
    if (begin_ > pending_.size() / 2) {
        pending_.erase(0, begin_);
        word_end_ -= begin_;
        no_special_to_ -= begin_;
        begin_ = 0;
    }
}

void EncoderStream::finish(std::vector<TokenId>& ids) {
    encoder_.encode(std::string_view(pending_).substr(begin_), recognise_special_, ids);
    pending_.clear();
    begin_ = word_end_ = no_special_to_ = 0;
}

}  // namespace groundup
