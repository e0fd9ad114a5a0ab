// Threads that compute one step together, each a part of the columns, rows or heads.
//
// All run the same code; `sync` stands where one needs what another has written. A team of one costs nothing.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace regard {

class Barrier {
 public:
  explicit Barrier(int size) : size_(size) {}

  void wait() {
    const int round = round_.load(std::memory_order_relaxed);
    if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      waiting_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins)
      if (spins > kSpins) {
        sched_yield();  // the others may wait for this core
        yields_.fetch_add(1, std::memory_order_relaxed);
      }
  }

  // How often a thread has given up its core since the last call: many times where threads have to wait for cores.
  int take_yields() { return yields_.exchange(0, std::memory_order_relaxed); }

 private:
  static constexpr int kSpins = 2000;
  const int size_;
  std::atomic<int> waiting_{0}, round_{0}, yields_{0};
};

struct Range {
  int first, last;
};

// One thread's place in a team.
struct Part {
  int index = 0, size = 1;
  Barrier* barrier = nullptr;

  void sync() const {
    if (size > 1) barrier->wait();
  }
  // Its share of `count` things.
  Range share(int count) const {
    return {int(int64_t(count) * index / size), int(int64_t(count) * (index + 1) / size)};
  }
};

}  // namespace regard
