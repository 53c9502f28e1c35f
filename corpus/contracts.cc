#include "corpus/contracts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/contract_checks.h"
#include "corpus/message_checks.h"
#include "corpus/token_layout.h"
#include "google/protobuf/descriptor.h"

namespace mlafuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::uint32_t kFltMinBits = 0x00800000;
constexpr std::uint32_t kTenToMinus4Bits = 0x38d1b717;

// Copies every field that `into` leaves unset (zero, empty) from `from`,
// message by message. An unset arithmetic means unknown and stays so.
void FillFrom(const Message& from, Message* into) {
  const Reflection* reflection = into->GetReflection();
  for (int i = 0; i < into->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = into->GetDescriptor()->field(i);
    if (field->is_repeated()) {
      if (reflection->FieldSize(*into, field) > 0) continue;
      for (int k = 0; k < reflection->FieldSize(from, field); ++k) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
          reflection->AddEnumValue(
              into, field, reflection->GetRepeatedEnumValue(from, field, k));
        } else {
          reflection->AddUInt32(into, field,
                                reflection->GetRepeatedUInt32(from, field, k));
        }
      }
      continue;
    }
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (field->message_type() == Arithmetic::descriptor()) break;
        FillFrom(reflection->GetMessage(from, field),
                 reflection->MutableMessage(into, field));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        if (reflection->GetEnumValue(*into, field) == 0) {
          reflection->SetEnumValue(into, field,
                                   reflection->GetEnumValue(from, field));
        }
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        if (reflection->GetUInt32(*into, field) == 0) {
          reflection->SetUInt32(into, field,
                                reflection->GetUInt32(from, field));
        }
        break;
      default:
        break;
    }
  }
}

// Names in Contract of the messages that hold one kernel's rules.
std::vector<std::string> RuleMessages(Kernel kernel) {
  if (kernel == Kernel::kDecode) return {"qk", "v", "decode"};
  return {KernelName(kernel)};
}

Message* RulesOf(Contract& contract, const std::string& name) {
  return contract.GetReflection()->MutableMessage(
      &contract, contract.GetDescriptor()->FindFieldByName(name));
}

