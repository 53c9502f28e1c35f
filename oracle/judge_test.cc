#include "oracle/judge.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "oracle/case_fixture.h"
#include "oracle/imagined.h"
#include "oracle/verdict.h"

namespace mlafuzz {
namespace {

constexpr char kDecode[] = R"(
  pool { page_size: 2 pages: 2 fill { kind: FINITE_ROWS seed: 3 } }
  steps { decode { queries: 1 heads: 1 pe_dim: 64
                   q { pattern: NORMAL_RANGE seed: 1 }
                   indices { rows: 1 width: 3 set { at: 0 value: 3 }
                             set { at: 1 value: -1 } set { at: 2 value: 1 } }
                   softmax_scale_bits: 0x3f800000 } })";

// A case with what a right kernel leaves behind; tests damage that.
class JudgeTest : public CaseTest {
 protected:
  void Use(const std::string& text) {
    ASSERT_NO_FATAL_FAILURE(CaseTest::Use(text));
    seen_ = Imagine(contract_, image_);
  }

  Contracts contracts() const {
    return {&contract_, &contract_, &contract_, &contract_};
  }
  std::vector<Check> Verdicts() const {
    return Judge(contracts(), image_, seen_);
  }

  // Properties that failed, "name" or "name=verdict" if not kFail.
  std::set<std::string> Failures() const {
    std::set<std::string> failures;
    for (const Check& check : Verdicts()) {
      if (check.verdict == Verdict::kFail) {
        failures.insert(check.property);
        EXPECT_FALSE(check.detail.empty()) << check.property;
      } else if (IsFailure(check.verdict)) {
        failures.insert(check.property + "=" + VerdictName(check.verdict));
      }
    }
    return failures;
  }

  // Properties with that verdict.
  std::set<std::string> With(Verdict verdict) const {
    std::set<std::string> found;
    for (const Check& check : Verdicts()) {
      if (check.verdict == verdict) found.insert(check.property);
    }
    return found;
  }

  // The diagnosis of the first failure.
  Diagnosis FirstDiagnosis() const {
    for (const Check& check : Verdicts()) {
      if (IsFailure(check.verdict)) {
        return Diagnose(contracts(), image_, seen_, check);
      }
    }
    ADD_FAILURE() << "nothing failed";
    return {};
  }

  bool IsPossible(const std::string& key) const {
    const std::vector<std::string> keys = FirstDiagnosis().possible;
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }

  std::uint8_t& PoolByte(std::int64_t slot, std::int64_t byte) {
    return seen_.steps[0].pool->at(image_.pool.RowAt(slot) + byte);
  }
  std::vector<std::uint8_t>& Output(TensorId id, std::size_t step = 0) {
    for (std::size_t i = 0; i < image_.steps[step].tensors.size(); ++i) {
      if (image_.steps[step].tensors[i].id == id) {
        return seen_.steps[step].outputs[i];
      }
    }
    ADD_FAILURE();
    return seen_.steps[step].outputs[0];
  }

  Contract contract_ = BuiltinContract();
  Observation seen_;
};

constexpr char kWrite[] = R"(
  pool { page_size: 4 pages: 3 row_stride: 672 page_stride: 2720 offset: 64
         fill { byte: 165 } }
  steps { write { slots { values: [5, -1, 2] } pe_dim: 64
                  kv_c { pattern: NORMAL_RANGE seed: 1 }
                  k_pe { pattern: RANDOM_BITS seed: 2 } } })";
constexpr char kNopeWrite[] = R"(
  pool { page_size: 4 pages: 3 fill { byte: 165 } }
  steps { write { slots { values: [5, 2] }
                  kv_c { pattern: NORMAL_RANGE seed: 1 } } })";
constexpr char kGather[] = R"(
  pool { page_size: 4 pages: 3 fill { kind: ROWS seed: 4 scales: WIDE } }
  steps { gather { block_table { rows: 2 columns: 2 pages { values: [1, 2, 0] }}
                   workspace_starts: [1, 6] dst_rows: 9 dst_row_stride: 584 }})";
constexpr char kNopeGather[] = R"(
  pool { page_size: 4 pages: 3 fill { kind: ROWS seed: 4 } }
  steps { gather { block_table { rows: 1 columns: 1 pages { values: [1] } }
                   workspace_starts: 0 dst_rows: 3 nope: true } })";
constexpr char kConvert[] = R"(
  pool { page_size: 4 pages: 3 }
  steps { convert { request_ids { values: [1, 0] } valid_count: true
                    block_table { rows: 2 columns: 2 pages { values: [1, 2, 0, 1]}}
                    token_indices { rows: 2 width: 6 valid: 4 limit: 8 seed: 7 }
                    out_row_stride: 7 } })";

using Names = std::set<std::string>;

