// Counting the pre-tokens of texts and files, in several threads. Twin: reference.py, count_words.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpe_train.hpp"
#include "special_tokens.hpp"
#include "text_chunks.hpp"
#include "word_table.hpp"

namespace groundup {

// Counts are sums over chunks, so neither the number of threads nor the cuts can change them. Memory grows
// with the distinct words: each thread has a table and a chunk of its own. Calls from several threads at
// once are safe; text that fails (std::invalid_argument for what is not UTF-8) leaves no trace.
class WordCounter {
public:
    explicit WordCounter(const std::vector<std::string>& special_tokens, Pattern pattern = Pattern::gpt2)
        : pattern_(pattern), specials_(special_tokens) {}

    // num_threads and chunk_bytes 0: the default.
    void add_text(std::string_view text, std::size_t num_threads, std::size_t chunk_bytes, const Progress& progress);
    void add_file(const std::string& path, std::size_t num_threads, std::size_t chunk_bytes, const Progress& progress);
    // Words that are pre-tokens already.
    void add_words(const std::vector<CountedWord>& words);

    std::size_t num_words() const;
    std::uint64_t num_bytes() const;
    // The most frequent first, then in the order of their bytes.
    std::vector<std::pair<std::string, std::uint64_t>> words() const;
    // What MergeLearner::learn learns from these words.
    std::vector<Merge> train(const std::vector<Merge>& known, const MergeLearner::Limits& limits,
                             const Progress& progress) const;

private:
    using Counts = WordTable<std::uint64_t>;

    MergeLearner learner() const;
    void count_words(std::string_view text, Counts& counts) const;
    void count_ordinary(std::string_view text, const char* readable_end, Counts& counts) const;
    // Straight into the one table, for the many documents that are one chunk.
    void count_short(std::string_view text);
    void count_chunks(ChunkReader& reader, std::size_t num_threads, const std::string& subject,
                      const Progress& progress);
    void take(Counts&& counts);

    Pattern pattern_;
    SpecialTokens specials_;
    mutable std::mutex mutex_;  // guards counts_
    Counts counts_;
};

}  // namespace groundup
