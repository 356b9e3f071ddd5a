// Arrays that lie side by side in one block of memory, as they do in a file.
//
// Tables that are read at random places are the faster the fewer pages they lie on, so what belongs together
// gets one block, in huge pages where the system has them. The same bytes can be stored and read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "zeroed_array.hpp"

namespace groundup {

class BlockWriter {
public:
    template <class T>
    void add(const T* items, std::size_t size) {
        static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
        append(&size, sizeof size);
        append(items, size * sizeof(T));
        bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment);
    }
    template <class T>
    void add(const std::vector<T>& items) {
        add(items.data(), items.size());
    }
    void add(std::string_view text) { add(text.data(), text.size()); }
    // Arrays that another writer put together.
    void add_all(std::span<const char> block) { append(block.data(), block.size()); }

    const std::string& bytes() const { return bytes_; }

    static constexpr std::size_t kAlignment = 8;

private:
    static_assert(sizeof(std::size_t) == kAlignment);

    void append(const void* data, std::size_t num_bytes) {
        if (num_bytes != 0) bytes_.append(static_cast<const char*>(data), num_bytes);
    }

    std::string bytes_;
};

// Gives the arrays out in the order in which they were added. Throws std::invalid_argument if there are no more.
class BlockReader {
public:
    explicit BlockReader(std::span<const char> bytes) : bytes_(bytes) {}

    template <class T>
    std::span<const T> next() {
        std::size_t size = 0;
        if (bytes_.size() < sizeof size) throw std::invalid_argument(kCutShort);
        std::memcpy(&size, bytes_.data(), sizeof size);
        bytes_ = bytes_.subspan(sizeof size);
        if (size > bytes_.size() / sizeof(T)) throw std::invalid_argument(kCutShort);
        const std::span<const T> items(reinterpret_cast<const T*>(bytes_.data()), size);
        const std::size_t padded = (size * sizeof(T) + BlockWriter::kAlignment - 1) / BlockWriter::kAlignment *
                                   BlockWriter::kAlignment;
        if (padded > bytes_.size()) throw std::invalid_argument(kCutShort);
        bytes_ = bytes_.subspan(padded);
        return items;
    }
    std::size_t left() const { return bytes_.size(); }
    std::string_view next_text() {
        const std::span<const char> text = next<char>();
        return {text.data(), text.size()};
    }

private:
    static constexpr const char* kCutShort = "a stored table is cut short";
    std::span<const char> bytes_;
};

}  // namespace groundup
