#include "corpus/knobs.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/values.h"

namespace mlafuzz {
namespace {

// The list of all classes, in their frozen order (new ones go to the end of
// their kernel's list only together with a new corpus: numbers are positions).
//
// Sources: the corner table of public cache-kernel bugs (page geometry, block
// tables, lengths, slots, tile data, scale bytes, pool fill, -1 placement) and
// the contract fields whose neighbours they separate.
#define MLAFUZZ_KNOBS(X)                                                  \
  /* Page geometry, a class for each kernel that reads it. */             \
  X(WriterPageSize1, "writer/page-size-1", Writer)                        \
  X(WriterPageSize2, "writer/page-size-2", Writer)                        \
  X(WriterPageSize3, "writer/page-size-3", Writer)                        \
  X(WriterPageSize16, "writer/page-size-16", Writer)                      \
  X(WriterPageSize64, "writer/page-size-64", Writer)                      \
  X(WriterPageSize128, "writer/page-size-128", Writer)                    \
  X(WriterPageSize256, "writer/page-size-256", Writer)                    \
  X(WriterPagePadded, "writer/page-stride-padded", Writer)                \
  X(WriterRowPadded, "writer/row-stride-padded", Writer)                  \
  X(WriterPoolSlice, "writer/pool-slice", Writer)                         \
  X(WriterScheduleOther, "writer/schedule-other", Writer)                 \
  X(WriterScheduleInOrder, "writer/schedule-in-order", Writer)            \
  X(SlotMinusOne, "slots/minus-one", Writer)                              \
  X(SlotOtherNegative, "slots/other-negative", Writer)                    \
  X(SlotBelowInt32, "slots/below-int32", Writer)                          \
  X(SlotInt64Min, "slots/int64-min", Writer)                              \
  X(SlotZero, "slots/zero", Writer)                                       \
  X(SlotLast, "slots/last", Writer)                                       \
  X(SlotPageFirst, "slots/page-first", Writer)                            \
  X(SlotPageLast, "slots/page-last", Writer)                              \
  X(SlotsAllSkipped, "slots/all-skipped", Writer)                         \
  X(SlotsSkippedBetween, "slots/skipped-between", Writer)                 \
  X(SlotsDescending, "slots/descending", Writer)                          \
  X(Tokens0, "tokens/0", Writer)                                          \
  X(Tokens1, "tokens/1", Writer)                                          \
  X(Tokens2, "tokens/2", Writer)                                          \
  X(Tokens63, "tokens/63", Writer)                                        \
  X(Tokens64, "tokens/64", Writer)                                        \
  X(Tokens65, "tokens/65", Writer)                                        \
  X(SourceSurplus, "source/surplus-rows", Writer)                         \
  X(SourceKvStrided, "source/kv-c-strided", Writer)                       \
  X(SourcePeStrided, "source/k-pe-strided", Writer)                       \
  X(SourceKvOffset, "source/kv-c-offset", Writer)                         \
  X(SourcePeOffset, "source/k-pe-offset", Writer)                         \
  X(InputF16, "input/fp16", Writer)                                       \
  X(InputF16Negative, "input/fp16-negative", Writer)                      \
  X(PeDim0, "pe-dim/0", Writer)                                           \
  X(PeDim64, "pe-dim/64", Writer)                                         \
  X(WriterTailStale, "tail/stale-before-nope-write", Writer)              \
  X(TileZero, "tile/all-zero", Writer)                                    \
  X(TileNegativeZero, "tile/negative-zero", Writer)                       \
  X(TileOutlier, "tile/outlier", Writer)                                  \
  X(TileWide, "tile/wide-spread", Writer)                                 \
  X(TilePow2, "tile/scale-power-of-two", Writer)                          \
  X(TilePow2Above, "tile/scale-power-of-two-plus-step", Writer)           \
  X(TilePow2Below, "tile/scale-power-of-two-minus-step", Writer)          \
  X(TileMidpoint, "tile/midpoint", Writer)                                \
  X(TileMidpointAbove, "tile/midpoint-plus-step", Writer)                 \
  X(TileMidpointBelow, "tile/midpoint-minus-step", Writer)                \
  X(TileSubnormal, "tile/subnormal", Writer)                              \
  X(TileTinyNegative, "tile/tiny-negative", Writer)                       \
  X(TileNan, "tile/nan", Writer)                                          \
  X(TileAllNan, "tile/all-nan", Writer)                                   \
  X(TileInf, "tile/inf", Writer)                                          \
  X(TileLargestFinite, "tile/largest-finite", Writer)                     \
  X(TileFloorEdge, "tile/floor-edge", Writer)                             \
  X(TileBelowFloor, "tile/below-floor", Writer)                           \
  X(TileNearTenthMilli, "tile/scale-near-1e-4", Writer)                   \
  X(TilesDiffer, "tile/neighbours-differ", Writer)                        \
  X(RopeNan, "rope/nan", Writer)                                          \
  X(RopeZero, "rope/all-zero", Writer)                                    \
  X(RopeNonzero, "rope/nonzero", Writer)                                  \
  X(WriterLatentDim, "refuse/latent-dim", Writer)                         \
  X(WriterPeDim, "refuse/pe-dim", Writer)                                 \
  X(WriterRowBytes, "refuse/writer-row-bytes", Writer)                    \
  X(WriterInputDType, "refuse/input-dtype", Writer)                       \
  X(WriterAlignment, "refuse/writer-alignment", Writer)                   \
  X(WriterSourceRows, "refuse/source-rows", Writer)                       \
  X(WriterOverlap, "refuse/pool-overlap", Writer)                         \
  X(ProgramOverwrite, "program/slot-overwritten", Writer)                 \
  X(ProgramTwoWrites, "program/several-writes", Writer)                   \
  X(GatherPageSize1, "gather/page-size-1", Gather)                        \
  X(GatherPageSize2, "gather/page-size-2", Gather)                        \
  X(GatherPageSize3, "gather/page-size-3", Gather)                        \
  X(GatherPageSize16, "gather/page-size-16", Gather)                      \
  X(GatherPageSize64, "gather/page-size-64", Gather)                      \
  X(GatherPageSize128, "gather/page-size-128", Gather)                    \
  X(GatherPageSize256, "gather/page-size-256", Gather)                    \
  X(GatherPagePadded, "gather/page-stride-padded", Gather)                \
  X(GatherRowPadded, "gather/row-stride-padded", Gather)                  \
  X(GatherPoolSlice, "gather/pool-slice", Gather)                         \
  X(GatherScheduleOther, "gather/schedule-other", Gather)                 \
  X(GatherScheduleInOrder, "gather/schedule-in-order", Gather)            \
  X(GatherTableExpanded, "gather/table-expanded", Gather)                 \
  X(GatherTableNarrowed, "gather/table-narrowed", Gather)                 \
  X(GatherTablePermuted, "gather/table-not-ascending", Gather)            \
  X(GatherTableShared, "gather/page-read-twice", Gather)                  \
  X(GatherTableMinusOne, "gather/table-minus-one-unread", Gather)         \
  X(GatherTableHuge, "gather/table-huge-unread", Gather)                  \
  X(GatherTableNegative, "gather/table-other-negative-unread", Gather)    \
  X(GatherLength0, "gather/length-0", Gather)                             \
  X(GatherLength1, "gather/length-1", Gather)                             \
  X(GatherLengthPageMinus1, "gather/length-page-minus-1", Gather)         \
  X(GatherLengthPage, "gather/length-page", Gather)                       \
  X(GatherLengthPagePlus1, "gather/length-page-plus-1", Gather)           \
  X(GatherLengthNegative, "gather/length-negative", Gather)               \
  X(GatherStartsDescend, "gather/starts-descending", Gather)              \
  X(GatherStartsEqual, "gather/starts-equal", Gather)                     \
  X(GatherStartPastEnd, "gather/start-past-the-end", Gather)              \
  X(GatherStartPastEndLens, "gather/start-past-the-end-no-rows", Gather)  \
  X(GatherStartNegative, "gather/start-negative-no-rows", Gather)         \
  X(GatherRowsShared, "gather/requests-share-rows", Gather)               \
  X(GatherRowsSharedStarts, "gather/starts-share-rows", Gather)           \
  X(GatherEmptyFirst, "gather/empty-first", Gather)                       \
  X(GatherEmptyBetween, "gather/empty-between", Gather)                   \
  X(GatherEmptyLast, "gather/empty-last", Gather)                         \
  X(GatherLengthsFromStarts, "gather/lengths-from-starts", Gather)        \
  X(GatherLengthsGiven, "gather/lengths-given", Gather)                   \
  X(GatherRowsBefore, "gather/rows-before-first-start", Gather)           \
  X(GatherRowsBetween, "gather/surplus-rows", Gather)                     \
  X(GatherSeqStarts, "gather/seq-starts", Gather)                         \
  X(GatherSeqStartInside, "gather/seq-start-inside-page", Gather)         \
  X(GatherSeqStartLastRow, "gather/seq-start-last-row", Gather)           \
  X(GatherSeqStartSkipsPages, "gather/seq-start-skips-pages", Gather)     \
  X(GatherManyRequests, "gather/several-requests", Gather)                \
  X(GatherMoreRequestsThanRows, "gather/more-requests-than-rows", Gather) \
  X(GatherMoreTasks, "gather/more-pages-than-rows-fill", Gather)          \
  X(GatherNoRows, "gather/no-rows", Gather)                               \
  X(GatherDstStrided, "gather/dst-strided", Gather)                       \
  X(GatherNope, "gather/nope", Gather)                                    \
  X(GatherRope, "gather/rope", Gather)                                    \
  X(GatherTailStale, "gather/stale-tail-under-nope", Gather)              \
  X(RowScaleZero, "scale/zero", Gather)                                   \
  X(RowScaleNegativeZero, "scale/negative-zero", Gather)                  \
  X(RowScaleSubnormal, "scale/subnormal", Gather)                         \
  X(RowScaleFltMin, "scale/flt-min", Gather)                              \
  X(RowScaleNan, "scale/nan", Gather)                                     \
  X(RowScaleInf, "scale/inf", Gather)                                     \
  X(RowScaleNegative, "scale/negative", Gather)                           \
  X(RowScaleHuge, "scale/huge", Gather)                                   \
  X(RowScalePow2, "scale/power-of-two", Gather)                           \
  X(RowScaleArbitrary, "scale/arbitrary", Gather)                         \
  X(RowScalesDiffer, "scale/tiles-differ", Gather)                        \
  X(RowCodeNan, "code/nan", Gather)                                       \
  X(RowCodeNegativeZero, "code/negative-zero", Gather)                    \
  X(RowCodeSubnormal, "code/subnormal", Gather)                           \
  X(RowFillZero, "fill/zeros", Gather)                                    \
  X(RowFill7f, "fill/0x7f", Gather)                                       \
  X(RowFill80, "fill/0x80", Gather)                                       \
  X(RowFillMixed, "fill/mixed", Gather)                                   \
  X(GatherDstColumns, "refuse/dst-columns", Gather)                       \
  X(GatherDstDType, "refuse/dst-dtype", Gather)                           \
  X(GatherRowBytes, "refuse/gather-row-bytes", Gather)                    \
  X(GatherBatch, "refuse/batch", Gather)                                  \
  X(GatherAlignment, "refuse/gather-alignment", Gather)                   \
  X(GatherOverlap, "refuse/dst-overlap", Gather)                          \
  X(ProgramWriteThenGather, "program/write-then-gather", Gather)          \
  X(ProgramSeveralGathers, "program/several-gathers", Gather)             \
  X(ConvertPageSize1, "convert/page-size-1", Convert)                     \
  X(ConvertPageSize2, "convert/page-size-2", Convert)                     \
  X(ConvertPageSize3, "convert/page-size-3", Convert)                     \
  X(ConvertPageSize16, "convert/page-size-16", Convert)                   \
  X(ConvertPageSize64, "convert/page-size-64", Convert)                   \
  X(ConvertPageSize128, "convert/page-size-128", Convert)                 \
  X(ConvertPageSize256, "convert/page-size-256", Convert)                 \
  X(ConvertScheduleOther, "convert/schedule-other", Convert)              \
  X(ConvertScheduleInOrder, "convert/schedule-in-order", Convert)         \
  X(ConvertTableExpanded, "convert/table-expanded", Convert)              \
  X(ConvertTableNarrowed, "convert/table-narrowed", Convert)              \
  X(ConvertTableOneRow, "convert/one-table-row-several-ids", Convert)     \
  X(ConvertTableMinusOne, "convert/table-minus-one-unread", Convert)      \
  X(ConvertTableHuge, "convert/table-huge-unread", Convert)               \
  X(ConvertRequestsRepeated, "convert/request-repeated", Convert)         \
  X(ConvertRequestsUnordered, "convert/requests-unordered", Convert)      \
  X(ConvertColumnPast, "convert/column-just-past", Convert)               \
  X(ConvertColumnLast, "convert/column-last", Convert)                    \
  X(IndexMinusOneFront, "index/minus-one-front", Convert)                 \
  X(IndexMinusOneMiddle, "index/minus-one-middle", Convert)               \
  X(IndexMinusOneBack, "index/minus-one-back", Convert)                   \
  X(IndexMinusOneAll, "index/minus-one-all", Convert)                     \
  X(IndexHuge, "index/huge-positive", Convert)                            \
  X(IndexOtherNegative, "index/other-negative", Convert)                  \
  X(IndexInt32Min, "index/int32-min", Convert)                            \
  X(IndexZero, "index/zero", Convert)                                     \
  X(IndexPageLast, "index/page-last", Convert)                            \
  X(IndexRepeated, "index/repeated", Convert)                             \
  X(Width1, "width/1", Convert)                                           \
  X(WidthOdd, "width/odd", Convert)                                       \
  X(Width128, "width/128", Convert)                                       \
  X(WidthAbove128, "width/above-128", Convert)                            \
  X(ConvertIndicesStrided, "convert/indices-strided", Convert)            \
  X(ConvertOutStrided, "convert/out-strided", Convert)                    \
  X(ValidCount0, "valid-count/0", Convert)                                \
  X(ValidCount1, "valid-count/1", Convert)                                \
  X(ValidCountWidthMinus1, "valid-count/width-minus-1", Convert)          \
  X(ValidCountWidth, "valid-count/width", Convert)                        \
  X(ValidCountWanted, "valid-count/wanted", Convert)                      \
  X(ValidCountNotWanted, "valid-count/not-wanted", Convert)               \
  X(ConvertNoRows, "convert/no-rows", Convert)                            \
  X(ConvertTokensFewer, "refuse/request-ids-fewer", Convert)              \
  X(ConvertTokensMore, "refuse/request-ids-more", Convert)                \
  X(DecodePageSize1, "decode/page-size-1", Decode)                        \
  X(DecodePageSize2, "decode/page-size-2", Decode)                        \
  X(DecodePageSize3, "decode/page-size-3", Decode)                        \
  X(DecodePageSize16, "decode/page-size-16", Decode)                      \
  X(DecodePageSize64, "decode/page-size-64", Decode)                      \
  X(DecodePagePadded, "decode/page-stride-padded", Decode)                \
  X(DecodeRowPadded, "decode/row-stride-padded", Decode)                  \
  X(DecodePoolSlice, "decode/pool-slice", Decode)                         \
  X(DecodeScheduleOther, "decode/schedule-other", Decode)                 \
  X(DecodeScheduleInOrder, "decode/schedule-in-order", Decode)            \
  X(DecodeQueries0, "queries/0", Decode)                                  \
  X(DecodeQueries1, "queries/1", Decode)                                  \
  X(DecodeQueriesSeveral, "queries/several", Decode)                      \
  X(DecodeQueriesAbove64, "queries/above-64", Decode)                     \
  X(DecodeQueryLength, "queries/length-above-1", Decode)                  \
  X(DecodeHeads1, "heads/1", Decode)                                      \
  X(DecodeHeadsSeveral, "heads/several", Decode)                          \
  X(DecodeHeads128, "heads/128", Decode)                                  \
  X(DecodePeDim0, "decode/pe-dim-0", Decode)                              \
  X(DecodePeDim64, "decode/pe-dim-64", Decode)                            \
  X(DecodeTailStale, "decode/stale-tail-under-nope", Decode)              \
  X(DecodeWidth1, "decode/width-1", Decode)                               \
  X(DecodeWidth63, "decode/width-63", Decode)                             \
  X(DecodeWidth64, "decode/width-64", Decode)                             \
  X(DecodeWidth65, "decode/width-65", Decode)                             \
  X(DecodeWidthAbove128, "decode/width-above-128", Decode)                \
  X(DecodeIndicesStrided, "decode/indices-strided", Decode)               \
  X(MaskFront, "mask/front", Decode)                                      \
  X(MaskMiddle, "mask/middle", Decode)                                    \
  X(MaskBack, "mask/back", Decode)                                        \
  X(MaskAll, "mask/all", Decode)                                          \
  X(MaskNone, "mask/none", Decode)                                        \
  X(MaskOtherNegative, "mask/other-negative", Decode)                     \
  X(MaskLeadingBlock, "mask/leading-block", Decode)                       \
  X(MaskFewInFirstBlock, "mask/few-keys-in-first-block", Decode)          \
  X(KeySingle, "key/single", Decode)                                      \
  X(KeyRepeated, "key/repeated", Decode)                                  \
  X(KeySlot0, "key/slot-0", Decode)                                       \
  X(KeyLastSlot, "key/last-slot", Decode)                                 \
  X(LengthsGiven, "length/given", Decode)                                 \
  X(LengthsNone, "length/none", Decode)                                   \
  X(LengthZero, "length/0", Decode)                                       \
  X(LengthWidth, "length/width", Decode)                                  \
  X(LengthAboveWidth, "length/above-width", Decode)                       \
  X(LengthCuts, "length/cuts-keys", Decode)                               \
  X(LengthHidesHuge, "length/hides-huge-index", Decode)                   \
  X(SinkNone, "sink/none", Decode)                                        \
  X(SinkFinite, "sink/finite", Decode)                                    \
  X(SinkMinusInf, "sink/minus-inf", Decode)                               \
  X(SinkPlusInf, "sink/plus-inf", Decode)                                 \
  X(SinkNan, "sink/nan", Decode)                                          \
  X(SplitsOwn, "splits/own-choice", Decode)                               \
  X(SplitsOne, "splits/1", Decode)                                        \
  X(SplitsSeveral, "splits/several", Decode)                              \
  X(SplitsMoreThanBlocks, "splits/more-than-blocks", Decode)              \
  X(SplitWithoutKeys, "splits/last-without-keys", Decode)                 \
  X(TopkBelow, "topk/below-width", Decode)                                \
  X(TopkEqual, "topk/equal", Decode)                                      \
  X(TopkAbove, "topk/above-width", Decode)                                \
  X(TopkHidesKeys, "topk/keys-behind", Decode)                            \
  X(QueryZero, "query/zero", Decode)                                      \
  X(QueryOneHot, "query/one-hot", Decode)                                 \
  X(QueryDense, "query/dense", Decode)                                    \
  X(QueryNotFinite, "query/not-finite", Decode)                           \
  X(DecodeScaleFractions, "key/scale-fractions-differ", Decode)           \
  X(DecodeScalePow2, "key/scales-powers-of-two", Decode)                  \
  X(DecodeScaleHostile, "key/scale-hostile", Decode)                      \
  X(DecodeCodeNan, "key/code-nan", Decode)                                \
  X(DecodePoisonSlot0, "decode/poison-in-unread-slot-0", Decode)          \
  X(DecodePoisonOther, "decode/poison-in-unread-row", Decode)             \
  X(ProgramWriteThenDecode, "program/write-then-decode", Decode)          \
  X(DecodePeDim, "refuse/decode-pe-dim", Decode)                          \
  X(DecodeRowBytes, "refuse/decode-row-bytes", Decode)                    \
  X(DecodeBatch, "refuse/decode-batch", Decode)                           \
  X(DecodeHeads, "refuse/decode-heads", Decode)                           \
  X(DecodeAlignment, "refuse/decode-alignment", Decode)

enum KnobId : int {
#define MLAFUZZ_KNOB_ID(id, name, kernel) k##id,
  MLAFUZZ_KNOBS(MLAFUZZ_KNOB_ID)
#undef MLAFUZZ_KNOB_ID
      kKnobCount
};

using Found = std::bitset<kKnobCount>;

// Of the only layout: FP8_DS_MLA.
constexpr std::int64_t kLatent = 512;
constexpr std::int64_t kScalesAt = 512;
constexpr std::int64_t kTailAt = 528;
constexpr std::int64_t kRowBytes = 656;
constexpr int kTiles = 4;

template <typename T>
T Load(const std::uint8_t* bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

// Whether `count` elements of `size` bytes at [row, column 0] lie within the
// tensor's bytes.
bool Holds(const Tensor& t, std::int64_t row, std::int64_t count,
           std::int64_t size) {
  return row >= 0 && (row * t.strides[0] + count) * size <=
                         static_cast<std::int64_t>(t.bytes.size());
}

// `first` is the knob of page size 1; the others follow it in order.
void PageKnobs(const PoolImage& pool, int first, Found& found) {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 16, 64, 128, 256};
  for (int i = 0; i < 7; ++i) {
    if (pool.page_size == kSizes[i]) found.set(first + i);
  }
}

void StrideKnobs(const PoolImage& pool, int padded_page, Found& found) {
  if (pool.page_stride > pool.page_size * pool.row_stride) {
    found.set(padded_page);
  }
  if (pool.row_stride > pool.row_bytes) found.set(padded_page + 1);
  if (pool.offset > 0) found.set(padded_page + 2);
}

// Some row of the pool does not start at a multiple of 8 bytes.
bool PoolMisaligned(const PoolImage& pool) {
  return pool.offset % 8 != 0 ||
         (pool.page_size > 1 && pool.row_stride % 8 != 0) ||
         (pool.pages > 1 && pool.page_stride % 8 != 0);
}

// ---- Writer ---------------------------------------------------------------

// Bit fields of a sixteen-bit format.
struct Format {
  int mantissa_bits;
  std::uint16_t infinity;        // pattern of +Inf
  std::uint16_t seven_quarters;  // mantissa field of 1.75 (448 = 1.75 * 2^8)
};
constexpr Format kBf16 = {7, 0x7f80, 0x60};
constexpr Format kF16 = {10, 0x7c00, 0x300};

// Patterns in bf16 (exponent bias 127).
constexpr int kFloorEdge = 0x04e0;   // 448 * FLT_MIN = 1.75 * 2^-118
constexpr int kTenthMilli = 0x3d37;  // 448 * 1e-4, to the nearest

void TileKnobs(const std::uint8_t* at, const Format& format, bool bf16,
               Found& found) {
  // One pass that the compiler can keep in vector registers.
  std::uint16_t v[kTileValues];
  std::memcpy(v, at, sizeof(v));
  int largest = 0;        // of finite values
  int smallest = 0x7fff;  // of nonzero values
  int nans = 0, infs = 0, negative_zeros = 0, subnormals = 0;
  const int one = 1 << format.mantissa_bits;
  for (int i = 0; i < kTileValues; ++i) {
    const int m = v[i] & 0x7fff;
    nans += m > format.infinity;
    infs += m == format.infinity;
    negative_zeros += v[i] == 0x8000;
    subnormals += (m != 0) & (m < one);
    largest = std::max(largest, m < format.infinity ? m : 0);
    smallest = std::min(smallest, m != 0 ? m : 0x7fff);
  }
  if (negative_zeros != 0) found.set(kTileNegativeZero);
  if (subnormals != 0) found.set(kTileSubnormal);
  if (nans != 0) found.set(kTileNan);
  if (nans == kTileValues) found.set(kTileAllNan);
  if (infs != 0) found.set(kTileInf);
  if (largest == 0) {
    if (nans + infs == 0) found.set(kTileZero);
    return;
  }
  if (largest == format.infinity - 1) found.set(kTileLargestFinite);
  const int exponent = largest >> format.mantissa_bits;
  if (exponent - (smallest >> format.mantissa_bits) >= 18) {
    found.set(kTileWide);
  }
  const int mantissa = largest & (one - 1);
  if (mantissa == format.seven_quarters) found.set(kTilePow2);
  if (mantissa == format.seven_quarters + 1) found.set(kTilePow2Above);
  if (mantissa == format.seven_quarters - 1) found.set(kTilePow2Below);
  if (bf16) {
    if (largest >= kFloorEdge - 1 && largest <= kFloorEdge + 1) {
      found.set(kTileFloorEdge);
    }
    if (largest < kFloorEdge) found.set(kTileBelowFloor);
    if (largest >= kTenthMilli - 0x80 && largest <= kTenthMilli + 0x80) {
      found.set(kTileNearTenthMilli);
    }
  }

  // What needs the largest value first. An outlier stands 8 octaves above all
  // others; a negative value 20 octaves below the largest is under half of the
  // smallest code for any scale.
  const bool pow2 = mantissa == format.seven_quarters && exponent > 0;
  const int tiny = std::max(0, exponent - 20) << format.mantissa_bits;
  int near_largest = 0, tiny_negatives = 0;
  int midpoints = 0, above = 0, below = 0;
  const int eight_below = std::max(0, exponent - 7) << format.mantissa_bits;
  // A code keeps three bits of the mantissa: a midpoint has the next one set
  // and zeros below it. With a power-of-two scale the quotient has the value's
  // own mantissa; codes are normal for at least 2^-6, that is down to 14
  // octaves below 448's.
  const int half = 1 << (format.mantissa_bits - 4);
  const int low_bits = 2 * half - 1;
  const int normal = std::max(1, exponent - 14) << format.mantissa_bits;
  for (int i = 0; i < kTileValues; ++i) {
    const int m = v[i] & 0x7fff;
    near_largest += (m >= eight_below) & (m <= largest);
    tiny_negatives += (v[i] > 0x8000) & (m < tiny + one) & (tiny != 0);
    const int low = m & low_bits;
    const int in_range = (m >= normal) & (m < largest);
    midpoints += in_range & (low == half);
    above += in_range & (low == half + 1);
    below += in_range & (low == half - 1);
  }
  if (near_largest == 1 && smallest < largest) found.set(kTileOutlier);
  if (tiny_negatives != 0) found.set(kTileTinyNegative);
  if (pow2) {
    if (midpoints != 0) found.set(kTileMidpoint);
    if (above != 0) found.set(kTileMidpointAbove);
    if (below != 0) found.set(kTileMidpointBelow);
  }
}

void RowKnobs(const Tensor& kv, std::int64_t row, Found& found) {
  if (!Holds(kv, row, kLatent, 2)) return;
  const std::uint8_t* at = kv.bytes.data() + row * kv.strides[0] * 2;
  const bool bf16 = kv.dtype == BF16;
  for (int tile = 0; tile < kTiles; ++tile) {
    TileKnobs(at + tile * kTileValues * 2, bf16 ? kBf16 : kF16, bf16, found);
  }
  if (std::memcmp(at, at + kTileValues * 2, kTileValues * 2) != 0) {
    found.set(kTilesDiffer);
  }
  if (!bf16) {
    for (std::int64_t i = 0; i < kLatent; ++i) {
      if (at[2 * i + 1] & 0x80) {
        found.set(kInputF16Negative);
        break;
      }
    }
  }
}

void RopeKnobs(const Tensor& pe, std::int64_t row, Found& found) {
  const std::int64_t columns = pe.shape[1];
  if (!Holds(pe, row, columns, 2)) return;
  const std::uint8_t* at = pe.bytes.data() + row * pe.strides[0] * 2;
  const int infinity = pe.dtype == BF16 ? kBf16.infinity : kF16.infinity;
  int nonzero = 0, nan = 0;
  for (std::int64_t i = 0; i < columns; ++i) {
    const int m = Load<std::uint16_t>(at, i) & 0x7fff;
    nonzero += m != 0;
    nan += m > infinity;
  }
  found.set(nonzero != 0 ? kRopeNonzero : kRopeZero);
  if (nan != 0) found.set(kRopeNan);
}

// Rows whose values are looked at: a campaign counts classes on every case, and
// a class that only row 500 holds is of no use to anyone.
constexpr std::int64_t kRowsSeen = 4;

void WriteKnobs(const CaseImage& image, const StepImage& step, Found& found) {
  const PoolImage& pool = image.pool;
  const Tensor* kv = step.Find(TensorId::kKvC);
  const Tensor* pe = step.Find(TensorId::kKPe);
  const Tensor* slots = step.Find(TensorId::kSlotMapping);
  if (kv == nullptr || slots == nullptr) return;
  const std::int64_t tokens = slots->shape[0];
  const std::int64_t pe_dim = pe == nullptr ? 0 : pe->shape[1];

  // Refused classes.
  bool refused = false;
  const auto refuse = [&](bool when, KnobId knob) {
    if (when) found.set(knob);
    refused |= when;
  };
  refuse(kv->shape[1] != kLatent, kWriterLatentDim);
  refuse(pe_dim != 0 && pe_dim != 64, kWriterPeDim);
  refuse(pool.row_bytes != kRowBytes, kWriterRowBytes);
  refuse((kv->dtype != BF16 && kv->dtype != F16) ||
             (pe != nullptr && pe->dtype != kv->dtype),
         kWriterInputDType);
  const auto misaligned = [](const Tensor& t, std::int64_t alignment) {
    return t.shape[0] > 0 &&
           (t.misalignment % alignment != 0 ||
            (t.shape[0] > 1 &&
             t.strides[0] * DTypeSize(t.dtype) % alignment != 0));
  };
  refuse(misaligned(*kv, 16) || (pe != nullptr && misaligned(*pe, 4)) ||
             PoolMisaligned(pool),
         kWriterAlignment);
  refuse(kv->shape[0] < tokens || (pe != nullptr && pe->shape[0] < tokens),
         kWriterSourceRows);
  refuse((pool.page_size > 1 && pool.row_stride < pool.row_bytes) ||
             (pool.pages > 1 &&
              pool.page_stride <
                  (pool.page_size - 1) * pool.row_stride + pool.row_bytes),
         kWriterOverlap);
  if (refused) return;

  PageKnobs(pool, kWriterPageSize1, found);
  StrideKnobs(pool, kWriterPagePadded, found);
  found.set(image.source->schedule() != 0 ? kWriterScheduleOther
                                          : kWriterScheduleInOrder);
  switch (tokens) {
    case 0:
      found.set(kTokens0);
      break;
    case 1:
      found.set(kTokens1);
      break;
    case 2:
      found.set(kTokens2);
      break;
    case 63:
      found.set(kTokens63);
      break;
    case 64:
      found.set(kTokens64);
      break;
    case 65:
      found.set(kTokens65);
      break;
    default:
      break;
  }
  if (kv->shape[0] > tokens) found.set(kSourceSurplus);
  if (kv->strides[0] > kLatent) found.set(kSourceKvStrided);
  if (kv->misalignment != 0) found.set(kSourceKvOffset);
  if (kv->dtype == F16) found.set(kInputF16);
  found.set(pe_dim == 0 ? kPeDim0 : kPeDim64);
  if (pe != nullptr) {
    if (pe->strides[0] > pe_dim) found.set(kSourcePeStrided);
    if (pe->misalignment != 0) found.set(kSourcePeOffset);
  }

  std::int64_t skipped = 0, previous = -1, seen = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t slot = Load<std::int64_t>(slots->bytes.data(), t);
    if (slot < 0) {
      ++skipped;
      if (slot == -1) {
        found.set(kSlotMinusOne);
      } else if (slot >= std::numeric_limits<std::int32_t>::min()) {
        found.set(kSlotOtherNegative);
      } else {
        found.set(kSlotBelowInt32);
        if (slot == std::numeric_limits<std::int64_t>::min()) {
          found.set(kSlotInt64Min);
        }
      }
      continue;
    }
    if (slot >= pool.slots()) continue;
    if (skipped > 0 && previous >= 0) found.set(kSlotsSkippedBetween);
    if (slot < previous) found.set(kSlotsDescending);
    previous = slot;
    if (slot == 0) found.set(kSlotZero);
    if (slot + 1 == pool.slots()) found.set(kSlotLast);
    if (slot != 0 && slot % pool.page_size == 0) found.set(kSlotPageFirst);
    if ((slot + 1) % pool.page_size == 0) found.set(kSlotPageLast);
    if (seen++ >= kRowsSeen) continue;
    RowKnobs(*kv, t, found);
    if (pe != nullptr && pe_dim != 0) {
      RopeKnobs(*pe, t, found);
    } else if (!found[kWriterTailStale]) {
      const std::uint8_t* tail = pool.bytes.data() + pool.RowAt(slot) + kTailAt;
      if (std::any_of(tail, tail + (kRowBytes - kTailAt),
                      [](std::uint8_t b) { return b != 0; })) {
        found.set(kWriterTailStale);
      }
    }
  }
  if (tokens > 0 && skipped == tokens) found.set(kSlotsAllSkipped);
}

// ---- Gather ---------------------------------------------------------------

void CacheRowKnobs(const std::uint8_t* row, Found& found) {
  std::uint32_t scales[kTiles];
  std::memcpy(scales, row + kScalesAt, sizeof(scales));
  for (const std::uint32_t bits : scales) {
    const std::uint32_t m = bits & 0x7fffffffu;
    const std::uint32_t exponent = m >> 23;
    if (m == 0) {
      found.set(bits == 0 ? kRowScaleZero : kRowScaleNegativeZero);
    } else if (m > 0x7f800000u) {
      found.set(kRowScaleNan);
    } else if (m == 0x7f800000u) {
      found.set(kRowScaleInf);
    } else if (exponent == 0) {
      found.set(kRowScaleSubnormal);
    } else {
      if (m == 0x00800000u) found.set(kRowScaleFltMin);
      // 448 times 2^119 leaves fp32's range.
      if (exponent >= 127 + 119) found.set(kRowScaleHuge);
      found.set((m & 0x7fffffu) == 0 ? kRowScalePow2 : kRowScaleArbitrary);
    }
    if (m != 0 && (bits >> 31) != 0) found.set(kRowScaleNegative);
  }
  if (scales[0] != scales[1]) found.set(kRowScalesDiffer);

  int nan = 0, negative_zero = 0, subnormal = 0, same = 0;
  for (std::int64_t i = 0; i < kLatent; ++i) {
    const int m = row[i] & 0x7f;
    nan += m == 0x7f;
    negative_zero += row[i] == 0x80;
    subnormal += (m != 0) & (m < 8);
    same += row[i] == row[0];
  }
  if (nan != 0) found.set(kRowCodeNan);
  if (negative_zero != 0) found.set(kRowCodeNegativeZero);
  if (subnormal != 0) found.set(kRowCodeSubnormal);
  if (same != kLatent) {
    found.set(kRowFillMixed);
  } else if (row[0] == 0) {
    found.set(kRowFillZero);
  } else if (row[0] == 0x7f) {
    found.set(kRowFill7f);
  } else if (row[0] == 0x80) {
    found.set(kRowFill80);
  }
}

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

void GatherKnobs(const CaseImage& image, const StepImage& step, Found& found) {
  const PoolImage& pool = image.pool;
  const Tensor* dst = step.Find(TensorId::kDst);
  const Tensor* table = step.Find(TensorId::kBlockTable);
  const Tensor* starts = step.Find(TensorId::kWorkspaceStarts);
  const Tensor* lens = step.Find(TensorId::kSeqLens);
  const Tensor* firsts = step.Find(TensorId::kSeqStarts);
  if (dst == nullptr || table == nullptr || starts == nullptr) return;
  const std::int64_t requests = starts->shape[0];
  const std::int64_t rows = dst->shape[0];

  bool refused = false;
  const auto refuse = [&](bool when, KnobId knob) {
    if (when) found.set(knob);
    refused |= when;
  };
  refuse(dst->shape[1] != 576, kGatherDstColumns);
  refuse(dst->dtype != BF16, kGatherDstDType);
  refuse(pool.row_bytes != kRowBytes, kGatherRowBytes);
  refuse(table->shape[0] != requests ||
             (lens != nullptr && lens->shape[0] != requests) ||
             (firsts != nullptr && firsts->shape[0] != requests),
         kGatherBatch);
  refuse(PoolMisaligned(pool) || (rows > 0 && dst->misalignment % 16 != 0) ||
             (rows > 1 && dst->strides[0] * DTypeSize(dst->dtype) % 16 != 0),
         kGatherAlignment);
  refuse(dst->strides[0] < dst->shape[1] && rows > 1, kGatherOverlap);
  if (refused) return;

  PageKnobs(pool, kGatherPageSize1, found);
  StrideKnobs(pool, kGatherPagePadded, found);
  found.set(image.source->schedule() != 0 ? kGatherScheduleOther
                                          : kGatherScheduleInOrder);
  const bool nope = step.step->gather().nope();
  found.set(nope ? kGatherNope : kGatherRope);
  found.set(lens != nullptr ? kGatherLengthsGiven : kGatherLengthsFromStarts);
  if (firsts != nullptr) found.set(kGatherSeqStarts);
  if (dst->strides[0] > dst->shape[1]) found.set(kGatherDstStrided);
  if (rows == 0) found.set(kGatherNoRows);
  if (requests > 1) found.set(kGatherManyRequests);
  if (requests > rows) found.set(kGatherMoreRequestsThanRows);
  if (table->shape[0] > 1 && table->strides[0] == 0) {
    found.set(kGatherTableExpanded);
  }
  if (table->strides[0] > table->shape[1]) found.set(kGatherTableNarrowed);

  std::int64_t covered = 0, tasks = 0, seen = 0, previous_start = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> filled;  // rows of dst
  const std::int64_t columns = table->shape[1];
  for (std::int64_t r = 0; r < requests; ++r) {
    std::int64_t start = Load<std::int32_t>(starts->bytes.data(), r);
    if (r == 0 && start > 0) found.set(kGatherRowsBefore);
    if (start > rows) {
      found.set(lens != nullptr ? kGatherStartPastEndLens
                                : kGatherStartPastEnd);
    }
    if (start < 0) found.set(kGatherStartNegative);
    if (r > 0 && start < previous_start) found.set(kGatherStartsDescend);
    if (r > 0 && start == previous_start) found.set(kGatherStartsEqual);
    previous_start = start;
    std::int64_t length;
    if (lens != nullptr) {
      length = Load<std::int32_t>(lens->bytes.data(), r);
      if (length < 0) found.set(kGatherLengthNegative);
    } else {
      start = std::min(start, rows);
      length = (r + 1 < requests
                    ? std::min<std::int64_t>(
                          Load<std::int32_t>(starts->bytes.data(), r + 1), rows)
                    : rows) -
               start;
    }
    length = std::max<std::int64_t>(length, 0);
    if (length == 0 && requests > 1) {
      found.set(r == 0              ? kGatherEmptyFirst
                : r + 1 == requests ? kGatherEmptyLast
                                    : kGatherEmptyBetween);
    }
    if (length > 0) filled.push_back({start, start + length});
    covered += length;
    if (length == 0) found.set(kGatherLength0);
    if (length == 1) found.set(kGatherLength1);
    if (length > 0 && length == pool.page_size - 1) {
      found.set(kGatherLengthPageMinus1);
    }
    if (length == pool.page_size) found.set(kGatherLengthPage);
    if (length == pool.page_size + 1) found.set(kGatherLengthPagePlus1);
    const std::int64_t first =
        firsts == nullptr
            ? 0
            : std::max(Load<std::int32_t>(firsts->bytes.data(), r), 0);
    if (length > 0) {
      if (first % pool.page_size != 0) found.set(kGatherSeqStartInside);
      if (first > 0 && first % pool.page_size == pool.page_size - 1) {
        found.set(kGatherSeqStartLastRow);
      }
      if (first >= pool.page_size) found.set(kGatherSeqStartSkipsPages);
    }
    const std::int64_t from = length > 0 ? first / pool.page_size : 0;
    const std::int64_t to =
        length > 0 ? CeilDiv(first + length, pool.page_size) : 0;
    tasks += to - from;
    if (!Holds(*table, r, columns, 4)) continue;
    const std::uint8_t* entries =
        table->bytes.data() + r * table->strides[0] * 4;
    std::int64_t previous = -1;
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t page = Load<std::int32_t>(entries, c);
      if (c < from || c >= to) {
        if (page == -1) {
          found.set(kGatherTableMinusOne);
        } else if (page < 0) {
          found.set(kGatherTableNegative);
        } else if (page >= pool.pages) {
          found.set(kGatherTableHuge);
        }
        continue;
      }
      if (page < 0 || page >= pool.pages) continue;
      if (page < previous) found.set(kGatherTablePermuted);
      if (page == previous) found.set(kGatherTableShared);
      previous = page;
      const std::int64_t row = c == from ? first % pool.page_size : 0;
      if (seen++ >= kRowsSeen) continue;
      const std::uint8_t* bytes =
          pool.bytes.data() + pool.RowAt(page * pool.page_size + row);
      CacheRowKnobs(bytes, found);
      if (nope && !found[kGatherTailStale] &&
          std::any_of(bytes + kTailAt, bytes + kRowBytes,
                      [](std::uint8_t b) { return b != 0; })) {
        found.set(kGatherTailStale);
      }
    }
  }
  std::sort(filled.begin(), filled.end());
  for (std::size_t i = 1; i < filled.size(); ++i) {
    if (filled[i].first < filled[i - 1].second) {
      found.set(lens != nullptr ? kGatherRowsShared : kGatherRowsSharedStarts);
    }
  }
  if (lens != nullptr && covered < rows) found.set(kGatherRowsBetween);
  if (tasks > CeilDiv(rows, pool.page_size)) found.set(kGatherMoreTasks);
}

