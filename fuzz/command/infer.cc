// mlafuzz infer

#include "properties/infer/infer.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/infer_text.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/worker/foreign.h"
#include "fuzz/worker/session.h"
#include "google/protobuf/util/json_util.h"

namespace mlafuzz {
namespace {

int Fail(const absl::Status& s) {
  return UsageError(absl::StrCat("infer: ", s.message()));
}

std::string ToJson(const InferResult& result) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  // Fails for messages with Any alone.
  (void)google::protobuf::util::MessageToJsonString(result, &text, options);
  return text;
}

int Run(const Arguments& arguments, const std::string&) {
  const auto targets = ReadTargets(arguments);
  if (!targets.ok()) return Fail(targets.status());
  const auto kernels = ReadKernels(arguments, *targets);
  if (!kernels.ok()) return Fail(kernels.status());
  const auto made = MakeTargets(*targets);
  if (!made.ok()) return Fail(made.status());
  const Layout layout = LayoutOf(*made, KernelsUnderTest(*targets));
  if (layout != FP8_DS_MLA) {
    return UsageError(absl::StrCat(
        "infer: its questions are of fp8_ds_mla, and this target takes ",
        Layout_Name(layout), "; `mlafuzz campaign` judges it by its contract"));
  }
  const auto seed = arguments.Number("seed", 1);
  if (!seed.ok()) return Fail(seed.status());
  const auto engine =
      FindEngine(arguments.Has("flavour") ? arguments.Get("flavour") : "plain");
  if (!engine.ok()) return Fail(engine.status());

  WorkRequest request;
  *request.mutable_targets() = *targets;
  request.mutable_kernels()->Assign(kernels->begin(), kernels->end());
  request.set_seed(*seed);
  CatchStopSignals();
  auto result = InferInWorker(*engine, std::move(request));
  if (absl::IsCancelled(result.status())) {
    return Fail(absl::CancelledError(
        "stopped by a signal; of a contract that is read in part nothing is "
        "said: run it again, of fewer kernels with --kernels"));
  }
  if (!result.ok()) {
    Fail(result.status());
    // A kernel took the process with it.
    return absl::IsAborted(result.status()) ? kExitFound : kExitUsage;
  }
  if (result->kernels().empty()) {
    return Fail(absl::InvalidArgumentError(
        "the target implements none of the kernels asked for; `mlafuzz targets "
        "--check` says which it has"));
  }
  result->set_flavour(engine->flavour);
  result->set_tier(TierText(*targets));
  if (arguments.Has("json")) {
    std::printf("%s", ToJson(*result).c_str());
  } else {
    std::printf("%s", InferText(*result).c_str());
  }
  if (Contradicted(*result)) return kExitFound;
  return AnyJudged(*result) ? kExitNothingFound : kExitUninformative;
}

}  // namespace

Command InferCommand() {
  return {"infer", "",
          "what a kernel does, read from outside, beside what it declares",
          WithTargetFlags(
              {{"kernels", "writer,gather,convert,decode", "these alone"},
               {"seed", "1", "of the probes"},
               {"json", nullptr, "for programs"}}),
          Run};
}

}  // namespace mlafuzz
