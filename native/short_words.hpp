// The ids of words of up to eight bytes, which most words of most texts are: what the encoder asks for first.
//
// Such a word is one number, and its one or two ids are another. Four words share a line of memory, where all four
// are compared at once; a word whose line is full does not come in, so no look-up ever goes on to a second line.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "word_key.hpp"
#include "zeroed_array.hpp"

namespace groundup {

inline constexpr std::size_t kWordsPerLine = 4;

struct alignas(64) WordLine {
    std::uint64_t keys[kWordsPerLine];    // 0: free; the free ones come last
    std::uint64_t values[kWordsPerLine];  // see ShortSpelling
};

// What is known of a word, in one number. From the top: is it one or two ids (one bit), are there two (one bit), the
// second (30 bits), the first (32 bits). Of other words it says where their ids are, or nothing (0).
struct ShortSpelling {
    static constexpr std::uint64_t kInside = std::uint64_t{1} << 63;
    static constexpr std::uint64_t kTwo = std::uint64_t{1} << 62;
    static constexpr std::uint64_t kIdsMask = kTwo - 1;

    static bool is_inside(std::uint64_t value) { return value >> 63 != 0; }
    static std::size_t count_inside(std::uint64_t value) { return static_cast<std::size_t>(value >> 62) - 1; }
};

// A word of up to eight bytes is the number that they spell, the first byte lowest. Words with a byte of zero have no
// key: "a" and "a\0" would have the same one.
struct ShortKey {
    static constexpr std::size_t kLongest = 8;
    static constexpr std::size_t kReadable = 8;

    // 0 for a word that is too long. Behind its first byte kReadable bytes can be read; none of the word is zero.
    [[gnu::always_inline]] static std::uint64_t of(const char* word, std::size_t length) {
        std::uint64_t bytes;
        __builtin_memcpy(&bytes, word, sizeof bytes);
        std::size_t row = length <= kLongest ? length : 0;
        asm("" : "+r"(row));  // so that it is a choice of values, not of ways: lengths cannot be foretold
        return bytes & kMasks[row];
    }
    // 0 for a word that has no key.
    static std::uint64_t of(const WordKey& key) { return of_bytes(key.low, key.high >> 56); }
    static std::uint64_t of(std::string_view word) {
        std::uint64_t bytes = 0;
        if (word.size() <= kLongest) std::memcpy(&bytes, word.data(), word.size());
        return of_bytes(bytes, word.size());
    }

    // 32 bits, of which the upper ones are the good ones. Each half of the key is multiplied by an odd number of its own:
    // vectors have products of 32 bits.
    static constexpr std::uint32_t kLowFactor = 0x9E3779B1u;
    static constexpr std::uint32_t kHighFactor = 0x85EBCA77u;
    [[gnu::always_inline]] static std::uint32_t hash(std::uint64_t key) {
        return static_cast<std::uint32_t>(key) * kLowFactor ^ static_cast<std::uint32_t>(key >> 32) * kHighFactor;
    }

private:
    static std::uint64_t of_bytes(std::uint64_t bytes, std::size_t length) {
        if (length > kLongest) return 0;
        const std::uint64_t zeros = (bytes - kOnes) & ~bytes & (kOnes << 7) & kMasks[length];
        return zeros == 0 ? bytes : 0;
    }

    static constexpr std::uint64_t kOnes = 0x0101010101010101u;
    static constexpr std::uint64_t kMasks[kLongest + 1] = {
        0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFF, 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF};
};

// Lines in a row, a power of two of them.
struct WordLines {
    const WordLine* first;
    int hash_bits;  // as many as tell the lines apart, at least 1

    [[gnu::always_inline]] const WordLine& of(std::uint64_t key) const {
        return first[ShortKey::hash(key) >> (32 - hash_bits)];
    }
};

class ShortWords {
public:
    // num_words: those that are sure to find room, more or less.
    explicit ShortWords(std::size_t num_words) : lines_(std::bit_ceil(num_words / kAimedPerLine + 2)) {}

    WordLines lines() const { return {lines_.begin(), std::countr_zero(lines_.size())}; }

    // The value of a key, or 0.
    std::uint64_t find(std::uint64_t key) const {
        const WordLine& line = lines().of(key);
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < kWordsPerLine; ++i) value |= line.keys[i] == key ? line.values[i] : 0;
        return value;
    }

    // Puts in a key that is not there; false if its line is full.
    bool insert(std::uint64_t key, std::uint64_t value) {
        if (num_words_ >= lines_.size() * kAimedPerLine) grow();
        if (!put(key, value)) return false;
        ++num_words_;
        return true;
    }

    // What it takes with so many more words.
    std::size_t size_bytes_with(std::size_t num_new) const {
        std::size_t num_lines = lines_.size();
        while (num_words_ + num_new > num_lines * kAimedPerLine) num_lines *= 2;
        return num_lines * sizeof(WordLine);
    }

private:
    static constexpr std::size_t kAimedPerLine = 2;  // on average: then one line in twenty is full

    bool put(std::uint64_t key, std::uint64_t value) {
        WordLine& line = lines_[static_cast<std::size_t>(&lines().of(key) - lines_.begin())];
        for (std::size_t i = 0; i < kWordsPerLine; ++i) {
            if (line.keys[i] != 0) continue;
            line.keys[i] = key;
            line.values[i] = value;
            return true;
        }
        return false;
    }

    // Into twice the lines: what shared one is now in two, so all of it has room.
    void grow() {
        ZeroedArray<WordLine> old(lines_.size() * 2);
        old.swap(lines_);
        for (const WordLine& line : old) {
            for (std::size_t i = 0; i < kWordsPerLine; ++i) {
                if (line.keys[i] != 0) put(line.keys[i], line.values[i]);
            }
        }
    }

    ZeroedArray<WordLine> lines_;
    std::size_t num_words_ = 0;
};

}  // namespace groundup
