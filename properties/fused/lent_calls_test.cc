#include "properties/fused/lent_calls.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "corpus/codec.h"
#include "gtest/gtest.h"
#include "properties/fused/judge_twice.h"
#include "properties/fused/lent_layout.h"
#include "properties/fused/testing/fake_runner.h"
#include "properties/fused/testing/families.h"

// On memory that properties/fused/testing/host_lender.cc lends: what is lent,
// and what is made of it, is the same on a GPU.
namespace mlafuzz {
namespace {

std::string Text(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks) {
    text += std::to_string(check.step) + " " + check.property + " " +
            VerdictName(check.verdict) + " " + check.detail + "\n";
  }
  return text;
}

std::vector<Check> JudgedAlone(LentOnHost& lent, const CaseImage& image) {
  std::vector<Observation> seen;
  EXPECT_TRUE(lent.runner.Run(lent.targets, {&image, 1}, &seen).ok());
  return Judge(lent.contracts(), image, seen.at(0));
}

// The right kernels of every layout: each member has the checks that it has
// alone, whichever kernel it calls.
TEST(LentCalls, SayWhatTheHostSays) {
  int made = 0;
  int by_rows = 0;
  std::uint64_t decodes = 0;
  for (const char* name :
       {"builtin", "builtin:pow2", "builtin:nope-row", "builtin:dsv4",
        "builtin:dsv4_1", "builtin:indexer"}) {
    LentOnHost lent(name);
    for (const Kernel kernel : kAllKernels) {
      if (lent.targets.For(kernel) == nullptr ||
          !lent.targets.For(kernel)->Implements(kernel)) {
        continue;
      }
      const Families families(lent.contracts(),
                              OptionsFor(lent.targets, kernel),
                              kernel == Kernel::kDecode ? 15 : 60);
      for (const auto& members : families.Calls()) {
        const FusedCase fused(members);
        const auto result = lent.calls->Run(fused, lent.contracts(), 2);
        ASSERT_TRUE(result.ok()) << result.status();
        if (!result->why_not.empty()) continue;
        ASSERT_TRUE(result->as_expected) << name << " " << KernelName(kernel);
        for (std::size_t m = 0; m < members.size(); ++m) {
          ASSERT_EQ(Text(result->ChecksOf(m)),
                    Text(JudgedAlone(lent, *members[m])))
              << name << "\n"
              << FormatCaseText(*members[m]->source);
          if (result->left_out) {
            std::vector<Observation> alone;
            ASSERT_TRUE(
                lent.runner.Run(lent.targets, {members[m], 1}, &alone).ok());
            Observation seen = result->observations[m];
            FillLeftOut(lent.contracts(), *members[m], &seen);
            for (std::size_t step = 0; step < seen.steps.size(); ++step) {
              ASSERT_EQ(seen.steps[step].pool, alone[0].steps[step].pool);
              ASSERT_EQ(seen.steps[step].outputs, alone[0].steps[step].outputs);
            }
            ++by_rows;
          }
          ++made;
        }
      }
    }
    decodes += lent.calls->decodes_passed();
  }
  EXPECT_GT(made, 1000);
  EXPECT_GT(by_rows, 300);
  EXPECT_GT(decodes, 100u);
}

// Wrong ones: what comes back is what each case's own bytes say.
TEST(LentCalls, WrongBytesComeBack) {
  for (const auto& [name, kernel] : std::map<std::string, Kernel>{
           {"mutant:gather-bf16-scale", Kernel::kGather},
           {"mutant:amax-signed", Kernel::kWriter},
           {"mutant:index-zero-for-invalid", Kernel::kConvert},
           {"mutant:lse-wrong-base", Kernel::kDecode},
           {"mutant:dsv4-nan-kept", Kernel::kWriter}}) {
    LentOnHost lent(name);
    const Families families(lent.contracts(), OptionsFor(lent.targets, kernel),
                            kernel == Kernel::kDecode ? 15 : 60);
    int wrong = 0;
    for (const auto& members : families.Calls()) {
      const FusedCase fused(members);
      const auto result = lent.calls->Run(fused, lent.contracts(), 1);
      ASSERT_TRUE(result.ok()) << result.status();
      if (!result->why_not.empty()) continue;
      std::vector<Observation> seen = result->observations;
      if (!result->as_expected) {
        const auto split = fused.Split(result->together);
        ASSERT_TRUE(split.ok()) << split.status();
        seen = *split;
      }
      for (std::size_t m = 0; m < members.size(); ++m) {
        const std::vector<Check> alone = JudgedAlone(lent, *members[m]);
        const std::vector<Check> checks =
            result->as_expected ? result->ChecksOf(m)
                                : Judge(lent.contracts(), *members[m], seen[m]);
        ASSERT_EQ(Text(checks), Text(alone)) << name;
        for (const Check& check : alone) wrong += IsFailure(check.verdict);
      }
    }
    EXPECT_GT(wrong, 0) << name;
  }
}

std::vector<Case> OneTokens(int count) {
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    Case& c = cases.emplace_back();
    c.mutable_pool()->set_page_size(4);
    c.mutable_pool()->set_pages(2);
    Write& write = *c.add_steps()->mutable_write();
    write.mutable_slots()->add_values(i % 8);
    write.set_pe_dim(64);
    write.mutable_kv_c()->set_pattern(Values::NORMAL_RANGE);
    write.mutable_kv_c()->set_seed(static_cast<std::uint64_t>(i));
  }
  return cases;
}

