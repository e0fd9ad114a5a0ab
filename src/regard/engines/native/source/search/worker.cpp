#include "worker.h"

#include <algorithm>

namespace regard {

constexpr int kLeastPositions = 128;

void Worker::reserve(int positions) {
  if (this->positions() >= positions) return;
  int enough = kLeastPositions;
  while (enough < positions) enough *= 2;
  space_.reset();
  space_ = std::make_unique<Workspace>(model_, kRows, std::max(enough, kEncoderTokens), enough, threads_);
  tables_.assign(size_t(2) * kRows * enough, 0);
  free_.resize(kRows);
  for (int row = 0; row < kRows; ++row) free_[row] = kRows - 1 - row;
  normalisers_.resize(kRows);
}

void Worker::admit(const std::vector<Task*>& tasks, const Part& part) {
  if (part.index == 0) {
    sources_.clear();
    for (Task* task : tasks) {
      if (spare_.empty()) spare_.emplace_back();
      slots_.push_back(std::move(spare_.back()));
      spare_.pop_back();
      Slot& slot = slots_.back();
      slot.task = task;
      slot.rows.assign(free_.end() - task->rows(), free_.end());
      free_.resize(free_.size() - slot.rows.size());
      used_rows_ += int(slot.rows.size());
      slot.search.begin(task->job->options, task->rules, task->limit);
      sources_.push_back({task->ids, task->length, slot.rows[0]});
    }
  }
  part.sync();
  encode(*space_, part, sources_);
}

// The open hypotheses of all sentences, one after another, with the table of where their keys and values stand.
void Worker::collect_rows() {
  rows_.clear();
  for (Slot& slot : slots_) {
    const int position = slot.search.length();
    for (int open = 0; open < slot.search.open(); ++open) {
      const int row = slot.rows[open];
      int32_t* table = offsets(slot.side, row);
      table[position] = space_->cache_offset(row, position);
      slot.search.ask(open, space_->selections[rows_.size()]);
      rows_.push_back({slot.search.last_token(open), position, table, slot.rows[0], slot.task->length});
    }
  }
}

// Take a sentence's step; its rows begin at `first`. A hypothesis takes over its parent's table of offsets, nothing else.
bool Worker::advance(Slot& slot, int first) {
  const int before = slot.search.open(), positions = slot.search.length() + 1;
  const Selection* selections = space_->selections.data() + first;
  for (int open = 0; open < before; ++open)
    if (selections[open].normalise)
      normalisers_[open] = normaliser(space_->sums.data() + size_t(first + open) * space_->chunks, space_->chunks);
  int parents[kMostChoices];
  slot.search.step(selections, normalisers_.data(), parents);
  if (slot.search.done() || slot.task->job->cancelled) return true;
  bool moved = false;
  for (int open = 0; open < slot.search.open(); ++open) moved |= parents[open] != open;
  if (moved) {
    for (int open = 0; open < slot.search.open(); ++open)
      std::copy_n(offsets(slot.side, slot.rows[parents[open]]), positions, offsets(1 - slot.side, slot.rows[open]));
    slot.side = 1 - slot.side;
  }
  return false;
}

void Worker::step(std::vector<Task*>& done, const Part& part) {
  if (part.index == 0) collect_rows();
  part.sync();
  decode(*space_, part, rows_);
  if (part.index > 0) return;
  int first = 0;
  size_t kept = 0;
  for (size_t at = 0; at < slots_.size(); ++at) {
    Slot& slot = slots_[at];
    const int rows = slot.search.open();
    if (advance(slot, first)) {
      slot.task->unsure = slot.task->limited && slot.search.length() > slot.task->limit;
      slot.task->found = std::move(slot.search.found());
      done.push_back(slot.task);
      release(slot);
    } else {
      if (kept != at) std::swap(slots_[kept], slots_[at]);
      ++kept;
    }
    first += rows;
  }
  while (slots_.size() > kept) {
    spare_.push_back(std::move(slots_.back()));
    slots_.pop_back();
  }
}

void Worker::release(Slot& slot) {
  free_.insert(free_.end(), slot.rows.begin(), slot.rows.end());
  used_rows_ -= int(slot.rows.size());
  slot.task = nullptr;
  slot.side = 0;
}

void Worker::abandon(std::vector<Task*>& tasks) {
  for (Slot& slot : slots_) {
    tasks.push_back(slot.task);
    release(slot);
  }
  slots_.clear();
}

void Worker::attention(const int32_t* source, int source_length, const int32_t* target, int target_length, int layer,
                       float* out) {
  reserve(std::max(source_length, target_length));
  sources_ = {{source, source_length, 0}};
  encode(*space_, Part(), sources_);
  int32_t* table = offsets(0, 0);
  for (int position = 0; position < target_length; ++position) table[position] = space_->cache_offset(0, position);
  for (int first = 0; first < target_length; first += kRows) {
    rows_.clear();
    for (int position = first; position < std::min(first + kRows, target_length); ++position)
      rows_.push_back({position == 0 ? kBos : target[position - 1], position, table, 0, source_length});
    align(*space_, rows_, layer, out + size_t(first) * source_length);
  }
}

}  // namespace regard
