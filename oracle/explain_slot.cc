#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "oracle/explain_parts.h"
#include "oracle/quantise.h"
#include "oracle/tensor_view.h"
#include "oracle/token_place.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {
namespace {

constexpr char kSource[] =
    "vLLM csrc/libtorch_stable/cache_kernels.cu, the fp8_ds_mla branch of "
    "concat_and_cache_mla";

// A token's values for one tile.
struct Tile {
  std::vector<std::uint32_t> x;  // their patterns, as the input has them
  float amax = 0;
};

Tile TileOf(const ComparedStep& compared, std::int64_t token,
            std::int64_t tile) {
  const Tensor& kv_c = *compared.step.Find(TensorId::kKvC);
  const int size = compared.layout.tile;
  const std::int64_t first = token * kv_c.strides[0] + tile * size;
  const Quantiser quantiser(compared.contract.writer());
  Tile result;
  if (kv_c.dtype == F32) {
    const Storage<std::uint32_t> source(&kv_c);
    std::vector<float> values;
    for (int i = 0; i < size; ++i) {
      result.x.push_back(source[first + i]);
      values.push_back(
          quantiser.Fp32Input(std::bit_cast<float>(result.x.back())));
    }
    result.amax = quantiser.TileAmax(values);
  } else {
    const Storage<std::uint16_t> source(&kv_c);
    std::vector<std::uint16_t> bits;
    for (int i = 0; i < size; ++i) {
      bits.push_back(source[first + i]);
      result.x.push_back(bits.back());
    }
    result.amax = quantiser.TileAmax(kv_c.dtype, bits);
  }
  return result;
}

// Of byte `byte` of the row of `token`, which is rope or the tail in its place.
void ExplainTail(const ComparedStep& compared, std::int64_t token,
                 std::int64_t byte, std::string* text) {
  const Tensor* k_pe = compared.step.Find(TensorId::kKPe);
  const std::int64_t column = (byte - compared.layout.rope_at) / 2;
  if (k_pe == nullptr || column >= k_pe->shape[1]) {
    absl::StrAppend(
        text, "  rule writer.tail: ",
        WriterContract::Tail_Name(compared.contract.writer().tail()),
        " (a reader of the row copies these bytes)\n");
    return;
  }
  const Storage<std::uint16_t> rope(k_pe);
  absl::StrAppendFormat(
      text, "  input k_pe[%d, %d]: 0x%04x; rule: copied bit for bit%s\n", token,
      column, rope[token * k_pe->strides[0] + column],
      From(compared.image.pool, kSource));
}

// Of byte `byte` of the row at `at`, which is a code, with pattern `x` of the
// input.
void ExplainCode(const ComparedStep& compared, std::int64_t token,
                 const TokenPlace& at, std::int64_t byte, std::uint32_t x,
                 std::string* text) {
  const WriterContract& rules = compared.contract.writer();
  const DType dtype = compared.step.Find(TensorId::kKvC)->dtype;
  const std::uint8_t want = compared.wanted_pool()[at.row + byte];
  const std::uint8_t got = compared.after.pool[at.row + byte];
  absl::StrAppendFormat(
      text,
      "  input kv_c[%d, %d]: %s 0x%04x (%.9g); code expected 0x%02x (%g), "
      "got 0x%02x (%g)\n",
      token, byte, DTypeName(dtype), x,
      dtype == F32 ? std::bit_cast<float>(x)
                   : InputValue(dtype, static_cast<std::uint16_t>(x)),
      want, CodeValue(want), got, CodeValue(got));
  absl::StrAppend(text, "  rules writer.code_division: ",
                  WriterContract::CodeDivision_Name(rules.code_division()),
                  ", writer.code_rounding: ",
                  WriterContract::CodeRounding_Name(rules.code_rounding()),
                  From(compared.image.pool, kSource), "\n");
}

// The same of a code or a byte of a scale.
void ExplainTile(const ComparedStep& compared, std::int64_t token,
                 const TokenPlace& at, std::int64_t byte, std::string* text) {
  const WriterContract& rules = compared.contract.writer();
  const RowLayout& layout = compared.layout;
  const bool is_code = layout.PartOf(byte) == RowLayout::Part::kCodes;
  const std::int64_t number =
      is_code ? byte / layout.tile
              : (byte - layout.scales_at) / layout.scale_bytes;
  const Tile tile = TileOf(compared, token, number);
  const std::int64_t scale_at =
      at.ByteAt(layout, layout.scales_at + number * layout.scale_bytes);
  const std::uint32_t want =
      ScaleBits(layout, compared.wanted_pool().data() + scale_at);
  const std::uint32_t got =
      ScaleBits(layout, compared.after.pool.data() + scale_at);
  absl::StrAppendFormat(
      text,
      "  tile %d: amax %.9g, scale expected 0x%08x (%.9g), got 0x%08x "
      "(%.9g)\n",
      number, tile.amax, want, ScaleValue(layout, want), got,
      ScaleValue(layout, got));
  if (is_code) {
    ExplainCode(compared, token, at, byte,
                tile.x[static_cast<std::size_t>(byte % layout.tile)], text);
  }
  absl::StrAppend(
      text, "  rules writer.scale: ", WriterContract::Scale_Name(rules.scale()),
      ", writer.scale_division: ",
      WriterContract::ScaleDivision_Name(rules.scale_division()),
      ", writer.floor: ", WriterContract::Floor_Name(rules.floor()), " ",
      absl::StrFormat("0x%08x", rules.floor_bits()),
      From(compared.image.pool, kSource), "\n");
}

}  // namespace

void ExplainSlot(const ComparedStep& compared, const Region& wrong,
                 std::string* text) {
  const PoolImage& pool = compared.image.pool;
  const PoolPlace place = PlaceInPool(pool, wrong.at);
  if (place.slot < 0) return;
  absl::StrAppend(text, "  slot ", place.slot, ": page ",
                  place.slot / pool.page_size, ", row ",
                  place.slot % pool.page_size, "\n");
  const TokenPlace at = PlaceOf(pool, place.slot);
  const RowWrite* write = nullptr;
  const WritePlan plan =
      PlanWrites(compared.contract.writer(), pool, compared.step);
  for (const RowWrite& row : plan.rows) {
    if (row.at == at.row) write = &row;
  }
  if (write == nullptr) {
    absl::StrAppend(text, "  no token is for this slot\n");
    return;
  }
  absl::StrAppend(text, "  token ", write->token, " is for this slot\n");
  switch (compared.layout.PartOf(place.byte)) {
    case RowLayout::Part::kRope:
      ExplainTail(compared, write->token, place.byte, text);
      break;
    case RowLayout::Part::kPadding:
      absl::StrAppend(text, "  rule: padding is written 0\n");
      break;
    default:
      ExplainTile(compared, write->token, at, place.byte, text);
  }
}

}  // namespace mlafuzz::oracle
