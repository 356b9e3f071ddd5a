#include "speller.hpp"

#include <algorithm>
#include <stdexcept>

#include "errors.hpp"

namespace groundup {

namespace {

constexpr TokenId kNoId = 0xFFFFFFFF;
constexpr std::uint32_t kNumBytes = 256;

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

}  // namespace

Speller::Speller(const std::vector<Token>& tokens, const std::vector<Merge>& merges) {
    WordTable<Symbol> symbols(std::size_t{1} << 10);
    if (!number_merges(merges, symbols)) return;
    build_trie();
    if (!trie_.is_complete()) return;
    ids_.assign(bytes_.size(), kNoId);
    for (const auto& [bytes, id] : tokens) {
        if (id == kNoId) throw std::invalid_argument("id 4294967295 is too large: ids end at 4294967294");
        if (const Symbol* const symbol = bytes.empty() ? nullptr : symbols.find(bytes)) {
            ids_[*symbol] = std::min(ids_[*symbol], id);
        }
    }
    is_usable_ = true;
}

bool Speller::number_merges(const std::vector<Merge>& merges, WordTable<Symbol>& symbols) {
    std::size_t num_bytes = kNumBytes;
    for (const Merge& merge : merges) num_bytes += merge.first.size() + merge.second.size();
    all_bytes_.reserve(num_bytes);
    merges_.reserve(merges.size());
    for (std::uint32_t byte = 0; byte < kNumBytes; ++byte) {
        const char c = static_cast<char>(byte);
        add_symbol({&c, 1}, {byte, byte});
        symbols[bytes_.back()] = byte;
    }
    for (const Merge& merge : merges) {
        if (merge.first.empty() || merge.second.empty()) return false;
        const Symbol* const left = symbols.find(merge.first);
        const Symbol* const right = symbols.find(merge.second);
        if (left == nullptr || right == nullptr) return false;
        const auto symbol = static_cast<Symbol>(bytes_.size());
        add_symbol(merge.first + merge.second, {*left, *right});
        if (symbols.find(bytes_.back()) != nullptr) return false;
        symbols[bytes_.back()] = symbol;
    }
    return true;
}

void Speller::add_symbol(std::string_view bytes, MergeIndex::Parts parts) {
    const std::size_t begin = all_bytes_.size();
    all_bytes_ += bytes;  // into reserved room: views stay valid
    bytes_.push_back(std::string_view(all_bytes_).substr(begin));
    merges_.add(parts);
    for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
        const std::size_t pair = std::size_t{static_cast<unsigned char>(bytes[i])} << 8 | static_cast<unsigned char>(bytes[i + 1]);
        touching_bytes_[pair / 64] |= std::uint64_t{1} << pair % 64;
    }
}

// Of the tokens that the merges really make: some can name parts that an earlier merge always tears apart.
void Speller::build_trie() {
    std::vector<std::string_view> made(bytes_.begin(), bytes_.begin() + kNumBytes);
    for (Symbol symbol = kNumBytes; symbol < bytes_.size(); ++symbol) {
        const auto [left, right] = merges_.parts(symbol);
        const bool is_made = !made[left].empty() && !made[right].empty() && go_together(left, right, symbol);
        made.push_back(is_made ? bytes_[symbol] : std::string_view());
    }
    trie_ = TokenTrie(made);
}

bool Speller::go_together(Symbol left, Symbol right, Symbol limit) const {
    for (;;) {
        if (merges_.find(left, right) < limit) return false;
        if (MergeIndex::is_byte(left) && MergeIndex::is_byte(right)) return true;
        // Back to before the younger one was made; of two equal ones, the merges made the left one first. A merge of
        // both that comes with the left one's comes too late, with the right one's it does not.
        if (left > right) {
            limit = left;
            left = merges_.parts(left).right;
        } else {
            limit = right + 1;
            right = merges_.parts(right).left;
        }
    }
}

template <class Places>
std::size_t Speller::spell(std::string_view word, Symbol* symbols, Places& dead_ends) const {
    std::size_t size = 0;
    std::size_t place = 0;
    Symbol symbol = trie_.longest(word);
    for (;;) {
        const std::size_t end = place + bytes_[symbol].size();
        const bool fits = !dead_ends.has(end) && (size == 0 || !may_touch(word[place - 1], word[place]) ||
                                                  go_together(symbols[size - 1], symbol, TokenTrie::kNone));
        if (fits) {
            symbols[size++] = symbol;
            place = end;
            if (place == word.size()) return size;
            symbol = trie_.longest(word.substr(place));
            continue;
        }
        for (;;) {
            const Symbol shorter = trie_.shorter(symbol);
            if (shorter != TokenTrie::kNone) {
                symbol = shorter;
                break;
            }
            // Nothing goes on from here: back to the token before.
            dead_ends.add(place);
            symbol = symbols[--size];
            place -= bytes_[symbol].size();
        }
    }
}

void Speller::encode(std::string_view word, IdBuffer& ids) const {
    if (word.size() < ShortPlaces::kMost) {
        std::array<Symbol, ShortPlaces::kMost> symbols;
        ShortPlaces dead_ends;
        append(symbols.data(), spell(word, symbols.data(), dead_ends), ids);
    } else {
        std::vector<Symbol> symbols(word.size());
        LongPlaces dead_ends(word.size() + 1);
        append(symbols.data(), spell(word, symbols.data(), dead_ends), ids);
    }
}

void Speller::append(const Symbol* symbols, std::size_t num_symbols, IdBuffer& ids) const {
    TokenId* const out = ids.room_for(num_symbols);
    for (std::size_t i = 0; i < num_symbols; ++i) {
        out[i] = ids_[symbols[i]];
        if (out[i] == kNoId) {
            throw std::invalid_argument("the vocabulary has no token " + quote_bytes(bytes_[symbols[i]]) +
                                        ", which the text needs");
        }
    }
    ids.advance_to(out + num_symbols);
}

}  // namespace groundup
