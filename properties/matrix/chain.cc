#include "properties/matrix/chain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/token_layout.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/expect.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

constexpr int kWrite = 0;
constexpr int kRead = 1;

std::vector<std::uint8_t> Written(const Chain& chain, const CaseImage& image) {
  Expectation e = Expect(chain.writer, image, kWrite, image.pool.bytes);
  if (e.pool.empty()) return image.pool.bytes;
  return std::move(e.pool);
}

// Whether a row has 64 rope values, none, or zeros is a question of the
// 656-byte row alone: each other layout has one pe_dim, which its writers
// check.
bool RopeFits(const Chain& chain, const Case& c) {
  if (chain.writer.layout() != FP8_DS_MLA) return true;
  const Write& write = c.steps(kWrite).write();
  const bool none = chain.rope != Rope::kWritten;
  if ((chain.rope == Rope::kNone) != (write.pe_dim() == 0)) return false;
  if (chain.rope == Rope::kZeroPadded &&
      (write.k_pe().pattern() != Values::ZERO || write.k_pe().set_size() > 0)) {
    return false;
  }
  if (chain.kernel == Kernel::kGather) {
    return c.steps(kRead).gather().nope() == none;
  }
  // A query without rope makes nothing of the rope of a row.
  return none || c.steps(kRead).decode().pe_dim() != 0;
}

// Every byte that means something to the reader's caller is of a token that the
// writer wrote.
bool ReadsWritten(const Chain& chain, const CaseImage& image) {
  const Tensor* slots = image.steps[kWrite].Find(TensorId::kSlotMapping);
  std::vector<std::uint8_t> written(image.pool.bytes.size(), 0);
  for (std::int64_t i = 0; i < slots->shape[0]; ++i) {
    std::int64_t slot;
    std::memcpy(&slot, slots->bytes.data() + 8 * i * slots->strides[0], 8);
    if (slot < 0 || slot >= image.pool.slots()) continue;
    ForEachPart(image.pool, slot, 0, image.pool.row_bytes,
                [&written](std::int64_t at, std::int64_t, std::int64_t count) {
                  std::fill_n(written.begin() + at, count, 1);
                });
  }
  const std::vector<std::uint8_t> read =
      PoolReadSet(Twin(chain).reader, image, kRead);
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i] != 0 && written[i] == 0) return false;
  }
  return true;
}

// What is read of a second cache, which no step writes, says nothing about the
// chain's writer: it must mean the same to every reader. The ends of UE8M0
// scales do not.
bool SecondCacheFits(const Chain& chain, const CaseImage& image) {
  const StepImage& step = image.steps[kRead];
  const Tensor* cache = step.Find(TensorId::kExtraCache);
  if (cache == nullptr) return true;
  if (!chain.second_cache) return false;
  const TokenLayout& layout = TokenLayoutOf(image.pool.layout);
  if (!layout.ue8m0()) return true;
  const std::vector<std::uint8_t> read =
      ExtraReadSet(Twin(chain).reader, image, kRead);
  bool plain = true;
  for (std::int64_t slot = 0; slot < step.extra.slots(); ++slot) {
    ForEachPart(step.extra, slot, layout.scales_at, layout.tiles(),
                [&](std::int64_t at, std::int64_t, std::int64_t count) {
                  for (std::int64_t i = at; i < at + count; ++i) {
                    const auto k = static_cast<std::size_t>(i);
                    const std::uint8_t scale = cache->bytes[k];
                    plain &= read[k] == 0 || (scale != 0 && scale != 255);
                  }
                });
  }
  return plain;
}

// Of one output of a gather; nullopt if all bytes are the same.
std::optional<std::string> FirstByteApart(const Tensor& tensor,
                                          const std::vector<std::uint8_t>& a,
                                          const std::vector<std::uint8_t>& b) {
  const std::size_t size = static_cast<std::size_t>(DTypeSize(tensor.dtype));
  const auto hex = [size](const std::uint8_t* bytes) {
    std::string text = "0x";
    for (std::size_t i = size; i-- > 0;) {
      absl::StrAppendFormat(&text, "%02x", bytes[i]);
    }
    return text;
  };
  for (std::size_t k = 0; k + size <= a.size(); k += size) {
    if (std::memcmp(&a[k], &b[k], size) == 0) continue;
    const std::int64_t element = static_cast<std::int64_t>(k / size);
    return absl::StrFormat("%srow %d, column %d: %s where %s is meant",
                           tensor.id == TensorId::kDst
                               ? std::string()
                               : absl::StrCat(TensorName(tensor.id), ", "),
                           element / tensor.strides[0],
                           element % tensor.strides[0], hex(&a[k]), hex(&b[k]));
  }
  return std::nullopt;
}

