// Encoders in files.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "checksum.hpp"
#include "stored_encoder.hpp"

namespace groundup {

using namespace nb::literals;

void bind_stored(nb::module_& module) {
    module.def("store_encoder",
               [](const Encoder& encoder, const nb::bytes& source, const std::vector<nb::bytes>& notes) {
                   const std::string_view bytes = view(source);
                   std::vector<std::string_view> views;
                   for (const nb::bytes& note : notes) views.push_back(view(note));
                   return to_bytes(without_gil(true, [&] { return store_encoder(encoder, bytes, views); }));
               },
               "encoder"_a, "source"_a, "notes"_a);
    module.def("read_stored_encoder",
               [](int file, int source, std::size_t cache_bytes) -> nb::object {
                   std::optional<StoredEncoder> stored =
                       without_gil(true, [&] { return read_stored_encoder(file, source, cache_bytes); });
                   if (!stored) return nb::none();
                   const nb::object encoder = nb::cast(stored->encoder.release(), nb::rv_policy::take_ownership);
                   nb::list notes;
                   for (const std::string& note : stored->notes) notes.append(to_bytes(note));
                   return nb::make_tuple(encoder, notes);
               },
               "file"_a, "source"_a, "cache_bytes"_a = kCacheBytes);
    module.def("checksum", [](const nb::bytes& bytes) { return Checksum::of(view(bytes)); }, "bytes"_a);
    module.def("checksum_of_file",
               [](int file) { return without_gil(true, [file] { return checksum_of_file(file); }); }, "file"_a);
    module.attr("CORE_VERSION") = core_version();
}

}  // namespace groundup
