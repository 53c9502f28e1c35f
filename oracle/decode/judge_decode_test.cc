// Right kernels pass, and a kernel that follows another rule fails by the right
// property with that rule as the cause. Kernels are emulated (see
// emulated_kernel.h); a contract with one field changed is a wrong one.
#include "oracle/decode/judge_decode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "corpus/contracts.h"
#include "corpus/image.h"
#include "corpus/values.h"
#include "gtest/gtest.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/emulated_kernel.h"
#include "oracle/decode/outside_reads.h"

namespace mlafuzz {
namespace {

// Two queries, two heads, 40 lanes of which 30 are keys.
Case PlainCase() {
  Case c;
  c.mutable_pool()->set_page_size(16);
  c.mutable_pool()->set_pages(3);
  c.mutable_pool()->mutable_fill()->set_kind(Fill::FINITE_ROWS);
  c.mutable_pool()->mutable_fill()->set_seed(3);
  Decode& d = *c.add_steps()->mutable_decode();
  d.set_queries(2);
  d.set_heads(2);
  d.set_pe_dim(64);
  d.mutable_q()->set_pattern(Values::NORMAL_RANGE);
  d.mutable_q()->set_seed(4);
  Indices& i = *d.mutable_indices();
  i.set_rows(2);
  i.set_width(40);
  i.set_valid(30);
  i.set_limit(48);
  d.set_softmax_scale_bits(0x3d2aaaab);
  return c;
}

Decode& CallOf(Case& c) { return *c.mutable_steps(0)->mutable_decode(); }

CaseImage ImageOf(const Case& c) {
  absl::StatusOr<CaseImage> image = BuildImage(c);
  EXPECT_TRUE(image.ok()) << image.status();
  return *std::move(image);
}

// What a kernel that follows `contract` leaves behind.
StepObservation Observe(const Contract& contract, const CaseImage& image) {
  std::mt19937_64 random(7);
  const StepImage& step = image.steps[0];
  const EmulatedDecode got = EmulateDecode(contract, image, step, random);
  StepObservation seen;
  for (const Tensor& t : step.tensors) {
    std::vector<std::uint8_t>& bytes = seen.outputs.emplace_back();
    if (!t.output) continue;
    bytes = t.bytes;
    if (t.id == TensorId::kAttention) {
      std::memcpy(bytes.data(), got.bits.data(), bytes.size());
    } else {
      std::memcpy(bytes.data(), got.lse.data(), bytes.size());
    }
  }
  return seen;
}

std::vector<Check> Checks(const Contract& contract, const CaseImage& image,
                          const StepObservation& seen) {
  std::vector<Check> checks;
  JudgeDecode(contract, image, 0, image.pool.bytes, seen, &checks);
  return checks;
}

const Check* Failure(const std::vector<Check>& checks,
                     const std::string& property) {
  for (const Check& c : checks) {
    if (c.property == property && IsFailure(c.verdict)) return &c;
  }
  return nullptr;
}

bool Informs(const Contract& contract, const CaseImage& image,
             const std::string& field) {
  const std::vector<std::string> fields =
      InformativeDecodeFields(contract, image, 0, image.pool.bytes);
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

TEST(JudgeDecode, RightKernelPasses) {
  const Case c = PlainCase();
  const CaseImage image = ImageOf(c);
  const Contract builtin = BuiltinContract();
  const std::vector<Check> checks =
      Checks(builtin, image, Observe(builtin, image));
  EXPECT_EQ(checks.size(), 6u);
  for (const Check& check : checks) {
    EXPECT_EQ(check.verdict, Verdict::kPass)
        << check.property << ": " << check.detail;
  }
}

// A wrong rule, a case that it shows in, the property that must see it.
struct WrongRule {
  const char* field;
  const char* property;
  Case c;
  Contract wrong;
};

std::vector<WrongRule> WrongRules() {
  std::vector<WrongRule> all;
  const auto add = [&](const char* field, const char* property, auto arrange,
                       auto change) {
    WrongRule r{field, property, PlainCase(), BuiltinContract()};
    arrange(r.c);
    change(r.wrong);
    all.push_back(std::move(r));
  };
  const auto plain = [](Case&) {};
  const auto rules = [](Contract& c) -> DecodeContract& {
    return *c.mutable_decode();
  };
  using D = DecodeContract;
  add("qk.scale_rule", property::kDecodeLse, plain, [](Contract& c) {
    c.mutable_qk()->set_scale_rule(ReaderSide::SCALE_POW2_FLOOR);
  });
  add("v.scale_rule", property::kDecodeOut, plain, [](Contract& c) {
    c.mutable_v()->set_scale_rule(ReaderSide::SCALE_POW2_FLOOR);
  });
  add("qk.scale_rule+v.scale_rule", property::kDecodeOut, plain,
      [](Contract& c) {
        c.mutable_qk()->set_scale_rule(ReaderSide::SCALE_POW2_FLOOR);
        c.mutable_v()->set_scale_rule(ReaderSide::SCALE_POW2_FLOOR);
      });
  add("decode.lse_base", property::kDecodeLse, plain,
      [&](Contract& c) { rules(c).set_lse_base(D::BASE_E); });
  const auto lengths = [](Case& c) {
    CallOf(c).add_lengths(5);
    CallOf(c).add_lengths(40);
  };
  add("decode.length", property::kDecodeLse, lengths,
      [&](Contract& c) { rules(c).set_length(D::LENGTH_IGNORED); });
  const auto empty = [](Case& c) { CallOf(c).mutable_indices()->set_valid(0); };
  add("decode.empty_row", property::kDecodeLse, empty,
      [&](Contract& c) { rules(c).set_empty_row(D::ZERO_AND_PLUS_INF); });
  add("decode.empty_row", property::kDecodeOut, empty,
      [&](Contract& c) { rules(c).set_empty_row(D::UNIT_WEIGHTS); });
  const auto sinks = [](Case& c) {
    CallOf(c).add_sink_bits(0x40000000);
    CallOf(c).add_sink_bits(0x40800000);
  };
  add("decode.sink", property::kDecodeOut, sinks,
      [&](Contract& c) { rules(c).set_sink(D::SINK_DROPPED); });
  add("decode.sink", property::kDecodeLse, sinks,
      [&](Contract& c) { rules(c).set_sink(D::SINK_NOT_IN_LSE); });
  add(
      "decode.capacity", property::kDecodeLse,
      [](Case& c) { CallOf(c).set_declared_topk(20); },
      [&](Contract& c) { rules(c).set_capacity(D::DECLARED_TOPK_CLIPS); });
  add(
      "decode.nope_tail", property::kDecodeLse,
      [](Case& c) { CallOf(c).set_pe_dim(0); },
      [&](Contract& c) { rules(c).set_nope_tail(D::NOPE_TAIL_AS_ROPE); });
  add(
      "decode.nope_tail", property::kDecodeLse,
      [](Case& c) { CallOf(c).set_pe_dim(0); },
      [&](Contract& c) {
        rules(c).set_nope_tail(D::NOPE_TAIL_MEETS_QUERY_END);
      });
  add(
      "decode.masked_lanes", property::kDecodeOut,
      [](Case& c) {
        // A NaN code in slot 0, which is nobody's key.
        Patch& patch = *c.mutable_pool()->add_patches();
        patch.set_at(130);
        patch.set_data("\x7f");
        Indices& indices = *CallOf(c).mutable_indices();
        const std::vector<std::int32_t> all = ExpandIndices(indices);
        for (std::uint32_t i = 0; i < all.size(); ++i) {
          if (all[i] != 0) continue;
          SetIndex& set = *indices.add_set();
          set.set_at(i);
          set.set_value(1);
        }
      },
      [&](Contract& c) { rules(c).set_masked_lanes(D::MASKED_READ_SLOT0); });
  add(
      "decode.leading_block", property::kDecodeOut,
      [](Case& c) {
        CallOf(c).mutable_indices()->set_width(100);
        CallOf(c).mutable_indices()->set_place(Indices::FRONT);
      },
      [&](Contract& c) { rules(c).set_leading_block(D::LEADING_BLOCK_NAN); });
  return all;
}

TEST(JudgeDecode, WrongRuleIsFoundAndNamed) {
  const Contract declared = BuiltinContract();
  for (const WrongRule& r : WrongRules()) {
    SCOPED_TRACE(std::string(r.field) + " " + r.property);
    const CaseImage image = ImageOf(r.c);
    const StepObservation seen = Observe(r.wrong, image);
    const std::vector<Check> checks = Checks(declared, image, seen);
    const Check* failure = Failure(checks, r.property);
    ASSERT_NE(failure, nullptr);
    EXPECT_FALSE(failure->detail.empty());
    const Diagnosis d =
        DiagnoseDecode(declared, image, 0, image.pool.bytes, seen, *failure);
    EXPECT_EQ(d.field, r.field) << d.key << ": " << d.cause;
    // All that is wrong under this one is NaN.
    EXPECT_EQ(d.says_little, r.field == std::string("decode.leading_block"));
    const std::string text =
        ExplainDecode(declared, image, 0, image.pool.bytes, seen, *failure);
    EXPECT_NE(text.find("first wrong row"), std::string::npos) << text;
    if (std::string(r.field).find('+') == std::string::npos) {
      EXPECT_TRUE(Informs(declared, image, r.field));
    }
  }
}

TEST(JudgeDecode, NothingToSeeIsNotInformative) {
  Case c = PlainCase();
  CallOf(c).mutable_q()->set_pattern(Values::ZERO);
  const CaseImage image = ImageOf(c);
  // Without a query the logits say nothing of the K side's scales; the values
  // still do of V's.
  EXPECT_FALSE(Informs(BuiltinContract(), image, "qk.scale_rule"));
  EXPECT_TRUE(Informs(BuiltinContract(), image, "v.scale_rule"));
  EXPECT_FALSE(Informs(BuiltinContract(), image, "decode.length"));
  EXPECT_FALSE(Informs(BuiltinContract(), image, "decode.sink"));
  EXPECT_FALSE(Informs(BuiltinContract(), image, "decode.empty_row"));
}

TEST(JudgeDecode, RefusingAWiderBufferIsNamed) {
  Case c = PlainCase();
  CallOf(c).set_declared_topk(20);
  const CaseImage image = ImageOf(c);
  const Contract declared = BuiltinContract();
  StepObservation seen;
  seen.status = CallStatus::kRefused;
  seen.message = "expects block_tables of shape (2, 1, 20), got (2, 1, 40)";
  const std::vector<Check> checks = Checks(declared, image, seen);
  const Check* failure = Failure(checks, property::kRefusal);
  ASSERT_NE(failure, nullptr);
  const Diagnosis d =
      DiagnoseDecode(declared, image, 0, image.pool.bytes, seen, *failure);
  EXPECT_EQ(d.field, "decode.capacity");
  // Or one that demands lengths, or refuses everything.
  EXPECT_EQ(d.also,
            (std::vector<std::string>{"decode.lengths_demand=LENGTHS_DEMANDED",
                                      "refused-valid"}));
  EXPECT_TRUE(Informs(declared, image, "decode.capacity"));
  // Under that contract the refusal is right.
  Contract refuses = declared;
  refuses.mutable_decode()->set_capacity(DecodeContract::DECLARED_TOPK_REFUSES);
  for (const Check& check : Checks(refuses, image, seen)) {
    EXPECT_EQ(check.verdict, Verdict::kPass) << check.property;
  }
}

TEST(JudgeDecode, LostPartialsAndRescalesAreNamed) {
  Case c = PlainCase();
  CallOf(c).mutable_indices()->set_width(160);
  CallOf(c).mutable_indices()->set_valid(150);
  CallOf(c).set_splits(2);
  const Contract declared = BuiltinContract();
  const auto diagnose = [&](const CaseImage& image, ExpectOptions options) {
    // The emulation has no such fault: the oracle's own rounded prediction.
    const DecodeExpectation e =
        ExpectDecode(declared, image, 0, image.pool.bytes, options);
    StepObservation seen = Observe(declared, image);
    for (std::size_t i = 0; i < seen.outputs.size(); ++i) {
      std::uint8_t* bytes = seen.outputs[i].data();
      if (image.steps[0].tensors[i].id == TensorId::kAttention) {
        for (std::size_t k = 0; k < e.out.size(); ++k) {
          const float x = static_cast<float>(e.out[k]);
          std::uint32_t bits;
          std::memcpy(&bits, &x, 4);
          bits += 0x7fff + (bits >> 16 & 1);
          std::memcpy(bytes + 2 * k, reinterpret_cast<char*>(&bits) + 2, 2);
        }
      } else if (image.steps[0].tensors[i].id == TensorId::kLse) {
        for (std::size_t k = 0; k < e.lse.size(); ++k) {
          const float x = static_cast<float>(e.lse[k]);
          std::memcpy(bytes + 4 * k, &x, 4);
        }
      }
    }
    const std::vector<Check> checks = Checks(declared, image, seen);
    const Check* failure = Failure(checks, property::kDecodeOut);
    return failure == nullptr ? std::string("passed")
                              : DiagnoseDecode(declared, image, 0,
                                               image.pool.bytes, seen, *failure)
                                    .key;
  };
  ExpectOptions drop;
  drop.dropped_split = 1;
  EXPECT_EQ(diagnose(ImageOf(c), drop), "split-partial-dropped");
  // Keys in the last split alone.
  Indices& last = *CallOf(c).mutable_indices();
  const Indices both = last;
  last.set_valid(0);
  for (const int row : {0, 1}) {
    SetIndex& key = *last.add_set();
    key.set_at(160 * row + 150);
    key.set_value(row);
  }
  drop.dropped_split = ExpectOptions::kLastSplit;
  EXPECT_EQ(diagnose(ImageOf(c), drop), "passed");
  drop.empty_splits_count = true;
  EXPECT_EQ(diagnose(ImageOf(c), drop), "split-partial-dropped");
  last = both;
  CallOf(c).set_splits(1);
  ExpectOptions keep;
  keep.no_rescale = true;
  EXPECT_EQ(diagnose(ImageOf(c), keep), "missing-rescale");
  // Of the order of queries and heads.
  ExpectOptions order;
  order.out_order = ExpectOptions::Order::kHeadsFirst;
  EXPECT_EQ(diagnose(ImageOf(c), order), "out-in-other-order");
  CallOf(c).set_query_length(2);
  ExpectOptions first;
  first.first_position = true;
  EXPECT_EQ(diagnose(ImageOf(c), first), "first-position-for-request");
  CallOf(c).set_q_head_stride(584);
  ExpectOptions dense;
  dense.dense_query = true;
  CaseImage apart = ImageOf(c);
  std::vector<std::uint8_t>& q = apart.steps[0].Find(TensorId::kQ)->bytes;
  for (std::size_t row = 0; row < 3; ++row) {
    // No NaN between the heads, which would tell nothing.
    std::fill_n(q.begin() + 2 * (584 * row + 576), 2 * 8, 0);
  }
  EXPECT_EQ(diagnose(apart, dense), "query-dense");
}

// A right output and the LSE of another row.
TEST(JudgeDecode, AnLseInAnotherOrderIsNamed) {
  Case c = PlainCase();
  CallOf(c).set_heads(3);
  const Contract declared = BuiltinContract();
  const CaseImage image = ImageOf(c);
  StepObservation seen = Observe(declared, image);
  const auto lse = [&](std::int64_t at) {
    return reinterpret_cast<float*>(seen.outputs.back().data()) + at;
  };
  ASSERT_EQ(image.steps[0].tensors.back().id, TensorId::kLse);
  std::vector<float> was(lse(0), lse(6));
  for (int query = 0; query < 2; ++query) {
    for (int head = 0; head < 3; ++head) {
      *lse(2 * head + query) = was[static_cast<std::size_t>(3 * query + head)];
    }
  }
  const std::vector<Check> checks = Checks(declared, image, seen);
  const Check* failure = Failure(checks, property::kDecodeLse);
  ASSERT_NE(failure, nullptr);
  const Diagnosis d =
      DiagnoseDecode(declared, image, 0, image.pool.bytes, seen, *failure);
  EXPECT_EQ(d.key, "lse-in-other-order") << d.cause;
}

TEST(JudgeDecode, ImpostorsAreNamed) {
  const Case c = PlainCase();
  const CaseImage image = ImageOf(c);
  const Contract builtin = BuiltinContract();
  const auto diagnose = [&](const StepObservation& seen) {
    const std::vector<Check> checks = Checks(builtin, image, seen);
    const Check* failure = Failure(checks, property::kDecodeOut);
    return failure == nullptr ? std::string("passed")
                              : DiagnoseDecode(builtin, image, 0,
                                               image.pool.bytes, seen, *failure)
                                    .key;
  };
  EXPECT_EQ(diagnose({}), "nothing-written");
  StepObservation copy = Observe(builtin, image);
  const Tensor& q = *image.steps[0].Find(TensorId::kQ);
  for (std::size_t i = 0; i < copy.outputs.size(); ++i) {
    const Tensor& out = image.steps[0].tensors[i];
    if (out.id != TensorId::kAttention) continue;
    for (int head = 0; head < 4; ++head) {
      std::memcpy(copy.outputs[i].data() + 2 * 512 * head,
                  q.bytes.data() + 2 * 576 * head, 2 * 512);
    }
    EXPECT_EQ(diagnose(copy), "repeats-input");
    // Zeros are zeros, whatever the query holds.
    std::fill(copy.outputs[i].begin(), copy.outputs[i].end(), 0);
    EXPECT_EQ(diagnose(copy), "zero-output");
  }
}

TEST(JudgeDecode, ZerosMayBeAQueryOfZeros) {
  Case c = PlainCase();
  const auto repeats = [&c] {
    const CaseImage image = ImageOf(c);
    const Contract builtin = BuiltinContract();
    StepObservation zeros = Observe(builtin, image);
    for (auto& bytes : zeros.outputs) std::fill(bytes.begin(), bytes.end(), 0);
    const std::vector<Check> checks = Checks(builtin, image, zeros);
    const Diagnosis d =
        DiagnoseDecode(builtin, image, 0, image.pool.bytes, zeros,
                       *Failure(checks, property::kDecodeOut));
    EXPECT_EQ(d.key, "zero-output");
    return std::count(d.also.begin(), d.also.end(), "repeats-input");
  };
  EXPECT_EQ(repeats(), 0);
  CallOf(c).mutable_q()->set_pattern(Values::ZERO);
  EXPECT_EQ(repeats(), 1);
}

Diagnosis Named(const Contract& wrong, const CaseImage& image) {
  const Contract declared = BuiltinContract();
  const StepObservation seen = Observe(wrong, image);
  const std::vector<Check> checks = Checks(declared, image, seen);
  const Check* failure = Failure(checks, property::kDecodeOut);
  EXPECT_NE(failure, nullptr);
  if (failure == nullptr) return {};
  return DiagnoseDecode(declared, image, 0, image.pool.bytes, seen, *failure);
}

// How much of the LSE's bound was used is told, of passes too.
TEST(JudgeDecode, TheShareOfTheBoundIsTold) {
  const Case c = PlainCase();
  const CaseImage image = ImageOf(c);
  const Contract contract = BuiltinContract();
  StepObservation seen = Observe(contract, image);
  const auto share = [&] {
    for (const Check& check : Checks(contract, image, seen)) {
      if (check.property == property::kDecodeLse) return check.of_bound;
    }
    return -1.0;
  };
  const double before = share();
  EXPECT_GE(before, 0);
  EXPECT_LE(before, 1);
  for (std::size_t i = 0; i < image.steps[0].tensors.size(); ++i) {
    if (image.steps[0].tensors[i].id != TensorId::kLse) continue;
    float lse;
    std::memcpy(&lse, seen.outputs[i].data(), sizeof lse);
    lse += 1;
    std::memcpy(seen.outputs[i].data(), &lse, sizeof lse);
  }
  EXPECT_GT(share(), 1);
}

// Where a case shows one side of two wrong ones, the other stays possible.
TEST(JudgeDecode, WhatACaseLeavesOpenIsKept) {
  Case c = PlainCase();
  CallOf(c).mutable_q()->set_pattern(Values::ZERO);
  Contract wrong = BuiltinContract();
  wrong.mutable_qk()->set_scale_rule(ReaderSide::SCALE_POW2_FLOOR);
  wrong.mutable_v()->set_scale_rule(ReaderSide::SCALE_POW2_FLOOR);
  const Diagnosis d = Named(wrong, ImageOf(c));
  EXPECT_EQ(d.key, "v.scale_rule=SCALE_POW2_FLOOR");
  const std::string both =
      "qk.scale_rule=SCALE_POW2_FLOOR+v.scale_rule=SCALE_POW2_FLOOR";
  EXPECT_EQ(std::count(d.also.begin(), d.also.end(), both), 1);
  EXPECT_EQ(std::count(d.also.begin(), d.also.end(), d.key), 0);
  // With a query that sees the keys nothing else is left.
  const Diagnosis whole = Named(wrong, ImageOf(PlainCase()));
  EXPECT_EQ(whole.key, both);
  EXPECT_TRUE(whole.also.empty());
}

// Lanes that weigh 1 each overflow where slot 0 is huge: on its own, and before
// a key takes their place. Then nobody can say what is left in that column.
TEST(JudgeDecode, UnitWeightsThatOverflowAreOpen) {
  Case c = PlainCase();
  Patch& patch = *c.mutable_pool()->add_patches();
  // Column 0 holds 448 * 2^118 = 0.875 * 2^127, its neighbours nothing.
  std::string row(128, '\0');
  row[0] = '\x7e';
  patch.set_data(row);
  Patch& scale = *c.mutable_pool()->add_patches();
  scale.set_at(512);
  scale.set_data(std::string("\x00\x00\x80\x7a", 4));
  Contract contract = BuiltinContract();
  contract.mutable_decode()->set_empty_row(DecodeContract::UNIT_WEIGHTS);
  for (const bool any_key : {false, true}) {
    for (const std::uint32_t masked : {1u, 2u}) {
      CallOf(c).set_queries(1);
      Indices& indices = *CallOf(c).mutable_indices();
      indices.Clear();
      indices.set_rows(1);
      indices.set_width(masked + 1);
      indices.set_valid(0);
      CallOf(c).mutable_lengths()->Clear();
      if (any_key) {
        indices.mutable_set()->Clear();
        SetIndex& key = *indices.add_set();
        key.set_at(masked);
        key.set_value(1);
      } else {
        indices.set_width(masked);
      }
      const CaseImage image = ImageOf(c);
      const DecodeExpectation e =
          ExpectDecode(contract, image, 0, image.pool.bytes);
      EXPECT_EQ(std::isinf(e.out_bound[0]), masked == 2) << any_key;
      EXPECT_FALSE(std::isinf(e.out_bound[1])) << any_key << masked;
      EXPECT_FALSE(std::isinf(e.out_bound[128])) << any_key << masked;
    }
  }
}

bool Has(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// A process that died where a rule would have read past the pool; elsewhere;
// where nobody knows; by no access at all.
TEST(JudgeDecode, ADeathIsTheRulesThatReadsThere) {
  Case c = PlainCase();
  Indices& indices = *CallOf(c).mutable_indices();
  indices.set_pad(Indices::HUGE_POSITIVE);
  CallOf(c).add_lengths(30);
  CallOf(c).add_lengths(30);
  const CaseImage image = ImageOf(c);
  const Contract declared = BuiltinContract();
  const std::string key = "decode.length=LENGTH_IGNORED";
  Contract ignored = declared;
  ignored.mutable_decode()->set_length(DecodeContract::LENGTH_IGNORED);
  EXPECT_TRUE(oracle::DecodeOutsideReads(declared, image, 0).empty());
  const std::vector<ByteRange> reads =
      oracle::DecodeOutsideReads(ignored, image, 0);
  ASSERT_FALSE(reads.empty());
  StepObservation seen = Observe(declared, image);
  seen.status = CallStatus::kCrash;
  const auto diagnose = [&](std::optional<std::int64_t> at) {
    seen.fault = std::nullopt;
    if (at.has_value()) {
      seen.fault = MemoryFault{.from_pool = *at,
                               .from_tensors = std::vector<std::int64_t>(
                                   image.steps[0].tensors.size(),
                                   std::numeric_limits<std::int64_t>::min())};
    }
    const std::vector<Check> checks = Checks(declared, image, seen);
    return DiagnoseDecode(declared, image, 0, image.pool.bytes, seen,
                          checks[0]);
  };
  EXPECT_EQ(diagnose(reads[0].begin).key, key);
  EXPECT_EQ(diagnose(reads[0].end - 1).key, key);
  const Diagnosis elsewhere = diagnose(reads[0].begin - 1);
  EXPECT_EQ(elsewhere.key, "crash") << elsewhere.cause;
  EXPECT_TRUE(Has(elsewhere.possible, key));
  // So far away no process has memory.
  EXPECT_EQ(diagnose(std::numeric_limits<std::int64_t>::min()).key, key);
  const Diagnosis abort = diagnose(std::nullopt);
  EXPECT_EQ(abort.key, "crash");
  EXPECT_TRUE(abort.possible.empty());
}

// Pages of a footer layout without their padding: rows that lie in the pool,
// and not where loads of 16 bytes can reach them.
TEST(JudgeDecode, ADeathWithoutAnAddressMayBeARowsAlignment) {
  Case c = PlainCase();
  c.mutable_pool()->set_layout(DSV4_FOOTER_584);
  c.mutable_pool()->set_page_size(1);
  c.mutable_pool()->set_pages(48);
  CallOf(c).set_pe_dim(0);
  const CaseImage image = ImageOf(c);
  const Contract declared = BuiltinContract(DSV4_FOOTER_584);
  StepObservation seen = Observe(declared, image);
  seen.status = CallStatus::kCrash;
  constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();
  seen.fault = MemoryFault{.from_pool = kUnknown,
                           .from_tensors = std::vector<std::int64_t>(
                               image.steps[0].tensors.size(), kUnknown)};
  std::vector<Check> checks = Checks(declared, image, seen);
  Diagnosis d =
      DiagnoseDecode(declared, image, 0, image.pool.bytes, seen, checks[0]);
  EXPECT_EQ(d.key, "crash");
  EXPECT_TRUE(Has(d.possible, "page-stride-dense"));
  EXPECT_FALSE(Has(d.possible, "rope-dropped"));
  // UBSan's word for the same.
  seen.status = CallStatus::kOk;
  seen.fault = std::nullopt;
  seen.reports = {"UndefinedBehaviorSanitizer: misaligned-pointer-use"};
  checks = Checks(declared, image, seen);
  const Check* failure = Failure(checks, property::kMemory);
  ASSERT_NE(failure, nullptr);
  d = DiagnoseDecode(declared, image, 0, image.pool.bytes, seen, *failure);
  EXPECT_EQ(d.key, "memory");
  EXPECT_TRUE(Has(d.possible, "page-stride-dense"));
}

// Many a fault reads some NaN; few leave nothing else.
TEST(JudgeDecode, NanThatSeveralFaultsReadNamesNone) {
  const Contract declared = BuiltinContract();
  Case c = PlainCase();
  c.mutable_pool()->set_page_stride(16 * 656 + 16);
  CaseImage image = ImageOf(c);
  // Whatever is read elsewhere than at a row is NaN.
  std::vector<std::uint8_t> bytes(image.pool.bytes.size(), 0xff);
  for (std::int64_t slot = 0; slot < image.pool.slots(); ++slot) {
    const std::size_t at = static_cast<std::size_t>(
        image.pool.offset + slot / 16 * image.pool.page_stride +
        slot % 16 * image.pool.row_stride);
    std::copy_n(image.pool.bytes.begin() + static_cast<std::ptrdiff_t>(at), 656,
                bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  image.pool.bytes = bytes;
  StepObservation seen = Observe(declared, image);
  for (std::size_t i = 0; i < seen.outputs.size(); ++i) {
    // bf16 and fp32 NaNs alike.
    std::fill(seen.outputs[i].begin(), seen.outputs[i].end(), 0xff);
  }
  const std::vector<Check> checks = Checks(declared, image, seen);
  const Check* failure = Failure(checks, property::kDecodeOut);
  ASSERT_NE(failure, nullptr);
  const Diagnosis d =
      DiagnoseDecode(declared, image, 0, image.pool.bytes, seen, *failure);
  EXPECT_TRUE(d.says_little);
  EXPECT_FALSE(Has(d.also, "page-stride-dense")) << d.key;
  EXPECT_NE(d.key, "page-stride-dense");
  EXPECT_TRUE(Has(d.possible, "page-stride-dense"));
}

TEST(JudgeDecode, AnotherWidthIsRefusedUnderADeclaredTopK) {
  Contract refuses = BuiltinContract();
  refuses.mutable_decode()->set_capacity(DecodeContract::DECLARED_TOPK_REFUSES);
  for (const std::uint32_t declared : {20u, 60u}) {
    Case c = PlainCase();
    CallOf(c).set_declared_topk(declared);
    const CaseImage image = ImageOf(c);
    EXPECT_EQ(ClassifyDecode(refuses, image, 0).rule, "decode.capacity");
  }
  Case c = PlainCase();
  CallOf(c).set_declared_topk(40);
  const CaseImage image = ImageOf(c);
  EXPECT_EQ(ClassifyDecode(refuses, image, 0).validity, Validity::kValid);
}

// A call may come without lengths (sparse_mla_top_k_lens) whatever the rule for
// them: -1 bounds its rows. Whoever demands them before it is known which
// backend runs refuses a valid call, and so makes rows without rope uncallable.
TEST(JudgeDecode, DemandingLengthsRefusesAValidCall) {
  for (const std::uint32_t pe_dim : {64u, 0u}) {
    for (const auto rule :
         {DecodeContract::LENGTH_MASKED, DecodeContract::LENGTH_IGNORED}) {
      Contract declared = BuiltinContract();
      declared.mutable_decode()->set_length(rule);
      Case c = PlainCase();
      CallOf(c).set_pe_dim(pe_dim);
      CallOf(c).clear_lengths();
      const CaseImage image = ImageOf(c);
      EXPECT_EQ(ClassifyDecode(declared, image, 0).validity, Validity::kValid);
      StepObservation seen;
      seen.status = CallStatus::kRefused;
      seen.message = "sparse_mla_top_k_lens is required";
      const std::vector<Check> checks = Checks(declared, image, seen);
      const Check* failure = Failure(checks, property::kRefusal);
      ASSERT_NE(failure, nullptr) << pe_dim;
      EXPECT_EQ(
          DiagnoseDecode(declared, image, 0, image.pool.bytes, seen, *failure)
              .key,
          "decode.lengths_demand=LENGTHS_DEMANDED");
    }
  }
}

// Where it is the contract's own demand, a call without them is one to refuse.
TEST(JudgeDecode, ABackendMayDemandLengths) {
  Contract declared = BuiltinContract();
  declared.mutable_decode()->set_lengths_demand(
      DecodeContract::LENGTHS_DEMANDED);
  Case c = PlainCase();
  CallOf(c).clear_lengths();
  const StepValidity without = ClassifyDecode(declared, ImageOf(c), 0);
  EXPECT_EQ(without.validity, Validity::kInvalid);
  EXPECT_EQ(without.rule, "decode.lengths_demand");
  for (std::uint32_t i = 0; i < CallOf(c).queries(); ++i) {
    CallOf(c).add_lengths(4);
  }
  EXPECT_EQ(ClassifyDecode(declared, ImageOf(c), 0).validity, Validity::kValid);
}

TEST(JudgeDecode, EndingsThatAreNotResults) {
  const Case c = PlainCase();
  const CaseImage image = ImageOf(c);
  const Contract declared = BuiltinContract();
  StepObservation seen = Observe(declared, image);
  seen.status = CallStatus::kNotImplemented;
  EXPECT_EQ(Checks(declared, image, seen)[0].verdict, Verdict::kSkipped);
  seen.status = CallStatus::kCrash;
  EXPECT_EQ(Checks(declared, image, seen)[0].verdict, Verdict::kCrash);
  seen.status = CallStatus::kFault;
  EXPECT_NE(Failure(Checks(declared, image, seen), property::kLanes), nullptr);
  seen.status = CallStatus::kOk;
  seen.strays.push_back(
      {.tensor = TensorId::kLse, .first = -4, .last = -1, .count = 4});
  EXPECT_NE(Failure(Checks(declared, image, seen), property::kMemory), nullptr);
  seen.strays.clear();
  seen.pool = image.pool.bytes;
  (*seen.pool)[0] ^= 1;
  EXPECT_NE(Failure(Checks(declared, image, seen), property::kWrittenSet),
            nullptr);
  seen.pool.reset();
  seen.outputs.back().resize(1);
  EXPECT_EQ(Checks(declared, image, seen)[0].verdict, Verdict::kProtocol);
}

// ---- validity

StepValidity Classified(const Case& c,
                        const Contract& contract = BuiltinContract()) {
  const CaseImage image = ImageOf(c);
  return ClassifyDecode(contract, image, 0);
}

TEST(ClassifyDecode, Rules) {
  EXPECT_EQ(Classified(PlainCase()).validity, Validity::kValid);
  Case c = PlainCase();
  CallOf(c).set_pe_dim(32);
  EXPECT_EQ(Classified(c).rule, "decode.pe_dim");
  EXPECT_EQ(Classified(c).validity, Validity::kInvalid);
  Contract unchecked = BuiltinContract();
  unchecked.mutable_decode()->clear_host_checks();
  EXPECT_EQ(Classified(c, unchecked).validity, Validity::kUnspecified);

  c = PlainCase();
  CallOf(c).add_lengths(1);
  EXPECT_EQ(Classified(c).rule, "decode.batch");
  c = PlainCase();
  CallOf(c).add_sink_bits(0);
  EXPECT_EQ(Classified(c).rule, "decode.heads");
  c = PlainCase();
  c.mutable_pool()->set_row_bytes(584);
  EXPECT_EQ(Classified(c).rule, "decode.row_bytes");
  c = PlainCase();
  c.mutable_pool()->set_row_stride(660);
  EXPECT_EQ(Classified(c).rule, "decode.alignment");
  c = PlainCase();
  CallOf(c).mutable_indices()->set_limit(49);
  CallOf(c).mutable_indices()->set_valid(40);
  SetIndex& set = *CallOf(c).mutable_indices()->add_set();
  set.set_at(3);
  set.set_value(48);
  EXPECT_EQ(Classified(c).rule, "decode.index_past_pool");
  EXPECT_EQ(Classified(c).validity, Validity::kUnspecified);
  // Past the length it is nobody's business.
  CallOf(c).mutable_indices()->set_limit(48);
  CallOf(c).add_lengths(3);
  CallOf(c).add_lengths(40);
  EXPECT_EQ(Classified(c).validity, Validity::kValid);

  c = PlainCase();
  CallOf(c).mutable_indices()->add_set()->set_value(-2);
  EXPECT_EQ(Classified(c).validity, Validity::kValid);
  Contract minus_one = BuiltinContract();
  minus_one.mutable_decode()->set_mask(DecodeContract::MINUS_ONE_MASKED);
  EXPECT_EQ(Classified(c, minus_one).rule, "decode.negative_index");
  c = PlainCase();
  CallOf(c).set_softmax_scale_bits(0x7fc00000);
  EXPECT_EQ(Classified(c).rule, "decode.softmax_scale");
  c = PlainCase();
  CallOf(c).set_declared_topk(20);
  EXPECT_EQ(Classified(c).validity, Validity::kValid);
}

}  // namespace
}  // namespace mlafuzz
