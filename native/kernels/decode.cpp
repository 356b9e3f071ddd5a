// Writing text with a model of the standard shape, many ids in one call. Twin: generation/engine.py.
//
// A pass computes entries, one for each new position of each row: one of a row that is writing, many of one whose
// prompt is read. All weights pass by once and serve all entries. The threads stay together for the whole call.
#include <math.h>

#include "attention_step.hpp"
#include "panels.hpp"
#include "team.hpp"
#include "variant.hpp"
#include "whole_panels.hpp"

namespace groundup::kernels::GROUNDUP_VARIANT {

namespace {

constexpr std::size_t kMaxEntries = 64;

// Panels are multiplied in pairs: gate and up lie side by side, and a single row needs two for enough sums.
constexpr std::size_t kPair = 2 * kPanel;

// A product is cut in about so many chunks, by its size alone.
constexpr std::size_t kProductChunks = 24;

template <class T>
class Array {
public:
    explicit Array(std::size_t size) : p_(new T[size]) {}
    ~Array() { delete[] p_; }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    T& operator[](std::size_t i) const { return p_[i]; }

private:
    T* p_;
};

struct Entry {
    std::size_t row;
    std::size_t position;
};

struct EntriesOfRow {
    std::size_t first;
    std::size_t count;
};

// An entry whose logits are needed: the last one of its row's window, or any where rows are read only.
struct Wanted {
    std::size_t row;
    std::size_t entry;
};

constexpr std::size_t max_entries_of(const Decode& a) { return a.num_rows > kMaxEntries ? a.num_rows : kMaxEntries; }

// Values of a row that is rounded to whole numbers: the widest that is multiplied.
constexpr std::size_t whole_stride(const Decoder& decoder) {
    const DecoderShape& shape = decoder.shape;
    return decoder.type == WeightType::kInt8 ? in_panels(shape.d_model > shape.d_ff ? shape.d_model : shape.d_ff) : 0;
}

// What one thread works on, in scratch of its own.
struct Workspace {
    static std::size_t size(const Decode& a) {
        const DecoderShape& shape = a.decoder.shape;
        const std::size_t size = max_entries_of(a) * (shape.d_model + kPair + whole_stride(a.decoder) / 2 + 1) +
                                 3 * shape.vocab_size + shape.context_length + attention_scratch(shape, a.max_length);
        return (size + 15) / 16 * 16;  // no two threads write to the same line of the cache
    }
    Workspace(float* p, const Decode& a)
        : normed(p), out(normed + max_entries_of(a) * a.decoder.shape.d_model), logits(out + max_entries_of(a) * kPair),
          weights(logits + a.decoder.shape.vocab_size), seen(weights + a.decoder.shape.vocab_size),
          attention(seen + a.decoder.shape.context_length),
          order(reinterpret_cast<std::uint32_t*>(attention + attention_scratch(a.decoder.shape, a.max_length))),
          scales(reinterpret_cast<float*>(order + a.decoder.shape.vocab_size)),
          whole(reinterpret_cast<std::int16_t*>(scales + max_entries_of(a))) {}

    float* normed;   // (entries, d_model)
    float* out;      // (entries, kPair): what a product just gave
    float* logits;   // (vocab_size), with what the options make of them
    float* weights;  // (vocab_size): their exponentials
    float* seen;     // (context_length)
    float* attention;
    std::uint32_t* order;  // (vocab_size)
    float* scales;         // (entries)
    std::int16_t* whole;   // (entries, whole_stride): rows as whole numbers, where weights are
};

template <class Weight>
class Writer {
public:
    explicit Writer(const Decode& a)
        : a_(a), decoder_(a.decoder), shape_(a.decoder.shape),
          max_entries_(max_entries_of(a)),
          qkv_stride_(in_panels((shape_.heads + 2 * shape_.kv_heads) * shape_.d_head)),
          gate_stride_(in_panels(shape_.d_ff)), logits_stride_(in_panels(shape_.vocab_size)),
          x_(max_entries_ * shape_.d_model), qkv_(max_entries_ * qkv_stride_),
          gathered_(max_entries_ * shape_.d_model), gate_(max_entries_ * gate_stride_),
          logits_(reads_only() ? 0 : a.num_rows * logits_stride_), entries_(max_entries_), of_row_(a.num_rows),
          wanted_(max_entries_) {
        plan();
    }

