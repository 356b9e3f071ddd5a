#include "batch_ids.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>

#include "errors.hpp"
#include "parallel.hpp"
#include "unicode.hpp"

namespace groundup {

namespace {

constexpr std::size_t kBytesPerId = 3;  // or more, in most texts

void check_utf8(std::string_view text, std::size_t number, std::size_t num_texts) {
    const std::size_t invalid = find_invalid_utf8(text);
    if (invalid == kNowhere) return;
    const std::string subject = num_texts == 1 ? "the text" : "text " + std::to_string(number);
    throw std::invalid_argument(invalid_utf8_message(subject, text[invalid], invalid));
}

}  // namespace

BatchIds::BatchIds(const Encoder& encoder, const std::vector<std::string_view>& texts, bool recognise_special,
                   std::size_t num_threads, const Check& check, const Ending& ending)
    : ends_(texts.size()) {
    for (std::size_t first = 0, i = 0, num_bytes = 0; i < texts.size(); ++i) {
        num_bytes += texts[i].size();
        if (num_bytes < kTurnBytes && i + 1 < texts.size()) continue;
        turns_.push_back({first, i + 1, num_bytes, 0, {}});
        first = i + 1;
        num_bytes = 0;
    }
    if (num_threads == 0) num_threads = default_num_threads();
    num_threads_ = std::max<std::size_t>(1, std::min(num_threads, turns_.size()));
    encode(encoder, texts, recognise_special, check, ending);
    for (Turn& turn : turns_) {
        turn.first_id = num_ids_;
        for (std::size_t i = turn.first_text; i < turn.end_text; ++i) ends_[i] += num_ids_;
        num_ids_ += turn.ids.size();
    }
}

void BatchIds::encode(const Encoder& encoder, const std::vector<std::string_view>& texts, bool recognise_special,
                      const Check& check, const Ending& ending) {
    std::atomic<std::size_t> next{0};
    run_in_threads(num_threads_, [&](std::size_t thread, const std::atomic<bool>& stop) {
        const Encoder::Lease cache(encoder);
        // The texts are short, all of them together may not be.
        if (turns_.size() > num_threads_) encoder.prepare(*cache, turns_.size() * kTurnBytes);
        while (!stop) {
            const std::size_t number = next.fetch_add(1);
            if (number >= turns_.size()) break;
            Turn& turn = turns_[number];
            turn.ids.room_for(turn.num_bytes / kBytesPerId);
            for (std::size_t i = turn.first_text; i < turn.end_text; ++i) {
                check_utf8(texts[i], i, texts.size());
                encoder.encode_with(*cache, texts[i], recognise_special, turn.ids);
                if (!ending.marks.empty() && ending.marks[i] != 0) turn.ids.push_back(ending.id);
                ends_[i] = turn.ids.size();
            }
            if (thread == 0 && check) check();
        }
    });
}

template <class Id>
void BatchIds::write(Id* out) const {
    std::atomic<std::size_t> next{0};
    const std::size_t num_threads = num_ids_ < kTurnBytes ? 1 : num_threads_;
    run_in_threads(num_threads, [&](std::size_t, const std::atomic<bool>&) {
        for (std::size_t number; (number = next.fetch_add(1)) < turns_.size();) {
            const Turn& turn = turns_[number];
            std::transform(turn.ids.begin(), turn.ids.end(), out + turn.first_id,
                           [](TokenId id) { return static_cast<Id>(id); });
        }
    });
}

template void BatchIds::write(std::uint16_t*) const;
template void BatchIds::write(std::uint32_t*) const;

}  // namespace groundup
