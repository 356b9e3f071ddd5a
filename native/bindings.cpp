// The Python face of the core: types, the GIL, exceptions, arrays without copies. No algorithm lives here.
// What Python sees of it is written down in src/groundup/_native.pyi.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>

#include "batch_ids.hpp"
#include "bpe_encode.hpp"
#include "errors.hpp"
#include "parallel.hpp"
#include "piece_cuts.hpp"
#include "text_chunks.hpp"
#include "pretokenize.hpp"
#include "word_counter.hpp"
#include "word_starts.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace groundup;

namespace {

constexpr std::size_t kShortText = 4096;  // letting go of the GIL costs more than such a text

using Ids = IdBuffer;
using IdArray = nb::ndarray<nb::numpy, TokenId, nb::ndim<1>>;

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::bytes to_bytes(std::string_view bytes) { return nb::bytes(bytes.data(), bytes.size()); }

// The UTF-8 of a str, which Python keeps with it (no copy for ASCII). Lone surrogates: UnicodeEncodeError.
std::string_view utf8(nb::handle text) {
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) throw nb::python_error();
    return {data, static_cast<std::size_t>(size)};
}


// The name of a file, given as str, bytes or os.PathLike, as the system takes it.
std::string file_name(nb::handle path) {
    PyObject* name = nullptr;
    if (PyUnicode_FSConverter(path.ptr(), &name) == 0) throw nb::python_error();
    return std::string(view(nb::steal<nb::bytes>(name)));
}

// Runs work without the GIL, if there is enough to do.
template <class Work>
auto without_gil(bool is_long, Work&& work) {
    if (!is_long) return work();
    const nb::gil_scoped_release release;
    return work();
}

std::vector<std::string> to_strings(const std::vector<nb::bytes>& items) {
    std::vector<std::string> strings;
    strings.reserve(items.size());
    for (const nb::bytes& item : items) strings.emplace_back(view(item));
    return strings;
}

std::vector<Token> to_tokens(const std::vector<std::pair<nb::bytes, TokenId>>& items) {
    std::vector<Token> tokens;
    tokens.reserve(items.size());
    for (const auto& [bytes, id] : items) tokens.emplace_back(view(bytes), id);
    return tokens;
}

std::vector<Merge> to_merges(const std::vector<std::pair<nb::bytes, nb::bytes>>& items) {
    std::vector<Merge> merges;
    merges.reserve(items.size());
    for (const auto& [left, right] : items) merges.emplace_back(view(left), view(right));
    return merges;
}

std::vector<std::string_view> to_views(const std::vector<nb::bytes>& items) {
    std::vector<std::string_view> views;
    views.reserve(items.size());
    for (const nb::bytes& item : items) views.push_back(view(item));
    return views;
}

// A Python int for each small id, made when it is first needed: a list of ids then takes references only.
class ReadyInts {
public:
    // A new reference to each. Needs the GIL.
    nb::list list(std::span<const TokenId> ids) {
        nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(ids.size())));
        if (!list) throw nb::python_error();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), number(ids[i]));
        }
        return nb::cast<nb::list>(list);
    }

private:
    static constexpr std::size_t kMost = std::size_t{1} << 18;

    PyObject* number(TokenId id) {
        if (id < ints_.size() && ints_[id] != nullptr) {
            Py_INCREF(ints_[id]);
            return ints_[id];
        }
        PyObject* const number = PyLong_FromUnsignedLong(id);
        if (number == nullptr) throw nb::python_error();
        if (id < kMost) {
            if (id >= ints_.size()) ints_.resize(std::size_t{id} + 1);
            Py_INCREF(number);
            ints_[id] = number;
        }
        return number;
    }

    std::vector<PyObject*> ints_;  // never given back: they live as long as the process
};

nb::list to_list(std::span<const TokenId> ids) {
    static ReadyInts ready;
    return ready.list(ids);
}

// Stops the collection of garbage, which the GIL's holder makes none of here: it would go over all lists again and
// again while more are made (60 of 150 ms for 18,000 lists of 200 ids).
class NoCollection {
public:
    NoCollection() : was_on_(PyGC_Disable() != 0) {}
    ~NoCollection() {
        if (was_on_) PyGC_Enable();
    }
    NoCollection(const NoCollection&) = delete;
    NoCollection& operator=(const NoCollection&) = delete;

private:
    bool was_on_;
};

