// What an instruction set has to offer: the few operations in which the engine spends its time.
//
// The bodies are written once, in gemm.h, norms.h, attention.h and select.h, over a vector type. They are compiled once
// for each instruction set (kernels_plain.cpp, kernels_avx2.cpp and so on), and dispatch.cpp chooses one table at run
// time.
//
// Two properties hold for every set. The int32 sums of int8 products are exact, so all sets have the same. And what a
// row becomes depends on that row alone, bit for bit: sums are taken in an order that neither the number of rows nor
// the columns computed beside them can change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regard {

constexpr int kPanel = 16;        // columns of a packed matrix that lie together; every size is padded to a multiple
constexpr int kChunk = 32;        // panels whose exponentials are summed together, whoever computes them
constexpr int kMostChoices = 65;  // tokens that a row may keep: a beam of 64, and one
constexpr float kNever = -__builtin_inff();  // the bias of a column that does not exist: no logit is below it
constexpr int kReserved = 3;      // the first tokens (PAD, UNK, BOS), which no output holds

// Floats from one head's scores to the next: whole vectors, and one to spare.
constexpr size_t scores_stride(int positions) { return size_t(positions + kPanel - 1) / kPanel * kPanel + kPanel; }

constexpr int padded(int size) { return (size + kPanel - 1) / kPanel * kPanel; }

enum class Activation : int { kNone = 0, kRelu = 1, kGelu = 2, kSilu = 3 };

// A weight matrix of `columns` outputs, cut into panels of 16 columns. A panel holds, for each group of inputs, 16 times
// as many weights as the group has: what one vector instruction multiplies lies side by side.
struct IntegerKernels;

struct Matrix {
  int columns = 0, depth = 0;        // padded to multiples of 16
  const IntegerKernels* integers = nullptr;  // of int8: what it is multiplied by
  const int8_t* int8 = nullptr;      // one of the two
  const float* float32 = nullptr;
  const float* scale = nullptr;      // of int8: what a column's integers are multiplied by
  const float* bias = nullptr;
  const int32_t* start = nullptr;    // what the int32 sums start from: undoes the offset of unsigned activations
};

// Rows that a matrix is multiplied by: float32, or integers with a scale for each row.
struct Rows {
  const void* data = nullptr;
  size_t stride = 0;                 // elements from one row to the next
  const float* scale = nullptr;
  int count = 0;
};

// out[r] (+)= activation(rows[r] · matrix + bias), for the columns of panels first to last.
struct Product {
  const Matrix* matrix;
  Rows rows;
  float* const* out;
  int first, last;
  Activation activation = Activation::kNone;
  bool accumulate = false;           // add to what is there: the residual connection
};

// exp(logit - reference) summed over a chunk of the vocabulary.
struct PartialSum {
  float reference, sum;
};

// What is kept of a row's logits, which are never stored: the greatest few, and the normaliser of the softmax in parts.
struct Selection {
  float threshold;                   // a logit must be above it to be kept
  float reference;                   // of the chunk that is being summed
  int wanted;                        // how many to keep
  int kept;
  const int32_t* asked;              // tokens whose logits are wanted whatever they are, ascending; they are not kept
  float* asked_logit;                // by thread, each writes those of its columns
  int asked_count, asked_next;
  bool normalise;                    // whether the sums are wanted
  float lanes[16];                   // of the chunk that is being summed
  float logit[kMostChoices];         // the greatest, in descending order; of equal ones the lower token first
  int32_t token[kMostChoices];
};

// How rows of integers are multiplied by a matrix of int8.
struct IntegerKernels {
  int group;                         // consecutive inputs whose products one instruction adds
  int offset;                        // added to quantised activations, to make them unsigned
  int bytes;                         // of a quantised activation

  // Round `depth` numbers to integers of at most 127, so that row ≈ integers · scale.
  void (*quantise)(const float* row, int depth, void* integers, float* scale);
  void (*product)(const Product&);
};

struct Kernels {
  const char* name;
  IntegerKernels integers;
  IntegerKernels positive;           // for rows without negative numbers, as a ReLU leaves them: the same sums, faster

  // LayerNorm of a row with `size` numbers, padded with zeros to depth; writes floats, integers, or both.
  void (*norm)(const float* row, int size, int depth, const float* gain, const float* bias, float* out, void* integers,
               float* scale);
  void (*product_float)(const Product&);
  // Logits of the panels first to last, into one Selection a row. `sums`: a PartialSum for each row and chunk.
  void (*select_int8)(const Product&, Selection* selections, PartialSum* sums, int chunks);
  void (*select_float)(const Product&, Selection* selections, PartialSum* sums, int chunks);
  // Equation 1 for the heads of one query: position s has its keys at keys + offsets[s], its values likewise.
  // scores has room for heads · (scores_stride(positions) + 1) numbers; mean_weights, if not null, receives the mean of
  // the heads.
  void (*attend)(const float* query, const float* keys, const float* values, const int32_t* offsets, int positions,
                 int heads, int d_k, int d_v, float scale, float* scores, float* out, float* mean_weights);
};

extern const Kernels kPlainKernels;
#ifdef REGARD_X86
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#ifdef REGARD_AMX
extern const Kernels kAmxKernels;
#endif
#endif

// The kernels of a name, or the best that this processor can run for "auto"; null if it can't run them.
const Kernels* find_kernels(const char* name);

}  // namespace regard
