#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "oracle/bf16.h"
#include "oracle/convert_index.h"
#include "oracle/damage.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/e4m3.h"
#include "oracle/evidence.h"
#include "oracle/expect.h"
#include "oracle/gather_rows.h"
#include "oracle/judge.h"
#include "oracle/layout.h"
#include "oracle/layouts/ue8m0.h"
#include "oracle/part_words.h"
#include "oracle/pool_history.h"
#include "oracle/quantise.h"
#include "oracle/tensor_view.h"
#include "oracle/upconvert.h"
#include "oracle/validity.h"
#include "oracle/write_plan.h"

namespace mlafuzz {
namespace {

using oracle::AfterImage;
using oracle::Damage;
using oracle::GatherRow;
using oracle::Region;
using oracle::RowLayout;
using oracle::RowWrite;

// Where the rules of a default contract for the 656-byte row come from.
constexpr char kWriterSource[] =
    "vLLM csrc/libtorch_stable/cache_kernels.cu, the fp8_ds_mla branch of "
    "concat_and_cache_mla";
constexpr char kGatherSource[] =
    "vLLM csrc/libtorch_stable/cache_kernels.cu, "
    "cp_gather_and_upconvert_fp8_kv_cache";
constexpr char kConvertSource[] =
    "vLLM v1/attention/backends/mla/sparse_utils.py, "
    "triton_convert_req_index_to_global_index";

float CodeValue(std::uint8_t code) {
  return oracle::E4m3Values(oracle::E4m3Reading::kFn)[code];
}

class Explainer {
 public:
  Explainer(const Contract& contract, const CaseImage& image, int step,
            const oracle::PoolHistory& history, const StepObservation& observed)
      : contract_(contract),
        image_(image),
        index_(step),
        step_(image.steps[static_cast<std::size_t>(step)]),
        layout_(oracle::LayoutOf(image.pool.layout)),
        before_(history.before()),
        observed_(observed) {
    seen_ = oracle::AfterImageOf(step_, observed, history.after(), &after_);
  }

  void Run(std::string* text) {
    const StepValidity validity = Classify(contract_, image_, index_);
    absl::StrAppend(text, "call: ", ValidityName(validity.validity));
    if (!validity.rule.empty()) {
      absl::StrAppend(text, " by ", validity.rule, " (", validity.reason, ")");
    }
    absl::StrAppend(text, ", ended ", CallStatusName(observed_.status));
    if (!observed_.message.empty()) {
      absl::StrAppend(text, ": ", observed_.message);
    }
    absl::StrAppend(text, "\n");
    for (const Stray& stray : observed_.strays) {
      absl::StrAppend(text, "stray: ", stray.count, " bytes of ",
                      stray.tensor ? TensorName(*stray.tensor) : "the pool",
                      " from ", stray.first, " to ", stray.last, "\n");
    }
    for (const std::string& report : observed_.reports) {
      absl::StrAppend(text, "report: ", report, "\n");
    }
    const bool judged = validity.validity == Validity::kValid ||
                        validity.validity == Validity::kBoundary;
    if (!judged || !seen_ || observed_.status != CallStatus::kOk) return;
    expected_ = Expect(contract_, image_, index_, before_);
    if (oracle::Matches(contract_, image_, index_, before_, expected_,
                        after_)) {
      absl::StrAppend(text, "all bytes are as expected\n");
      return;
    }
    damage_ =
        oracle::Assess(contract_, image_, index_, before_, expected_, after_);
    FirstWrong(text);
    Counts(text);
  }

 private:
  void FirstWrong(std::string* text) const {
    const Region* region = nullptr;
    for (const Region* r :
         {&damage_.codes, &damage_.scales, &damage_.rope, &damage_.tail,
          &damage_.untouched_rows, &damage_.skipped_rows, &damage_.values,
          &damage_.missing_rows, &damage_.gather_rope, &damage_.gather_tail,
          &damage_.gather_scales, &damage_.indices, &damage_.counts,
          &damage_.padding, &damage_.foreign}) {
      if (*r) {
        region = r;
        break;
      }
    }
    if (region == nullptr) return;
    absl::StrAppend(text, "first wrong: ",
                    oracle::DescribeFirst(image_, index_, before_, expected_,
                                          after_, *region),
                    "\n");
    switch (step_.kernel) {
      case Kernel::kWriter:
        ExplainSlot(*region, text);
        break;
      case Kernel::kGather:
        ExplainDst(*region, text);
        break;
      case Kernel::kConvert:
        ExplainIndex(*region, text);
        break;
      case Kernel::kDecode:
        break;
    }
  }