nb::list to_list(const Ids& ids) { return to_list(std::span(ids.begin(), ids.end())); }

IdArray to_array(Ids&& ids) {
    const std::size_t size = ids.size();
    TokenId* const data = ids.release();
    const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return IdArray(data, {size}, owner);
}

// Lets Python handle signals (Ctrl-C). For a calling thread that let go of the GIL.
void check_signals() {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
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

// The UTF-8 of a str, or bytes as they are.
std::string_view unchecked_view(nb::handle text) {
    if (nb::isinstance<nb::str>(text)) return utf8(text);
    if (!nb::isinstance<nb::bytes>(text)) throw nb::type_error("text must be str or bytes");
    return view(nb::borrow<nb::bytes>(text));
}

// The UTF-8 of a str or of bytes, which are checked.
std::string_view text_view(nb::handle text) {
    const std::string_view bytes = unchecked_view(text);
    if (nb::isinstance<nb::str>(text)) return bytes;
    const std::size_t invalid = without_gil(bytes.size() > kShortText, [bytes] { return find_invalid_utf8(bytes); });
    if (invalid != kNowhere) throw std::invalid_argument(invalid_utf8_message("the text", bytes[invalid], invalid));
    return bytes;
}

Ids encode(const Encoder& encoder, nb::handle text, bool special, std::size_t num_threads) {
    const std::string_view bytes = text_view(text);
    return without_gil(bytes.size() > kShortText, [&] {
        Ids ids;
        encoder.encode(bytes, special, num_threads, check_signals, ids);
        return ids;
    });
}

template <class Id>
Id* new_array(std::size_t size) {
    auto* const data = static_cast<Id*>(std::malloc(size * sizeof(Id) + 1));
    if (data == nullptr) throw std::bad_alloc();
    return data;
}

// The array as Python's, which frees it.
template <class Id>
nb::ndarray<nb::numpy, Id, nb::ndim<1>> owned(Id* data, std::size_t size) {
    const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return {data, {size}, owner};
}

// The same ids as numbers of 16 bits.
nb::ndarray<nb::numpy, std::uint16_t, nb::ndim<1>> to_array_16(const Ids& ids) {
    auto* const data = new_array<std::uint16_t>(ids.size());
    std::copy(ids.begin(), ids.end(), data);
    return owned(data, ids.size());
}

BatchIds encode_batch(const Encoder& encoder, const nb::list& texts, bool special, std::size_t num_threads,
                      const Ending& ending = {}) {
    // References of our own: the caller's list may change while the GIL is free.
    std::vector<nb::object> kept;
    std::vector<std::string_view> views;
    for (const nb::handle text : texts) {
        kept.push_back(nb::borrow(text));
        views.push_back(unchecked_view(text));
    }
    if (!ending.marks.empty() && ending.marks.size() != views.size()) {
        throw std::invalid_argument("as many marks as texts are needed");
    }
    return without_gil(true, [&] { return BatchIds(encoder, views, special, num_threads, check_signals, ending); });
}

// The ids of all texts in one array of type Id, and where those of each text end.
template <class Id>
nb::tuple encode_joined(const Encoder& encoder, const nb::list& texts, bool special, std::size_t num_threads,
                        const nb::bytes& marks, TokenId end_id) {
    const BatchIds batch = encode_batch(encoder, texts, special, num_threads, {view(marks), end_id});
    Id* const data = new_array<Id>(batch.size());
    auto ids = owned(data, batch.size());
    without_gil(true, [&] { batch.write(data); });
    std::uint64_t* const ends = new_array<std::uint64_t>(batch.ends().size());
    std::copy(batch.ends().begin(), batch.ends().end(), ends);
    return nb::make_tuple(std::move(ids), owned(ends, batch.ends().size()));
}

template <class Id>
nb::bytes decode_ids(const Encoder& encoder, Strided<Id> ids) {
    const bool is_long = ids.size > kShortText;
    const std::size_t size = without_gil(is_long, [&] { return encoder.decoded_size(ids); });
    const nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
    if (!bytes) throw nb::python_error();
    char* const data = PyBytes_AsString(bytes.ptr());
    without_gil(is_long, [&] { encoder.decode(ids, data, size); });
    return nb::cast<nb::bytes>(bytes);
}

// The bytes of an array of one type, if the ids are one.
template <class Id>
std::optional<nb::bytes> decode_array(const Encoder& encoder, nb::handle ids) {
    nb::ndarray<nb::ro, const Id, nb::ndim<1>, nb::device::cpu> array;
    if (!nb::try_cast(ids, array, false)) return std::nullopt;
    // Numbers that lie across their places, as in a slice of a file, are read as a list.
    if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(Id) != 0) return std::nullopt;
    return decode_ids(encoder,
                      Strided<Id>{array.data(), array.size(), static_cast<std::ptrdiff_t>(array.stride(0))});
}

