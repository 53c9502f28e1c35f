// Wrong gathers: which rows of which pages become which rows of dst.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/changed_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::GatherParams;
using kernels::GatherPolicy;
using kernels::GatherTask;

// The page's offset is kept in an integer that is too narrow. Where it was met
// that had 32 bits; 16 are as many for pools that fit into a test.
struct NarrowProduct : GatherPolicy {
  static __device__ const std::uint8_t* Row(const GatherParams& params,
                                            std::int64_t page,
                                            std::int64_t row) {
    const auto offset = static_cast<std::uint16_t>(page * params.page_stride);
    return params.cache + offset + row * params.row_stride;
  }
};

// Offsets in units of 16 bytes, as wide loads want them: what is no multiple is
// cut off.
struct Offset16 : GatherPolicy {
  static __device__ const std::uint8_t* Row(const GatherParams& params,
                                            std::int64_t page,
                                            std::int64_t row) {
    return params.cache +
           (GatherPolicy::Row(params, page, row) - params.cache) / 16 * 16;
  }
};

// Columns of the block table count from the request's first page.
struct ColumnsFromZero : GatherPolicy {
  static __device__ std::int64_t Column(std::int64_t, std::int64_t task) {
    return task;
  }
};

// Off by one where one request ends and the next begins.
struct BoundaryTask : GatherPolicy {
  static __device__ bool IsPast(std::int64_t task, std::int64_t pages) {
    return task > pages;
  }
};

// The offset in the page is never added.
struct PageStart : GatherPolicy {
  static __device__ GatherTask Found(const GatherParams&, GatherTask found) {
    found.offset = 0;
    return found;
  }
};

// A page is read to its end, whether or not the request goes on so far.
struct WholePages : GatherPolicy {
  static __device__ GatherTask Found(const GatherParams& params,
                                     GatherTask found) {
    found.count = params.page_size - found.offset;
    return found;
  }
};

struct LastRowDropped : GatherPolicy {
  static __device__ GatherTask Found(const GatherParams&, GatherTask found) {
    if (found.count > 1) --found.count;
    return found;
  }
};

// Every row from the one behind it, but for the page's last.
struct RowOffByOne : GatherPolicy {
  static __device__ GatherTask Found(const GatherParams& params,
                                     GatherTask found) {
    if (found.offset + found.count < params.page_size) ++found.offset;
    return found;
  }
};

// The number of pages follows from the length alone: a request that starts
// inside a page may need one more.
struct PagesByLength : GatherPolicy {
  static __device__ std::int64_t Pages(std::int64_t begin, std::int64_t end,
                                       std::int64_t page_size) {
    return (end - begin + page_size - 1) / page_size;
  }
};

// A length below 0 counts backwards.
struct NegativeLengths : GatherPolicy {
  template <class Policy>
  static __device__ std::int64_t Length(const GatherParams& params,
                                        std::int64_t request) {
    if (params.seq_lens != nullptr) return params.seq_lens[request];
    return GatherPolicy::Length<Policy>(params, request);
  }
};

// Starts past the end of dst are taken as they are.
struct StartsUnclamped : GatherPolicy {
  static __device__ std::int64_t Start(const GatherParams& params,
                                       std::int64_t request) {
    return request == params.requests ? params.dst_rows
                                      : params.starts[request];
  }
};

// Rows of a page in the order in which two ranks hold them: even ones, then odd
// ones.
struct RankOrder : GatherPolicy {
  static __device__ const std::uint8_t* Row(const GatherParams& params,
                                            std::int64_t page,
                                            std::int64_t row) {
    const std::int64_t half = (params.page_size + 1) / 2;
    return GatherPolicy::Row(params, page,
                             row < half ? 2 * row : 2 * (row - half) + 1);
  }
};

// The other lanes do not wait for the one that finds their task.
struct TaskUnpublished : GatherPolicy {
  static __device__ void PublishTask() {}
};

// The next row's scales take the place of those that are still in use.
struct ScalesOverwritten : GatherPolicy {
  static __device__ void ReleaseScales() {}
};

// A request without rows is waited for, and never comes.
struct WaitsForEmpty : GatherPolicy {
  static constexpr std::uint64_t kSyncLimit = 1u << 16;
  template <class Policy>
  static __device__ std::int64_t Length(const GatherParams& params,
                                        std::int64_t request) {
    std::int64_t length;
    while ((length = GatherPolicy::Length<Policy>(params, request)) == 0) {
      __syncwarp(1);
    }
    return length;
  }
};

// Half of the workspace is filled, as if its rows were twice as long.
CallResult HalfWorkspace(const GatherArgs& args, const LaunchContext& context) {
  return GatherChanged(args, context, [](GatherParams& params) {
    if (params.seq_lens == nullptr) params.dst_rows -= params.dst_rows / 2;
  });
}

CallResult PageStrideFromShape(const GatherArgs& args,
                               const LaunchContext& context) {
  return GatherChanged(args, context, [](GatherParams& params) {
    params.page_stride = params.page_size * params.row_stride;
  });
}

CallResult RowStrideFromShape(const GatherArgs& args,
                              const LaunchContext& context) {
  return GatherChanged(args, context, [](GatherParams& params) {
    params.row_stride = kernels::kRowBytes;
  });
}

