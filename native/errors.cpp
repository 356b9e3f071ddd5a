#include "errors.hpp"

#include <cstring>
#include <utility>

namespace groundup {

namespace {

std::string hexadecimal(char c) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return {kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace

FileError::FileError(int error_number, std::string path)
    : std::runtime_error(path + ": " + std::strerror(error_number)),
      error_number_(error_number),
      path_(std::move(path)) {}

std::string quote_bytes(std::string_view bytes) {
    const bool in_double = bytes.find('\'') != bytes.npos && bytes.find('"') == bytes.npos;
    const char quote = in_double ? '"' : '\'';
    std::string quoted = {'b', quote};
    for (const char c : bytes) {
        if (c == quote || c == '\\') {
            quoted += {'\\', c};
        } else if (c == '\t' || c == '\n' || c == '\r') {
            quoted += {'\\', c == '\t' ? 't' : c == '\n' ? 'n' : 'r'};
        } else if (c >= ' ' && c <= '~') {
            quoted += c;
        } else {
            quoted += "\\x" + hexadecimal(c);
        }
    }
    return quoted + quote;
}

std::string invalid_utf8_message(std::string_view subject, char byte, unsigned long long offset) {
    return std::string(subject) + " is not UTF-8: byte 0x" + hexadecimal(byte) + " at byte offset " +
           std::to_string(offset);
}

}  // namespace groundup
