#ifndef MLAFUZZ_ORACLE_DECODE_SCORES_H_
#define MLAFUZZ_ORACLE_DECODE_SCORES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/decode/dequant.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/logit.h"

namespace mlafuzz::oracle {

struct Dequantisers;  // values.h

// One head's query as the product meets it.
struct QueryHead {
  double value[kQueryColumns];
  double radius[kQueryColumns];
  bool has_radius = false;
  bool unknown = false;  // e.g. an infinite value before quantisation
  int columns = kLatent;
  QueryFacts facts;
};

// How a query's columns meet a row of this layout.
struct QueryShape {
  int columns;  // 512, or 576
  int back;     // those from 512 on are taken so far before
};
QueryShape QueryShapeOf(const DecodeContract& contract, const RowLayout& layout,
                        const Tensor& q);

// Reads and, where declared, quantises head `head` of query `query`. Under
// NOPE_TAIL_AS_ROPE a query without rope goes on with what its storage holds
// after it, under NOPE_TAIL_MEETS_QUERY_END with its own last columns.
// `layout`: of the rows that it meets. Of `options`: `query`, `no_tile` and
// `dense_query`.
void ReadQuery(const Contract& contract, const RowLayout& layout,
               const StepImage& step, std::int64_t query, std::int64_t head,
               const ExpectOptions& options, QueryHead* out);

// Queries of one request, at least 1.
std::int64_t QueryLength(const StepImage& step);

// Base-2 logits t = softmax_scale * log2(e) * q.k of one head.
struct HeadScores {
  std::vector<double> t;       // a value a key; NaN: the kernel's is NaN too
  std::vector<double> radius;  // |computed - t|; infinite: anything
  // A kernel may take a maximum at or below this for "no key".
  double sentinel = 0;
};

// Logits of all heads of one query over the keys of `range`, into `scores` (one
// entry a head, as long as the plan has keys). `rows` is left with the last
// rows of the range.
// Of `dequantisers`: the QK side's reading of rows.
void ComputeScores(const Contract& contract, const Caches& caches,
                   const Dequantisers& dequantisers, const StepImage& step,
                   absl::Span<const QueryHead> heads, const KeyPlan& plan,
                   const KeyRange& range, DequantisedRows* rows,
                   std::vector<HeadScores>* scores);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_SCORES_H_
