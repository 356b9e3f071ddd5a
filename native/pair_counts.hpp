// The pairs of neighbours met in training: how often each occurs and where. Pairs are added and never removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "place_store.hpp"
#include "zeroed_array.hpp"

namespace groundup {

struct CountedPair {
    std::uint64_t count;
    PlaceStore::Place* places;  // in the order of the text; some of them outdated
    std::uint32_t num_places;
    std::uint32_t left;
    std::uint32_t right;
};

class PairCounts {
public:
    using Symbol = std::uint32_t;
    using Index = std::uint32_t;
    static constexpr Index kNone = 0xFFFFFFFF;

    PairCounts() : slots_(1024) {}

    // Its number: they come without gaps. The pair must not be here yet.
    Index add(const CountedPair& pair) {
        if ((std::size_t{size_} + 1) * 2 > slots_.size()) grow();
        const Index index = size_++;
        if (index % kBlockPairs == 0) blocks_.push_back(std::make_unique_for_overwrite<CountedPair[]>(kBlockPairs));
        (*this)[index] = pair;
        insert(index);
        return index;
    }

    // The number of the pair, or kNone.
    Index find(Symbol left, Symbol right) const {
        const std::uint64_t hash = hash_of(left, right);
        for (std::size_t i = place(hash);; i = (i + 1) & (slots_.size() - 1)) {
            const Slot slot = slots_[i];
            if (slot.number == 0) return kNone;
            const CountedPair& pair = (*this)[slot.number - 1];
            if (slot.tag == tag(hash) && pair.left == left && pair.right == right) return slot.number - 1;
        }
    }

    // For a `find` that comes later.
    void prefetch(Symbol left, Symbol right) const { __builtin_prefetch(&slots_[place(hash_of(left, right))]); }

    Index size() const { return size_; }
    CountedPair& operator[](Index index) { return blocks_[index / kBlockPairs][index % kBlockPairs]; }
    const CountedPair& operator[](Index index) const { return blocks_[index / kBlockPairs][index % kBlockPairs]; }

private:
    static constexpr std::size_t kBlockPairs = 1024;

    struct Slot {
        std::uint32_t tag;     // the upper half of the hash: a different one saves the look at the pair
        std::uint32_t number;  // index + 1; 0: nothing is here
    };

    static std::uint64_t hash_of(Symbol left, Symbol right) {
        const std::uint64_t hash = (std::uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15u;
        return hash ^ (hash >> 32);
    }
    static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
    std::size_t place(std::uint64_t hash) const { return static_cast<std::size_t>(hash) & (slots_.size() - 1); }

    void insert(Index index) {
        const std::uint64_t hash = hash_of((*this)[index].left, (*this)[index].right);
        std::size_t i = place(hash);
        while (slots_[i].number != 0) i = (i + 1) & (slots_.size() - 1);
        slots_[i] = {tag(hash), index + 1};
    }

    void grow() {
        slots_ = ZeroedArray<Slot>(slots_.size() * 2);
        for (Index i = 0; i < size_; ++i) insert(i);
    }

    // In blocks, so that growing needs no memory for a copy, and a pair stays where it is.
    std::vector<std::unique_ptr<CountedPair[]>> blocks_;
    Index size_ = 0;
    ZeroedArray<Slot> slots_;  // a power of two of them, at most half in use
};

}  // namespace groundup
