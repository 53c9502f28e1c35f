#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "oracle/explain_parts.h"
#include "oracle/gather_rows.h"
#include "oracle/tensor_view.h"
#include "oracle/token_place.h"
#include "oracle/upconvert.h"

namespace mlafuzz::oracle {
namespace {

constexpr char kSource[] =
    "vLLM csrc/libtorch_stable/cache_kernels.cu, "
    "cp_gather_and_upconvert_fp8_kv_cache";

// What the contract has for row `row` of dst.
std::optional<GatherRow> SourceOf(const ComparedStep& compared,
                                  std::int64_t row) {
  std::optional<GatherRow> source;
  ForEachGatherRow(compared.contract.gather(), compared.image.pool,
                   compared.step, [&](const GatherRow& r) {
                     if (r.row == row) source = r;
                   });
  return source;
}

// Of a value that is one code times the scale of the whole cache.
void ExplainOneScale(const ComparedStep& compared, std::int64_t slot,
                     std::int64_t column, std::string* text) {
  const GatherContract& rules = compared.contract.gather();
  const std::int64_t at = compared.image.pool.RowAt(slot) + column;
  if (at >= static_cast<std::int64_t>(compared.before.size())) return;
  const std::uint8_t code = compared.before[static_cast<std::size_t>(at)];
  absl::StrAppendFormat(
      text, "  code 0x%02x (%g), tensor_scale %.9g\n", code, CodeValue(code),
      std::bit_cast<float>(compared.step.step->gather().tensor_scale_bits()));
  absl::StrAppend(
      text, "  rules gather.rows: ", GatherContract::Rows_Name(rules.rows()),
      ", gather.product: ", GatherContract::Product_Name(rules.product()),
      "\n");
}

// Of rope column `i` of a row whose bytes are `in`, as the layout has them.
void ExplainRope(const ComparedStep& compared, const std::uint8_t* in,
                 std::int64_t i, std::string* text) {
  const RowLayout& layout = compared.layout;
  if (i >= layout.rope) return;
  const Step* const step = compared.step.step;
  const bool nope = step != nullptr && step->gather().nope();
  absl::StrAppendFormat(
      text, "  cache bytes %d..%d: 0x%04x; rule %s%s\n", layout.rope_at + 2 * i,
      layout.rope_at + 2 * i + 1,
      LoadBytes<std::uint16_t>(in + layout.rope_at + 2 * i),
      nope ? absl::StrCat("gather.nope_tail: ",
                          GatherContract::NopeTail_Name(
                              compared.contract.gather().nope_tail()))
           : "copied bit for bit",
      From(compared.image.pool, kSource));
}

// Of latent column `column` of such a row.
void ExplainLatent(const ComparedStep& compared, const std::uint8_t* in,
                   std::int64_t column, std::string* text) {
  const GatherContract& rules = compared.contract.gather();
  const RowLayout& layout = compared.layout;
  const std::int64_t tile = column / layout.tile;
  const std::uint32_t stored =
      ScaleBits(layout, in + layout.scales_at + tile * layout.scale_bytes);
  const std::uint8_t code = in[layout.codes_at + column];
  const float value = ScaleValue(layout, stored);
  const float read =
      Upconverter(rules).ReadScale(std::bit_cast<std::uint32_t>(value));
  absl::StrAppendFormat(
      text, "  code 0x%02x (%g), tile %d scale 0x%08x (%.9g) read as %.9g\n",
      code, CodeValue(code), tile, stored, value, read);
  absl::StrAppend(
      text, "  rules gather.scale: ", GatherContract::Scale_Name(rules.scale()),
      ", gather.product: ", GatherContract::Product_Name(rules.product()),
      ", gather.codes: ", GatherContract::Codes_Name(rules.codes()),
      From(compared.image.pool, kSource), "\n");
}

// Of a column of a row of dst that comes from `slot`.
void ExplainColumn(const ComparedStep& compared, std::int64_t slot,
                   std::int64_t column, std::string* text) {
  const GatherContract& rules = compared.contract.gather();
  if (compared.layout.copied) {
    absl::StrAppend(text, "  rules gather.code_loads: ",
                    GatherContract::CodeLoads_Name(rules.code_loads()),
                    ", gather.scale_rows: ",
                    GatherContract::ScaleRows_Name(rules.scale_rows()), "\n");
    return;
  }
  if (rules.rows() == GatherContract::ROWS_BYTES) {
    absl::StrAppend(text, "  byte ", column, " of the row; rules gather.rows: ",
                    GatherContract::Rows_Name(rules.rows()),
                    ", gather.byte_rows: ",
                    GatherContract::ByteRows_Name(rules.byte_rows()), "\n");
    return;
  }
  if (rules.rows() == GatherContract::ROWS_ONE_SCALE) {
    ExplainOneScale(compared, slot, column, text);
    return;
  }
  TokenBytes token;
  LoadToken(compared.layout, PlaceOf(compared.image.pool, slot),
            compared.before.data(), token.data());
  if (column >= compared.layout.codes) {
    ExplainRope(compared, token.data(), column - compared.layout.codes, text);
  } else {
    ExplainLatent(compared, token.data(), column, text);
  }
}

}  // namespace

void ExplainDst(const ComparedStep& compared, const Region& wrong,
                std::string* text) {
  if (wrong.tensor < 0) {
    absl::StrAppend(text, "  a gather reads the pool and changes nothing\n");
    return;
  }
  const Tensor& dst =
      compared.step.tensors[static_cast<std::size_t>(wrong.tensor)];
  if (dst.strides[0] <= 0) return;
  const std::int64_t element = wrong.at / DTypeSize(dst.dtype);
  const std::int64_t row = element / dst.strides[0];
  const std::optional<GatherRow> source = SourceOf(compared, row);
  if (!source.has_value()) {
    absl::StrAppend(text, "  no request owns dst row ", row, "\n");
    return;
  }
  absl::StrAppend(text, "  dst row ", row, ": request ", source->request,
                  ", token ", source->token, ", table column ", source->column,
                  "\n");
  if (source->source != GatherRow::Source::kSlot) {
    absl::StrAppend(text, "  rule gather.table_columns: ",
                    GatherContract::TableColumns_Name(
                        compared.contract.gather().table_columns()),
                    "\n");
    return;
  }
  absl::StrAppend(text, "  comes from slot ", source->slot, ": page ",
                  source->page, ", row ",
                  source->slot % compared.image.pool.page_size, "\n");
  ExplainColumn(compared, source->slot, element % dst.strides[0], text);
}

}  // namespace mlafuzz::oracle