Contract MakeBuiltin() {
  Contract c;
  c.set_layout(FP8_DS_MLA);
  WriterContract& w = *c.mutable_writer();
  w.set_scale(WriterContract::RAW);
  w.set_scale_division(WriterContract::DIVIDE_BY_448);
  w.set_floor(WriterContract::FLOOR_ON_SCALE);
  w.set_floor_bits(kFltMinBits);
  w.set_code_division(WriterContract::CODE_DIVIDE);
  w.set_code_rounding(WriterContract::NEAREST_EVEN);
  w.set_nan(WriterContract::NAN_CODE_7F);
  w.set_inf(WriterContract::INF_SCALE);
  w.set_negative_zero(WriterContract::NEGATIVE_ZERO_KEPT);
  w.set_fp16_amax(WriterContract::FP16_MAGNITUDE);
  w.set_slots(WriterContract::NEGATIVE_SKIPPED);
  w.set_duplicates(WriterContract::DUPLICATES_RACE);
  w.add_pe_dims(64);
  w.add_pe_dims(0);
  w.set_tail(WriterContract::TAIL_ZERO);
  w.set_zero_tokens(WriterContract::ZERO_TOKENS_NO_OP);
  w.add_inputs(BF16);
  w.add_inputs(F16);
  for (int check = WRITER_CHECK_LATENT_DIM; check <= WRITER_CHECK_OVERLAP;
       ++check) {
    w.add_host_checks(static_cast<WriterCheck>(check));
  }
  w.set_slots_past_pool(WriterContract::PAST_POOL_UNCHECKED);
  w.set_fp32_values(WriterContract::FP32_AS_THEY_ARE);
  GatherContract& g = *c.mutable_gather();
  g.add_lengths(GatherContract::FROM_STARTS);
  g.add_lengths(GatherContract::SEQ_LENS);
  g.set_nope_tail(GatherContract::NOPE_TAIL_ZERO);
  g.set_page_tasks(GatherContract::ROWS_PLUS_TWO_PER_REQUEST);
  g.set_table_row(GatherContract::TABLE_ROW_STRIDE);
  g.set_scale(GatherContract::SCALE_RAW);
  g.set_product(GatherContract::BF16_OF_FP32);
  g.set_nan(GatherContract::NAN_7FFF);
  g.set_codes(GatherContract::E4M3FN);
  g.set_table_columns(GatherContract::TABLE_COLUMNS_UNCHECKED);
  g.set_starts_past_end(GatherContract::STARTS_CLAMPED);
  g.set_ue8m0_zero(ZERO_IS_SUBNORMAL);
  g.set_ue8m0_last(LAST_IS_NAN);
  g.set_code_loads(GatherContract::LOADS_EXACT);
  g.set_scale_rows(GatherContract::SCALE_ROWS_OWN);
  g.set_rows(GatherContract::ROWS_UPCONVERTED);
  g.set_byte_rows(GatherContract::BYTES_OF_TOKEN);
  for (int check = GATHER_CHECK_DST_COLUMNS; check <= GATHER_CHECK_OVERLAP;
       ++check) {
    g.add_host_checks(static_cast<GatherCheck>(check));
  }
  ConvertContract& v = *c.mutable_convert();
  v.set_invalid(ConvertContract::INVALID_MINUS_ONE);
  v.set_negative(ConvertContract::ANY_NEGATIVE);
  v.set_table_columns(ConvertContract::COLUMNS_BY_SHAPE);
  v.set_table_row(ConvertContract::TABLE_ROW_STRIDE);
  v.set_valid_count(ConvertContract::COUNT_VALID);
  v.set_order(ConvertContract::IN_PLACE);
  v.set_width_multiple(1);
  v.set_requests(ConvertContract::REQUESTS_UNCHECKED);
  v.set_workspace(ConvertContract::WORKSPACE_UNKNOWN);
  v.set_pages(ConvertContract::PAGES_OF_POOL);
  v.add_host_checks(CONVERT_CHECK_WIDTH);
  v.add_host_checks(CONVERT_CHECK_TOKENS);
  DecodeContract& d = *c.mutable_decode();
  d.set_mask(DecodeContract::ANY_NEGATIVE_MASKED);
  d.set_length(DecodeContract::LENGTH_MASKED);
  d.set_masked_lanes(DecodeContract::MASKED_UNREAD);
  d.set_leading_block(DecodeContract::LEADING_BLOCK_NEUTRAL);
  d.set_empty_row(DecodeContract::ZERO_AND_MINUS_INF);
  d.set_lse_base(DecodeContract::BASE_2);
  d.set_sink(DecodeContract::SINK_IN_LSE);
  d.set_capacity(DecodeContract::PHYSICAL_WIDTH);
  d.set_nope_tail(DecodeContract::NOPE_TAIL_IGNORED);
  d.set_extra(DecodeContract::EXTRA_READ);
  d.set_extra_length(DecodeContract::EXTRA_LENGTH_MASKED);
  d.set_rope_values(DecodeContract::ROPE_IN_VALUES);
  d.set_lengths_demand(DecodeContract::LENGTHS_OPTIONAL);
  d.add_pe_dims(64);
  d.add_pe_dims(0);
  for (int check = DECODE_CHECK_PE_DIM; check <= DECODE_CHECK_ALIGNMENT;
       ++check) {
    d.add_host_checks(static_cast<DecodeCheck>(check));
  }
  for (ReaderSide* side : {c.mutable_qk(), c.mutable_v()}) {
    side->set_scale_rule(ReaderSide::SCALE_RAW);
    side->set_ue8m0_zero(ZERO_IS_SUBNORMAL);
    side->set_ue8m0_last(LAST_IS_NAN);
  }
  Arithmetic& a = *c.mutable_arithmetic();
  a.set_dequantised(Arithmetic::DEQUANTISED_BF16);
  a.set_query(Arithmetic::QUERY_BF16);
  a.set_weights(Arithmetic::WEIGHTS_BF16);
  a.set_block(64);
  a.set_blocks_per_split(8);
  a.set_partials(Arithmetic::PARTIALS_FP32);
  a.set_accumulator(Arithmetic::IEEE_FP32);
  a.set_accumulator_bits(24);
  // exp2f of the CUDA math library: 2 ulp (CUDA C++ Programming Guide).
  a.set_exp2_relative_error(0x1p-22);
  a.set_denormals(Arithmetic::DENORMALS_KEPT);
  a.set_exact_log2(true);
  return c;
}

// vLLM's writers of other layouts than the 656-byte row, as recorded: amax
// floored at 1e-4.
void FloorOnAmax(WriterContract& w) {
  w.set_floor(WriterContract::FLOOR_ON_AMAX);
  w.set_floor_bits(kTenToMinus4Bits);
}

