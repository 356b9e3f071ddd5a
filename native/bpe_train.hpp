// Learning the merges of a byte-level BPE vocabulary from counted words. Twin: reference.py, train_bpe.
//
// Tie-break: of the pairs with the highest count the greatest one, compared as Python compares tuples of
// bytes. Cost: each occurrence of a pair is visited once when it is merged; the pair to merge next comes
// from a heap in which counts only ever fall (a pair's count is highest right after the merge that made the
// younger of its two tokens), so an outdated entry is put back with its true count when it is met.
// Memory: per byte of the distinct words 4 bytes for the symbol and 8 for each pair's list of places.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace groundup {

struct CountedWord {
    std::string_view bytes;
    std::uint64_t count;
};

using Merge = std::pair<std::string, std::string>;

// Called now and then in the calling thread with the amount of work done; may throw to stop.
using Progress = std::function<void(std::uint64_t done)>;

// At most num_merges merges in order of creation; fewer when no pair is left. The order of the words does
// not matter. Throws std::invalid_argument when the distinct words hold 4 GiB or more.
std::vector<Merge> train_bpe(const std::vector<CountedWord>& words, std::size_t num_merges, const Progress& progress);

}  // namespace groundup
