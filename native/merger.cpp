#include "merger.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <stdexcept>

#include "errors.hpp"
#include "symbol_row.hpp"

namespace groundup {

Merger::Merger(const std::vector<Token>& tokens, const std::vector<Merge>& merges) {
    std::unordered_map<std::string, Symbol> symbols;
    symbols.reserve(256 + merges.size());
    for (int b = 0; b < 256; ++b) symbol_of(std::string(1, static_cast<char>(b)), symbols);
    pair_of_rank_.reserve(merges.size());
    for (const Merge& merge : merges) {
        if (merge.first.empty() || merge.second.empty()) {
            throw std::invalid_argument("merge " + std::to_string(pair_of_rank_.size()) + " has an empty part");
        }
        const Symbol left = symbol_of(merge.first, symbols);
        const Symbol right = symbol_of(merge.second, symbols);
        const Symbol symbol = symbol_of(merge.first + merge.second, symbols);
        // A pair given twice keeps its first rank.
        joined_.at_or(left, right, {static_cast<Rank>(pair_of_rank_.size()), symbol});
        pair_of_rank_.emplace_back(left, right);
    }
    symbol_ids_.assign(symbol_bytes_.size(), kNoId);
    for (const auto& [bytes, id] : tokens) {
        if (id == kNoId) throw std::invalid_argument("id 4294967295 is too large: ids end at 4294967294");
        const auto found = symbols.find(bytes);
        if (found != symbols.end()) symbol_ids_[found->second] = std::min(symbol_ids_[found->second], id);
    }
}

Merger::Symbol Merger::symbol_of(const std::string& bytes, std::unordered_map<std::string, Symbol>& symbols) {
    const auto [place, is_new] = symbols.emplace(bytes, static_cast<Symbol>(symbol_bytes_.size()));
    if (is_new) {
        symbol_bytes_.push_back(bytes);
        symbol_lengths_.push_back(static_cast<std::uint32_t>(bytes.size()));
    }
    return place->second;
}

std::vector<Merge> Merger::merges() const {
    std::vector<Merge> merges;
    for (const auto& [left, right] : pair_of_rank_) merges.emplace_back(symbol_bytes_[left], symbol_bytes_[right]);
    return merges;
}

void Merger::encode(std::string_view word, IdBuffer& ids) const {
    if (word.size() <= kLongestShortWord) {
        encode_short(word, ids);
    } else {
        encode_long(word, ids);
    }
}

void Merger::encode_short(std::string_view word, IdBuffer& ids) const {
    constexpr Joined kNone{0xFFFFFFFF, 0};
    std::array<Symbol, kLongestShortWord> symbols;
    std::array<Joined, kLongestShortWord> joined;  // of symbol i and the next one
    std::size_t size = word.size();
    const auto look_up = [&](std::size_t i) {
        const Joined* const found = joined_.find(symbols[i], symbols[i + 1]);
        joined[i] = found == nullptr ? kNone : *found;
    };
    for (std::size_t i = 0; i < size; ++i) symbols[i] = static_cast<unsigned char>(word[i]);
    for (std::size_t i = 0; i + 1 < size; ++i) look_up(i);
    while (size > 1) {
        Rank lowest = kNone.rank;
        for (std::size_t i = 0; i + 1 < size; ++i) lowest = std::min(lowest, joined[i].rank);
        if (lowest == kNone.rank) break;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size; ++kept) {
            const bool joins = i + 1 < size && joined[i].rank == lowest;
            const Symbol symbol = joins ? joined[i].symbol : symbols[i];
            const Joined after = joined[i];
            i += joins ? 2 : 1;
            symbols[kept] = symbol;
            joined[kept] = after;
            if (kept > 0) look_up(kept - 1);
        }
        size = kept;
    }
    for (std::size_t i = 0; i < size; ++i) append(symbols[i], ids);
}

void Merger::encode_long(std::string_view word, IdBuffer& ids) const {
    using Position = SymbolRow::Position;
    if (word.size() >= 0xFFFFFFF0) throw std::invalid_argument("a pre-token of 4 GiB or more cannot be encoded");
    SymbolRow row;
    row.reserve(word.size() + 2);
    row.add_word(word, [](unsigned char byte) { return Symbol{byte}; });
    std::unordered_map<Rank, std::vector<Position>> places;
    std::priority_queue<Rank, std::vector<Rank>, std::greater<>> ranks;
    const auto note = [&](Symbol left, Symbol right, Position position) {
        if (left == SymbolRow::kBoundary || right == SymbolRow::kBoundary) return;
        const Joined* const found = joined_.find(left, right);
        if (found == nullptr) return;
        std::vector<Position>& list = places[found->rank];
        if (list.empty()) ranks.push(found->rank);
        list.push_back(position);
    };
    for (Position p = 1; p < word.size(); ++p) note(row.at(p), row.at(p + 1), p);
    while (!ranks.empty()) {
        const Rank rank = ranks.top();
        ranks.pop();
        const auto node = places.extract(rank);
        std::vector<Position>& list = node.mapped();
        // Out of order only where different merges make one token.
        if (!std::is_sorted(list.begin(), list.end())) std::sort(list.begin(), list.end());
        const auto [left, right] = pair_of_rank_[rank];
        const Symbol symbol = joined_.find(left, right)->symbol;
        const std::uint32_t left_length = symbol_lengths_[left];
        const std::uint32_t length = symbol_lengths_[symbol];
        std::vector<Position> joined_at;
        for (const Position p : list) {
            if (row.at(p) != left || row.at(p + left_length) != right) continue;
            row.join(p, left_length, length, symbol);
            joined_at.push_back(p);
        }
        // Only now: a new pair of a lower rank must wait until this merge is done everywhere.
        for (const Position p : joined_at) {
            const Symbol before = row.before(p);
            if (before != SymbolRow::kBoundary) note(before, symbol, p - symbol_lengths_[before]);
            const Symbol after = row.at(p + length);
            // The pair of two new symbols is noted from the right one.
            if (after != symbol) note(symbol, after, p);
        }
    }
    for (Position p = 1; row.at(p) != SymbolRow::kBoundary; p += symbol_lengths_[row.at(p)]) append(row.at(p), ids);
}

void Merger::append(Symbol symbol, IdBuffer& ids) const {
    const TokenId id = symbol_ids_[symbol];
    if (id == kNoId) {
        throw std::invalid_argument("the vocabulary has no token " + quote_bytes(symbol_bytes_[symbol]) +
                                    ", which the text needs");
    }
    ids.push_back(id);
}

}  // namespace groundup