TEST_F(JudgeTest, RightKernelsPassEverything) {
  Use(kWrite);
  EXPECT_EQ(With(Verdict::kPass), (Names{"writer-row", "slots", "written-set",
                                         "memory-safety", "lanes", "refusal"}));
  Use(kNopeWrite);
  EXPECT_EQ(With(Verdict::kPass),
            (Names{"writer-row", "nope-tail", "slots", "written-set",
                   "memory-safety", "lanes", "refusal"}));
  Use(kGather);
  EXPECT_EQ(With(Verdict::kPass), (Names{"gather-exact", "written-set",
                                         "memory-safety", "lanes", "refusal"}));
  Use(kNopeGather);
  EXPECT_EQ(With(Verdict::kPass),
            (Names{"gather-exact", "gather-tail", "written-set",
                   "memory-safety", "lanes", "refusal"}));
  Use(kConvert);
  EXPECT_EQ(With(Verdict::kPass),
            (Names{"convert-exact", "valid-count", "written-set",
                   "memory-safety", "lanes", "refusal"}));
  for (const Check& check : Verdicts()) EXPECT_EQ(check.detail, "");
}

TEST_F(JudgeTest, EachByteOfAWrittenRowCounts) {
  Use(kWrite);
  for (std::int64_t byte = 0; byte < 656; ++byte) {
    PoolByte(2, byte) ^= 1;
    EXPECT_EQ(Failures(), Names{"writer-row"}) << byte;
    const std::string key = FirstDiagnosis().key;
    EXPECT_EQ(key, byte < 512   ? "codes-only"
                   : byte < 528 ? "scales-only"
                                : "rope-only");
    PoolByte(2, byte) ^= 1;
  }
  Use(kNopeWrite);
  PoolByte(5, 527) ^= 128;
  EXPECT_EQ(Failures(), Names{"writer-row"});
  PoolByte(5, 527) ^= 128;
  PoolByte(5, 528) ^= 128;
  EXPECT_EQ(Failures(), Names{"nope-tail"});
  EXPECT_EQ(FirstDiagnosis().key, "tail");
}

TEST_F(JudgeTest, ForeignBytesOfThePool) {
  Use(kWrite);
  seen_.steps[0].pool->at(10) ^= 1;  // before page 0
  EXPECT_EQ(Failures(), Names{"written-set"});
  seen_.steps[0].pool->at(10) ^= 1;
  PoolByte(5, 660) ^= 1;  // behind a row
  EXPECT_EQ(Failures(), Names{"written-set"});
  EXPECT_EQ(FirstDiagnosis().key, "foreign-bytes");
  PoolByte(5, 660) ^= 1;
  seen_.steps[0].pool->back() ^= 1;  // behind a page
  EXPECT_EQ(Failures(), Names{"written-set"});
  seen_.steps[0].pool->back() ^= 1;
  PoolByte(0, 0) ^= 1;  // another slot
  EXPECT_EQ(Failures(), Names{"written-set"});
}

TEST_F(JudgeTest, SlotsThatWereMissedOrNotSkipped) {
  Use(kWrite);
  const std::vector<std::uint8_t> right = *seen_.steps[0].pool;
  std::memcpy(&PoolByte(5, 0), &image_.pool.bytes[image_.pool.RowAt(5)], 656);
  EXPECT_EQ(Failures(), Names{"slots"});
  EXPECT_EQ(FirstDiagnosis().key, "rows-missing");
  EXPECT_TRUE(FirstDiagnosis().says_little);
  seen_.steps[0].pool.reset();  // none written
  EXPECT_EQ(Failures(), Names{"slots"});
  EXPECT_EQ(FirstDiagnosis().key, "nothing-written");

  // The skipped token's row turns up in slot 11.
  Case other = case_;
  other.mutable_steps(0)->mutable_write()->mutable_slots()->set_values(1, 11);
  const absl::StatusOr<CaseImage> image = BuildImage(other);
  ASSERT_TRUE(image.ok());
  const Observation shifted = Imagine(contract_, *image);
  seen_.steps[0].pool = right;
  std::memcpy(&PoolByte(11, 0),
              &shifted.steps[0].pool->at(image_.pool.RowAt(11)), 656);
  EXPECT_EQ(Failures(), Names{"slots"});
  EXPECT_EQ(FirstDiagnosis().key, "skipped-rows");
}

TEST_F(JudgeTest, RawInputInTheCache) {
  Use(kWrite);
  const Tensor& kv_c = *image_.steps[0].Find(TensorId::kKvC);
  std::memcpy(&PoolByte(5, 0), kv_c.bytes.data(), 512);
  EXPECT_EQ(Failures(), Names{"writer-row"});
  EXPECT_EQ(FirstDiagnosis().key, "repeats-input");
  EXPECT_FALSE(FirstDiagnosis().says_little);
}

