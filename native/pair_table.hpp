// A hash table from pairs of symbols to a value. Grows only; nothing is ever removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace groundup {

template <class Value>
class PairTable {
public:
    PairTable() : slots_(1024) {}

    // The value of the pair, or nullptr.
    const Value* find(std::uint32_t left, std::uint32_t right) const {
        const Slot& slot = slots_[find_slot(key_of(left, right))];
        return slot.key == kEmpty ? nullptr : &slot.value;
    }

    // The value of the pair; `absent`, stored, for a new one. Valid until the next call.
    Value& at_or(std::uint32_t left, std::uint32_t right, const Value& absent) {
        const std::uint64_t key = key_of(left, right);
        std::size_t i = find_slot(key);
        if (slots_[i].key == kEmpty) {
            if ((size_ + 1) * 2 > slots_.size()) {
                grow();
                i = find_slot(key);
            }
            slots_[i] = {key, absent};
            ++size_;
        }
        return slots_[i].value;
    }

private:
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // the pair of two boundaries, which is none
    struct Slot {
        std::uint64_t key = kEmpty;
        Value value{};
    };

    static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32 | right; }

    std::size_t find_slot(std::uint64_t key) const {
        std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
        std::size_t i = static_cast<std::size_t>(hash) & (slots_.size() - 1);
        while (slots_[i].key != key && slots_[i].key != kEmpty) i = (i + 1) & (slots_.size() - 1);
        return i;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.key != kEmpty) slots_[find_slot(slot.key)] = slot;
        }
    }

    std::vector<Slot> slots_;  // a power of two of them, at most half in use
    std::size_t size_ = 0;
};

}  // namespace groundup
