// A word as two numbers: what hash tables compare and hash in its place.
//
// Words of up to 15 bytes (nearly all) are their key: 16 bytes, with the length in the last one. A longer
// word has a mark there and 56 bits of its hash; who finds such a key still has to compare the bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace groundup {

struct alignas(16) WordKey {
    std::uint64_t low;   // bytes 0-7; 0 for a long word
    std::uint64_t high;  // bytes 8-14 and the length; kLongMark and 56 bits of hash for a long word

    static constexpr std::size_t kLongestShort = 15;
    static constexpr std::size_t kReadable = 16;  // bytes that `of_short` reads
    static constexpr std::uint64_t kLongMark = std::uint64_t{0xFF} << 56;

    bool is_long() const { return high >= kLongMark; }
    bool operator==(const WordKey&) const = default;

    // Both halves of one product of 128 bits: every bit of the key reaches every bit of the hash.
    std::uint64_t hash() const {
        using Product = unsigned __int128;
        const Product product = Product{low ^ 0x9E3779B97F4A7C15u} * (high ^ 0xD6E8FEB86659FD93u);
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }

    // Of a word of 1 to 15 bytes behind whose first byte at least kReadable bytes can be read.
    static WordKey of_short(const char* p, std::size_t length) {
        Halves halves;
        std::memcpy(&halves, p, sizeof halves);
        halves = (halves & kMasks[length].bytes) | kMasks[length].length;
        WordKey key;
        std::memcpy(&key, &halves, sizeof key);
        return key;
    }

    // Of any word that is not empty.
    static WordKey of(std::string_view word) {
        if (word.size() > kLongestShort) return {0, kLongMark | hash_bytes(word) >> 8};
        std::array<char, kReadable> padded{};
        std::memcpy(padded.data(), word.data(), word.size());
        return of_short(padded.data(), word.size());
    }

private:
    static_assert(std::endian::native == std::endian::little, "the bytes of a short word are read from its key");

    using Halves = std::uint64_t __attribute__((vector_size(16)));  // a vector register
    struct Mask {
        Halves bytes;
        Halves length;
    };
    static constexpr std::array<Mask, kLongestShort + 1> make_masks() {
        std::array<Mask, kLongestShort + 1> masks{};
        for (std::size_t n = 1; n <= kLongestShort; ++n) {
            const std::uint64_t low = ~std::uint64_t{0} >> (n >= 8 ? 0 : 64 - 8 * n);
            const std::uint64_t high = n <= 8 ? 0 : ~std::uint64_t{0} >> (128 - 8 * n);
            masks[n] = {Halves{low, high}, Halves{0, std::uint64_t{n} << 56}};
        }
        return masks;
    }
    static const std::array<Mask, kLongestShort + 1> kMasks;

    static std::uint64_t hash_bytes(std::string_view word) {
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

    static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
        std::uint64_t h = (a ^ 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
        h = (std::rotl(h, 32) ^ b) * 0xC2B2AE3D27D4EB4Fu;
        return h ^ (h >> 29);
    }
};

inline constexpr std::array<WordKey::Mask, WordKey::kLongestShort + 1> WordKey::kMasks = WordKey::make_masks();

}  // namespace groundup
