#ifndef MLAFUZZ_CORPUS_KNOBS_LIST_H_
#define MLAFUZZ_CORPUS_KNOBS_LIST_H_

#include <bitset>

namespace mlafuzz::knobs {

// The value classes by name; see AllKnobs().

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
  X(DecodePageSize128, "decode/page-size-128", Decode)                    \
  X(DecodePageSize256, "decode/page-size-256", Decode)                    \
  X(DecodePagePadded, "decode/page-stride-padded", Decode)                \
  X(DecodeRowPadded, "decode/row-stride-padded", Decode)                  \
  X(DecodePoolSlice, "decode/pool-slice", Decode)                         \
  X(DecodePoolZeros, "decode/pool-zeros", Decode)                         \
  X(DecodePool7f, "decode/pool-0x7f", Decode)                             \
  X(DecodePool80, "decode/pool-0x80", Decode)                             \
  X(DecodePoolRandom, "decode/pool-random-bytes", Decode)                 \
  X(DecodeScheduleOther, "decode/schedule-other", Decode)                 \
  X(DecodeScheduleInOrder, "decode/schedule-in-order", Decode)            \
  X(DecodeQueries0, "queries/0", Decode)                                  \
  X(DecodeQueries1, "queries/1", Decode)                                  \
  X(DecodeQueries2, "queries/2", Decode)                                  \
  X(DecodeQueries63, "queries/63", Decode)                                \
  X(DecodeQueries64, "queries/64", Decode)                                \
  X(DecodeQueries65, "queries/65", Decode)                                \
  X(DecodeQueries66, "queries/66", Decode)                                \
  X(DecodeQueries80, "queries/80", Decode)                                \
  X(DecodeQueriesSeveral, "queries/several", Decode)                      \
  X(DecodeQueriesAbove64, "queries/above-64", Decode)                     \
  X(DecodeQueryLength, "queries/length-above-1", Decode)                  \
  X(DecodeQueriesPadded, "queries/one-real-of-several", Decode)           \
  X(DecodeHeads1, "heads/1", Decode)                                      \
  X(DecodeHeadsSeveral, "heads/several", Decode)                          \
  X(DecodeHeads64, "heads/64", Decode)                                    \
  X(DecodeHeads65, "heads/65", Decode)                                    \
  X(DecodeHeads96, "heads/96", Decode)                                    \
  X(DecodeHeads128, "heads/128", Decode)                                  \
  X(DecodePeDim0, "decode/pe-dim-0", Decode)                              \
  X(DecodePeDim64, "decode/pe-dim-64", Decode)                            \
  X(DecodeTailStale, "decode/stale-tail-under-nope", Decode)              \
  X(DecodeWidth1, "decode/width-1", Decode)                               \
  X(DecodeWidth63, "decode/width-63", Decode)                             \
  X(DecodeWidth64, "decode/width-64", Decode)                             \
  X(DecodeWidth65, "decode/width-65", Decode)                             \
  X(DecodeWidth128, "decode/width-128", Decode)                           \
  X(DecodeWidth192, "decode/width-192", Decode)                           \
  X(DecodeWidth256, "decode/width-256", Decode)                           \
  X(DecodeWidth512, "decode/width-512", Decode)                           \
  X(DecodeWidth1024, "decode/width-1024", Decode)                         \
  X(DecodeWidth2048, "decode/width-2048", Decode)                         \
  X(DecodeWidth2176, "decode/width-2176", Decode)                         \
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
  X(KeyAllButOne, "key/all-but-one", Decode)                              \
  X(KeyPowerOfTwo, "key/power-of-two-count", Decode)                      \
  X(KeyRepeated, "key/repeated", Decode)                                  \
  X(KeySlot0, "key/slot-0", Decode)                                       \
  X(KeyLastSlot, "key/last-slot", Decode)                                 \
  X(LengthsGiven, "length/given", Decode)                                 \
  X(LengthsNone, "length/none", Decode)                                   \
  X(LengthZero, "length/0", Decode)                                       \
  X(LengthOne, "length/1", Decode)                                        \
  X(LengthPageBelow, "length/page-minus-1", Decode)                       \
  X(LengthPage, "length/page", Decode)                                    \
  X(LengthPageAbove, "length/page-plus-1", Decode)                        \
  X(Length63, "length/63", Decode)                                        \
  X(Length64, "length/64", Decode)                                        \
  X(Length65, "length/65", Decode)                                        \
  X(LengthNegative, "length/negative", Decode)                            \
  X(LengthWidth, "length/width", Decode)                                  \
  X(LengthAboveWidth, "length/above-width", Decode)                       \
  X(LengthCuts, "length/cuts-keys", Decode)                               \
  X(LengthCutsPadded, "length/cuts-keys-behind-pads", Decode)             \
  X(LengthHidesHuge, "length/hides-huge-index", Decode)                   \
  X(SinkNone, "sink/none", Decode)                                        \
  X(SinkFinite, "sink/finite", Decode)                                    \
  X(SinkMinusInf, "sink/minus-inf", Decode)                               \
  X(SinkPlusInf, "sink/plus-inf", Decode)                                 \
  X(SinkNan, "sink/nan", Decode)                                          \
  X(SplitsOwn, "splits/own-choice", Decode)                               \
  X(SplitsOne, "splits/1", Decode)                                        \
  X(SplitsSeveral, "splits/several", Decode)                              \
  X(Splits8, "splits/8", Decode)                                          \
  X(Splits16, "splits/16", Decode)                                        \
  X(Splits32, "splits/32", Decode)                                        \
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
  X(KeyScaleZero, "key/scale-zero", Decode)                               \
  X(KeyScaleSubnormal, "key/scale-subnormal", Decode)                     \
  X(KeyScaleFltMin, "key/scale-flt-min", Decode)                          \
  X(KeyScaleNan, "key/scale-nan", Decode)                                 \
  X(KeyScaleInf, "key/scale-inf", Decode)                                 \
  X(KeyScaleNegative, "key/scale-negative", Decode)                       \
  X(KeyScaleSpread, "key/scale-spread-18-octaves", Decode)                \
  X(KeyScaleBeside, "key/scale-beside-power-of-two", Decode)              \
  X(KeyTileZero, "key/tile-zeros", Decode)                                \
  X(KeyTileOutlier, "key/tile-one-code", Decode)                          \
  X(KeyCodeNegativeZero, "key/code-negative-zero", Decode)                \
  X(KeyCodeSubnormal, "key/code-subnormal", Decode)                       \
  X(KeyRopeSubnormal, "key/rope-subnormal", Decode)                       \
  X(KeyRopeNotFinite, "key/rope-not-finite", Decode)                      \
  X(DecodeCodeNan, "key/code-nan", Decode)                                \
  X(DecodePoisonSlot0, "decode/poison-in-unread-slot-0", Decode)          \
  X(DecodePoisonOther, "decode/poison-in-unread-row", Decode)             \
  X(ProgramWriteThenDecode, "program/write-then-decode", Decode)          \
  X(ProgramTwoDecodes, "program/several-decodes", Decode)                 \
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

}  // namespace mlafuzz::knobs

#endif  // MLAFUZZ_CORPUS_KNOBS_LIST_H_
// What the pool holds before the first step.
void DecodeFillKnobs(const Pool& pool, Found& found) {
  const Fill& fill = pool.fill();
  if (fill.kind() == Fill::RANDOM_BYTES) found.set(kDecodePoolRandom);
  if (fill.kind() != Fill::BYTE) return;
  if (fill.byte() == 0) found.set(kDecodePoolZeros);
  if (fill.byte() == 0x7f) found.set(kDecodePool7f);
  if (fill.byte() == 0x80) found.set(kDecodePool80);
}

// `first` is the knob of values[0]; the others follow it in order.
template <std::size_t N>
void OneOf(std::int64_t value, const std::int64_t (&values)[N], int first,
           Found& found) {
  for (std::size_t i = 0; i < N; ++i) {
    if (value == values[i]) found.set(first + i);
  }
}
