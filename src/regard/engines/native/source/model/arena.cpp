#include "arena.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace regard {

constexpr size_t kMost = size_t(1) << 40;

Arena::Arena(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  start_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start_ == MAP_FAILED) {
    start_ = nullptr;
    throw std::bad_alloc();
  }
}

Arena::~Arena() {
  if (start_ != nullptr) munmap(start_, bytes_);
}

Arena::Arena(Arena&& other) noexcept { *this = std::move(other); }

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

size_t checked_bytes(size_t a, size_t b, size_t c) {
  size_t product;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_mul_overflow(product, c, &product) || product > kMost)
    throw std::bad_alloc();
  return product;
}

}  // namespace regard
