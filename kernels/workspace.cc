#include "kernels/workspace.h"

#include "corpus/contracts.h"
#include "kernels/workspace_call.h"

namespace mlafuzz {
namespace {

Contract WorkspaceContract() {
  Contract contract = BuiltinContract();
  ConvertContract& convert = *contract.mutable_convert();
  convert.set_workspace(ConvertContract::WORKSPACE_WITHIN_TABLE);
  convert.set_pages(ConvertContract::PAGES_FITTING);
  return contract;
}

}  // namespace

CompiledTarget Workspace() {
  return {.name = "builtin:workspace",
          .what = "index conversion with a prefill workspace, any page id",
          .kernels = {.convert = CallWorkspace<kernels::WorkspacePolicy>},
          .contract = WorkspaceContract};
}

}  // namespace mlafuzz
