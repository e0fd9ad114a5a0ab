#include "search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace regard {

void Search::begin(const SearchOptions& options, const Rules& rules, int limit) {
  options_ = &options;
  rules_ = &rules;
  rows_ = rules.rows(options.beam);
  limit_ = limit;
  open_ = 1;
  length_ = finished_ = 0;
  done_ = false;
  nodes_.clear();
  found_.clear();
  candidates_.reserve(size_t(options.beam) * (options.beam + 1));
  hypotheses_.resize(rows_);
  hypotheses_[0].total = 0;
  hypotheses_[0].progress = Progress();
  for (Open& one : hypotheses_) one.banned.clear();
}

int Search::forced() const {
  if (length_ < int(rules_->prefix.size())) return rules_->prefix[length_];
  return length_ >= limit_ ? kEos : -1;
}

void Search::read_history(int row) {
  history_.resize(length_);
  for (int length = length_, at = row; length > 0; --length) {
    const Node& node = nodes_[index(length, at)];
    history_[length - 1] = node.token;
    at = node.parent;
  }
}

// Each token that has followed the last n - 1 tokens before, as search/constraints.py has it.
void Search::ban_repeats(int row) {
  const int n = options_->no_repeat;
  std::vector<int32_t>& banned = hypotheses_[row].banned;
  banned.clear();
  if (length_ < n) return;
  read_history(row);
  const auto tail = history_.end() - (n - 1);
  for (auto start = history_.begin(); start + n <= history_.end(); ++start)
    if (std::equal(tail, history_.end(), start)) banned.push_back(start[n - 1]);
}

void Search::ask(int row, Selection& selection) {
  if (options_->no_repeat > 0) ban_repeats(row);
  Open& one = hypotheses_[row];
  one.asked.clear();
  if (forced() >= 0) {
    one.asked.push_back(forced());
  } else if (!rules_->empty()) {
    read_history(row);
    one.asked.push_back(kEos);
    rules_->required.needed(history_, one.progress, one.asked);
    std::sort(one.asked.begin(), one.asked.end());
    one.asked.erase(std::unique(one.asked.begin(), one.asked.end()), one.asked.end());
  }
  one.asked_logits.assign(one.asked.size(), std::numeric_limits<float>::quiet_NaN());
  selection.asked = one.asked.data();
  selection.asked_logit = one.asked_logits.data();
  selection.asked_count = int(one.asked.size());
  selection.asked_next = 0;
  selection.threshold = -std::numeric_limits<float>::infinity();
  selection.wanted = std::min<int>(choices() + int(one.banned.size()), kMostChoices);
  selection.kept = 0;
  selection.normalise = normalised();
}

double Search::penalty(int length) const {
  const double base = options_->penalty == Penalty::kPaper ? (5.0 + length) / 6.0 : double(length);
  return std::pow(base, options_->alpha);
}

// The best extensions, in the reference's order: by total, then by parent, then by logit. Without required tokens 2 K
// are enough.
void Search::extend(const Selection* selections, const float* normalisers) {
  candidates_.clear();
  const bool forced_token = forced() >= 0;
  for (int row = 0; row < open_; ++row) {
    const Selection& found = selections[row];
    const Open& one = hypotheses_[row];
    const float normaliser = normalised() ? normalisers[row] : 0.0f;
    if (!rules_->empty()) read_history(row);
    for (int kept = 0, taken = 0; !forced_token && kept < found.kept && taken < choices(); ++kept) {
      if (std::find(one.banned.begin(), one.banned.end(), found.token[kept]) != one.banned.end()) continue;
      ++taken;
      extend_by(row, found.token[kept], found.logit[kept], normaliser, false);
    }
    for (size_t at = 0; at < one.asked.size(); ++at) {
      const int32_t token = one.asked[at];
      const bool banned = std::find(one.banned.begin(), one.banned.end(), token) != one.banned.end();
      if (forced_token || (token >= kReserved && !banned)) extend_by(row, token, one.asked_logits[at], normaliser, true);
    }
  }
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.total > b.total; });
  if (rules_->empty() && candidates_.size() > 2 * size_t(options_->beam)) candidates_.resize(2 * size_t(options_->beam));
}

// Add a hypothesis with another token to the candidates; it may end only with all required tokens. needed: whether the
// token can be a required one.
void Search::extend_by(int row, int32_t token, float logit, float normaliser, bool needed) {
  const Open& one = hypotheses_[row];
  const float score = normalised() ? std::min(logit - normaliser, 0.0f) : 0.0f;
  if (!std::isfinite(logit) || !std::isfinite(score)) return;
  Progress progress = one.progress;
  if (token == kEos) {
    if (!rules_->required.complete(progress)) return;
  } else if (!needed) {
    progress.begun = 0;
  } else {
    history_.push_back(token);
    progress = rules_->required.after(history_, progress);
    history_.pop_back();
  }
  candidates_.push_back({one.total + double(score), double(score), row, token, progress});
}

void Search::step(const Selection* selections, const float* normalisers, int* parents) {
  extend(selections, normalisers);
  const int width = rules_->bank_width(options_->beam);
  seen_.assign(rules_->banks(), 0);
  kept_.assign(rules_->banks(), 0);
  nodes_.resize(nodes_.size() + rows_);
  ++length_;
  open_ = 0;
  for (const Candidate& candidate : candidates_) {
    const int bank = candidate.progress.covered();
    const bool among_best = seen_[bank]++ < width;
    if (candidate.token == kEos) {
      if (among_best) finish(candidate);
    } else if (kept_[bank]++ < width) {
      nodes_[index(length_, open_)] = {candidate.token, candidate.parent, candidate.score};
      parents[open_] = candidate.parent;
      hypotheses_[open_].total = candidate.total;
      hypotheses_[open_].progress = candidate.progress;
      ++open_;
    }
  }
  done_ = open_ == 0 || finished_ >= options_->beam || decided();
}

void Search::finish(const Candidate& candidate) {
  ++finished_;
  const int before = length_ - 1;  // tokens, without EOS
  const double score = candidate.total / penalty(length_);
  if (int(found_.size()) == options_->n_best && !(score > found_.back().score)) return;
  Hypothesis hypothesis;
  hypothesis.log_probability = candidate.total;
  hypothesis.score = score;
  hypothesis.tokens.resize(before);
  hypothesis.token_scores.resize(length_);
  hypothesis.token_scores[before] = candidate.score;
  for (int length = before, row = candidate.parent; length > 0; --length) {
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
  return int(found_.size()) == options_->n_best && found_.back().score >= hypotheses_[0].total / penalty(limit_ + 1);
}

float normaliser(const PartialSum* sums, int chunks) {
  float most = sums[0].reference;
  for (int chunk = 1; chunk < chunks; ++chunk) most = std::max(most, sums[chunk].reference);
  double total = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) total += sums[chunk].sum * std::exp(double(sums[chunk].reference) - most);
  return float(std::log(total) + most);
}

}  // namespace regard
