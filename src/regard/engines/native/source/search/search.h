// Beam search of one sentence, step by step, as search/beam.py has it; a beam of 1 is greedy search.
//
// A step extends every open hypothesis by every token and takes the best K extensions. Those that end in EOS are
// finished; the next best that don't take their places. The sentence is done when K are finished, when only EOS may
// follow and has followed, or as soon as no open hypothesis can still come among the n best.
//
// With required tokens it is the grid beam search of search/required.py: open hypotheses are kept in banks by their
// number of required tokens, and the tokens that continue what is missing are tried besides the best.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/kernels.h"
#include "required.h"

namespace regard {

constexpr int kBos = 2, kEos = 3;

enum class Penalty : int { kPaper = 0, kAverage = 1 };

struct SearchOptions {
  int beam = 1, n_best = 1;
  double alpha = 0;
  Penalty penalty = Penalty::kPaper;
  bool scored = false;          // log probabilities are wanted of a greedy search, too
  int batch_tokens = 512;       // of sources that are encoded together, unless one alone has more
  int no_repeat = 0;            // if above 0: no so many tokens in a row come twice
};

// The rules of one sentence.
struct Rules {
  std::vector<int32_t> prefix;  // what every output begins with
  Required required;

  // One for each number of required tokens, from none to all.
  int banks() const { return required.tokens() + 1; }
  // Open hypotheses of a bank: as many as the beam has, if all banks together have room for them.
  int bank_width(int beam) const {
    return std::max(1, std::min(beam, std::max(int(Required::kOpen), beam) / banks()));
  }
  int rows(int beam) const { return banks() * bank_width(beam); }
  bool empty() const { return required.empty(); }
};

struct Hypothesis {
  std::vector<int32_t> tokens;       // without BOS and EOS
  std::vector<double> token_scores;  // with that of EOS
  double log_probability, score;
};

class Search {
 public:
  // limit: how many tokens, EOS aside, the output may have.
  void begin(const SearchOptions& options, const Rules& rules, int limit);

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
    Progress progress;
  };
  // An open hypothesis.
  struct Open {
    double total = 0;
    Progress progress;
    std::vector<int32_t> banned;  // tokens that would repeat something
    std::vector<int32_t> asked;   // tokens whose logits were asked for: the forced one, or those that are needed and EOS
    std::vector<float> asked_logits;
  };

  bool normalised() const { return options_->scored || options_->beam > 1 || !rules_->empty(); }
  int forced() const;
  int choices() const { return normalised() ? options_->beam + 1 : 1; }  // tokens that a hypothesis may go on with
  void read_history(int row);
  void ban_repeats(int row);
  size_t index(int length, int row) const { return size_t(length - 1) * rows_ + row; }
  double penalty(int length) const;
  void extend(const Selection* selections, const float* normalisers);
  void extend_by(int row, int32_t token, float logit, float normaliser, bool needed);
  void finish(const Candidate& candidate);
  bool decided() const;

  const SearchOptions* options_ = nullptr;
  const Rules* rules_ = nullptr;
  int rows_ = 0;  // the most open hypotheses
  int limit_ = 0, open_ = 0, length_ = 0, finished_ = 0;
  bool done_ = true;
  std::vector<Open> hypotheses_;
  std::vector<int32_t> history_;
  std::vector<Node> nodes_;  // so many as rows a step: token, and which open hypothesis it extends
  std::vector<Candidate> candidates_;
  std::vector<int> seen_, kept_;  // by bank: candidates that were looked at, and those that stay open
  std::vector<Hypothesis> found_;  // the n best that are finished, the best first
};

// log Σ exp of a row's logits, from the sums of its chunks.
float normaliser(const PartialSum* sums, int chunks);

}  // namespace regard
