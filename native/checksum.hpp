// A number that tells bytes from damaged ones, at about the speed of memory.
//
// Against accidents only: whoever wants to can find bytes with the same number.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace groundup {

class Checksum {
public:
    static std::uint64_t of(std::string_view bytes) {
        Lanes lanes{};
        std::size_t i = 0;
        for (; i + sizeof(Block) <= bytes.size(); i += sizeof(Block)) add(bytes.data() + i, lanes);
        std::array<char, sizeof(Block)> rest{};
        std::memcpy(rest.data(), bytes.data() + i, bytes.size() - i);
        add(rest.data(), lanes);
        std::uint64_t total = bytes.size();
        for (const std::uint64_t lane : lanes) total = fold(total ^ kSalts[0], lane ^ kSalts[1]);
        return total;
    }

private:
    static constexpr std::size_t kLanes = 4;  // none waits for another
    using Lanes = std::array<std::uint64_t, kLanes>;
    using Block = std::array<std::uint64_t, kLanes * 2>;
    static constexpr Lanes kSalts{0x9E3779B97F4A7C15u, 0xD6E8FEB86659FD93u, 0xC2B2AE3D27D4EB4Fu, 0xA0761D6478BD642Fu};

    // Both halves of the product.
    static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
        const auto product = static_cast<unsigned __int128>(a) * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }

    static void add(const char* bytes, Lanes& lanes) {
        Block words;
        std::memcpy(words.data(), bytes, sizeof words);
        for (std::size_t i = 0; i < kLanes; ++i) {
            // Added to the words as well: a factor that happens to be zero must not hide the other one.
            const std::uint64_t product = fold(lanes[i] ^ words[2 * i] ^ kSalts[i], words[2 * i + 1] ^ kSalts[kLanes - 1 - i]);
            lanes[i] = product + words[2 * i] + std::rotl(words[2 * i + 1], 32);
        }
    }
};

}  // namespace groundup