Contract MakeBuiltin(Layout layout) {
  Contract c = MakeBuiltin();
  if (layout == LAYOUT_UNSPECIFIED || layout == FP8_DS_MLA) return c;
  c.set_layout(layout);
  const TokenLayout& token = TokenLayoutOf(layout);
  WriterContract& w = *c.mutable_writer();
  w.clear_pe_dims();
  w.add_pe_dims(static_cast<std::uint32_t>(token.rope));
  // No layout but fp8_ds_mla has rope beyond a row's 512 values.
  c.mutable_decode()->clear_pe_dims();
  c.mutable_decode()->add_pe_dims(0);
  GatherContract& g = *c.mutable_gather();
  switch (layout) {
    case DSV4_FOOTER_584:
      FloorOnAmax(w);
      w.set_scale(WriterContract::POW2_CEIL);
      w.set_code_division(WriterContract::CODE_RECIPROCAL);
      w.set_nan(WriterContract::NAN_TO_MINUS_448);
      break;
    case DSV4_1_FOOTER_528:
      FloorOnAmax(w);
      w.set_scale(WriterContract::POW2_CEIL);
      w.set_nan(WriterContract::NAN_POISONS_SCALE);
      w.set_duplicates(WriterContract::FIRST_WINS);
      w.set_slots_past_pool(WriterContract::PAST_POOL_SKIPPED);
      break;
    case INDEXER_132:
    case INDEXER_264:
      FloorOnAmax(w);
      g.clear_lengths();
      g.add_lengths(GatherContract::FROM_STARTS);
      g.set_page_tasks(GatherContract::EVERY_PAGE);
      break;
    default:
      break;
  }
  return c;
}

}  // namespace

Contract BuiltinContract() { return BuiltinContract(FP8_DS_MLA); }

Contract BuiltinContract(Layout layout) {
  static const auto* const kContracts = [] {
    auto* all = new std::vector<Contract>;
    for (const TokenLayout& token : TokenLayouts()) {
      all->push_back(MakeBuiltin(token.layout));
    }
    return all;
  }();
  for (const Contract& contract : *kContracts) {
    if (contract.layout() == layout) return contract;
  }
  return kContracts->front();
}

bool RuleApplies(Layout layout, absl::string_view field) {
  const TokenLayout& token = TokenLayoutOf(layout);
  // Keys of an indexer, which no decode reads.
  if (token.copied &&
      (absl::StartsWith(field, "decode.") || absl::StartsWith(field, "qk.") ||
       absl::StartsWith(field, "v."))) {
    return false;
  }
  if (absl::StrContains(field, ".ue8m0_")) return token.ue8m0();
  // DeepSeek-V4 alone has a second cache, and rope among a row's values.
  if (field == "decode.extra" || field == "decode.extra_length" ||
      field == "decode.rope_values") {
    return layout == DSV4_FOOTER_584;
  }
  if (field == "writer.slots_past_pool") return layout == DSV4_1_FOOTER_528;
  // Reserved bytes where a row has no rope: of fp8_ds_mla alone.
  if (field == "writer.tail" || field == "gather.nope_tail" ||
      field == "decode.nope_tail") {
    return token.layout == FP8_DS_MLA;
  }
  if (field == "gather.code_loads" || field == "gather.scale_rows") {
    return token.copied;
  }
  if (field == "gather.scale" || field == "gather.product" ||
      field == "gather.nan" || field == "gather.codes" ||
      field == "gather.rows") {
    return !token.copied;
  }
  if (field == "gather.byte_rows") return token.split() && !token.copied;
  // A UE8M0 scale is a power of two, whatever the writer means it to be. By it
  // a quotient and a product with its reciprocal are the same; so is the scale
  // of every 16-bit amax, divided by 448 or not: 448 times fp32(1 / 448) is 1.
  if (field == "writer.scale" || field == "writer.scale_division" ||
      field == "writer.code_division") {
    return !token.ue8m0();
  }
  return true;
}

bool RuleApplies(const Contract& contract, absl::string_view field) {
  if (!RuleApplies(contract.layout(), field)) return false;
  if (field == "writer.fp32_values") {
    return std::find(contract.writer().inputs().begin(),
                     contract.writer().inputs().end(),
                     F32) != contract.writer().inputs().end();
  }
  // Other values of these take calls that this kernel is never given.
  if (field == "gather.rows") return false;
  const GatherContract::Rows rows = contract.gather().rows();
  if (field == "gather.byte_rows") {
    return rows == GatherContract::ROWS_BYTES &&
           TokenLayoutOf(contract.layout()).split();
  }
  if (rows == GatherContract::ROWS_BYTES &&
      (field == "gather.nope_tail" || field == "gather.scale" ||
       field == "gather.product" || field == "gather.nan" ||
       field == "gather.codes" || absl::StartsWith(field, "gather.ue8m0_"))) {
    return false;
  }
  if (rows == GatherContract::ROWS_ONE_SCALE &&
      (field == "gather.nope_tail" || field == "gather.scale")) {
    return false;
  }
  if (field == "convert.workspace") {
    return contract.convert().workspace() != ConvertContract::WORKSPACE_UNKNOWN;
  }
  if (field == "convert.pages") {
    return contract.convert().pages() != ConvertContract::PAGES_OF_POOL;
  }
  return true;
}

