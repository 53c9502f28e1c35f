// Wrong twins of the index conversion with a prefill workspace.
#include "kernels/workspace.h"

#include "kernels/mutants/variants.h"
#include "kernels/workspace_call.h"

namespace mlafuzz {
namespace {

using kernels::ConvertParams;
using kernels::WorkspacePolicy;

// Every request begins at the workspace's first row.
struct StartDropped : WorkspacePolicy {
  static __device__ std::int32_t Start(const ConvertParams&, std::int64_t,
                                       std::int32_t) {
    return 0;
  }
};

// The start of the row's number, not of its request's.
struct StartOfRow : WorkspacePolicy {
  static __device__ std::int32_t Start(const ConvertParams& params,
                                       std::int64_t row, std::int32_t) {
    return params.prefill_starts[row];
  }
};

// Prefill rows address the paged cache as well.
struct ByTable : WorkspacePolicy {
  static __device__ std::int32_t Prefill(const ConvertParams&, std::int64_t) {
    return -1;
  }
};

// The first prefill request is taken for none.
struct FirstIsDecode : WorkspacePolicy {
  static __device__ std::int32_t Prefill(const ConvertParams& params,
                                         std::int64_t row) {
    const std::int32_t prefill = WorkspacePolicy::Prefill(params, row);
    return prefill > 0 ? prefill : -1;
  }
};

// Tokens past the table of a prefill row are taken for rows of the workspace.
struct Unbounded : WorkspacePolicy {
  static __device__ bool HasColumn(const ConvertParams& params,
                                   std::int64_t column, bool prefill) {
    return prefill || WorkspacePolicy::HasColumn(params, column, prefill);
  }
};

// Page times page size in int32, as in vLLM: past 2^31 it is another slot.
struct SlotWraps : WorkspacePolicy {
  static __device__ bool Slot(const ConvertParams& params, std::int32_t page,
                              std::int64_t token, std::int32_t* slot) {
    *slot = static_cast<std::int32_t>(
        static_cast<std::uint32_t>(page) *
            static_cast<std::uint32_t>(params.page_size) +
        static_cast<std::uint32_t>(token % params.page_size));
    return true;
  }
};

// The same, and what comes out negative is taken for none: a product past 2^32
// is a slot again.
struct SlotWrapsTwice : WorkspacePolicy {
  static __device__ bool Slot(const ConvertParams& params, std::int32_t page,
                              std::int64_t token, std::int32_t* slot) {
    SlotWraps::Slot(params, page, token, slot);
    return page >= 0 && *slot >= 0;
  }
};

Contract WorkspaceContract() { return Workspace().contract(); }

CompiledTarget Twin(const char* name, const char* what,
                    CallResult (*convert)(const ConvertArgs&,
                                          const LaunchContext&)) {
  return {.name = name,
          .what = what,
          .kernels = {.convert = convert},
          .contract = WorkspaceContract,
          .rest = "builtin:workspace"};
}

}  // namespace

std::vector<CompiledTarget> WorkspaceMutants() {
  return {
      Twin("mutant:workspace-start-dropped",
           "prefill rows begin at the workspace's first row",
           CallWorkspace<StartDropped>),
      Twin("mutant:workspace-start-of-row",
           "prefill rows take the start with their row's number",
           CallWorkspace<StartOfRow>),
      Twin("mutant:workspace-by-table", "prefill rows go by the block table",
           CallWorkspace<ByTable>),
      Twin("mutant:workspace-first-is-decode",
           "rows of prefill request 0 go by the block table",
           CallWorkspace<FirstIsDecode>),
      Twin("mutant:workspace-unbounded",
           "prefill rows are not bounded by the block table",
           CallWorkspace<Unbounded>),
      Twin("mutant:workspace-slot-wraps", "page times page size wraps in int32",
           CallWorkspace<SlotWraps>),
      Twin("mutant:workspace-slot-wraps-twice",
           "the same, and what is negative then names no slot",
           CallWorkspace<SlotWrapsTwice>),
  };
}

}  // namespace mlafuzz
