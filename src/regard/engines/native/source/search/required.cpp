#include "required.h"

#include <algorithm>

namespace regard {
namespace {

// Whether a hypothesis ends with the first `length` tokens of a sequence.
bool ends_with(const std::vector<int32_t>& tail, const std::vector<int32_t>& sequence, size_t length) {
  return tail.size() >= length && std::equal(sequence.begin(), sequence.begin() + length, tail.end() - length);
}

bool has(uint64_t met, size_t number) { return (met >> number & 1) != 0; }

}  // namespace

Required::Required(std::vector<Requirement> requirements) : requirements_(std::move(requirements)) {
  for (const Requirement& sequences : requirements_) {
    size_t weight = 0;
    for (const std::vector<int32_t>& sequence : sequences) weight = std::max(weight, sequence.size());
    weights_.push_back(int(weight));
    tokens_ += int(weight);
    longest_ = std::max(longest_, int(weight));
  }
}

void Required::needed(const std::vector<int32_t>& tail, const Progress& progress, std::vector<int32_t>& out) const {
  for (size_t number = 0; number < requirements_.size(); ++number) {
    if (has(progress.met, number)) continue;
    for (const std::vector<int32_t>& sequence : requirements_[number])
      for (size_t length = 0; length < sequence.size(); ++length)
        if (ends_with(tail, sequence, length)) out.push_back(sequence[length]);
  }
}

Progress Required::after(const std::vector<int32_t>& tail, const Progress& before) const {
  Progress progress{before.met, 0, 0};
  for (size_t number = 0; number < requirements_.size(); ++number) {
    size_t own = 0;
    for (const std::vector<int32_t>& sequence : requirements_[number]) {
      if (has(progress.met, number)) break;
      if (ends_with(tail, sequence, sequence.size())) progress.met |= uint64_t(1) << number;
      for (size_t length = own + 1; length < sequence.size(); ++length)
        if (ends_with(tail, sequence, length)) own = length;
    }
    if (has(progress.met, number))
      progress.held += weights_[number];
    else
      progress.begun = std::max(progress.begun, int(own));
  }
  return progress;
}

}  // namespace regard