  // " (SOURCE)" of rules for the rows that the source is of, else nothing:
  // other layouts' are in `mlafuzz contracts`.
  std::string From(const char* source) const {
    return image_.pool.layout == FP8_DS_MLA ? absl::StrCat(" (", source, ")")
                                            : "";
  }

  // ---- writer

  void ExplainSlot(const Region& region, std::string* text) const {
    const oracle::PoolPlace place = oracle::PlaceInPool(image_.pool, region.at);
    if (place.slot < 0) return;
    absl::StrAppend(text, "  slot ", place.slot, ": page ",
                    place.slot / image_.pool.page_size, ", row ",
                    place.slot % image_.pool.page_size, "\n");
    const oracle::TokenPlace at = oracle::PlaceOf(image_.pool, place.slot);
    const RowWrite* write = nullptr;
    const oracle::WritePlan plan =
        oracle::PlanWrites(contract_.writer(), image_.pool, step_);
    for (const RowWrite& row : plan.rows) {
      if (row.at == at.row) write = &row;
    }
    if (write == nullptr) {
      absl::StrAppend(text, "  no token is for this slot\n");
      return;
    }
    absl::StrAppend(text, "  token ", write->token, " is for this slot\n");
    switch (layout_.PartOf(place.byte)) {
      case RowLayout::Part::kRope:
        ExplainTail(write->token, place.byte, text);
        break;
      case RowLayout::Part::kPadding:
        absl::StrAppend(text, "  rule: padding is written 0\n");
        break;
      default:
        ExplainTile(write->token, at, place.byte, text);
    }
  }

  void ExplainTail(std::int64_t token, std::int64_t byte,
                   std::string* text) const {
    const Tensor* k_pe = step_.Find(TensorId::kKPe);
    const std::int64_t column = (byte - layout_.rope_at) / 2;
    if (k_pe == nullptr || column >= k_pe->shape[1]) {
      absl::StrAppend(text, "  rule writer.tail: ",
                      WriterContract::Tail_Name(contract_.writer().tail()),
                      " (a reader of the row copies these bytes)\n");
      return;
    }
    const oracle::Storage<std::uint16_t> rope(k_pe);
    absl::StrAppendFormat(
        text, "  input k_pe[%d, %d]: 0x%04x; rule: copied bit for bit%s\n",
        token, column, rope[token * k_pe->strides[0] + column],
        From(kWriterSource));
  }

  // Bits of the stored scale that begins at byte `at` of `pool`.
  std::uint32_t ScaleBits(const std::uint8_t* pool, std::int64_t at) const {
    return layout_.scale_bytes == 1
               ? pool[at]
               : oracle::LoadBytes<std::uint32_t>(pool + at);
  }
  float ScaleValue(std::uint32_t bits) const {
    return layout_.scale_bytes == 1
               ? oracle::Ue8m0Value(static_cast<std::uint8_t>(bits), {})
               : std::bit_cast<float>(bits);
  }

