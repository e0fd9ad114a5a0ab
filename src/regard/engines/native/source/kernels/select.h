// The projection's epilogue: of a row's logits only the greatest few are kept, and the normaliser of the softmax.
//
// exp(logit - reference) is summed by chunks of the vocabulary, each with a reference of its own, so that threads that
// share a row's columns leave the same sums as one thread does.
#pragma once

namespace regard {
namespace REGARD_ISA {

constexpr float kFar = 60.0f;  // above a reference: e^60 is far from overflowing

template <class Kind>
struct Select {
  Selection* selections;
  PartialSum* sums;
  int chunks, columns;

  template <int R, int V>
  REGARD_INLINE void operator()(const Product& job, int row, int panel, typename Kind::Sum (&sums)[R][V]) const {
    typename Kind::Sum kept[R * V];
    REGARD_UNROLL for (int r = 0; r < R; ++r)
      REGARD_UNROLL for (int v = 0; v < V; ++v) kept[r * V + v] = sums[r][v];
    select_rows(job, row, R, panel, V, kept);
  }

  __attribute__((noinline)) void select_rows(const Product& job, int row, int rows, int panel, int vectors,
                                             const typename Kind::Sum* values) const {
    const int first = panel * kPanel;
    for (int r = row; r < row + rows; ++r, values += vectors) {
      Selection& found = selections[r];
      Vec logits[kMostPanels * kPerPanel];
      bool above = false;
      for (int p = 0; p < vectors; ++p) {
        logits[p] = Kind::value(job, r, first + p * kWidth, values[p]);
        above |= any_above(logits[p], all(found.threshold));
      }
      if (found.normalise) add(r, first, vectors, logits);
      if (above)
        for (int p = 0; p < vectors; ++p)
          if (any_above(logits[p], all(found.threshold))) keep(found, first + p * kWidth, logits[p]);
      if (found.asked_count > 0) answer(found, first, vectors, logits);
    }
  }

  // Add the exponentials of a row's next logits to its chunk, or to a new one.
  void add(int row, int column, int vectors, const Vec* logits) const {
    Selection& found = selections[row];
    constexpr int kColumns = kChunk * kPanel;
    Vec lanes = load(found.lanes);
    float reference = found.reference;
    for (int p = 0; p < vectors; ++p, column += kWidth) {
      if (column % kColumns == 0) {
        reference = largest(logits[p]);
        lanes = Vec{};
      } else if (any_above(logits[p], all(reference + kFar))) {
        const float before = reference;
        reference = largest(logits[p]);
        lanes = lanes * exp_bounded(all(before - reference));
      }
      lanes = lanes + exp_bounded(logits[p] - reference);
      if ((column + kWidth) % kColumns == 0 || column + kWidth == columns)
        sums[size_t(row) * chunks + column / kColumns] = {reference, sum(lanes)};
    }
    store(found.lanes, lanes);
    found.reference = reference;
  }

  static bool is_asked(const Selection& found, int token) {
    for (int at = 0; at < found.asked_count; ++at)
      if (found.asked[at] >= token) return found.asked[at] == token;
    return false;
  }

  // Note the logits of the tokens asked for among these columns, which come in ascending order.
  __attribute__((noinline)) static void answer(Selection& found, int first, int vectors, const Vec* logits) {
    for (; found.asked_next < found.asked_count; ++found.asked_next) {
      const int column = found.asked[found.asked_next] - first;
      if (column >= vectors * kWidth) return;
      if (column >= 0) found.asked_logit[found.asked_next] = logits[column / kWidth][column % kWidth];
    }
  }

  // Insert what is above the least that is kept. Columns come in ascending order, so of equal logits the first stays.
  __attribute__((noinline)) static void keep(Selection& found, int column, Vec logit) {
    for (int lane = 0; lane < kWidth; ++lane) {
      if (!(logit[lane] > found.threshold) || column + lane < kReserved) continue;
      if (is_asked(found, column + lane)) continue;
      int place = found.kept < found.wanted ? found.kept++ : found.wanted - 1;
      for (; place > 0 && logit[lane] > found.logit[place - 1]; --place) {
        found.logit[place] = found.logit[place - 1];
        found.token[place] = found.token[place - 1];
      }
      found.logit[place] = logit[lane];
      found.token[place] = column + lane;
      if (found.kept == found.wanted) found.threshold = found.logit[found.wanted - 1];
    }
  }
};

template <class Kind>
void select(const Product& job, Selection* selections, PartialSum* sums, int chunks) {
  all_panels<Kind>(job, Select<Kind>{selections, sums, chunks, job.matrix->columns});
}

}  // namespace REGARD_ISA
}  // namespace regard
