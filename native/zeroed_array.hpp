// An array of zeros for hash tables. Large ones lie in huge pages where the system has them: a table that is
// read at random places otherwise waits for page tables as much as for its own lines.
#pragma once

#include <cstddef>
#include <cstdint>
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
    ~ZeroedArray() { release(data_, size_ * sizeof(T)); }

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
#ifdef __linux__
        if (num_bytes >= kHugePageBytes) return map(num_bytes);
#endif
        const std::size_t rounded = (num_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
        void* const data = std::aligned_alloc(kLineBytes, rounded);
        if (data == nullptr) throw std::bad_alloc();
        std::memset(data, 0, rounded);
        return data;
    }

    static void release(void* data, std::size_t num_bytes) {
#ifdef __linux__
        if (num_bytes >= kHugePageBytes) {
            munmap(data, round_to_pages(num_bytes));
            return;
        }
#endif
        std::free(data);
    }

#ifdef __linux__
    static std::size_t round_to_pages(std::size_t num_bytes) {
        return (num_bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    }

    // Fresh pages are zero. They begin where a huge page can, so one more is asked for, and the rest given back.
    static void* map(std::size_t num_bytes) {
        const std::size_t wanted = round_to_pages(num_bytes);
        const std::size_t mapped = wanted + kHugePageBytes;
        void* const all = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED) throw std::bad_alloc();
        char* const first = static_cast<char*>(all);
        const std::size_t before = (kHugePageBytes - reinterpret_cast<std::uintptr_t>(all)) % kHugePageBytes;
        if (before > 0) munmap(first, before);
        munmap(first + before + wanted, kHugePageBytes - before);
        // Advice only: where it is not taken, the pages are small ones.
        madvise(first + before, wanted, MADV_HUGEPAGE);
        return first + before;
    }
#endif

    std::size_t size_ = 0;
    T* data_ = nullptr;
};

}  // namespace groundup
