#include "properties/generate.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "corpus/knobs.h"
#include "corpus/token_layout.h"
#include "corpus/values.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "oracle/judge.h"
#include "oracle/validity.h"
#include "properties/choices.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr int kCases = 20000;

// The statistics that every campaign rests on: nothing is thrown away, every
// class is drawn, most of what runs has something to say.
TEST(GenerateTest, EveryClassIsDrawnAndNothingIsDiscarded) {
  const Contract contract = BuiltinContract();
  std::vector<int> drawn(AllKnobs().size());
  std::vector<int> classes(4);
  std::uint64_t bytes = 0, steps = 0;
  std::vector<std::uint64_t> sizes;
  for (int seed = 0; seed < kCases; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(choices, {});
    absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status() << "\n" << FormatCaseText(c);
    for (const int knob : ExercisedKnobs(*image)) ++drawn[knob];
    sizes.push_back(image->pool.bytes.size());
    bytes += image->pool.bytes.size();
    bool refused = false;
    for (int step = 0; step < static_cast<int>(image->steps.size()); ++step) {
      if (image->steps[step].is_patch) continue;
      ++steps;
      const StepValidity v = Classify(contract, *image, step);
      ASSERT_NE(v.validity, Validity::kUnspecified) << v.reason << "\n"
                                                    << FormatCaseText(c);
      ++classes[static_cast<int>(v.validity)];
      refused |= v.validity == Validity::kInvalid;
    }
    (void)refused;
  }
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (AllKnobs()[i].kernel == Kernel::kDecode) continue;  // see below
    EXPECT_GE(drawn[i], 20) << AllKnobs()[i].name;
  }
  // About one case in sixteen holds a step that must be refused.
  const double invalid =
      classes[static_cast<int>(Validity::kInvalid)] / double(steps);
  EXPECT_GT(invalid, 1 / 32.0);
  EXPECT_LT(invalid, 1 / 8.0);
  // The rest is edges: empty requests, skipped slots, no tokens.
  EXPECT_GT(classes[static_cast<int>(Validity::kValid)] / double(steps), 0.7);
  // Cases per second is the currency: the median pool stays small.
  std::nth_element(sizes.begin(), sizes.begin() + kCases / 2, sizes.end());
  EXPECT_LT(sizes[kCases / 2], 16384u);
  RecordProperty("mean_pool_bytes", static_cast<int>(bytes / kCases));
}

// What launches divide by blocks, and inputs that are slices of what a
// projection makes: rare, but within a minute of a library's campaign.
TEST(GenerateTest, LongBatchesAndSlicesAreDrawn) {
  std::map<std::uint32_t, int> kv_c, k_pe;
  int tokens = 0, stored_last = 0, rows = 0, requests = 0;
  for (int seed = 0; seed < 20000; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(choices, {});
    for (const Step& step : c.steps()) {
      if (step.has_write()) {
        const Write& write = step.write();
        ++kv_c[write.kv_c_row_stride()];
        ++k_pe[write.k_pe_row_stride()];
        const auto n = std::max<std::uint32_t>(
            write.slots().count(),
            static_cast<std::uint32_t>(write.slots().values_size()));
        if (n < 256) continue;
        ++tokens;
        const auto slots = ExpandIntegers(
            write.slots(), n,
            std::uint64_t{c.pool().page_size()} * c.pool().pages());
        stored_last += slots.back() >= 0;
      }
      rows += step.has_convert() && step.convert().token_indices().rows() > 256;
      requests += step.has_gather() && step.gather().block_table().rows() > 32;
    }
  }
  EXPECT_GE(tokens, 10);
  EXPECT_GE(stored_last, 10);
  EXPECT_GE(rows, 10);
  EXPECT_GE(requests, 10);
  // [T, 576] and [T, 1536 + 576] of DeepSeek-V3.
  EXPECT_GE(kv_c[576], 10);
  EXPECT_GE(kv_c[2112], 10);
  EXPECT_GE(k_pe[576], 10);
  EXPECT_GE(k_pe[2112], 10);
}

