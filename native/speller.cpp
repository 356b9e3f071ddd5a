#include "speller.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "byte_masks.hpp"
#include "errors.hpp"
#include "word_table.hpp"

namespace groundup {

namespace {

constexpr std::uint32_t kNumBytes = 256;

std::size_t byte_pair(char left, char right) {
    return std::size_t{static_cast<unsigned char>(left)} << 8 | static_cast<unsigned char>(right);
}

// Places of a word that is not longer than a machine word has bits.
class ShortPlaces {
public:
    static constexpr std::size_t kMost = 64;
    bool has(std::size_t place) const { return (bits_ >> place & 1) != 0; }
    void add(std::size_t place) { bits_ |= std::uint64_t{1} << place; }

private:
    std::uint64_t bits_ = 0;
};

class LongPlaces {
public:
    explicit LongPlaces(std::size_t num_places) : bits_(num_places) {}
    bool has(std::size_t place) const { return bits_[place]; }
    void add(std::size_t place) { bits_[place] = true; }

private:
    std::vector<bool> bits_;
};

using Symbol = MergeIndex::Symbol;

// The symbols of a vocabulary, while it is taken apart.
class Symbols {
public:
    // False where a merge is not as it should be.
    bool add_merges(const std::vector<Merge>& merges) {
        std::size_t num_bytes = kNumBytes;
        for (const Merge& merge : merges) num_bytes += merge.first.size() + merge.second.size();
        all_bytes_.reserve(num_bytes);
        for (std::uint32_t byte = 0; byte < kNumBytes; ++byte) {
            const char c = static_cast<char>(byte);
            add({&c, 1}, {byte, byte});
        }
        for (const auto& [left_bytes, right_bytes] : merges) {
            if (left_bytes.empty() || right_bytes.empty()) return false;
            const Symbol* const left = numbers_.find(left_bytes);
            const Symbol* const right = numbers_.find(right_bytes);
            if (left == nullptr || right == nullptr) return false;
            const MergeIndex::Parts parts{*left, *right};
            if (!add(left_bytes + right_bytes, parts)) return false;
        }
        return true;
    }

    std::size_t size() const { return bytes_.size(); }
    const std::string& all_bytes() const { return all_bytes_; }
    const std::vector<std::string_view>& bytes() const { return bytes_; }
    const std::vector<MergeIndex::Parts>& parts() const { return parts_; }

    // The lowest id of each symbol, `none` for those that the vocabulary lacks.
    std::vector<TokenId> ids(const std::vector<Token>& tokens, TokenId none) {
        std::vector<TokenId> ids(size(), none);
        for (const auto& [bytes, id] : tokens) {
            if (id == none) throw std::invalid_argument("id 4294967295 is too large: ids end at 4294967294");
            if (const Symbol* const symbol = bytes.empty() ? nullptr : numbers_.find(bytes)) {
                ids[*symbol] = std::min(ids[*symbol], id);
            }
        }
        return ids;
    }

    std::vector<std::uint32_t> lengths() const {
        std::vector<std::uint32_t> lengths;
        for (const std::string_view bytes : bytes_) lengths.push_back(static_cast<std::uint32_t>(bytes.size()));
        return lengths;
    }

    std::vector<std::uint64_t> touching_bytes() const {
        std::vector<std::uint64_t> bits(std::size_t{kNumBytes} * kNumBytes / 64);
        for (const std::string_view bytes : bytes_) {
            for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
                const std::size_t pair = byte_pair(bytes[i], bytes[i + 1]);
                bits[pair / 64] |= std::uint64_t{1} << pair % 64;
            }
        }
        return bits;
    }

private:
    // False if there is a symbol of these bytes already.
    bool add(std::string_view bytes, MergeIndex::Parts parts) {
        const std::size_t num_before = numbers_.size();
        Symbol& number = numbers_[bytes];
        if (numbers_.size() == num_before) return false;
        number = static_cast<Symbol>(bytes_.size());
        const std::size_t begin = all_bytes_.size();
        all_bytes_ += bytes;  // into reserved room: views stay valid
        bytes_.push_back(std::string_view(all_bytes_).substr(begin));
        parts_.push_back(parts);
        return true;
    }

    std::string all_bytes_;
    std::vector<std::string_view> bytes_;
    std::vector<MergeIndex::Parts> parts_;
    WordTable<Symbol> numbers_{std::size_t{1} << 12};
};

ZeroedArray<char> to_block(const BlockWriter& writer) {
    ZeroedArray<char> block(writer.bytes().size());
    std::copy(writer.bytes().begin(), writer.bytes().end(), block.begin());
    return block;
}

}  // namespace

Speller::Speller(const std::vector<Token>& tokens, const std::vector<Merge>& merges) {
    Symbols symbols;
    if (!symbols.add_merges(merges)) return;
    BlockWriter block;
    if (!MergeIndex::build(symbols.parts(), block)) return;
    BlockReader index(block.bytes());
    const MergeIndex merge_index(index);
    // Some merges can name parts that earlier merges always tear apart: their tokens are never made.
    std::vector<std::string_view> made = symbols.bytes();
    std::vector<char> is_made(made.size(), 1);
    for (auto symbol = Symbol{kNumBytes}; symbol < made.size(); ++symbol) {
        const auto [left, right] = symbols.parts()[symbol];
        if (is_made[left] != 0 && is_made[right] != 0 && merge_index.go_together(left, right, symbol)) continue;
        is_made[symbol] = 0;
        made[symbol] = {};
    }
    if (!TokenTrie::build(made, block)) return;
    block.add(symbols.touching_bytes());
    block.add(symbols.lengths());
    block.add(symbols.ids(tokens, kNoId));
    block.add(is_made);
    block.add(symbols.all_bytes());
    *this = Speller(to_block(block));
}

