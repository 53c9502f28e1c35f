#include "kernels/test_support.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>

#include "google/protobuf/text_format.h"

namespace mlafuzz::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

}  // namespace

double DecodeBits(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent =
      static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
  if (exponent == 0) {
    return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  }
  return sign * std::ldexp((1u << mantissa_bits) + mantissa,
                           exponent - bias - mantissa_bits);
}

double Bf16Value(unsigned bits) {
  const unsigned magnitude = bits & 0x7fff;
  if (magnitude > 0x7f80) return kNan;
  if (magnitude == 0x7f80) return bits & 0x8000 ? -kInf : kInf;
  return DecodeBits(bits, 8, 7);
}

double Fp16Value(unsigned bits) {
  const unsigned magnitude = bits & 0x7fff;
  if (magnitude > 0x7c00) return kNan;
  if (magnitude == 0x7c00) return bits & 0x8000 ? -kInf : kInf;
  return DecodeBits(bits, 5, 10);
}

double E4m3Value(unsigned code) {
  return (code & 0x7f) == 0x7f ? kNan : DecodeBits(code, 4, 3);
}

unsigned NearestE4m3(double value) {
  if (std::isnan(value)) return 0x7f;
  const unsigned sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude >= 448) return sign | 0x7e;
  unsigned low = 0;
  while (E4m3Value(low + 1) <= magnitude) ++low;
  const double below = magnitude - E4m3Value(low);
  const double above = E4m3Value(low + 1) - magnitude;
  if (below < above) return sign | low;
  if (below > above) return sign | (low + 1);
  return sign | (low % 2 == 0 ? low : low + 1);
}

unsigned NearestBf16(float value) {
  if (std::isnan(value)) return 0x7fff;
  const unsigned bits = std::bit_cast<unsigned>(value);
  const unsigned low = bits & 0xffff;
  const unsigned high = bits >> 16;
  if (low < 0x8000) return high;
  if (low > 0x8000) return high + 1;
  return high + high % 2;
}

bool SameValue(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         (a == b && std::signbit(a) == std::signbit(b));
}

std::array<std::uint8_t, 528> QuantisedRow(const std::uint16_t* latent,
                                           bool fp16, bool pow2) {
  std::array<std::uint8_t, 528> row;
  for (int tile = 0; tile < 4; ++tile) {
    double values[128];
    double amax = 0;
    for (int i = 0; i < 128; ++i) {
      const unsigned bits = latent[tile * 128 + i];
      values[i] = fp16 ? Fp16Value(bits) : Bf16Value(bits);
      if (std::fabs(values[i]) > amax) amax = std::fabs(values[i]);
    }
    // A double quotient of fp32 values, rounded to fp32, is the fp32 quotient.
    float scale = static_cast<float>(amax / 448);
    if (pow2) {
      if (!(scale > 1e-4f)) scale = 1e-4f;
      if (std::isfinite(scale)) {
        float power = 0x1p-14f;
        while (power < scale) power *= 2;
        scale = power;
      }
    } else if (!(scale > 0x1p-126f)) {
      scale = 0x1p-126f;
    }
    for (int i = 0; i < 128; ++i) {
      const float quotient = static_cast<float>(values[i] / scale);
      row[tile * 128 + i] = static_cast<std::uint8_t>(NearestE4m3(quotient));
    }
    std::memcpy(&row[512 + 4 * tile], &scale, 4);
  }
  return row;
}

std::array<std::uint16_t, 576> GatheredRow(const std::uint8_t* row, bool nope) {
  std::array<std::uint16_t, 576> out;
  for (int i = 0; i < 512; ++i) {
    float scale;
    std::memcpy(&scale, row + 512 + i / 128 * 4, 4);
    // A product of 4 and 24 significant bits is exact in double.
    const float product = static_cast<float>(E4m3Value(row[i]) * scale);
    out[i] = static_cast<std::uint16_t>(NearestBf16(product));
  }
  std::memcpy(&out[512], row + 528, 128);
  if (nope) std::memset(&out[512], 0, 128);
  return out;
}

Case ParseCase(const std::string& text) {
  Case c;
  if (!google::protobuf::TextFormat::ParseFromString(text, &c)) {
    Die("not a case: " + text);
  }
  return c;
}

CaseImage Image(const Case& c) {
  static auto* const kept = new std::deque<Case>;
  kept->push_back(c);
  absl::StatusOr<CaseImage> image = BuildImage(kept->back());
  if (!image.ok()) Die(image.status().ToString());
  return *std::move(image);
}

TargetSet Targets(const std::string& name) {
  absl::StatusOr<TargetSet> set = MakeTargetSet(name);
  if (!set.ok()) Die(set.status().ToString());
  return *std::move(set);
}

Observation Run(const std::string& target, const CaseImage& image) {
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  std::vector<Observation> observations;
  const absl::Status status =
      executor->Run(Targets(target), {&image, 1}, &observations);
  if (!status.ok()) Die(status.ToString());
  return observations.front();
}

bool SameOutcome(const StepObservation& a, const StepObservation& b) {
  if (a.strays.size() != b.strays.size()) return false;
  for (std::size_t i = 0; i < a.strays.size(); ++i) {
    const Stray& x = a.strays[i];
    const Stray& y = b.strays[i];
    if (x.tensor != y.tensor || x.first != y.first || x.last != y.last ||
        x.count != y.count) {
      return false;
    }
  }
  return a.status == b.status && a.message == b.message && a.pool == b.pool &&
         a.outputs == b.outputs && a.reports == b.reports;
}

bool SameOutcome(const Observation& a, const Observation& b) {
  if (a.steps.size() != b.steps.size()) return false;
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    if (!SameOutcome(a.steps[i], b.steps[i])) return false;
  }
  return true;
}

}  // namespace mlafuzz::test