// Bytes that are no tensor's, and those of an input.
TEST(LentCalls, HarmBesideTensorsIsSeen) {
  LentOnHost lent("builtin");
  const std::vector<Case> cases = OneTokens(20);
  std::vector<CaseImage> images;
  std::vector<const CaseImage*> members;
  images.reserve(cases.size());
  for (const Case& c : cases) {
    images.push_back(*BuildImage(c));
    members.push_back(&images.back());
  }
  const FusedCase fused(members);
  using Harm = std::function<void(std::uint8_t*, const LentCall&)>;
  const Harm harms[] = {
      [](std::uint8_t* memory, const LentCall& call) {
        memory[call.pool.begin + call.pool.size + 100] ^= 1;
      },
      [](std::uint8_t* memory, const LentCall& call) {
        memory[call.pool.begin - 1] ^= 1;
      },
      [](std::uint8_t* memory, const LentCall& call) {
        memory[call.tensors[0].begin + 3] ^= 1;
      },
      [](std::uint8_t* memory, const LentCall&) { memory[0] ^= 1; },
  };
  for (const Harm& harm : harms) {
    lent.runner.after = harm;
    const auto result = lent.calls->Run(fused, lent.contracts(), 1);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->why_not, "");
    EXPECT_FALSE(result->as_expected);
    EXPECT_FALSE(fused.Split(result->together).ok());
  }
  lent.runner.after = nullptr;
  const auto result = lent.calls->Run(fused, lent.contracts(), 1);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->as_expected);
}

// The next call is laid beside this one; another than was announced, or none,
// is laid when it comes.
TEST(LentCalls, TheNextCallIsLaidAhead) {
  LentOnHost lent("builtin");
  const std::vector<Case> cases = OneTokens(24);
  std::vector<CaseImage> images;
  images.reserve(cases.size());
  for (const Case& c : cases) images.push_back(*BuildImage(c));
  const auto make = [&](std::size_t first, std::size_t count) {
    std::vector<const CaseImage*> members;
    for (std::size_t i = first; i < first + count; ++i) {
      members.push_back(&images[i]);
    }
    return std::make_unique<const FusedCase>(std::move(members));
  };
  const auto passes = [&](const FusedCase& fused, const FusedCase* next) {
    const auto result = lent.calls->Run(fused, lent.contracts(), 1, next);
    return result.ok() && result->why_not.empty() && result->as_expected;
  };
  auto a = make(0, 8);
  auto b = make(8, 16);
  auto c = make(3, 5);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(passes(*a, b.get()));
    EXPECT_TRUE(passes(*b, c.get()));
    EXPECT_TRUE(passes(*c, a.get()));
  }
  EXPECT_TRUE(passes(*b, c.get()));
  EXPECT_TRUE(passes(*a, nullptr));
  EXPECT_TRUE(passes(*c, b.get()));
  b.reset();
  b = make(0, 16);  // may well lie where the announced one lay
  EXPECT_TRUE(passes(*b, nullptr));
}

