// The oracle against what vLLM's kernels did on an H200: every byte of 31
// recorded cases. See oracle/testdata/README.md.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "oracle/expect.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::json;

constexpr char kFolder[] = "oracle/testdata/";

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// The manifest and its data, read once.
struct Recording {
  Json manifest;
  std::string data;

  static const Recording& Get() {
    static const Recording* const kRecording = [] {
      auto* r = new Recording;
      r->manifest =
          Json::parse(ReadAll(std::string(kFolder) + "vllm_public.json"));
      r->data = ReadAll(std::string(kFolder) + "vllm_public.bin");
      return r;
    }();
    return *kRecording;
  }
};

std::vector<std::uint8_t> ArrayBytes(const Json& array) {
  const std::string& data = Recording::Get().data;
  const std::size_t at = array.at("offset");
  const std::size_t size = array.at("bytes");
  EXPECT_LE(at + size, data.size());
  return {data.begin() + at, data.begin() + at + size};
}

// A recorded case as an image. `step` lives beside it, since images point to
// their cases.
struct RecordedCase {
  Step step;
  CaseImage image;
  std::vector<std::uint8_t> after;  // the pool, or dst
};

Tensor MakeTensor(TensorId id, DType dtype, const Json& array, int ndim,
                  std::int64_t rows, std::int64_t columns,
                  std::int64_t stride) {
  Tensor t{.id = id, .dtype = dtype};
  t.ndim = ndim;
  t.shape = {rows, columns};
  t.strides = {stride, 1};
  t.bytes = ArrayBytes(array);
  return t;
}

Tensor MakeList(TensorId id, DType dtype, const Json& array) {
  return MakeTensor(id, dtype, array, 1, array.at("shape")[0], 0, 1);
}

void FillPool(const Json& c, const Json& bytes, PoolImage* pool) {
  pool->pages = c.at("num_blocks");
  pool->page_size = c.at("block_size");
  pool->page_stride = c.at("block_stride_bytes");
  pool->row_stride = c.at("entry_stride_bytes");
  pool->row_bytes = 656;
  pool->bytes = ArrayBytes(bytes);
}

void LoadCase(const Json& c, RecordedCase* out) {
  const Json& arrays = c.at("arrays");
  out->image.steps.resize(1);
  StepImage& step = out->image.steps[0];
  step.step = &out->step;
  if (c.at("op") == "write") {
    out->step.mutable_write();
    step.kernel = Kernel::kWriter;
    FillPool(c, arrays.at("cache_before"), &out->image.pool);
    const DType input = c.at("input_dtype") == "fp16" ? F16 : BF16;
    const std::int64_t rows = c.at("source_rows");
    step.tensors.push_back(MakeTensor(TensorId::kKvC, input, arrays.at("kv_c"),
                                      2, rows, 512,
                                      c.at("kv_c_row_stride_elems")));
    if (!arrays.at("k_pe").is_null()) {
      step.tensors.push_back(
          MakeTensor(TensorId::kKPe, input, arrays.at("k_pe"), 2, rows,
                     c.at("pe_dim"), c.at("k_pe_row_stride_elems")));
    }
    step.tensors.push_back(
        MakeList(TensorId::kSlotMapping, I64, arrays.at("slot_mapping")));
    out->after = ArrayBytes(arrays.at("cache_after"));
    return;
  }
  out->step.mutable_gather();
  step.kernel = Kernel::kGather;
  FillPool(c, arrays.at("cache"), &out->image.pool);
  const std::int64_t stride = c.at("dst_row_stride_elems");
  step.tensors.push_back(MakeTensor(TensorId::kDst, BF16,
                                    arrays.at("dst_before"), 2, c.at("rows"),
                                    576, stride));
  step.tensors.back().output = true;
  const std::int64_t width = c.at("block_table_width");
  step.tensors.push_back(MakeTensor(TensorId::kBlockTable, I32,
                                    arrays.at("block_table"), 2,
                                    c.at("requests"), width, width));
  step.tensors.push_back(
      MakeList(TensorId::kWorkspaceStarts, I32, arrays.at("workspace_starts")));
  if (!arrays.at("seq_starts").is_null()) {
    step.tensors.push_back(
        MakeList(TensorId::kSeqStarts, I32, arrays.at("seq_starts")));
  }
  out->after = ArrayBytes(arrays.at("dst_after"));
}

