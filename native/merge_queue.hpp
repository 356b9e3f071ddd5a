// Which pair to merge next: the one with the highest count, of several the greatest pair of byte strings.
//
// Counts only fall (a pair's count is highest right after the merge that made the younger of its two tokens), so
// an outdated entry of the heap is put back with its true count when it is met. Most pairs are rare and never
// merged: those below a floor stay out of the heap, and the floor is lowered when the heap is empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <vector>

#include "pair_counts.hpp"
#include "token_bytes.hpp"

namespace groundup {

class MergeQueue {
public:
    using Index = PairCounts::Index;

    // Pairs counted less often than lowest_floor (at least 1), or longer than max_token_bytes, are never given.
    MergeQueue(const PairCounts& pairs, const TokenBytes& tokens, std::uint64_t lowest_floor,
               std::size_t max_token_bytes)
        : pairs_(pairs), lowest_floor_(lowest_floor), max_token_bytes_(max_token_bytes), tokens_(tokens),
          heap_(Later{&tokens}) {}

    // The pair to merge next, or kNone when no pair is left. Counts must have changed in between as a merge does it.
    Index next() {
        note_new_pairs();
        do {
            while (!heap_.empty()) {
                Candidate best = heap_.top();
                heap_.pop();
                const std::uint64_t count = pairs_[best.pair].count;
                if (count == best.count) return best.pair;
                best.count = count;
                if (count >= floor_) heap_.push(best);
            }
        } while (lower_floor());
        return PairCounts::kNone;
    }

private:
    static constexpr std::uint64_t kFloorRatio = 2;

    struct Candidate {
        std::uint64_t count;  // when it was put there
        Index pair;
        std::uint32_t left;
        std::uint32_t right;
    };

    struct Later {
        const TokenBytes* tokens;
        bool operator()(const Candidate& a, const Candidate& b) const {
            if (a.count != b.count) return a.count < b.count;
            if (a.left != b.left) return tokens->is_less(a.left, b.left);
            return a.right != b.right && tokens->is_less(a.right, b.right);
        }
    };

    bool is_short_enough(const CountedPair& pair) const {
        return std::size_t{tokens_.length(pair.left)} + tokens_.length(pair.right) <= max_token_bytes_;
    }

    void push(Index index) {
        const CountedPair& pair = pairs_[index];
        if (pair.count >= floor_ && is_short_enough(pair)) heap_.push({pair.count, index, pair.left, pair.right});
    }

    void note_new_pairs() {
        for (; num_noted_ < pairs_.size(); ++num_noted_) push(num_noted_);
    }

    // False when no pair is left. With the heap empty, all pairs that may be merged are below the floor.
    bool lower_floor() {
        std::uint64_t highest = 0;
        for (Index i = 0; i < pairs_.size(); ++i) {
            if (pairs_[i].count > highest && is_short_enough(pairs_[i])) highest = pairs_[i].count;
        }
        if (highest < lowest_floor_) return false;
        floor_ = std::max(lowest_floor_, highest / kFloorRatio);
        for (Index i = 0; i < pairs_.size(); ++i) push(i);
        return true;
    }

    const PairCounts& pairs_;
    std::uint64_t floor_ = ~std::uint64_t{0};  // above all counts: the first call lowers it
    std::uint64_t lowest_floor_;
    std::size_t max_token_bytes_;
    const TokenBytes& tokens_;
    Index num_noted_ = 0;
    std::priority_queue<Candidate, std::vector<Candidate>, Later> heap_;
};

}  // namespace groundup
