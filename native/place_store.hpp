// Lists of places whose length is known when they are made: many, mostly short, often given back.
//
// A list that is given back is cut up for later ones, so that memory follows the places in use. `malloc` would
// spend more on its own notes than most lists have places.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace groundup {

class PlaceStore {
public:
    using Place = std::uint32_t;
    using List = std::span<Place>;

    // A list of so many places, not yet set. It stays where it is.
    List make(std::size_t num_places) {
        if (num_places == 0) return {};
        List free = take_free(num_places);
        give_back(free.subspan(num_places));
        return free.first(num_places);
    }

    void give_back(List list) {
        if (list.empty()) return;
        const std::size_t size_class = class_of(list.size());
        free_[size_class].push_back(list);
        classes_with_free_ |= std::uint64_t{1} << size_class;
    }

private:
    static constexpr std::size_t kBlockPlaces = std::size_t{1} << 16;

    // Lists of class c have at least 2^c places and fewer than 2^(c+1).
    static std::size_t class_of(std::size_t num_places) {
        return static_cast<std::size_t>(std::bit_width(num_places)) - 1;
    }

    List take_free(std::size_t num_places) {
        // The smallest class in which every list is long enough.
        const std::size_t lowest = class_of(num_places * 2 - 1);
        const std::uint64_t fitting = classes_with_free_ >> lowest << lowest;
        if (fitting == 0) return new_block(num_places);
        const auto size_class = static_cast<std::size_t>(std::countr_zero(fitting));
        const List list = free_[size_class].back();
        free_[size_class].pop_back();
        if (free_[size_class].empty()) classes_with_free_ &= ~(std::uint64_t{1} << size_class);
        return list;
    }

    List new_block(std::size_t num_places) {
        const std::size_t size = std::max(num_places, kBlockPlaces);
        blocks_.push_back(std::make_unique_for_overwrite<Place[]>(size));
        return {blocks_.back().get(), size};
    }

    std::vector<std::unique_ptr<Place[]>> blocks_;
    std::array<std::vector<List>, 64> free_;
    std::uint64_t classes_with_free_ = 0;
};

}  // namespace groundup
