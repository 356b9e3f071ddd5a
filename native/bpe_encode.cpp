#include "bpe_encode.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "errors.hpp"
#include "parallel.hpp"
#include "pretokenize.hpp"
#include "unicode.hpp"
#include "text_chunks.hpp"
#include "word_batches.hpp"

namespace groundup {

namespace {

constexpr std::size_t kLongestCachedWord = 255;
constexpr std::size_t kTextsPerTurn = 16;
constexpr std::size_t kBytesPerId = 4;  // or more, in most texts
constexpr std::size_t kLongText = 1 << 16;

std::vector<std::string> bytes_of(const TokenList& tokens) {
    std::vector<std::string> bytes;
    tokens.for_each([&bytes](std::string_view token, TokenId) { bytes.emplace_back(token); });
    return bytes;
}

std::vector<TokenId> ids_of(const TokenList& tokens) {
    std::vector<TokenId> ids;
    tokens.for_each([&ids](std::string_view, TokenId id) { ids.push_back(id); });
    return ids;
}

BlockWriter block_of(const std::vector<Token>& tokens) {
    BlockWriter block;
    add_tokens({tokens.begin(), tokens.end()}, block);
    return block;
}

TokenList list_of(const BlockWriter& block) {
    BlockReader reader(block.bytes());
    return TokenList(reader);
}

}  // namespace

Encoder::Encoder(const std::vector<Token>& tokens, const std::vector<Merge>& merges,
                 const std::vector<Token>& special_tokens, std::size_t cache_bytes, bool ignore_merges,
                 Pattern pattern)
    : Encoder(Speller(tokens, merges), list_of(block_of(tokens)), list_of(block_of(special_tokens)), cache_bytes,
              ignore_merges, pattern) {
    if (!speller_.is_usable()) merger_.emplace(tokens, merges);
}

Encoder::Encoder(Speller speller, const TokenList& tokens, const TokenList& special_tokens, std::size_t cache_bytes,
                 bool ignore_merges, Pattern pattern)
    : pattern_(pattern),
      ignore_merges_(ignore_merges),
      speller_(std::move(speller)),
      specials_(bytes_of(special_tokens)),
      special_ids_(ids_of(special_tokens)),
      special_bytes_(bytes_of(special_tokens)),
      bytes_per_cache_(cache_bytes),
      most_caches_(default_num_threads()) {
    if (ignore_merges) {
        tokens.for_each([this](std::string_view bytes, TokenId id) {
            const auto [place, is_new] = whole_words_.emplace(bytes, id);
            if (!is_new) place->second = std::min(place->second, id);
        });
    }
    make_room({tokens, special_tokens});
    add_token_bytes(tokens);
    for (const TokenId id : special_ids_) {
        if (length_code(id) != kUnknown || long_tokens_.contains(id)) shared_ids_.push_back(id);
    }
    add_token_bytes(special_tokens);
    idle_caches_.reserve(most_caches_);
}

void Encoder::make_room(std::initializer_list<TokenList> lists) {
    std::size_t dense = 65536;  // ids far above the number of tokens are kept apart
    for (const TokenList& tokens : lists) dense += tokens.size() * 4;
    std::size_t size = 0;
    for (const TokenList& tokens : lists) {
        tokens.for_each([&size, dense](std::string_view, TokenId id) {
            if (id < dense) size = std::max(size, std::size_t{id} + 1);
        });
    }
    heads_.resize(size);
    lengths_.resize(size, kUnknown);
}

void Encoder::add_token_bytes(const TokenList& tokens) {
    tokens.for_each([this](std::string_view bytes, TokenId id) {
        const bool is_short = id < lengths_.size() && !bytes.empty() && bytes.size() <= kHeadBytes;
        if (is_short) {
            heads_[id].fill(0);
            std::copy(bytes.begin(), bytes.end(), heads_[id].begin());
        } else {
            long_tokens_[id] = bytes;
        }
        if (id < lengths_.size()) lengths_[id] = is_short ? static_cast<std::uint8_t>(bytes.size()) : kLong;
    });
}

std::string_view Encoder::token_bytes(std::int64_t id) const {
    const std::uint8_t length = length_code(id);
    if (length != kUnknown && length != kLong) return {heads_[static_cast<std::size_t>(id)].data(), length};
    if (id >= 0 && id <= 0xFFFFFFFF) {
        const auto found = long_tokens_.find(static_cast<TokenId>(id));
        if (found != long_tokens_.end()) return found->second;
    }
    throw std::invalid_argument("id " + std::to_string(id) + " is not in the vocabulary");
}

template <class Id>
std::size_t Encoder::decoded_size(Strided<Id> ids) const {
    std::size_t num_bytes = 0;
    for (std::size_t i = 0; i < ids.size; ++i) {
        const std::int64_t id = ids[i];
        const std::uint8_t length = length_code(id);
        num_bytes += length == kUnknown || length == kLong ? token_bytes(id).size() : length;
    }
    return num_bytes;
}

template <class Id>
void Encoder::decode(Strided<Id> ids, char* bytes, std::size_t num_bytes) const {
    const char* const end = bytes + num_bytes;
    for (std::size_t i = 0; i < ids.size; ++i) {
        const std::int64_t id = ids[i];  // once: another thread may write to the array
        const std::uint8_t length = length_code(id);
        const bool is_short = length != kUnknown && length != kLong;
        if (is_short && end - bytes >= static_cast<std::ptrdiff_t>(kHeadBytes)) {
            // What is too much is written over by the next token.
            std::memcpy(bytes, heads_[static_cast<std::size_t>(id)].data(), kHeadBytes);
            bytes += length;
        } else {
            const std::string_view token = token_bytes(id);
            if (token.size() > static_cast<std::size_t>(end - bytes)) break;
            bytes = std::copy(token.begin(), token.end(), bytes);
        }
    }
    if (bytes != end) throw std::invalid_argument("the ids changed while they were decoded");
}

template std::size_t Encoder::decoded_size(Strided<std::uint16_t>) const;
template std::size_t Encoder::decoded_size(Strided<std::uint32_t>) const;
template std::size_t Encoder::decoded_size(Strided<std::int64_t>) const;
template void Encoder::decode(Strided<std::uint16_t>, char*, std::size_t) const;
template void Encoder::decode(Strided<std::uint32_t>, char*, std::size_t) const;
template void Encoder::decode(Strided<std::int64_t>, char*, std::size_t) const;

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
    if (const Spelling* const known = cache.words().find(word, key, hash)) {
        ids.append(cache.ids_of(*known), known->count);
        return;
    }
    const std::size_t first = ids.size();
    spell(word, ids);
    if (word.size() <= kLongestCachedWord) cache.insert(word, key, hash, ids.begin() + first, ids.end());
}