  void ExplainTile(std::int64_t token, const oracle::TokenPlace& at,
                   std::int64_t byte, std::string* text) const {
    const WriterContract& rules = contract_.writer();
    const Tensor& kv_c = *step_.Find(TensorId::kKvC);
    const bool is_code = layout_.PartOf(byte) == RowLayout::Part::kCodes;
    const std::int64_t tile =
        is_code ? byte / layout_.tile
                : (byte - layout_.scales_at) / layout_.scale_bytes;
    const oracle::Quantiser quantiser(rules);
    const std::int64_t first = token * kv_c.strides[0] + tile * layout_.tile;
    std::vector<std::uint32_t> x;  // patterns
    float amax;
    if (kv_c.dtype == F32) {
      const oracle::Storage<std::uint32_t> source(&kv_c);
      std::vector<float> values;
      for (int i = 0; i < layout_.tile; ++i) {
        x.push_back(source[first + i]);
        values.push_back(quantiser.Fp32Input(std::bit_cast<float>(x.back())));
      }
      amax = quantiser.TileAmax(values);
    } else {
      const oracle::Storage<std::uint16_t> source(&kv_c);
      std::vector<std::uint16_t> bits;
      for (int i = 0; i < layout_.tile; ++i) {
        bits.push_back(source[first + i]);
        x.push_back(bits.back());
      }
      amax = quantiser.TileAmax(kv_c.dtype, bits);
    }
    const std::int64_t scale_at =
        at.ByteAt(layout_, layout_.scales_at + tile * layout_.scale_bytes);
    const std::uint32_t want =
        ScaleBits(oracle::ExpectedPool(expected_, before_).data(), scale_at);
    const std::uint32_t got = ScaleBits(after_.pool.data(), scale_at);
    absl::StrAppendFormat(
        text,
        "  tile %d: amax %.9g, scale expected 0x%08x (%.9g), got 0x%08x "
        "(%.9g)\n",
        tile, amax, want, ScaleValue(want), got, ScaleValue(got));
    if (is_code) {
      const std::size_t i = static_cast<std::size_t>(byte % layout_.tile);
      const std::uint8_t want_code =
          oracle::ExpectedPool(expected_, before_)[at.row + byte];
      const std::uint8_t got_code = after_.pool[at.row + byte];
      absl::StrAppendFormat(
          text,
          "  input kv_c[%d, %d]: %s 0x%04x (%.9g); code expected 0x%02x (%g), "
          "got 0x%02x (%g)\n",
          token, byte, DTypeName(kv_c.dtype), x[i],
          kv_c.dtype == F32 ? std::bit_cast<float>(x[i])
                            : oracle::InputValue(
                                  kv_c.dtype, static_cast<std::uint16_t>(x[i])),
          want_code, CodeValue(want_code), got_code, CodeValue(got_code));
      absl::StrAppend(text, "  rules writer.code_division: ",
                      WriterContract::CodeDivision_Name(rules.code_division()),
                      ", writer.code_rounding: ",
                      WriterContract::CodeRounding_Name(rules.code_rounding()),
                      From(kWriterSource), "\n");
    }
    absl::StrAppend(
        text,
        "  rules writer.scale: ", WriterContract::Scale_Name(rules.scale()),
        ", writer.scale_division: ",
        WriterContract::ScaleDivision_Name(rules.scale_division()),
        ", writer.floor: ", WriterContract::Floor_Name(rules.floor()), " ",
        absl::StrFormat("0x%08x", rules.floor_bits()), From(kWriterSource),
        "\n");
  }

  // ---- gather

