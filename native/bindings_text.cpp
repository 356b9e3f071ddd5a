// How text is cut into pre-tokens, and what the core knows of characters and of the processor.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <bit>
#include <cstdint>
#include <optional>

#include "bindings.hpp"
#include "byte_masks.hpp"
#include "parallel.hpp"
#include "piece_cuts.hpp"
#include "pretokenize.hpp"
#include "unicode.hpp"
#include "word_starts.hpp"

namespace groundup {

using namespace nb::literals;

void bind_text(nb::module_& module) {
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

}  // namespace groundup
