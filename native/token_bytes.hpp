// The bytes of tokens that are numbered as they come: the 256 bytes, then what merges make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace groundup {

class TokenBytes {
public:
    using Symbol = std::uint32_t;

    TokenBytes() {
        for (int b = 0; b < 256; ++b) add(std::string(1, static_cast<char>(b)));
    }

    Symbol add(std::string bytes) {
        std::uint64_t head = 0;
        for (std::size_t i = 0; i < sizeof head; ++i) {
            head = head << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u);
        }
        heads_.push_back(head);
        lengths_.push_back(static_cast<std::uint32_t>(bytes.size()));
        bytes_.push_back(std::move(bytes));
        return static_cast<Symbol>(bytes_.size() - 1);
    }

    std::size_t size() const { return bytes_.size(); }
    const std::string& bytes(Symbol symbol) const { return bytes_[symbol]; }
    std::uint32_t length(Symbol symbol) const { return lengths_[symbol]; }

    // In the order of their bytes.
    bool is_less(Symbol a, Symbol b) const {
        if (heads_[a] != heads_[b]) return heads_[a] < heads_[b];
        return bytes_[a] < bytes_[b];
    }

private:
    std::vector<std::string> bytes_;
    std::vector<std::uint64_t> heads_;  // the first eight bytes as a number that compares like them
    std::vector<std::uint32_t> lengths_;
};

}  // namespace groundup
