// What stands before, or behind, the occurrences of a pair that is merged: by symbol, with counts and places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace groundup {

class Neighbours {
public:
    using Symbol = std::uint32_t;
    using Position = std::uint32_t;

    struct Neighbour {
        Symbol symbol;
        std::uint32_t num_places;
        std::uint64_t count;
        Position* next_place;  // of the list that `hand_out` fills
    };

    // Forgets all. Then symbols below num_symbols can be noted, so many times at most.
    void clear(std::size_t num_symbols, std::size_t num_notes) {
        for (const Neighbour& neighbour : neighbours_) number_of_[neighbour.symbol] = 0;
        number_of_.resize(num_symbols);
        neighbours_.clear();
        occurrences_.clear();
        occurrences_.reserve(num_notes);  // pages never written to take no memory
    }

    void note(Symbol symbol, Position position, std::uint64_t count) {
        std::uint32_t& number = number_of_[symbol];
        if (number == 0) {
            neighbours_.push_back({symbol, 0, 0, nullptr});
            number = static_cast<std::uint32_t>(neighbours_.size());
        }
        Neighbour& neighbour = neighbours_[number - 1];
        ++neighbour.num_places;
        neighbour.count += count;
        occurrences_.push_back({number - 1, position});
    }

    std::vector<Neighbour>& all() { return neighbours_; }
    const std::vector<Neighbour>& all() const { return neighbours_; }

    // Writes each position, in the order in which they were noted, to the list of its neighbour.
    void hand_out_places() {
        for (const Occurrence& occurrence : occurrences_) {
            *neighbours_[occurrence.neighbour].next_place++ = occurrence.position;
        }
    }

private:
    struct Occurrence {
        std::uint32_t neighbour;
        Position position;
    };

    std::vector<Neighbour> neighbours_;
    std::vector<Occurrence> occurrences_;
    std::vector<std::uint32_t> number_of_;  // by symbol: the place in neighbours_ + 1, or 0
};

}  // namespace groundup
