#include "c_api.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>

#include "search/engine.h"

namespace {

using namespace regard;

constexpr int64_t kMostSources = 1 << 24;

void say(char* message, int64_t size, const char* what) {
  if (message != nullptr && size > 0) std::snprintf(message, size_t(size), "%s", what);
}

// Run something that may throw; C knows no exceptions.
template <class F>
bool guarded(char* message, int64_t size, const F& run) {
  try {
    run();
    return true;
  } catch (const std::bad_alloc&) {
    say(message, size, "can't allocate memory");
  } catch (const std::exception& error) {
    say(message, size, error.what());
  }
  return false;
}

void check(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

void check_ids(const int32_t* ids, int64_t length, int32_t vocabulary) {
  for (int64_t at = 0; at < length; ++at)
    check(ids[at] >= 0 && ids[at] < vocabulary, "an id is not in the vocabulary");
}

SearchOptions options_of(const RegardOptions& given) {
  check(given.beam >= 1 && given.beam < kMostChoices, "the beam is out of range");
  check(given.n_best >= 1 && given.n_best <= given.beam, "n_best is out of range");
  check(given.extra_length >= 0, "extra_length is out of range");
  check(given.alpha >= 0 && given.alpha <= 10, "alpha is out of range");
  check(given.penalty == 0 || given.penalty == 1, "the penalty is unknown");
  check(given.batch_tokens >= 1, "batch_tokens is out of range");
  check(given.no_repeat >= 0, "no_repeat is out of range");
  SearchOptions options;
  options.beam = given.beam;
  options.n_best = given.n_best;
  options.alpha = given.alpha;
  options.penalty = Penalty(given.penalty);
  options.scored = given.scored != 0;
  options.batch_tokens = given.batch_tokens;
  options.no_repeat = given.no_repeat;
  return options;
}

Required required_of(const int32_t* given, int64_t length, int32_t vocabulary) {
  std::vector<Required::Requirement> requirements;
  int64_t at = 0;
  const auto read = [&] {
    check(at < length, "what is required is cut off");
    const int32_t count = given[at++];
    check(count >= 1 && count <= length - at, "what is required is damaged");  // each of them takes a number at least
    return count;
  };
  while (at < length) {
    Required::Requirement sequences(read());
    for (std::vector<int32_t>& sequence : sequences) {
      const int32_t count = read();
      check_ids(given + at, count, vocabulary);
      sequence.assign(given + at, given + at + count);
      at += count;
      check(std::find(sequence.begin(), sequence.end(), kEos) == sequence.end(), "EOS can't be required");
    }
    requirements.push_back(std::move(sequences));
    check(requirements.size() < Required::kMostBanks, "too much is required");
  }
  Required required(std::move(requirements));
  check(required.tokens() < Required::kMostBanks, "too much is required");
  return required;
}

Rules rules_of(const RegardRules& given, const RegardConfig& config) {
  check(given.prefix_length >= 0 && given.prefix_length < config.positions, "the prefix is too long");
  check(given.required_length >= 0, "what is required is damaged");
  check_ids(given.prefix, given.prefix_length, config.vocabulary);
  return {{given.prefix, given.prefix + given.prefix_length},
          required_of(given.required, given.required_length, config.vocabulary)};
}

std::vector<Task> tasks_of(Job& job, const int32_t* ids, const int64_t* lengths, int64_t sources,
                           const RegardRules* rules, int extra_length, const RegardConfig& config) {
  check(sources >= 0 && sources <= kMostSources, "there are too many sources");
  std::vector<Task> tasks(sources);
  const int64_t last = config.positions - 1;  // positions hold BOS and the tokens, or the tokens and EOS
  for (int64_t source = 0; source < sources; ids += lengths[source], ++source) {
    check(lengths[source] >= 1 && lengths[source] <= config.positions, "a source is too long");
    check_ids(ids, lengths[source], config.source_vocabulary);
    Task& task = tasks[source];
    if (rules != nullptr) task.rules = rules_of(rules[source], config);
    const int64_t least = std::max<int64_t>(task.rules.prefix.size(), task.rules.required.tokens());
    const int64_t wanted = std::max(lengths[source] - 1 + extra_length, least);
    task.job = &job;
    task.ids = ids;
    task.length = int(lengths[source]);
    task.limit = int(std::min(wanted, last));
    task.limited = wanted > last && !config.bounded;
  }
  return tasks;
}

// What a search found, and the memory that it is in.
struct Found : RegardFound {
  std::vector<int32_t> all_counts, all_lengths, all_ids;
  std::vector<double> all_scores, all_totals, all_token_scores;

  void add(const Task& task) {
    all_counts.push_back(task.unsure ? -1 : int32_t(task.found.size()));
    if (task.unsure) return;
    for (const Hypothesis& one : task.found) {
      all_lengths.push_back(int32_t(one.tokens.size()));
      all_ids.insert(all_ids.end(), one.tokens.begin(), one.tokens.end());
      all_scores.push_back(one.score);
      all_totals.push_back(one.log_probability);
      all_token_scores.insert(all_token_scores.end(), one.token_scores.begin(), one.token_scores.end());
    }
  }

  void point() {
    sources = int64_t(all_counts.size());
    hypotheses = int64_t(all_lengths.size());
    tokens = int64_t(all_ids.size());
    counts = all_counts.data();
    lengths = all_lengths.data();
    ids = all_ids.data();
    scores = all_scores.data();
    log_probabilities = all_totals.data();
    token_scores = all_token_scores.data();
  }
};

// The longest first: sentences that end at about the same time stand together, and short ones fill the gaps at the end.
void search_longest_first(Engine& engine, Job& job, std::vector<Task>& tasks, int (*progress)(int)) {
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return tasks[a].length > tasks[b].length; });
  std::vector<Task> sorted(tasks.size());
  for (size_t at = 0; at < order.size(); ++at) sorted[at] = std::move(tasks[order[at]]);
  engine.search(job, sorted, progress);
  for (size_t at = 0; at < order.size(); ++at) tasks[order[at]] = std::move(sorted[at]);
}

}  // namespace

