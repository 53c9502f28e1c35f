#include "kernels/executor.h"

#include <functional>

#include "gtest/gtest.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

// A target made of functions, for what no compiled-in target does.
class Stub : public Target {
 public:
  using Body = std::function<CallResult(const WriteArgs&)>;
  explicit Stub(Body body) : body_(std::move(body)) {}
  const std::string& name() const override { return name_; }
  const Contract& contract() const override {
    return Contract::default_instance();
  }
  const Arithmetic& arithmetic() const override {
    return Arithmetic::default_instance();
  }
  bool Implements(Kernel kernel) const override {
    return kernel == Kernel::kWriter;
  }
  CallResult Write(const WriteArgs& args, const LaunchContext&) override {
    return body_(args);
  }

 private:
  std::string name_ = "stub";
  Body body_;
};

TargetSet SetOf(Stub::Body body) {
  TargetSet set = test::Targets("builtin");
  for (auto& target : set.targets) target = std::make_shared<Stub>(body);
  return set;
}

std::vector<Observation> RunAll(Executor& executor, const TargetSet& targets,
                                absl::Span<const CaseImage> images) {
  std::vector<Observation> observations;
  const absl::Status status = executor.Run(targets, images, &observations);
  EXPECT_TRUE(status.ok()) << status;
  return observations;
}

Observation RunStub(const CaseImage& image, Stub::Body body) {
  const auto executor = MakeHostExecutor();
  return RunAll(*executor, SetOf(std::move(body)), {&image, 1}).at(0);
}

constexpr char kWrite[] = R"pb(
  pool {
    page_size: 2
    pages: 2
    offset: 24
    fill { kind: RANDOM_BYTES seed: 1 }
  }
  steps {
    write {
      slots { values: [ 1, 2 ] }
      pe_dim: 64
      kv_c { pattern: NORMAL_RANGE seed: 1 }
      k_pe { pattern: RANDOM_BITS seed: 2 }
    }
  })pb";

TEST(HostExecutor, ViewsAreTrue) {
  const CaseImage image = test::Image(test::ParseCase(R"pb(
    pool { page_size: 3 pages: 2 row_stride: 664 page_stride: 2000 offset: 24 }
    steps {
      write {
        input: F16
        slots { values: [ 1, 2 ] }
        pe_dim: 64
        kv_c_row_stride: 520
        kv_c_offset: 3
      }
    })pb"));
  RunStub(image, [&](const WriteArgs& args) {
    EXPECT_EQ(args.layout, FP8_DS_MLA);
    const DLTensor& cache = *args.cache;
    EXPECT_EQ(cache.ndim, 3);
    EXPECT_EQ(cache.dtype.code, kDLUInt);
    EXPECT_EQ(cache.dtype.bits, 8);
    EXPECT_EQ(cache.shape[0], 2);
    EXPECT_EQ(cache.shape[1], 3);
    EXPECT_EQ(cache.shape[2], 656);
    EXPECT_EQ(cache.strides[0], 2000);
    EXPECT_EQ(cache.strides[1], 664);
    EXPECT_EQ(cache.strides[2], 1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cache.data) % 256, 24u);
    EXPECT_EQ(args.kv_c->dtype.code, kDLFloat);
    EXPECT_EQ(args.kv_c->dtype.bits, 16);
    EXPECT_EQ(args.kv_c->shape[1], 512);
    EXPECT_EQ(args.kv_c->strides[0], 520);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.kv_c->data) % 256, 6u);
    EXPECT_EQ(args.slot_mapping->ndim, 1);
    EXPECT_EQ(static_cast<std::int64_t*>(args.slot_mapping->data)[1], 2);
    return CallResult::Ok();
  });
}

