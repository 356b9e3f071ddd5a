#include "bpe_encode.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "errors.hpp"
#include "parallel.hpp"
#include "pretokenize.hpp"
#include "unicode.hpp"
#include "text_chunks.hpp"
#include "known_words.hpp"
#include "word_windows.hpp"

namespace groundup {

namespace {

constexpr std::size_t kLongestCachedWord = 255;
constexpr std::size_t kBytesPerId = 3;  // or more, in most texts
constexpr std::size_t kLongText = 1 << 16;
constexpr std::size_t kNarrowChunkBytes = 1 << 16;

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
            if (bytes.empty()) return;
            const TokenId* const known = whole_words_.find(bytes);
            if (known == nullptr || id < *known) whole_words_[bytes] = id;
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

void Encoder::spell(std::string_view word, const WordKey& key, std::uint64_t hash, IdBuffer& ids) const {
    if (const TokenId* const whole = whole_words_.find(word, key, hash)) {
        ids.push_back(*whole);
    } else if (merger_) {
        merger_->encode(word, ids);
    } else {
        speller_.encode(word, ids);
    }
}

void Encoder::encode_word(std::string_view word, const WordKey& key, std::uint64_t hash, WordCache& cache,
                          IdBuffer& ids) const {
    if (const std::uint64_t known = cache.find(word, key, hash); known != 0) {
        cache.append_ids(known, ids);
        return;
    }
    const std::size_t first = ids.size();
    spell(word, key, hash, ids);
    if (word.size() <= kLongestCachedWord) cache.insert(word, key, hash, {ids.begin() + first, ids.end()});
}

void Encoder::learn(const WordWindows& words, KnownWords& known, NewWords& fresh, WordCache& cache) const {
    for (std::size_t n = 0; n < known.num_unknown(); ++n) {
        const KnownWords::Unknown& unknown = known.unknown(n);
        const std::string_view word = words.word(unknown.number);
        const std::uint64_t value = cache.find(word, unknown.key, unknown.hash);
        known.set(unknown.number, value);
        if (value != 0 || word.size() > ShortWord::kMostBytes || merger_) continue;
        if (whole_words_.find(word, unknown.key, unknown.hash) != nullptr) continue;
        const auto is_same = [&](std::uint32_t other) { return known.unknown(other).key == unknown.key; };
        if (std::any_of(fresh.numbers.data(), fresh.numbers.data() + fresh.size, is_same)) continue;
        fresh.words[fresh.size].bytes = word.data();
        fresh.words[fresh.size].num_bytes = word.size();
        fresh.numbers[fresh.size++] = static_cast<std::uint32_t>(n);
        if (fresh.size == fresh.words.size()) learn(known, fresh, cache);
    }
    if (fresh.size > 0) learn(known, fresh, cache);
}

void Encoder::learn(KnownWords& known, NewWords& fresh, WordCache& cache) const {
    std::array<std::uint32_t, kMostAtOnce> num_ids;
    fresh.ids.clear();
    speller_.encode_short(fresh.words.data(), fresh.size, fresh.ids, num_ids.data());
    const TokenId* first = fresh.ids.begin();
    for (std::size_t i = 0; i < fresh.size; ++i) {
        const KnownWords::Unknown& unknown = known.unknown(fresh.numbers[i]);
        const std::string_view word(fresh.words[i].bytes, fresh.words[i].num_bytes);
        known.set(unknown.number, cache.insert(word, unknown.key, unknown.hash, {first, num_ids[i]}));
        first += num_ids[i];
    }
    fresh.size = 0;
}

void Encoder::encode_ordinary(std::string_view text, const char* readable_end, WordCache& cache,
                              IdBuffer& ids) const {
    WordWindows words(pattern_, text, readable_end);
    KnownWords known;
    NewWords fresh;
    while (words.next()) {
        cache.make_room(words.size());
        known.look_up(words, cache);
        learn(words, known, fresh, cache);
        // No word has more ids than bytes. Some more: whole groups of ids are written, whatever they hold.
        const std::size_t most_ids = words.num_bytes() + WordCache::kWrittenAtOnce;
        TokenId* out = ids.room_for(most_ids);
        std::size_t done = 0;
        for (std::size_t n = 0; n < known.num_open(); ++n) {
            const std::size_t number = known.open(n);
            const std::uint64_t value = known.value(number);
            if (ShortSpelling::is_inside(value)) continue;
            out = known.write(done, number, out);
            done = number + 1;
            if (value != 0) {
                out = cache.write_many(value, out);
                continue;
            }
            const std::string_view word = words.word(number);
            const WordKey key = WordKey::of(word);
            ids.advance_to(out);
            encode_word(word, key, key.hash(), cache, ids);
            out = ids.room_for(most_ids);
        }
        ids.advance_to(known.write(done, words.size(), out));
    }
}

void Encoder::prepare(WordCache& cache, std::size_t num_bytes) const {
    if (cache.is_prepared || num_bytes < kLongText) return;
    cache.is_prepared = true;
    cache.reserve(lengths_.size());
    const auto add = [&cache](std::string_view bytes, TokenId id) {
        if (bytes.size() <= WordKey::kLongestShort) cache.insert_token(bytes, id);
    };
    whole_words_.for_each(add);
    if (!merger_) speller_.for_each_whole(add);
}

void Encoder::encode_with(WordCache& cache, std::string_view text, bool recognise_special, IdBuffer& ids) const {
    prepare(cache, text.size());
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

template <class Id>
void Encoder::encode(std::string_view text, bool recognise_special, std::size_t num_threads, const Check& check,
                     BasicIdBuffer<Id>& ids) const {
    num_threads = threads_for(text.size(), num_threads);
    if (num_threads == 1) {
        // Chunk after chunk, each to where it belongs; narrow ids by way of a small buffer that stays in the caches.
        constexpr bool kIsNarrow = !std::is_same_v<Id, TokenId>;
        const Lease cache(*this);
        prepare(*cache, text.size());
        ids.room_for(text.size() / kBytesPerId);
        const SpecialTokens& specials = special_tokens(recognise_special);
        TextChunks reader(pattern_, text, kIsNarrow ? kNarrowChunkBytes : kDefaultChunkBytes, specials);
        IdBuffer wide;
        for (Chunk chunk; reader.next(chunk);) {
            if constexpr (kIsNarrow) {
                encode_with(*cache, chunk.text, recognise_special, wide);
                ids.append(wide.data(), wide.size());
                wide.clear();
            } else {
                encode_with(*cache, chunk.text, recognise_special, ids);
            }
            if (check) check();
        }
        return;
    }
    std::vector<IdBuffer> parts;
    encode_chunks(text, recognise_special, num_threads, check,
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

template void Encoder::encode(std::string_view, bool, std::size_t, const Check&, BasicIdBuffer<std::uint16_t>&) const;
template void Encoder::encode(std::string_view, bool, std::size_t, const Check&, IdBuffer&) const;

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

void Encoder::encode_words(const std::vector<std::string_view>& words, IdBuffer& ids) const {
    const Lease cache(*this);
    for (const std::string_view word : words) {
        if (word.empty()) continue;
        (*cache).make_room(1);
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
