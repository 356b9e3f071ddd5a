#include "token_trie.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace groundup {

namespace {

// The tokens order[first, last), which agree in `depth` bytes: what lies below one node.
struct Branch {
    std::size_t first;
    std::size_t last;
    std::size_t depth;
    std::size_t node;
    std::uint32_t shorter;  // the longest token on the way to the node, the node included
};

// Which places of the double array are taken, without end. A free place is found in about constant time: each
// taken one knows one behind it, and what was walked once is shortened.
class Places {
public:
    bool is_free(std::size_t place) const { return place >= next_.size() || next_[place] == place; }

    std::size_t next_free(std::size_t from) {
        std::size_t place = from;
        while (!is_free(place)) place = next_[place];
        while (from < place && from < next_.size()) from = std::exchange(next_[from], place);
        return place;
    }

    void take(std::size_t place) {
        while (next_.size() <= place) next_.push_back(next_.size());
        next_[place] = place + 1;
    }

    std::size_t size() const { return next_.size(); }

private:
    std::vector<std::size_t> next_;
};

// Places for children with these labels: their base, from which each lies its label away.
class Bases {
public:
    explicit Bases(std::size_t first) : first_(first), last_found_(first) {}

    std::size_t find(const std::vector<unsigned>& labels) {
        // A single child fills a gap. Several are tried where the last ones fitted, then put at the end.
        const bool is_single = labels.size() == 1;
        std::size_t place = places_.next_free(is_single ? first_ : last_found_);
        for (int tries = 0; !fits(place, labels); ++tries) {
            place = places_.next_free(tries < kMostTries ? place + 1 : std::max(place, places_.size()) + 1);
        }
        if (!is_single) last_found_ = place;
        const std::size_t base = place - labels[0];
        if (is_taken_.size() <= base) is_taken_.resize(base * 2 + 1);
        is_taken_[base] = true;
        for (const unsigned label : labels) places_.take(base + label);
        return base;
    }

private:
    static constexpr int kMostTries = 64;

    bool fits(std::size_t place, const std::vector<unsigned>& labels) const {
        if (place < first_ + labels[0]) return false;
        // Two nodes with one base would take each other's children for their own.
        const std::size_t base = place - labels[0];
        if (base < is_taken_.size() && is_taken_[base]) return false;
        return std::all_of(labels.begin(), labels.end(),
                           [&](unsigned label) { return places_.is_free(base + label); });
    }

    Places places_;
    std::vector<bool> is_taken_;
    std::size_t first_;
    std::size_t last_found_;
};

void add_tail(std::string_view tail, std::string& tails) {
    const auto length = static_cast<std::uint32_t>(tail.size());
    tails.append(reinterpret_cast<const char*>(&length), sizeof length);
    tails += tail;
}

}  // namespace

bool TokenTrie::build(const std::vector<std::string_view>& tokens, BlockWriter& block) {
    std::vector<std::uint32_t> order;
    order.reserve(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (!tokens[i].empty()) order.push_back(static_cast<std::uint32_t>(i));
    }
    std::sort(order.begin(), order.end(), [&tokens](auto a, auto b) { return tokens[a] < tokens[b]; });

    if (order.size() >= kNoToken) return false;
    constexpr Node kFree{0, 0, kNoLabel, kNoToken};
    std::vector<Node> nodes(kRootBase, kFree);
    std::string tails;
    std::vector<std::uint32_t> shorter(tokens.size(), kNone);
    Bases bases(kRootBase);
    std::vector<unsigned> labels;
    std::vector<std::size_t> begins;
    // Level by level: nodes with many children come first, while there is much room.
    std::vector<Branch> level{{0, order.size(), 0, 0, kNone}};
    std::vector<Branch> next_level;
    while (!level.empty()) {
        next_level.clear();
        for (const Branch& branch : level) {
            labels.clear();
            begins.clear();
            for (std::size_t i = branch.first; i < branch.last; ++i) {
                const auto label = static_cast<unsigned>(byte_at(tokens[order[i]], branch.depth));
                if (!labels.empty() && labels.back() == label) continue;
                labels.push_back(label);
                begins.push_back(i);
            }
            begins.push_back(branch.last);
            const std::size_t base = bases.find(labels);
            nodes.resize(std::max<std::size_t>(nodes.size(), base + kNoLabel), kFree);
            if (branch.depth > 0) nodes[branch.node].base = base & kMostBase;
            for (std::size_t c = 0; c < labels.size(); ++c) {
                Branch child{begins[c], begins[c + 1], branch.depth + 1, base + labels[c], branch.shorter};
                Node& node = nodes[child.node];
                node.label = labels[c] & 0xFF;
                if (tokens[order[child.first]].size() == child.depth) {
                    const std::uint32_t token = order[child.first++];
                    node.token = token & kNoToken;
                    shorter[token] = branch.shorter;
                    child.shorter = token;
                }
                if (child.last - child.first > 1) {
                    next_level.push_back(child);
                } else if (child.last - child.first == 1) {
                    const std::uint32_t token = order[child.first];
                    node.is_tail = 1;
                    node.base = tails.size() & kMostBase;
                    add_tail(tokens[token].substr(child.depth), tails);
                    node.token = token & kNoToken;
                    shorter[token] = child.shorter;
                }
            }
        }
        level.swap(next_level);
        if (std::max(nodes.size(), tails.size()) >= kMostBase) return false;
    }
    block.add(nodes);
    block.add(tails);
    block.add(shorter);
    return true;
}

}  // namespace groundup