// One byte before and after each tensor, and one inside each input.
TEST(HostExecutor, FindsStrayWritesOfOneByte) {
  const CaseImage image = test::Image(test::ParseCase(kWrite));
  struct Place {
    std::optional<TensorId> tensor;
    const DLTensor* (*of)(const WriteArgs&);
    std::int64_t data_at;  // of the view, in the tensor's bytes
    std::int64_t size;
  };
  const std::int64_t pool_size =
      static_cast<std::int64_t>(image.pool.bytes.size());
  const Place places[] = {
      {std::nullopt, [](const WriteArgs& a) { return a.cache; }, 24, pool_size},
      {TensorId::kKvC, [](const WriteArgs& a) { return a.kv_c; }, 0, 2048},
      {TensorId::kKPe, [](const WriteArgs& a) { return a.k_pe; }, 0, 256},
      {TensorId::kSlotMapping,
       [](const WriteArgs& a) { return a.slot_mapping; }, 0, 16},
  };
  for (const Place& place : places) {
    for (std::int64_t at : {std::int64_t{-1}, std::int64_t{-200}, place.size,
                            place.size + 99, std::int64_t{5}}) {
      const Observation seen = RunStub(image, [&](const WriteArgs& args) {
        auto* byte = static_cast<std::uint8_t*>(place.of(args)->data) -
                     place.data_at + at;
        [byte]() __attribute__((no_sanitize("address"))) { *byte ^= 1; }();
        return CallResult::Ok();
      });
      const StepObservation& step = seen.steps.at(0);
      SCOPED_TRACE(at);
      if (at == 5 && !place.tensor.has_value()) {
        // The pool's own bytes are the judge's business.
        EXPECT_TRUE(step.strays.empty());
        ASSERT_TRUE(step.pool.has_value());
        EXPECT_EQ(step.pool->at(5), image.pool.bytes[5] ^ 1);
        continue;
      }
      EXPECT_FALSE(step.pool.has_value());
      ASSERT_EQ(step.strays.size(), 1u);
      EXPECT_EQ(step.strays[0].tensor, place.tensor);
      EXPECT_EQ(step.strays[0].first, at);
      EXPECT_EQ(step.strays[0].last, at);
      EXPECT_EQ(step.strays[0].count, 1);
    }
  }
}

TEST(HostExecutor, GuardsOfOutputs) {
  Case c = test::ParseCase(R"pb(
    pool {
      page_size: 1
      pages: 1
      fill { kind: ROWS seed: 1 }
    }
    steps {
      gather {
        dst_rows: 2
        workspace_starts: 0
        seq_lens: 3
        block_table {
          rows: 1
          columns: 3
          pages { values: [ 0, 0, 0 ] }
        }
      }
    })pb");
  // A length past dst: the caller's fault, and a whole row behind dst.
  const Observation seen = test::Run("builtin", test::Image(c));
  ASSERT_EQ(seen.steps[0].strays.size(), 1u);
  EXPECT_EQ(seen.steps[0].strays[0].tensor, TensorId::kDst);
  EXPECT_GE(seen.steps[0].strays[0].first, 2 * 1152);
  EXPECT_LT(seen.steps[0].strays[0].first, 2 * 1152 + 16);
  EXPECT_LT(seen.steps[0].strays[0].last, 3 * 1152);
}

std::vector<CaseImage> Mixture() {
  std::vector<CaseImage> images;
  test::Bytes bytes(7);
  for (int i = 0; i < 40; ++i) {
    const std::string pool =
        "pool { page_size: " + std::to_string(1 + bytes.Next() % 9) +
        " pages: " + std::to_string(4 + bytes.Next() % 5) +
        " fill { kind: ROWS seed: " + std::to_string(i) +
        " } } schedule: " + std::to_string(bytes.Next()) +
        " poison: " + std::to_string(i) + " ";
    const std::string write =
        "steps { write { slots { count: " + std::to_string(bytes.Next() % 4) +
        " order: PERMUTED seed: 1 } pe_dim: " +
        (i % 3 ? std::string("64") : std::string("0")) +
        " kv_c { pattern: MIXED seed: 5 } k_pe { pattern: MIXED } } }";
    const std::string gather =
        "steps { gather { dst_rows: 3 workspace_starts: [0, 1] "
        "block_table { rows: 2 columns: 3 pages { count: 6 } } } }";
    const std::string patch =
        "steps { patch { slot: 1 at: 7 data: '\\001\\002' } }";
    const std::string convert =
        "steps { convert { request_ids { count: 2 } valid_count: true "
        "block_table { rows: 2 columns: 3 pages { count: 6 } } "
        "token_indices { rows: 2 width: 9 valid: 5 limit: 12 } } }";
    images.push_back(test::Image(test::ParseCase(
        pool + (i % 2 ? write + gather : patch + gather + patch) + convert +
        (i % 5 ? "" : write))));
  }
  return images;
}

TEST(HostExecutor, ABatchObservesWhatSinglesDo) {
  const std::vector<CaseImage> images = Mixture();
  const TargetSet builtin = test::Targets("builtin");
  const auto batch = MakeHostExecutor();
  const std::vector<Observation> together = RunAll(*batch, builtin, images);
  ASSERT_EQ(together.size(), images.size());
  const auto shared = MakeHostExecutor();
  for (std::size_t i = images.size(); i-- > 0;) {
    EXPECT_TRUE(test::SameOutcome(
        RunAll(*shared, builtin, {&images[i], 1}).at(0), together[i]))
        << i;
    EXPECT_TRUE(test::SameOutcome(test::Run("builtin", images[i]), together[i]))
        << i;
    for (const StepObservation& step : together[i].steps) {
      EXPECT_EQ(step.status, CallStatus::kOk) << step.message;
      EXPECT_TRUE(step.strays.empty());
    }
  }
}