void Encoder::encode_ordinary(std::string_view text, const char* readable_end, WordCache& cache,
                              IdBuffer& ids) const {
    WordBatches batches(pattern_, text, readable_end);
    while (batches.next(cache.words())) {
        // No word has more ids than bytes. One spelling more: a known one is written whole, whatever it holds.
        const std::size_t most_ids = batches.num_bytes() + sizeof(Spelling) / sizeof(TokenId);
        TokenId* out = ids.room_for(most_ids);
        for (std::size_t i = 0; i < batches.size(); ++i) {
            const Spelling* const known = cache.words().find_short(batches.key(i), batches.hash(i));
            if (known != nullptr && known->is_inside()) {
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

void Encoder::prepare(WordCache& cache) const {
    cache.is_prepared = true;
    if (!whole_words_.empty() || merger_) return;
    cache.reserve(lengths_.size() * 2);
    speller_.for_each_whole([&cache](std::string_view bytes, TokenId id) {
        if (bytes.size() > WordKey::kLongestShort) return;
        const WordKey key = WordKey::of(bytes);
        const std::uint64_t hash = key.hash();
        if (cache.words().find_short(key, hash) == nullptr) cache.insert(bytes, key, hash, &id, &id + 1);
    });
}

void Encoder::encode_with(WordCache& cache, std::string_view text, bool recognise_special, IdBuffer& ids) const {
    if (!cache.is_prepared && text.size() >= kLongText) prepare(cache);
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

template <class Take>
void Encoder::encode_chunks(std::string_view text, bool recognise_special, std::size_t num_threads,
                            const Check& check, Take&& take) const {
    const SpecialTokens& specials = special_tokens(recognise_special);
    TextChunks reader(pattern_, text, kDefaultChunkBytes, specials);
    std::mutex mutex;  // guards reader, num_chunks and what take() writes
    std::size_t num_chunks = 0;
    run_in_threads(num_threads, [&](std::size_t thread, const std::atomic<bool>& stop) {
        const Lease cache(*this);
        Chunk chunk;
        IdBuffer ids;
        std::unique_lock lock(mutex);
        while (!stop && reader.next(chunk)) {
            const std::size_t number = num_chunks++;
            lock.unlock();
            encode_with(*cache, chunk.text, recognise_special, ids);
            if (thread == 0 && check) check();
            lock.lock();
            take(number, ids);
        }
    });
}

std::size_t Encoder::threads_for(std::size_t num_bytes, std::size_t num_threads) {
    if (num_threads == 0) num_threads = default_num_threads();
    return std::min(num_threads, num_bytes / kDefaultChunkBytes + 1);
}

void Encoder::encode(std::string_view text, bool recognise_special, std::size_t num_threads, const Check& check,
                     IdBuffer& ids) const {
    num_threads = threads_for(text.size(), num_threads);
    if (num_threads == 1) {
        // Chunk after chunk, each to where it belongs.
        const Lease cache(*this);
        ids.room_for(text.size() / kBytesPerId);
        const SpecialTokens& specials = special_tokens(recognise_special);
        TextChunks reader(pattern_, text, kDefaultChunkBytes, specials);
        for (Chunk chunk; reader.next(chunk);) {
            encode_with(*cache, chunk.text, recognise_special, ids);
            if (check) check();
        }
        return;
    }
    std::vector<IdBuffer> parts;
    encode_chunks(text, recognise_special, threads_for(text.size(), num_threads), check,
                  [&parts](std::size_t number, IdBuffer& part) {
                      if (parts.size() <= number) parts.resize(number + 1);
                      parts[number] = std::exchange(part, {});
                  });
    std::size_t num_ids = 0;
    for (const IdBuffer& part : parts) num_ids += part.size();
    ids.room_for(num_ids);
    for (IdBuffer& part : parts) {
        ids.append(part.data(), part.size());
        part = IdBuffer();
    }
}

std::size_t Encoder::count(std::string_view text, bool recognise_special, std::size_t num_threads,
                           const Check& check) const {
    std::size_t num_ids = 0;
    encode_chunks(text, recognise_special, threads_for(text.size(), num_threads), check,
                  [&num_ids](std::size_t, IdBuffer& part) {
                      num_ids += part.size();
                      part.clear();
                  });
    return num_ids;
}

std::vector<IdBuffer> Encoder::encode_batch(const std::vector<std::string_view>& texts,
                                                        bool recognise_special, std::size_t num_threads,
                                                        const Check& check) const {
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
    while (cut > searched && !is_boundary_at(encoder_.pattern_, pending_, cut)) --cut;
    // The end of the pending text can be judged only when more of it is there.
    no_cut_to_ = std::max(searched, end < pending_.size() || end == 0 ? end : end - 1);
    if (cut == searched) cut = begin_;
    return cut + whole_numbers(encoder_.pattern_, std::string_view(pending_).substr(cut, end - cut));
}

void EncoderStream::finish(IdBuffer& ids) {
    encoder_.encode(std::string_view(pending_).substr(begin_), recognise_special_, 1, {}, ids);
    pending_.clear();
    begin_ = no_cut_to_ = no_special_to_ = 0;
}

}  // namespace groundup
