// The race detector's view of the kernels: nothing in the clean ones, the
// missing barrier in the twin, under every schedule.
#include "gtest/gtest.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

Case Everything() {
  return test::ParseCase(R"pb(
    pool {
      page_size: 3
      pages: 4
      fill { kind: ROWS seed: 3 }
    }
    steps {
      write {
        slots { values: [ 5, -1, 0 ] }
        pe_dim: 64
        kv_c { pattern: MIXED seed: 1 }
        k_pe { pattern: RANDOM_BITS seed: 1 }
      }
    }
    steps {
      gather {
        dst_rows: 7
        workspace_starts: [ 0, 4 ]
        block_table {
          rows: 2
          columns: 2
          pages { values: [ 1, 0, 3, 2 ] }
        }
      }
    }
    steps {
      convert {
        request_ids { values: [ 1, 0 ] }
        valid_count: true
        block_table {
          rows: 2
          columns: 4
          pages { count: 8 }
        }
        token_indices { rows: 2 width: 200 valid: 150 limit: 12 seed: 6 }
      }
    })pb");
}

#ifdef MLAFUZZ_RACE_DETECTOR
#define MLAFUZZ_NEEDS_RACE_DETECTOR() static_cast<void>(0)
#else
#define MLAFUZZ_NEEDS_RACE_DETECTOR() \
  GTEST_SKIP() << "built without the race detector (--config=race)"
#endif

TEST(Races, NoneInCleanKernels) {
  MLAFUZZ_NEEDS_RACE_DETECTOR();
  Case c = Everything();
  for (std::uint64_t schedule = 0; schedule < 100; ++schedule) {
    c.set_schedule(schedule * 0x9e3779b97f4a7c15u + schedule);
    for (const char* target :
         {"builtin", "builtin:pow2", "builtin:kimi-k3", "builtin:triton",
          "builtin:triton-pow2", "control:thread-mapping"}) {
      for (const StepObservation& step :
           test::Run(target, test::Image(c)).steps) {
        ASSERT_EQ(step.status, CallStatus::kOk)
            << target << " " << schedule << ": " << step.message;
      }
    }
  }
}

TEST(Races, TheMissingBarrierIsFoundAtOnce) {
  MLAFUZZ_NEEDS_RACE_DETECTOR();
  Case c = Everything();
  for (std::uint64_t schedule = 0; schedule < 100; ++schedule) {
    c.set_schedule(schedule * 0x9e3779b97f4a7c15u + schedule);
    const Observation seen =
        test::Run("mutant:missing-syncwarp", test::Image(c));
    ASSERT_EQ(seen.steps[1].status, CallStatus::kFault) << schedule;
    ASSERT_EQ(seen.steps[1].message.rfind("shared-memory race", 0), 0u)
        << seen.steps[1].message;
  }
}

}  // namespace
}  // namespace mlafuzz
