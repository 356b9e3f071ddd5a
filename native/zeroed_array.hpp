// An array of zeros for hash tables. Large ones lie in huge pages where the system has them: a table that is
// read at random places otherwise waits for page tables as much as for its own lines.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace groundup {

template <class T>
class ZeroedArray {
public:
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

    ZeroedArray() = default;
    // Throws std::bad_alloc.
    explicit ZeroedArray(std::size_t size) : size_(size), data_(static_cast<T*>(allocate(size * sizeof(T)))) {}
    ZeroedArray(const ZeroedArray& other) : ZeroedArray(other.size_) {
        for (std::size_t i = 0; i < size_; ++i) data_[i] = other.data_[i];
    }
    ZeroedArray(ZeroedArray&& other) noexcept { swap(other); }
    ZeroedArray& operator=(ZeroedArray other) noexcept {
        swap(other);
        return *this;
    }
    ~ZeroedArray() { std::free(data_); }

    void swap(ZeroedArray& other) noexcept {
        std::swap(size_, other.size_);
        std::swap(data_, other.data_);
    }

    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }

private:
    static constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
    static constexpr std::size_t kLineBytes = 64;

    static void* allocate(std::size_t num_bytes) {
        if (num_bytes == 0) return nullptr;
        const std::size_t alignment = num_bytes < kHugePageBytes ? kLineBytes : kHugePageBytes;
        const std::size_t rounded = (num_bytes + alignment - 1) / alignment * alignment;
        void* const data = std::aligned_alloc(alignment, rounded);
        if (data == nullptr) throw std::bad_alloc();
#ifdef __linux__
        // Advice only: where it is not taken, the pages are small ones.
        if (alignment == kHugePageBytes) madvise(data, rounded, MADV_HUGEPAGE);
#endif
        std::memset(data, 0, rounded);
        return data;
    }

    std::size_t size_ = 0;
    T* data_ = nullptr;
};

}  // namespace groundup