// vLLM's contract; for the fork's text with rows without rope.
Contract ContractFor(const Json& c) {
  Contract contract = VllmContract();
  if (c.at("op") == "write" && c.at("pe_dim") == 0) {
    contract.mutable_writer()->add_pe_dims(0);
    contract.mutable_writer()->set_tail(WriterContract::TAIL_ZERO);
  }
  return contract;
}

std::vector<std::uint8_t> Predict(const Contract& contract,
                                  const RecordedCase& c) {
  const Expectation e = Expect(contract, c.image, 0, c.image.pool.bytes);
  if (c.image.steps[0].kernel == Kernel::kGather) {
    EXPECT_TRUE(e.pool.empty());
    return e.outputs[0];
  }
  return e.pool.empty() ? c.image.pool.bytes : e.pool;
}

std::int64_t Differing(const std::vector<std::uint8_t>& a,
                       const std::vector<std::uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    count += a[i] != b[i] ? 1 : 0;
  }
  return count;
}

const Json& CaseNamed(const std::string& id) {
  for (const Json& c : Recording::Get().manifest.at("cases")) {
    if (c.at("id") == id) return c;
  }
  ADD_FAILURE() << "no case " << id;
  return Recording::Get().manifest;
}

TEST(RecordedVllm, EveryByteOfEveryCase) {
  const Json& cases = Recording::Get().manifest.at("cases");
  ASSERT_EQ(cases.size(), 31u);
  int written = 0;
  for (const Json& c : cases) {
    RecordedCase recorded;
    LoadCase(c, &recorded);
    EXPECT_EQ(Differing(Predict(ContractFor(c), recorded), recorded.after), 0)
        << c.at("id");
    written += Differing(recorded.image.steps[0].kernel == Kernel::kGather
                             ? recorded.image.steps[0].tensors[0].bytes
                             : recorded.image.pool.bytes,
                         recorded.after) > 0
                   ? 1
                   : 0;
  }
  EXPECT_EQ(written, 30);  // w07 has no slot to write
}

TEST(RecordedVllm, Fp16MagnitudeWouldDiffer) {
  const Json& c = CaseNamed("w15_fp16_input");
  RecordedCase recorded;
  LoadCase(c, &recorded);
  Contract contract = VllmContract();
  EXPECT_EQ(contract.writer().fp16_amax(), WriterContract::FP16_RAW_BITS);
  contract.mutable_writer()->set_fp16_amax(WriterContract::FP16_MAGNITUDE);
  EXPECT_GT(Differing(Predict(contract, recorded), recorded.after), 0);
}

TEST(RecordedVllm, RowsNeverWrittenKeepTheirCanary) {
  for (const char* id : {"g08_rows_before_first_start", "g10_dropped_pages_bs1",
                         "g11_dropped_pages_bs4"}) {
    const Json& c = CaseNamed(id);
    RecordedCase recorded;
    LoadCase(c, &recorded);
    const std::vector<std::uint8_t> dst = Predict(ContractFor(c), recorded);
    const Json& never = c.at("rows_never_written");
    EXPECT_GT(never.size(), 0u);
    for (std::int64_t row = 0; row < c.at("rows"); ++row) {
      const auto begin = dst.begin() + row * 2 * 576;
      const bool canary = std::all_of(begin, begin + 2 * 576,
                                      [](std::uint8_t b) { return b == 0x5a; });
      const bool listed =
          std::find(never.begin(), never.end(), row) != never.end();
      EXPECT_EQ(canary, listed) << id << " row " << row;
    }
  }
}