TEST(HostExecutor, StepsSeeOnePool) {
  const CaseImage image = test::Image(test::ParseCase(R"pb(
    pool { page_size: 1 pages: 2 }
    steps { patch { slot: 1 at: 600 data: "\x34\x12" } }
    steps {
      gather {
        dst_rows: 1
        workspace_starts: 0
        block_table {
          rows: 1
          columns: 1
          pages { values: 1 }
        }
      }
    }
    steps {
      write {
        slots { values: 1 }
        kv_c { pattern: CONSTANT bits: 0x3f80 }
      }
    }
    steps {
      gather {
        dst_rows: 1
        workspace_starts: 0
        block_table {
          rows: 1
          columns: 1
          pages { values: 1 }
        }
      }
    }
    steps { patch { slot: 0 at: 0 data: "\x00" } }
  )pb"));
  const Observation seen = test::Run("builtin", image);
  ASSERT_EQ(seen.steps.size(), 5u);
  ASSERT_TRUE(seen.steps[0].pool.has_value());
  EXPECT_EQ(seen.steps[0].pool->at(656 + 600), 0x34);
  EXPECT_FALSE(seen.steps[1].pool.has_value());
  const auto word = [&](int step, int column) {
    return seen.steps[step].outputs[0].at(2 * column) |
           seen.steps[step].outputs[0].at(2 * column + 1) << 8;
  };
  EXPECT_EQ(word(1, 512 + (600 - 528) / 2), 0x1234);
  ASSERT_TRUE(seen.steps[2].pool.has_value());
  EXPECT_EQ(word(3, 0), 0x3f80);
  EXPECT_EQ(word(3, 512 + (600 - 528) / 2), 0);
  // A patch that changes nothing.
  EXPECT_FALSE(seen.steps[4].pool.has_value());
}

// Two queries of two heads on one key each, whose outputs are the rows' latent
// values and whose LSE is the logit, 0.
TEST(HostExecutor, DecodesWhatWasWritten) {
  const CaseImage image = test::Image(test::ParseCase(R"pb(
    pool { page_size: 2 pages: 2 }
    steps {
      write {
        slots { values: [ 1, 2 ] }
        pe_dim: 64
        kv_c {
          pattern: CONSTANT
          bits: 0x3f80
          set { at: 512 bits: 0x4000 }
        }
      }
    }
    steps {
      decode {
        queries: 2
        heads: 2
        pe_dim: 64
        indices {
          rows: 2
          width: 3
          set { at: 0 value: 1 }
          set { at: 5 value: 2 }
        }
        lengths: [ 1, 3 ]
        softmax_scale_bits: 0x3f800000
        sink_bits: [ 0xff800000, 0xff800000 ]
        splits: 1
        declared_topk: 2
      }
    })pb"));
  const Observation seen = test::Run("builtin", image);
  ASSERT_EQ(seen.steps[1].status, CallStatus::kOk) << seen.steps[1].message;
  EXPECT_TRUE(seen.steps[1].strays.empty());
  EXPECT_FALSE(seen.steps[1].pool.has_value());
  const std::vector<Tensor>& tensors = image.steps[1].tensors;
  ASSERT_EQ(tensors.size(), 6u);
  ASSERT_EQ(tensors[4].id, TensorId::kAttention);
  ASSERT_EQ(tensors[5].id, TensorId::kLse);
  const std::vector<std::uint8_t>& out = seen.steps[1].outputs[4];
  ASSERT_EQ(out.size(), 2u * 2 * 512 * 2);
  for (std::size_t i = 0; i < out.size() / 2; ++i) {
    const int word = out[2 * i] | out[2 * i + 1] << 8;
    // Query 1, column 0, both heads.
    ASSERT_EQ(word, i == 1024 || i == 1536 ? 0x4000 : 0x3f80) << i;
  }
  EXPECT_EQ(seen.steps[1].outputs[5], std::vector<std::uint8_t>(16));
}

// Rows of a three-dimensional output are those of all heads.
TEST(HostExecutor, GuardsOfDecodeOutputs) {
  const CaseImage image = test::Image(test::ParseCase(R"pb(
    pool { page_size: 1 pages: 1 }
    steps { decode { queries: 2 heads: 1 pe_dim: 64 } })pb"));
  class Astray : public Stub {
   public:
    Astray() : Stub({}) {}
    bool Implements(Kernel kernel) const override {
      return kernel == Kernel::kDecode;
    }
    CallResult Decode(const DecodeArgs& args, const LaunchContext&) override {
      EXPECT_EQ(args.q->ndim, 3);
      EXPECT_EQ(args.q->shape[2], 576);
      EXPECT_EQ(args.q->strides[0], 576);
      EXPECT_EQ(args.query_length, 1);
      auto* byte = static_cast<std::uint8_t*>(args.out->data) + 2047 + 2048;
      [byte]() __attribute__((no_sanitize("address"))) { *byte ^= 1; }();
      return CallResult::Ok();
    }
  };
  TargetSet set = test::Targets("builtin");
  for (auto& target : set.targets) target = std::make_shared<Astray>();
  const auto executor = MakeHostExecutor();
  const std::vector<Observation> seen = RunAll(*executor, set, {&image, 1});
  ASSERT_EQ(seen[0].steps[0].strays.size(), 1u);
  EXPECT_EQ(seen[0].steps[0].strays[0].tensor, TensorId::kAttention);
  EXPECT_EQ(seen[0].steps[0].strays[0].first, 4095);
}

TEST(HostExecutor, CountsCalls) {
  const auto executor = MakeHostExecutor();
  const CaseImage image = test::Image(test::ParseCase(
      "pool { page_size: 1 pages: 1 } steps { write { } } steps { write { } }"
      "steps { gather { } } steps { decode { heads: 1 } }"));
  const std::vector<Observation> seen =
      RunAll(*executor, test::Targets("builtin"), {&image, 1});
  EXPECT_EQ(executor->executions(), (std::array<std::uint64_t, 4>{2, 1, 0, 1}));
  EXPECT_EQ(seen[0].steps[3].status, CallStatus::kOk);
}

TEST(HostExecutor, ResultsOfTheTarget) {
  const CaseImage image = test::Image(test::ParseCase(kWrite));
  EXPECT_EQ(
      RunStub(image,
              [](const WriteArgs&) { return CallResult::Error("no device"); })
          .steps[0]
          .message,
      "no device");
  EXPECT_EQ(
      RunStub(image,
              [](const WriteArgs&) { return CallResult::Fault("deadlock"); })
          .steps[0]
          .status,
      CallStatus::kFault);
}

// A slot far out of the pool is a crash of that case alone, a thousand times.
TEST(HostExecutor, SurvivesWildSlots) {
  const CaseImage good = test::Image(test::ParseCase(kWrite));
  const auto executor = MakeHostExecutor();
  const TargetSet mutant = test::Targets("mutant:writer-negative-slot");
  const Observation want =
      RunAll(*executor, test::Targets("builtin"), {&good, 1}).at(0);
  for (int i = 0; i < 1000; ++i) {
    const CaseImage wild = test::Image(test::ParseCase(
        "pool { page_size: 64 pages: 1 } schedule: " + std::to_string(i) +
        " steps { write { pe_dim: 64 slots { values: " +
        std::to_string(-100000 - 64 * i) + " } } } steps { write { } }"));
    const std::vector<Observation> seen = RunAll(*executor, mutant, {&wild, 1});
    ASSERT_EQ(seen[0].steps.size(), 1u) << "no step after a crash";
    ASSERT_EQ(seen[0].steps[0].status, CallStatus::kCrash);
    ASSERT_EQ(seen[0].steps[0].message.rfind("SIGSEGV at pool - ", 0), 0u)
        << seen[0].steps[0].message;
    ASSERT_TRUE(
        test::SameOutcome(RunAll(*executor, mutant, {&good, 1}).at(0), want));
  }
  const CaseImage wild = test::Image(test::ParseCase(
      "pool { page_size: 64 pages: 1 } steps { write { pe_dim: 64 slots {"
      " values: -6400 } } }"));
  // Row 0 of page -100, whose tail is stored first since its lanes wait for
  // nobody: 100 * 64 * 656 - 528 bytes.
  EXPECT_EQ(RunAll(*executor, mutant, {&wild, 1})[0].steps[0].message,
            "SIGSEGV at pool - 4099 KiB");
}

TEST(RunCases, NamesTheCaseWithoutMeaning) {
  const auto executor = MakeHostExecutor();
  std::vector<Observation> seen;
  const Case cases[] = {test::ParseCase(kWrite), Case()};
  const absl::Status status =
      RunCases(*executor, test::Targets("builtin"), cases, &seen);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().substr(0, 8), "case 1: ");
  EXPECT_TRUE(
      RunCases(*executor, test::Targets("builtin"), {cases, 1}, &seen).ok());
  EXPECT_EQ(seen.size(), 1u);
}

}  // namespace
}  // namespace mlafuzz