TEST_F(JudgeTest, EachValueOfDst) {
  Use(kGather);
  std::vector<std::uint8_t>& dst = Output(TensorId::kDst);
  const auto at = [](int row, int column) { return 2 * (584 * row + column); };
  for (int column : {0, 1, 127, 511, 512, 575}) {
    dst[at(4, column)] ^= 1;
    EXPECT_EQ(Failures(), Names{"gather-exact"}) << column;
    EXPECT_EQ(FirstDiagnosis().key, column < 512 ? "values-only" : "rope-only");
    dst[at(4, column)] ^= 1;
  }
  dst[at(0, 3)] ^= 1;  // a row before the first start
  EXPECT_EQ(Failures(), Names{"written-set"});
  dst[at(0, 3)] ^= 1;
  dst[at(4, 580)] ^= 1;  // between rows
  EXPECT_EQ(Failures(), Names{"written-set"});
  dst[at(4, 580)] ^= 1;
  seen_.steps[0].pool = image_.pool.bytes;
  EXPECT_EQ(Failures(), Names{});
  seen_.steps[0].pool->at(77) ^= 1;
  EXPECT_EQ(Failures(), Names{"written-set"});
  seen_.steps[0].pool.reset();
  dst = image_.steps[0].Find(TensorId::kDst)->bytes;
  EXPECT_EQ(Failures(), Names{"gather-exact"});
  EXPECT_EQ(FirstDiagnosis().key, "nothing-written");

  Use(kNopeGather);
  Output(TensorId::kDst)[2 * 512] ^= 1;
  EXPECT_EQ(Failures(), Names{"gather-tail"});
}

TEST_F(JudgeTest, NanPayloadsOnlyWhereTheyAreOpen) {
  Use(kGather);
  // Slot 4 (page 1, row 0) is token 0 of request 0: dst row 1.
  image_.pool.bytes[image_.pool.RowAt(4)] = 0x7f;
  seen_ = Imagine(contract_, image_);
  std::vector<std::uint8_t>& dst = Output(TensorId::kDst);
  ASSERT_EQ(dst[2 * 584], 0xff);
  ASSERT_EQ(dst[2 * 584 + 1], 0x7f);
  dst[2 * 584] = 0xc0;
  EXPECT_EQ(Failures(), Names{"gather-exact"});
  EXPECT_EQ(FirstDiagnosis().key, "gather.nan=NAN_ANY");
  contract_.mutable_gather()->set_nan(GatherContract::NAN_ANY);
  EXPECT_EQ(Failures(), Names{});
  dst[2 * 584] = 0x80;  // infinity
  EXPECT_EQ(Failures(), Names{"gather-exact"});
}

TEST_F(JudgeTest, EachIndex) {
  Use(kConvert);
  for (int i : {0, 3, 5, 7, 12}) {
    Output(TensorId::kOut)[4 * i] ^= 1;
    EXPECT_EQ(Failures(), Names{"convert-exact"}) << i;
    Output(TensorId::kOut)[4 * i] ^= 1;
  }
  Output(TensorId::kOut)[4 * 6] ^= 1;  // between rows
  EXPECT_EQ(Failures(), Names{"written-set"});
  Output(TensorId::kOut)[4 * 6] ^= 1;
  Output(TensorId::kValidCount)[4] ^= 1;
  EXPECT_EQ(Failures(), Names{"valid-count"});
  EXPECT_EQ(FirstDiagnosis().key, "valid-count");
}

