#include "properties/fused/fused_checker.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "fuzz/mutator/siblings.h"
#include "gtest/gtest.h"
#include "kernels/target_set.h"
#include "oracle/validity.h"
#include "properties/checker.h"
#include "properties/generate.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

TargetSet SetOf(const std::string& name) {
  auto set = MakeTargetSet(name);
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

// Builtin's kernels with a fault in the writer.
class Wrapped : public Target {
 public:
  // What the writer does, given the right one.
  using Body = std::function<CallResult(
      const WriteArgs&, const std::function<CallResult(const WriteArgs&)>&)>;
  explicit Wrapped(Body body)
      : right_(SetOf("builtin").For(Kernel::kWriter)->name()),
        set_(SetOf("builtin")),
        body_(std::move(body)) {}
  const std::string& name() const override { return right_; }
  const Contract& contract() const override { return Right()->contract(); }
  const Arithmetic& arithmetic() const override {
    return Right()->arithmetic();
  }
  bool Implements(Kernel kernel) const override {
    return kernel == Kernel::kWriter;
  }
  CallResult Write(const WriteArgs& args,
                   const LaunchContext& context) override {
    return body_(
        args, [&](const WriteArgs& a) { return Right()->Write(a, context); });
  }

 private:
  Target* Right() const { return set_.For(Kernel::kWriter); }
  std::string right_;
  TargetSet set_;
  Body body_;
};

TargetSet SetOf(Wrapped::Body body) {
  TargetSet set = SetOf("builtin");
  set.targets[static_cast<std::size_t>(Kernel::kWriter)] =
      std::make_shared<Wrapped>(std::move(body));
  return set;
}

std::int64_t Tokens(const WriteArgs& args) {
  return args.slot_mapping->shape[0];
}

// Cases and their siblings, for as long as their images are needed.
class Cases {
 public:
  void Add(Case c) { cases_.push_back(std::move(c)); }
  void Generate(const Contracts& contracts, const GeneratorOptions& options,
                std::uint64_t seed, int templates, std::size_t siblings) {
    for (int i = 0; i < templates; ++i) {
      Choices choices(seed + static_cast<std::uint64_t>(i));
      Case c = GenerateCase(choices, options);
      for (Sibling& s :
           MakeSiblings(contracts, c, siblings, choices, options)) {
        Add(std::move(*s.c));
      }
      Add(std::move(c));
    }
  }
  std::vector<CaseImage> Images() const {
    std::vector<CaseImage> images;
    for (const Case& c : cases_) {
      auto image = BuildImage(c);
      EXPECT_TRUE(image.ok()) << image.status();
      images.push_back(*std::move(image));
    }
    return images;
  }
  std::size_t size() const { return cases_.size(); }

 private:
  std::deque<Case> cases_;
};

// One token each, in a pool of its own.
Case OneToken(std::uint64_t seed) {
  Case c;
  c.mutable_pool()->set_page_size(4);
  c.mutable_pool()->set_pages(2);
  Write& write = *c.add_steps()->mutable_write();
  write.mutable_slots()->add_values(static_cast<std::int64_t>(seed % 8));
  write.set_pe_dim(64);
  write.mutable_kv_c()->set_pattern(Values::NORMAL_RANGE);
  write.mutable_kv_c()->set_seed(seed);
  write.mutable_k_pe()->set_pattern(Values::NORMAL_RANGE);
  write.mutable_k_pe()->set_seed(seed);
  return c;
}

struct Checked {
  explicit Checked(TargetSet set, FusedOptions options = {})
      : targets(std::move(set)),
        checker(targets, *executor),
        fused(checker, targets, *executor, std::move(options)) {}

  std::vector<FusedResult>& Check(std::vector<CaseImage> images) {
    const FusedCounts before = fused.counts();
    const absl::Status status = fused.Check(std::move(images), &results);
    EXPECT_TRUE(status.ok()) << status;
    ExpectAddsUp(before, fused.counts());
    return results;
  }

  // Each case that was judged stands in one of two numbers; the others are
  // parts of them.
  void ExpectAddsUp(const FusedCounts& before, const FusedCounts& after) {
    const auto judged = static_cast<std::uint64_t>(
        std::count_if(results.begin(), results.end(),
                      [](const FusedResult& r) { return !r.postponed; }));
    const auto rerun = static_cast<std::uint64_t>(std::count_if(
        results.begin(), results.end(),
        [](const FusedResult& r) { return !r.postponed && r.judged_twice; }));
    const std::uint64_t fused_cases = after.fused - before.fused;
    EXPECT_EQ(fused_cases + after.alone - before.alone, judged);
    EXPECT_EQ(after.rerun - before.rerun, rerun);
    EXPECT_LE(after.rerun - before.rerun, fused_cases);
    EXPECT_LE(after.lent - before.lent, fused_cases);
    EXPECT_LE(after.calls - before.calls, fused_cases);
    EXPECT_EQ(after.calls == before.calls, fused_cases == 0);
  }

  TargetSet targets;
  std::unique_ptr<Executor> executor = MakeHostExecutor();
  CaseChecker checker;
  FusedChecker fused;
  std::vector<FusedResult> results;
};

std::string Failures(const CaseResult& result) {
  std::string text;
  for (const Check& check : result.checks) {
    if (!IsFailure(check.verdict)) continue;
    text += std::string(KernelName(check.kernel)) + " " + check.property +
            ": " + check.detail + "\n";
  }
  return text;
}

bool SameBytes(const Observation& a, const Observation& b) {
  if (a.steps.size() != b.steps.size()) return false;
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    if (a.steps[i].status != b.steps[i].status ||
        a.steps[i].pool != b.steps[i].pool ||
        a.steps[i].outputs != b.steps[i].outputs) {
      return false;
    }
  }
  return true;
}