// ---- Convert --------------------------------------------------------------

void ConvertKnobs(const CaseImage& image, const StepImage& step, Found& found) {
  const PoolImage& pool = image.pool;
  const Tensor* ids = step.Find(TensorId::kRequestIds);
  const Tensor* table = step.Find(TensorId::kBlockTable);
  const Tensor* indices = step.Find(TensorId::kTokenIndices);
  const Tensor* out = step.Find(TensorId::kOut);
  if (ids == nullptr || table == nullptr || indices == nullptr ||
      out == nullptr) {
    return;
  }
  const std::int64_t rows = indices->shape[0];
  const std::int64_t width = indices->shape[1];
  if (ids->shape[0] != rows) {
    found.set(ids->shape[0] < rows ? kConvertTokensFewer : kConvertTokensMore);
    return;
  }
  PageKnobs(pool, kConvertPageSize1, found);
  found.set(image.source->schedule() != 0 ? kConvertScheduleOther
                                          : kConvertScheduleInOrder);
  const bool wanted = step.Find(TensorId::kValidCount) != nullptr;
  found.set(wanted ? kValidCountWanted : kValidCountNotWanted);
  if (rows == 0) {
    found.set(kConvertNoRows);
    return;
  }
  if (table->shape[0] > 1 && table->strides[0] == 0) {
    found.set(kConvertTableExpanded);
  }
  if (table->strides[0] > table->shape[1]) found.set(kConvertTableNarrowed);
  if (table->shape[0] == 1 && rows > 1) found.set(kConvertTableOneRow);
  if (indices->strides[0] > width) found.set(kConvertIndicesStrided);
  if (out->strides[0] > width) found.set(kConvertOutStrided);
  if (width == 1) found.set(kWidth1);
  if (width % 2 == 1) found.set(kWidthOdd);
  if (width == 128) found.set(kWidth128);
  if (width > 128) found.set(kWidthAbove128);

  const std::int64_t columns = table->shape[1];
  const std::int64_t limit = columns * pool.page_size;
  // Columns that the rows seen read, of the first 64 (bit c).
  std::uint64_t read_columns = 0;
  std::int64_t previous_id = -1, seen_id = -1;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t id = Load<std::int32_t>(ids->bytes.data(), r);
    if (id == previous_id) found.set(kConvertRequestsRepeated);
    if (id < previous_id) found.set(kConvertRequestsUnordered);
    previous_id = id;
    if (r >= kRowsSeen || !Holds(*indices, r, width, 4)) continue;
    const std::uint8_t* at =
        indices->bytes.data() + r * indices->strides[0] * 4;
    std::int64_t valid = 0, minus_ones = 0, last = -1;
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t token = Load<std::int32_t>(at, i);
      if (token < 0) {
        if (token == -1) {
          ++minus_ones;
          if (i == 0) found.set(kIndexMinusOneFront);
          if (i + 1 == width) found.set(kIndexMinusOneBack);
          if (i > 0 && i + 1 < width) found.set(kIndexMinusOneMiddle);
        } else {
          found.set(kIndexOtherNegative);
          if (token == std::numeric_limits<std::int32_t>::min()) {
            found.set(kIndexInt32Min);
          }
        }
        continue;
      }
      if (token >= limit) {
        if (token < limit + pool.page_size) found.set(kConvertColumnPast);
        if (token >= 0x7fffff00) found.set(kIndexHuge);
        continue;
      }
      ++valid;
      const std::int64_t column = token / pool.page_size;
      if (column < 64 && (seen_id == -1 || seen_id == id)) {
        read_columns |= std::uint64_t{1} << column;
      }
      if (column + 1 == columns) found.set(kConvertColumnLast);
      if (token == 0) found.set(kIndexZero);
      if ((token + 1) % pool.page_size == 0) found.set(kIndexPageLast);
      if (token == last) found.set(kIndexRepeated);
      last = token;
    }
    if (seen_id == -1) seen_id = id;
    if (minus_ones == width) found.set(kIndexMinusOneAll);
    if (valid == 0) found.set(kValidCount0);
    if (valid == 1) found.set(kValidCount1);
    if (valid + 1 == width) found.set(kValidCountWidthMinus1);
    if (valid == width) found.set(kValidCountWidth);
  }
  // Unread entries of the first row's request.
  if (seen_id < 0 || seen_id >= table->shape[0] ||
      !Holds(*table, seen_id, columns, 4)) {
    return;
  }
  const std::uint8_t* entries =
      table->bytes.data() + seen_id * table->strides[0] * 4;
  for (std::int64_t c = 0; c < std::min<std::int64_t>(columns, 64); ++c) {
    if ((read_columns >> c & 1) != 0) continue;
    const std::int64_t page = Load<std::int32_t>(entries, c);
    if (page == -1) found.set(kConvertTableMinusOne);
    if (page >= pool.pages) found.set(kConvertTableHuge);
  }
}

