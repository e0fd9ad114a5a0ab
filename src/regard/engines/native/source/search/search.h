// Beam search of one sentence, step by step, as search/beam.py has it; a beam of 1 is greedy search.
//
// A step extends every open hypothesis by every token and takes the best K extensions. Those that end in EOS are
// finished; the next best that don't take their places. The sentence is done when K are finished, when only EOS may
// follow and has followed, or as soon as no open hypothesis can still come among the n best.
#pragma once

#include <vector>

#include "kernels/kernels.h"

namespace regard {

constexpr int kBos = 2, kEos = 3;

enum class Penalty : int { kPaper = 0, kAverage = 1 };

struct SearchOptions {
  int beam = 1, n_best = 1;
  double alpha = 0;
  Penalty penalty = Penalty::kPaper;
  bool scored = false;          // log probabilities are wanted of a greedy search, too
  int batch_tokens = 512;       // of sources that are encoded together, unless one alone has more
  std::vector<int32_t> prefix;  // what every output begins with
  int no_repeat = 0;            // if above 0: no so many tokens in a row come twice
};

struct Hypothesis {
  std::vector<int32_t> tokens;       // without BOS and EOS
  std::vector<double> token_scores;  // with that of EOS
  double log_probability, score;
};

class Search {
 public:
  // limit: how many tokens, EOS aside, the output may have.
  void begin(const SearchOptions& options, int limit);

  int open() const { return open_; }
  int length() const { return length_; }  // tokens of the open hypotheses
  int32_t last_token(int row) const { return length_ == 0 ? kBos : nodes_[index(length_, row)].token; }
  bool done() const { return done_; }
  bool reached_limit() const { return length_ >= limit_; }
  std::vector<Hypothesis>& found() { return found_; }

  // What is wanted of the next projection for an open hypothesis.
  void ask(int row, Selection& selection);

  // Take a step. selections and normalisers: one for each open hypothesis. parents[j]: which was extended to be the
  // j-th of those open now.
  void step(const Selection* selections, const float* normalisers, int* parents);

 private:
  struct Node {
    int32_t token;
    int parent;
    double score;
  };
  struct Candidate {
    double total, score;
    int parent;
    int32_t token;
  };

  bool normalised() const { return options_->scored || options_->beam > 1; }
  int forced() const;
  int choices() const { return normalised() ? options_->beam + 1 : 1; }  // tokens that a hypothesis may go on with
  void ban_repeats(int row);
  size_t index(int length, int row) const { return size_t(length - 1) * options_->beam + row; }
  double penalty(int length) const;
  void extend(const Selection* selections, const float* normalisers);
  void finish(const Candidate& candidate);
  bool decided() const;

  const SearchOptions* options_ = nullptr;
  int limit_ = 0, open_ = 0, length_ = 0, finished_ = 0;
  bool done_ = true;
  std::vector<std::vector<int32_t>> banned_;  // by open hypothesis: tokens that would repeat something
  std::vector<int32_t> history_;
  std::vector<Node> nodes_;  // K a step: token, and which open hypothesis it extends
  std::vector<double> totals_;
  std::vector<Candidate> candidates_;
  std::vector<Hypothesis> found_;  // the n best that are finished, the best first
};

// log Σ exp of a row's logits, from the sums of its chunks.
float normaliser(const PartialSum* sums, int chunks);

}  // namespace regard
