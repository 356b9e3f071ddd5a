#include "bpe_train.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "errors.hpp"
#include "merge_queue.hpp"

namespace groundup {

namespace {

constexpr std::size_t kMergesPerReport = 64;
constexpr std::size_t kPlacesPerReport = std::size_t{1} << 17;
constexpr std::size_t kPositionsPerReport = std::size_t{1} << 22;

// How many places ahead memory is asked for: first the row, then the count, which the row's notes lead to.
constexpr std::size_t kRowAhead = 16;
constexpr std::size_t kCountAhead = 8;

std::invalid_argument known_merge_error(std::size_t number, const char* does, const std::string& token,
                                        const char* what) {
    return std::invalid_argument("merge " + std::to_string(number) + does + quote_bytes(token) + what);
}

}  // namespace

std::vector<Merge> MergeLearner::learn(const std::vector<Merge>& known, const Limits& limits,
                                       const Progress& progress) {
    progress_ = progress;
    const std::vector<SymbolPair> known_pairs = number_known(known);
    collect_pairs();
    for (const SymbolPair& pair : known_pairs) merge(pair);
    MergeQueue queue(pairs_, tokens_, std::max<std::uint64_t>(limits.min_frequency, 1), limits.max_token_bytes);
    while (merges_.size() < limits.num_merges) {
        const PairIndex best = queue.next();
        if (best == PairCounts::kNone) break;
        merge({pairs_[best].left, pairs_[best].right});
    }
    report();
    std::vector<Merge> merges;
    merges.reserve(merges_.size());
    for (const auto& [left, right] : merges_) merges.emplace_back(tokens_.bytes(left), tokens_.bytes(right));
    return merges;
}

void MergeLearner::report() const {
    if (progress_) progress_(merges_.size());
}

// The symbols that the merges join, numbered as `merge` will number what they make.
std::vector<MergeLearner::SymbolPair> MergeLearner::number_known(const std::vector<Merge>& known) const {
    std::unordered_map<std::string, Symbol> symbols;
    for (Symbol byte = 0; byte < tokens_.size(); ++byte) symbols.emplace(tokens_.bytes(byte), byte);
    std::vector<SymbolPair> pairs;
    for (const auto& [left, right] : known) {
        const auto symbol_of = [&](const std::string& part) {
            const auto found = symbols.find(part);
            if (found != symbols.end()) return found->second;
            throw known_merge_error(pairs.size(), " joins ", part,
                                    ", which is neither a byte nor made by an earlier one");
        };
        pairs.push_back({symbol_of(left), symbol_of(right)});
        if (!symbols.emplace(left + right, static_cast<Symbol>(symbols.size())).second) {
            throw known_merge_error(pairs.size() - 1, " makes ", left + right, ", which an earlier one makes already");
        }
    }
    return pairs;
}

void MergeLearner::collect_pairs() {
    rows_.number_words();
    const SymbolRow& row = rows_.row();
    // Pairs of bytes, by number: first how many there are, then their places in lists of just that length.
    std::vector<CountedPair> pairs(256 * 256);
    const auto for_each_pair = [&](auto&& visit) {
        std::uint32_t word = 0;
        for (Position p = 1; p + 1 < row.size(); ++p) {
            if (p % kPositionsPerReport == 0) report();
            if (row.at(p) == SymbolRow::kBoundary) {
                ++word;
            } else if (row.at(p + 1) != SymbolRow::kBoundary) {
                visit(pairs[row.at(p) << 8 | row.at(p + 1)], p, word);
            }
        }
    };
    for_each_pair([&](CountedPair& pair, Position, std::uint32_t word) {
        ++pair.num_places;
        pair.count += rows_.count_of_word(word);
    });
    for (CountedPair& pair : pairs) pair.places = place_store_.make(pair.num_places).data();
    for_each_pair([](CountedPair& pair, Position position, std::uint32_t) { *pair.places++ = position; });
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (pairs[i].num_places == 0) continue;
        pairs[i].places -= pairs[i].num_places;
        pairs[i].left = static_cast<Symbol>(i >> 8);
        pairs[i].right = static_cast<Symbol>(i & 0xFF);
        pairs_.add(pairs[i]);
    }
}