    // What each thread does until all rows are written, or the passes are used up.
    void work(Team& team, const Workspace& own) {
        while (!__atomic_load_n(&finished_, __ATOMIC_ACQUIRE)) {
            for (std::size_t layer = 0; layer < decoder_.num_layers; ++layer) pass_layer(layer, team, own);
            product(team, own, decoder_.head, shape_.d_model, shape_.vocab_size,
                    [&] { norm_wanted(own); return num_wanted_; },
                    [&] { return Left{own.normed, shape_.d_model}; },
                    [&](std::size_t column, std::size_t columns) {
                        for (std::size_t i = 0; i < num_wanted_; ++i) {
                            float* const to = logits_of(i) + column;
                            const float* const out = own.out + i * kPair;
                            for_each_vector(columns, [&](auto at) { store(to, at, load(out, at)); });
                        }
                    });
            team.phase(a_.num_rows, [&](std::size_t i) {
                if (!reads_only() && i < num_wanted_) write_next(i, own);
            });
            team.phase(1, [&](std::size_t) { plan(); });
        }
    }

private:
    static constexpr bool kWhole = sizeof(Weight) == sizeof(std::int8_t);

    bool reads_only() const { return a_.logits != nullptr; }

    // Which positions the next pass computes, and their embeddings.
    void plan() {
        num_entries_ = num_wanted_ = 0;
        for (std::size_t r = 0; r < a_.num_rows && num_passes_ < a_.max_passes; ++r) {
            DecodedRow& row = a_.rows[r];
            const bool done = row.steps == 0 && !reads_only();
            const std::size_t missing = done ? 0 : row.num_ids - row.start - row.cached;
            const std::size_t room = max_entries_ - num_entries_;
            const std::size_t count = missing < room ? missing : room;
            of_row_[r] = {num_entries_, count};
            for (std::size_t i = 0; i < count; ++i, ++num_entries_, ++row.cached) {
                entries_[num_entries_] = {r, row.cached};
                const std::int64_t id = row.ids[row.start + row.cached];
                __builtin_memcpy(x_.data() + num_entries_ * shape_.d_model,
                                 decoder_.embedding + static_cast<std::size_t>(id) * shape_.d_model,
                                 shape_.d_model * sizeof(float));
                if (reads_only() || i + 1 == missing) wanted_[num_wanted_++] = {r, num_entries_};
            }
        }
        ++num_passes_;
        __atomic_store_n(&finished_, num_entries_ == 0, __ATOMIC_RELEASE);
    }

    void pass_layer(std::size_t layer, Team& team, const Workspace& own) {
        const DecoderLayer& weights = decoder_.layers[layer];
        const std::size_t d_model = shape_.d_model, d_ff = shape_.d_ff;
        const auto normed = [&] { return Left{own.normed, d_model}; };
        const auto add = [&](std::size_t column, std::size_t columns) {
            for (std::size_t e = 0; e < num_entries_; ++e) {
                float* const to = x_.data() + e * d_model + column;
                const float* const out = own.out + e * kPair;
                for_each_vector(columns, [&](auto at) { store(to, at, load(to, at) + load(out, at)); });
            }
        };
        product(team, own, weights.qkv, d_model, (shape_.heads + 2 * shape_.kv_heads) * shape_.d_head,
                [&] { norm_all(weights.attention_norm, own); return num_entries_; }, normed,
                [&](std::size_t column, std::size_t columns) {
                    for (std::size_t e = 0; e < num_entries_; ++e) {
                        float* const to = qkv_.data() + e * qkv_stride_ + column;
                        const float* const out = own.out + e * kPair;
                        for_each_vector(columns, [&](auto at) { store(to, at, load(out, at)); });
                    }
                });
        team.phase(a_.num_rows * shape_.kv_heads, [&](std::size_t chunk) {
            attend(layer, chunk / shape_.kv_heads, chunk % shape_.kv_heads, own);
        });
        product(team, own, weights.output, d_model, d_model, [&] { return num_entries_; },
                [&] { return Left{gathered_.data(), d_model}; }, add);
        product(team, own, weights.gate_up, d_model, 2 * gate_stride_,
                [&] { norm_all(weights.ffn_norm, own); return num_entries_; }, normed,
                [&](std::size_t column, std::size_t) {
                    for (std::size_t e = 0; e < num_entries_; ++e) {
                        float* const to = gate_.data() + e * gate_stride_ + column / 2;
                        const float* const out = own.out + e * kPair;
                        for_each_vector(kPanel, [&](auto at) {
                            const Floats gate = load(out, at);
                            store(to, at, gate * sigmoid(gate) * load(out + kPanel, at));
                        });
                    }
                });
        product(team, own, weights.down, d_ff, d_model, [&] { return num_entries_; },
                [&] { return Left{gate_.data(), gate_stride_}; }, add);
    }

