// Ids in memory that grows without being filled first: a vector would write every place twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace groundup {

using TokenId = std::uint32_t;

// Id: TokenId, or a narrower number where all ids of a vocabulary are small.
template <class Id>
class BasicIdBuffer {
public:
    BasicIdBuffer() = default;
    BasicIdBuffer(BasicIdBuffer&& other) noexcept
        : data_(std::move(other.data_)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    BasicIdBuffer& operator=(BasicIdBuffer other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }

    std::size_t size() const { return size_; }
    const Id* data() const { return data_.get(); }
    Id* data() { return data_.get(); }
    const Id* begin() const { return data(); }
    const Id* end() const { return data() + size_; }
    Id operator[](std::size_t i) const { return data()[i]; }

    // Where the next ids go, with room for num_ids at least; advance_to says where they end. Throws std::bad_alloc.
    Id* room_for(std::size_t num_ids) {
        if (capacity_ - size_ < num_ids) grow(num_ids);
        return data_.get() + size_;
    }
    void advance_to(const Id* end) { size_ = static_cast<std::size_t>(end - data_.get()); }

    void push_back(Id id) {
        *room_for(1) = id;
        ++size_;
    }
    void append(const TokenId* ids, std::size_t num_ids) {
        Id* const out = room_for(num_ids);
        for (std::size_t i = 0; i < num_ids; ++i) out[i] = static_cast<Id>(ids[i]);
        size_ += num_ids;
    }
    void clear() { size_ = 0; }

    // Gives the memory away, cut down to what is used; release it by std::free.
    Id* release() {
        shrink();
        size_ = capacity_ = 0;
        return data_.release();
    }

private:
    struct Free {
        void operator()(Id* data) const { std::free(data); }
    };

    void resize(std::size_t capacity) {
        const std::size_t num_bytes = capacity * sizeof(Id);
        void* data = nullptr;
        if (num_bytes >= kHugePageBytes && size_ == 0) {
            // Fresh memory comes a page at a time: the fewer, the better.
            data = std::aligned_alloc(kHugePageBytes, (num_bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes);
#ifdef __linux__
            if (data != nullptr) madvise(data, num_bytes, MADV_HUGEPAGE);
#endif
            if (data != nullptr) data_.reset();
        } else {
            data = std::realloc(data_.get(), num_bytes);
            if (data != nullptr) static_cast<void>(data_.release());
        }
        if (data == nullptr) throw std::bad_alloc();
        data_.reset(static_cast<Id*>(data));
        capacity_ = capacity;
    }
    void grow(std::size_t num_ids) { resize(capacity_ + capacity_ / 2 + num_ids); }
    void shrink() {
        if (size_ < capacity_) resize(size_ == 0 ? 1 : size_);
    }

    static constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

    std::unique_ptr<Id, Free> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

using IdBuffer = BasicIdBuffer<TokenId>;

}  // namespace groundup
