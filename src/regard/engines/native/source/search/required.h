// Sequences of tokens that an output must contain, as search/required.py has them: of each requirement, one of its
// sequences is enough.
#pragma once

#include <cstdint>
#include <vector>

namespace regard {

// What an open hypothesis has of the required tokens.
struct Progress {
  uint64_t met = 0;  // a bit for each requirement
  int held = 0;      // tokens of the requirements met
  int begun = 0;     // tokens of the sequence begun at its end

  int covered() const { return held + begun; }
};

class Required {
 public:
  static constexpr int kMostBanks = 64;
  static constexpr int kOpen = 32;  // hypotheses of all banks, unless the beam is wider or there are more banks

  using Requirement = std::vector<std::vector<int32_t>>;

  Required() = default;
  explicit Required(std::vector<Requirement> requirements);

  bool empty() const { return requirements_.empty(); }
  int tokens() const { return tokens_; }  // of the longest sequence of each requirement
  int longest() const { return longest_; }
  bool complete(const Progress& progress) const { return progress.held == tokens_; }

  // Append the tokens that begin or continue what is missing; no other token increases `covered`. tail: at least the
  // last `longest` tokens of the hypothesis, if it has so many.
  void needed(const std::vector<int32_t>& tail, const Progress& progress, std::vector<int32_t>& out) const;
  // The progress after a token that was needed, the last of `tail`.
  Progress after(const std::vector<int32_t>& tail, const Progress& before) const;

 private:
  std::vector<Requirement> requirements_;
  std::vector<int> weights_;
  int tokens_ = 0, longest_ = 0;
};

}  // namespace regard
