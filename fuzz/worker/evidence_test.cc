#include "fuzz/worker/evidence.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "gtest/gtest.h"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/imagined.h"

namespace mlafuzz {
namespace {

// What a kernel that follows `kernel` leaves behind, judged by builtin's
// contract.
Evidence Of(const char* text, const Contract& kernel, int step = 0) {
  const Case c = *ParseCaseText(text);
  const CaseImage image = *BuildImage(c);
  return EvidenceOf(BuiltinContract(), image, Imagine(kernel, image), step);
}

const Evidence::Buffer& Buffer(const Evidence& evidence,
                               const std::string& name) {
  for (const Evidence::Buffer& buffer : evidence.buffers()) {
    if (buffer.name() == name) return buffer;
  }
  ADD_FAILURE() << "no " << name;
  return evidence.buffers(0);
}

constexpr char kNopeWrite[] = R"pb(
  pool {
    page_size: 2
    pages: 1
    fill { byte: 0xa5 }
  }
  steps { write { slots { values: [ 1 ] } } }
)pb";

TEST(Evidence, MarksWrongBytesOfARow) {
  Contract kernel = BuiltinContract();
  kernel.mutable_writer()->set_tail(WriterContract::TAIL_UNCHANGED);
  const Evidence evidence = Of(kNopeWrite, kernel);
  EXPECT_EQ(evidence.kernel(), "writer");
  EXPECT_EQ(evidence.ended(), "ok");
  EXPECT_EQ(evidence.should_end(), "ok");
  const Evidence::Buffer& cache = Buffer(evidence, "cache");
  ASSERT_EQ(cache.wrong_size(), 1);
  EXPECT_EQ(cache.wrong(0).begin(), 656 + 528);
  EXPECT_EQ(cache.wrong(0).end(), 656 + 656);
  EXPECT_EQ(cache.expected()[656 + 528], '\0');
  EXPECT_EQ(cache.got()[656 + 528], '\xa5');
  EXPECT_EQ(cache.before().size(), 2u * 656);
  EXPECT_EQ(Buffer(evidence, "slot_mapping").before().size(), 8u);
  EXPECT_TRUE(Buffer(evidence, "kv_c").expected().empty());
}

TEST(Evidence, HasNothingWrongOfARightKernel) {
  const Evidence evidence = Of(kNopeWrite, BuiltinContract());
  for (const Evidence::Buffer& buffer : evidence.buffers()) {
    EXPECT_EQ(buffer.wrong_size(), 0) << buffer.name();
  }
}

// The second step is given the pool as the first left it.
TEST(Evidence, BeginsWithThePoolBeforeTheStep) {
  const Evidence evidence = Of(R"pb(
                                 pool {
                                   page_size: 1
                                   pages: 1
                                   fill { byte: 0xa5 }
                                 }
                                 steps { write { slots { values: [ 0 ] } } }
                                 steps {
                                   gather {
                                     block_table {
                                       rows: 1
                                       columns: 1
                                       pages { values: [ 0 ] }
                                     }
                                     workspace_starts: 0
                                     dst_rows: 1
                                   }
                                 }
                               )pb",
                               BuiltinContract(), 1);
  EXPECT_EQ(evidence.kernel(), "gather");
  EXPECT_EQ(Buffer(evidence, "cache").before()[600], '\0');
  EXPECT_EQ(Buffer(evidence, "dst").expected().size(), 2u * 576);
}

constexpr char kDecode[] = R"pb(
  pool {
    page_size: 4
    pages: 2
    fill { byte: 0x38 }
  }
  steps {
    decode {
      queries: 1
      heads: 2
      pe_dim: 64
      q { pattern: NORMAL_RANGE seed: 3 }
      indices { rows: 1 width: 4 seed: 1 valid: 4 limit: 8 }
      softmax_scale_bits: 0x3d000000
    }
  }
)pb";

// The same of a decode that returns the values of `kernel` in the middle of
// their bounds.
Evidence OfDecode(const Contract& kernel) {
  const Case c = *ParseCaseText(kDecode);
  const CaseImage image = *BuildImage(c);
  const StepImage& step = image.steps[0];
  const DecodeExpectation e = ExpectDecode(kernel, image, 0, image.pool.bytes);
  Observation observation;
  observation.steps.resize(1);
  auto& outputs = observation.steps[0].outputs;
  for (const Tensor& tensor : step.tensors) {
    std::vector<std::uint8_t> bytes;
    if (tensor.id == TensorId::kAttention) {
      for (const double value : e.out) {
        const std::uint16_t bits = oracle::Bf16FromFloat(
            static_cast<float>(value), oracle::Rounding::kNearestEven);
        bytes.push_back(static_cast<std::uint8_t>(bits));
        bytes.push_back(static_cast<std::uint8_t>(bits >> 8));
      }
    } else if (tensor.id == TensorId::kLse) {
      for (const double value : e.lse) {
        const auto f = static_cast<float>(value);
        const auto* raw = reinterpret_cast<const std::uint8_t*>(&f);
        bytes.insert(bytes.end(), raw, raw + sizeof f);
      }
    }
    outputs.push_back(std::move(bytes));
  }
  return EvidenceOf(BuiltinContract(), image, observation, 0);
}

TEST(Evidence, BoundsADecode) {
  const Evidence right = OfDecode(BuiltinContract());
  const Evidence::Buffer& out = Buffer(right, "out");
  EXPECT_EQ(out.wrong_size(), 0);
  EXPECT_EQ(out.open_size(), 0);
  EXPECT_EQ(out.lowest().size(), out.highest().size());
  ASSERT_EQ(right.heat_size(), 2 * (kHeatBins + 1));
  for (const float heat : right.heat()) EXPECT_LE(heat, 1);

  Contract kernel = BuiltinContract();
  kernel.mutable_decode()->set_lse_base(kernel.decode().lse_base() ==
                                                DecodeContract::BASE_2
                                            ? DecodeContract::BASE_E
                                            : DecodeContract::BASE_2);
  const Evidence wrong = OfDecode(kernel);
  EXPECT_EQ(Buffer(wrong, "out").wrong_size(), 0);
  ASSERT_EQ(Buffer(wrong, "lse").wrong_size(), 1);
  EXPECT_EQ(Buffer(wrong, "lse").wrong(0).end(), 8);
  EXPECT_GT(wrong.heat(kHeatBins), 1);
  EXPECT_LE(wrong.heat(0), 1);
}

}  // namespace
}  // namespace mlafuzz
