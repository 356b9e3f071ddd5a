#include "word_counter.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <stdexcept>

#include "errors.hpp"
#include "parallel.hpp"
#include "unicode.hpp"
#include "word_batches.hpp"

namespace groundup {

void WordCounter::add_text(std::string_view text, std::size_t num_threads, std::size_t chunk_bytes,
                           const Progress& progress) {
    if (chunk_bytes == 0) chunk_bytes = kDefaultChunkBytes;
    if (num_threads == 0) num_threads = default_num_threads();
    if (text.size() <= chunk_bytes) {
        count_short(text);
        return;
    }
    TextChunks reader(pattern_, text, chunk_bytes, specials_);
    count_chunks(reader, std::min(num_threads, text.size() / chunk_bytes + 1), "the text", progress);
}

void WordCounter::add_file(const std::string& path, std::size_t num_threads, std::size_t chunk_bytes,
                           const Progress& progress) {
    if (chunk_bytes == 0) chunk_bytes = kDefaultChunkBytes;
    if (num_threads == 0) num_threads = default_num_threads();
    FileChunks reader(pattern_, path, chunk_bytes, specials_);
    std::error_code unknown_size;  // a pipe, say
    const std::uintmax_t size = std::filesystem::file_size(path, unknown_size);
    if (!unknown_size) num_threads = std::min(num_threads, static_cast<std::size_t>(size / chunk_bytes + 1));
    count_chunks(reader, num_threads, "'" + path + "'", progress);
}

void WordCounter::add_words(const std::vector<CountedWord>& words) {
    const std::lock_guard lock(mutex_);
    for (const CountedWord& word : words) {
        if (!word.bytes.empty()) counts_[word.bytes] += word.count;
    }
}

std::size_t WordCounter::num_words() const {
    const std::lock_guard lock(mutex_);
    return counts_.size();
}

std::uint64_t WordCounter::num_bytes() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    counts_.for_each([&sum](std::string_view word, std::uint64_t count) { sum += word.size() * count; });
    return sum;
}

std::vector<std::pair<std::string, std::uint64_t>> WordCounter::words() const {
    std::vector<std::pair<std::string, std::uint64_t>> words;
    {
        const std::lock_guard lock(mutex_);
        words.reserve(counts_.size());
        counts_.for_each([&words](std::string_view word, std::uint64_t count) { words.emplace_back(word, count); });
    }
    std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return words;
}

std::vector<Merge> WordCounter::train(const std::vector<Merge>& known, const MergeLearner::Limits& limits,
                                      const Progress& progress) const {
    return learner().learn(known, limits, progress);
}

// A learner of its own, so that no lock is held while it calls back.
MergeLearner WordCounter::learner() const {
    const std::lock_guard lock(mutex_);
    std::size_t num_bytes = 0;
    counts_.for_each([&num_bytes](std::string_view word, std::uint64_t) { num_bytes += word.size(); });
    MergeLearner learner(counts_.size(), num_bytes);
    counts_.for_each([&learner](std::string_view word, std::uint64_t count) { learner.add_word(word, count); });
    return learner;
}

void WordCounter::count_words(std::string_view text, Counts& counts) const {
    const char* const end = text.data() + text.size();
    std::size_t begin = 0;
    for (;;) {
        const SpecialTokens::Match special = specials_.find(text, begin);
        if (special.begin == kNowhere) break;
        count_ordinary(text.substr(begin, special.begin - begin), end, counts);
        begin = special.begin + special.length;
    }
    count_ordinary(text.substr(begin), end, counts);
}

void WordCounter::count_ordinary(std::string_view text, const char* readable_end, Counts& counts) const {
    WordBatches batches(pattern_, text, readable_end);
    while (batches.next(counts)) {
        for (std::size_t i = 0; i < batches.size(); ++i) {
            std::uint64_t* const known = counts.find_short(batches.key(i), batches.hash(i));
            if (known != nullptr) {
                ++*known;
            } else {
                ++counts.at(batches.word(i), batches.key(i), batches.hash(i));
            }
        }
    }
}

void WordCounter::count_short(std::string_view text) {
    const std::size_t invalid = find_invalid_utf8(text);
    if (invalid != kNowhere) throw std::invalid_argument(invalid_utf8_message("the text", text[invalid], invalid));
    const std::lock_guard lock(mutex_);
    count_words(text, counts_);
}

void WordCounter::count_chunks(ChunkReader& reader, std::size_t num_threads, const std::string& subject,
                               const Progress& progress) {
    std::vector<Counts> counts(num_threads);
    std::mutex reading;  // guards reader and the first error
    std::uint64_t invalid_offset = ~std::uint64_t{0};
    char invalid_byte = 0;
    std::atomic<std::uint64_t> bytes_done{0};
    run_in_threads(num_threads, [&](std::size_t thread, const std::atomic<bool>& stop) {
        Chunk chunk;
        while (!stop) {
            {
                const std::lock_guard lock(reading);
                if (invalid_byte != 0 || !reader.next(chunk)) break;
            }
            const std::size_t invalid = find_invalid_utf8(chunk.text);
            if (invalid != kNowhere) {
                // Chunks before this one may still be in work: the smallest offset is the first error.
                const std::lock_guard lock(reading);
                if (chunk.offset + invalid < invalid_offset) {
                    invalid_offset = chunk.offset + invalid;
                    invalid_byte = chunk.text[invalid];
                }
                break;
            }
            count_words(chunk.text, counts[thread]);
            bytes_done += chunk.text.size();
            if (thread == 0 && progress) progress(bytes_done);
        }
    });
    if (invalid_byte != 0) throw std::invalid_argument(invalid_utf8_message(subject, invalid_byte, invalid_offset));
    for (Counts& part : counts) take(std::move(part));
    if (progress) progress(bytes_done);
}

void WordCounter::take(Counts&& counts) {
    const std::lock_guard lock(mutex_);
    if (counts_.size() < counts.size()) std::swap(counts_, counts);
    counts.for_each([this](std::string_view word, std::uint64_t count) { counts_[word] += count; });
}

}  // namespace groundup