Speller::Speller(ZeroedArray<char> block, std::size_t begin) : block_(std::move(block)), begin_(begin) {
    BlockReader reader(bytes());
    merges_ = MergeIndex(reader);
    trie_ = TokenTrie(reader);
    touching_ = reader.next<std::uint64_t>();
    lengths_ = reader.next<std::uint32_t>();
    ids_ = reader.next<TokenId>();
    is_made_ = reader.next<char>();
    all_bytes_ = reader.next_text();
}

std::vector<Merge> Speller::merges() const {
    std::vector<std::string_view> bytes;
    std::size_t begin = 0;
    for (const std::uint32_t length : lengths_) {
        bytes.push_back(all_bytes_.substr(begin, length));
        begin += length;
    }
    std::vector<Merge> merges;
    for (auto symbol = Symbol{kNumBytes}; symbol < bytes.size(); ++symbol) {
        const auto [left, right] = merges_.parts(symbol);
        merges.emplace_back(bytes[left], bytes[right]);
    }
    return merges;
}

bool Speller::may_touch(char left, char right) const {
    const std::size_t pair = byte_pair(left, right);
    return (touching_[pair / 64] >> pair % 64 & 1) != 0;
}

template <class Places>
std::size_t Speller::spell(std::string_view word, Symbol* symbols, Places& dead_ends) const {
    std::size_t size = 0;
    std::size_t place = 0;
    Symbol twin = TokenTrie::kNone;  // a token that goes with itself
    TokenTrie::Match match = trie_.longest(word);
    for (;;) {
        const std::size_t end = place + match.length;
        bool fits = !dead_ends.has(end);
        if (fits && size > 0) {
            const Symbol before = symbols[size - 1];
            const bool is_twin = before == match.token;
            fits = (is_twin && before == twin) || !may_touch(word[place - 1], word[place]) ||
                   merges_.go_together(before, match.token);
            if (fits && is_twin) twin = before;
        }
        if (fits) {
            symbols[size++] = match.token;
            if (end == word.size()) return size;
            const std::string_view rest = word.substr(end);
            const bool comes_again =
                match.num_read > 0 && rest.starts_with(word.substr(place, match.num_read));
            place = end;
            if (!comes_again) match = trie_.longest(rest);
            continue;
        }
        Symbol shorter = trie_.shorter(match.token);
        while (shorter == TokenTrie::kNone) {
            // Nothing goes on from here: back to the token before, and to a shorter one in its place.
            dead_ends.add(place);
            const Symbol before = symbols[--size];
            place -= lengths_[before];
            shorter = trie_.shorter(before);
        }
        match = {shorter, lengths_[shorter], 0};
    }
}

void Speller::encode_short(ShortWord* words, std::size_t num_words, IdBuffer& ids, std::uint32_t* num_ids) const {
    instruction_set().join_pairs(merges_.tables(), words, num_words);
    for (std::size_t i = 0; i < num_words; ++i) {
        append(words[i].symbols, words[i].num_symbols, ids);
        num_ids[i] = static_cast<std::uint32_t>(words[i].num_symbols);
    }
}

void Speller::encode(std::string_view word, IdBuffer& ids) const {
    if (word.size() <= ShortWord::kMostBytes) {
        ShortWord short_word{word.data(), word.size(), 0, {}};
        std::uint32_t num_ids;
        if (!word.empty()) encode_short(&short_word, 1, ids, &num_ids);
    } else if (word.size() < ShortPlaces::kMost) {
        std::array<Symbol, ShortPlaces::kMost> symbols;
        ShortPlaces dead_ends;
        append(symbols.data(), spell(word, symbols.data(), dead_ends), ids);
    } else {
        std::vector<Symbol> symbols(word.size());
        LongPlaces dead_ends(word.size() + 1);
        append(symbols.data(), spell(word, symbols.data(), dead_ends), ids);
    }
}

std::string Speller::token_bytes(Symbol symbol) const {
    if (MergeIndex::is_byte(symbol)) return std::string(1, static_cast<char>(symbol));
    const auto [left, right] = merges_.parts(symbol);
    return token_bytes(left) + token_bytes(right);
}

void Speller::append(const Symbol* symbols, std::size_t num_symbols, IdBuffer& ids) const {
    TokenId* const out = ids.room_for(num_symbols);
    for (std::size_t i = 0; i < num_symbols; ++i) {
        out[i] = ids_[symbols[i]];
        if (out[i] == kNoId) {
            throw std::invalid_argument("the vocabulary has no token " + quote_bytes(token_bytes(symbols[i])) +
                                        ", which the text needs");
        }
    }
    ids.advance_to(out + num_symbols);
}

}  // namespace groundup