std::int64_t to_id(nb::handle id) {
    std::int64_t number = 0;
    if (!nb::try_cast(id, number)) {
        throw std::invalid_argument("id " + std::string(nb::repr(id).c_str()) + " is not in the vocabulary");
    }
    return number;
}

nb::bytes decode(const Encoder& encoder, nb::handle ids) {
    if (nb::isinstance<nb::list>(ids) || nb::isinstance<nb::tuple>(ids)) {
        std::vector<std::int64_t> numbers;
        for (const nb::handle id : nb::borrow<nb::sequence>(ids)) numbers.push_back(to_id(id));
        return decode_ids(encoder, Strided<std::int64_t>{numbers.data(), numbers.size()});
    }
    std::optional<nb::bytes> bytes = decode_array<std::uint16_t>(encoder, ids);
    if (!bytes) bytes = decode_array<std::uint32_t>(encoder, ids);
    if (!bytes) bytes = decode_array<std::int64_t>(encoder, ids);
    if (!bytes) throw nb::type_error("ids must be a list of int or a 1-D array of uint16, uint32 or int64");
    return *bytes;
}

// For each id of the text where it begins and ends: in bytes of its UTF-8, or in characters, of which one that
// several ids share belongs to each of them.
std::vector<std::pair<std::size_t, std::size_t>> spans(const Encoder& encoder, nb::handle text, const nb::list& ids,
                                                       bool in_characters) {
    const std::string_view bytes = text_view(text);
    std::vector<std::pair<std::size_t, std::size_t>> spans;
    std::size_t byte = 0;
    std::size_t character = 0;  // how many characters begin before `byte`
    for (const nb::handle id : ids) {
        const std::size_t end = byte + encoder.num_bytes(to_id(id));
        if (end > bytes.size()) throw std::invalid_argument("the ids stand for more bytes than the text has");
        const std::size_t begin_character = character - (byte < bytes.size() && is_continuation(bytes[byte]) ? 1 : 0);
        for (std::size_t i = byte; i < end; ++i) character += is_continuation(bytes[i]) ? 0 : 1;
        if (in_characters) {
            spans.emplace_back(begin_character, character);
        } else {
            spans.emplace_back(byte, end);
        }
        byte = end;
    }
    return spans;
}

// A stream together with the Python object of its encoder, which must live as long.
class Stream {
public:
    Stream(nb::object encoder, bool special)
        : encoder_(std::move(encoder)), stream_(nb::cast<const Encoder&>(encoder_), special) {}

    nb::list push(const nb::str& text) {
        const std::string_view bytes = utf8(text);
        return to_list(without_gil(bytes.size() > kShortText, [&] {
            Ids ids;
            stream_.push(bytes, ids);
            return ids;
        }));
    }

    nb::list finish() {
        Ids ids;
        stream_.finish(ids);
        return to_list(ids);
    }

private:
    nb::object encoder_;
    EncoderStream stream_;
};

// The ids of a text file, some megabytes of it at a time, together with the Python object of the encoder.
class FileIds {
public:
    FileIds(nb::object encoder, const std::string& path, bool special, std::size_t num_threads)
        : encoder_(std::move(encoder)),
          path_(path),
          special_(special),
          num_threads_(num_threads),
          chunks_(nb::cast<const Encoder&>(encoder_).pattern(), path, kFilePartBytes,
                  nb::cast<const Encoder&>(encoder_).special_tokens(special)) {}