// Makes a token of the two symbols and joins every occurrence, from left to right in each word.
void MergeLearner::merge(SymbolPair symbols) {
    const auto [left, right] = symbols;
    const Symbol joined = tokens_.add(tokens_.bytes(left) + tokens_.bytes(right));
    const PairIndex index = pairs_.find(left, right);
    // There is none for a known merge that the text has no use for.
    if (index != PairCounts::kNone) merge_pair(index, joined);
    merges_.push_back(symbols);
    if (merges_.size() % kMergesPerReport == 0) report();
}

void MergeLearner::merge_pair(PairIndex index, Symbol joined) {
    const Symbol left = pairs_[index].left;
    const Symbol right = pairs_[index].right;
    const std::size_t num_places = pairs_[index].num_places;
    before_.clear(tokens_.size(), num_places);
    after_.clear(tokens_.size(), num_places);
    join_all(pairs_[index], joined);
    drop(pairs_[index]);
    for (const Neighbours::Neighbour& n : before_.all()) pairs_.prefetch(n.symbol, joined);
    for (const Neighbours::Neighbour& n : after_.all()) pairs_.prefetch(joined, n.symbol);
    for (Neighbours::Neighbour& n : before_.all()) add_pair({n.symbol, joined}, n);
    for (Neighbours::Neighbour& n : after_.all()) add_pair({joined, n.symbol}, n);
    before_.hand_out_places();
    after_.hand_out_places();
    // Only now: a pair of two joined symbols takes away from the pairs of one of them, which must be there.
    for (const Neighbours::Neighbour& n : before_.all()) pairs_.prefetch(n.symbol, left);
    for (const Neighbours::Neighbour& n : after_.all()) pairs_.prefetch(right, n.symbol);
    for (const Neighbours::Neighbour& n : before_.all()) lower_count({n.symbol, left}, n.count);
    for (const Neighbours::Neighbour& n : after_.all()) lower_count({right, n.symbol}, n.count);
}

void MergeLearner::join_all(const CountedPair& pair, Symbol joined) {
    SymbolRow& row = rows_.row();
    const std::uint32_t left_length = tokens_.length(pair.left);
    const std::uint32_t joined_length = tokens_.length(joined);
    for (std::size_t i = 0; i < pair.num_places; ++i) {
        if (++num_visited_ % kPlacesPerReport == 0) report();
        if (i + kRowAhead < pair.num_places) rows_.prefetch_row(pair.places[i + kRowAhead]);
        if (i + kCountAhead < pair.num_places) rows_.prefetch_count(pair.places[i + kCountAhead]);
        const Position p = pair.places[i];
        if (row.at(p) != pair.left || row.at(p + left_length) != pair.right) continue;
        const std::uint64_t count = rows_.count_at(p);
        const Symbol before = row.before(p);
        const Symbol after = row.at(p + joined_length);
        row.join(p, left_length, joined_length, joined);
        if (before != SymbolRow::kBoundary) before_.note(before, p - tokens_.length(before), count);
        if (after != SymbolRow::kBoundary) after_.note(after, p, count);
    }
}

// Every pair with the symbol that was just made is a new one.
void MergeLearner::add_pair(SymbolPair symbols, Neighbours::Neighbour& neighbour) {
    neighbour.next_place = place_store_.make(neighbour.num_places).data();
    pairs_.add({neighbour.count, neighbour.next_place, neighbour.num_places, symbols.first, symbols.second});
}

void MergeLearner::lower_count(SymbolPair symbols, std::uint64_t count) {
    const PairIndex index = pairs_.find(symbols.first, symbols.second);
    CountedPair& pair = pairs_[index];
    if (pair.num_places == 0) return;  // the pair of two equal symbols that is being merged
    pair.count -= count;
    if (pair.count == 0) drop(pair);
}

void MergeLearner::drop(CountedPair& pair) {
    place_store_.give_back({pair.places, pair.num_places});
    pair.num_places = 0;
    pair.count = 0;
}

}  // namespace groundup
