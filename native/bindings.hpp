// What the parts of the Python face share: one bind_ function a source, bytes and text as views, the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpe_train.hpp"

namespace groundup {

namespace nb = nanobind;

void bind_text(nb::module_& module);
void bind_training(nb::module_& module);
void bind_encoding(nb::module_& module);
void bind_stored(nb::module_& module);

constexpr std::size_t kCacheBytes = std::size_t{64} << 20;  // of words met before, unless told otherwise
constexpr std::size_t kShortText = 4096;  // letting go of the GIL costs more than such a text

inline std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

inline nb::bytes to_bytes(std::string_view bytes) { return nb::bytes(bytes.data(), bytes.size()); }

// The UTF-8 of a str, which Python keeps with it (no copy for ASCII). Lone surrogates: UnicodeEncodeError.
std::string_view utf8(nb::handle text);

// The UTF-8 of a str, or bytes as they are.
std::string_view unchecked_view(nb::handle text);

// The UTF-8 of a str or of bytes, which are checked.
std::string_view text_view(nb::handle text);

// The name of a file, given as str, bytes or os.PathLike, as the system takes it.
std::string file_name(nb::handle path);

// Runs work without the GIL, if there is enough to do.
template <class Work>
auto without_gil(bool is_long, Work&& work) {
    if (!is_long) return work();
    const nb::gil_scoped_release release;
    return work();
}

// Lets Python handle signals (Ctrl-C). For a calling thread that let go of the GIL.
void check_signals();

std::vector<Merge> to_merges(const std::vector<std::pair<nb::bytes, nb::bytes>>& items);

}  // namespace groundup