    // The ids that come next; nothing at the end of the file.
    std::optional<Ids> next() {
        const auto& encoder = nb::cast<const Encoder&>(encoder_);
        return without_gil(true, [&]() -> std::optional<Ids> {
            if (!chunks_.next(chunk_)) return std::nullopt;
            const std::size_t invalid = find_invalid_utf8(chunk_.text);
            if (invalid != kNowhere) {
                throw std::invalid_argument(
                    invalid_utf8_message("'" + path_ + "'", chunk_.text[invalid], chunk_.offset + invalid));
            }
            Ids ids;
            encoder.encode(chunk_.text, special_, num_threads_, check_signals, ids);
            return ids;
        });
    }

private:
    static constexpr std::size_t kFilePartBytes = std::size_t{16} << 20;

    nb::object encoder_;
    std::string path_;
    bool special_;
    std::size_t num_threads_;
    FileChunks chunks_;
    Chunk chunk_;
};

void define_counter(nb::module_& module) {
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

void define_encoder(nb::module_& module) {
    using Tokens = std::vector<std::pair<nb::bytes, TokenId>>;
    nb::class_<Encoder>(module, "Encoder")
        .def("__init__",
             [](Encoder* self, const Tokens& tokens, const std::vector<std::pair<nb::bytes, nb::bytes>>& merges,
                const Tokens& special_tokens, std::size_t cache_bytes, bool ignore_merges, const std::string& pattern) {
                 new (self) Encoder(to_tokens(tokens), to_merges(merges), to_tokens(special_tokens), cache_bytes,
                                    ignore_merges, pattern_named(pattern));
             },
             "tokens"_a, "merges"_a, "special_tokens"_a, "cache_bytes"_a = std::size_t{64} << 20, nb::kw_only(),
             "ignore_merges"_a = false, "pattern"_a = "gpt2")
        .def("encode",
             [](const Encoder& self, nb::handle text, bool special, std::size_t num_threads) {
                 return to_list(encode(self, text, special, num_threads));
             },
             "text"_a, "special"_a, "num_threads"_a = 1)
        .def("encode_array",
             [](const Encoder& self, nb::handle text, bool special, std::size_t num_threads) {
                 return to_array(encode(self, text, special, num_threads));
             },
             "text"_a, "special"_a, "num_threads"_a = 1)
        .def("encode_array_16",
             [](const Encoder& self, nb::handle text, bool special, std::size_t num_threads) {
                 return to_array_16(encode(self, text, special, num_threads));
             },
             "text"_a, "special"_a, "num_threads"_a = 1)
        .def("count_tokens",
             [](const Encoder& self, nb::handle text, bool special, std::size_t num_threads) {
                 const std::string_view bytes = text_view(text);
                 return without_gil(bytes.size() > kShortText, [&] {
                     return self.count(bytes, special, num_threads, check_signals);
                 });
             },
             "text"_a, "special"_a, "num_threads"_a = 1)
        .def("spans", &spans, "text"_a, "ids"_a, "in_characters"_a)
        .def("encode_batch",
             [](const Encoder& self, const nb::list& texts, bool special, std::size_t num_threads) {
                 const BatchIds batch = encode_batch(self, texts, special, num_threads);
                 const NoCollection pause;
                 nb::list lists;
                 batch.for_each([&lists](std::span<const TokenId> ids) { lists.append(to_list(ids)); });
                 return lists;
             },
             "texts"_a, "special"_a, "num_threads"_a = 0)
        .def("encode_joined", &encode_joined<TokenId>, "texts"_a, "special"_a, "num_threads"_a = 0, nb::kw_only(),
             "marks"_a = nb::bytes("", 0), "end_id"_a = 0)
        .def("encode_joined_16", &encode_joined<std::uint16_t>, "texts"_a, "special"_a, "num_threads"_a = 0, nb::kw_only(),
             "marks"_a = nb::bytes("", 0), "end_id"_a = 0)
        .def("encode_words",
             [](const Encoder& self, const std::vector<nb::bytes>& words) {
                 const std::vector<std::string_view> views = to_views(words);
                 return to_list(without_gil(true, [&] {
                     Ids ids;
                     self.encode_words(views, ids);
                     return ids;
                 }));
             },
             "words"_a)
        .def("find_special",
             [](const Encoder& self, nb::handle text) -> std::optional<std::pair<std::size_t, TokenId>> {
                 const auto special = self.find_special(text_view(text));
                 if (!special) return std::nullopt;
                 return std::pair(special->begin, special->id);
             },
             "text"_a)
        .def("decode_bytes", &decode, "ids"_a)
        .def("stream", [](nb::object self, bool special) { return new Stream(std::move(self), special); }, "special"_a,
             nb::rv_policy::take_ownership);

    nb::class_<FileIds>(module, "FileIds")
        .def("__init__",
             [](FileIds* self, nb::object encoder, nb::handle path, bool special, std::size_t num_threads) {
                 const std::string name = file_name(path);
                 new (self) FileIds(std::move(encoder), name, special, num_threads);
             },
             "encoder"_a, "path"_a, "special"_a, "num_threads"_a = 0)
        .def("next",
             [](FileIds& self) -> nb::object {
                 std::optional<Ids> ids = self.next();
                 return ids ? nb::cast(to_array(std::move(*ids))) : nb::none();
             })
        .def("next_16", [](FileIds& self) -> nb::object {
            const std::optional<Ids> ids = self.next();
            return ids ? nb::cast(to_array_16(*ids)) : nb::none();
        });
    nb::class_<Stream>(module, "Stream").def("push", &Stream::push, "text"_a).def("finish", &Stream::finish);
}

}  // namespace

