#include "stored_encoder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "block.hpp"
#include "checksum.hpp"
#include "token_list.hpp"
#include "zeroed_array.hpp"

namespace groundup {

namespace {

struct Header {
    std::array<char, 8> kind;
    std::uint64_t core;
    std::uint64_t tables_bytes;
    std::uint64_t source_bytes;
    std::uint64_t checksum;  // of the tables

    bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) % BlockWriter::kAlignment == 0);

constexpr std::array<char, 8> kKind{'g', 'r', 'o', 'u', 'n', 'd', 'u', 'p'};
constexpr std::uint64_t kCore = GROUNDUP_CORE_VERSION;  // CMakeLists.txt: a digest of the sources

// Reads so many bytes, or says that there are fewer.
bool read_whole(int file, char* data, std::size_t num_bytes) {
    while (num_bytes > 0) {
        const ssize_t num_read = ::read(file, data, num_bytes);
        if (num_read < 0 && errno == EINTR) continue;
        if (num_read <= 0) return false;
        data += num_read;
        num_bytes -= static_cast<std::size_t>(num_read);
    }
    return true;
}

constexpr std::size_t kPieceBytes = std::size_t{1} << 18;  // stays in the processor's cache
static_assert(kPieceBytes % Checksum::kBlockBytes == 0);

// Calls take(piece) for all pieces of a file, from its beginning, until there are no more or it returns false. All but
// the last have kPieceBytes. False if it did, or if the file cannot be read.
template <class Take>
bool for_each_piece(int file, Take&& take) {
    std::vector<char> piece(kPieceBytes);
    off_t place = 0;
    for (;;) {
        std::size_t size = 0;
        while (size < piece.size()) {
            const ssize_t num_read = ::pread(file, piece.data() + size, piece.size() - size, place);
            if (num_read < 0 && errno == EINTR) continue;
            if (num_read < 0) return false;
            if (num_read == 0) break;
            size += static_cast<std::size_t>(num_read);
            place += num_read;
        }
        if (size == 0) return true;
        if (!take(std::string_view(piece.data(), size))) return false;
        if (size < piece.size()) return true;
    }
}

// Whether the rest of one file is what the other one holds, so many bytes.
bool rest_equals(int file, int source, std::uint64_t num_bytes) {
    std::vector<char> rest(kPieceBytes);
    const bool is_equal = for_each_piece(source, [&](std::string_view piece) {
        if (piece.size() > num_bytes || !read_whole(file, rest.data(), piece.size())) return false;
        num_bytes -= piece.size();
        return std::memcmp(rest.data(), piece.data(), piece.size()) == 0;
    });
    return is_equal && num_bytes == 0;
}

// The options of an encoder, in the order in which they are stored.
enum Option : std::size_t { kPattern, kIgnoreMerges, kHasMerges, kNumOptions };

}  // namespace

std::string store_encoder(const Encoder& encoder, std::string_view source,
                          const std::vector<std::string_view>& notes) {
    BlockWriter tables;
    std::vector<TokenView> texts;
    for (const std::string_view note : notes) texts.emplace_back(note, 0);
    add_tokens(texts, tables);
    encoder.store(tables);
    const Header header{kKind, kCore, tables.bytes().size(), source.size(), Checksum::of(tables.bytes())};
    std::string content(reinterpret_cast<const char*>(&header), sizeof header);
    content.reserve(sizeof header + tables.bytes().size() + source.size());
    content += tables.bytes();
    content += source;
    return content;
}

std::optional<StoredEncoder> read_stored_encoder(int file, int source, std::size_t cache_bytes) {
    struct stat facts {};
    Header header{};
    if (::fstat(file, &facts) != 0 || facts.st_size < static_cast<off_t>(sizeof header)) return {};
    if (!read_whole(file, reinterpret_cast<char*>(&header), sizeof header)) return {};
    // In this order, so that no sum of numbers from the file can overflow.
    const auto rest_bytes = static_cast<std::uint64_t>(facts.st_size) - sizeof header;
    if (header.kind != kKind || header.core != kCore || header.tables_bytes > rest_bytes ||
        header.source_bytes != rest_bytes - header.tables_bytes) {
        return {};
    }
    ZeroedArray<char> tables(header.tables_bytes);
    if (!read_whole(file, tables.begin(), tables.size())) return {};
    if (Checksum::of({tables.begin(), tables.size()}) != header.checksum) return {};
    if (!rest_equals(file, source, header.source_bytes)) return {};
    BlockReader reader(std::span<const char>(tables.begin(), tables.end()));
    StoredEncoder stored;
    TokenList(reader).for_each([&stored](std::string_view note, TokenId) { stored.notes.emplace_back(note); });
    const std::size_t begin = tables.size() - reader.left();
    stored.encoder = Encoder::restored(std::move(tables), begin, cache_bytes);
    return stored;
}

