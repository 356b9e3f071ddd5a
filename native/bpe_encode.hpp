// Text to ids and back. Twin: reference.py, ReferenceTokenizer. From there to here, step by step:
// docs/lessons/tokenizer.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "block.hpp"
#include "id_buffer.hpp"
#include "known_words.hpp"
#include "merger.hpp"
#include "pattern.hpp"
#include "special_tokens.hpp"
#include "speller.hpp"
#include "token_list.hpp"
#include "word_cache.hpp"

namespace groundup {

// May throw to stop.
using Check = std::function<void()>;

// An array of ids, one every `stride` places.
template <class Id>
struct Strided {
    const Id* first;
    std::size_t size;
    std::ptrdiff_t stride = 1;

    std::int64_t operator[](std::size_t i) const {
        return static_cast<std::int64_t>(first[static_cast<std::ptrdiff_t>(i) * stride]);
    }
};

// A vocabulary that turns text into ids and back. All methods may be called from several threads at once; the cache
// never changes a result. Text is valid UTF-8 for all but encode_words.
class Encoder {
public:
    // ignore_merges: a pre-token that is a token as a whole is that token, whatever the merges make of it.
    Encoder(const std::vector<Token>& tokens, const std::vector<Merge>& merges,
            const std::vector<Token>& special_tokens, std::size_t cache_bytes, bool ignore_merges = false,
            Pattern pattern = Pattern::gpt2);

    // Adds all that it is made of to the block.
    void store(BlockWriter& block) const;
    // One out of what store() added, which lies in the block from `begin` to its end. Only what would read outside of
    // the stored arrays' ends is checked (std::invalid_argument): they must be as they were.
    static std::unique_ptr<Encoder> restored(ZeroedArray<char> block, std::size_t begin, std::size_t cache_bytes);

    // What it was made of: all tokens, those that are special too, in the order of their ids; and so on.
    std::vector<Token> tokens() const;
    std::size_t num_tokens() const { return all_ids().size(); }
    std::uint64_t end_id() const;  // one more than the largest id
    std::vector<Token> special_tokens() const;
    std::vector<Merge> merges() const { return merger_ ? merger_->merges() : speller_.merges(); }
    bool ignore_merges() const { return ignore_merges_; }

    struct Special {
        std::size_t begin;
        std::size_t length;
        TokenId id;
    };

    // recognise_special: special tokens become their ids; otherwise their spelling is ordinary text.
    // A long text is cut into chunks, which the threads share; num_threads 0: all processors. `check` is called now
    // and then in the calling thread and may throw to stop.
    // Id: TokenId, or uint16 if all ids are small enough.
    template <class Id>
    void encode(std::string_view text, bool recognise_special, std::size_t num_threads, const Check& check,
                BasicIdBuffer<Id>& ids) const;
    // How many ids the text has. They are not kept, so this needs no memory for them.
    std::size_t count(std::string_view text, bool recognise_special, std::size_t num_threads, const Check& check) const;
    // Each word is one pre-token, of any bytes.
    void encode_words(const std::vector<std::string_view>& words, IdBuffer& ids) const;

    std::optional<Special> find_special(std::string_view text) const;

    Pattern pattern() const { return pattern_; }
    // Those that are recognised, or none.
    const SpecialTokens& special_tokens(bool recognise) const { return recognise ? specials_ : no_specials_; }

    // How many bytes the ids stand for. Throws std::invalid_argument that names an unknown id. Id is uint16,
    // uint32 or int64.
    template <class Id>
    std::size_t decoded_size(Strided<Id> ids) const;
    // Writes their bytes, as many as decoded_size says.
    template <class Id>
    void decode(Strided<Id> ids, char* bytes, std::size_t num_bytes) const;
    // How many bytes one id stands for.
    std::size_t num_bytes(std::int64_t id) const { return token_bytes(id).size(); }

private:
    friend class BatchIds;
    friend class EncoderStream;

    // With all but the tables, which come from elsewhere.
    Encoder(Speller speller, const TokenList& tokens, const TokenList& special_tokens, std::size_t cache_bytes,
            bool ignore_merges, Pattern pattern);

    // A cache for the time of a call. Nobody waits for one: where all are in use, or where the process was
    // forked while another thread held the lock, a new one serves and is thrown away.
    class Lease {
    public:
        explicit Lease(const Encoder& encoder);
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        WordCache& operator*() const { return *cache_; }

