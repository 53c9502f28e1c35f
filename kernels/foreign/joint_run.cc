#include "kernels/foreign/joint_run.h"

#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/observation.h"
#include "kernels/foreign/encode_step.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/foreign/runner_process.h"
#include "kernels/foreign/wire.h"
#include "kernels/foreign/wire_encoder.h"
#include "kernels/in_process_call.h"
#include "kernels/staging.h"
#include "kernels/target.h"

namespace mlafuzz {
namespace {

bool EndsCase(CallStatus status) {
  return status == CallStatus::kCrash || status == CallStatus::kHang ||
         status == CallStatus::kOutOfMemory || status == CallStatus::kProtocol;
}

// A case on its way through its steps.
struct Flight {
  const CaseImage* image = nullptr;
  Observation* seen = nullptr;
  std::size_t pool_buffer = 0;
  std::uint8_t* pool = nullptr;
  const std::vector<std::uint8_t>* last_pool = nullptr;
  StagedStep staged;  // of the step at hand
  bool ended = false;
  bool called = false;  // a foreign target

  StepObservation& last() const { return seen->steps.back(); }
};

// What a device's memory saw. Whatever the runner says, only tensors that the
// step has.
void AddStrays(const std::vector<wire::Stray>& strays, const StepImage& step,
               StepObservation& seen) {
  for (const wire::Stray& stray : strays) {
    if (stray.id == wire::kCache) {
      seen.strays.push_back(
          {std::nullopt, stray.first, stray.last, stray.count});
    } else if (stray.id == wire::kScratch) {
      seen.status = CallStatus::kFault;
      seen.message = absl::StrCat("writes ", stray.count,
                                  " bytes outside of its scratch memory, "
                                  "from byte ",
                                  stray.first, " to ", stray.last);
    }
    for (const Tensor& tensor : step.tensors) {
      if (static_cast<std::uint32_t>(tensor.id) != stray.id) continue;
      seen.strays.push_back({tensor.id, stray.first, stray.last, stray.count});
    }
  }
}

// How a call ended in a runner that lives on.
void AddReply(RunnerProcess::Reply reply, const StepImage& step,
              StepObservation& seen) {
  seen.status = StatusOf(reply);
  seen.message = std::move(reply.message);
  AddStrays(reply.strays, step, seen);
  if (seen.status == CallStatus::kError && reply.status != MLAFUZZ_ERROR) {
    seen.message =
        absl::StrCat("it returned ", reply.status, ", which is no status");
  }
}

class JointRun {
 public:
  explicit JointRun(const RunPlace& place) : place_(place) {}

  absl::StatusOr<std::optional<Casualty>> Run(absl::Span<const CaseRun> cases) {
    if (absl::Status s = StagePools(cases); !s.ok()) return s;
    std::size_t steps = 0;
    for (const CaseRun& run : cases) {
      steps = std::max(steps, run.image->steps.size());
    }
    const std::size_t pools = place_.arena.buffers().size();
    for (step_ = 0; step_ < steps; ++step_) {
      place_.arena.Truncate(pools);
      auto casualty = RunStep();
      if (!casualty.ok() || casualty->has_value()) return casualty;
    }
    return std::nullopt;
  }

 private:
  using Places = std::vector<std::size_t>;

  // Calls of one runner.
  struct Batch {
    explicit Batch(const std::uint8_t* base) : encoder(base) {}
    WireEncoder encoder;
    Places flights;
  };

  absl::Status StagePools(absl::Span<const CaseRun> cases) {
    GuardedArena& arena = place_.arena;
    if (absl::Status s = arena.Map(); !s.ok()) return s;
    arena.Truncate(0);
    flights_.assign(cases.size(), {});
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Flight& flight = flights_[i];
      flight.image = cases[i].image;
      flight.seen = cases[i].seen;
      *flight.seen = {};
      const PoolImage& pool = flight.image->pool;
      flight.pool_buffer = arena.buffers().size();
      const auto staged = StagePool(pool, arena);
      if (!staged.ok()) return staged.status();
      flight.pool = *staged;
      flight.last_pool = &pool.bytes;
      flight.seen->steps.reserve(flight.image->steps.size());
    }
    return absl::OkStatus();
  }

  // Of a flight that has a step at hand.
  const StepImage& StepOf(const Flight& flight) const {
    return flight.image->steps[step_];
  }

  // The target whose runner makes the call; null: the call is made here.
  const ForeignTarget* ForeignOf(const StepImage& step) const {
    const Target* const target = place_.targets.For(step.kernel);
    return target != nullptr && target->Implements(step.kernel)
               ? target->foreign()
               : nullptr;
  }