    // A phase: rows times a matrix. prepare() gives the number of rows, left() where they are, take(column, columns)
    // gets the results of so many columns, at most kPair, in own.out.
    template <class Prepare, class Rows, class Take>
    void product(Team& team, const Workspace& own, const PackedMatrix& matrix, std::size_t inputs, std::size_t outputs,
                 const Prepare& prepare, const Rows& left, const Take& take) {
        const std::size_t pairs = (outputs + kPair - 1) / kPair;
        const std::size_t pairs_per_chunk = (pairs + kProductChunks - 1) / kProductChunks;
        std::size_t rows = 0;
        const auto prepare_rows = [&] {
            rows = prepare();
            if (kWhole) round_rows(left(), rows, inputs, own);
        };
        team.phase(num_chunks_of(pairs, pairs_per_chunk), prepare_rows, [&](std::size_t chunk) {
            if (rows == 0) return;
            const std::size_t first = chunk * pairs_per_chunk;
            const std::size_t end = pairs - first < pairs_per_chunk ? pairs : first + pairs_per_chunk;
            for (std::size_t pair = first; pair < end; ++pair) {
                const std::size_t column = pair * kPair;
                const std::size_t columns = outputs - column < kPair ? outputs - column : kPair;
                multiply_panels(matrix, left(), rows, inputs, 2 * pair, in_panels(columns) / kPanel, own);
                take(column, columns);
            }
        });
    }

    // num_panels panels from the given one on, to own.out.
    void multiply_panels(const PackedMatrix& matrix, Left left, std::size_t rows, std::size_t inputs, std::size_t panel,
                         std::size_t num_panels, const Workspace& own) const {
        const Weight* const values = static_cast<const Weight*>(matrix.values);
        if constexpr (kWhole) {
            const WholeRows whole{own.whole, whole_stride(decoder_), own.scales};
            multiply(whole, rows, values + panel * ((inputs + 1) / 2 * 2) * kPanel, matrix.scales + panel * kPanel,
                     inputs, num_panels, own.out, kPair);
        } else {
            const Panels<Weight> right{values, inputs * kPanel, inputs};
            multiply(left, rows, right.from(panel), num_panels, own.out, kPair);
        }
    }

    void round_rows(Left left, std::size_t rows, std::size_t inputs, const Workspace& own) const {
        for (std::size_t row = 0; row < rows; ++row) {
            std::int16_t* const whole = own.whole + row * whole_stride(decoder_);
            own.scales[row] = round_row(left.p + row * left.stride, inputs, whole);
            if (inputs % 2 != 0) whole[inputs] = 0;  // half of the last pair
        }
    }

    void norm(std::size_t entry, const float* weight, float* normed) const {
        const float* const x = x_.data() + entry * shape_.d_model;
        const float squares = sum_over(shape_.d_model, [&](auto at, Floats so_far) {
            const Floats v = load(x, at);
            return fma(v, v, so_far);
        });
        const float inverse_rms =
            1 / __builtin_sqrtf(squares / static_cast<float>(shape_.d_model) + shape_.norm_eps);
        for_each_vector(shape_.d_model, [&](auto at) {
            store(normed, at, load(x, at) * Floats::all(inverse_rms) * load(weight, at));
        });
    }

    void norm_all(const float* weight, const Workspace& own) const {
        for (std::size_t e = 0; e < num_entries_; ++e) norm(e, weight, own.normed + e * shape_.d_model);
    }

    void norm_wanted(const Workspace& own) const {
        for (std::size_t i = 0; i < num_wanted_; ++i) {
            norm(wanted_[i].entry, decoder_.final_norm, own.normed + i * shape_.d_model);
        }
    }

    void attend(std::size_t layer, std::size_t row, std::size_t kv_head, const Workspace& own) const {
        const std::size_t keys = keys_size(shape_, a_.max_length), values = values_size(shape_, a_.max_length);
        const std::size_t head = (row * decoder_.num_layers + layer) * shape_.kv_heads + kv_head;
        float* const cache = a_.cache + head * (keys + values);
        const HeadCache kept{cache, cache + keys, a_.max_length};
        const auto [first, count] = of_row_[row];
        for (std::size_t e = first; e < first + count; ++e) {
            keep(shape_, turn_at(entries_[e].position), entries_[e].position, kv_head,
                 qkv_.data() + e * qkv_stride_, kept);
        }
        for (std::size_t e = first; e < first + count; ++e) {
            gather(shape_, turn_at(entries_[e].position), entries_[e].position, kv_head,
                   qkv_.data() + e * qkv_stride_, kept, own.attention,
                   gathered_.data() + e * shape_.d_model);
        }
    }

