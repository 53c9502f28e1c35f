#include "properties/infer/infer.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "corpus/contracts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;

void Print(const InferredKernel& kernel) {
  std::printf("%s: %u probes, %u as declared, %u now; %s\n",
              kernel.kernel().c_str(), kernel.probes(),
              kernel.explained_as_declared(), kernel.explained(),
              kernel.unexplained().c_str());
  const auto print = [](const InferredField& f) {
    std::string equal;
    for (const std::string& e : f.equal()) equal += " " + e;
    std::printf("  %-24s %-12s %-24s %u of %u; next %s %u;%s %s\n",
                f.field().c_str(), InferredField::State_Name(f.state()).c_str(),
                f.inferred().c_str(), f.explained(), f.probes(),
                f.next_value().c_str(), f.next_best(), equal.c_str(),
                f.note().c_str());
  };
  for (const InferredField& f : kernel.fields()) print(f);
  for (const InferredField& f : kernel.arithmetic()) print(f);
  for (const InferredCheck& c : kernel.host_checks()) {
    std::printf("  %-28s %-12s %u of %u %s\n", c.check().c_str(),
                InferredCheck::State_Name(c.state()).c_str(), c.refused(),
                c.tried(), c.note().c_str());
  }
}

InferredKernel InferAs(const std::string& target, Kernel kernel,
                       const Contract& declared, bool brief = false) {
  const auto targets = MakeTargetSet(target);
  EXPECT_TRUE(targets.ok()) << targets.status();
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  const InferOptions options = brief ? BriefInference() : InferOptions();
  const auto start = std::chrono::steady_clock::now();
  auto inferred = InferKernel(kernel, declared, *targets, *executor, options);
  EXPECT_TRUE(inferred.ok()) << inferred.status();
  std::printf(
      "%s, %.1f s; ", target.c_str(),
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count());
  Print(*inferred);
  return *std::move(inferred);
}

// "writer.tail=TAIL_UNCHANGED" of each field that differs.
std::vector<std::string> Differing(const InferredKernel& kernel) {
  std::vector<std::string> all;
  for (const auto* fields : {&kernel.fields(), &kernel.arithmetic()}) {
    for (const InferredField& f : *fields) {
      if (f.state() == InferredField::DIFFERS) {
        all.push_back(f.field() + "=" + f.inferred());
      }
      EXPECT_NE(f.state(), InferredField::UNEXPLAINED) << f.DebugString();
    }
  }
  return all;
}

// Of builtin nothing can tell these: three leave the matter to the caller; any
// NaN is also the promised one; no valid gather has more page tasks than fit.
const std::set<std::string>& Undecidable() {
  static const auto* const fields = new std::set<std::string>{
      "convert.requests", "gather.nan", "gather.page_tasks",
      "gather.table_columns", "writer.duplicates"};
  return *fields;
}

class Builtin : public testing::TestWithParam<Kernel> {};