// Right kernels do among others what they do alone, bit for bit, on every
// layout, and nobody is blamed.
TEST(FusedChecker, IsWhatEachCaseDoesAlone) {
  FusedOptions options;
  options.alone_one_in = std::uint64_t{1} << 40;  // nobody
  FusedCounts sum;
  std::map<Kernel, int> fused_of;
  for (const char* name :
       {"builtin", "builtin:pow2", "builtin:nope-row", "builtin:dsv4",
        "builtin:dsv4_1", "builtin:indexer"}) {
    Checked run(SetOf(name), options);
    GeneratorOptions generator;
    const Contract& contract = run.targets.For(Kernel::kWriter)->contract();
    if (contract.layout() != LAYOUT_UNSPECIFIED) {
      generator.layout = contract.layout();
    }
    Cases cases;
    cases.Generate(run.checker.contracts(), generator, 1, 250, 7);
    if (generator.layout != INDEXER_132) {
      GeneratorOptions decodes = {
          .writer = false, .gather = false, .convert = false, .decode = true};
      decodes.layout = generator.layout;
      cases.Generate(run.checker.contracts(), decodes, 1, 40, 5);
    }
    const std::vector<CaseImage> images = cases.Images();
    run.Check(images);
    for (std::size_t i = 0; i < images.size(); ++i) {
      const FusedResult& result = run.results[i];
      ASSERT_EQ(Failures(result.result), "") << name;
      if (result.together == 1) continue;
      ++fused_of[images[i].steps[0].kernel];
      std::vector<Observation> alone;
      ASSERT_TRUE(run.executor->Run(run.targets, {&images[i], 1}, &alone).ok());
      ASSERT_TRUE(SameBytes(result.result.observation, alone[0]))
          << name << "\n"
          << FormatCaseText(*images[i].source);
      for (const StepImage& step : images[i].steps) {
        const auto validity = Classify(
            *run.checker.contracts()[static_cast<std::size_t>(step.kernel)],
            images[i], static_cast<int>(&step - images[i].steps.data()));
        ASSERT_EQ(validity.validity, Validity::kValid);
      }
    }
    const FusedCounts& counts = run.fused.counts();
    sum.fused += counts.fused;
    sum.calls += counts.calls;
    sum.alone += counts.alone;
    EXPECT_EQ(counts.untold, 0u);
    EXPECT_EQ(counts.only_fused + counts.only_alone, 0u);
  }
  RecordProperty("fused", static_cast<int>(sum.fused));
  RecordProperty("calls", static_cast<int>(sum.calls));
  RecordProperty("alone", static_cast<int>(sum.alone));
  // Most cases find company, of each kernel.
  EXPECT_GT(sum.fused, sum.alone);
  EXPECT_GT(sum.fused, 3 * sum.calls);
  EXPECT_EQ(fused_of.size(), kAllKernels.size());
  for (const auto& [kernel, n] : fused_of) {
    EXPECT_GT(n, 50) << KernelName(kernel);
  }
}

