// The Python face of the core: types, the GIL, exceptions, arrays without copies. No algorithm lives here.
// What Python sees of it is written down in src/groundup/_native.pyi.
#include "bindings.hpp"

#include <cerrno>
#include <stdexcept>

#include "errors.hpp"
#include "kernels/bindings.hpp"
#include "unicode.hpp"

namespace groundup {

std::string_view utf8(nb::handle text) {
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) throw nb::python_error();
    return {data, static_cast<std::size_t>(size)};
}

std::string file_name(nb::handle path) {
    PyObject* name = nullptr;
    if (PyUnicode_FSConverter(path.ptr(), &name) == 0) throw nb::python_error();
    return std::string(view(nb::steal<nb::bytes>(name)));
}

void check_signals() {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::string_view unchecked_view(nb::handle text) {
    if (nb::isinstance<nb::str>(text)) return utf8(text);
    if (!nb::isinstance<nb::bytes>(text)) throw nb::type_error("text must be str or bytes");
    return view(nb::borrow<nb::bytes>(text));
}

std::string_view text_view(nb::handle text) {
    const std::string_view bytes = unchecked_view(text);
    if (nb::isinstance<nb::str>(text)) return bytes;
    const std::size_t invalid = without_gil(bytes.size() > kShortText, [bytes] { return find_invalid_utf8(bytes); });
    if (invalid != kNowhere) throw std::invalid_argument(invalid_utf8_message("the text", bytes[invalid], invalid));
    return bytes;
}

std::vector<Merge> to_merges(const std::vector<std::pair<nb::bytes, nb::bytes>>& items) {
    std::vector<Merge> merges;
    merges.reserve(items.size());
    for (const auto& [left, right] : items) merges.emplace_back(view(left), view(right));
    return merges;
}

}  // namespace groundup

NB_MODULE(_native, module) {
    // The default translation knows no file names.
    nanobind::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const groundup::FileError& file_error) {
            errno = file_error.error_number();
            PyErr_SetFromErrnoWithFilename(PyExc_OSError, file_error.path().c_str());
        }
    });
    groundup::bind_text(module);
    groundup::bind_training(module);
    groundup::bind_encoding(module);
    groundup::bind_stored(module);
    groundup::kernels::bind_kernels(module);
}
