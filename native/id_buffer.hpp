// Ids in memory that grows without being filled first: a vector would write every place twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace groundup {

using TokenId = std::uint32_t;

class IdBuffer {
public:
    IdBuffer() = default;
    IdBuffer(IdBuffer&& other) noexcept
        : data_(std::move(other.data_)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    IdBuffer& operator=(IdBuffer other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }

    std::size_t size() const { return size_; }
    const TokenId* data() const { return data_.get(); }
    TokenId* data() { return data_.get(); }
    const TokenId* begin() const { return data(); }
    const TokenId* end() const { return data() + size_; }
    TokenId operator[](std::size_t i) const { return data()[i]; }

    // Where the next ids go, with room for num_ids at least; advance_to says where they end. Throws std::bad_alloc.
    TokenId* room_for(std::size_t num_ids) {
        if (capacity_ - size_ < num_ids) grow(num_ids);
        return data_.get() + size_;
    }
    void advance_to(const TokenId* end) { size_ = static_cast<std::size_t>(end - data_.get()); }

    void push_back(TokenId id) {
        *room_for(1) = id;
        ++size_;
    }
    void append(const TokenId* ids, std::size_t num_ids) {
        if (num_ids == 0) return;
        std::memcpy(room_for(num_ids), ids, num_ids * sizeof(TokenId));
        size_ += num_ids;
    }
    void clear() { size_ = 0; }

    // Gives the memory away, cut down to what is used; release it by std::free.
    TokenId* release() {
        shrink();
        size_ = capacity_ = 0;
        return data_.release();
    }

private:
    struct Free {
        void operator()(TokenId* data) const { std::free(data); }
    };

    void resize(std::size_t capacity) {
        void* const data = std::realloc(data_.get(), capacity * sizeof(TokenId));
        if (data == nullptr) throw std::bad_alloc();
        static_cast<void>(data_.release());
        data_.reset(static_cast<TokenId*>(data));
        capacity_ = capacity;
    }
    void grow(std::size_t num_ids) { resize(capacity_ + capacity_ / 2 + num_ids); }
    void shrink() {
        if (size_ < capacity_) resize(size_ == 0 ? 1 : size_);
    }

    std::unique_ptr<TokenId, Free> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace groundup