// At least one in twenty runs alone as well, and those at which a call passes
// 64 rows, 128, ...
TEST(FusedChecker, SomeRunAloneToo) {
  Checked run(SetOf("builtin"));
  Cases cases;
  for (std::uint64_t i = 0; i < 4096; ++i) cases.Add(OneToken(i));
  run.Check(cases.Images());
  EXPECT_EQ(run.fused.counts().calls, 1u);
  EXPECT_EQ(run.fused.counts().fused, 4096u);
  EXPECT_GT(run.fused.counts().rerun, 4096u / 20);
  EXPECT_LT(run.fused.counts().rerun, 4096u / 10);
  for (const int at : {63, 127, 255, 2047, 4095}) {
    EXPECT_TRUE(run.results[at].rerun) << at;
  }
  for (const FusedResult& result : run.results) {
    EXPECT_EQ(result.together, 4096u);
    EXPECT_EQ(Failures(result.result), "");
  }
}

// Right up to 63 tokens.
CallResult WrongInLargeBatches(
    const WriteArgs& args,
    const std::function<CallResult(const WriteArgs&)>& right) {
  const CallResult result = right(args);
  if (Tokens(args) < 64) return result;
  // The last row of the tile of 64 tokens.
  std::int64_t slot;
  std::memcpy(
      &slot, static_cast<const std::uint8_t*>(args.slot_mapping->data) + 63 * 8,
      sizeof slot);
  if (slot < 0) return result;
  const DLTensor& cache = *args.cache;
  static_cast<std::uint8_t*>(
      cache.data)[slot / cache.shape[1] * cache.strides[0] +
                  slot % cache.shape[1] * cache.strides[1]] ^= 0x40;
  return result;
}

TEST(FusedChecker, BatchTwinIsABatchFinding) {
  Checked run(SetOf(WrongInLargeBatches));
  Cases cases;
  for (std::uint64_t i = 0; i < 200; ++i) cases.Add(OneToken(i));
  run.Check(cases.Images());
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    const CaseResult& result = run.results[i].result;
    if (i != 63) {
      EXPECT_EQ(Failures(result), "") << i;
      continue;
    }
    const auto failed =
        std::find_if(result.checks.begin(), result.checks.end(),
                     [](const auto& c) { return IsFailure(c.verdict); });
    ASSERT_NE(failed, result.checks.end());
    EXPECT_EQ(failed->property, "fused");
    EXPECT_TRUE(IsRelation(failed->property));
    EXPECT_NE(failed->detail.find("among 199 others in one call: writer-row"),
              std::string::npos)
        << failed->detail;
    EXPECT_NE(failed->detail.find("100 copies in one call: number 64"),
              std::string::npos)
        << failed->detail;
    EXPECT_EQ(CauseKey(*failed, run.checker.Why(result, *failed)),
              "writer/fused");
  }
  EXPECT_EQ(run.fused.counts().only_fused, 1u);
  // A replay of the case shows it, a campaign that fuses nothing does not.
  const Case c = OneToken(63);
  CaseResult replayed;
  ASSERT_TRUE(
      run.checker.CheckCase(c, {.all_relations = true}, &replayed).ok());
  EXPECT_NE(Failures(replayed).find("writer fused: 100 copies"),
            std::string::npos)
      << Failures(replayed);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ASSERT_TRUE(run.checker
                    .CheckCase(c,
                               {.relations_per_case = 1, .relation_seed = seed},
                               &replayed)
                    .ok());
    EXPECT_EQ(Failures(replayed), "");
  }
}

// Who is wrong alone has that verdict, and whom it harms none.
TEST(FusedChecker, WhoIsWrongAloneIsToBlameForOthers) {
  // Padding goes to the pool's first row: among others, somebody else's.
  Checked run(SetOf([](const WriteArgs& args, const auto& right) {
    const CallResult result = right(args);
    for (std::int64_t i = 0; i < Tokens(args); ++i) {
      std::int64_t slot;
      std::memcpy(&slot,
                  static_cast<std::uint8_t*>(args.slot_mapping->data) + 8 * i,
                  sizeof slot);
      if (slot < 0) *static_cast<std::uint8_t*>(args.cache->data) ^= 1;
    }
    return result;
  }));
  Cases cases;
  for (std::uint64_t i = 0; i < 40; ++i) {
    Case c = OneToken(i);
    if (i == 17) {
      c.mutable_steps(0)->mutable_write()->mutable_slots()->add_values(-1);
    }
    cases.Add(std::move(c));
  }
  run.Check(cases.Images());
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    EXPECT_EQ(!Failures(run.results[i].result).empty(), i == 17) << i;
  }
  EXPECT_EQ(run.fused.counts().only_fused, 0u);
  EXPECT_EQ(run.fused.counts().only_alone, 1u);
  EXPECT_NE(Failures(run.results[17].result)
                .find("among 39 others in one call it was right"),
            std::string::npos);
}

