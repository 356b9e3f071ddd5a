// A short word, on its way from bytes to symbols: the pair whose merge came first is joined, and again.
//
// Each step waits for the memory of the one before, which takes longer than all there is to compute. So the look-ups of
// a step are only asked for in it, and done at the next: meanwhile other words are worked on.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "merge_index.hpp"

namespace groundup {

class PairJoiner {
public:
    using Symbol = MergeIndex::Symbol;
    static constexpr std::size_t kMostBytes = 16;

    // The word has 1 to kMostBytes bytes.
    void begin(const MergeIndex& merges, std::string_view word) {
        size_ = word.size();
        joined_.fill(kNothing);
        symbols_[0] = symbols_[size_ + 1] = MergeIndex::kEdge;
        for (std::size_t i = 1; i <= size_; ++i) {
            symbols_[i] = static_cast<unsigned char>(word[i - 1]);
            next_[i] = static_cast<std::uint8_t>(i + 1);
            before_[i] = static_cast<std::uint8_t>(i - 1);
        }
        for (std::size_t i = 1; i < size_; ++i) joined_[i] = joined_at(merges.find_bytes(word[i - 1], word[i]), i);
    }

    // Joins the first pair and asks for the memory of what it makes with its neighbours; false if there is none to join.
    bool join(const MergeIndex& merges) {
        const std::int32_t first = first_pair();
        if (first == kNothing) return false;
        place_ = static_cast<std::size_t>(first) & kPlaceMask;
        const std::size_t gone = next_[place_];
        const std::size_t after = next_[gone];
        left_ = before_[place_];
        joined_[gone] = kNothing;
        next_[place_] = static_cast<std::uint8_t>(after);
        before_[after] = static_cast<std::uint8_t>(place_);
        symbols_[place_] = static_cast<Symbol>(first >> kPlaceBits);
        right_pair_ = MergeIndex::pair_of(symbols_[place_], symbols_[after]);
        left_pair_ = MergeIndex::pair_of(symbols_[left_], symbols_[place_]);
        merges.prefetch(right_pair_);
        merges.prefetch(left_pair_);
        return true;
    }

    // After join(), before the next one.
    void look_up(const MergeIndex& merges) {
        joined_[place_] = joined_at(merges.find(right_pair_), place_);
        joined_[left_] = joined_at(merges.find(left_pair_), left_);
        joined_[0] = kNothing;
    }

    // Writes the symbols that are left, at most one for each byte; how many there are.
    std::size_t symbols(Symbol* out) const {
        std::size_t num_symbols = 0;
        for (std::size_t i = 1; i <= size_; i = next_[i]) out[num_symbols++] = symbols_[i];
        return num_symbols;
    }

private:
    // A symbol stays where its first byte is, counted from 1; before and behind them are edges, which join with nothing.
    static constexpr std::size_t kPlaces = kMostBytes + 2;
    static constexpr int kPlaceBits = 5;
    static constexpr std::size_t kPlaceMask = (std::size_t{1} << kPlaceBits) - 1;
    static constexpr std::int32_t kNothing = 0x7FFFFFFF;
    static_assert(MergeIndex::kSymbolBits + kPlaceBits < 31);

    // The symbol, and below it the place: the smallest of these is the pair to join, the first of equal ones.
    static std::int32_t joined_at(Symbol symbol, std::size_t place) {
        const auto both = static_cast<std::int32_t>(symbol << kPlaceBits | static_cast<Symbol>(place));
        return symbol == MergeIndex::kNone ? kNothing : both;
    }

    std::int32_t first_pair() const {
        using Four = std::int32_t __attribute__((vector_size(16)));
        Four four[4];
        static_assert(sizeof four == kMostBytes * sizeof joined_[0]);
        __builtin_memcpy(four, &joined_[1], sizeof four);
        const Four a = four[0] < four[1] ? four[0] : four[1];
        const Four b = four[2] < four[3] ? four[2] : four[3];
        const Four c = a < b ? a : b;
        return std::min(std::min(c[0], c[1]), std::min(c[2], c[3]));
    }

    std::array<std::int32_t, kPlaces> joined_;  // what the symbol here and the next one make
    std::array<Symbol, kPlaces> symbols_;
    std::array<std::uint8_t, kPlaces> next_;
    std::array<std::uint8_t, kPlaces> before_;
    std::size_t size_;
    std::size_t place_;
    std::size_t left_;
    std::uint64_t right_pair_;
    std::uint64_t left_pair_;
};

}  // namespace groundup