  // The step at hand of all cases that have it.
  absl::StatusOr<std::optional<Casualty>> RunStep() {
    std::map<const ForeignTarget*, Batch> batches;
    Places own;
    Places inspected;
    for (std::size_t i = 0; i < flights_.size(); ++i) {
      Flight& flight = flights_[i];
      if (flight.ended || step_ >= flight.image->steps.size()) continue;
      const StepImage& step = StepOf(flight);
      flight.seen->steps.emplace_back();
      if (step.is_patch) {
        ApplyStagedPatch(step.step->patch(), flight.image->pool, flight.pool);
        KeepPool(flight.pool, &flight.last(), &flight.last_pool);
        continue;
      }
      inspected.push_back(i);
      if (absl::Status s = Stage(flight); !s.ok()) return s;
      const ForeignTarget* const foreign = ForeignOf(step);
      if (foreign == nullptr) {
        own.push_back(i);
        continue;
      }
      Batch& batch =
          batches.try_emplace(foreign, place_.arena.base()).first->second;
      Encode(flight, batch.encoder);
      batch.flights.push_back(i);
    }
    if (absl::Status s = place_.arena.Trim(); !s.ok()) return s;
    for (auto& [target, batch] : batches) {
      auto casualty = Exchange(*target, batch);
      if (!casualty.ok() || casualty->has_value()) return casualty;
    }
    for (const std::size_t i : own) {
      if (absl::Status s = CallHere(flights_[i]); !s.ok()) return s;
    }
    for (const std::size_t i : inspected) Inspect(flights_[i]);
    return std::nullopt;
  }

  absl::Status Stage(Flight& flight) {
    const StepImage& step = StepOf(flight);
    flight.staged.pool_buffer = flight.pool_buffer;
    if (absl::Status s = StageTensors(step, place_.arena, &flight.staged);
        !s.ok()) {
      return s;
    }
    const Target* const target = place_.targets.For(step.kernel);
    if (target != nullptr && target->Implements(step.kernel)) {
      ++place_.executions[static_cast<std::size_t>(step.kernel)];
    }
    return absl::OkStatus();
  }

  void Encode(const Flight& flight, WireEncoder& encoder) const {
    const StepImage& step = StepOf(flight);
    std::vector<absl::Span<std::uint8_t>> tensors;
    for (std::size_t t = 0; t < step.tensors.size(); ++t) {
      tensors.emplace_back(flight.staged.data[t], step.tensors[t].bytes.size());
    }
    EncodeStep(*flight.image, step,
               {flight.pool, flight.image->pool.bytes.size()}, tensors,
               flight.image->launch, encoder);
  }

  absl::Status CallHere(Flight& flight) {
    const StepImage& step = StepOf(flight);
    const Case* const source = flight.image->source;
    return CallInProcess(place_.targets.For(step.kernel), flight.image->pool,
                         flight.pool, step, flight.staged,
                         source != nullptr ? source->schedule() : 0,
                         place_.arena, &flight.last());
  }

  void Inspect(Flight& flight) {
    StepObservation& seen = flight.last();
    InspectStep(place_.arena, StepOf(flight), flight.staged, &seen);
    KeepPool(flight.pool, &seen, &flight.last_pool);
    flight.ended = EndsCase(seen.status);
  }

  absl::StatusOr<std::optional<Casualty>> Exchange(const ForeignTarget& target,
                                                   const Batch& batch) {
    auto outcome = place_.runners.Exchange(target, batch.encoder);
    if (!outcome.ok()) return outcome.status();
    for (std::size_t k = 0; k < batch.flights.size(); ++k) {
      Flight& flight = flights_[batch.flights[k]];
      if (std::exchange(flight.called, true)) continue;
      flight.seen->earlier_calls = outcome->earlier_calls + k;
    }
    if (!target.program().sanitizer.empty()) {
      flights_[batch.flights[0]].last().reports = std::move(outcome->reports);
    }
    if (outcome->death.has_value()) return PutDown(*outcome->death, batch);
    for (std::size_t k = 0; k < outcome->replies.size(); ++k) {
      Flight& flight = flights_[batch.flights[k]];
      AddReply(std::move(outcome->replies[k]), StepOf(flight), flight.last());
    }
    return std::nullopt;
  }

  // Puts the death of a batch's runner down to the case of the call that its
  // note points at.
  Casualty PutDown(const RunnerProcess::Death& death, const Batch& batch) {
    const std::size_t place =
        batch.flights[std::min(death.call, batch.flights.size() - 1)];
    Flight& flight = flights_[place];
    StepObservation& seen = flight.last();
    seen.status = death.status;
    seen.message = death.message;
    if (death.crash.has_value()) {
      Crash crash = *death.crash;
      crash.address += reinterpret_cast<std::uintptr_t>(place_.arena.base());
      seen.message = DescribeCrash(crash, place_.arena, flight.image->pool,
                                   StepOf(flight), flight.staged);
      seen.fault = FaultOf(crash, place_.arena, flight.staged);
    } else if (death.unknown_address) {
      seen.fault = FaultOf({.signal = SIGSEGV, .has_address = false},
                           place_.arena, flight.staged);
    }
    const Casualty casualty = {place, seen.status, seen.message};
    // Nobody writes any more.
    Inspect(flight);
    return casualty;
  }

  const RunPlace& place_;
  std::vector<Flight> flights_;
  std::size_t step_ = 0;  // at hand
};

}  // namespace

absl::StatusOr<std::optional<Casualty>> RunTogether(
    const RunPlace& place, absl::Span<const CaseRun> cases) {
  return JointRun(place).Run(cases);
}

}  // namespace mlafuzz