std::string FirstApart(const DecodeExpectation& a, const DecodeExpectation& b) {
  const auto apart = [](double x, double y, double bound) {
    return std::isnan(x) != std::isnan(y) || std::abs(x - y) > bound;
  };
  for (std::int64_t row = 0; row < a.rows(); ++row) {
    const std::size_t r = static_cast<std::size_t>(row);
    if (apart(a.lse[r], b.lse[r], a.lse_bound[r] + b.lse_bound[r])) {
      return absl::StrFormat(
          "query %d, head %d: LSE %.6g where %.6g is meant, bounds %.2g",
          row / a.heads, row % a.heads, a.lse[r], b.lse[r],
          a.lse_bound[r] + b.lse_bound[r]);
    }
  }
  for (std::size_t i = 0; i < a.out.size(); ++i) {
    if (apart(a.out[i], b.out[i], a.out_bound[i] + b.out_bound[i])) {
      const std::int64_t row = static_cast<std::int64_t>(i) / kDecodeColumns;
      return absl::StrFormat(
          "query %d, head %d, column %d: %.6g where %.6g is meant, bounds %.2g",
          row / a.heads, row % a.heads, i % kDecodeColumns, a.out[i], b.out[i],
          a.out_bound[i] + b.out_bound[i]);
    }
  }
  return "no output word fits both";
}

}  // namespace

FitResult Fits(const Chain& chain, const CaseImage& image) {
  const Case& c = *image.source;
  if (image.pool.layout != chain.writer.layout() || image.steps.size() != 2 ||
      image.steps[kWrite].is_patch || image.steps[kRead].is_patch ||
      image.steps[kWrite].kernel != Kernel::kWriter ||
      image.steps[kRead].kernel != chain.kernel || !RopeFits(chain, c)) {
    return {};
  }
  for (const int step : {kWrite, kRead}) {
    StepValidity v =
        Classify(step == kWrite ? chain.writer : chain.reader, image, step);
    if (v.validity == Validity::kUnspecified) return {};
    if (v.validity == Validity::kInvalid) {
      return {Fit::kRefused, std::move(v.rule), std::move(v.reason)};
    }
  }
  if (!ReadsWritten(chain, image) || !SecondCacheFits(chain, image)) return {};
  return {Fit::kFits, "", ""};
}

std::optional<std::string> Apart(const Chain& a, const Chain& b,
                                 const CaseImage& image) {
  const std::vector<std::uint8_t> pool_a = Written(a, image);
  const std::vector<std::uint8_t> pool_b = Written(b, image);
  if (a.kernel == Kernel::kDecode) {
    const DecodeExpectation x = ExpectDecode(a.reader, image, kRead, pool_a);
    const DecodeExpectation y = ExpectDecode(b.reader, image, kRead, pool_b);
    if (!DecodesApart(x, y)) return std::nullopt;
    return FirstApart(x, y);
  }
  const Expectation x = Expect(a.reader, image, kRead, pool_a);
  const Expectation y = Expect(b.reader, image, kRead, pool_b);
  const std::vector<Tensor>& tensors = image.steps[kRead].tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].output) continue;
    auto words = FirstByteApart(tensors[i], x.outputs[i], y.outputs[i]);
    if (words.has_value()) return words;
  }
  return std::nullopt;
}

std::optional<std::string> Misses(const Chain& chain, const CaseImage& image,
                                  const Observation& observation) {
  if (observation.steps.size() <= kRead) return "its step did not run";
  const StepObservation& observed = observation.steps[kRead];
  if (observed.status != CallStatus::kOk) {
    return absl::StrCat("its call ended in ", CallStatusName(observed.status),
                        observed.message.empty() ? "" : ": ", observed.message);
  }
  const std::vector<std::uint8_t> pool = Written(chain, image);
  const std::vector<Tensor>& tensors = image.steps[kRead].tensors;
  if (chain.kernel == Kernel::kGather) {
    const Expectation want = Expect(chain.reader, image, kRead, pool);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].output || want.outputs[i] == observed.outputs[i]) {
        continue;
      }
      return absl::StrCat(TensorName(tensors[i].id), " holds other bytes");
    }
    return std::nullopt;
  }
  const DecodeExpectation want = ExpectDecode(chain.reader, image, kRead, pool);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (!t.output) continue;
    for (std::int64_t row = 0; row < want.rows(); ++row) {
      const std::int64_t at =
          row / want.heads * t.strides[0] + row % want.heads * t.strides[1];
      if (t.id == TensorId::kLse) {
        float lse;
        std::memcpy(&lse, observed.outputs[i].data() + 4 * at, 4);
        if (DecodeLseMatches(want, row, lse)) continue;
        return absl::StrFormat(
            "query %d, head %d: LSE %.6g where %.6g is meant", row / want.heads,
            row % want.heads, lse, want.lse[static_cast<std::size_t>(row)]);
      }
      for (int column = 0; column < kDecodeColumns; ++column) {
        std::uint16_t bits;
        std::memcpy(&bits, observed.outputs[i].data() + 2 * (at + column), 2);
        if (DecodeOutMatches(want, row * kDecodeColumns + column, bits)) {
          continue;
        }
        const std::size_t element =
            static_cast<std::size_t>(row * kDecodeColumns + column);
        return absl::StrFormat(
            "query %d, head %d, column %d: %.6g where %.6g is meant",
            row / want.heads, row % want.heads, column,
            std::bit_cast<float>(std::uint32_t{bits} << 16), want.out[element]);
      }
    }
  }
  return std::nullopt;
}

}  // namespace mlafuzz
