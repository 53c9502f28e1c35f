#include "corpus/codec.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "corpus/case_limits.h"
#include "corpus/message_checks.h"
#include "corpus/patches.h"
#include "corpus/tensor_sizes.h"
#include "corpus/token_layout.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "xxhash.h"

namespace mlafuzz {
namespace {

// The smallest case worth a name says more than this; the largest text that
// anybody reads is far below it.
constexpr std::size_t kMaxCaseBytes = std::size_t{16} << 20;

// Bit patterns are read in hex.
class HexPrinter : public google::protobuf::TextFormat::FastFieldValuePrinter {
 public:
  void PrintUInt32(
      std::uint32_t value,
      google::protobuf::TextFormat::BaseTextGenerator* out) const override {
    out->PrintString(absl::StrFormat("0x%04x", value));
  }
};

void RegisterHex(google::protobuf::TextFormat::Printer& printer) {
  for (const auto* field :
       {SetBits::descriptor()->FindFieldByName("bits"),
        SetBits::descriptor()->FindFieldByName("low"),
        Values::descriptor()->FindFieldByName("bits"),
        Fill::descriptor()->FindFieldByName("byte"),
        Decode::descriptor()->FindFieldByName("softmax_scale_bits"),
        Decode::descriptor()->FindFieldByName("sink_bits"),
        Gather::descriptor()->FindFieldByName("tensor_scale_bits")}) {
    // The printer takes ownership.
    printer.RegisterFieldValuePrinter(field, new HexPrinter);
  }
}

std::string Summary(const Case& c) {
  std::string out =
      absl::StrFormat("# case %s\n# pool: %d pages of %d rows", CaseId(c),
                      c.pool().pages(), c.pool().page_size());
  const TokenLayout& layout = TokenLayoutOf(c.pool().layout());
  if (layout.layout != FP8_DS_MLA) {
    absl::StrAppend(&out, ", layout ", layout.name);
  }
  out += "\n";
  for (int i = 0; i < c.steps_size(); ++i) {
    const Step& step = c.steps(i);
    absl::StrAppend(&out, "# step ", i, ": ");
    switch (step.call_case()) {
      case Step::kWrite:
        absl::StrAppendFormat(&out, "write %d tokens, pe_dim %d\n",
                              std::max<int>(step.write().slots().values_size(),
                                            step.write().slots().count()),
                              step.write().pe_dim());
        break;
      case Step::kGather:
        absl::StrAppendFormat(
            &out, "gather %d rows for %d requests%s\n",
            step.gather().dst_rows(),
            std::max(0, step.gather().workspace_starts_size() -
                            (layout.copied ? 1 : 0)),
            step.gather().nope() ? ", no rope" : "");
        break;
      case Step::kConvert:
        absl::StrAppendFormat(&out, "convert %d x %d indices\n",
                              step.convert().token_indices().rows(),
                              step.convert().token_indices().width());
        break;
      case Step::kDecode:
        absl::StrAppendFormat(
            &out, "decode %d queries, %d heads%s\n", step.decode().queries(),
            step.decode().heads(),
            step.decode().has_extra() ? ", a second cache" : "");
        break;
      case Step::kPatch:
        absl::StrAppendFormat(&out, "patch %d bytes of slot %d\n",
                              step.patch().data().size(), step.patch().slot());
        break;
      case Step::CALL_NOT_SET:
        absl::StrAppend(&out, "nothing\n");
        break;
    }
  }
  return out;
}

// Drops the field if `plain`.
#define MLAFUZZ_PLAIN(message, field, plain) \
  if ((message).field() == (plain)) (message).clear_##field()

void CanonicaliseIntegers(Integers& list) {
  const auto literal = static_cast<std::uint32_t>(list.values_size());
  if (list.count() <= literal) {
    // Nothing is generated.
    list.clear_count();
    list.clear_order();
    list.clear_seed();
  }
  if (list.order() == Integers::IDENTITY) list.clear_seed();
}

// Of several overrides of one element the last wins; ascending order is the
// canonical one. Most lists are so already.
template <typename Set>
void CanonicaliseSet(google::protobuf::RepeatedPtrField<Set>& list) {
  bool ascending = true;
  for (int i = 1; i < list.size(); ++i) {
    ascending = ascending && list.Get(i - 1).at() < list.Get(i).at();
  }
  if (ascending) return;
  std::map<std::uint32_t, Set> by_place;
  for (const Set& set : list) by_place[set.at()] = set;
  list.Clear();
  for (auto& [at, set] : by_place) *list.Add() = std::move(set);
}

// What is set past the end has no effect.
template <typename Set>
void DropPast(TensorSize size, google::protobuf::RepeatedPtrField<Set>& list) {
  const auto past = [size](const Set& set) { return set.at() >= size; };
  if (std::none_of(list.begin(), list.end(), past)) return;
  list.erase(std::remove_if(list.begin(), list.end(), past), list.end());
}

// `size`: elements of the tensor.
void CanonicaliseValues(Values& v, TensorSize size, DType dtype = BF16) {
  if (v.pattern() != Values::CONSTANT) v.clear_bits();
  v.set_bits(v.bits() & 0xffff);
  if (v.pattern() == Values::ZERO || v.pattern() == Values::CONSTANT) {
    v.clear_seed();
  }
  if (dtype != F32 || v.pattern() == Values::ZERO) v.clear_low_seed();
  DropPast(size, *v.mutable_set());
  for (SetBits& set : *v.mutable_set()) {
    set.set_bits(set.bits() & 0xffff);
    set.set_low(dtype == F32 ? set.low() & 0xffff : 0);
  }
  CanonicaliseSet(*v.mutable_set());
}

// Elements between a multiple of 256 bytes and the first.
std::uint32_t CanonicalOffset(std::uint32_t offset, DType dtype) {
  return offset % (dtype == F32 ? 64 : 128);
}

// Literal values past the end have no effect.
void CutOff(TensorSize size, Integers& list) {
  while (static_cast<TensorSize>(list.values_size()) > size) {
    list.mutable_values()->RemoveLast();
  }
  if (list.count() > size) list.set_count(static_cast<std::uint32_t>(size));
}

void CanonicaliseTable(Table& t) {
  MLAFUZZ_PLAIN(t, row_stride, t.columns());
  if (t.expanded()) t.clear_row_stride();  // one row
  CutOff(TableEntries(t), *t.mutable_pages());
  CanonicaliseIntegers(*t.mutable_pages());
  Integers& pages = *t.mutable_pages();
  if (pages.count() == 0) {
    while (pages.values_size() > 0 &&
           pages.values(pages.values_size() - 1) == -1) {
      pages.mutable_values()->RemoveLast();
    }
  }
  if (pages.ByteSizeLong() == 0) t.clear_pages();
}

void CanonicaliseIndices(Indices& x) {
  MLAFUZZ_PLAIN(x, row_stride, x.width());
  x.set_valid(std::min(x.valid(), x.width()));
  if (x.valid() == x.width()) {  // no pads
    x.clear_place();
    x.clear_pad();
  }
  DropPast(IndexCount(x), *x.mutable_set());
  CanonicaliseSet(*x.mutable_set());
}

void CanonicalisePool(const TokenLayout& layout, Pool& p);

void CanonicaliseExtra(const TokenLayout& layout, ExtraCache& extra) {
  Pool& pool = *extra.mutable_pool();
  CanonicalisePool(layout, pool);
  pool.clear_layout();
  if (pool.offset() >= 256) pool.set_offset(pool.offset() % 256);
  CanonicaliseIndices(*extra.mutable_indices());
}

void CanonicaliseStep(const TokenLayout& layout, Step& step) {
  switch (step.call_case()) {
    case Step::kWrite: {
      Write& w = *step.mutable_write();
      CanonicaliseIntegers(*w.mutable_slots());
      MLAFUZZ_PLAIN(w, input, BF16);
      const auto latent = static_cast<std::uint32_t>(layout.codes);
      MLAFUZZ_PLAIN(w, latent_dim, latent);
      MLAFUZZ_PLAIN(w, kv_c_row_stride,
                    w.latent_dim() ? w.latent_dim() : latent);
      MLAFUZZ_PLAIN(w, k_pe_row_stride, w.pe_dim());
      if (w.has_kv_c()) {
        CanonicaliseValues(*w.mutable_kv_c(), KvCValues(layout, w), w.input());
      }
      w.set_kv_c_offset(CanonicalOffset(w.kv_c_offset(), w.input()));
      if (w.pe_dim() == 0) {
        w.clear_k_pe();
        w.clear_k_pe_row_stride();
        w.clear_k_pe_offset();
      }
      if (w.has_k_pe()) {
        CanonicaliseValues(*w.mutable_k_pe(), KPeValues(w), w.input());
      }
      w.set_k_pe_offset(CanonicalOffset(w.k_pe_offset(), w.input()));
      if (w.kv_c().ByteSizeLong() == 0) w.clear_kv_c();
      if (w.k_pe().ByteSizeLong() == 0) w.clear_k_pe();
      break;
    }
    case Step::kGather: {
      Gather& g = *step.mutable_gather();
      CanonicaliseTable(*g.mutable_block_table());
      const auto columns = static_cast<std::uint32_t>(layout.dst_columns());
      MLAFUZZ_PLAIN(g, dst_columns, columns);
      MLAFUZZ_PLAIN(g, dst_row_stride,
                    g.dst_columns() ? g.dst_columns() : columns);
      MLAFUZZ_PLAIN(g, output, layout.dst_dtype());
      break;
    }
    case Step::kConvert: {
      Convert& c = *step.mutable_convert();
      CanonicaliseTable(*c.mutable_block_table());
      CanonicaliseIndices(*c.mutable_token_indices());
      MLAFUZZ_PLAIN(c, out_row_stride, c.token_indices().width());
      CutOff(RequestIds(c), *c.mutable_request_ids());
      // As many ids are generated as rows need; a count says nothing.
      c.mutable_request_ids()->clear_count();
      if (c.request_ids().order() == Integers::IDENTITY) {
        c.mutable_request_ids()->clear_seed();
      }
      if (c.request_ids().ByteSizeLong() == 0) c.clear_request_ids();
      // A missing one is -1; that of the first says that there is a workspace.
      auto& prefill = *c.mutable_prefill_request_ids();
      const int least = c.prefill_workspace_starts_size() > 0 ? 0 : 1;
      while (prefill.size() > least && prefill.Get(prefill.size() - 1) == -1) {
        prefill.RemoveLast();
      }
      break;
    }
    case Step::kDecode: {
      Decode& d = *step.mutable_decode();
      CanonicaliseIndices(*d.mutable_indices());
      CanonicaliseValues(*d.mutable_q(), QValues(d));
      MLAFUZZ_PLAIN(d, query_length, 1u);
      MLAFUZZ_PLAIN(d, declared_topk, d.indices().width());
      MLAFUZZ_PLAIN(d, q_head_stride, 512 + d.pe_dim());
      MLAFUZZ_PLAIN(d, q_query_stride,
                    d.heads() * (d.q_head_stride() ? d.q_head_stride()
                                                   : 512 + d.pe_dim()));
      MLAFUZZ_PLAIN(d, out_head_stride, 512u);
      MLAFUZZ_PLAIN(
          d, out_query_stride,
          d.heads() * (d.out_head_stride() ? d.out_head_stride() : 512u));
      MLAFUZZ_PLAIN(d, lse_query_stride, d.heads());
      if (d.has_extra()) CanonicaliseExtra(layout, *d.mutable_extra());
      break;
    }
    case Step::kPatch:
    case Step::CALL_NOT_SET:
      break;
  }
}

// Patches of which no byte is left.
void DropHidden(google::protobuf::RepeatedPtrField<Patch>& patches) {
  if (patches.empty()) return;
  const std::vector<int> hides = WhatHidesPatches(patches);
  int kept = 0;
  for (int i = 0; i < patches.size(); ++i) {
    if (hides[static_cast<std::size_t>(i)] >= 0) continue;
    if (kept != i) patches.SwapElements(kept, i);
    ++kept;
  }
  patches.DeleteSubrange(kept, patches.size() - kept);
}

void CanonicalisePool(const TokenLayout& layout, Pool& p) {
  MLAFUZZ_PLAIN(p, layout, FP8_DS_MLA);
  const auto token = static_cast<std::uint32_t>(layout.token_bytes);
  MLAFUZZ_PLAIN(p, row_bytes, token);
  const std::uint32_t row = p.row_bytes() ? p.row_bytes() : token;
  std::uint64_t page = std::uint64_t{row} * p.page_size();
  if (layout.split()) {
    const auto multiple = static_cast<std::uint64_t>(layout.page_multiple);
    page = (page + multiple - 1) / multiple * multiple;
  } else {
    MLAFUZZ_PLAIN(p, row_stride, row);
    if (p.row_stride()) page = std::uint64_t{p.row_stride()} * p.page_size();
  }
  MLAFUZZ_PLAIN(p, page_stride, page);
  DropHidden(*p.mutable_patches());
  if (!p.has_fill()) return;
  Fill& fill = *p.mutable_fill();
  if (fill.kind() != Fill::BYTE) fill.clear_byte();
  if (fill.kind() == Fill::BYTE) fill.clear_seed();
  if (fill.kind() != Fill::ROWS && fill.kind() != Fill::FINITE_ROWS) {
    fill.clear_scales();
  }
  if (fill.ByteSizeLong() == 0) p.clear_fill();
}

#undef MLAFUZZ_PLAIN

// Of ASCII or, in comments, UTF-8.
bool IsTextByte(char c) {
  const auto b = static_cast<unsigned char>(c);
  return b >= 0x80 || std::isprint(b) || std::isspace(b);
}

// Nine of ten: what somebody typed, with an accident in it.
bool IsMostlyText(absl::string_view bytes) {
  const auto ascii = std::count_if(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80 && IsTextByte(c);
  });
  return 10 * static_cast<std::size_t>(ascii) >= 9 * bytes.size();
}

absl::Status RefuseTooLong(absl::string_view bytes) {
  if (bytes.size() <= kMaxCaseBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("not a case: ", bytes.size(),
                   " bytes are too many; at most ", kMaxCaseBytes));
}

// Counted before memory is given to them: two bytes a step are enough for a
// file, and a hundred times as many in memory.
absl::Status RefuseTooManySteps(absl::string_view bytes) {
  google::protobuf::io::CodedInputStream in(
      reinterpret_cast<const std::uint8_t*>(bytes.data()),
      static_cast<int>(bytes.size()));
  int steps = 0;
  while (const std::uint32_t tag = in.ReadTag()) {
    steps += tag >> 3 == Case::kStepsFieldNumber;
    std::uint64_t number = 0;
    std::uint32_t length = 0;
    // The wire types of protobuf's encoding; a message of other ones does not
    // parse, which is told later.
    bool more = false;
    switch (tag & 7) {
      case 0:
        more = in.ReadVarint64(&number);
        break;
      case 1:
        more = in.Skip(8);
        break;
      case 2:
        more = in.ReadVarint32(&length) && length <= bytes.size() &&
               in.Skip(static_cast<int>(length));
        break;
      case 5:
        more = in.Skip(4);
        break;
      default:
        break;
    }
    if (!more) break;
  }
  if (steps <= kMaxSteps) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("steps: ", steps, " are more than ", kMaxSteps));
}

}  // namespace