TEST_F(JudgeTest, StraysReportsAndEndings) {
  Use(kNopeWrite);
  seen_.steps[0].strays.push_back({.first = -8, .last = -1, .count = 8});
  EXPECT_EQ(Failures(), Names{"memory-safety"});
  EXPECT_EQ(FirstDiagnosis().key, "writes-outside");
  seen_.steps[0].strays.clear();
  seen_.steps[0].reports.push_back("heap-buffer-overflow");
  EXPECT_EQ(Failures(), Names{"memory-safety"});
  EXPECT_EQ(FirstDiagnosis().key, "sanitizer");
  seen_.steps[0].reports.clear();

  seen_.steps[0].message = "deadlock: 3 lanes wait";
  seen_.steps[0].status = CallStatus::kFault;
  EXPECT_EQ(Failures(), Names{"lanes"});
  EXPECT_EQ(FirstDiagnosis().key, "deadlock");
  seen_.steps[0].status = CallStatus::kError;
  EXPECT_EQ(Failures(), Names{"lanes"});
  EXPECT_EQ(FirstDiagnosis().key, "error");
  seen_.steps[0].status = CallStatus::kHang;
  EXPECT_EQ(Failures(), Names{"memory-safety=hang"});
  EXPECT_EQ(FirstDiagnosis().key, "hang");
  seen_.steps[0].status = CallStatus::kOutOfMemory;
  EXPECT_EQ(Failures(), Names{"memory-safety=oom"});
  seen_.steps[0].status = CallStatus::kProtocol;
  EXPECT_EQ(Failures(), Names{"memory-safety=protocol"});
  seen_.steps[0].status = CallStatus::kCrash;
  EXPECT_EQ(Failures(), Names{"memory-safety=crash"});
  EXPECT_EQ(FirstDiagnosis().key, "crash");
  // A slot of -1 taken for an address is the reason to die there, and may be
  // elsewhere; not of an abort.
  Use(kWrite);
  seen_.steps[0].status = CallStatus::kCrash;
  seen_.steps[0].fault = MemoryFault{.from_pool = -1};
  EXPECT_EQ(FirstDiagnosis().key, "writer.slots=NONE_SKIPPED");
  seen_.steps[0].fault->from_pool = -3 << 20;
  EXPECT_EQ(FirstDiagnosis().key, "crash");
  EXPECT_TRUE(IsPossible("writer.slots=NONE_SKIPPED"));
  seen_.steps[0].fault.reset();
  seen_.steps[0].message = "SIGABRT";
  EXPECT_EQ(FirstDiagnosis().key, "crash");
  EXPECT_FALSE(IsPossible("writer.slots=NONE_SKIPPED"));
  // Damage elsewhere is not.
  seen_.steps[0].status = CallStatus::kOk;
  seen_.steps[0].strays.push_back(
      {.tensor = TensorId::kKvC, .first = 0, .last = 1, .count = 2});
  EXPECT_EQ(Failures(), Names{"memory-safety"});
  EXPECT_EQ(FirstDiagnosis().key, "writes-outside");
}

TEST_F(JudgeTest, AMinusOneThatIsWrittenBeforePageZero) {
  Use(kWrite);
  // 64 bytes lie before page 0: the row ends inside them, the rest in a guard.
  seen_.steps[0].strays.push_back({.first = -608, .last = -1, .count = 608});
  seen_.steps[0].pool->at(3) ^= 0x55;
  EXPECT_EQ(Failures(), (Names{"written-set", "memory-safety"}));
  EXPECT_EQ(FirstDiagnosis().key, "writer.slots=NONE_SKIPPED");
}

TEST_F(JudgeTest, RefusalOfAValidCall) {
  Use(kWrite);
  seen_.steps[0] = {.status = CallStatus::kRefused, .message = "no"};
  EXPECT_EQ(Failures(), Names{"refusal"});
  EXPECT_EQ(FirstDiagnosis().key, "refused-valid");
  seen_.steps[0].pool = image_.pool.bytes;
  seen_.steps[0].pool->at(0) ^= 1;
  EXPECT_EQ(Failures(), (Names{"refusal", "written-set"}));
  Use("pool { page_size: 1 pages: 1 } steps { write { pe_dim: 64 } }");
  seen_.steps[0] = {.status = CallStatus::kRefused, .message = "no tokens"};
  EXPECT_EQ(Failures(), Names{"refusal"});
}

TEST_F(JudgeTest, InvalidCalls) {
  Use("pool { page_size: 1 pages: 2 } "
      "steps { write { slots { values: 1 } pe_dim: 32 } }");
  EXPECT_EQ(With(Verdict::kPass),
            (Names{"refusal", "written-set", "memory-safety"}));
  seen_.steps[0].message = "";
  EXPECT_EQ(Failures(), Names{"refusal"});
  EXPECT_EQ(FirstDiagnosis().key, "refused-silently");
  seen_.steps[0].message = "pe_dim must be 64 or 0";
  seen_.steps[0].pool = image_.pool.bytes;
  seen_.steps[0].pool->at(0) ^= 1;
  EXPECT_EQ(Failures(), Names{"written-set"});
  seen_.steps[0].pool.reset();
  seen_.steps[0].status = CallStatus::kOk;
  EXPECT_EQ(Failures(), Names{"refusal"});
  EXPECT_EQ(FirstDiagnosis().key, "accepted-invalid");
  EXPECT_EQ(FirstDiagnosis().field, "writer.pe_dim");
  seen_.steps[0].status = CallStatus::kError;
  EXPECT_EQ(Failures(), Names{"refusal"});
}

TEST_F(JudgeTest, UnspecifiedIsNeverAFinding) {
  const std::string pool = "pool { page_size: 1 pages: 2 } ";
  const std::string gather =
      "steps { gather { block_table { rows: 1 columns: 2 pages { values: [0, 1]"
      "} } workspace_starts: 0 dst_rows: 2 } }";
  Use(pool + "steps { write { slots { values: 9 } pe_dim: 64 } }" + gather);
  seen_.steps[0].strays.push_back({.first = 0, .last = 0, .count = 1});
  EXPECT_EQ(Failures(), Names{});
  const std::vector<Check> checks = Verdicts();
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[0].verdict, Verdict::kUnspecified);
  EXPECT_TRUE(absl::StartsWith(checks[0].detail, "writer.slot_past_pool"));
  EXPECT_EQ(checks[1].verdict, Verdict::kUnspecified);
  // A target that refuses it leaves the pool alone.
  seen_.steps[0] = {.status = CallStatus::kRefused, .message = "no"};
  EXPECT_EQ(With(Verdict::kPass).count("gather-exact"), 1u);
}