TEST_P(Builtin, ConfirmsWhatCanBeDecided) {
  const InferredKernel kernel =
      InferAs("builtin", GetParam(), BuiltinContract());
  EXPECT_THAT(Differing(kernel), IsEmpty());
  EXPECT_EQ(kernel.unexplained(), "");
  // Without a query, say, there is nothing to foretell.
  EXPECT_EQ(kernel.explained() + kernel.not_judged(), kernel.probes());
  EXPECT_LE(kernel.not_judged(), kernel.probes() / 20);
  for (const InferredField& f : kernel.fields()) {
    EXPECT_EQ(f.state(), Undecidable().count(f.field()) != 0
                             ? InferredField::UNDECIDED
                             : InferredField::CONFIRMED)
        << f.DebugString();
  }
  for (const InferredCheck& c : kernel.host_checks()) {
    EXPECT_EQ(c.state(), c.check() == "CONVERT_CHECK_WIDTH"
                             ? InferredCheck::NOT_CHECKED
                             : InferredCheck::CONFIRMED)
        << c.DebugString();
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Builtin, testing::ValuesIn(kAllKernels),
                         [](const auto& info) {
                           return std::string(KernelName(info.param));
                         });

struct Wrong {
  const char* target;
  Kernel kernel;
  std::vector<std::string> changes;
};

class NamesTheField : public testing::TestWithParam<Wrong> {};

TEST_P(NamesTheField, InFull) {
  const InferredKernel kernel =
      InferAs(GetParam().target, GetParam().kernel, BuiltinContract());
  EXPECT_THAT(Differing(kernel), ElementsAreArray(GetParam().changes));
  EXPECT_EQ(kernel.unexplained(), "");
}

TEST_P(NamesTheField, InBrief) {
  const InferredKernel kernel =
      InferAs(GetParam().target, GetParam().kernel, BuiltinContract(), true);
  EXPECT_THAT(Differing(kernel), ElementsAreArray(GetParam().changes));
}

INSTANTIATE_TEST_SUITE_P(
    Targets, NamesTheField,
    testing::Values(Wrong{"mutant:qk-pow2-scale",
                          Kernel::kDecode,
                          {"qk.scale_rule=SCALE_POW2_FLOOR"}},
                    Wrong{"mutant:v-pow2-scale",
                          Kernel::kDecode,
                          {"v.scale_rule=SCALE_POW2_FLOOR"}},
                    Wrong{"mutant:nope-stale-tail",
                          Kernel::kWriter,
                          {"writer.tail=TAIL_UNCHANGED"}},
                    Wrong{"mutant:gather-stale-tail",
                          Kernel::kGather,
                          {"gather.nope_tail=NOPE_TAIL_VERBATIM"}},
                    Wrong{"mutant:table-row-from-shape",
                          Kernel::kGather,
                          {"gather.table_row=TABLE_ROW_SHAPE"}},
                    Wrong{"mutant:lse-wrong-base",
                          Kernel::kDecode,
                          {"decode.lse_base=BASE_E"}},
                    Wrong{"mutant:sink-dropped",
                          Kernel::kDecode,
                          {"decode.sink=SINK_DROPPED"}},
                    Wrong{"mutant:fp16-bit-amax",
                          Kernel::kWriter,
                          {"writer.fp16_amax=FP16_RAW_BITS"}},
                    Wrong{"builtin:pow2",
                          Kernel::kWriter,
                          {"writer.scale=POW2_CEIL",
                           "writer.floor_bits=0x38d1b717"}},
                    Wrong{"mutant:both-pow2-scale",
                          Kernel::kDecode,
                          {"qk.scale_rule=SCALE_POW2_FLOOR",
                           "v.scale_rule=SCALE_POW2_FLOOR"}},
                    Wrong{"mutant:writer-negative-slot",
                          Kernel::kWriter,
                          {"writer.slots=MINUS_ONE_SKIPPED"}},
                    Wrong{"mutant:gather-drops-pages",
                          Kernel::kGather,
                          {"gather.page_tasks=ROWS_ONLY"}},
                    Wrong{"mutant:leading-block-nan",
                          Kernel::kDecode,
                          {"decode.leading_block=LEADING_BLOCK_NAN"}}),
    [](const auto& info) {
      std::string name = info.param.target;
      for (char& c : name) {
        if (c == ':' || c == '-') c = '_';
      }
      return name;
    });

// What no contract describes is not pressed into one.
TEST(Infer, AFaultWithoutAFieldIsUnexplained) {
  for (const auto& [target, kernel] :
       {std::pair("mutant:does-nothing", Kernel::kWriter),
        std::pair("mutant:does-nothing", Kernel::kDecode),
        std::pair("mutant:split-partial-dropped", Kernel::kDecode),
        std::pair("mutant:payload-fallthrough", Kernel::kWriter)}) {
    const InferredKernel found = InferAs(target, kernel, BuiltinContract());
    EXPECT_NE(found.unexplained(), "") << target;
    for (const auto* fields : {&found.fields(), &found.arithmetic()}) {
      for (const InferredField& f : *fields) {
        EXPECT_NE(f.state(), InferredField::DIFFERS) << f.DebugString();
      }
    }
    InferResult result;
    *result.add_kernels() = found;
    EXPECT_TRUE(Contradicted(result)) << target;
  }
}

TEST(Infer, AMisuseThatIsTakenIsTold) {
  const InferredKernel found =
      InferAs("mutant:does-nothing", Kernel::kConvert, BuiltinContract());
  ASSERT_EQ(found.host_checks_size(), 2);
  EXPECT_EQ(found.host_checks(1).check(), "CONVERT_CHECK_TOKENS");
  EXPECT_EQ(found.host_checks(1).state(), InferredCheck::NOT_REFUSED);
}

TEST(Infer, UnknownArithmeticIsFound) {
  Contract declared = BuiltinContract();
  declared.clear_arithmetic();
  const InferredKernel found = InferAs("builtin", Kernel::kDecode, declared);
  EXPECT_THAT(Differing(found), IsEmpty());
  EXPECT_EQ(found.unexplained(), "");
  const Arithmetic& arithmetic = found.contract().arithmetic();
  EXPECT_EQ(arithmetic.dequantised(), Arithmetic::DEQUANTISED_BF16);
  EXPECT_EQ(arithmetic.query(), Arithmetic::QUERY_BF16);
  EXPECT_EQ(arithmetic.weights(), Arithmetic::WEIGHTS_BF16);
  EXPECT_EQ(arithmetic.block(), 64u);
}

TEST(Infer, AWrongArithmeticIsNamed) {
  Contract declared = BuiltinContract();
  declared.mutable_arithmetic()->set_dequantised(Arithmetic::DEQUANTISED_FP32);
  const InferredKernel found = InferAs("builtin", Kernel::kDecode, declared);
  EXPECT_THAT(Differing(found),
              ElementsAreArray({"arithmetic.dequantised=DEQUANTISED_BF16"}));
}

// What a kernel leaves to its caller is not sent.
TEST(Infer, LessIsPromisedLessIsSent) {
  Contract declared = BuiltinContract();
  declared.mutable_writer()->set_slots(WriterContract::MINUS_ONE_SKIPPED);
  const InferredKernel found =
      InferAs("mutant:writer-negative-slot", Kernel::kWriter, declared);
  EXPECT_THAT(Differing(found), IsEmpty());
  EXPECT_EQ(found.unexplained(), "");
}

// Builtin's kernels, wrong in some calls of the process for reasons of no rule.
class NowAndThen : public Target {
 public:
  // Wrong is each call whose number `every` divides; if `once` the first alone.
  NowAndThen(int every, bool once) : every_(every), once_(once) {}

  const std::string& name() const override { return name_; }
  const Contract& contract() const override { return contract_; }
  const Arithmetic& arithmetic() const override {
    return contract_.arithmetic();
  }
  bool Implements(Kernel) const override { return true; }
  CallResult Write(const WriteArgs& args, const LaunchContext& c) override {
    const CallResult result = builtin_.For(Kernel::kWriter)->Write(args, c);
    if (!IsWrong()) return result;
    // The first row of the pool, whoever's it is.
    static_cast<std::uint8_t*>(args.cache->data)[515] ^= 0x40;
    return result;
  }
  CallResult Gather(const GatherArgs& args, const LaunchContext& c) override {
    const CallResult result = builtin_.For(Kernel::kGather)->Gather(args, c);
    if (!IsWrong()) return result;
    // Behind the last row.
    const DLTensor& dst = *args.dst;
    std::uint16_t* const end =
        static_cast<std::uint16_t*>(dst.data) +
        (dst.shape[0] == 0
             ? 0
             : (dst.shape[0] - 1) * dst.strides[0] + dst.shape[1]);
    for (int i = 0; i < 12; ++i) end[i] ^= 0x5555;
    return result;
  }

 private:
  bool IsWrong() {
    ++calls_;
    return calls_ % every_ == 0 && (!once_ || calls_ == every_);
  }

  const std::string name_ = "now-and-then";
  const Contract contract_ = BuiltinContract();
  const TargetSet builtin_ = *MakeTargetSet("builtin");
  const int every_;
  const bool once_;
  int calls_ = 0;
};

// What comes now and then is no weaker promise, even where one would excuse it.
TEST(Infer, AFaultNowAndThenIsNoRule) {
  struct Fault {
    int every;
    bool once;
  };
  for (const Fault fault : {Fault{1, false}, Fault{6, false}, Fault{3, true},
                            Fault{17, true}, Fault{40, true}}) {
    for (const Kernel kernel : {Kernel::kWriter, Kernel::kGather}) {
      for (const bool brief : {true, false}) {
        TargetSet targets;
        targets.targets.fill(
            std::make_shared<NowAndThen>(fault.every, fault.once));
        const std::unique_ptr<Executor> executor = MakeHostExecutor();
        const auto inferred =
            InferKernel(kernel, BuiltinContract(), targets, *executor,
                        brief ? BriefInference() : InferOptions());
        ASSERT_TRUE(inferred.ok()) << inferred.status();
        for (const InferredField& f : inferred->fields()) {
          EXPECT_NE(f.state(), InferredField::DIFFERS)
              << fault.every << " " << fault.once << " " << brief << " "
              << f.DebugString();
        }
        EXPECT_NE(inferred->unexplained(), "") << fault.every;
      }
    }
  }
}

// The probes are of bf16 rows in fp8_ds_mla.
TEST(Infer, WhatItCannotAskIsAnError) {
  struct Target {
    const char* name;
    Kernel kernel;
    const char* declares;
  };
  for (const Target& t :
       {Target{"builtin:byte-gather", Kernel::kGather, "ROWS_BYTES"},
        Target{"builtin:one-scale-gather", Kernel::kGather, "ROWS_ONE_SCALE"},
        Target{"builtin:dsv4", Kernel::kWriter, "DSV4_FOOTER_584"}}) {
    const auto targets = MakeTargetSet(t.name);
    ASSERT_TRUE(targets.ok()) << targets.status();
    const std::unique_ptr<Executor> executor = MakeHostExecutor();
    const auto alone = InferKernel(t.kernel, targets->For(t.kernel)->contract(),
                                   *targets, *executor, InferOptions());
    const auto all = Infer(*targets, {Kernel::kWriter, Kernel::kGather},
                           *executor, InferOptions());
    for (const absl::Status& s : {alone.status(), all.status()}) {
      EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument) << t.name;
      EXPECT_NE(s.message().find(t.declares), std::string::npos) << s;
    }
    EXPECT_EQ(executor->executions()[0] + executor->executions()[1], 0);
    // A look before a campaign passes it by.
    const auto brief = Infer(*targets, {t.kernel}, *executor, BriefInference());
    ASSERT_TRUE(brief.ok()) << brief.status();
    EXPECT_EQ(brief->kernels_size(), 0);
  }
}