TEST(GenerateTest, SameSeedSameCase) {
  for (int seed = 0; seed < 200; ++seed) {
    Choices a(seed), b(seed);
    EXPECT_EQ(CanonicalBinary(GenerateCase(a, {})),
              CanonicalBinary(GenerateCase(b, {})));
  }
}

TEST(GenerateTest, LeavesOutWhatIsNotAskedFor) {
  for (int seed = 0; seed < 3000; ++seed) {
    Choices choices(seed);
    GeneratorOptions options;
    options.writer = seed % 3 == 0;
    options.gather = seed % 3 == 1;
    options.convert = seed % 3 == 2;
    options.invalid = false;
    const Case c = GenerateCase(choices, options);
    ASSERT_GT(c.steps_size(), 0);
    absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    for (int i = 0; i < c.steps_size(); ++i) {
      if (c.steps(i).has_patch()) continue;
      EXPECT_EQ(c.steps(i).has_write(), options.writer);
      EXPECT_EQ(c.steps(i).has_gather(), options.gather);
      EXPECT_EQ(c.steps(i).has_convert(), options.convert);
      const StepValidity v = Classify(BuiltinContract(), *image, i);
      EXPECT_NE(v.validity, Validity::kInvalid) << v.reason;
      EXPECT_NE(v.validity, Validity::kUnspecified) << v.reason;
    }
  }
}

constexpr GeneratorOptions kWithDecode = {.decode = true};
constexpr GeneratorOptions kDecodeAlone = {
    .writer = false, .gather = false, .convert = false, .decode = true};

TEST(GenerateTest, DecodesAreDrawnWithTheOthersOrAlone) {
  const Contract contract = BuiltinContract();
  int with = 0, decodes = 0, refused = 0, edges = 0;
  std::uint64_t cells = 0;
  std::set<std::string> rules;
  constexpr int kDecodes = 4000;
  for (int seed = 0; seed < 2 * kDecodes; ++seed) {
    Choices choices(seed);
    const bool alone = seed % 2 == 0;
    const Case c = GenerateCase(choices, alone ? kDecodeAlone : kWithDecode);
    absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status() << "\n" << FormatCaseText(c);
    bool any = false;
    for (int i = 0; i < c.steps_size(); ++i) {
      if (!c.steps(i).has_decode()) {
        EXPECT_FALSE(alone);
        continue;
      }
      any = true;
      const StepValidity v = Classify(contract, *image, i);
      ASSERT_NE(v.validity, Validity::kUnspecified) << v.reason << "\n"
                                                    << FormatCaseText(c);
      if (!alone) continue;
      const Decode& d = c.steps(i).decode();
      ++decodes;
      refused += v.validity == Validity::kInvalid;
      edges += v.validity == Validity::kBoundary;
      if (v.validity == Validity::kInvalid) {
        rules.insert(v.rule);
      } else {
        const Indices& indices = d.indices();
        const std::uint32_t keys = std::min(indices.valid(), indices.width());
        cells += std::uint64_t{d.queries()} * d.heads() *
                 (keys + (indices.width() - keys) / 10);
      }
    }
    EXPECT_TRUE(any || !alone);
    with += any && !alone;
  }
  EXPECT_EQ(rules, (std::set<std::string>{"decode.pe_dim", "decode.row_bytes",
                                          "decode.batch", "decode.heads",
                                          "decode.alignment"}));
  EXPECT_GT(with, kDecodes / 5);
  EXPECT_GT(refused, decodes / 32);
  EXPECT_LT(refused, decodes / 8);
  EXPECT_GT(edges, 0);
  // Keys times heads are the cost; a masked lane costs a tenth of a key.
  EXPECT_LT(cells / static_cast<std::uint64_t>(decodes), 80u);
}

// Every value class of every kernel, among what a campaign over all of them
// draws.
TEST(GenerateTest, EveryClassIsDrawnAmongAllKernels) {
  std::vector<int> drawn(AllKnobs().size());
  for (int seed = 0; seed < kCases; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(choices, kWithDecode);
    absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status() << "\n" << FormatCaseText(c);
    for (const int knob : ExercisedKnobs(*image)) ++drawn[knob];
  }
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (!KnobApplies(static_cast<int>(i), FP8_DS_MLA)) continue;
    EXPECT_GE(drawn[i], 20) << AllKnobs()[i].name;
  }
}