// ---- Decode ---------------------------------------------------------------

bool IsNan32(std::uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

// A row that a key names.
void KeyRowKnobs(const std::uint8_t* row, Found& found) {
  std::uint32_t scales[kTiles];
  std::memcpy(scales, row + kScalesAt, sizeof(scales));
  bool pow2 = true, fractions = false;
  for (const std::uint32_t bits : scales) {
    const std::uint32_t exponent = bits >> 23 & 0xff;
    // Not a positive normal number below 2^119.
    if (bits >> 31 != 0 || exponent == 0 || exponent >= 127 + 119) {
      found.set(kDecodeScaleHostile);
      return;
    }
    pow2 &= (bits & 0x7fffffu) == 0;
    fractions |= ((bits ^ scales[0]) & 0x7fffffu) != 0;
  }
  if (pow2) found.set(kDecodeScalePow2);
  if (fractions) found.set(kDecodeScaleFractions);
}

bool HasNan(const std::uint8_t* row) {
  for (std::int64_t i = 0; i < kLatent; ++i) {
    if ((row[i] & 0x7f) == 0x7f) return true;
  }
  for (int tile = 0; tile < kTiles; ++tile) {
    if (IsNan32(Load<std::uint32_t>(row + kScalesAt, tile))) return true;
  }
  return false;
}

void QueryKnobs(const Tensor& q, Found& found) {
  std::int64_t nonzero = 0;
  bool finite = true;
  const std::int64_t count = static_cast<std::int64_t>(q.bytes.size()) / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const int m = Load<std::uint16_t>(q.bytes.data(), i) & 0x7fff;
    nonzero += m != 0;
    finite &= m < kBf16.infinity;
  }
  if (!finite) found.set(kQueryNotFinite);
  found.set(nonzero == 0                             ? kQueryZero
            : nonzero <= q.shape[0] * q.shape[1] * 2 ? kQueryOneHot
                                                     : kQueryDense);
}

