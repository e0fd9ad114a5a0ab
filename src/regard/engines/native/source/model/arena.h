// Memory that is reserved once and filled as it is used: pages that are never touched cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regard {

class Arena {
 public:
  Arena() = default;
  explicit Arena(size_t bytes);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  template <class T>
  T* as() const {
    return static_cast<T*>(start_);
  }
  size_t bytes() const { return bytes_; }

 private:
  void* start_ = nullptr;
  size_t bytes_ = 0;
};

// a · b · c bytes; throws std::bad_alloc where the product would be beyond what any model here needs.
size_t checked_bytes(size_t a, size_t b, size_t c = 1);

}  // namespace regard
