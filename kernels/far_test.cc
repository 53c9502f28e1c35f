// Pools of which a page lies beyond 2 GiB and another beyond 4 GiB: a few pages
// at a stride of 3 GiB in address space that holds memory only where somebody
// touches it. Round trips alone see nothing here: a writer and a reader whose
// products wrap alike agree. So bytes are looked for where they belong, and
// memory that nobody should touch must have stayed unmapped.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/call_args.h"
#include "kernels/kernel_calls.h"
#include "kernels/layouts/page_calls.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
// Pages begin at 0, 3, 6 and 9 GiB and some bytes; 1152 is a multiple of every
// layout's alignment and of 576.
constexpr std::int64_t kFarStride = 3 * kGiB + 1152;
constexpr int kPages = 4;
// What a product in 32 bits can reach: 2 GiB below page 0.
constexpr std::int64_t kBefore = 4 * kGiB;
constexpr std::int64_t kSize = kBefore + kPages * 3 * kGiB + kGiB;

// Untouched memory is zero and takes no room.
class SparseMemory {
 public:
  SparseMemory() {
    void* map = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return;
    map_ = static_cast<std::uint8_t*>(map);
    madvise(map_, kSize, MADV_NOHUGEPAGE);
  }
  ~SparseMemory() {
    if (map_ != nullptr) munmap(map_, kSize);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  bool ok() const { return map_ != nullptr; }
  std::uint8_t* base() const { return map_ + kBefore; }

  // Memory pages that somebody has written to, or read, as distances from
  // base() in bytes.
  std::vector<std::int64_t> Touched() const {
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    std::vector<unsigned char> resident(static_cast<std::size_t>(kSize / page));
    EXPECT_EQ(mincore(map_, kSize, resident.data()), 0);
    std::vector<std::int64_t> touched;
    for (std::size_t i = 0; i < resident.size(); ++i) {
      if ((resident[i] & 1) != 0) {
        touched.push_back(static_cast<std::int64_t>(i) * page - kBefore);
      }
    }
    return touched;
  }

 private:
  std::uint8_t* map_ = nullptr;
};

// The same call on a pool whose pages lie together, and on one whose pages lie
// far apart.
struct Calls {
  CaseImage near;
  PoolImage far;  // without bytes
  std::vector<std::vector<std::uint8_t>> near_data, far_data;
};

std::vector<std::uint8_t*> Pointers(
    std::vector<std::vector<std::uint8_t>>& data) {
  std::vector<std::uint8_t*> pointers;
  for (std::vector<std::uint8_t>& bytes : data)
    pointers.push_back(bytes.data());
  return pointers;
}

// kv_c and the like want 16 bytes, which operator new gives.
Calls MakeCalls(const std::string& text) {
  Calls calls;
  calls.near = test::Image(test::ParseCase(text));
  PoolImage& pool = calls.near.pool;
  EXPECT_EQ(pool.pages, kPages);
  EXPECT_EQ(pool.offset, 0);
  calls.far = pool;
  calls.far.bytes.clear();
  calls.far.page_stride = kFarStride;
  for (const Tensor& tensor : calls.near.steps[0].tensors) {
    calls.near_data.push_back(tensor.bytes);
    calls.far_data.push_back(tensor.bytes);
  }
  return calls;
}

CallResult CallNear(Calls& calls, Target* target) {
  const auto data = Pointers(calls.near_data);
  return CallArgs(calls.near.pool, calls.near.pool.bytes.data(),
                  calls.near.steps[0], data, {kDLCPU, 0})
      .Call(target, {});
}

CallResult CallFar(Calls& calls, Target* target, const SparseMemory& memory) {
  const auto data = Pointers(calls.far_data);
  return CallArgs(calls.far, memory.base(), calls.near.steps[0], data,
                  {kDLCPU, 0})
      .Call(target, {});
}

// All of the far pool's bytes, page by page, are the near one's, and no memory
// but those pages' was touched: in words, or empty.
std::string PagesDiffer(const Calls& calls, const SparseMemory& memory) {
  const PoolImage& pool = calls.near.pool;
  const std::int64_t size = pool.page_bytes();
  const auto begins = [&](std::int64_t page) { return page * kFarStride; };
  for (const std::int64_t at : memory.Touched()) {
    bool known = false;
    for (std::int64_t page = 0; page < pool.pages; ++page) {
      known |=
          at + sysconf(_SC_PAGESIZE) > begins(page) && at < begins(page) + size;
    }
    if (!known) return "memory at " + std::to_string(at) + " was touched";
  }
  for (std::int64_t page = 0; page < pool.pages; ++page) {
    if (std::memcmp(memory.base() + begins(page),
                    pool.bytes.data() + page * pool.page_stride,
                    static_cast<std::size_t>(size)) != 0) {
      return "page " + std::to_string(page) + " differs";
    }
  }
  return "";
}

void CopyPages(const Calls& calls, const SparseMemory& memory) {
  const PoolImage& pool = calls.near.pool;
  for (std::int64_t page = 0; page < pool.pages; ++page) {
    std::memcpy(memory.base() + page * kFarStride,
                pool.bytes.data() + page * pool.page_stride,
                static_cast<std::size_t>(pool.page_bytes()));
  }
}

std::string PoolText(const std::string& layout, const char* fill) {
  return "pool { page_size: 2 pages: 4 layout: " + layout + " fill { " + fill +
         " } }";
}

std::string WriteText(const std::string& layout, int rope) {
  return PoolText(layout, "") +
         "steps { write { slots { values: [7, 0, 3, 4, 5] } pe_dim: " +
         std::to_string(rope) +
         " kv_c { pattern: NORMAL_RANGE seed: 1 }"
         " k_pe { pattern: NORMAL_RANGE seed: 2 } } }";
}

std::string GatherText(const std::string& layout) {
  const bool indexer = layout.rfind("INDEXER", 0) == 0;
  return PoolText(layout, "kind: FINITE_ROWS seed: 3") +
         "steps { gather { dst_rows: 8 workspace_starts: " +
         (indexer ? "[0, 8]" : "[0]") +
         " block_table { rows: 1 columns: 4 pages { values: [3, 0, 2, 1] } } } "
         "}";
}

constexpr struct {
  const char* target;
  const char* layout;
  int rope;
} kTargets[] = {
    {"builtin", "FP8_DS_MLA", 64},
    {"builtin:pow2", "FP8_DS_MLA", 64},
    {"builtin:kimi-k3", "FP8_DS_MLA", 64},
    {"builtin:triton", "FP8_DS_MLA", 64},
    {"builtin:nope-row", "NOPE_ROW_528", 0},
    {"builtin:dsv4", "DSV4_FOOTER_584", 64},
    {"builtin:dsv4-packer", "DSV4_FOOTER_584", 64},
    {"builtin:dsv4_1", "DSV4_1_FOOTER_528", 0},
    {"builtin:indexer", "INDEXER_132", 0},
    {"builtin:indexer-256", "INDEXER_264", 0},
};

#define MLAFUZZ_NEEDS_ADDRESS_SPACE(memory)                         \
  if (!(memory).ok())                                               \
  GTEST_SKIP() << "no " << kSize / kGiB                             \
               << " GiB of address space to be had without memory " \
                  "(vm.overcommit_memory, ulimit -v)"

TEST(Far, WritersStoreWhereTheyShould) {
  for (const auto& t : kTargets) {
    SCOPED_TRACE(t.target);
    const SparseMemory memory;
    MLAFUZZ_NEEDS_ADDRESS_SPACE(memory);
    Calls calls = MakeCalls(WriteText(t.layout, t.rope));
    // Pages that are not written must not be touched to be compared.
    std::fill(calls.near.pool.bytes.begin(), calls.near.pool.bytes.end(), 0);
    const TargetSet set = test::Targets(t.target);
    Target* target = set.For(Kernel::kWriter);
    ASSERT_EQ(CallNear(calls, target).status, CallStatus::kOk);
    const CallResult far = CallFar(calls, target, memory);
    ASSERT_EQ(far.status, CallStatus::kOk) << far.message;
    EXPECT_EQ(PagesDiffer(calls, memory), "");
  }
}

TEST(Far, GathersReadWhereTheyShould) {
  for (const auto& t : kTargets) {
    SCOPED_TRACE(t.target);
    const SparseMemory memory;
    MLAFUZZ_NEEDS_ADDRESS_SPACE(memory);
    Calls calls = MakeCalls(GatherText(t.layout));
    CopyPages(calls, memory);
    const TargetSet set = test::Targets(t.target);
    Target* target = set.For(Kernel::kGather);
    ASSERT_EQ(CallNear(calls, target).status, CallStatus::kOk);
    const CallResult far = CallFar(calls, target, memory);
    ASSERT_EQ(far.status, CallStatus::kOk) << far.message;
    EXPECT_EQ(calls.near_data, calls.far_data);
    EXPECT_EQ(PagesDiffer(calls, memory), "");
  }
}

TEST(Far, GathersWithoutTileScalesReadWhereTheyShould) {
  for (const auto& [name, pool, gather] :
       {std::array{"builtin:byte-gather", "", "output: U8 dst_columns: 656"},
        std::array{"builtin:dsv4-byte-gather", "layout: DSV4_FOOTER_584",
                   "output: U8 dst_columns: 584"},
        std::array{"builtin:one-scale-gather", "row_bytes: 576",
                   "tensor_scale_bits: 0x40400000"}}) {
    SCOPED_TRACE(name);
    const SparseMemory memory;
    MLAFUZZ_NEEDS_ADDRESS_SPACE(memory);
    Calls calls = MakeCalls(
        std::string("pool { page_size: 2 pages: 4 fill { kind: RANDOM_BYTES "
                    "seed: 3 } ") +
        pool + " } steps { gather { dst_rows: 8 workspace_starts: 0 " + gather +
        " block_table { rows: 1 columns: 4 pages { values: [3, 0, 2, 1] } } } "
        "}");
    CopyPages(calls, memory);
    const TargetSet set = test::Targets(name);
    Target* target = set.For(Kernel::kGather);
    ASSERT_EQ(CallNear(calls, target).status, CallStatus::kOk);
    const CallResult far = CallFar(calls, target, memory);
    ASSERT_EQ(far.status, CallStatus::kOk) << far.message;
    EXPECT_EQ(calls.near_data, calls.far_data);
    EXPECT_EQ(PagesDiffer(calls, memory), "");
  }
}

TEST(Far, DecodesReadWhereTheyShould) {
  for (const char* name :
       {"builtin", "builtin:flashinfer-arbitrary", "builtin:flashmla"}) {
    SCOPED_TRACE(name);
    const SparseMemory memory;
    MLAFUZZ_NEEDS_ADDRESS_SPACE(memory);
    Calls calls =
        MakeCalls(PoolText("FP8_DS_MLA", "kind: FINITE_ROWS seed: 3") +
                  "steps { decode { queries: 2 heads: 2 pe_dim: 64"
                  " q { pattern: NORMAL_RANGE seed: 5 }"
                  " indices { rows: 2 width: 8 valid: 8 limit: 8 seed: 4 }"
                  " softmax_scale_bits: 0x3d2aaaab } }");
    CopyPages(calls, memory);
    const TargetSet set = test::Targets(name);
    Target* target = set.For(Kernel::kDecode);
    ASSERT_EQ(CallNear(calls, target).status, CallStatus::kOk);
    const CallResult far = CallFar(calls, target, memory);
    ASSERT_EQ(far.status, CallStatus::kOk) << far.message;
    EXPECT_EQ(calls.near_data, calls.far_data);
    EXPECT_EQ(PagesDiffer(calls, memory), "");
  }
}

// ------------------------------------------------------------- Wrong twins
//
// sgl-project/sglang#40351, vllm-project/vllm#46222: page times stride in 32
// bits. Signed ones fail beyond 2 GiB, unsigned ones beyond 4 GiB alone.

template <class Narrow>
std::int64_t Product(std::int64_t page, std::int64_t stride) {
  return static_cast<Narrow>(page * stride);
}

template <class Narrow>
struct NarrowWriter : kernels::WriterPolicy {
  static __device__ std::uint8_t* Row(const kernels::WriterParams& params,
                                      std::int64_t slot) {
    return params.cache +
           Product<Narrow>(slot / params.page_size, params.page_stride) +
           slot % params.page_size * params.row_stride;
  }
};

template <class Narrow>
struct NarrowGather : kernels::GatherPolicy {
  static __device__ const std::uint8_t* Row(const kernels::GatherParams& params,
                                            std::int64_t page,
                                            std::int64_t row) {
    return params.cache + Product<Narrow>(page, params.page_stride) +
           row * params.row_stride;
  }
};

// Of the layouts with scales behind a page's rows: both of a token's parts.
template <class Narrow>
struct NarrowPageWriter : kernels::Dsv4InsertPolicy {
  static __device__ std::uint8_t* Begin(const kernels::WriterParams& params,
                                        std::int64_t slot) {
    return params.cache +
           Product<Narrow>(slot / params.page_size, params.page_stride);
  }
  static __device__ std::uint8_t* Row(const kernels::WriterParams& params,
                                      std::int64_t slot) {
    return Begin(params, slot) + slot % params.page_size * Format::kRowBytes;
  }
  static __device__ std::uint8_t* Entry(const kernels::WriterParams& params,
                                        std::int64_t slot) {
    return Begin(params, slot) + params.page_size * Format::kRowBytes +
           slot % params.page_size * Format::kEntryBytes;
  }
};

class Twin : public Target {
 public:
  using WriteCall = CallResult (*)(const WriteArgs&, const LaunchContext&);
  using GatherCall = CallResult (*)(const GatherArgs&, const LaunchContext&);
  Twin(WriteCall write, GatherCall gather) : write_(write), gather_(gather) {}
  const std::string& name() const override { return name_; }
  const Contract& contract() const override {
    return Contract::default_instance();
  }
  const Arithmetic& arithmetic() const override {
    return Arithmetic::default_instance();
  }
  bool Implements(Kernel) const override { return true; }
  CallResult Write(const WriteArgs& args, const LaunchContext& c) override {
    return write_(args, c);
  }
  CallResult Gather(const GatherArgs& args, const LaunchContext& c) override {
    return gather_(args, c);
  }

