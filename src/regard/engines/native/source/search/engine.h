// Workers that translate: a thread a core, each with rows of its own that it refills from one queue as sentences end.
// A sentence that comes alone is computed by all threads together.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "worker.h"

namespace regard {

class Engine {
 public:
  Engine(std::unique_ptr<Model> model, int threads);
  ~Engine();

  const Model& model() const { return *model_; }

  // Search all tasks of one job. `progress` is told now and then how many more are done; if it returns 0, the rest is
  // left. Several threads may call; their sentences share the workers.
  void search(Job& job, std::vector<Task>& tasks, int (*progress)(int));

  // The mean cross-attention of a layer for each token of a given target: target_length rows of source_length.
  void attention(const int32_t* source, int source_length, const int32_t* target, int target_length, int layer,
                 float* out);

 private:
  // One sentence that all threads compute: those that come in time, or the caller alone.
  struct Together {
    Barrier barrier;
    Task* task = nullptr;
    int (*progress)(int) = nullptr;
    std::chrono::steady_clock::time_point told;  // when progress was last called
    bool busy = false, gathering = false;
    int number = 0;                // of sentences so far: tells the threads of a new one
    std::atomic<int> arrived{0};   // threads that have come for it
    std::atomic<int> gate{0};      // the sentence's number when all have come, and its negative when they need not
    bool over = false;             // told between two barriers
    std::chrono::steady_clock::time_point not_before;  // cores were busy: the caller computes alone until then
    explicit Together(int threads) : barrier(threads) {}
  };

  void start_threads();
  void run(int thread);
  bool wait_for_work(Worker& worker, int thread, int& joined, std::vector<Task*>& taken);
  void take(Worker& worker, std::vector<Task*>& taken);
  void finish(const std::vector<Task*>& tasks, bool failed);
  void search_alone(Task& task, int (*progress)(int), std::unique_lock<std::mutex>& lock);
  void tell_alone();
  bool gather(std::unique_lock<std::mutex>& lock);
  bool join(std::unique_lock<std::mutex>& lock);
  void compute_together(int thread);
  void cancel(Job& job);

  std::unique_ptr<Model> model_;
  const int threads_;
  std::mutex mutex_;  // of all that follows
  std::condition_variable arrived_;
  std::deque<Task*> queue_;
  int outstanding_ = 0;  // sentences that wait or are being computed
  bool stopping_ = false;
  Together together_;
  Worker joint_worker_;
  std::vector<std::thread> pool_;
  std::mutex attention_mutex_;
  Worker attention_worker_;
};

}  // namespace regard
