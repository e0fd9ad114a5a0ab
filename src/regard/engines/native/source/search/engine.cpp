#include "engine.h"

#include <algorithm>
#include <chrono>
#include <new>

namespace regard {

constexpr int kRefill = kRows / 4;  // rows that must be free before new sentences are encoded: a few are not worth it
constexpr auto kPatience = std::chrono::microseconds(300);  // for threads to wake up
constexpr auto kPause = std::chrono::milliseconds(200);     // before it is tried again
constexpr int kMostYields = 200;                            // in a step of a team
constexpr auto kReport = std::chrono::milliseconds(100);

Engine::Engine(std::unique_ptr<Model> model, int threads)
    : model_(std::move(model)),
      threads_(threads),
      together_(threads),
      joint_worker_(*model_, threads),
      attention_worker_(*model_, 1) {}

Engine::~Engine() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  for (std::thread& thread : pool_) thread.join();
}

// Threads start with the first sentence: a process that forks before has nothing to lose.
void Engine::start_threads() {
  while (int(pool_.size()) < threads_) {
    const int thread = int(pool_.size());
    pool_.emplace_back([this, thread] { run(thread); });
  }
}

void Engine::search(Job& job, std::vector<Task>& tasks, int (*progress)(int)) {
  std::unique_lock<std::mutex> lock(mutex_);
  start_threads();
  if (tasks.size() == 1 && outstanding_ == 0 && !together_.busy) return search_alone(tasks[0], progress, lock);
  job.remaining = int(tasks.size());
  outstanding_ += job.remaining;
  for (Task& task : tasks) queue_.push_back(&task);
  arrived_.notify_all();
  int reported = job.remaining;
  while (job.remaining > 0) {
    job.finished.wait_for(lock, kReport, [&] { return job.remaining == 0; });
    const int more = reported - job.remaining;
    reported = job.remaining;
    if (progress == nullptr || job.cancelled) continue;
    lock.unlock();
    const bool go_on = progress(more) != 0;
    lock.lock();
    if (!go_on) cancel(job);
  }
}

// Take a job's waiting sentences out of the queue; those being computed end with their next step.
void Engine::cancel(Job& job) {
  job.cancelled = true;
  const auto rest = std::remove_if(queue_.begin(), queue_.end(), [&](Task* task) { return task->job == &job; });
  const int removed = int(queue_.end() - rest);
  queue_.erase(rest, queue_.end());
  job.remaining -= removed;
  outstanding_ -= removed;
}

// A sentence that comes alone is computed by the calling thread, and by the others if their cores are free.
void Engine::search_alone(Task& task, int (*progress)(int), std::unique_lock<std::mutex>& lock) {
  joint_worker_.reserve(task.positions());
  together_.busy = true;
  together_.task = &task;
  together_.progress = progress;
  together_.told = std::chrono::steady_clock::now();
  const bool shared = threads_ > 1 && std::chrono::steady_clock::now() >= together_.not_before && gather(lock);
  if (lock.owns_lock()) lock.unlock();
  std::vector<Task*> done;
  if (shared)
    compute_together(0);
  else
    joint_worker_.admit({&task});
  while (joint_worker_.sentences() > 0) {
    joint_worker_.step(done);
    tell_alone();
  }
  lock.lock();
  together_.busy = false;
}

// Between two steps of a sentence that is computed alone: let the caller end it.
void Engine::tell_alone() {
  const auto now = std::chrono::steady_clock::now();
  if (together_.progress == nullptr || now < together_.told + kReport) return;
  together_.told = now;
  if (together_.progress(0) == 0) together_.task->job->cancelled = true;
}

// Wait a moment for the other threads. False: their cores are busy, and the caller computes alone.
bool Engine::gather(std::unique_lock<std::mutex>& lock) {
  together_.gathering = true;
  together_.over = false;
  together_.arrived = 0;
  const int number = ++together_.number;
  lock.unlock();
  arrived_.notify_all();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (together_.arrived < threads_ - 1 && std::chrono::steady_clock::now() < deadline) {
  }
  lock.lock();
  together_.gathering = false;
  const bool all = together_.arrived == threads_ - 1;
  if (!all) together_.not_before = std::chrono::steady_clock::now() + kPause;
  together_.gate = all ? number : -number;
  return all;
}