TEST_F(JudgeTest, NothingToSee) {
  Use("pool { page_size: 1 pages: 2 } steps { write { pe_dim: 64 } }");
  EXPECT_EQ(With(Verdict::kPass), Names{});
  EXPECT_EQ(With(Verdict::kUninformative).count("writer-row"), 1u);
  // Skipped slots are a rule at work, though no row is written.
  Use("pool { page_size: 1 pages: 2 } "
      "steps { write { slots { values: -1 } pe_dim: 64 } }");
  EXPECT_EQ(With(Verdict::kUninformative), Names{"writer-row"});
  EXPECT_EQ(With(Verdict::kPass).count("slots"), 1u);
  Use("pool { page_size: 1 pages: 2 } steps { gather { block_table { rows: 1 "
      "columns: 1 } workspace_starts: 0 } }");
  EXPECT_EQ(With(Verdict::kPass), Names{});
}

TEST_F(JudgeTest, LaterStepsAreJudgedFromWhatWasSeen) {
  Use(R"(
    pool { page_size: 4 pages: 2 }
    steps { write { slots { values: [0, 1] } kv_c { pattern: NORMAL_RANGE } } }
    steps { patch { slot: 1 at: 3 data: "\x11\x22" } }
    steps { gather { block_table { rows: 1 columns: 1 pages { values: 0 } }
                     workspace_starts: 0 dst_rows: 2 } }
    steps { patch { slot: 0 at: 0 data: "\x01" } }
    steps { patch { slot: 0 at: 1 data: "\x01" } }
    steps { gather { block_table { rows: 1 columns: 1 pages { values: 0 } }
                     workspace_starts: 0 dst_rows: 2 } })");
  EXPECT_EQ(Failures(), Names{});
  // Patches that the executor does not report count as applied.
  Observation unreported = seen_;
  for (int step : {1, 3, 4}) unreported.steps[step].pool.reset();
  std::swap(seen_, unreported);
  EXPECT_EQ(Failures(), Names{});
  std::swap(seen_, unreported);
  // A writer's fault is the writer's alone.
  seen_.steps[0].pool->at(0) ^= 1;
  seen_.steps[1].pool->at(0) ^= 1;
  Observation damaged = seen_;
  image_.pool.bytes.swap(*damaged.steps[1].pool);
  const Observation redone = Imagine(contract_, image_);
  image_.pool.bytes.swap(*damaged.steps[1].pool);
  seen_.steps[2].outputs = redone.steps[2].outputs;
  std::vector<Check> failed;
  for (const Check& check : Verdicts()) {
    if (IsFailure(check.verdict)) failed.push_back(check);
  }
  ASSERT_FALSE(failed.empty());
  EXPECT_EQ(failed[0].step, 0);
  EXPECT_EQ(failed[0].property, "writer-row");
  // A patch that got lost is the executor's.
  Use(R"(pool { page_size: 1 pages: 1 }
         steps { patch { slot: 0 at: 3 data: "\x11" } })");
  seen_.steps[0].pool = image_.pool.bytes;
  seen_.steps[0].pool->at(0) ^= 1;
  EXPECT_EQ(Failures(), Names{"written-set=protocol"});
}

TEST_F(JudgeTest, WhatIsNotThereIsSkipped) {
  Use(kWrite);
  seen_.steps[0] = {.status = CallStatus::kNotImplemented};
  EXPECT_EQ(With(Verdict::kSkipped), Names{"writer-row"});
  Use(kDecode);
  seen_.steps[0] = {.status = CallStatus::kNotImplemented};
  EXPECT_EQ(With(Verdict::kSkipped), Names{"decode-out"});
}

// "device memory: 1400 MiB asked for, ...": whoever skips says why.
TEST_F(JudgeTest, WhatIsSkippedForAReasonSaysIt) {
  for (const char* const text : {kWrite, kDecode}) {
    Use(text);
    seen_.steps[0] = {.status = CallStatus::kNotImplemented,
                      .message = "no room for it"};
    const std::vector<Check> checks = Verdicts();
    ASSERT_FALSE(checks.empty());
    EXPECT_EQ(checks[0].detail, "no room for it");
  }
}

