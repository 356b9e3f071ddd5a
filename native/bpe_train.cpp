#include "bpe_train.hpp"

#include <algorithm>
#include <queue>
#include <stdexcept>

#include "pair_table.hpp"
#include "symbol_row.hpp"

namespace groundup {

namespace {

using Symbol = std::uint32_t;
using Position = SymbolRow::Position;

constexpr std::size_t kMergesPerReport = 64;

struct Place {
    Position position;
    std::uint32_t word;
};

struct Pair {
    Symbol left;
    Symbol right;
    std::uint64_t count;
    std::vector<Place> places;  // in the order of the text; some of them outdated
};

// A pair in the queue, with the count it had when it was put there.
struct Candidate {
    std::uint64_t count;
    std::uint32_t pair;
    Symbol left;
    Symbol right;
};

// The bytes of each token, with the first eight as a number that compares like them.
class Tokens {
public:
    Tokens() {
        for (int b = 0; b < 256; ++b) add(std::string(1, static_cast<char>(b)));
    }

    Symbol add(std::string bytes) {
        std::uint64_t head = 0;
        for (std::size_t i = 0; i < sizeof head; ++i) {
            head = head << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u);
        }
        heads_.push_back(head);
        lengths_.push_back(static_cast<std::uint32_t>(bytes.size()));
        bytes_.push_back(std::move(bytes));
        return static_cast<Symbol>(bytes_.size() - 1);
    }

    const std::string& bytes(Symbol symbol) const { return bytes_[symbol]; }
    std::uint32_t length(Symbol symbol) const { return lengths_[symbol]; }

    bool is_less(Symbol a, Symbol b) const {
        if (heads_[a] != heads_[b]) return heads_[a] < heads_[b];
        return bytes_[a] < bytes_[b];
    }

private:
    std::vector<std::string> bytes_;
    std::vector<std::uint64_t> heads_;
    std::vector<std::uint32_t> lengths_;
};

class Trainer {
public:
    explicit Trainer(const std::vector<CountedWord>& words) : queue_(Later{&tokens_}) {
        add_words(words);
        collect_pairs();
    }

    // Does the next merge; false when no pair is left.
    bool merge_next(std::vector<Merge>& merges) {
        while (!queue_.empty()) {
            Candidate best = queue_.top();
            queue_.pop();
            const std::uint64_t count = pairs_[best.pair].count;
            if (count == best.count) {
                merges.emplace_back(tokens_.bytes(best.left), tokens_.bytes(best.right));
                merge(best.pair);
                return true;
            }
            if (count > 0) {
                best.count = count;
                queue_.push(best);
            }
        }
        return false;
    }

private:
    // Orders the queue: the highest count first, then the greatest pair of byte strings.
    struct Later {
        const Tokens* tokens;
        bool operator()(const Candidate& a, const Candidate& b) const {
            if (a.count != b.count) return a.count < b.count;
            if (a.left != b.left) return tokens->is_less(a.left, b.left);
            return a.right != b.right && tokens->is_less(a.right, b.right);
        }
    };

    void add_words(const std::vector<CountedWord>& words) {
        std::size_t num_slots = 1;
        for (const CountedWord& word : words) num_slots += word.bytes.size() + 1;
        if (num_slots >= 0xFFFFFFFE) {
            throw std::invalid_argument("the distinct words hold " + std::to_string(num_slots) +
                                        " bytes, and training can index 4 GiB: train on a part of the text");
        }
        row_.reserve(num_slots);
        for (const CountedWord& word : words) {
            row_.add_word(word.bytes, [](unsigned char byte) { return Symbol{byte}; });
            counts_.push_back(word.count);
        }
    }

    template <class Visit>
    void for_each_pair_of_bytes(const std::vector<std::uint64_t>& counts, Visit&& visit) {
        std::uint32_t word = 0;
        for (Position p = 1; p + 1 < row_.size(); ++p) {
            if (row_.at(p) == SymbolRow::kBoundary) {
                ++word;
            } else if (row_.at(p + 1) != SymbolRow::kBoundary && counts[word] > 0) {
                visit(row_.at(p), row_.at(p + 1), Place{p, word});
            }
        }
    }

    void collect_pairs() {
        std::vector<std::uint32_t> num_places(256 * 256);
        for_each_pair_of_bytes(counts_, [&](Symbol left, Symbol right, Place) { ++num_places[left << 8 | right]; });
        for_each_pair_of_bytes(counts_, [&](Symbol left, Symbol right, Place place) {
            Pair& pair = pair_of(left, right);
            if (pair.places.empty()) pair.places.reserve(num_places[left << 8 | right]);
            add_place(pair, place);
        });
        queue_new_pairs(0);
    }

    Pair& pair_of(Symbol left, Symbol right) {
        const std::uint32_t index = pair_index_.at_or(left, right, static_cast<std::uint32_t>(pairs_.size()));
        if (index == pairs_.size()) pairs_.push_back({left, right, 0, {}});
        return pairs_[index];
    }

    void add_place(Pair& pair, Place place) {
        pair.count += counts_[place.word];
        pair.places.push_back(place);
    }

    void queue_new_pairs(std::size_t first) {
        for (std::size_t i = first; i < pairs_.size(); ++i) {
            const Pair& pair = pairs_[i];
            if (pair.count > 0) queue_.push({pair.count, static_cast<std::uint32_t>(i), pair.left, pair.right});
        }
    }

    // Joins every occurrence of the pair, from left to right in each word.
    void merge(std::uint32_t pair) {
        const Symbol left = pairs_[pair].left;
        const Symbol right = pairs_[pair].right;
        const std::vector<Place> places = std::move(pairs_[pair].places);
        const Symbol joined = tokens_.add(tokens_.bytes(left) + tokens_.bytes(right));
        const std::uint32_t left_length = tokens_.length(left);
        const std::uint32_t joined_length = tokens_.length(joined);
        const std::size_t first_new_pair = pairs_.size();
        for (const Place place : places) {
            const Position p = place.position;
            if (row_.at(p) != left || row_.at(p + left_length) != right) continue;
            const std::uint64_t count = counts_[place.word];
            const Symbol before = row_.before(p);
            const Symbol after = row_.at(p + joined_length);
            row_.join(p, left_length, joined_length, joined);
            if (before != SymbolRow::kBoundary) {
                pair_of(before, left).count -= count;
                add_place(pair_of(before, joined), {p - tokens_.length(before), place.word});
            }
            if (after != SymbolRow::kBoundary) {
                pair_of(right, after).count -= count;
                add_place(pair_of(joined, after), place);
            }
        }
        pairs_[pair].count = 0;
        queue_new_pairs(first_new_pair);
    }

    Tokens tokens_;
    SymbolRow row_;
    std::vector<std::uint64_t> counts_;  // of the words
    std::vector<Pair> pairs_;
    PairTable<std::uint32_t> pair_index_;  // place in pairs_
    std::priority_queue<Candidate, std::vector<Candidate>, Later> queue_;
};

}  // namespace

std::vector<Merge> train_bpe(const std::vector<CountedWord>& words, std::size_t num_merges, const Progress& progress) {
    Trainer trainer(words);
    std::vector<Merge> merges;
    while (merges.size() < num_merges && trainer.merge_next(merges)) {
        if (progress && merges.size() % kMergesPerReport == 0) progress(merges.size());
    }
    if (progress) progress(merges.size());
    return merges;
}

}  // namespace groundup
