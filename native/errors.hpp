// What the core throws beside the exceptions of the standard library. Messages are for the user.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace groundup {

// A file that cannot be opened or read; becomes Python's OSError.
class FileError : public std::runtime_error {
public:
    FileError(int error_number, std::string path);
    int error_number() const { return error_number_; }
    const std::string& path() const { return path_; }

private:
    int error_number_;
    std::string path_;
};

// Bytes as Python's repr shows them: b'\xe2\x82a'.
std::string quote_bytes(std::string_view bytes);

// "<subject> is not UTF-8: byte 0xff at byte offset 12"
std::string invalid_utf8_message(std::string_view subject, char byte, unsigned long long offset);

}  // namespace groundup
