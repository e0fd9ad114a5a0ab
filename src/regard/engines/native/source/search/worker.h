// One thread's sentences: which rows of its workspace they have, and what becomes of them in a step.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <vector>

#include "model/forward.h"
#include "search.h"

namespace regard {

// A call: its options, and how many of its sentences are not yet done.
struct Job {
  SearchOptions options;
  int remaining = 0;
  std::atomic<bool> cancelled{false};
  bool failed = false;  // there was not enough memory
  std::condition_variable finished;  // told when none remains: by the job, or a call would wake up all others
};

// A sentence of a job.
struct Task {
  Job* job;
  const int32_t* ids;  // ended by EOS
  int length, limit;
  Rules rules;
  bool limited = false;  // by the engine's positions rather than by the job's own limit
  bool unsure = false;   // it was limited, and came to that limit
  std::vector<Hypothesis> found;

  int positions() const { return length > limit + 1 ? length : limit + 1; }
  int rows() const { return rules.rows(job->options.beam); }
};

constexpr int kRows = 64;            // hypotheses that a worker extends together; a beam has one each
static_assert(kRows >= Required::kMostBanks);
constexpr int kEncoderTokens = 512;  // that are encoded together, unless one sentence has more

class Worker {
 public:
  Worker(const Model& model, int threads) : model_(model), threads_(threads) {}

  int sentences() const { return int(slots_.size()); }
  int free_rows() const { return kRows - used_rows_; }
  int positions() const { return space_ == nullptr ? 0 : space_->positions(); }

  // Reserve memory for sentences of so many positions, unless it is there. Only while there are none.
  void reserve(int positions);
  // Encode new sentences and give them rows.
  void admit(const std::vector<Task*>& tasks, const Part& part = {});
  // Extend all hypotheses by a token. Sentences that are done are appended to `done`.
  void step(std::vector<Task*>& done, const Part& part = {});
  // Forget all sentences.
  void abandon(std::vector<Task*>& tasks);

  // The mean cross-attention of a layer for each token of a given target, at the position that predicts it.
  void attention(const int32_t* source, int source_length, const int32_t* target, int target_length, int layer,
                 float* out);

 private:
  struct Slot {
    Task* task = nullptr;
    Search search;
    std::vector<int> rows;  // of the workspace; the first also names the place of its source's keys and values
    int side = 0;           // which of two tables of offsets is in use
  };

  int32_t* offsets(int side, int row) {
    return tables_.data() + (size_t(side) * kRows + row) * space_->positions();
  }
  void collect_rows();
  bool advance(Slot& slot, int first);
  void release(Slot& slot);

  const Model& model_;
  const int threads_;
  std::unique_ptr<Workspace> space_;
  std::vector<int32_t> tables_;
  std::vector<int> free_;
  int used_rows_ = 0;
  std::vector<Slot> slots_, spare_;
  std::vector<DecoderRow> rows_;
  std::vector<Source> sources_;
  std::vector<float> normalisers_;
};

}  // namespace regard