// So many requests that their tasks are found by warps, and some are empty.
TEST(LentCalls, ManyRequestsShareAGather) {
  for (const char* name : {"builtin", "builtin:dsv4"}) {
    LentOnHost lent(name);
    std::deque<Case> cases;
    std::vector<CaseImage> images;
    std::vector<const CaseImage*> members;
    images.reserve(500);
    for (int i = 0; i < 500; ++i) {
      Case& c = cases.emplace_back();
      c.mutable_pool()->set_layout(
          lent.targets.For(Kernel::kGather)->contract().layout());
      c.mutable_pool()->set_page_size(4);
      c.mutable_pool()->set_pages(2);
      c.mutable_pool()->mutable_fill()->set_kind(Fill::ROWS);
      c.mutable_pool()->mutable_fill()->set_seed(static_cast<std::uint64_t>(i));
      Gather& gather = *c.add_steps()->mutable_gather();
      gather.mutable_block_table()->set_rows(1);
      gather.mutable_block_table()->set_columns(2);
      gather.mutable_block_table()->mutable_pages()->add_values(i % 2);
      gather.mutable_block_table()->mutable_pages()->add_values(1 - i % 2);
      gather.add_workspace_starts(0);
      gather.add_seq_lens(i % 7);
      gather.set_dst_rows(8);
      images.push_back(*BuildImage(c));
      if (FuseKey(lent.contracts(), images.back()).ok()) {
        members.push_back(&images.back());
      }
    }
    ASSERT_GT(members.size(), 400u) << name;
    const FusedCase fused(members);
    const auto result = lent.calls->Run(fused, lent.contracts(), 2);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->why_not, "");
    EXPECT_TRUE(result->as_expected) << name;
  }
}

std::vector<std::unique_ptr<FusedCase>> AsFused(
    const std::vector<std::vector<const CaseImage*>>& calls) {
  std::vector<std::unique_ptr<FusedCase>> fused;
  for (const auto& members : calls) {
    fused.push_back(std::make_unique<FusedCase>(members));
  }
  return fused;
}

std::string Text(const LentCalls::Result& result) {
  std::string text = result.why_not + result.unstable +
                     (result.as_expected ? "as expected\n" : "\n");
  for (std::size_t m = 0; m < result.own_checks.size(); ++m) {
    text += Text(result.ChecksOf(m));
  }
  for (const StepObservation& step : result.together.steps) {
    text += std::to_string(step.status == CallStatus::kOk) +
            std::to_string(step.strays.size());
    for (const auto& output : step.outputs) {
      text += std::string(output.begin(), output.end());
    }
    if (step.pool.has_value()) {
      text += std::string(step.pool->begin(), step.pool->end());
    }
  }
  return text;
}

// Right and wrong kernels: each call of an exchange has what it has by itself.
// Right ones take few exchanges.
TEST(LentCalls, ManyInOneExchangeAreAsEachByItself) {
  for (const auto& [name, kernel] : std::multimap<std::string, Kernel>{
           {"builtin", Kernel::kWriter},
           {"builtin", Kernel::kGather},
           {"builtin", Kernel::kConvert},
           {"builtin", Kernel::kDecode},
           {"mutant:gather-bf16-scale", Kernel::kGather},
           {"mutant:amax-signed", Kernel::kWriter},
           {"mutant:lse-wrong-base", Kernel::kDecode}}) {
    LentOnHost lent(name);
    const Families families(lent.contracts(), OptionsFor(lent.targets, kernel),
                            kernel == Kernel::kDecode ? 15 : 40);
    const auto calls = AsFused(families.Calls());
    ASSERT_GT(calls.size(), 5u);
    int alive = 0;
    const auto all =
        lent.calls->RunAll(calls, lent.contracts(), 3, [&alive] { ++alive; });
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_GT(alive, 0);
    const int exchanges = std::exchange(lent.runner.exchanges, 0);
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const auto own = lent.calls->Run(*calls[c], lent.contracts(), 1);
      ASSERT_TRUE(own.ok()) << own.status();
      ASSERT_EQ(Text((*all)[c]), Text(*own)) << name << ", call " << c;
    }
    if (name == "builtin") EXPECT_LT(2 * exchanges, lent.runner.exchanges);
  }
}

