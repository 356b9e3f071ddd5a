// The ids of many texts one after the other, without an allocation for each text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bpe_encode.hpp"
#include "id_buffer.hpp"

namespace groundup {

// What follows the ids of some texts: `id`, after each text whose mark is not 0. No marks: nothing.
struct Ending {
    std::string_view marks;
    TokenId id = 0;
};

// Texts are encoded in turns of kTurnBytes or a little more, each by one thread and into a buffer of its own; only when
// all counts are known is there a place for the ids. A text is not shared out, however long it is.
//
// Cost: each id is copied once, by the threads.
class BatchIds {
public:
    // Encodes the texts, which are checked to be UTF-8 (std::invalid_argument names one that is not).
    // num_threads 0: all processors. `check` is called now and then in the calling thread and may throw to stop.
    BatchIds(const Encoder& encoder, const std::vector<std::string_view>& texts, bool recognise_special,
             std::size_t num_threads, const Check& check, const Ending& ending = {});

    std::size_t size() const { return num_ids_; }
    // How many ids come before the end of each text.
    std::span<const std::uint64_t> ends() const { return ends_; }

    // Calls visit(std::span<const TokenId>) for each text, in order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Turn& turn : turns_) {
            const TokenId* begin = turn.ids.begin();
            for (std::size_t i = turn.first_text; i < turn.end_text; ++i) {
                const TokenId* const end = turn.ids.begin() + (ends_[i] - turn.first_id);
                visit(std::span(begin, end));
                begin = end;
            }
        }
    }

    // Writes the ids to `out`, size() of them. Id is uint16, whose ids must fit into it, or uint32.
    template <class Id>
    void write(Id* out) const;

private:
    static constexpr std::size_t kTurnBytes = std::size_t{1} << 16;

    struct Turn {
        std::size_t first_text;
        std::size_t end_text;
        std::size_t num_bytes;
        std::size_t first_id = 0;
        IdBuffer ids;
    };

    void encode(const Encoder& encoder, const std::vector<std::string_view>& texts, bool recognise_special,
                const Check& check, const Ending& ending);

    std::vector<Turn> turns_;
    std::vector<std::uint64_t> ends_;
    std::size_t num_ids_ = 0;
    std::size_t num_threads_;
};

}  // namespace groundup