    Turn turn_at(std::size_t position) const {
        const std::size_t half = shape_.d_head / 2;
        return {decoder_.cos + position * half, decoder_.sin + position * half};
    }

    // Where the logits of the i-th wanted entry lie.
    float* logits_of(std::size_t i) const {
        if (!reads_only()) return logits_.data() + i * logits_stride_;
        const std::size_t position = entries_[wanted_[i].entry].position;
        return a_.logits + (wanted_[i].row * a_.max_length + position) * shape_.vocab_size;
    }

    // Chooses the next id of the i-th wanted entry, from its logits.
    void write_next(std::size_t i, const Workspace& own) {
        DecodedRow& row = a_.rows[wanted_[i].row];
        const float* const logits = logits_of(i);
        const std::size_t vocab_size = shape_.vocab_size;
        const float most = largest_of(logits, vocab_size);
        const float sum = exponentiate(logits, most, 1, nullptr);
        if (!(sum == sum)) {  // some logit is NaN or infinite
            __atomic_store_n(a_.finite, false, __ATOMIC_RELAXED);
            row.steps = 0;
            return;
        }
        float* const allowed = own.logits;
        __builtin_memcpy(allowed, logits, vocab_size * sizeof(float));
        penalize_repetition(allowed, row.ids + row.start, row.num_ids - row.start, a_.options.repetition_penalty,
                            own.seen);
        for (std::size_t f = 0; f < a_.num_forbidden; ++f) allowed[a_.forbidden[f]] = -__builtin_inff();
        std::size_t id;
        if (a_.options.greedy) {
            id = most_likely(allowed, vocab_size);
        } else {
            exponentiate(allowed, largest_of(allowed, vocab_size), 1 / a_.options.temperature, own.weights);
            id = draw(allowed, own.weights, vocab_size, a_.options, *row.uniform++, own.order);
        }
        *row.logprobs++ = static_cast<double>(logits[id] - most) - log(static_cast<double>(sum));
        append(row, static_cast<std::int64_t>(id));
    }

    // generation/window.py: window_start
    void append(DecodedRow& row, std::int64_t id) const {
        row.ids[row.num_ids++] = id;
        row.steps = id == a_.end_id ? 0 : row.steps - 1;
        if (row.num_ids - row.start <= shape_.context_length) return;
        row.start += shape_.context_length - shape_.context_length / 2;
        row.cached = 0;
    }

    // The sum of e^((logits - most) * factor), each kept in `to` unless that is null.
    float exponentiate(const float* logits, float most, float factor, float* to) const {
        const auto step = [&](auto at, Floats so_far) {
            const Floats e = exp((load_or_lowest(logits, at) - Floats::all(most)) * Floats::all(factor));
            if (to != nullptr) store(to, at, e);
            return so_far + e;
        };
        return sum_over(shape_.vocab_size, step);
    }

    const Decode& a_;
    const Decoder& decoder_;
    const DecoderShape& shape_;
    std::size_t max_entries_;
    std::size_t qkv_stride_;
    std::size_t gate_stride_;
    std::size_t logits_stride_;
    Scratch x_;         // (entries, d_model): the stream
    Scratch qkv_;       // (entries, qkv_stride)
    Scratch gathered_;  // (entries, d_model)
    Scratch gate_;      // (entries, gate_stride): silu(gate) * up
    Scratch logits_;    // (wanted entries, logits_stride)
    Array<Entry> entries_;
    Array<EntriesOfRow> of_row_;
    Array<Wanted> wanted_;
    std::size_t num_entries_ = 0;
    std::size_t num_wanted_ = 0;
    std::size_t num_passes_ = 0;  // planned
    bool finished_ = false;
};

template <class Weight>
void write(const Decode& a) {
    Writer<Weight> writer(a);
    const Scratch scratch(a.num_threads * Workspace::size(a));
    run_team(a.num_threads, [&](Team& team) {
        writer.work(team, Workspace(scratch.data() + team.thread() * Workspace::size(a), a));
    });
}

}  // namespace

void decode(const Decode& a) {
    switch (a.decoder.type) {
        case WeightType::kFloat32: return write<float>(a);
        case WeightType::kBf16: return write<Bf16>(a);
        case WeightType::kInt8: return write<std::int8_t>(a);
    }
}

}  // namespace groundup::kernels::GROUNDUP_VARIANT
