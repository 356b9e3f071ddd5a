// A hash table from short byte strings to 64-bit values, for word counts and for the encoder's cache.
//
// Words of up to 15 bytes (nearly all) lie in their slot, 16 bytes with the length in the last one, so
// that a look-up touches one place in memory. Longer ones lie in a byte arena.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace groundup {

class WordTable {
public:
    WordTable() : slots_(kFirstCapacity) {}

    // The value of a word (not empty), new ones beginning at 0. Valid until the next call.
    std::uint64_t& operator[](std::string_view word) {
        const Key key = make_key(word);
        std::size_t i = find_slot(key, word);
        if (slots_[i].is_empty()) {
            if ((size_ + 1) * 8 > slots_.size() * 5) {
                grow();
                i = find_slot(key, word);
            }
            slots_[i].low = key.is_long() ? store_long(word) : key.low;
            slots_[i].high = key.high;
            ++size_;
        }
        return slots_[i].value;
    }

    // The value of a word, or nullptr.
    const std::uint64_t* find(std::string_view word) const {
        const Slot& slot = slots_[find_slot(make_key(word), word)];
        return slot.is_empty() ? nullptr : &slot.value;
    }

    // Calls visit(std::string_view word, std::uint64_t value) in no particular order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Slot& slot : slots_) {
            if (!slot.is_empty()) visit(word_of(slot), slot.value);
        }
    }

    std::size_t size() const { return size_; }
    std::size_t size_bytes() const { return slots_.size() * sizeof(Slot) + long_words_.capacity(); }

    void clear() {
        slots_.assign(kFirstCapacity, Slot{});
        slots_.shrink_to_fit();
        std::vector<char>().swap(long_words_);
        size_ = 0;
    }

private:
    static_assert(std::endian::native == std::endian::little, "short words are read from the slot as they lie");
    static constexpr std::size_t kFirstCapacity = 256;
    static constexpr std::size_t kLongestInSlot = 15;
    static constexpr std::uint64_t kLongTag = std::uint64_t{0xFF} << 56;

    struct Key {
        std::uint64_t low;   // bytes 0-7; the place in the arena for a long word
        std::uint64_t high;  // bytes 8-14 and the length; kLongTag and 56 bits of hash for a long word
        bool is_long() const { return high >= kLongTag; }
    };
    struct Slot {
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        std::uint64_t value = 0;
        bool is_empty() const { return high == 0; }
    };

    static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
        std::uint64_t h = (a ^ 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
        h = (std::rotl(h, 32) ^ b) * 0xC2B2AE3D27D4EB4Fu;
        return h ^ (h >> 29);
    }

    static Key make_key(std::string_view word) {
        const char* const p = word.data();
        const std::size_t n = word.size();
        if (n > kLongestInSlot) return {0, kLongTag | hash_long(word) >> 8};
        Key key{0, std::uint64_t{n} << 56};
        if (n >= 8) {
            std::uint64_t tail;
            std::memcpy(&key.low, p, 8);
            std::memcpy(&tail, p + n - 8, 8);
            if (n > 8) key.high |= tail >> (64 - 8 * (n - 8));
        } else if (n >= 4) {
            std::uint32_t head;
            std::uint32_t tail;
            std::memcpy(&head, p, 4);
            std::memcpy(&tail, p + n - 4, 4);
            key.low = head | std::uint64_t{tail} << (8 * (n - 4));
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                key.low |= std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i);
            }
        }
        return key;
    }

    static std::uint64_t hash_long(std::string_view word) {
        std::uint64_t hash = word.size();
        std::size_t i = 0;
        for (; i + 8 <= word.size(); i += 8) {
            std::uint64_t block;
            std::memcpy(&block, word.data() + i, 8);
            hash = mix(hash, block);
        }
        std::uint64_t rest = 0;
        std::memcpy(&rest, word.data() + i, word.size() - i);
        return mix(hash, rest);
    }

    std::size_t first_slot(const Key& key) const {
        // A long word's place differs from table to table: its hash alone decides.
        const std::uint64_t hash = mix(key.is_long() ? 0 : key.low, key.high);
        return static_cast<std::size_t>(hash) & (slots_.size() - 1);
    }

    // The slot of the word, or the empty one where it belongs.
    std::size_t find_slot(const Key& key, std::string_view word) const {
        std::size_t i = first_slot(key);
        while (!slots_[i].is_empty()) {
            if (slots_[i].high == key.high) {
                if (key.is_long() ? word_of(slots_[i]) == word : slots_[i].low == key.low) break;
            }
            i = (i + 1) & (slots_.size() - 1);
        }
        return i;
    }

    std::string_view word_of(const Slot& slot) const {
        if (slot.high < kLongTag) {
            return {reinterpret_cast<const char*>(&slot), static_cast<std::size_t>(slot.high >> 56)};
        }
        std::uint64_t length;
        std::memcpy(&length, long_words_.data() + slot.low, sizeof length);
        return {long_words_.data() + slot.low + sizeof length, static_cast<std::size_t>(length)};
    }

    std::uint64_t store_long(std::string_view word) {
        const std::uint64_t place = long_words_.size();
        const std::uint64_t length = word.size();
        const char* const length_bytes = reinterpret_cast<const char*>(&length);
        long_words_.insert(long_words_.end(), length_bytes, length_bytes + sizeof length);
        long_words_.insert(long_words_.end(), word.begin(), word.end());
        return place;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.is_empty()) continue;
            std::size_t i = first_slot({slot.low, slot.high});
            while (!slots_[i].is_empty()) i = (i + 1) & (slots_.size() - 1);
            slots_[i] = slot;
        }
    }

    std::vector<Slot> slots_;  // a power of two of them, at most 5/8 in use
    std::size_t size_ = 0;
    std::vector<char> long_words_;  // for each: 8 bytes of length, then the word
};

}  // namespace groundup