void SinkKnobs(const Tensor* sinks, Found& found) {
  if (sinks == nullptr) {
    found.set(kSinkNone);
    return;
  }
  for (std::int64_t i = 0; i < sinks->shape[0]; ++i) {
    const std::uint32_t bits = Load<std::uint32_t>(sinks->bytes.data(), i);
    if (IsNan32(bits)) {
      found.set(kSinkNan);
    } else if ((bits & 0x7fffffffu) == 0x7f800000u) {
      found.set(bits >> 31 != 0 ? kSinkMinusInf : kSinkPlusInf);
    } else {
      found.set(kSinkFinite);
    }
  }
}

// Lanes that share one running maximum and one block of an index row.
constexpr std::int64_t kBlockLanes = 64;

void DecodeKnobs(const CaseImage& image, const StepImage& step, Found& found) {
  const PoolImage& pool = image.pool;
  const Tensor* q = step.Find(TensorId::kQ);
  const Tensor* indices = step.Find(TensorId::kIndices);
  const Tensor* lengths = step.Find(TensorId::kLengths);
  const Tensor* sinks = step.Find(TensorId::kSinks);
  if (q == nullptr || indices == nullptr) return;
  const Decode& call = step.step->decode();
  const std::int64_t queries = q->shape[0];
  const std::int64_t heads = q->shape[1];
  const std::int64_t pe_dim = q->shape[2] - kLatent;
  const std::int64_t width = indices->shape[1];

  bool refused = false;
  const auto refuse = [&](bool when, KnobId knob) {
    if (when) found.set(knob);
    refused |= when;
  };
  refuse(pe_dim != 0 && pe_dim != 64, kDecodePeDim);
  refuse(pool.row_bytes != kRowBytes, kDecodeRowBytes);
  refuse(indices->shape[0] != queries ||
             (lengths != nullptr && lengths->shape[0] != queries),
         kDecodeBatch);
  refuse(heads < 1 || heads > 128 ||
             (sinks != nullptr && sinks->shape[0] != heads),
         kDecodeHeads);
  refuse(pool.offset % 16 != 0 ||
             (pool.page_size > 1 && pool.row_stride % 16 != 0) ||
             (pool.pages > 1 && pool.page_stride % 16 != 0),
         kDecodeAlignment);
  if (refused) return;

  constexpr std::int64_t kSizes[] = {1, 2, 3, 16, 64};
  for (int i = 0; i < 5; ++i) {
    if (pool.page_size == kSizes[i]) found.set(kDecodePageSize1 + i);
  }
  StrideKnobs(pool, kDecodePagePadded, found);
  found.set(image.source->schedule() != 0 ? kDecodeScheduleOther
                                          : kDecodeScheduleInOrder);
  found.set(queries == 0   ? kDecodeQueries0
            : queries == 1 ? kDecodeQueries1
                           : kDecodeQueriesSeveral);
  if (queries > 64) found.set(kDecodeQueriesAbove64);
  if (queries == 0) return;
  if (call.query_length() > 1) found.set(kDecodeQueryLength);
  found.set(heads == 1 ? kDecodeHeads1 : kDecodeHeadsSeveral);
  if (heads == 128) found.set(kDecodeHeads128);
  found.set(pe_dim == 0 ? kDecodePeDim0 : kDecodePeDim64);
  if (width == 1) found.set(kDecodeWidth1);
  if (width >= 63 && width <= 65) {
    found.set(kDecodeWidth63 + static_cast<int>(width - 63));
  }
  if (width > 128) found.set(kDecodeWidthAbove128);
  if (indices->strides[0] > width) found.set(kDecodeIndicesStrided);
  const std::int64_t blocks = CeilDiv(width, kBlockLanes);
  const std::int64_t splits = call.splits();
  found.set(splits == 0   ? kSplitsOwn
            : splits == 1 ? kSplitsOne
                          : kSplitsSeveral);
  if (splits > blocks) found.set(kSplitsMoreThanBlocks);
  const std::int64_t topk = call.declared_topk();
  if (topk > 0) {
    found.set(topk < width    ? kTopkBelow
              : topk == width ? kTopkEqual
                              : kTopkAbove);
  }
  found.set(lengths != nullptr ? kLengthsGiven : kLengthsNone);
  QueryKnobs(*q, found);
  SinkKnobs(sinks, found);

  std::vector<bool> read(static_cast<std::size_t>(pool.slots()));
  std::int64_t seen = 0;
  for (std::int64_t n = 0; n < queries; ++n) {
    if (!Holds(*indices, n, width, 4)) continue;
    const std::uint8_t* at =
        indices->bytes.data() + n * indices->strides[0] * 4;
    std::int64_t active = width;
    if (lengths != nullptr) {
      const std::int64_t length = Load<std::int32_t>(lengths->bytes.data(), n);
      if (length == 0) found.set(kLengthZero);
      if (length == width) found.set(kLengthWidth);
      if (length > width) found.set(kLengthAboveWidth);
      active = std::clamp<std::int64_t>(length, 0, width);
    }
    std::int64_t keys = 0, first_block = 0, last_split = 0, previous = -1;
    bool masked = false, cut = false;
    for (std::int64_t lane = 0; lane < width; ++lane) {
      const std::int64_t slot = Load<std::int32_t>(at, lane);
      if (lane >= active) {
        if (slot >= 0 && slot < pool.slots()) cut = true;
        if (slot >= pool.slots()) found.set(kLengthHidesHuge);
        continue;
      }
      if (slot < 0) {
        masked = true;
        if (slot != -1) found.set(kMaskOtherNegative);
        if (lane == 0) found.set(kMaskFront);
        if (lane + 1 == width) found.set(kMaskBack);
        if (lane > 0 && lane + 1 < width) found.set(kMaskMiddle);
        continue;
      }
      if (slot >= pool.slots()) continue;
      ++keys;
      first_block += lane < kBlockLanes;
      last_split += splits > 1 && splits <= blocks &&
                    lane / kBlockLanes >= (splits - 1) * blocks / splits;
      if (slot == previous) found.set(kKeyRepeated);
      previous = slot;
      if (slot == 0) found.set(kKeySlot0);
      if (slot + 1 == pool.slots()) found.set(kKeyLastSlot);
      if (topk > 0 && lane >= topk) found.set(kTopkHidesKeys);
      read[static_cast<std::size_t>(slot)] = true;
      if (seen++ >= kRowsSeen) continue;
      const std::uint8_t* row = pool.bytes.data() + pool.RowAt(slot);
      KeyRowKnobs(row, found);
      if (HasNan(row)) found.set(kDecodeCodeNan);
      if (pe_dim == 0 && std::any_of(row + kTailAt, row + kRowBytes,
                                     [](std::uint8_t b) { return b != 0; })) {
        found.set(kDecodeTailStale);
      }
    }
    if (cut) found.set(kLengthCuts);
    if (keys == 0) found.set(kMaskAll);
    if (keys == 1) found.set(kKeySingle);
    if (!masked && keys == width) found.set(kMaskNone);
    if (width > kBlockLanes && keys > 0) {
      if (first_block == 0) found.set(kMaskLeadingBlock);
      if (first_block > 0 && first_block <= 4) found.set(kMaskFewInFirstBlock);
      if (splits > 1 && splits <= blocks && last_split == 0) {
        found.set(kSplitWithoutKeys);
      }
    }
  }
  const std::int64_t looked_at =
      std::min<std::int64_t>(pool.slots(), kRowsSeen);
  for (std::int64_t slot = 0; slot < looked_at; ++slot) {
    if (read[static_cast<std::size_t>(slot)]) continue;
    if (HasNan(pool.bytes.data() + pool.RowAt(slot))) {
      found.set(slot == 0 ? kDecodePoisonSlot0 : kDecodePoisonOther);
    }
  }
}

