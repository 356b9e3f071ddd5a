// Learning the merges of a byte-level BPE vocabulary from counted words. Twin: reference.py, learn_merges.
//
// Tie-break: of the pairs with the highest count the greatest one, compared as Python compares tuples of
// bytes. Cost: each occurrence of a pair is visited once when it is merged, and what changes around it is
// summed up by neighbour first, so that each pair is looked up once a merge.
// Memory: per byte of the distinct words 4 bytes for the symbol and 4 for its place in the list of a pair.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counted_rows.hpp"
#include "neighbours.hpp"
#include "pair_counts.hpp"
#include "place_store.hpp"
#include "token_bytes.hpp"

namespace groundup {

struct CountedWord {
    std::string_view bytes;
    std::uint64_t count;
};

using Merge = std::pair<std::string, std::string>;

// Called now and then in the calling thread with the amount of work done; may throw to stop.
using Progress = std::function<void(std::uint64_t done)>;

class MergeLearner {
public:
    // Of so many words with so many bytes in all, all to be added before learning. Their order does not matter.
    // Throws std::invalid_argument when they hold 4 GiB or more.
    MergeLearner(std::size_t num_words, std::size_t num_bytes) : rows_(num_words, num_bytes) {}

    void add_word(std::string_view word, std::uint64_t count) {
        if (count > 0) rows_.add_word(word, count);
    }

    struct Limits {
        std::size_t num_merges;           // the known ones among them
        std::uint64_t min_frequency = 1;  // of a pair, to be merged
        std::size_t max_token_bytes = std::numeric_limits<std::size_t>::max();
    };

    // The merges in order of creation: first the known ones, which are done whatever the limits say, then those
    // that are learned; fewer than asked for when no pair is left. To be called once.
    // Throws std::invalid_argument for known merges that no training can have made.
    std::vector<Merge> learn(const std::vector<Merge>& known, const Limits& limits, const Progress& progress);

private:
    using Symbol = std::uint32_t;
    using SymbolPair = std::pair<Symbol, Symbol>;
    using Position = CountedRows::Position;
    using PairIndex = PairCounts::Index;

    std::vector<SymbolPair> number_known(const std::vector<Merge>& known) const;
    void report() const;
    void collect_pairs();
    void merge(SymbolPair symbols);
    void merge_pair(PairIndex index, Symbol joined);
    void join_all(const CountedPair& pair, Symbol joined);
    void add_pair(SymbolPair symbols, Neighbours::Neighbour& neighbour);
    void lower_count(SymbolPair symbols, std::uint64_t count);
    void drop(CountedPair& pair);

    CountedRows rows_;
    TokenBytes tokens_;
    std::vector<SymbolPair> merges_;
    PlaceStore place_store_;
    PairCounts pairs_;
    Neighbours before_;  // of the occurrences of the pair that is merged
    Neighbours after_;
    Progress progress_;
    std::size_t num_visited_ = 0;  // places, of all merges
};

}  // namespace groundup