absl::StatusOr<Case> ParseCaseText(absl::string_view text) {
  if (absl::Status s = RefuseTooLong(text); !s.ok()) return s;
  Case c;
  if (absl::Status s = ParseText(text, &c); !s.ok()) return s;
  return c;
}

absl::StatusOr<Case> ParseCaseBinary(absl::string_view bytes) {
  if (absl::Status s = RefuseTooLong(bytes); !s.ok()) return s;
  if (absl::Status s = RefuseTooManySteps(bytes); !s.ok()) return s;
  Case c;
  if (!c.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        "not a case: the bytes are cut short or are no mlafuzz.Case message");
  }
  if (absl::Status s = RefuseUnknownFields(c); !s.ok()) return s;
  return c;
}

absl::StatusOr<Case> ParseCase(absl::string_view bytes) {
  // Of editors that mark UTF-8.
  if (absl::ConsumePrefix(&bytes, "\xef\xbb\xbf")) return ParseCaseText(bytes);
  if (absl::StartsWith(bytes, "\xff\xfe") ||
      absl::StartsWith(bytes, "\xfe\xff")) {
    return absl::InvalidArgumentError(
        "not a case: it begins as UTF-16 text does; save it as UTF-8");
  }
  const auto bad = std::find_if_not(bytes.begin(), bytes.end(), IsTextByte);
  absl::StatusOr<Case> c =
      bad == bytes.end() ? ParseCaseText(bytes) : ParseCaseBinary(bytes);
  if (!c.ok() && bad == bytes.end()) {
    // A short message may be made of letters alone.
    if (absl::StatusOr<Case> binary = ParseCaseBinary(bytes);
        binary.ok() && binary->steps_size() > 0) {
      c = std::move(binary);
    }
  }
  if (!c.ok() && bad != bytes.end() && IsMostlyText(bytes)) {
    const absl::string_view before =
        bytes.substr(0, static_cast<std::size_t>(bad - bytes.begin()));
    return absl::InvalidArgumentError(absl::StrFormat(
        "not a case: text, but for the byte 0x%02x in line %d; take out what "
        "is no text",
        static_cast<unsigned char>(*bad),
        1 + std::count(before.begin(), before.end(), '\n')));
  }
  if (c.ok() && c->ByteSizeLong() == 0) {
    return absl::InvalidArgumentError("not a case: it is empty");
  }
  return c;
}

