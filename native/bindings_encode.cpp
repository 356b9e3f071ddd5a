// Text to ids and back.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>

#include "batch_ids.hpp"
#include "bindings.hpp"
#include "bpe_encode.hpp"
#include "errors.hpp"
#include "text_chunks.hpp"
#include "unicode.hpp"

namespace groundup {

using namespace nb::literals;

namespace {

using Ids = IdBuffer;

std::vector<Token> to_tokens(const std::vector<std::pair<nb::bytes, TokenId>>& items) {
    std::vector<Token> tokens;
    tokens.reserve(items.size());
    for (const auto& [bytes, id] : items) tokens.emplace_back(view(bytes), id);
    return tokens;
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

nb::list to_list(const Ids& ids) { return to_list(std::span(ids.begin(), ids.end())); }

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

template <class T>
T* new_array(std::size_t size) {
    auto* const data = static_cast<T*>(std::malloc(size * sizeof(T) + 1));
    if (data == nullptr) throw std::bad_alloc();
    return data;
}

// The array as Python's, which frees it.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> owned(T* data, std::size_t size) {
    const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return {data, {size}, owner};
}

template <class Id>
nb::ndarray<nb::numpy, Id, nb::ndim<1>> to_array(BasicIdBuffer<Id>&& ids) {
    const std::size_t size = ids.size();
    return owned(ids.release(), size);
}

template <class Id>
BasicIdBuffer<Id> encode(const Encoder& encoder, nb::handle text, bool special, std::size_t num_threads) {
    const std::string_view bytes = text_view(text);
    return without_gil(bytes.size() > kShortText, [&] {
        BasicIdBuffer<Id> ids;
        encoder.encode(bytes, special, num_threads, check_signals, ids);
        return ids;
    });
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
    template <class Id>
    std::optional<BasicIdBuffer<Id>> next() {
        const auto& encoder = nb::cast<const Encoder&>(encoder_);
        return without_gil(true, [&]() -> std::optional<BasicIdBuffer<Id>> {
            if (!chunks_.next(chunk_)) return std::nullopt;
            const std::size_t invalid = find_invalid_utf8(chunk_.text);
            if (invalid != kNowhere) {
                throw std::invalid_argument(
                    invalid_utf8_message("'" + path_ + "'", chunk_.text[invalid], chunk_.offset + invalid));
            }
            BasicIdBuffer<Id> ids;
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

template <class Id>
nb::object next_array(FileIds& file) {
    std::optional<BasicIdBuffer<Id>> ids = file.next<Id>();
    return ids ? nb::cast(to_array(std::move(*ids))) : nb::none();
}

}  // namespace

void bind_encoding(nb::module_& module) {
    using Tokens = std::vector<std::pair<nb::bytes, TokenId>>;
    nb::class_<Encoder>(module, "Encoder")
        .def("__init__",
             [](Encoder* self, const Tokens& tokens, const std::vector<std::pair<nb::bytes, nb::bytes>>& merges,
                const Tokens& special_tokens, std::size_t cache_bytes, bool ignore_merges, const std::string& pattern) {
                 new (self) Encoder(to_tokens(tokens), to_merges(merges), to_tokens(special_tokens), cache_bytes,
                                    ignore_merges, pattern_named(pattern));
             },
             "tokens"_a, "merges"_a, "special_tokens"_a, "cache_bytes"_a = kCacheBytes, nb::kw_only(),
             "ignore_merges"_a = false, "pattern"_a = "gpt2")
        .def("tokens",
             [](const Encoder& self) {
                 nb::dict tokens;
                 for (const auto& [bytes, id] : self.tokens()) tokens[nb::int_(id)] = to_bytes(bytes);
                 return tokens;
             })
        .def("special_tokens",
             [](const Encoder& self) {
                 nb::dict ids;
                 for (const auto& [bytes, id] : self.special_tokens()) {
                     ids[nb::str(bytes.data(), bytes.size())] = nb::int_(id);
                 }
                 return ids;
             })
        .def("merges",
             [](const Encoder& self) {
                 nb::list merges;
                 for (const auto& [left, right] : self.merges()) {
                     merges.append(nb::make_tuple(to_bytes(left), to_bytes(right)));
                 }
                 return merges;
             })
        .def_prop_ro("num_tokens", &Encoder::num_tokens)
        .def_prop_ro("end_id", &Encoder::end_id)
        .def_prop_ro("ignore_merges", &Encoder::ignore_merges)
        .def("encode",
             [](const Encoder& self, nb::handle text, bool special, std::size_t num_threads) {
                 return to_list(encode<TokenId>(self, text, special, num_threads));
             },
             "text"_a, "special"_a, "num_threads"_a = 1)
        .def("encode_array",
             [](const Encoder& self, nb::handle text, bool special, std::size_t num_threads) {
                 return to_array(encode<TokenId>(self, text, special, num_threads));
             },
             "text"_a, "special"_a, "num_threads"_a = 1)
        .def("encode_array_16",
             [](const Encoder& self, nb::handle text, bool special, std::size_t num_threads) {
                 return to_array(encode<std::uint16_t>(self, text, special, num_threads));
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
        .def("encode_joined_16", &encode_joined<std::uint16_t>, "texts"_a, "special"_a, "num_threads"_a = 0,
             nb::kw_only(), "marks"_a = nb::bytes("", 0), "end_id"_a = 0)
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
        .def("next", &next_array<TokenId>)
        .def("next_16", &next_array<std::uint16_t>);
    nb::class_<Stream>(module, "Stream").def("push", &Stream::push, "text"_a).def("finish", &Stream::finish);
}

}  // namespace groundup
