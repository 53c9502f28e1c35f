#include "fuzz/worker/decode_evidence.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "fuzz/worker/evidence.h"
#include "fuzz/worker/evidence_ranges.h"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/tensor_view.h"

namespace mlafuzz {
namespace {

// Words of a floating-point format in the order of their values, -0 and 0 next
// to each other.
template <typename Word>
Word Next(Word bits, bool up) {
  constexpr Word kSign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  const bool negative = (bits & kSign) != 0;
  if (bits == (up ? kSign : Word{0})) return static_cast<Word>(bits ^ kSign);
  return static_cast<Word>(negative == up ? bits - 1 : bits + 1);
}

// The last word in one direction that `matches`, near `start`, which is within
// a few words of it. False if none is.
template <typename Word, typename Matches>
bool LastMatch(Word start, bool up, const Matches& matches, Word* last) {
  constexpr int kNear = 8;
  Word bits = start;
  for (int i = 0; i < kNear && !matches(bits); ++i) bits = Next(bits, !up);
  if (!matches(bits)) return false;
  for (int i = 0; i < kNear; ++i) {
    const Word next = Next(bits, up);
    if (!matches(next)) break;
    bits = next;
  }
  *last = bits;
  return true;
}

// Lowest and highest word that is right; false if that is not known.
template <typename Word, typename ToWord, typename Matches>
bool RightWords(double value, double bound, const ToWord& to_word,
                const Matches& matches, Word* lowest, Word* highest) {
  if (std::isinf(bound)) return false;
  if (std::isnan(value) || std::isinf(value)) {
    *lowest = *highest = to_word(value);
    return matches(*lowest);
  }
  if (!LastMatch(to_word(value - bound), /*up=*/false, matches, lowest) ||
      !LastMatch(to_word(value + bound), /*up=*/true, matches, highest)) {
    return false;
  }
  return true;
}

std::uint16_t Bf16Word(double value) {
  return oracle::Bf16FromFloat(static_cast<float>(value),
                               oracle::Rounding::kNearestEven);
}
std::uint32_t FloatWord(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

// One output as it is filled in.
struct Result {
  explicit Result(const Tensor& tensor)
      : lowest(tensor.bytes.size(), '\0'),
        highest(tensor.bytes.size(), '\0'),
        open_gaps(tensor.bytes.size(), 1) {}

  template <typename Word>
  void Set(std::int64_t at, bool known, Word low, Word high) {
    const auto i = static_cast<std::size_t>(at);
    std::fill_n(open_gaps.begin() + at, sizeof(Word), 0);
    if (!known) {
      open.Add(at, at + static_cast<std::int64_t>(sizeof(Word)));
      return;
    }
    std::memcpy(lowest.data() + i, &low, sizeof low);
    std::memcpy(highest.data() + i, &high, sizeof high);
  }

  // What lies between rows must stay as it was.
  void Finish(const Tensor& tensor, absl::Span<const std::uint8_t> got,
              Evidence::Buffer& buffer) {
    std::string expected(reinterpret_cast<const char*>(tensor.bytes.data()),
                         tensor.bytes.size());
    for (std::size_t i = 0; i < open_gaps.size(); ++i) {
      if (open_gaps[i] == 0) {
        expected[i] = lowest[i];
        continue;
      }
      lowest[i] = highest[i] = expected[i];
      if (!got.empty() && got[i] != tensor.bytes[i]) {
        wrong.Add(static_cast<std::int64_t>(i),
                  static_cast<std::int64_t>(i) + 1);
      }
    }
    buffer.set_expected(expected);
    buffer.set_lowest(lowest);
    buffer.set_highest(highest);
    if (!got.empty()) {
      buffer.set_got(
          std::string(reinterpret_cast<const char*>(got.data()), got.size()));
    }
    open.CopyTo(*buffer.mutable_open());
    wrong.CopyTo(*buffer.mutable_wrong());
  }

  std::string lowest, highest;
  std::vector<char> open_gaps;  // bytes of no element
  ByteSet open, wrong;
};

// An error in units of its bound, to which a result's rounding adds half a unit
// of its last place; above 1 exactly where it is judged wrong.
float OfBound(double got, double value, double bound, double half_unit,
              bool right) {
  double share = 0;
  if (std::isinf(bound)) return 0;
  if (std::isfinite(got) && std::isfinite(value)) {
    const double error = std::fabs(got - value);
    share = error == 0 ? 0 : error / (bound + half_unit * std::fabs(value));
  } else if (!right) {
    share = std::numeric_limits<double>::infinity();
  }
  if (right) return static_cast<float>(std::min(share, 1.0));
  return static_cast<float>(std::max(share, 1.0 + 1e-6));
}

Evidence::Buffer* BufferOf(Evidence& evidence, TensorId id) {
  for (Evidence::Buffer& buffer : *evidence.mutable_buffers()) {
    if (buffer.name() == TensorName(id)) return &buffer;
  }
  return nullptr;
}

absl::Span<const std::uint8_t> GotBytes(const StepImage& step,
                                        const StepObservation& seen,
                                        TensorId id) {
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    if (step.tensors[i].id != id) continue;
    if (seen.outputs.empty() || seen.outputs[i].empty()) {
      return step.tensors[i].bytes;
    }
    return seen.outputs[i];
  }
  return {};
}

}  // namespace

void AddDecodeResults(const Contract& contract, const CaseImage& image,
                      int number, absl::Span<const std::uint8_t> pool_before,
                      const StepObservation& seen, bool all_seen,
                      Evidence& evidence) {
  const StepImage& step = image.steps[static_cast<std::size_t>(number)];
  const DecodeExpectation e =
      ExpectDecode(contract, image, number, pool_before);
  const Tensor& out = *step.Find(TensorId::kAttention);
  const Tensor& lse = *step.Find(TensorId::kLse);
  const oracle::ObservedRows rows(step, seen);
  all_seen &= rows.well_formed();
  Result out_result(out), lse_result(lse);
  constexpr int kColumnsABin = kDecodeColumns / kHeatBins;
  for (std::int64_t row = 0; row < e.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    const std::int64_t query = row / e.heads, head = row % e.heads;
    float heat[kHeatBins + 1] = {};
    for (int c = 0; c < kDecodeColumns; ++c) {
      const std::int64_t element = row * kDecodeColumns + c;
      const auto i = static_cast<std::size_t>(element);
      const auto matches = [&](std::uint16_t bits) {
        return DecodeOutMatches(e, element, bits);
      };
      std::uint16_t low = 0, high = 0;
      const bool known =
          RightWords(e.out[i], e.out_bound[i], Bf16Word, matches, &low, &high);
      const std::int64_t at = 2 * (query * out.strides[0] +
                                   head * out.strides[1] + c * out.strides[2]);
      out_result.Set(at, known, low, high);
      if (!all_seen) continue;
      const std::uint16_t bits = rows.Out(row, c);
      const bool right = matches(bits);
      if (!right) out_result.wrong.Add(at, at + 2);
      constexpr double kHalfUnit = 0x1p-8;  // of bf16, at most
      heat[c / kColumnsABin] = std::max(
          heat[c / kColumnsABin], OfBound(oracle::Bf16Value(bits), e.out[i],
                                          e.out_bound[i], kHalfUnit, right));
    }
    std::uint32_t low = 0, high = 0;
    const auto matches = [&](std::uint32_t bits) {
      return DecodeLseMatches(e, row, std::bit_cast<float>(bits));
    };
    const bool known =
        RightWords(e.lse[r], e.lse_bound[r], FloatWord, matches, &low, &high);
    const std::int64_t at =
        4 * (query * lse.strides[0] + head * lse.strides[1]);
    lse_result.Set(at, known, low, high);
    if (!all_seen) continue;
    const bool right = rows.LseMatches(e, row);
    if (!right) lse_result.wrong.Add(at, at + 4);
    constexpr double kHalfUnit = 0x1p-24;
    heat[kHeatBins] =
        OfBound(rows.Lse(row), e.lse[r], e.lse_bound[r], kHalfUnit, right);
    evidence.mutable_heat()->Add(std::begin(heat), std::end(heat));
  }
  const absl::Span<const std::uint8_t> none;
  out_result.Finish(
      out, all_seen ? GotBytes(step, seen, TensorId::kAttention) : none,
      *BufferOf(evidence, TensorId::kAttention));
  lse_result.Finish(lse, all_seen ? GotBytes(step, seen, TensorId::kLse) : none,
                    *BufferOf(evidence, TensorId::kLse));
}

}  // namespace mlafuzz