    private:
        const Encoder& encoder_;
        std::unique_ptr<WordCache> cache_;
    };

    // By the merges, without a look at the cache.
    void spell(std::string_view word, const WordKey& key, std::uint64_t hash, IdBuffer& ids) const;
    void encode_word(std::string_view word, const WordKey& key, std::uint64_t hash, WordCache& cache,
                     IdBuffer& ids) const;
    // Words that are to be spelled together.
    struct NewWords {
        std::size_t size = 0;
        std::array<ShortWord, kMostAtOnce> words;
        std::array<std::uint32_t, kMostAtOnce> numbers;  // among the open ones
        IdBuffer ids;
    };
    // Gives the open words their values; short words that are new are spelled and put into the cache.
    void learn(const WordWindows& words, KnownWords& known, NewWords& fresh, WordCache& cache) const;
    void learn(KnownWords& known, NewWords& fresh, WordCache& cache) const;
    // Text without special tokens, in which memory can be read up to readable_end.
    void encode_ordinary(std::string_view text, const char* readable_end, WordCache& cache, IdBuffer& ids) const;
    // Puts the tokens into a new cache, if the text is long: that is quicker than to meet them one by one.
    void prepare(WordCache& cache, std::size_t num_bytes) const;
    void encode_with(WordCache& cache, std::string_view text, bool recognise_special, IdBuffer& ids) const;
    static std::size_t threads_for(std::size_t num_bytes, std::size_t num_threads);
    // Encodes a text in chunks; take(number of the chunk, its ids), one at a time but in any order.
    template <class Take>
    void encode_chunks(std::string_view text, bool recognise_special, std::size_t num_threads, const Check& check,
                       Take&& take) const;
    void make_room(std::initializer_list<TokenList> lists);  // for add_token_bytes of each of them
    void add_token_bytes(const TokenList& tokens);
    std::vector<TokenId> all_ids() const;  // in order
    std::uint8_t length_code(std::int64_t id) const {
        return static_cast<std::uint64_t>(id) < lengths_.size() ? lengths_[static_cast<std::size_t>(id)] : kUnknown;
    }
    std::string_view token_bytes(std::int64_t id) const;

    Pattern pattern_;
    bool ignore_merges_;
    Speller speller_;
    std::optional<Merger> merger_;  // where the speller cannot be used
    WordTable<TokenId> whole_words_;  // with ignore_merges
    SpecialTokens specials_;
    const SpecialTokens no_specials_{{}};  // where their spelling is ordinary text
    std::vector<TokenId> special_ids_;
    std::vector<std::string> special_bytes_;
    std::vector<TokenId> shared_ids_;  // of special tokens that are ordinary tokens as well

    // The first bytes of a token; decoding copies them all, and moves on by the true length.
    static constexpr std::size_t kHeadBytes = 16;
    using Head = std::array<char, kHeadBytes>;
    static constexpr std::uint8_t kUnknown = 0;
    static constexpr std::uint8_t kLong = kHeadBytes + 1;

    std::vector<Head> heads_;            // of small ids
    std::vector<std::uint8_t> lengths_;  // of small ids; kUnknown: no such id; kLong: see long_tokens_
    std::unordered_map<TokenId, std::string> long_tokens_;  // of small ids with many bytes, and of all distant ids

    std::size_t bytes_per_cache_;
    std::size_t most_caches_;
    mutable std::mutex mutex_;  // guards idle_caches_
    mutable std::vector<std::unique_ptr<WordCache>> idle_caches_;
};

// Encodes a text that arrives in pieces: the ids are those of the whole, whatever the cuts. Holds back what
// the next piece can still change, at most a pre-token or a special token.
class EncoderStream {
public:
    // The encoder must outlive the stream.
    EncoderStream(const Encoder& encoder, bool recognise_special)
        : encoder_(encoder), recognise_special_(recognise_special) {}

    void push(std::string_view piece, IdBuffer& ids);
    void finish(IdBuffer& ids);

private:
    const Encoder& encoder_;
    bool recognise_special_;
    // Up to where the pending text may be encoded now; its end is at `end`, and more may follow.
    std::size_t find_safe_end(std::size_t end);

    std::string pending_;
    std::size_t begin_ = 0;          // of the text not encoded yet, in pending_
    std::size_t no_cut_to_ = 0;      // no word is known to end between begin_ and here
    std::size_t no_special_to_ = 0;  // no special token begins between begin_ and here
};

}  // namespace groundup