// Come for the sentence that is gathering; true if all others have come, too.
bool Engine::join(std::unique_lock<std::mutex>& lock) {
  if (!together_.gathering) return false;
  const int number = together_.number;
  ++together_.arrived;
  lock.unlock();
  int gate;
  while ((gate = together_.gate) != number && gate != -number) {
  }
  if (gate == number) return true;
  lock.lock();
  return false;
}

// What every thread of the team runs; the first keeps the books. Where threads have to wait for cores the team is more
// of a hindrance: then the others leave, and the caller goes on alone.
void Engine::compute_together(int thread) {
  const Part part{thread, threads_, &together_.barrier};
  std::vector<Task*> done;
  joint_worker_.admit({together_.task}, part);
  while (true) {
    part.sync();
    const bool over = together_.over;
    part.sync();  // all have read it before another sentence can change it
    if (over) return;
    joint_worker_.step(done, part);
    if (thread > 0) continue;
    tell_alone();
    const bool hindered = together_.barrier.take_yields() > kMostYields;
    if (hindered) {
      const std::lock_guard<std::mutex> lock(mutex_);
      together_.not_before = std::chrono::steady_clock::now() + kPause;
    }
    together_.over = hindered || joint_worker_.sentences() == 0;
  }
}

void Engine::run(int thread) {
  Worker worker(*model_, 1);
  std::vector<Task*> taken, done;
  int joined = 0;
  while (wait_for_work(worker, thread, joined, taken)) {
    done.clear();
    try {
      if (!taken.empty()) {
        worker.reserve(taken[0]->positions());
        worker.admit(taken);
      }
      if (worker.sentences() > 0) worker.step(done);
      finish(done, false);
    } catch (const std::bad_alloc&) {
      done.clear();
      worker.abandon(done);
      for (Task* task : taken)
        if (std::find(done.begin(), done.end(), task) == done.end()) done.push_back(task);
      finish(done, true);
    }
  }
}

// Wait until there is something to do, and take new sentences into `taken`. False: the engine ends.
bool Engine::wait_for_work(Worker& worker, int thread, int& joined, std::vector<Task*>& taken) {
  taken.clear();
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    if (stopping_) return false;
    if (thread > 0 && together_.number != joined && worker.sentences() == 0) {
      joined = together_.number;
      if (join(lock)) {
        compute_together(thread);
        lock.lock();
      }
      continue;
    }
    take(worker, taken);
    if (!taken.empty() || worker.sentences() > 0) return true;
    arrived_.wait(lock);
  }
}

// As many sentences as there are rows for, but no more than a worker's share of all that are outstanding.
void Engine::take(Worker& worker, std::vector<Task*>& taken) {
  if (queue_.empty() || (worker.sentences() > 0 && worker.free_rows() < kRefill)) return;
  const int share = (outstanding_ + threads_ - 1) / threads_;
  int rows = worker.free_rows(), tokens = 0;
  while (!queue_.empty() && worker.sentences() + int(taken.size()) < share) {
    Task* task = queue_.front();
    rows -= task->rows();
    tokens += task->length;
    const bool first = taken.empty();
    if (rows < 0 || (tokens > std::min(kEncoderTokens, task->job->options.batch_tokens) && !first)) return;
    // Longer ones than there is memory for wait until the worker has none; then the first decides.
    const int room = std::max(worker.positions(), first ? 0 : taken[0]->positions());
    if (task->positions() > room && (worker.sentences() > 0 || !first)) return;
    taken.push_back(task);
    queue_.pop_front();
  }
}

void Engine::finish(const std::vector<Task*>& tasks, bool failed) {
  if (tasks.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Task* task : tasks) {
    Job& job = *task->job;
    job.failed |= failed;
    if (--job.remaining == 0) job.finished.notify_all();  // under the lock: afterwards the job may be gone
  }
  outstanding_ -= int(tasks.size());
}

void Engine::attention(const int32_t* source, int source_length, const int32_t* target, int target_length, int layer,
                       float* out) {
  const std::lock_guard<std::mutex> lock(attention_mutex_);
  attention_worker_.attention(source, source_length, target, target_length, layer, out);
}

}  // namespace regard