std::optional<std::uint64_t> checksum_of_file(int file) {
    Checksum sum;
    const bool is_read = for_each_piece(file, [&sum](std::string_view piece) {
        sum.add(piece);
        return true;
    });
    return is_read ? std::optional(sum.value()) : std::nullopt;
}

std::string core_version() {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string version;
    for (int shift = 60; shift >= 0; shift -= 4) version += kDigits[kCore >> shift & 15];
    return version;
}

std::vector<TokenId> Encoder::all_ids() const {
    std::vector<TokenId> ids;
    for (std::size_t id = 0; id < lengths_.size(); ++id) {
        if (lengths_[id] != kUnknown) ids.push_back(static_cast<TokenId>(id));
    }
    const auto first_distant = static_cast<std::ptrdiff_t>(ids.size());
    for (const auto& [id, bytes] : long_tokens_) {
        if (id >= lengths_.size()) ids.push_back(id);
    }
    std::sort(ids.begin() + first_distant, ids.end());
    return ids;
}

std::vector<Token> Encoder::tokens() const {
    std::vector<Token> tokens;
    for (const TokenId id : all_ids()) tokens.emplace_back(token_bytes(id), id);
    return tokens;
}

std::uint64_t Encoder::end_id() const {
    const std::vector<TokenId> ids = all_ids();
    return ids.empty() ? 0 : std::uint64_t{ids.back()} + 1;
}

std::vector<Token> Encoder::special_tokens() const {
    std::vector<Token> tokens;
    for (std::size_t i = 0; i < special_ids_.size(); ++i) tokens.emplace_back(special_bytes_[i], special_ids_[i]);
    return tokens;
}

void Encoder::store(BlockWriter& block) const {
    std::array<std::uint8_t, kNumOptions> options{};
    options[kPattern] = static_cast<std::uint8_t>(pattern_);
    options[kIgnoreMerges] = ignore_merges_;
    options[kHasMerges] = merger_.has_value();  // else they are in the tables of the speller
    block.add(options.data(), options.size());
    const std::vector<Token> special = special_tokens();
    add_tokens({special.begin(), special.end()}, block);
    std::unordered_set<TokenId> left_out(special_ids_.begin(), special_ids_.end());
    for (const TokenId id : shared_ids_) left_out.erase(id);
    std::vector<TokenView> ordinary;
    for (const TokenId id : all_ids()) {
        if (!left_out.contains(id)) ordinary.emplace_back(token_bytes(id), id);
    }
    add_tokens(ordinary, block);
    if (!merger_) {
        block.add_all(speller_.bytes());
        return;
    }
    const std::vector<Merge> merges = merger_->merges();
    std::vector<TokenView> parts;
    for (const auto& [left, right] : merges) {
        parts.emplace_back(left, 0);
        parts.emplace_back(right, 0);
    }
    add_tokens(parts, block);
}

std::unique_ptr<Encoder> Encoder::restored(ZeroedArray<char> block, std::size_t begin, std::size_t cache_bytes) {
    BlockReader reader(std::span<const char>(block.begin() + begin, block.end()));
    const std::span<const std::uint8_t> options = reader.next<std::uint8_t>();
    if (options.size() != kNumOptions) throw std::invalid_argument("a stored encoder has other options");
    const auto pattern = static_cast<Pattern>(options[kPattern]);
    const bool ignore_merges = options[kIgnoreMerges] != 0;
    const TokenList special(reader);
    const TokenList ordinary(reader);
    if (options[kHasMerges] == 0) {
        const std::size_t speller_begin = block.size() - reader.left();
        // Moved, the block stays where it is, and so do the views into it.
        Speller speller(std::move(block), speller_begin);
        return std::unique_ptr<Encoder>(
            new Encoder(std::move(speller), ordinary, special, cache_bytes, ignore_merges, pattern));
    }
    const std::vector<TokenView> parts = TokenList(reader).to_vector<TokenView>();
    std::vector<Merge> merges;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) merges.emplace_back(parts[i].first, parts[i + 1].first);
    return std::make_unique<Encoder>(ordinary.to_vector<Token>(), merges, special.to_vector<Token>(), cache_bytes,
                                     ignore_merges, pattern);
}

}  // namespace groundup