std::string FormatCaseText(const Case& c) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  RegisterHex(printer);
  std::string text;
  printer.PrintToString(c, &text);
  return Summary(c) + text;
}

void Canonicalise(Case& c) {
  if (c.format() == 1) c.clear_format();
  const TokenLayout& layout = TokenLayoutOf(c.pool().layout());
  CanonicalisePool(layout, *c.mutable_pool());
  for (Step& step : *c.mutable_steps()) CanonicaliseStep(layout, step);
}

std::string CanonicalBinary(const Case& c) {
  Case canonical = c;
  Canonicalise(canonical);
  canonical.DiscardUnknownFields();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    canonical.SerializeToCodedStream(&coded);
  }
  return bytes;
}

std::string CaseId(const Case& c) {
  const std::string bytes = CanonicalBinary(c);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return absl::StrFormat("%016x%016x", hash.high64, hash.low64);
}

std::uint64_t CaseHash(const Case& c) {
  const std::string bytes = CanonicalBinary(c);
  return XXH3_128bits(bytes.data(), bytes.size()).low64;
}

absl::StatusOr<Case> ReadCase(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<Case> c = ParseCase(*bytes);
  if (!c.ok()) {
    return absl::Status(c.status().code(),
                        absl::StrCat(path, ": ", c.status().message()));
  }
  return c;
}

}  // namespace mlafuzz