 private:
  const std::string name_ = "twin";
  WriteCall write_;
  GatherCall gather_;
};

TEST(Far, WritersWithNarrowProductsAreFound) {
  for (const auto& [layout, write] :
       {std::pair("FP8_DS_MLA", &CallWriter<NarrowWriter<std::int32_t>>),
        std::pair("FP8_DS_MLA", &CallWriter<NarrowWriter<std::uint32_t>>),
        std::pair("DSV4_FOOTER_584",
                  &CallPageWriter<NarrowPageWriter<std::int32_t>>),
        std::pair("DSV4_FOOTER_584",
                  &CallPageWriter<NarrowPageWriter<std::uint32_t>>)}) {
    const SparseMemory memory;
    MLAFUZZ_NEEDS_ADDRESS_SPACE(memory);
    Calls calls = MakeCalls(WriteText(layout, 64));
    std::fill(calls.near.pool.bytes.begin(), calls.near.pool.bytes.end(), 0);
    Twin twin(write, nullptr);
    // As right as any where pages lie together.
    ASSERT_EQ(CallNear(calls, &twin).status, CallStatus::kOk);
    ASSERT_EQ(CallFar(calls, &twin, memory).status, CallStatus::kOk);
    EXPECT_NE(PagesDiffer(calls, memory), "") << layout;
  }
}

TEST(Far, GathersWithNarrowProductsAreFound) {
  for (const Twin::GatherCall gather :
       {&CallGather<NarrowGather<std::int32_t>>,
        &CallGather<NarrowGather<std::uint32_t>>}) {
    const SparseMemory memory;
    MLAFUZZ_NEEDS_ADDRESS_SPACE(memory);
    Calls calls = MakeCalls(GatherText("FP8_DS_MLA"));
    CopyPages(calls, memory);
    Twin twin(nullptr, gather);
    ASSERT_EQ(CallNear(calls, &twin).status, CallStatus::kOk);
    ASSERT_EQ(CallFar(calls, &twin, memory).status, CallStatus::kOk);
    EXPECT_NE(calls.near_data, calls.far_data);
  }
}

// What makes them worth this file: together they look right.
TEST(Far, ARoundTripOfTwoNarrowProductsPasses) {
  const SparseMemory memory;
  MLAFUZZ_NEEDS_ADDRESS_SPACE(memory);
  Calls writes = MakeCalls(WriteText("FP8_DS_MLA", 64));
  std::fill(writes.near.pool.bytes.begin(), writes.near.pool.bytes.end(), 0);
  Calls gathers = MakeCalls(GatherText("FP8_DS_MLA"));
  Twin twin(&CallWriter<NarrowWriter<std::int32_t>>,
            &CallGather<NarrowGather<std::int32_t>>);
  ASSERT_EQ(CallNear(writes, &twin).status, CallStatus::kOk);
  ASSERT_EQ(CallFar(writes, &twin, memory).status, CallStatus::kOk);
  gathers.near.pool.bytes = writes.near.pool.bytes;
  ASSERT_EQ(CallNear(gathers, &twin).status, CallStatus::kOk);
  ASSERT_EQ(CallFar(gathers, &twin, memory).status, CallStatus::kOk);
  EXPECT_EQ(gathers.near_data, gathers.far_data);
  EXPECT_NE(PagesDiffer(writes, memory), "");
}

}  // namespace
}  // namespace mlafuzz
