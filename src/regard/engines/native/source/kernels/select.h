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

  __attribute__((noinline)) void operator()(const Product& job, int row, int rows, int panel, int vectors,
                                            const typename Kind::Sum* values) const {
    for (int r = row; r < row + rows; ++r)
      for (int p = 0; p < vectors; ++p, ++values) {
        const int column = panel * kPanel + p * kWidth;
        take(r, column, Kind::value(job, r, column, *values));
      }
  }

  void take(int row, int column, Vec logit) const {
    Selection& found = selections[row];
    if (found.normalise) add(row, column, logit);
    if (any_above(logit, all(found.threshold))) keep(found, column, logit);
    if (found.forced >= column && found.forced < column + kWidth) found.forced_logit = logit[found.forced - column];
  }

  void add(int row, int column, Vec logit) const {
    Selection& found = selections[row];
    constexpr int kColumns = kChunk * kPanel;
    if (column % kColumns == 0) {
      found.reference = largest(logit);
      for (int lane = 0; lane < kWidth; ++lane) found.lanes[lane] = 0;
    } else if (any_above(logit, all(found.reference + kFar))) {
      const float reference = largest(logit);
      store(found.lanes, load(found.lanes) * exp(all(found.reference - reference)));
      found.reference = reference;
    }
    const Vec lanes = load(found.lanes) + exp(logit - found.reference);
    store(found.lanes, lanes);
    if ((column + kWidth) % kColumns == 0 || column + kWidth == columns)
      sums[size_t(row) * chunks + column / kColumns] = {found.reference, sum(lanes)};
  }

  // Insert what is above the least that is kept. Columns come in ascending order, so of equal logits the first stays.
  __attribute__((noinline)) static void keep(Selection& found, int column, Vec logit) {
    for (int lane = 0; lane < kWidth; ++lane) {
      if (!(logit[lane] > found.threshold) || column + lane < kReserved) continue;
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
