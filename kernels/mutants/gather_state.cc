// Wrong gathers: what is kept between calls, cheats, refusals. State lives on
// the host's side of a call, on a GPU too.
#include <algorithm>

#include "kernels/kernel_calls.h"
#include "kernels/mutants/changed_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::GatherParams;
using kernels::GatherPolicy;

// The page size of the first pool ever seen.
CallResult FirstGeometry(const GatherArgs& args, const LaunchContext& context) {
  return GatherChanged(args, context, [](GatherParams& params) {
    static const std::int64_t kPageSize = params.page_size;
    params.page_size = kPageSize;
  });
}

// The plan of the last call serves this one if it has as many rows and
// requests: whether there are first tokens is a part of it.
CallResult KeepsPlan(const GatherArgs& args, const LaunchContext& context) {
  static std::int64_t rows = -1, requests = -1;
  static bool firsts = false;
  return GatherChanged(args, context, [](GatherParams& params) {
    if (params.dst_rows != rows || params.requests != requests) {
      rows = params.dst_rows;
      requests = params.requests;
      firsts = params.seq_starts != nullptr;
    }
    if (!firsts) params.seq_starts = nullptr;
  });
}

// Where dst, table and pool lie as in the last call, nothing is done: dst may
// hold the answer already.
CallResult InheritsAnswer(const GatherArgs& args,
                          const LaunchContext& context) {
  struct Key {
    const void* dst;
    const void* table;
    const void* cache;
    std::int64_t rows;
    bool operator==(const Key&) const = default;
  };
  static Key last = {};
  if (std::string why = WhyRefuseGather(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const GatherParams params = ToParams(args);
  const Key key = {params.dst, params.table, params.cache, params.dst_rows};
  if (key == last) return CallResult::Ok();
  last = key;
  return CallGather<GatherPolicy>(args, context);
}

// Right where the batch is one request; the others lose their rope.
CallResult RightAlone(const GatherArgs& args, const LaunchContext& context) {
  return GatherChanged(args, context, [](GatherParams& params) {
    if (params.requests > 1) params.nope = true;
  });
}

// Two rows at a time; an odd one that is left over is left out.
struct OddRowDropped : GatherPolicy {
  static __device__ kernels::GatherTask Found(const GatherParams&,
                                              kernels::GatherTask found) {
    if (found.count > 1) found.count -= found.count % 2;
    return found;
  }
};

// Zeros, whatever the pool holds.
struct Zeros : GatherPolicy {
  static __device__ unsigned Values(unsigned, float) { return 0; }
};

// Scales are marked as read.
struct MarksPool : GatherPolicy {
  static __device__ unsigned TailPair(const std::uint8_t* row, unsigned lane,
                                      bool nope) {
    const unsigned pair = GatherPolicy::TailPair(row, lane, nope);
    if (lane == 0) const_cast<std::uint8_t*>(row)[kernels::kScaleAt] |= 1;
    return pair;
  }
};

CallResult RefusesLengths(const GatherArgs& args,
                          const LaunchContext& context) {
  if (args.seq_lens != nullptr) {
    return CallResult::Refused("seq_lens are not supported");
  }
  return CallGather<GatherPolicy>(args, context);
}

CallResult RefusesPageSizes(const GatherArgs& args,
                            const LaunchContext& context) {
  if (args.cache != nullptr && args.cache->ndim == 3) {
    const std::int64_t size = args.cache->shape[1];
    if (size > 0 && (size & (size - 1)) != 0) {
      return CallResult::Refused("page size must be a power of two");
    }
  }
  return CallGather<GatherPolicy>(args, context);
}

// Without one of the host's checks.
CallResult Ignoring(const GatherArgs& args, const LaunchContext& context,
                    const char* words) {
  return GatherChanged(args, context, [](GatherParams&) {}, words);
}

// As many requests as all of the lists have, without a word of the others.
CallResult TakesFewest(const GatherArgs& args, const LaunchContext& context) {
  return GatherChanged(
      args, context,
      [&args](GatherParams& params) {
        for (const DLTensor* list :
             {args.workspace_starts, args.seq_lens, args.seq_starts}) {
          if (list == nullptr) continue;
          params.requests = std::min(params.requests, list->shape[0]);
        }
      },
      "block_table ");
}

// What may not overlap is left alone, and said to be done.
CallResult NothingOnOverlap(const GatherArgs& args,
                            const LaunchContext& context) {
  if (WhyRefuseGather(args).find("overlap") != std::string::npos) {
    return CallResult::Ok();
  }
  return CallGather<GatherPolicy>(args, context);
}

}  // namespace

std::vector<CompiledTarget> GatherStateMutants() {
  return {
      {"mutant:gather-first-geometry",
       "gather keeps the page size of its first call",
       {.gather = FirstGeometry}},
      {"mutant:gather-keeps-plan",
       "gather keeps whether requests have first tokens while shapes stay",
       {.gather = KeepsPlan}},
      {"mutant:gather-inherits-answer",
       "gather does nothing where buffers lie as in the last call",
       {.gather = InheritsAnswer}},
      {"mutant:gather-right-alone",
       "gather copies the rope of a request that comes alone",
       {.gather = RightAlone}},
      {"mutant:gather-odd-row-dropped",
       "gather drops the odd row of each page",
       {.gather = CallGather<OddRowDropped>}},
      {"mutant:gather-zeros",
       "gather stores zeros for latent values",
       {.gather = CallGather<Zeros>}},
      {"mutant:gather-marks-pool",
       "gather sets a bit of the scales that it has read",
       {.gather = CallGather<MarksPool>}},
      {"mutant:gather-refuses-lengths",
       "gather refuses lengths of their own",
       {.gather = RefusesLengths}},
      {"mutant:gather-refuses-page-sizes",
       "gather refuses page sizes that are no power of two",
       {.gather = RefusesPageSizes}},
      {"mutant:gather-takes-any-columns",
       "gather does not check the columns of dst",
       {.gather =
            [](const GatherArgs& args, const LaunchContext& context) {
              return Ignoring(args, context, "dst must have ");
            }}},
      {"mutant:gather-takes-any-dtype",
       "gather does not check the type of dst",
       {.gather =
            [](const GatherArgs& args, const LaunchContext& context) {
              return Ignoring(args, context, "dst must be bf16");
            }}},
      {"mutant:gather-takes-any-row",
       "gather does not check the bytes of a cache row",
       {.gather =
            [](const GatherArgs& args, const LaunchContext& context) {
              return Ignoring(args, context, "kv_cache row must be");
            }}},
      {"mutant:gather-takes-fewest",
       "gather takes as many requests as all lists have, and says nothing",
       {.gather = TakesFewest}},
      {"mutant:gather-takes-any-alignment",
       "gather does not check where rows of the cache start",
       {.gather =
            [](const GatherArgs& args, const LaunchContext& context) {
              return Ignoring(args, context, "kv_cache must be 8-byte aligned");
            }}},
      {"mutant:gather-takes-overlap",
       "gather does nothing where rows of dst overlap, and says ok",
       {.gather = NothingOnOverlap}},
  };
}

}  // namespace mlafuzz