int32_t regard_native_abi() { return 4; }

const char* regard_native_isa(const char* name) {
  const Kernels* kernels = find_kernels(name);
  return kernels == nullptr ? nullptr : kernels->name;
}

void* regard_native_create(const RegardConfig* config, const RegardTensor* tensors, int64_t count, const char* isa,
                           int32_t threads, char* message, int64_t message_size) {
  void* made = nullptr;
  guarded(message, message_size, [&] {
    const Kernels* kernels = find_kernels(isa);
    check(kernels != nullptr, "this processor does not have the instruction set");
    check(threads >= 1 && threads <= 1024, "the number of threads is out of range");
    made = new Engine(make_model(*config, tensors, count, kernels), threads);
  });
  return made;
}

void regard_native_free(void* engine) { delete static_cast<Engine*>(engine); }

RegardFound* regard_native_search(void* engine, const int32_t* ids, const int64_t* lengths, int64_t sources,
                                  const RegardRules* rules, const RegardOptions* options, int (*progress)(int),
                                  char* message, int64_t message_size) {
  auto found = std::make_unique<Found>();
  const bool done = guarded(message, message_size, [&] {
    Engine& searcher = *static_cast<Engine*>(engine);
    const RegardConfig& config = searcher.model().config;
    Job job;
    job.options = options_of(*options);
    std::vector<Task> tasks = tasks_of(job, ids, lengths, sources, rules, options->extra_length, config);
    if (!tasks.empty()) search_longest_first(searcher, job, tasks, progress);
    if (job.failed) throw std::bad_alloc();
    for (const Task& task : tasks) found->add(task);
    found->point();
  });
  return done ? found.release() : nullptr;
}

void regard_native_free_found(RegardFound* found) { delete static_cast<Found*>(found); }

int32_t regard_native_attention(void* engine, const int32_t* source, int64_t source_length, const int32_t* target,
                                int64_t target_length, int32_t layer, float* out, char* message,
                                int64_t message_size) {
  return guarded(message, message_size, [&] {
    Engine& searcher = *static_cast<Engine*>(engine);
    const RegardConfig& config = searcher.model().config;
    check(source_length >= 1 && source_length <= config.positions, "the source is too long");
    check(target_length >= 0 && target_length <= config.positions, "the target is too long");
    check(layer >= 0 && layer < config.decoder_layers, "there is no such layer");
    check_ids(source, source_length, config.source_vocabulary);
    check_ids(target, target_length, config.vocabulary);
    searcher.attention(source, int(source_length), target, int(target_length), layer, out);
  });
}
