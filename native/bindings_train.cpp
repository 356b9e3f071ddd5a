// Counting words and learning merges.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>

#include "bindings.hpp"
#include "parallel.hpp"
#include "pattern.hpp"
#include "word_counter.hpp"

namespace groundup {

using namespace nb::literals;

namespace {

std::vector<std::string> to_strings(const std::vector<nb::bytes>& items) {
    std::vector<std::string> strings;
    strings.reserve(items.size());
    for (const nb::bytes& item : items) strings.emplace_back(view(item));
    return strings;
}

// Signals and the caller's function, which must live as long as what is returned.
Progress to_progress(const std::optional<nb::callable>& callback) {
    return [callback = callback ? callback->ptr() : nullptr](std::uint64_t done) {
        check_signals();
        if (callback == nullptr) return;
        const nb::gil_scoped_acquire acquire;
        nb::borrow<nb::callable>(callback)(done);
    };
}

}  // namespace

void bind_training(nb::module_& module) {
    nb::class_<WordCounter>(module, "WordCounter")
        .def("__init__",
             [](WordCounter* self, const std::vector<nb::bytes>& special_tokens, const std::string& pattern) {
                 new (self) WordCounter(to_strings(special_tokens), pattern_named(pattern));
             },
             "special_tokens"_a, nb::kw_only(), "pattern"_a = "gpt2")
        .def("add_text",
             [](WordCounter& self, const nb::bytes& text, std::size_t num_threads, std::size_t chunk_bytes) {
                 const std::string_view bytes = view(text);
                 const bool is_long = bytes.size() > kShortText;
                 const Progress progress = is_long ? to_progress(std::nullopt) : Progress();
                 without_gil(is_long, [&] { self.add_text(bytes, num_threads, chunk_bytes, progress); });
             },
             "text"_a, "num_threads"_a = 0, nb::kw_only(), "chunk_bytes"_a = 0)
        .def("add_file",
             [](WordCounter& self, nb::handle path, std::size_t num_threads,
                const std::optional<nb::callable>& progress, std::size_t chunk_bytes) {
                 const std::string name = file_name(path);
                 const Progress report = to_progress(progress);
                 without_gil(true, [&] { self.add_file(name, num_threads, chunk_bytes, report); });
             },
             "path"_a, "num_threads"_a = 0, "progress"_a.none() = nb::none(), nb::kw_only(), "chunk_bytes"_a = 0)
        .def("add_words",
             [](WordCounter& self, const std::vector<nb::bytes>& words, const std::vector<std::uint64_t>& counts) {
                 if (words.size() != counts.size()) throw std::invalid_argument("as many counts as words are needed");
                 std::vector<CountedWord> counted;
                 counted.reserve(words.size());
                 for (std::size_t i = 0; i < words.size(); ++i) counted.push_back({view(words[i]), counts[i]});
                 self.add_words(counted);
             },
             "words"_a, "counts"_a)
        .def_prop_ro("num_words", &WordCounter::num_words)
        .def_prop_ro("num_bytes", &WordCounter::num_bytes)
        .def("words",
             [](const WordCounter& self) {
                 std::vector<std::pair<nb::bytes, std::uint64_t>> words;
                 for (const auto& [word, count] : self.words()) words.emplace_back(to_bytes(word), count);
                 return words;
             })
        .def("train",
             [](const WordCounter& self, std::size_t num_merges, const std::optional<nb::callable>& progress,
                const std::vector<std::pair<nb::bytes, nb::bytes>>& known_merges, std::uint64_t min_frequency,
                const std::optional<std::size_t>& max_token_bytes) {
                 MergeLearner::Limits limits{num_merges, min_frequency};
                 if (max_token_bytes) limits.max_token_bytes = *max_token_bytes;
                 const std::vector<Merge> known = to_merges(known_merges);
                 const Progress report = to_progress(progress);
                 const std::vector<Merge> learned = without_gil(true, [&] { return self.train(known, limits, report); });
                 std::vector<std::pair<nb::bytes, nb::bytes>> merges;
                 merges.reserve(learned.size());
                 for (const auto& [left, right] : learned) merges.emplace_back(to_bytes(left), to_bytes(right));
                 return merges;
             },
             "num_merges"_a, "progress"_a.none() = nb::none(), nb::kw_only(),
             "known_merges"_a = std::vector<std::pair<nb::bytes, nb::bytes>>(), "min_frequency"_a = 1,
             "max_token_bytes"_a.none() = nb::none());
}

}  // namespace groundup
