#ifndef MLAFUZZ_ORACLE_DECODE_FAULTS_H_
#define MLAFUZZ_ORACLE_DECODE_FAULTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/decode/decode.h"

namespace mlafuzz::oracle {

// What a wrong decode does beside every rule, and whose result can be computed.
inline constexpr char kMissingRescale[] = "missing-rescale";
inline constexpr char kSplitDropped[] = "split-partial-dropped";
inline constexpr char kRowTruncated[] = "row-truncated";
inline constexpr char kEndsAtFirstMasked[] = "row-ends-at-first-masked";
inline constexpr char kCountForLength[] = "key-count-for-length";
inline constexpr char kLengthOffByOne[] = "length-off-by-one";
inline constexpr char kFirstQueryForAll[] = "first-query-for-all";
inline constexpr char kIndicesOfFirst[] = "indices-of-first-query";
inline constexpr char kLengthOfFirst[] = "length-of-first-query";
inline constexpr char kSinkOfFirst[] = "sink-of-first-head";
inline constexpr char kFirstPosition[] = "first-position-for-request";
inline constexpr char kQueryDense[] = "query-dense";
inline constexpr char kOutOrder[] = "out-in-other-order";
inline constexpr char kLseOrder[] = "lse-in-other-order";
inline constexpr char kIndexRowsDense[] = "index-rows-dense";
inline constexpr char kPageStrideDense[] = "page-stride-dense";
inline constexpr char kRowStrideDense[] = "row-stride-dense";
inline constexpr char kPageSize[] = "page-size";
inline constexpr char kReadPastLength[] = "rows-past-length-read";
inline constexpr char kEmptyRowNan[] = "empty-row-nan";
inline constexpr char kEmptySplitNan[] = "empty-split-nan";
inline constexpr char kTileSkipped[] = "tile-skipped";
inline constexpr char kRopeDropped[] = "rope-dropped";
inline constexpr char kRopeFirstHalf[] = "rope-first-half";
inline constexpr char kRopeHalvesSwapped[] = "rope-halves-swapped";
inline constexpr char kScalesOfNeighbour[] = "scales-of-neighbour";
inline constexpr char kRopeScaled[] = "rope-scaled";
inline constexpr char kExtraPageSize[] = "extra-page-size-of-first";
inline constexpr char kExtraPageStride[] = "extra-page-stride-of-first";
inline constexpr char kExtraInFirst[] = "extra-read-in-first-cache";
inline constexpr char kExtraFooters[] = "extra-footers-of-first";
inline constexpr char kExtraWidth[] = "extra-cut-at-first-width";
inline constexpr char kExtraReadOtherwise[] = "extra-read-by-other-rule";
inline constexpr char kFirstReadOtherwise[] = "first-read-by-other-rule";
inline constexpr char kLengthOfRequest[] = "length-of-request";
inline constexpr char kZeroLength[] = "length-zero-for-none";
inline constexpr char kUnevenDropped[] = "uneven-blocks-dropped";
inline constexpr char kEmptyRowSink[] = "empty-row-without-sink";

// Whether `key` is one of the above.
bool IsDecodeFault(absl::string_view key);

struct DecodeFault {
  std::string key;    // one of the above
  std::string cause;  // a sentence for people
  ExpectOptions options;
  // All that it ever leaves is NaN, which is therefore its mark. Other faults
  // leave NaN where they happen to read one.
  bool leaves_nan = false;
};

// Those that the step has room for: a split is left out only where some query
// has several, a page stride taken for another only where the two differ.
std::vector<DecodeFault> DecodeFaults(const Contract& contract,
                                      const CaseImage& image, int step);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_FAULTS_H_