// A launch without a limit on page tasks would have written them.
TEST(RecordedVllm, DroppedPagesNeedTheTaskLimit) {
  for (const char* id : {"g10_dropped_pages_bs1", "g11_dropped_pages_bs4"}) {
    const Json& c = CaseNamed(id);
    RecordedCase recorded;
    LoadCase(c, &recorded);
    Contract contract = ContractFor(c);
    EXPECT_EQ(Classify(contract, recorded.image, 0).rule, "gather.page_tasks");
    contract.mutable_gather()->set_page_tasks(GatherContract::EVERY_PAGE);
    EXPECT_GT(Differing(Predict(contract, recorded), recorded.after), 0) << id;
    // Requests 0 and 2 read the same pages: no race, a defined result.
    EXPECT_EQ(Classify(contract, recorded.image, 0).validity,
              Validity::kBoundary)
        << id;
  }
}

TEST(RecordedVllm, AllOtherCasesAreValidForVllm) {
  for (const Json& c : Recording::Get().manifest.at("cases")) {
    const std::string id = c.at("id");
    if (id == "g10_dropped_pages_bs1" || id == "g11_dropped_pages_bs4") {
      continue;
    }
    RecordedCase recorded;
    LoadCase(c, &recorded);
    const StepValidity v = Classify(ContractFor(c), recorded.image, 0);
    EXPECT_TRUE(v.validity == Validity::kValid ||
                v.validity == Validity::kBoundary)
        << id << ": " << v.rule << ": " << v.reason;
  }
}

// Every other value of every rule that these data bear on is wrong about some
// case: the recording is not blind to the rule.
TEST(RecordedVllm, NeighbouringRulesAreRefuted) {
  std::vector<std::string> refuted;
  for (Kernel kernel : {Kernel::kWriter, Kernel::kGather}) {
    for (const Neighbour& n : Neighbours(VllmContract(), kernel)) {
      bool wrong = false;
      for (const Json& c : Recording::Get().manifest.at("cases")) {
        if ((c.at("op") == "write") != (kernel == Kernel::kWriter)) continue;
        RecordedCase recorded;
        LoadCase(c, &recorded);
        if (Differing(Predict(n.contract, recorded), recorded.after) > 0) {
          wrong = true;
          break;
        }
      }
      if (wrong) refuted.push_back(n.field + "=" + n.changed);
    }
  }
  for (const char* rule : {"writer.scale=POW2_CEIL",
                           "writer.scale_division=TIMES_RECIPROCAL",
                           "writer.floor=FLOOR_NONE",
                           "writer.floor_bits=0x38d1b717",
                           "writer.code_division=CODE_RECIPROCAL",
                           "writer.code_rounding=TOWARD_ZERO",
                           "writer.nan=NAN_TO_MINUS_448",
                           "writer.nan=NAN_POISONS_SCALE",
                           "writer.inf=INF_SATURATES",
                           "writer.negative_zero=NEGATIVE_ZERO_POSITIVE",
                           "writer.fp16_amax=FP16_MAGNITUDE",
                           "writer.tail=TAIL_UNCHANGED",
                           "gather.page_tasks=EVERY_PAGE",
                           "gather.page_tasks=ROWS_ONLY",
                           "gather.scale=SCALE_POW2_FLOOR",
                           "gather.scale=SCALE_BF16",
                           "gather.product=BF16_TRUNCATED",
                           "gather.product=FLUSH_DENORMALS",
                           "gather.codes=E4M3FNUZ",
                           "gather.codes=E4M3FN_NO_SUBNORMALS"}) {
    EXPECT_NE(std::find(refuted.begin(), refuted.end(), rule), refuted.end())
        << rule;
  }
}

}  // namespace
}  // namespace mlafuzz