NB_MODULE(_native, module) {
    // The default translation knows no file names.
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const FileError& file_error) {
            errno = file_error.error_number();
            PyErr_SetFromErrnoWithFilename(PyExc_OSError, file_error.path().c_str());
        }
    });
    define_counter(module);
    define_encoder(module);
    module.def("pre_tokenize",
               [](nb::handle text, const std::string& pattern) {
                   std::vector<nb::bytes> words;
                   for_each_word(pattern_named(pattern), text_view(text),
                                 [&](std::string_view word) { words.push_back(to_bytes(word)); });
                   return words;
               },
               "text"_a, "pattern"_a = "gpt2");
    module.def("is_boundary",
               [](std::uint32_t before, std::uint32_t after, const std::string& pattern) {
                   return is_boundary(pattern_named(pattern), before, after);
               },
               "before"_a, "after"_a, "pattern"_a = "gpt2");
    module.def("piece_cuts",
               [](const nb::bytes& text, std::size_t num_chars, const std::string& pattern) {
                   const std::string_view bytes = view(text);
                   const Pattern named = pattern_named(pattern);
                   return without_gil(bytes.size() > kShortText, [&] { return piece_cuts(named, bytes, num_chars); });
               },
               "text"_a, "num_chars"_a, "pattern"_a = "gpt2");
    module.def("find_invalid_utf8",
               [](const nb::bytes& text) -> std::optional<std::size_t> {
                   const std::string_view bytes = view(text);
                   const std::size_t place =
                       without_gil(bytes.size() > kShortText, [&] { return find_invalid_utf8(bytes); });
                   return place == kNowhere ? std::nullopt : std::optional(place);
               },
               "text"_a);
    module.def("word_starts",
               [](nb::handle text, const std::string& pattern) {
                   WordStarts windows(pattern_named(pattern), text_view(text));
                   std::vector<std::size_t> places;
                   while (windows.next()) {
                       std::size_t block = windows.window_begin();
                       for (std::uint64_t bits : windows.starts()) {
                           for (; bits != 0; bits &= bits - 1) places.push_back(block + std::countr_zero(bits));
                           block += kBlockBytes;
                       }
                   }
                   return places;
               },
               "text"_a, "pattern"_a = "gpt2");
    module.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const InstructionSet& set : instruction_sets()) names.emplace_back(set.name);
        return names;
    });
    module.def("use_instruction_set", [](const std::string& name) { use_instruction_set(name); }, "name"_a);
    module.def("unicode_class",
               [](std::uint32_t code_point) {
                   constexpr const char* kNames[] = {"other", "letter", "number", "space"};
                   return kNames[static_cast<std::size_t>(classify(code_point))];
               },
               "code_point"_a);
    module.def("unicode_kind",
               [](std::uint32_t code_point) {
                   switch (kind_of(code_point)) {
                       case CharKind::number: return "number";
                       case CharKind::space: return "space";
                       case CharKind::upper: return "upper";
                       case CharKind::lower: return "lower";
                       case CharKind::mark: return "mark";
                       case CharKind::uncased: return "uncased";
                       default: return "other";
                   }
               },
               "code_point"_a);
    module.def("default_num_threads", &default_num_threads);
    module.attr("UNICODE_TABLES_VERSION") = kUnicodeTablesVersion;
}
