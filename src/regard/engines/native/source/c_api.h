// What Python calls, by ctypes: plain structs and pointers.
#pragma once

#include <cstdint>

#include "model/model.h"

#pragma GCC visibility push(default)
extern "C" {

struct RegardOptions {
  int32_t beam, n_best, extra_length, penalty, scored, batch_tokens;
  double alpha;
  int32_t no_repeat;
};

// The rules of one source.
struct RegardRules {
  const int32_t* prefix;    // what its outputs begin with
  const int32_t* required;  // of each requirement its number of sequences, and of each its length and its tokens
  int32_t prefix_length, required_length;
};

// The hypotheses of all sources, one after another: counts[i] of source i, each with lengths[j] tokens.
struct RegardFound {
  int64_t sources, hypotheses, tokens;
  const int32_t* counts;        // by source; -1: it came to the engine's last position, and may have gone on
  const int32_t* lengths;       // by hypothesis
  const int32_t* ids;           // by token
  const double* scores;         // by hypothesis
  const double* log_probabilities;
  const double* token_scores;   // by token, and one more for the EOS of each hypothesis
};

// Which version of these functions and structs the library has.
int32_t regard_native_abi();
// The instruction set that `name` stands for ("auto": the best), or null if this processor does not have it.
const char* regard_native_isa(const char* name);
// A model of tensors in the order of pack.py, or null and a message.
void* regard_native_create(const RegardConfig* config, const RegardTensor* tensors, int64_t count, const char* isa,
                           int32_t threads, char* message, int64_t message_size);
void regard_native_free(void* engine);
// Search for the outputs of sources whose ids, each ended by EOS, stand one after another. rules: one for each source, or
// null. Null and a message if it fails. A source has no hypotheses if no output can hold all that is required of it.
RegardFound* regard_native_search(void* engine, const int32_t* ids, const int64_t* lengths, int64_t sources,
                                  const RegardRules* rules, const RegardOptions* options, int (*progress)(int),
                                  char* message, int64_t message_size);
void regard_native_free_found(RegardFound* found);
// The cross-attention of a layer, the mean of its heads: target_length rows of source_length. 0 if it fails.
int32_t regard_native_attention(void* engine, const int32_t* source, int64_t source_length, const int32_t* target,
                                int64_t target_length, int32_t layer, float* out, char* message,
                                int64_t message_size);
// For tests and benchmarks: rows times a matrix, packed and computed as a model's are. kind: float32 (0), int8 (1), or int8
// with rows that have no negative numbers (2).
int32_t regard_native_product(const char* isa, const float* rows, int64_t count, const float* weight, const float* bias,
                              int64_t columns, int64_t depth, int32_t kind, int32_t repeats, float* out,
                              double* seconds);
}
#pragma GCC visibility pop