Contract VllmContract() {
  Contract c = BuiltinContract();
  WriterContract& w = *c.mutable_writer();
  w.set_fp16_amax(WriterContract::FP16_RAW_BITS);
  w.clear_pe_dims();
  w.add_pe_dims(64);
  w.set_zero_tokens(WriterContract::ZERO_TOKENS_LAUNCH_ERROR);
  w.clear_host_checks();
  w.add_host_checks(WRITER_CHECK_LATENT_DIM);
  w.add_host_checks(WRITER_CHECK_PE_DIM);
  w.add_host_checks(WRITER_CHECK_ROW_BYTES);
  w.add_host_checks(WRITER_CHECK_INPUT_DTYPE);
  GatherContract& g = *c.mutable_gather();
  g.clear_lengths();
  g.add_lengths(GatherContract::FROM_STARTS);
  g.set_nope_tail(GatherContract::NOPE_TAIL_VERBATIM);
  g.clear_host_checks();
  g.add_host_checks(GATHER_CHECK_DST_COLUMNS);
  g.add_host_checks(GATHER_CHECK_DST_DTYPE);
  c.mutable_convert()->set_width_multiple(128);
  return c;
}

void FillDefaults(Contract& contract) {
  FillFrom(BuiltinContract(contract.layout()), &contract);
}

absl::StatusOr<Contract> ParseContractText(absl::string_view text) {
  Contract c;
  if (absl::Status s = ParseText(text, &c); !s.ok()) return s;
  if (absl::Status s = CheckContract(c); !s.ok()) return s;
  FillDefaults(c);
  return c;
}

namespace {

// Whether a value of a rule differs from others where the rule has a meaning.
bool ValueApplies(Layout layout, const std::string& field, int value) {
  // A UE8M0 scale is a power of two, which bf16 holds too: it is read or not.
  if (TokenLayoutOf(layout).ue8m0() &&
      (field == "qk.scale_rule" || field == "v.scale_rule")) {
    return value == ReaderSide::SCALE_RAW || value == ReaderSide::SCALE_ONE;
  }
  // These are not rules, but that none is known.
  if (field == "convert.workspace") {
    return value != ConvertContract::WORKSPACE_UNKNOWN;
  }
  if (field == "convert.pages") return value != ConvertContract::PAGES_OF_POOL;
  return true;
}

void AppendNeighbours(const Contract& base, const std::string& message,
                      std::vector<Neighbour>* out) {
  Contract scratch = base;
  const Message* rules = RulesOf(scratch, message);
  const Reflection* reflection = rules->GetReflection();
  for (int i = 0; i < rules->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = rules->GetDescriptor()->field(i);
    if (field->is_repeated()) continue;
    const std::string name = absl::StrCat(message, ".", field->name());
    if (!RuleApplies(base, name)) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      const int declared = reflection->GetEnumValue(*rules, field);
      const google::protobuf::EnumDescriptor* type = field->enum_type();
      for (int k = 0; k < type->value_count(); ++k) {
        const int value = type->value(k)->number();
        if (value == 0 || value == declared ||
            !ValueApplies(base.layout(), name, value)) {
          continue;
        }
        Neighbour n{base, name, type->FindValueByNumber(declared)->name(),
                    type->value(k)->name()};
        reflection->SetEnumValue(RulesOf(n.contract, message), field, value);
        out->push_back(std::move(n));
      }
    } else if (field->name() == "floor_bits") {
      const std::uint32_t declared = reflection->GetUInt32(*rules, field);
      for (std::uint32_t value : {kFltMinBits, kTenToMinus4Bits}) {
        if (value == declared) continue;
        Neighbour n{base, name, absl::StrFormat("0x%08x", declared),
                    absl::StrFormat("0x%08x", value)};
        reflection->SetUInt32(RulesOf(n.contract, message), field, value);
        out->push_back(std::move(n));
      }
    }
  }
}

}  // namespace

std::vector<Neighbour> Neighbours(const Contract& base, Kernel kernel) {
  std::vector<Neighbour> out;
  for (const std::string& message : RuleMessages(kernel)) {
    AppendNeighbours(base, message, &out);
  }
  return out;
}

}  // namespace mlafuzz
