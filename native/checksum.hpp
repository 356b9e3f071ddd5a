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
    // The bytes that come next. All parts but the last are as long as a number of blocks.
    void add(std::string_view part) {
        std::size_t i = 0;
        for (; i + kBlockBytes <= part.size(); i += kBlockBytes) add_block(part.data() + i);
        if (i < part.size()) {
            std::array<char, kBlockBytes> rest{};
            std::memcpy(rest.data(), part.data() + i, part.size() - i);
            add_block(rest.data());
        }
        num_bytes_ += part.size();
    }

    std::uint64_t value() const {
        std::uint64_t total = num_bytes_;
        for (const std::uint64_t lane : lanes_) total = fold(total ^ kSalts[0], lane ^ kSalts[1]);
        return total;
    }

    static std::uint64_t of(std::string_view bytes) {
        Checksum sum;
        sum.add(bytes);
        return sum.value();
    }

    static constexpr std::size_t kBlockBytes = 64;

private:
    static constexpr std::size_t kLanes = 4;  // none waits for another
    using Lanes = std::array<std::uint64_t, kLanes>;
    static constexpr Lanes kSalts{0x9E3779B97F4A7C15u, 0xD6E8FEB86659FD93u, 0xC2B2AE3D27D4EB4Fu, 0xA0761D6478BD642Fu};

    // Both halves of the product.
    static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
        const auto product = static_cast<unsigned __int128>(a) * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }

    void add_block(const char* bytes) {
        std::array<std::uint64_t, kLanes * 2> words;
        static_assert(sizeof words == kBlockBytes);
        std::memcpy(words.data(), bytes, sizeof words);
        Lanes lanes = lanes_;
        for (std::size_t i = 0; i < kLanes; ++i) {
            const std::uint64_t left = words[2 * i];
            const std::uint64_t right = words[2 * i + 1];
            const std::uint64_t product = fold(lanes[i] ^ left ^ kSalts[i], right ^ kSalts[kLanes - 1 - i]);
            // Added to the words as well: a factor that happens to be zero must not hide the other one.
            lanes[i] = product + left + std::rotl(right, 32);
        }
        lanes_ = lanes;
    }

    Lanes lanes_{};
    std::uint64_t num_bytes_ = 0;
};

}  // namespace groundup
