#include "kernels/sanitizer_hooks.h"

#include "gtest/gtest.h"
#include "kernels/simt/simt.h"
#include "kernels/test_support.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MLAFUZZ_HAS_ASAN
#endif
#if __has_feature(undefined_behavior_sanitizer)
#define MLAFUZZ_HAS_UBSAN
#endif
#endif

namespace mlafuzz {
namespace {

// Wrong kernels, in this file because it is compiled with -fsanitize-recover.
__global__ void ReadPastSlots(const std::int64_t* slots, std::int64_t count,
                              std::uint8_t* cache) {
  cache[threadIdx.x] = static_cast<std::uint8_t>(slots[count + threadIdx.x]);
}

__global__ void OverflowInt(int* value) { *value += 0x7fffffff; }

class ReadsTooFar : public Target {
 public:
  const std::string& name() const override { return name_; }
  const Contract& contract() const override {
    return Contract::default_instance();
  }
  const Arithmetic& arithmetic() const override {
    return Arithmetic::default_instance();
  }
  bool Implements(Kernel) const override { return true; }
  CallResult Write(const WriteArgs& args, const LaunchContext&) override {
    simt::Config config;
    config.grid = dim3(1);
    config.block = dim3(2);
    (void)simt::launch(
        config, ReadPastSlots,
        static_cast<const std::int64_t*>(args.slot_mapping->data),
        args.slot_mapping->shape[0],
        static_cast<std::uint8_t*>(args.cache->data));
    return CallResult::Ok();
  }

 private:
  std::string name_ = "reads-too-far";
};

TEST(SanitizerReports, AnOutOfBoundsReadIsReportedInItsStep) {
#ifndef MLAFUZZ_HAS_ASAN
  GTEST_SKIP() << "built without AddressSanitizer (--config=asan)";
#endif
  TargetSet set = test::Targets("builtin");
  set.targets[0] = std::make_shared<ReadsTooFar>();
  const CaseImage image = test::Image(test::ParseCase(
      "pool { page_size: 1 pages: 1 } steps { write { slots { values: [0, 0] }"
      " } } steps { gather { } }"));
  const auto executor = MakeHostExecutor();
  for (int round = 0; round < 20; ++round) {
    std::vector<Observation> seen;
    ASSERT_TRUE(executor->Run(set, {&image, 1}, &seen).ok());
    ASSERT_EQ(seen[0].steps.size(), 2u);
    const StepObservation& step = seen[0].steps[0];
    EXPECT_EQ(step.status, CallStatus::kOk);
    ASSERT_EQ(step.reports.size(), 2u) << "one a lane";
    EXPECT_EQ(step.reports[0].rfind(
                  "AddressSanitizer: use-after-poison: READ of size 8 in ", 0),
              0u)
        << step.reports[0];
    EXPECT_NE(step.reports[0].find("ReadPastSlots"), std::string::npos)
        << step.reports[0];
    EXPECT_TRUE(seen[0].steps[1].reports.empty());
  }
}

// Once a call, however often a lane comes by: and in every call, so that what
// is seen of a case does not depend on those before it.
TEST(SanitizerReports, UndefinedBehaviourIsReportedOnceACall) {
  for (int call = 0; call < 20; ++call) {
    std::vector<std::string> reports;
    {
      const SanitizerReports collecting(&reports);
      for (int lane = 0; lane < 5; ++lane) {
        int value = 5;
        simt::Config config;
        config.grid = dim3(1);
        config.block = dim3(1);
        (void)simt::launch(config, OverflowInt, &value);
      }
    }
#ifdef MLAFUZZ_HAS_UBSAN
    ASSERT_EQ(reports.size(), 1u) << "call " << call;
    EXPECT_EQ(reports[0].rfind("UndefinedBehaviorSanitizer: "
                               "signed-integer-overflow: ",
                               0),
              0u)
        << reports[0];
    // With the column, which the runtime gives up after a report.
    EXPECT_NE(reports[0].find("sanitizer_hooks_test.cc:"), std::string::npos);
    EXPECT_EQ(reports[0].find(":4294967295"), std::string::npos) << reports[0];
#else
    EXPECT_TRUE(reports.empty());
#endif
  }
#ifndef MLAFUZZ_HAS_UBSAN
  GTEST_SKIP() << "built without UndefinedBehaviorSanitizer (--config=ubsan)";
#endif
}

TEST(SanitizerReports, OneLineWithoutAddresses) {
  EXPECT_EQ(SummariseAsanReport(
                "=====\n==12==ERROR: AddressSanitizer: heap-buffer-overflow on "
                "address 0x602000000018 at pc 0x55 bp 0x7f sp 0x7f\nWRITE of "
                "size 4 at 0x602000000018 thread T0\n    #0 0x55d1 in Kernel "
                "kernels/writer.cuh:88:3\n    #1 0x55d2 in main x.cc:1\n"),
            "AddressSanitizer: heap-buffer-overflow: WRITE of size 4 in Kernel "
            "kernels/writer.cuh:88:3");
  EXPECT_EQ(SummariseAsanReport("odd 0xabc text\nmore"), "odd 0x* text");
}

}  // namespace
}  // namespace mlafuzz
