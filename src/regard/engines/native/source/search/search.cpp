#include "search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace regard {

void Search::begin(const SearchOptions& options, int limit) {
  options_ = &options;
  limit_ = limit;
  open_ = 1;
  length_ = finished_ = 0;
  done_ = false;
  nodes_.clear();
  found_.clear();
  candidates_.reserve(size_t(options.beam) * (options.beam + 1));
  totals_.assign(options.beam, 0.0);
  banned_.resize(options.beam);
  for (std::vector<int32_t>& tokens : banned_) tokens.clear();
}

int Search::forced() const {
  if (length_ < int(options_->prefix.size())) return options_->prefix[length_];
  return length_ >= limit_ ? kEos : -1;
}

// Each token that has followed the last n - 1 tokens before, as search/constraints.py has it.
void Search::ban_repeats(int row) {
  const int n = options_->no_repeat;
  banned_[row].clear();
  if (length_ < n) return;
  history_.resize(length_);
  for (int length = length_, at = row; length > 0; --length) {
    const Node& node = nodes_[index(length, at)];
    history_[length - 1] = node.token;
    at = node.parent;
  }
  const auto tail = history_.end() - (n - 1);
  for (auto start = history_.begin(); start + n <= history_.end(); ++start)
    if (std::equal(tail, history_.end(), start)) banned_[row].push_back(start[n - 1]);
}

void Search::ask(int row, Selection& selection) {
  if (options_->no_repeat > 0) ban_repeats(row);
  selection.threshold = -std::numeric_limits<float>::infinity();
  selection.wanted = std::min<int>(choices() + int(banned_[row].size()), kMostChoices);
  selection.kept = 0;
  selection.forced = forced();
  selection.forced_logit = std::numeric_limits<float>::quiet_NaN();
  selection.normalise = normalised();
}

double Search::penalty(int length) const {
  const double base = options_->penalty == Penalty::kPaper ? (5.0 + length) / 6.0 : double(length);
  return std::pow(base, options_->alpha);
}

// The best 2 K extensions, in the reference's order: by total, then by parent, then by logit.
void Search::extend(const Selection* selections, const float* normalisers) {
  candidates_.clear();
  const int forced_token = forced();
  for (int row = 0; row < open_; ++row) {
    const Selection& found = selections[row];
    const std::vector<int32_t>& banned = banned_[row];
    const int count = forced_token >= 0 ? 1 : found.kept;
    for (int kept = 0, taken = 0; kept < count && taken < choices(); ++kept) {
      const float logit = forced_token >= 0 ? found.forced_logit : found.logit[kept];
      const int32_t token = forced_token >= 0 ? forced_token : found.token[kept];
      if (forced_token < 0 && std::find(banned.begin(), banned.end(), token) != banned.end()) continue;
      ++taken;
      const float score = normalised() ? std::min(logit - normalisers[row], 0.0f) : 0.0f;
      if (!std::isfinite(logit) || !std::isfinite(score)) continue;
      candidates_.push_back({totals_[row] + double(score), double(score), row, token});
    }
  }
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.total > b.total; });
  if (candidates_.size() > 2 * size_t(options_->beam)) candidates_.resize(2 * size_t(options_->beam));
}

void Search::step(const Selection* selections, const float* normalisers, int* parents) {
  extend(selections, normalisers);
  const int width = options_->beam;
  for (int place = 0; place < std::min<int>(width, candidates_.size()); ++place)
    if (candidates_[place].token == kEos) finish(candidates_[place]);
  nodes_.resize(nodes_.size() + width);
  ++length_;
  open_ = 0;
  for (const Candidate& candidate : candidates_) {
    if (candidate.token == kEos || open_ == width) continue;
    nodes_[index(length_, open_)] = {candidate.token, candidate.parent, candidate.score};
    parents[open_] = candidate.parent;
    ++open_;
  }
  int next = 0;  // totals change only after all candidates have been read from them
  for (const Candidate& candidate : candidates_)
    if (candidate.token != kEos && next < open_) totals_[next++] = candidate.total;
  done_ = open_ == 0 || finished_ >= width || decided();
}

void Search::finish(const Candidate& candidate) {
  ++finished_;
  const double score = candidate.total / penalty(length_ + 1);
  if (int(found_.size()) == options_->n_best && !(score > found_.back().score)) return;
  Hypothesis hypothesis;
  hypothesis.log_probability = candidate.total;
  hypothesis.score = score;
  hypothesis.tokens.resize(length_);
  hypothesis.token_scores.resize(length_ + 1);
  hypothesis.token_scores[length_] = candidate.score;
  for (int length = length_, row = candidate.parent; length > 0; --length) {
    const Node& node = nodes_[index(length, row)];
    hypothesis.tokens[length - 1] = node.token;
    hypothesis.token_scores[length - 1] = node.score;
    row = node.parent;
  }
  const auto place = std::upper_bound(found_.begin(), found_.end(), score,
                                      [](double given, const Hypothesis& other) { return given > other.score; });
  found_.insert(place, std::move(hypothesis));
  if (int(found_.size()) > options_->n_best) found_.pop_back();
}

// Whether the best open hypothesis can't lead to a better score than the worst of the n best has: no log probability is
// above 0, and the penalty is greatest at the limit.
bool Search::decided() const {
  return int(found_.size()) == options_->n_best && found_.back().score >= totals_[0] / penalty(limit_ + 1);
}

float normaliser(const PartialSum* sums, int chunks) {
  float most = sums[0].reference;
  for (int chunk = 1; chunk < chunks; ++chunk) most = std::max(most, sums[chunk].reference);
  double total = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) total += sums[chunk].sum * std::exp(double(sums[chunk].reference) - most);
  return float(std::log(total) + most);
}

}  // namespace regard