CallResult DstStrideFromShape(const GatherArgs& args,
                              const LaunchContext& context) {
  return GatherChanged(args, context, [](GatherParams& params) {
    params.dst_row_stride = kernels::kWorkspaceColumns;
  });
}

CallResult PagesOf64(const GatherArgs& args, const LaunchContext& context) {
  return GatherChanged(args, context,
                       [](GatherParams& params) { params.page_size = 64; });
}

CallResult ShiftedPages(const GatherArgs& args, const LaunchContext& context) {
  return GatherChanged(args, context, [](GatherParams& params) {
    params.page_size = ShiftedPageSize(params.page_size);
  });
}

CallResult IgnoresFirsts(const GatherArgs& args, const LaunchContext& context) {
  return GatherChanged(
      args, context, [](GatherParams& params) { params.seq_starts = nullptr; });
}

CallResult IgnoresLengths(const GatherArgs& args,
                          const LaunchContext& context) {
  return GatherChanged(args, context,
                       [](GatherParams& params) { params.seq_lens = nullptr; });
}

CallResult FirstTableRow(const GatherArgs& args, const LaunchContext& context) {
  return GatherChanged(
      args, context, [](GatherParams& params) { params.table_row_stride = 0; });
}

CallResult LastRequestDropped(const GatherArgs& args,
                              const LaunchContext& context) {
  return GatherChanged(args, context, [](GatherParams& params) {
    if (params.seq_lens != nullptr && params.requests > 1) --params.requests;
  });
}

}  // namespace

std::vector<CompiledTarget> GatherPageMutants() {
  return {
      {"mutant:gather-narrow-product",
       "gather keeps 16 bits of a page's offset",
       {.gather = CallGather<NarrowProduct>}},
      {"mutant:gather-offset-16",
       "gather cuts a row's offset to a multiple of 16 bytes",
       {.gather = CallGather<Offset16>}},
      {"mutant:gather-columns-from-zero",
       "gather counts table columns from the request's first page",
       {.gather = CallGather<ColumnsFromZero>}},
      {"mutant:gather-boundary-task",
       "gather gives a request one page too many",
       {.gather = CallGather<BoundaryTask>}},
      {"mutant:gather-page-start",
       "gather reads each page from its first row",
       {.gather = CallGather<PageStart>}},
      {"mutant:gather-whole-pages",
       "gather reads each page to its last row",
       {.gather = CallGather<WholePages>}},
      {"mutant:gather-last-row-dropped",
       "gather drops the last row of each page",
       {.gather = CallGather<LastRowDropped>}},
      {"mutant:gather-row-off-by-one",
       "gather reads the row behind the one asked for",
       {.gather = CallGather<RowOffByOne>}},
      {"mutant:gather-pages-by-length",
       "gather counts a request's pages by its length alone",
       {.gather = CallGather<PagesByLength>}},
      {"mutant:gather-negative-lengths",
       "gather lets a negative length count backwards",
       {.gather = CallGather<NegativeLengths>}},
      {"mutant:gather-starts-unclamped",
       "gather writes past dst up to starts that lie there",
       {.gather = CallGather<StartsUnclamped>}},
      {"mutant:gather-rank-order",
       "gather takes even rows of a page before odd ones",
       {.gather = CallGather<RankOrder>}},
      {"mutant:gather-task-unpublished",
       "gather uses the block's task before it is found",
       {.gather = CallGather<TaskUnpublished>}},
      {"mutant:gather-scales-overwritten",
       "gather stages the next row's scales while the last ones are in use",
       {.gather = CallGather<ScalesOverwritten>}},
      {"mutant:gather-waits-for-empty",
       "gather never ends where a request is empty",
       {.gather = CallGather<WaitsForEmpty>}},
      {"mutant:gather-half-workspace",
       "gather takes the workspace for half as long",
       {.gather = HalfWorkspace}},
      {"mutant:gather-page-stride-from-shape",
       "gather takes pages to be dense",
       {.gather = PageStrideFromShape}},
      {"mutant:gather-row-stride-from-shape",
       "gather takes rows of a page to be dense",
       {.gather = RowStrideFromShape}},
      {"mutant:dst-stride-from-shape",
       "gather takes rows of dst to be dense",
       {.gather = DstStrideFromShape}},
      {"mutant:gather-pages-of-64",
       "gather takes pages to have 64 rows",
       {.gather = PagesOf64}},
      {"mutant:gather-shifted-pages",
       "gather takes pages to have a power of two of rows",
       {.gather = ShiftedPages}},
      {"mutant:gather-ignores-firsts",
       "gather starts every request at its first token",
       {.gather = IgnoresFirsts}},
      {"mutant:gather-ignores-lengths",
       "gather takes lengths from the starts though they are given",
       {.gather = IgnoresLengths}},
      {"mutant:gather-first-table-row",
       "gather reads the first request's table for all",
       {.gather = FirstTableRow}},
      {"mutant:gather-last-request-dropped",
       "gather stops before the last of several requests with lengths",
       {.gather = LastRequestDropped}},
  };
}

}  // namespace mlafuzz
