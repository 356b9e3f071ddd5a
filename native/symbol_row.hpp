// Words as rows of symbols, one slot a byte, in which two neighbours are joined in constant time.
//
// A symbol of n bytes covers n slots and stands in the first and the last of them. So its neighbours are
// found without links: the one after it n slots on, the one before it by the slot just before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace groundup {

class SymbolRow {
public:
    using Position = std::uint32_t;
    static constexpr std::uint32_t kBoundary = 0xFFFFFFFF;  // before the first and after each word

    SymbolRow() : slots_(1, kBoundary) {}

    void reserve(std::size_t num_slots) { slots_.reserve(num_slots); }

    // Adds a word whose first symbols are its bytes, as numbered by `symbol_of_byte`; its first position.
    template <class SymbolOfByte>
    Position add_word(std::string_view word, SymbolOfByte&& symbol_of_byte) {
        const std::size_t first = slots_.size();
        for (const char c : word) slots_.push_back(symbol_of_byte(static_cast<unsigned char>(c)));
        slots_.push_back(kBoundary);
        return static_cast<Position>(first);
    }

    std::size_t size() const { return slots_.size(); }

    // The symbol that begins at `position`, or kBoundary.
    std::uint32_t at(Position position) const { return slots_[position]; }
    // The symbol that ends just before `position`, or kBoundary.
    std::uint32_t before(Position position) const { return slots_[position - 1]; }

    // For a look at `position` that comes later.
    void prefetch(Position position) const { __builtin_prefetch(&slots_[position], 1); }

    // Makes the symbol at `position`, of left_length bytes, and the one after it into `joined`.
    void join(Position position, std::uint32_t left_length, std::uint32_t joined_length, std::uint32_t joined) {
        // No symbol begins here any more: a list of old positions must not take it for one.
        slots_[position + left_length] = kInside;
        slots_[position] = joined;
        slots_[position + joined_length - 1] = joined;
    }

private:
    static constexpr std::uint32_t kInside = 0xFFFFFFFE;
    std::vector<std::uint32_t> slots_;
};

}  // namespace groundup