// A call that ends badly for one of 4,096 cases: that case has the verdict,
// alone, and all others are judged.
TEST(FusedChecker, OneBadAccessOfFourThousand) {
  constexpr std::size_t kBad = 2718;
  Checked run(SetOf([](const WriteArgs& args, const auto& right) {
    const auto* const values =
        static_cast<const std::uint16_t*>(args.kv_c->data);
    for (std::int64_t i = 0; i < args.kv_c->shape[0]; ++i) {
      if (values[i * args.kv_c->strides[0]] == 0x7f41) {
        volatile int* nowhere = nullptr;
        *nowhere = 1;
      }
    }
    return right(args);
  }));
  Cases cases;
  for (std::size_t i = 0; i < 4096; ++i) {
    Case c = OneToken(i);
    if (i == kBad) {
      SetBits& set =
          *c.mutable_steps(0)->mutable_write()->mutable_kv_c()->add_set();
      set.set_at(0);
      set.set_bits(0x7f41);
    }
    cases.Add(std::move(c));
  }
  run.Check(cases.Images());
  EXPECT_EQ(run.fused.counts().untold, 1u);
  EXPECT_EQ(run.fused.counts().only_fused, 0u);
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    const CaseResult& result = run.results[i].result;
    ASSERT_FALSE(result.checks.empty()) << i;
    ASSERT_EQ(result.observation.steps.size(), 1u) << i;
    EXPECT_TRUE(run.results[i].rerun);
    if (i == kBad) {
      EXPECT_EQ(result.observation.steps[0].status, CallStatus::kCrash);
      EXPECT_NE(Failures(result), "");
    } else {
      ASSERT_EQ(Failures(result), "") << i;
      ASSERT_EQ(result.observation.steps[0].status, CallStatus::kOk);
    }
  }
}

// Cases that end their process are dear: after a few of them the others wait,
// and all are judged in the end.
TEST(FusedChecker, ManyDeathsArePostponed) {
  Checked run(SetOf([](const WriteArgs&, const auto&) -> CallResult {
    volatile int* nowhere = nullptr;
    *nowhere = 1;
    return CallResult::Ok();
  }));
  Cases cases;
  for (std::size_t i = 0; i < 40; ++i) cases.Add(OneToken(i));
  std::vector<CaseImage> images = cases.Images();
  std::vector<char> alone;
  std::size_t judged = 0;
  int rounds = 0;
  for (; !images.empty() && rounds < 40; ++rounds) {
    const std::size_t before = images.size();
    std::vector<FusedResult> results;
    ASSERT_TRUE(run.fused.Check(std::move(images), &results, alone).ok());
    images.clear();
    for (FusedResult& result : results) {
      if (result.postponed) {
        EXPECT_TRUE(result.result.checks.empty());
        images.push_back(std::move(result.result.image));
        continue;
      }
      ++judged;
      EXPECT_NE(Failures(result.result), "");
    }
    alone.assign(images.size(), 1);
    EXPECT_LT(images.size(), before);
    EXPECT_LE(before - images.size(), 12u);
  }
  EXPECT_EQ(judged, 40u);
  EXPECT_GT(rounds, 3);
  EXPECT_EQ(run.fused.counts().only_fused, 0u);
}

// Two configurations of eight cases each, of a writer that does nothing.
Cases TwoTimesEight() {
  Cases cases;
  for (std::uint64_t i = 0; i < 16; ++i) {
    Case c = OneToken(i);
    if (i >= 8) {
      c.mutable_pool()->set_page_size(2);
      c.mutable_pool()->set_pages(4);
    }
    cases.Add(std::move(c));
  }
  return cases;
}

struct Tally {
  explicit Tally(const std::vector<FusedResult>& results) {
    for (const FusedResult& result : results) {
      postponed += result.postponed ? 1 : 0;
      failed += !result.postponed && !Failures(result.result).empty() ? 1 : 0;
    }
  }
  int postponed = 0;
  int failed = 0;
};

// What was found when time was over is confirmed; no further call is made.
TEST(FusedChecker, TimeThatIsOverKeepsWhatWasFound) {
  bool over = false;
  int shared = 0;
  FusedOptions options;
  options.stop = [&over] { return over; };
  Checked run(SetOf([&](const WriteArgs& args, const auto&) {
                shared += Tokens(args) > 1 ? 1 : 0;
                over = true;
                return CallResult::Ok();
              }),
              options);
  const Cases cases = TwoTimesEight();
  run.Check(cases.Images());
  EXPECT_EQ(shared, 1);
  const Tally tally(run.results);
  EXPECT_EQ(tally.failed, 8);
  EXPECT_EQ(tally.postponed, 8);
}