TEST_F(JudgeTest, DecodeSteps) {
  Use(kDecode);
  EXPECT_EQ(Failures(), Names{});
  EXPECT_EQ(With(Verdict::kPass),
            (Names{"decode-out", "decode-lse", "written-set", "memory-safety",
                   "lanes", "refusal"}));
  const std::vector<std::string> fields =
      InformativeFields(contract_, image_, 0, image_.pool.bytes);
  EXPECT_TRUE(std::count(fields.begin(), fields.end(), "qk.scale_rule"));
  EXPECT_TRUE(std::count(fields.begin(), fields.end(), "decode.lse_base"));
  // The founding bug.
  Contract wrong = contract_;
  wrong.mutable_qk()->set_scale_rule(ReaderSide::SCALE_POW2_FLOOR);
  seen_ = Imagine(wrong, image_);
  EXPECT_TRUE(Failures().count("decode-lse"));
  const Diagnosis d = FirstDiagnosis();
  EXPECT_EQ(d.field, "qk.scale_rule");
  EXPECT_EQ(d.key, "qk.scale_rule=SCALE_POW2_FLOOR");
  for (const Check& check : Verdicts()) {
    if (check.property != "decode-lse") continue;
    const std::string text = Explain(contracts(), image_, seen_, check);
    EXPECT_TRUE(absl::StartsWith(text, "step 0 (decode), decode-lse: fail"))
        << text;
    EXPECT_TRUE(absl::StrContains(text, "lane 0: slot 3")) << text;
  }
  // What the host must refuse.
  Use("pool { page_size: 1 pages: 1 } steps { decode { queries: 1 "
      "indices { rows: 1 width: 1 } softmax_scale_bits: 0x3f800000 } }");
  EXPECT_EQ(seen_.steps[0].status, CallStatus::kRefused);
  EXPECT_EQ(Failures(), Names{});
}

TEST_F(JudgeTest, MalformedObservations) {
  Use(kWrite);
  seen_.steps[0].pool->pop_back();
  EXPECT_EQ(Failures(), Names{"memory-safety=protocol"});
  EXPECT_EQ(FirstDiagnosis().key, "protocol");
  seen_.steps.clear();
  EXPECT_EQ(Failures(), Names{"memory-safety=protocol"});
  EXPECT_EQ(FirstDiagnosis().key, "protocol");
  Use(kGather);
  Output(TensorId::kDst).pop_back();
  EXPECT_EQ(Failures(), Names{"memory-safety=protocol"});
}

TEST_F(JudgeTest, TheStaleTailInWords) {
  Use(kNopeWrite);
  Contract stale = contract_;
  stale.mutable_writer()->set_tail(WriterContract::TAIL_UNCHANGED);
  seen_ = Imagine(stale, image_);
  EXPECT_EQ(Failures(), Names{"nope-tail"});
  const Diagnosis d = FirstDiagnosis();
  EXPECT_EQ(d.field, "writer.tail");
  EXPECT_EQ(d.key, "writer.tail=TAIL_UNCHANGED");
  EXPECT_EQ(d.cause,
            "writer.tail: the contract says TAIL_ZERO, the kernel behaves as "
            "TAIL_UNCHANGED: bytes 528..655 of slot 2 keep 0xa5");
}