struct TokenCalls {
  explicit TokenCalls(std::size_t count) : cases(OneTokens(8)) {
    images.reserve(cases.size());
    for (const Case& c : cases) images.push_back(*BuildImage(c));
    for (std::size_t i = 0; i < count; ++i) {
      calls.push_back(std::make_unique<FusedCase>(
          std::vector<const CaseImage*>{&images[i % 8], &images[(i + 1) % 8]}));
    }
  }
  std::vector<Case> cases;
  std::vector<CaseImage> images;
  std::vector<std::unique_ptr<FusedCase>> calls;
};

// What only an exchange of several shows is not lost, whoever did it.
TEST(LentCalls, WhatOnlySeveralShowIsSaid) {
  LentOnHost lent("builtin");
  const TokenCalls some(6);
  lent.runner.end = [](absl::Span<const LentCall> calls, std::uint8_t* memory,
                       std::vector<CallEnd>*) {
    if (calls.size() > 1) memory[calls[3].pool.begin + 7] ^= 1;
  };
  auto results = lent.calls->RunAll(some.calls, lent.contracts(), 1, [] {});
  ASSERT_TRUE(results.ok()) << results.status();
  for (std::size_t c = 0; c < 6; ++c) {
    const LentCalls::Result& result = (*results)[c];
    EXPECT_TRUE(result.as_expected);
    EXPECT_EQ(result.unstable,
              c == 3 ? "in one exchange with 5 other calls, and not by itself: "
                       "it left bytes that are not as expected"
                     : "");
  }
  lent.runner.end = [](absl::Span<const LentCall> calls, std::uint8_t*,
                       std::vector<CallEnd>* ends) {
    if (calls.size() > 1) (*ends)[2] = {CallStatus::kError, "too many"};
  };
  results = lent.calls->RunAll(some.calls, lent.contracts(), 1, [] {});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_NE((*results)[0].unstable.find("too many"), std::string::npos);
  // A process that somebody killed says nothing of its calls.
  lent.runner.end = [](absl::Span<const LentCall> calls, std::uint8_t*,
                       std::vector<CallEnd>* ends) {
    if (calls.size() > 1) (*ends)[2] = {CallStatus::kCrash, "killed"};
  };
  results = lent.calls->RunAll(some.calls, lent.contracts(), 1, [] {});
  ASSERT_TRUE(results.ok()) << results.status();
  for (const LentCalls::Result& result : *results) {
    EXPECT_TRUE(result.as_expected);
    EXPECT_EQ(result.unstable, "");
  }
}

// One that harms another's memory, and ends its process where there is none:
// nothing is said of the other.
TEST(LentCalls, HarmToAnotherCallIsNoFaultOfIts) {
  LentOnHost lent("builtin");
  const TokenCalls some(6);
  const Case* const second = some.calls[1]->shape().source;
  lent.runner.end = [second](absl::Span<const LentCall> calls,
                             std::uint8_t* memory, std::vector<CallEnd>* ends) {
    for (const LentCall& call : calls) {
      if (call.image->source != second) continue;
      if (calls.size() > 1) {
        memory[call.pool.begin + call.pool.size + 2 * LentLayout::kSlack] ^= 1;
      } else {
        (*ends)[0] = {CallStatus::kCrash, "an illegal address"};
      }
    }
  };
  const auto results =
      lent.calls->RunAll(some.calls, lent.contracts(), 1, [] {});
  ASSERT_TRUE(results.ok()) << results.status();
  for (std::size_t c = 0; c < 6; ++c) {
    EXPECT_EQ((*results)[c].unstable, "") << c;
    EXPECT_EQ((*results)[c].as_expected, c != 1) << c;
    EXPECT_EQ((*results)[c].why_not.empty(), c != 1) << c;
  }
}

TEST(LentCalls, WhatDoesNotFitIsLeftToOthers) {
  LentOnHost lent("builtin");
  Case c = OneTokens(1)[0];
  c.mutable_pool()->set_pages(30000);
  const CaseImage image = *BuildImage(c);
  const FusedCase fused({&image, &image});
  const auto result = lent.calls->Run(fused, lent.contracts(), 1);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NE(result->why_not.find("more than are lent"), std::string::npos);
}

}  // namespace
}  // namespace mlafuzz
