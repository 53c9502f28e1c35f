#include "kernels/foreign/lent_calls.h"

#include <utility>

#include "kernels/foreign/encode_step.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/foreign/runner_process.h"
#include "kernels/foreign/wire_encoder.h"

namespace mlafuzz {
namespace {

// The one target of all calls; null if there are none.
absl::StatusOr<const ForeignTarget*> TargetOf(const TargetSet& targets,
                                              absl::Span<const LentCall> calls,
                                              const Runners& runners) {
  const ForeignTarget* foreign = nullptr;
  for (const LentCall& call : calls) {
    const Kernel kernel = call.image->steps[call.step].kernel;
    Target* const target = targets.For(kernel);
    if (target == nullptr || !target->Implements(kernel) ||
        target->foreign() == nullptr || !runners.IsLentTo(*target->foreign()) ||
        (foreign != nullptr && target->foreign()->name() != foreign->name())) {
      return absl::FailedPreconditionError("no call on lent memory");
    }
    foreign = target->foreign();
  }
  return foreign;
}

// `base` stands for the lent memory's byte 0: only the distance from it counts.
void Encode(const LentCall& call, std::uint8_t* base, WireEncoder& encoder) {
  const auto bytes_at = [base](const LentCall::Place& place) {
    return absl::MakeSpan(base + place.begin, place.size);
  };
  const StepImage& step = call.image->steps[call.step];
  std::vector<absl::Span<std::uint8_t>> tensors;
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    tensors.push_back(bytes_at(call.tensors[t]));
  }
  EncodeStep(*call.image, step, bytes_at(call.pool), tensors, /*launch=*/{},
             encoder);
}

}  // namespace

absl::Status MakeLentCalls(const TargetSet& targets,
                           absl::Span<const LentCall> calls,
                           GuardedArena& arena, Runners& runners,
                           std::vector<CallEnd>* ends) {
  const auto target = TargetOf(targets, calls, runners);
  if (!target.ok()) return target.status();
  ends->assign(calls.size(), {});
  if (calls.empty()) return absl::OkStatus();
  if (absl::Status s = arena.Map(); !s.ok()) return s;
  const auto runner = runners.Of(**target);
  if (!runner.ok()) return runner.status();
  if ((*runner)->hello().lent == 0) {
    return absl::FailedPreconditionError("the runner takes no lent memory");
  }
  WireEncoder encoder(arena.base(), /*lent=*/true);
  for (const LentCall& call : calls) Encode(call, arena.base(), encoder);
  auto outcome = runners.Exchange(**target, encoder);
  if (!outcome.ok()) return outcome.status();
  if (outcome->death.has_value()) {
    ends->assign(calls.size(),
                 {outcome->death->status, outcome->death->message});
    return absl::OkStatus();
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    RunnerProcess::Reply& reply = outcome->replies[i];
    CallEnd& end = (*ends)[i];
    end = {StatusOf(reply), std::move(reply.message)};
    if (!reply.strays.empty()) {
      end = {CallStatus::kFault, "writes outside of its scratch memory"};
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