  void ExplainDst(const Region& region, std::string* text) const {
    if (region.tensor < 0) {
      absl::StrAppend(text, "  a gather reads the pool and changes nothing\n");
      return;
    }
    const Tensor& dst = step_.tensors[static_cast<std::size_t>(region.tensor)];
    if (dst.strides[0] <= 0) return;
    const std::int64_t element = region.at / DTypeSize(dst.dtype);
    const std::int64_t row = element / dst.strides[0];
    const std::int64_t column = element % dst.strides[0];
    bool found = false;
    GatherRow source{};
    oracle::ForEachGatherRow(contract_.gather(), image_.pool, step_,
                             [&](const GatherRow& r) {
                               if (r.row != row) return;
                               found = true;
                               source = r;
                             });
    if (!found) {
      absl::StrAppend(text, "  no request owns dst row ", row, "\n");
      return;
    }
    absl::StrAppend(text, "  dst row ", row, ": request ", source.request,
                    ", token ", source.token, ", table column ", source.column,
                    "\n");
    if (source.source != GatherRow::Source::kSlot) {
      absl::StrAppend(
          text, "  rule gather.table_columns: ",
          GatherContract::TableColumns_Name(contract_.gather().table_columns()),
          "\n");
      return;
    }
    absl::StrAppend(text, "  comes from slot ", source.slot, ": page ",
                    source.page, ", row ", source.slot % image_.pool.page_size,
                    "\n");
    const GatherContract& rules = contract_.gather();
    if (layout_.copied) {
      absl::StrAppend(text, "  rules gather.code_loads: ",
                      GatherContract::CodeLoads_Name(rules.code_loads()),
                      ", gather.scale_rows: ",
                      GatherContract::ScaleRows_Name(rules.scale_rows()), "\n");
      return;
    }
    if (rules.rows() == GatherContract::ROWS_BYTES) {
      absl::StrAppend(
          text, "  byte ", column, " of the row; rules gather.rows: ",
          GatherContract::Rows_Name(rules.rows()), ", gather.byte_rows: ",
          GatherContract::ByteRows_Name(rules.byte_rows()), "\n");
      return;
    }
    if (rules.rows() == GatherContract::ROWS_ONE_SCALE) {
      const std::int64_t at = image_.pool.RowAt(source.slot) + column;
      if (at >= static_cast<std::int64_t>(before_.size())) return;
      const std::uint8_t code = before_[static_cast<std::size_t>(at)];
      absl::StrAppendFormat(
          text, "  code 0x%02x (%g), tensor_scale %.9g\n", code,
          CodeValue(code),
          std::bit_cast<float>(step_.step->gather().tensor_scale_bits()));
      absl::StrAppend(
          text,
          "  rules gather.rows: ", GatherContract::Rows_Name(rules.rows()),
          ", gather.product: ", GatherContract::Product_Name(rules.product()),
          "\n");
      return;
    }
    oracle::TokenBytes token;
    oracle::LoadToken(layout_, oracle::PlaceOf(image_.pool, source.slot),
                      before_.data(), token.data());
    const std::uint8_t* in = token.data();
    if (column >= layout_.codes) {
      const bool nope = step_.step != nullptr && step_.step->gather().nope();
      const std::int64_t i = column - layout_.codes;
      if (i >= layout_.rope) return;
      absl::StrAppendFormat(
          text, "  cache bytes %d..%d: 0x%04x; rule %s%s\n",
          layout_.rope_at + 2 * i, layout_.rope_at + 2 * i + 1,
          oracle::LoadBytes<std::uint16_t>(in + layout_.rope_at + 2 * i),
          nope ? absl::StrCat("gather.nope_tail: ",
                              GatherContract::NopeTail_Name(rules.nope_tail()))
               : "copied bit for bit",
          From(kGatherSource));
      return;
    }
    const std::int64_t tile = column / layout_.tile;
    const std::uint32_t stored =
        ScaleBits(in, layout_.scales_at + tile * layout_.scale_bytes);
    const std::uint8_t code = in[layout_.codes_at + column];
    const float value = ScaleValue(stored);
    const float read = oracle::Upconverter(rules).ReadScale(
        std::bit_cast<std::uint32_t>(value));
    absl::StrAppendFormat(
        text, "  code 0x%02x (%g), tile %d scale 0x%08x (%.9g) read as %.9g\n",
        code, CodeValue(code), tile, stored, value, read);
    absl::StrAppend(
        text,
        "  rules gather.scale: ", GatherContract::Scale_Name(rules.scale()),
        ", gather.product: ", GatherContract::Product_Name(rules.product()),
        ", gather.codes: ", GatherContract::Codes_Name(rules.codes()),
        From(kGatherSource), "\n");
  }

  // ---- convert

  void ExplainIndex(const Region& region, std::string* text) const {
    if (region.tensor < 0) {
      absl::StrAppend(text, "  index conversion does not see the pool\n");
      return;
    }
    const Tensor& out = step_.tensors[static_cast<std::size_t>(region.tensor)];
    const Tensor& tokens = *step_.Find(TensorId::kTokenIndices);
    const oracle::Storage<std::int32_t> request_of(
        step_.Find(TensorId::kRequestIds));
    const oracle::Storage<std::int32_t> token_of(&tokens);
    const ConvertContract& rules = contract_.convert();
    if (out.id == TensorId::kValidCount) {
      absl::StrAppend(text, "  rule convert.valid_count: ",
                      ConvertContract::ValidCount_Name(rules.valid_count()),
                      "\n");
      return;
    }
    if (out.strides[0] <= 0) return;
    const std::int64_t row = region.at / 4 / out.strides[0];
    const std::int64_t column = region.at / 4 % out.strides[0];
    if (column >= out.shape[1] || !request_of.Has(row)) return;
    const std::int32_t token = token_of[row * tokens.strides[0] + column];
    const oracle::ConvertedIndex index =
        oracle::IndexConverter(rules, image_.pool, step_)
            .Convert(row, request_of[row], token);
    absl::StrAppend(text, "  token_indices[", row, ", ", column, "]: ", token,
                    ", request ", request_of[row], ", table column ",
                    index.column);
    if (const oracle::Storage<std::int32_t> prefill(
            step_.Find(TensorId::kPrefillIds));
        prefill.Has(row)) {
      absl::StrAppend(text, ", prefill request ", prefill[row],
                      " (convert.workspace: ",
                      ConvertContract::Workspace_Name(rules.workspace()), ")");
    }
    if (index.in_workspace) {
      absl::StrAppend(text, ", row ", index.slot, " of the workspace");
    } else if (index.kind == oracle::ConvertedIndex::Kind::kSlot) {
      absl::StrAppend(text, ", page ", index.page, ", slot ", index.slot);
    } else {
      absl::StrAppend(text, ", names no slot");
    }
    absl::StrAppend(
        text, "\n  rules convert.invalid: ",
        ConvertContract::Invalid_Name(rules.invalid()), ", convert.negative: ",
        ConvertContract::Negative_Name(rules.negative()),
        ", convert.table_columns: ",
        ConvertContract::TableColumns_Name(rules.table_columns()),
        ", convert.order: ", ConvertContract::Order_Name(rules.order()), " (",
        kConvertSource, ")\n");
  }

