// Wrong writers: what is kept between calls, cheats, refusals. State lives on
// the host's side of a call, on a GPU too.
#include <algorithm>

#include "kernels/kernel_calls.h"
#include "kernels/mutants/changed_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::WriterParams;
using kernels::WriterPolicy;

// The page's geometry is that of the first pool ever seen.
CallResult FirstGeometry(const WriteArgs& args, const LaunchContext& context) {
  return WriteChanged(args, context, [](WriterParams& params) {
    static const std::int64_t kPageSize = params.page_size;
    params.page_size = kPageSize;
  });
}

// Where slots, values and pool lie as in the last call, nothing is done: the
// answer must be there already.
CallResult TrustsLastCall(const WriteArgs& args, const LaunchContext& context) {
  struct Key {
    const void* kv_c;
    const void* slots;
    const void* cache;
    std::int64_t tokens;
    bool operator==(const Key&) const = default;
  };
  static Key last = {};
  if (std::string why = WhyRefuseWrite(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const WriterParams params = ToParams(args);
  const Key key = {params.kv_c, params.slots, params.cache, params.tokens};
  if (key == last) return CallResult::Ok();
  last = key;
  return CallWriter<WriterPolicy>(args, context);
}

// Right for one call in a process; takes its sources to be dense afterwards.
CallResult RightOnce(const WriteArgs& args, const LaunchContext& context) {
  static bool first = true;
  return WriteChanged(args, context, [](WriterParams& params) {
    if (!first) params.kv_c_row_stride = kernels::kLatent;
    if (!first) params.k_pe_row_stride = kernels::kRope;
    first = false;
  });
}

// Every token gets the values of the first.
CallResult FirstTokenForAll(const WriteArgs& args,
                            const LaunchContext& context) {
  return WriteChanged(args, context,
                      [](WriterParams& params) { params.kv_c_row_stride = 0; });
}

// The last two rope values of the source are cleared once they are copied.
struct ScribblesOnInput : WriterPolicy {
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    WriterPolicy::WriteTail(params, token, row, lane);
    if (params.k_pe == nullptr || lane != 31) return;
    reinterpret_cast<unsigned*>(const_cast<std::uint16_t*>(
        params.k_pe + token * params.k_pe_row_stride))[lane] = 0;
  }
};

// One row for all: codes of 1, scales of 1.
struct Constant : WriterPolicy {
  template <class Policy>
  static __device__ float Scale(float, bool) {
    return 1.0f;
  }
  template <class Input>
  static __device__ unsigned Code(unsigned, float) {
    return 0x38u;
  }
};

// Eight largest values in a row become zeros: nothing that random numbers show.
struct ZeroesConstants : WriterPolicy {
  static __device__ void StoreCodes(std::uint8_t* row, unsigned lane,
                                    uint2 codes) {
    const bool constant = codes.x == codes.y && codes.x == 0x7e7e7e7eu;
    WriterPolicy::StoreCodes(row, lane, constant ? make_uint2(0, 0) : codes);
  }
};

// Two tokens a block, and a grid of half their number, rounded down.
CallResult OddTokenDropped(const WriteArgs& args,
                           const LaunchContext& context) {
  return WriteChanged(args, context, [](WriterParams& params) {
    if (params.tokens > 2) params.tokens -= params.tokens % 2;
  });
}

CallResult RefusesStrides(const WriteArgs& args, const LaunchContext& context) {
  if (args.kv_c != nullptr && args.kv_c->ndim == 2 && args.kv_c->shape[0] > 1 &&
      args.kv_c->shape[1] == kernels::kLatent &&
      args.kv_c->strides[0] != kernels::kLatent) {
    return CallResult::Refused("kv_c must be contiguous");
  }
  return CallWriter<WriterPolicy>(args, context);
}

CallResult RefusesMany(const WriteArgs& args, const LaunchContext& context) {
  if (args.slot_mapping != nullptr && args.slot_mapping->shape[0] > 64) {
    return CallResult::Refused("more than 64 tokens");
  }
  return CallWriter<WriterPolicy>(args, context);
}

// Without one of the host's checks.
CallResult Ignoring(const WriteArgs& args, const LaunchContext& context,
                    const char* words) {
  return WriteChanged(args, context, [](WriterParams&) {}, words);
}

// As many rows as there are, without a word of those that are missing.
CallResult TakesMissingRows(const WriteArgs& args,
                            const LaunchContext& context) {
  return WriteChanged(
      args, context,
      [&args](WriterParams& params) {
        params.tokens = std::min(params.tokens, args.kv_c->shape[0]);
      },
      "slot_mapping ");
}

// What may not overlap is left alone, and said to be done.
CallResult NothingOnOverlap(const WriteArgs& args,
                            const LaunchContext& context) {
  if (WhyRefuseWrite(args).find("overlap") != std::string::npos) {
    return CallResult::Ok();
  }
  return CallWriter<WriterPolicy>(args, context);
}

// A call without tokens is an empty grid, and that a launch error.
CallResult EmptyGrid(const WriteArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseWrite(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  return ToCallResult(kernels::LaunchWriter<WriterPolicy>(
      ToParams(args), StreamOf(context), {context.schedule}));
}

}  // namespace

std::vector<CompiledTarget> WriterStateMutants() {
  return {
      {"mutant:writer-first-geometry",
       "writer keeps the page size of its first call",
       {.write = FirstGeometry}},
      {"mutant:writer-trusts-last-call",
       "writer does nothing where buffers lie as in the last call",
       {.write = TrustsLastCall}},
      {"mutant:writer-right-once",
       "writer honours the strides of its sources in its first call alone",
       {.write = RightOnce}},
      {"mutant:writer-first-token-for-all",
       "writer is right for one token, and gives its values to all",
       {.write = FirstTokenForAll}},
      {"mutant:writer-scribbles-on-input",
       "writer clears the last values of k_pe",
       {.write = CallWriter<ScribblesOnInput>}},
      {"mutant:writer-constant",
       "writer stores the same codes and scales whatever comes",
       {.write = CallWriter<Constant>}},
      {"mutant:writer-zeroes-constants",
       "writer stores zeros for 8 largest values in a row",
       {.write = CallWriter<ZeroesConstants>}},
      {"mutant:writer-odd-token-dropped",
       "writer takes two tokens a block and drops the odd one",
       {.write = OddTokenDropped}},
      {"mutant:writer-refuses-strides",
       "writer refuses kv_c that is not contiguous",
       {.write = RefusesStrides}},
      {"mutant:writer-refuses-many",
       "writer refuses more than 64 tokens",
       {.write = RefusesMany}},
      {"mutant:writer-takes-any-latent",
       "writer does not check the latent width",
       {.write =
            [](const WriteArgs& args, const LaunchContext& context) {
              return Ignoring(args, context, "kv_lora_rank");
            }}},
      {"mutant:writer-takes-any-rope",
       "writer does not check the rope width",
       {.write =
            [](const WriteArgs& args, const LaunchContext& context) {
              return Ignoring(args, context, "pe_dim");
            }}},
      {"mutant:writer-takes-any-row",
       "writer does not check the bytes of a cache row",
       {.write =
            [](const WriteArgs& args, const LaunchContext& context) {
              return Ignoring(args, context, "kv_cache row must be");
            }}},
      {"mutant:writer-takes-any-dtype",
       "writer does not check the type of its sources",
       {.write =
            [](const WriteArgs& args, const LaunchContext& context) {
              return Ignoring(args, context, "must be bf16 or f16");
            }}},
      {"mutant:writer-takes-any-alignment",
       "writer does not check where cache rows start",
       {.write =
            [](const WriteArgs& args, const LaunchContext& context) {
              return Ignoring(args, context, "kv_cache must be 8-byte aligned");
            }}},
      {"mutant:writer-takes-missing-rows",
       "writer stores as many rows as there are and says nothing of the rest",
       {.write = TakesMissingRows}},
      {"mutant:writer-takes-overlap",
       "writer does nothing where rows overlap, and says ok",
       {.write = NothingOnOverlap}},
      {"mutant:writer-empty-grid",
       "writer launches an empty grid for no tokens",
       {.write = EmptyGrid}},
  };
}

}  // namespace mlafuzz
