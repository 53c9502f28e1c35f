#include "fuzz/worker/ab_mode.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/worker/session.h"
#include "properties/ab/cache.h"
#include "properties/ab/figures.h"

namespace mlafuzz {
namespace {

AbSize SizeOf(const AbRequest& ab) {
  return {.rows = ab.rows(),
          .heads = ab.heads(),
          .top_k = ab.top_k(),
          .seed = ab.seed()};
}

AbResult::Spread Describe(double asked, const ScaleFacts& scales) {
  AbResult::Spread spread;
  spread.set_asked(asked);
  spread.set_log2_spread(scales.log2_spread);
  spread.set_scales(scales.count);
  spread.set_not_powers_of_two(scales.not_powers_of_two);
  spread.set_mean_factor(scales.mean_factor);
  spread.set_least_factor(scales.least_factor);
  return spread;
}

// What of `target` only its process can say.
absl::Status CheckAbDecode(const std::string& target,
                           const TargetSet& targets) {
  if (!targets.For(Kernel::kDecode)->Implements(Kernel::kDecode)) {
    return absl::InvalidArgumentError(absl::StrCat(
        target, " has no decode; `mlafuzz targets --check` says what it has"));
  }
  const Layout layout = LayoutOf(targets, {Kernel::kDecode});
  if (layout != FP8_DS_MLA) {
    return absl::InvalidArgumentError(
        absl::StrCat(target, " reads ", Layout_Name(layout),
                     ", and the caches of `ab` are fp8_ds_mla"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunAb(const WorkRequest& request, WorkerStatus& status) {
  const AbRequest& ab = request.ab();
  std::vector<std::unique_ptr<Session>> sessions;
  for (const std::string& decode : ab.decodes()) {
    Targets targets;
    targets.set_decode(decode);
    auto session = Session::Create(targets);
    if (!session.ok()) return session.status();
    if (absl::Status s = CheckAbDecode(decode, (*session)->targets());
        !s.ok()) {
      return s;
    }
    sessions.push_back(*std::move(session));
  }
  AbResult result;
  for (const double asked : ab.spreads()) {
    const auto cache = AbCache::Create(SizeOf(ab), asked);
    if (!cache.ok()) return cache.status();
    const AbReference reference = MakeAbReference(**cache);
    AbResult::Spread& spread = *result.add_spreads();
    spread = Describe(asked, (*cache)->scales());
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      status.Add(status.heartbeat);
      const auto figures = MeasureDecode(
          **cache, reference, sessions[i]->targets(), sessions[i]->executor());
      AbResult::Decode& decode = *spread.add_decodes();
      decode.set_target(ab.decodes(static_cast<int>(i)));
      if (!figures.ok()) {
        decode.set_error(std::string(figures.status().message()));
        continue;
      }
      decode.set_relative_l2(figures->relative_l2);
      decode.set_cosine(figures->cosine);
      decode.set_lse_error(figures->lse_error);
    }
  }
  return WriteFileAtomically(absl::StrCat(request.out(), "/ab.result"),
                             result.SerializeAsString());
}

}  // namespace mlafuzz