  // ---- all

  void Counts(std::string* text) const {
    absl::StrAppend(text, "wrong: ", damage_.wrong_rows, " of ", damage_.rows,
                    " rows");
    const oracle::PartWords words = oracle::PartWordsOf(contract_, layout_);
    struct Named {
      const Region* region;
      absl::string_view name;
    };
    for (const Named& named : std::initializer_list<Named>{
             {&damage_.codes, "codes"},
             {&damage_.scales, "scale bytes"},
             {&damage_.padding, "padding bytes"},
             {&damage_.rope, "rope bytes"},
             {&damage_.tail, words.tail_bytes},
             {&damage_.untouched_rows, "rows never written"},
             {&damage_.skipped_rows, "skipped rows written"},
             {&damage_.values, words.gathered},
             {&damage_.gather_rope, "rope values"},
             {&damage_.gather_tail, words.tail_values},
             {&damage_.missing_rows, "dst rows never written"},
             {&damage_.gather_scales, "rows of copied scales"},
             {&damage_.indices, "indices"},
             {&damage_.counts, "counts"},
             {&damage_.foreign, "bytes of nobody's"}}) {
      if (*named.region) {
        absl::StrAppend(text, ", ", named.region->count, " ", named.name);
      }
    }
    absl::StrAppend(text, "\n");
  }

  const Contract& contract_;
  const CaseImage& image_;
  const int index_;
  const StepImage& step_;
  const oracle::RowLayout& layout_;
  const absl::Span<const std::uint8_t> before_;
  const StepObservation& observed_;
  AfterImage after_;
  bool seen_ = false;
  Expectation expected_;
  Damage damage_;
};

}  // namespace

std::string Explain(const Contracts& contracts, const CaseImage& image,
                    const Observation& observation, const Check& check) {
  std::string text =
      absl::StrCat("step ", check.step, " (", KernelName(check.kernel), "), ",
                   check.property, ": ", VerdictName(check.verdict));
  if (!check.detail.empty()) absl::StrAppend(&text, ": ", check.detail);
  absl::StrAppend(&text, "\n");
  const std::size_t step = static_cast<std::size_t>(check.step);
  if (check.step < 0 || step >= image.steps.size() ||
      step >= observation.steps.size() || image.steps[step].is_patch) {
    return text;
  }
  const oracle::PoolHistory history =
      oracle::PoolHistory::Before(image, observation, check.step);
  const Contract& contract =
      *contracts[static_cast<std::size_t>(image.steps[step].kernel)];
  if (image.steps[step].kernel == Kernel::kDecode) {
    text = absl::StrCat(
        "step ", check.step, " (decode), ",
        ExplainDecode(contract, image, check.step, history.before(),
                      observation.steps[step], check));
  } else {
    Explainer(contract, image, check.step, history, observation.steps[step])
        .Run(&text);
  }
  const Validity validity = Classify(contract, image, check.step).validity;
  if (observation.steps[step].status == CallStatus::kOk &&
      (validity == Validity::kValid || validity == Validity::kBoundary)) {
    const std::string evidence = oracle::EvidenceText(oracle::WeighEvidence(
        contract, image, check.step, history, observation.steps[step]));
    if (!evidence.empty()) {
      absl::StrAppend(&text, "evidence: ", evidence, "\n");
    }
  }
  return text;
}

}  // namespace mlafuzz
