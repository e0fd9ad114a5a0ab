// Rows times a packed matrix. A tile of a few rows and panels keeps its sums in registers over the whole depth; then
// they are dequantised, biased, activated and added to the residual, and stored once.
//
// Panels are the outer loop, so that a panel stays in the first cache while all rows pass by it.
#pragma once

#include <type_traits>

namespace regard {
namespace REGARD_ISA {

constexpr int kMostPanels = kTilePanels > kRowPanels ? kTilePanels : kRowPanels;

template <int R, int P>
inline void multiply(const float* rows, size_t stride, const float* panel, size_t panel_floats, int depth,
                     Vec (&sums)[R][P * kPerPanel]) {
  for (int k = 0; k < depth; ++k, panel += kPanel) {
    Vec weights[P * kPerPanel];
    REGARD_UNROLL for (int p = 0; p < P * kPerPanel; ++p)
      weights[p] = load(panel + p / kPerPanel * panel_floats + p % kPerPanel * kWidth);
    REGARD_UNROLL for (int r = 0; r < R; ++r) {
      const Vec row = all(rows[r * stride + k]);
      REGARD_UNROLL for (int p = 0; p < P * kPerPanel; ++p) sums[r][p] = fma(row, weights[p], sums[r][p]);
    }
  }
}

// The kinds of products: what their sums are, what these start from, and what becomes of them.
template <class Integer, int Group, int Offset>
struct IntegerKind {
  using Element = Integer;
  using Sum = Int;
  static constexpr int kGroup = Group, kOffset = Offset;
  static const int8_t* weights(const Matrix& matrix) { return matrix.int8; }
  static Sum start(const Matrix& matrix, int column) { return kOffset ? load(matrix.start + column) : Sum{}; }
  static Vec value(const Product& job, int row, int column, Sum sum) {
    const Vec scale = load(job.matrix->scale + column) * job.rows.scale[row];
    return fma(to_float(sum), scale, load(job.matrix->bias + column));
  }
};

using Int8Kind = IntegerKind<Integer, kGroup, kOffset>;
using PositiveKind = IntegerKind<PositiveInteger, kPositiveGroup, kPositiveOffset>;

struct FloatKind {
  using Element = float;
  using Sum = Vec;
  static const float* weights(const Matrix& matrix) { return matrix.float32; }
  static Sum start(const Matrix&, int) { return Sum{}; }
  static Vec value(const Product& job, int, int column, Sum sum) { return sum + load(job.matrix->bias + column); }
};

// Sums of a tile: R rows of P panels, beginning at a row and a panel, for Finish to make of them what it will.
// Everything is unrolled, or the sums would not stay in registers.
template <class Kind, int R, int P, class Finish>
__attribute__((noinline)) void tile(const Product& job, int row, int panel, const Finish& finish) {
  const Matrix& matrix = *job.matrix;
  const size_t panel_size = size_t(matrix.depth) * kPanel;
  const auto* rows = static_cast<const typename Kind::Element*>(job.rows.data) + row * job.rows.stride;
  typename Kind::Sum sums[R][P * kPerPanel];
  REGARD_UNROLL for (int r = 0; r < R; ++r)
    REGARD_UNROLL for (int p = 0; p < P * kPerPanel; ++p)
      sums[r][p] = Kind::start(matrix, panel * kPanel + p * kWidth);
  multiply<R, P>(rows, job.rows.stride, Kind::weights(matrix) + panel * panel_size, panel_size, matrix.depth, sums);
  finish(job, row, panel, sums);
}

// The rows that are left after whole tiles: R of them, or one fewer, and so on.
template <class Kind, int R, int P, class Finish>
inline void rest(const Product& job, int row, int panel, const Finish& finish) {
  if constexpr (R > 0) {
    if (job.rows.count - row == R) return tile<Kind, R, P>(job, row, panel, finish);
    rest<Kind, R - 1, P>(job, row, panel, finish);
  }
}

template <class Kind, int P, class Finish>
inline void all_rows(const Product& job, int panel, const Finish& finish) {
  int row = 0;
  for (; row + kTileRows <= job.rows.count; row += kTileRows) tile<Kind, kTileRows, P>(job, row, panel, finish);
  rest<Kind, kTileRows - 1, P>(job, row, panel, finish);
}

#ifdef REGARD_BLOCKS
constexpr int kLeastBlockRows = 2;  // a single row is faster in registers

// A block of R · 16 rows, of which `count` exist, and P panels.
template <class Kind, int R, int P, class Finish>
__attribute__((noinline)) void block(const Product& job, int row, int count, int panel, const Finish& finish) {
  const Matrix& matrix = *job.matrix;
  const size_t panel_size = size_t(matrix.depth) * kPanel;
  const auto* rows = static_cast<const typename Kind::Element*>(job.rows.data) + row * job.rows.stride;
  alignas(64) int32_t block_sums[R * kBlockRows * P * kPanel];
  multiply_block<R, P>(rows, job.rows.stride, Kind::weights(matrix) + panel * panel_size, panel_size, matrix.depth,
                       block_sums);
  Int starts[P];
  REGARD_UNROLL for (int p = 0; p < P; ++p) starts[p] = Kind::start(matrix, (panel + p) * kPanel);
  const auto finish_rows = [&](int r, auto together) {
    Int sums[together][P];
    REGARD_UNROLL for (int t = 0; t < together; ++t)
      REGARD_UNROLL for (int p = 0; p < P; ++p)
        sums[t][p] = load(block_sums + ((r + t) * P + p) * kPanel) + starts[p];
    finish(job, row + r, panel, sums);
  };
  int r = 0;
  for (; r + 4 <= count; r += 4) finish_rows(r, Constant<4>{});
  for (; r < count; ++r) finish_rows(r, Constant<1>{});
}

template <class Do>
inline void each_panels(const Product& job, const Do& multiply) {
  int panel = job.first;
  for (; panel + 2 <= job.last; panel += 2) multiply(Constant<2>{}, panel);
  if (panel < job.last) multiply(Constant<1>{}, panel);
}

// Rows in whole blocks, then the rows that are left.
template <class Kind, class Finish>
inline void all_blocks(const Product& job, const Finish& finish) {
  const int rows = job.rows.count, rest = rows % kBlockRows;
  if (rows > rest) {
    tile_setup(kBlockRows);
    each_panels(job, [&](auto panels, int panel) {
      int row = 0;
      for (; row + 2 * kBlockRows <= rows; row += 2 * kBlockRows)
        block<Kind, 2, panels>(job, row, 2 * kBlockRows, panel, finish);
      if (row + kBlockRows <= rows) block<Kind, 1, panels>(job, row, kBlockRows, panel, finish);
    });
  }
  if (rest > 0) {
    tile_setup(rest);
    each_panels(job, [&](auto panels, int panel) { block<Kind, 1, panels>(job, rows - rest, rest, panel, finish); });
  }
  tile_release();
}
#endif

template <class Kind, class Finish>
inline void all_panels(const Product& job, const Finish& finish) {
#ifdef REGARD_BLOCKS
  if constexpr (std::is_same_v<Kind, Int8Kind>)
    if (job.rows.count >= kLeastBlockRows && job.matrix->depth % kBlockDepth == 0) return all_blocks<Kind>(job, finish);
#endif
  int panel = job.first;
  if (job.rows.count == 1)  // more panels instead of rows, so that enough sums are under way
    for (; panel + kRowPanels <= job.last; panel += kRowPanels) tile<Kind, 1, kRowPanels>(job, 0, panel, finish);
  for (; panel + kTilePanels <= job.last; panel += kTilePanels) all_rows<Kind, kTilePanels>(job, panel, finish);
  for (; panel < job.last; ++panel) all_rows<Kind, 1>(job, panel, finish);
}

// Write the values of a tile to their rows, or add them to what stands there.
template <class Kind>
struct Store {
  template <int R, int V>
  REGARD_INLINE void operator()(const Product& job, int row, int panel, typename Kind::Sum (&sums)[R][V]) const {
    const int column = panel * kPanel;
    Vec values[R][V];
    const auto each = [&](const auto& make) {
      REGARD_UNROLL for (int r = 0; r < R; ++r)
        REGARD_UNROLL for (int v = 0; v < V; ++v) make(r, v);
    };
    const auto place = [&](int r, int v) { return job.out[row + r] + column + v * kWidth; };
    each([&](int r, int v) { values[r][v] = Kind::value(job, row + r, column + v * kWidth, sums[r][v]); });
    if (job.activation == Activation::kRelu) each([&](int r, int v) { values[r][v] = relu(values[r][v]); });
    if (job.accumulate) each([&](int r, int v) { values[r][v] += load(place(r, v)); });
    each([&](int r, int v) { store(place(r, v), values[r][v]); });
    if (job.activation > Activation::kRelu)  // the long ones are not unrolled
      for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v) store(place(r, v), activate(load(place(r, v)), job.activation));
  }
};

template <class Kind>
void product(const Product& job) {
  all_panels<Kind>(job, Store<Kind>{});
}

}  // namespace REGARD_ISA
}  // namespace regard
