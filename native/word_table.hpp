// A hash table from words to values, for word counts and for the encoder's cache.
//
// A short word lies in its slot, so that a look-up touches one place in memory; the bytes of a long one lie in
// an arena. Grows only; nothing is ever removed but all at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "word_key.hpp"
#include "zeroed_array.hpp"

namespace groundup {

template <class Value>
class WordTable {
public:
    // num_slots: a power of two, at least 2.
    explicit WordTable(std::size_t num_slots = 256) : slots_(num_slots), long_words_(1) {}

    // Brings the place of a word into the processor's cache, for a look-up that comes later.
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[place(hash)]); }

    // The value of a word of up to 15 bytes, or nullptr; nullptr for every longer one.
    Value* find_short(const WordKey& key, std::uint64_t hash) {
        // Nearly all words lie in one of the first two slots. Which one cannot be foretold, so no branch asks.
        Slot* const slot = &slots_[place(hash)];
        const bool is_first = slot[0].has(key);
        const bool is_second = slot[1].has(key);
        if (is_first | is_second) return &slot[is_first ? 0 : 1].value;
        for (std::size_t i = place(hash); slots_[i].high != 0; i = next(i)) {
            if (slots_[i].has(key)) return &slots_[i].value;
        }
        return nullptr;
    }

    // The value of any word, or nullptr.
    Value* find(std::string_view word, const WordKey& key, std::uint64_t hash) {
        Slot& slot = slots_[find_slot(word, key, hash)];
        return slot.high == 0 ? nullptr : &slot.value;
    }
    const Value* find(std::string_view word, const WordKey& key, std::uint64_t hash) const {
        const Slot& slot = slots_[find_slot(word, key, hash)];
        return slot.high == 0 ? nullptr : &slot.value;
    }
    Value* find(std::string_view word) {
        const WordKey key = WordKey::of(word);
        return find(word, key, key.hash());
    }

    // The value of any word, new ones beginning at Value{}. Valid until the next call.
    Value& at(std::string_view word, const WordKey& key, std::uint64_t hash) {
        std::size_t i = find_slot(word, key, hash);
        if (slots_[i].high == 0) {
            if (size_ + 1 > most_words(slots_.size())) {
                grow();
                i = find_slot(word, key, hash);
            }
            slots_[i].low = key.is_long() ? store_long(word) : key.low;
            slots_[i].high = key.high;
            ++size_;
        }
        return slots_[i].value;
    }
    Value& operator[](std::string_view word) {
        const WordKey key = WordKey::of(word);
        return at(word, key, key.hash());
    }

    // Calls visit(std::string_view word, const Value&) in no particular order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Slot& slot : slots_) {
            if (slot.high != 0) visit(word_of(slot), slot.value);
        }
    }

    std::size_t size() const { return size_; }
    // What it takes with so many more short words.
    std::size_t size_bytes_with(std::size_t num_new) const {
        std::size_t num_slots = slots_.size();
        while (size_ + num_new > most_words(num_slots)) num_slots *= kGrowth;
        return num_slots * sizeof(Slot) + long_words_.capacity();
    }

private:
    static constexpr std::size_t kGrowth = 2;
    static constexpr std::size_t most_words(std::size_t num_slots) { return num_slots / 4 * 3; }

    struct Slot {
        std::uint64_t low;   // of the key; the place in the arena, not 0, for a long word
        std::uint64_t high;  // of the key; 0: nothing is here
        Value value;

        bool has(const WordKey& key) const { return ((low ^ key.low) | (high ^ key.high)) == 0; }
    };

    // The first of the two slots where a word belongs; if they are taken, it lies in one of those that follow.
    std::size_t place(std::uint64_t hash) const { return static_cast<std::size_t>(hash) & (slots_.size() - 2); }
    std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }

    // The slot of the word, or the empty one where it belongs.
    std::size_t find_slot(std::string_view word, const WordKey& key, std::uint64_t hash) const {
        std::size_t i = place(hash);
        if (key.is_long()) {
            while (slots_[i].high != 0 && !(slots_[i].high == key.high && word_of(slots_[i]) == word)) i = next(i);
        } else {
            while (slots_[i].high != 0 && !slots_[i].has(key)) i = next(i);
        }
        return i;
    }

    static WordKey key_of(const Slot& slot) {
        return slot.high >= WordKey::kLongMark ? WordKey{0, slot.high} : WordKey{slot.low, slot.high};
    }

    std::string_view word_of(const Slot& slot) const {
        if (slot.high < WordKey::kLongMark) {
            return {reinterpret_cast<const char*>(&slot), static_cast<std::size_t>(slot.high >> 56)};
        }
        std::uint64_t length;
        std::memcpy(&length, long_words_.data() + slot.low, sizeof length);
        return {long_words_.data() + slot.low + sizeof length, static_cast<std::size_t>(length)};
    }

    // For each long word: 8 bytes of length, then the word.
    std::uint64_t store_long(std::string_view word) {
        const std::uint64_t begin = long_words_.size();
        const std::uint64_t length = word.size();
        const char* const length_bytes = reinterpret_cast<const char*>(&length);
        long_words_.insert(long_words_.end(), length_bytes, length_bytes + sizeof length);
        long_words_.insert(long_words_.end(), word.begin(), word.end());
        return begin;
    }

    void grow() {
        ZeroedArray<Slot> old(slots_.size() * kGrowth);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.high == 0) continue;
            std::size_t i = place(key_of(slot).hash());
            while (slots_[i].high != 0) i = next(i);
            slots_[i] = slot;
        }
    }

    ZeroedArray<Slot> slots_;
    std::size_t size_ = 0;
    std::vector<char> long_words_;  // an unused byte, then the words
};

}  // namespace groundup