// And every class of other layouts' decodes.
TEST(GenerateTest, EveryClassOfOtherDecodesIsDrawn) {
  for (const TokenLayout& layout : TokenLayouts()) {
    if (layout.layout == FP8_DS_MLA || layout.copied) continue;
    SCOPED_TRACE(layout.name);
    GeneratorOptions options = kWithDecode;
    options.layout = layout.layout;
    std::vector<int> drawn(AllKnobs().size());
    for (int seed = 0; seed < kCases / 2; ++seed) {
      Choices choices(seed);
      const Case c = GenerateCase(choices, options);
      absl::StatusOr<CaseImage> image = BuildImage(c);
      ASSERT_TRUE(image.ok()) << image.status() << "\n" << FormatCaseText(c);
      for (const int knob : ExercisedKnobs(*image)) ++drawn[knob];
    }
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (KnobApplies(static_cast<int>(i), layout.layout)) {
        EXPECT_GE(drawn[i], 4) << AllKnobs()[i].name;
      } else {
        EXPECT_EQ(drawn[i], 0) << AllKnobs()[i].name;
      }
    }
  }
}

// Each rule of a decode shows in a share of what is drawn.
// What takes two sizes at once to show.
TEST(GenerateTest, DecodesAreLargeInMoreThanOneWay) {
  int ragged_sinks = 0, many_queries_and_heads = 0, several_requests = 0;
  for (int seed = 0; seed < 8000; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(
        choices,
        {.writer = false, .gather = false, .convert = false, .decode = true});
    for (const Step& step : c.steps()) {
      if (!step.has_decode()) continue;
      const Decode& d = step.decode();
      ragged_sinks +=
          d.heads() > 16 && d.heads() % 16 != 0 && d.sink_bits_size() > 0;
      many_queries_and_heads += d.queries() > 64 && d.heads() > 1;
      several_requests +=
          d.query_length() > 1 && d.query_length() < d.queries();
    }
  }
  EXPECT_GT(ragged_sinks, 20);
  EXPECT_GT(many_queries_and_heads, 20);
  EXPECT_GT(several_requests, 20);
}

TEST(GenerateTest, DecodesAreInformative) {
  const Contract contract = BuiltinContract();
  std::map<std::string, int> shows;
  for (const Neighbour& n : Neighbours(contract, Kernel::kDecode)) {
    shows[n.field] = 0;
  }
  int valid = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(choices, kDecodeAlone);
    absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    if (Classify(contract, *image, 0).validity != Validity::kValid) continue;
    ++valid;
    for (const std::string& field :
         InformativeFields(contract, *image, 0, image->pool.bytes)) {
      ++shows[field];
    }
  }
  EXPECT_GT(valid, 800);
  for (const auto& [field, count] : shows) {
    EXPECT_GE(count, valid / 20) << field;
  }
}

// The same of gathers. That columns past the table are left out cannot show: a
// case that needs one is the caller's fault under this contract.
TEST(GenerateTest, GathersAreInformative) {
  const Contract contract = BuiltinContract();
  std::map<std::string, int> shows;
  for (const Neighbour& n : Neighbours(contract, Kernel::kGather)) {
    if (n.field != "gather.table_columns") shows[n.field] = 0;
  }
  constexpr GeneratorOptions kGatherAlone = {
      .writer = false, .gather = true, .convert = false};
  int judged = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(choices, kGatherAlone);
    absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    const Validity v = Classify(contract, *image, 0).validity;
    if (v != Validity::kValid && v != Validity::kBoundary) continue;
    ++judged;
    for (const std::string& field :
         InformativeFields(contract, *image, 0, image->pool.bytes)) {
      ++shows[field];
    }
  }
  EXPECT_GT(judged, 1500);
  for (const auto& [field, count] : shows) {
    EXPECT_GE(count, judged / 50) << field;
  }
}