// After a shared call that ends its process the turn's other calls wait.
TEST(FusedChecker, ACallThatEndsItsProcessEndsTheCalls) {
  int shared = 0;
  Checked run(SetOf([&](const WriteArgs& args, const auto& right) {
    if (Tokens(args) == 1) return right(args);
    shared += Tokens(args) == 8 ? 1 : 0;  // copies of one case are more
    CallResult crash = CallResult::Ok();
    crash.status = CallStatus::kCrash;
    return crash;
  }));
  const Cases cases = TwoTimesEight();
  run.Check(cases.Images());
  EXPECT_EQ(shared, 1);
  EXPECT_EQ(Tally(run.results).postponed, 8);
  EXPECT_EQ(run.fused.counts().untold, 1u);
}

// A kernel that takes no large batch is right, and each of its cases is judged.
TEST(FusedChecker, OneRefusalCountsAgainstNobody) {
  Checked run(SetOf([](const WriteArgs& args, const auto& right) {
    return Tokens(args) > 64 ? CallResult::Refused("too many") : right(args);
  }));
  Cases cases;
  for (std::uint64_t i = 0; i < 300; ++i) cases.Add(OneToken(i));
  run.Check(cases.Images());
  EXPECT_EQ(run.fused.counts().untold, 0u);
  EXPECT_EQ(run.fused.counts().only_fused, 0u);
  for (const FusedResult& result : run.results) {
    EXPECT_TRUE(result.rerun);
    EXPECT_EQ(Failures(result.result), "");
  }
}

// A call that harms bytes which are nobody's, and only among others.
TEST(FusedChecker, HarmThatIsNobodysIsAFindingToo) {
  Checked run(SetOf([](const WriteArgs& args, const auto& right) {
    const CallResult result = right(args);
    if (Tokens(args) >= 32)
      static_cast<std::uint8_t*>(args.cache->data)[-1] ^= 1;
    return result;
  }));
  Cases cases;
  for (std::uint64_t i = 0; i < 40; ++i) cases.Add(OneToken(i));
  run.Check(cases.Images());
  EXPECT_EQ(run.fused.counts().untold, 1u);
  EXPECT_EQ(run.fused.counts().only_fused, 1u);
  EXPECT_NE(Failures(run.results[0].result).find("writer fused: among 39"),
            std::string::npos)
      << Failures(run.results[0].result);
}

// The same with several threads.
TEST(FusedChecker, ThreadsSayTheSame) {
  std::vector<std::string> said[2];
  for (const int threads : {1, 4}) {
    FusedOptions options;
    options.threads = threads;
    Checked run(SetOf("mutant:scale-reciprocal"), options);
    Cases cases;
    cases.Generate(run.checker.contracts(), {.gather = false, .convert = false},
                   7, 60, 7);
    run.Check(cases.Images());
    for (const FusedResult& result : run.results) {
      said[threads == 1 ? 0 : 1].push_back(Failures(result.result));
    }
  }
  EXPECT_EQ(said[0], said[1]);
}

// What a contract alone forbids is said of no case in particular.
TEST(WhyNoneShares, ADecodeOfNoSplitsAndAGatherOfSharedRows) {
  const TargetSet set = SetOf("builtin");
  for (const Kernel kernel : kAllKernels) {
    EXPECT_EQ(WhyNoneShares(set.For(kernel)->contract(), kernel), nullptr);
  }
  Contract contract = set.For(Kernel::kDecode)->contract();
  contract.mutable_arithmetic()->clear_blocks_per_split();
  const char* why = WhyNoneShares(contract, Kernel::kDecode);
  ASSERT_NE(why, nullptr);
  EXPECT_NE(std::string(why).find("arithmetic.blocks_per_split"),
            std::string::npos);
  EXPECT_EQ(WhyNoneShares(contract, Kernel::kWriter), nullptr);
  contract.mutable_gather()->set_page_tasks(GatherContract::ROWS_ONLY);
  EXPECT_NE(WhyNoneShares(contract, Kernel::kGather), nullptr);
  // It is why no case has a key.
  Contracts contracts = CaseChecker(set, *MakeHostExecutor()).contracts();
  contracts[static_cast<std::size_t>(Kernel::kDecode)] = &contract;
  GeneratorOptions options = {
      .writer = false, .gather = false, .convert = false, .decode = true};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(choices, options);
    const auto image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_FALSE(FuseKey(contracts, *image).ok());
  }
}

}  // namespace
}  // namespace mlafuzz