TEST_F(JudgeTest, ExplanationsHaveTheNumbers) {
  Use(kWrite);
  PoolByte(5, 130) ^= 1;
  Check failed;
  for (const Check& check : Verdicts()) {
    if (check.verdict == Verdict::kFail) failed = check;
  }
  const std::string text = Explain(contracts(), image_, seen_, failed);
  for (const char* part :
       {"slot 5 byte 130 (code)", "page 1, row 1", "token 0", "tile 1: amax",
        "input kv_c[0, 130]: bf16 0x", "writer.code_rounding: NEAREST_EVEN",
        "cache_kernels.cu", "wrong: 1 of 2 rows, 1 codes"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
  Use(kGather);
  Output(TensorId::kDst)[2 * (584 * 4 + 200)] ^= 1;
  for (const Check& check : Verdicts()) {
    if (check.verdict == Verdict::kFail) failed = check;
  }
  const std::string gather = Explain(contracts(), image_, seen_, failed);
  for (const char* part :
       {"dst row 4 column 200", "request 0, token 3", "slot 7: page 1, row 3",
        "tile 1 scale 0x", "gather.scale: SCALE_RAW"}) {
    EXPECT_TRUE(absl::StrContains(gather, part)) << part << "\n" << gather;
  }
}

// With an expanded table, a row stride taken from the shape leads out of the
// table: that rule would explain any values at all. It is named only where it
// predicts some of what came back, or where its read was seen.
TEST_F(JudgeTest, ARuleThatReadsForeignMemoryDoesNotExplainEverything) {
  Use("pool { page_size: 2 pages: 3 fill { kind: ROWS seed: 3 } } steps { "
      "gather { block_table { rows: 3 columns: 2 expanded: true pages { "
      "values: [1, 2] } } workspace_starts: [0, 0, 4] seq_lens: [0, 4, 2] "
      "dst_rows: 6 } }");
  std::vector<std::uint8_t>& dst = seen_.steps[0].outputs[0];
  for (int row = 0; row < 6; ++row) {  // one tile with another scale
    for (int i = 0; i < 128; ++i) dst[1152 * row + 2 * i] ^= 0x55;
  }
  EXPECT_EQ(FirstDiagnosis().key, "values-only");
  seen_.steps[0].reports.push_back("AddressSanitizer: READ of size 4");
  const Diagnosis why = FirstDiagnosis();
  EXPECT_EQ(why.key, "gather.table_row=TABLE_ROW_SHAPE");
  EXPECT_FALSE(why.exact);
}

// A gather that writes the rows up to a start past the end of dst.
bool Has(const Diagnosis& d, const std::string& key) {
  return std::find(d.also.begin(), d.also.end(), key) != d.also.end();
}

// A row that hit an input of the same call may be what spoils another.
TEST_F(JudgeTest, WhatFollowsFromRowsInForeignMemoryIsPossible) {
  Use(kWrite);
  PoolByte(2, 7) ^= 1;
  EXPECT_EQ(FirstDiagnosis().key, "codes-only");
  EXPECT_TRUE(FirstDiagnosis().also.empty());
  seen_.steps[0].strays.push_back(
      {.tensor = TensorId::kKvC, .first = 0, .last = 7, .count = 8});
  EXPECT_EQ(FirstDiagnosis().key, "codes-only");
  EXPECT_TRUE(IsPossible("writer.slots=NONE_SKIPPED"));
}

// Wrong codes over a row that held just these change nothing.
TEST_F(JudgeTest, ARowThatKeepsWrongCodesMayHaveBeenWritten) {
  Use(kWrite);
  PoolByte(2, 7) ^= 1;
  const auto row = seen_.steps[0].pool->begin() + image_.pool.RowAt(2);
  std::copy_n(row, 656, image_.pool.bytes.begin() + image_.pool.RowAt(2));
  EXPECT_EQ(FirstDiagnosis().key, "rows-missing");
  EXPECT_TRUE(Has(FirstDiagnosis(), "codes-only"));
}

TEST_F(JudgeTest, ACrashIsOfTheRuleThatReachesItsAddress) {
  Use(kWrite);
  case_.mutable_steps(0)->mutable_write()->mutable_slots()->set_values(1, -3);
  Use(FormatCaseText(case_));
  seen_.steps[0].status = CallStatus::kCrash;
  seen_.steps[0].fault =
      MemoryFault{.from_pool = image_.pool.offset - 3 * image_.pool.row_stride};
  const Diagnosis d = FirstDiagnosis();
  for (const char* rule : {"MINUS_ONE_SKIPPED", "NONE_SKIPPED"}) {
    const std::string key = std::string("writer.slots=") + rule;
    EXPECT_TRUE(d.key == key || Has(d, key)) << rule;
  }
}

// What a library does before or behind the pool whatever the slots are.
TEST_F(JudgeTest, DamageThatNoRowLeavesIsNoSlotRule) {
  Use(kWrite);
  for (const Stray& stray :
       {Stray{.first = -24, .last = -1, .count = 24},
        Stray{.first = -5000, .last = -4300, .count = 700},
        Stray{.first = static_cast<std::int64_t>(image_.pool.bytes.size()),
              .last = static_cast<std::int64_t>(image_.pool.bytes.size()) + 655,
              .count = 656}}) {
    seen_.steps[0].strays = {stray};
    EXPECT_EQ(FirstDiagnosis().key, "writes-outside") << stray.first;
    EXPECT_TRUE(IsPossible("writer.slots=NONE_SKIPPED"));
  }
  seen_.steps[0].strays.clear();
  for (std::int64_t i = 0; i < 24; ++i) {
    seen_.steps[0].pool->at(image_.pool.offset - 24 + i) ^= 0x55;
  }
  EXPECT_EQ(FirstDiagnosis().key, "foreign-bytes");
}

// A wrong tail does not explain what lies behind the pool.
TEST_F(JudgeTest, EachCheckHasItsOwnCause) {
  Use(kNopeWrite);
  for (const int slot : {5, 2}) {
    const std::int64_t tail = image_.pool.RowAt(slot) + 528;
    std::copy_n(image_.pool.bytes.begin() + tail, 128,
                seen_.steps[0].pool->begin() + tail);
  }
  seen_.steps[0].strays.push_back(
      {.first = static_cast<std::int64_t>(image_.pool.bytes.size()),
       .last = static_cast<std::int64_t>(image_.pool.bytes.size()) + 23,
       .count = 24});
  for (const Check& check : Verdicts()) {
    if (check.verdict != Verdict::kFail) continue;
    const Diagnosis d = Diagnose(contracts(), image_, seen_, check);
    EXPECT_EQ(d.field, check.property == property::kMemory ? "" : "writer.tail")
        << check.property << ": " << d.cause;
  }
}

TEST_F(JudgeTest, StartsPastTheEndAreARule) {
  Use("pool { page_size: 2 pages: 3 fill { kind: ROWS seed: 3 } } steps { "
      "gather { block_table { rows: 2 columns: 3 pages { values: [1, 2, 0, 1, "
      "2, 0] } } workspace_starts: [0, 6] dst_rows: 4 } }");
  EXPECT_TRUE(Failures().empty());
  seen_.steps[0].strays.push_back(
      {.tensor = TensorId::kDst, .first = 4608, .last = 6911, .count = 2304});
  EXPECT_EQ(FirstDiagnosis().key, "gather.starts_past_end=STARTS_UNCHECKED");
  seen_.steps[0].strays[0].tensor = TensorId::kBlockTable;
  EXPECT_EQ(FirstDiagnosis().key, "writes-outside");
}

// A step that is right rules out the rules that would have shown in it, and no
// other.
TEST_F(JudgeTest, APassRulesOutWhatWouldHaveShown) {
  Use(kNopeWrite);
  ASSERT_TRUE(Failures().empty());
  const auto rules_out = [&](absl::string_view key) {
    return RulesOut(contracts(), image_, seen_, 0, key);
  };
  EXPECT_TRUE(rules_out("writer.tail=TAIL_UNCHANGED"));
  EXPECT_TRUE(rules_out("writer.scale_division=TIMES_RECIPROCAL"));
  EXPECT_FALSE(rules_out("writer.slots=MINUS_ONE_SKIPPED"));  // no such slot
  EXPECT_TRUE(rules_out("nothing-written"));
  EXPECT_TRUE(rules_out("refused-valid"));
  EXPECT_FALSE(rules_out("codes-only"));
  EXPECT_FALSE(rules_out("writer.tail=NO_SUCH_VALUE"));
  EXPECT_TRUE(CanBeRuledOut("writer.slots=MINUS_ONE_SKIPPED"));
  EXPECT_FALSE(CanBeRuledOut("codes-only"));
}

// Slot -1 lies before the pool, where nothing changed.
TEST_F(JudgeTest, APassRulesOutRowsThatWouldLieOutside) {
  Use(kWrite);
  ASSERT_TRUE(Failures().empty());
  constexpr char kNone[] = "writer.slots=NONE_SKIPPED";
  EXPECT_TRUE(RulesOut(contracts(), image_, seen_, 0, kNone));
  EXPECT_FALSE(RulesOut(contracts(), image_, seen_, 0,
                        "writer.slots=MINUS_ONE_SKIPPED"));
  seen_.steps[0].strays.push_back({});
  EXPECT_FALSE(RulesOut(contracts(), image_, seen_, 0, kNone));
}

TEST_F(JudgeTest, WhatACallDidIsNotRuledOut) {
  Use(kDecode);
  const auto rules_out = [&](absl::string_view key) {
    return RulesOut(contracts(), image_, seen_, 0, key);
  };
  constexpr char kBoth[] =
      "qk.scale_rule=SCALE_POW2_FLOOR+v.scale_rule=SCALE_POW2_FLOOR";
  EXPECT_TRUE(rules_out(kBoth));
  EXPECT_TRUE(rules_out("nothing-written"));
  // One block, one split: neither could have shown.
  EXPECT_FALSE(rules_out("missing-rescale"));
  EXPECT_FALSE(rules_out("split-partial-dropped"));
  EXPECT_TRUE(CanBeRuledOut("missing-rescale"));
  Contract other = contract_;
  other.mutable_qk()->set_scale_rule(ReaderSide::SCALE_POW2_FLOOR);
  other.mutable_v()->set_scale_rule(ReaderSide::SCALE_POW2_FLOOR);
  seen_ = Imagine(other, image_);
  EXPECT_FALSE(rules_out(kBoth));
  EXPECT_TRUE(rules_out("v.scale_rule=SCALE_POW2_FLOOR"));
  for (StepObservation& step : seen_.steps) {
    step.pool.reset();
    step.outputs.clear();
    step.outputs.resize(image_.steps[0].tensors.size());
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (!image_.steps[0].tensors[i].output) continue;
      step.outputs[i] = image_.steps[0].tensors[i].bytes;
    }
  }
  EXPECT_FALSE(rules_out("nothing-written"));
  seen_.steps[0].status = CallStatus::kRefused;
  EXPECT_FALSE(rules_out("refused-valid"));
}

}  // namespace
}  // namespace mlafuzz