TEST(RepairTest, LeavesGeneratedCasesAlone) {
  int changed = 0;
  for (int seed = 0; seed < 5000; ++seed) {
    Choices choices(seed);
    const GeneratorOptions options =
        seed % 2 == 0 ? GeneratorOptions() : kWithDecode;
    const Case c = GenerateCase(choices, options);
    Case repaired = c;
    RepairCase(repaired, options);
    changed += !MessageDifferencer::Equivalent(c, repaired);
  }
  EXPECT_EQ(changed, 0);
}

// A case that breaks every rule at once comes out usable, and stays as it is
// the second time.
TEST(RepairTest, TakesAnything) {
  for (int seed = 0; seed < 5000; ++seed) {
    Choices choices(seed);
    const GeneratorOptions options =
        seed % 2 == 0 ? GeneratorOptions() : kWithDecode;
    Case c = GenerateCase(choices, options);
    for (int edits = 1 + choices.Below(6); edits > 0; --edits) {
      // Any integer field of any message, to any size.
      google::protobuf::Message* m = &c;
      for (int depth = 0; depth < 4; ++depth) {
        const auto* d = m->GetDescriptor();
        const auto* r = m->GetReflection();
        const auto* f = d->field(choices.Below(d->field_count()));
        using google::protobuf::FieldDescriptor;
        if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          if (f->is_repeated()) {
            const int size = r->FieldSize(*m, f);
            m = size > 0 ? r->MutableRepeatedMessage(m, f, choices.Below(size))
                         : r->AddMessage(m, f);
          } else {
            m = r->MutableMessage(m, f);
          }
          continue;
        }
        const std::uint64_t value =
            choices.Word() >> choices.Pick<int>({0, 32, 48, 60});
        if (f->is_repeated()) {
          if (f->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
            r->AddInt64(m, f, static_cast<std::int64_t>(value));
          } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
            r->AddInt32(m, f, static_cast<std::int32_t>(value));
          }
        } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
          r->SetUInt32(m, f, static_cast<std::uint32_t>(value));
        } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
          r->SetUInt64(m, f, value);
        } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
          r->SetInt32(m, f, static_cast<std::int32_t>(value));
        } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
          r->SetEnumValue(m, f, static_cast<int>(value));
        }
        break;
      }
    }
    RepairCase(c, options);
    absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status() << "\n" << FormatCaseText(c);
    for (int i = 0; i < c.steps_size(); ++i) {
      if (c.steps(i).has_patch()) continue;
      const StepValidity v = Classify(BuiltinContract(), *image, i);
      ASSERT_NE(v.validity, Validity::kUnspecified) << v.reason << "\n"
                                                    << FormatCaseText(c);
    }
    Case again = c;
    RepairCase(again, options);
    EXPECT_TRUE(MessageDifferencer::Equivalent(c, again)) << FormatCaseText(c);
  }
}

// Names and stored findings are canonical forms: they must mean the same bytes.
TEST(Generate, CanonicalFormMeansTheSameBytes) {
  for (int seed = 0; seed < 5000; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(choices, {});
    Case canonical = c;
    Canonicalise(canonical);
    absl::StatusOr<CaseImage> a = BuildImage(c), b = BuildImage(canonical);
    ASSERT_TRUE(a.ok() && b.ok());
    ASSERT_EQ(a->pool.bytes, b->pool.bytes) << FormatCaseText(c);
    ASSERT_EQ(a->steps.size(), b->steps.size());
    for (std::size_t i = 0; i < a->steps.size(); ++i) {
      ASSERT_EQ(a->steps[i].tensors.size(), b->steps[i].tensors.size());
      for (std::size_t k = 0; k < a->steps[i].tensors.size(); ++k) {
        const Tensor& x = a->steps[i].tensors[k];
        const Tensor& y = b->steps[i].tensors[k];
        ASSERT_TRUE(x.id == y.id && x.dtype == y.dtype && x.shape == y.shape &&
                    x.strides == y.strides &&
                    x.misalignment == y.misalignment && x.bytes == y.bytes)
            << TensorName(x.id) << "\n"
            << FormatCaseText(c);
      }
    }
    absl::StatusOr<Case> text = ParseCaseText(FormatCaseText(c));
    ASSERT_TRUE(text.ok()) << text.status();
    ASSERT_EQ(text->SerializeAsString(), c.SerializeAsString());
  }
}

}  // namespace
}  // namespace mlafuzz