// Contracts differ in the rules that they have; whatever they are, the answer
// is a status.
TEST(Infer, EveryRightKernelIsAskedOrRefused) {
  int asked = 0, refused = 0;
  for (const TargetInfo& info : AllTargets()) {
    if (info.name.rfind("mutant:", 0) == 0) continue;
    const auto targets = MakeTargetSet(info.name);
    ASSERT_TRUE(targets.ok()) << targets.status();
    const std::unique_ptr<Executor> executor = MakeHostExecutor();
    InferOptions options = BriefInference();
    options.probes_per_field = 1;
    options.other_probes = 4;
    for (const Kernel kernel : info.replaces) {
      const auto inferred =
          InferKernel(kernel, targets->For(kernel)->contract(), *targets,
                      *executor, options);
      if (inferred.ok()) {
        ++asked;
        EXPECT_THAT(Differing(*inferred), IsEmpty()) << info.name;
      } else {
        ++refused;
        EXPECT_EQ(inferred.status().code(), absl::StatusCode::kInvalidArgument)
            << info.name << inferred.status();
      }
    }
  }
  EXPECT_GT(asked, 10);
  EXPECT_GT(refused, 5);
}

TEST(Infer, TheDescriptionSaysWhatWasFound) {
  const auto targets = MakeTargetSet("builtin:pow2");
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  const auto result =
      Infer(*targets, {Kernel::kWriter}, *executor, BriefInference());
  ASSERT_TRUE(result.ok());
  const auto parsed = ParseContractText(result->description().substr(
      result->description().find('{') + 1,
      result->description().rfind('}') - result->description().find('{') - 1));
  ASSERT_TRUE(parsed.ok()) << parsed.status() << result->description();
  EXPECT_EQ(
      parsed->writer().SerializeAsString(),
      targets->For(Kernel::kWriter)->contract().writer().SerializeAsString());
}

}  // namespace
}  // namespace mlafuzz