// ---- Programs -------------------------------------------------------------

// A slot that two writes of the program name.
bool SlotWrittenTwice(const CaseImage& image) {
  std::vector<std::int64_t> slots;
  for (const StepImage& step : image.steps) {
    if (step.is_patch || step.kernel != Kernel::kWriter) continue;
    const Tensor* t = step.Find(TensorId::kSlotMapping);
    if (t == nullptr) continue;
    const std::size_t before = slots.size();
    for (std::int64_t i = 0; i < t->shape[0]; ++i) {
      const std::int64_t slot = Load<std::int64_t>(t->bytes.data(), i);
      if (slot < 0) continue;
      if (std::binary_search(slots.begin(), slots.begin() + before, slot)) {
        return true;
      }
      slots.push_back(slot);
    }
    std::sort(slots.begin(), slots.end());
  }
  return false;
}

}  // namespace

const std::vector<Knob>& AllKnobs() {
  static const std::vector<Knob>* const kKnobs = new std::vector<Knob>{
#define MLAFUZZ_KNOB(id, name, kernel) {name, Kernel::k##kernel},
      MLAFUZZ_KNOBS(MLAFUZZ_KNOB)
#undef MLAFUZZ_KNOB
  };
  return *kKnobs;
}

std::vector<int> ExercisedKnobs(const CaseImage& image) {
  Found found;
  int writes = 0, gathers = 0;
  for (const StepImage& step : image.steps) {
    if (step.is_patch) continue;
    switch (step.kernel) {
      case Kernel::kWriter:
        ++writes;
        WriteKnobs(image, step, found);
        break;
      case Kernel::kGather:
        ++gathers;
        if (writes > 0) found.set(kProgramWriteThenGather);
        GatherKnobs(image, step, found);
        break;
      case Kernel::kConvert:
        ConvertKnobs(image, step, found);
        break;
      case Kernel::kDecode:
        if (writes > 0) found.set(kProgramWriteThenDecode);
        DecodeKnobs(image, step, found);
        break;
    }
  }
  if (gathers > 1) found.set(kProgramSeveralGathers);
  if (writes > 1) {
    found.set(kProgramTwoWrites);
    if (SlotWrittenTwice(image)) found.set(kProgramOverwrite);
  }
  std::vector<int> numbers;
  numbers.reserve(found.count());
  for (int i = 0; i < kKnobCount; ++i) {
    if (found[i]) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace mlafuzz
