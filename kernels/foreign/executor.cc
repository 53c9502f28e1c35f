#include "kernels/foreign/executor.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/call_args.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/foreign/library_file.h"
#include "kernels/foreign/runner_process.h"
#include "kernels/foreign/wire_encoder.h"
#include "kernels/guarded_memory.h"
#include "kernels/in_process_call.h"
#include "kernels/staging.h"
#include "kernels/target.h"

namespace mlafuzz {
namespace {

// Staged bytes of one batch, redzones apart; the arena holds several times it.
constexpr std::int64_t kBatchBytes = std::int64_t{256} << 20;
// A case that kills its runner does so this often, alone in fresh ones.
constexpr int kConfirmations = 3;
// One that does not end in time is given so many times as long, once, alone.
constexpr double kPatience = 4;

CallStatus StatusOf(std::int32_t status) {
  switch (status) {
    case MLAFUZZ_OK:
      return CallStatus::kOk;
    case MLAFUZZ_REFUSED:
      return CallStatus::kRefused;
    case MLAFUZZ_NOT_IMPLEMENTED:
      return CallStatus::kNotImplemented;
    // Nothing was called.
    case wire::kNoDeviceMemory:
    case wire::kNotCaptured:
      return CallStatus::kNotImplemented;
    default:
      return CallStatus::kError;
  }
}

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
  bool called = false;  // a foreign target, in this attempt
};

// The death of a runner, and the case that it is put down to: a place in the
// list that was run.
struct Casualty {
  std::size_t place = 0;
  RunnerProcess::Death death;
};

using Places = std::vector<std::size_t>;

class Processes : public ForeignExecutor {
 public:
  Processes() : arena_(kPatternSeed, GuardedArena::Backing::kShared) {}

  absl::Status Run(const TargetSet& targets, absl::Span<const CaseImage> images,
                   std::vector<Observation>* observations) override {
    std::vector<const CaseImage*> each;
    each.reserve(images.size());
    for (const CaseImage& image : images) each.push_back(&image);
    return RunEach(targets, each, observations);
  }

  absl::Status RunEach(const TargetSet& targets,
                       absl::Span<const CaseImage* const> images,
                       std::vector<Observation>* observations) override {
    observations->assign(images.size(), {});
    targets_ = &targets;
    images_ = images;
    observations_ = observations;
    // A sanitizer's reports are put down to the only call of a runner.
    const std::size_t largest = AnySanitizer(targets) ? 1 : kLargestBatch;
    for (std::size_t at = 0; at < images.size();) {
      Places batch;
      std::int64_t bytes = 0;
      while (at < images.size() && batch.size() < largest) {
        const std::int64_t more = BytesOf(*images[at]);
        if (!batch.empty() && bytes + more > kBatchBytes) break;
        bytes += more;
        batch.push_back(at++);
      }
      if (absl::Status s = RunBatch(std::move(batch)); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  const std::array<std::uint64_t, kAllKernels.size()>& executions()
      const override {
    return executions_;
  }
  RunnerCounts counts() const override { return counts_; }

  void Lend(const LentMemory& memory, int device) override {
    lent_ = {memory.descriptor(), memory.bytes()};
    lent_to_ = device;
    runners_.clear();
  }

  absl::Status CallLent(const TargetSet& targets,
                        absl::Span<const LentCall> calls,
                        std::vector<CallEnd>* ends) override {
    const ForeignTarget* foreign = nullptr;
    for (const LentCall& call : calls) {
      const Kernel kernel = call.image->steps[call.step].kernel;
      Target* const target = targets.For(kernel);
      if (lent_.fd < 0 || target == nullptr || !target->Implements(kernel) ||
          target->foreign() == nullptr ||
          target->foreign()->program().lent_to != lent_to_ ||
          (foreign != nullptr &&
           target->foreign()->name() != foreign->name())) {
        return absl::FailedPreconditionError("no call on lent memory");
      }
      foreign = target->foreign();
    }
    ends->assign(calls.size(), {});
    if (calls.empty()) return absl::OkStatus();
    if (absl::Status s = arena_.Map(); !s.ok()) return s;
    auto runner = RunnerOf(*foreign);
    if (!runner.ok()) return runner.status();
    if ((*runner)->hello().lent == 0) {
      return absl::FailedPreconditionError("the runner takes no lent memory");
    }
    WireEncoder encoder(arena_.base(), /*lent=*/true);
    for (const LentCall& call : calls) EncodeLent(call, encoder);
    calls_[foreign->name()] += calls.size();
    std::vector<RunnerProcess::Reply> replies;
    std::optional<RunnerProcess::Death> death =
        RunTimed(*foreign, **runner, encoder, &replies);
    if (death.has_value()) {
      ++counts_.deaths;
      runners_.erase(foreign->name());
      ends->assign(calls.size(), {death->status, death->message});
      return absl::OkStatus();
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      CallEnd& end = (*ends)[i];
      end = {StatusOf(replies[i].status), std::move(replies[i].message)};
      if (!replies[i].strays.empty()) {
        end = {CallStatus::kFault, "writes outside of its scratch memory"};
      }
    }
    return absl::OkStatus();
  }

 private:
  // Addresses that nobody here reads: only their distance counts.
  void EncodeLent(const LentCall& call, WireEncoder& encoder) {
    const CaseImage& image = *call.image;
    const StepImage& step = image.steps[call.step];
    std::uint8_t* const base = arena_.base();
    std::vector<std::uint8_t*> data;
    std::vector<WireEncoder::Buffer> buffers = {
        {wire::kCache, base + call.pool.begin, call.pool.size}};
    for (std::size_t t = 0; t < step.tensors.size(); ++t) {
      data.push_back(base + call.tensors[t].begin);
      buffers.push_back({static_cast<std::uint32_t>(step.tensors[t].id),
                         data.back(), call.tensors[t].size});
    }
    encoder.NextCall(std::move(buffers));
    LaunchContext context;
    context.schedule = image.source != nullptr ? image.source->schedule() : 0;
    CallArgs(image.pool, base + call.pool.begin + image.pool.offset, step, data,
             {kDLCPU, 0})
        .Call(&encoder, context);
    ++executions_[static_cast<std::size_t>(step.kernel)];
  }

  static std::int64_t BytesOf(const CaseImage& image) {
    std::size_t largest_step = 0;
    for (const StepImage& step : image.steps) {
      std::size_t bytes = 0;
      for (const Tensor& tensor : step.tensors) bytes += tensor.bytes.size();
      largest_step = std::max(largest_step, bytes);
    }
    return static_cast<std::int64_t>(image.pool.bytes.size() + largest_step);
  }

  static bool AnySanitizer(const TargetSet& targets) {
    return std::any_of(targets.targets.begin(), targets.targets.end(),
                       [](const std::shared_ptr<Target>& target) {
                         return target != nullptr &&
                                target->foreign() != nullptr &&
                                !target->foreign()->program().sanitizer.empty();
                       });
  }

  // Runs all, whatever some of them do to their runner.
  absl::Status RunBatch(Places pending) {
    while (!pending.empty()) {
      auto casualty = Attempt(pending);
      if (!casualty.ok()) return casualty.status();
      if (!casualty->has_value()) break;
      if (pending.size() == 1) return absl::OkStatus();
      auto culprit = Isolate(pending, **casualty);
      if (!culprit.ok()) return culprit.status();
      pending.erase(pending.begin() +
                    static_cast<std::ptrdiff_t>(culprit->place));
      if (culprit->alone) continue;
      // What takes a number of calls may happen to the others again.
      runners_.clear();
      const auto half =
          pending.begin() + static_cast<std::ptrdiff_t>(pending.size() / 2);
      if (absl::Status s = RunBatch(Places(pending.begin(), half)); !s.ok()) {
        return s;
      }
      runners_.clear();
      return RunBatch(Places(half, pending.end()));
    }
    if (pending.size() < 2 || !AnyStrays(pending)) return absl::OkStatus();
    // Somebody wrote where it must not, and perhaps over more than redzones.
    for (const std::size_t i : pending) {
      auto alone = Attempt({i});
      if (!alone.ok()) return alone.status();
      if (!alone->has_value()) continue;
      if (auto deaths = Confirm(i); !deaths.ok()) return deaths.status();
    }
    return absl::OkStatus();
  }

  bool AnyStrays(const Places& places) const {
    return std::any_of(places.begin(), places.end(), [this](std::size_t i) {
      const auto& steps = (*observations_)[i].steps;
      return std::any_of(steps.begin(), steps.end(),
                         [](const auto& step) { return !step.strays.empty(); });
    });
  }

  struct Culprit {
    std::size_t place;
    bool alone;  // it dies without the others
  };

  // Finds the case of `pending` that kills its runner and gives it its
  // observation.
  absl::StatusOr<Culprit> Isolate(const Places& pending,
                                  const Casualty& casualty) {
    const std::size_t hinted = casualty.place;
    slow_ = false;
    auto deaths = Confirm(pending[hinted]);
    if (!deaths.ok()) return deaths.status();
    if (*deaths > 0 || slow_) return Culprit{hinted, true};
    // The note was wrong, or an earlier case has left something behind: the
    // last one without which those up to the dead one live on.
    std::size_t low = 0;
    std::size_t high = hinted;
    while (low < high) {
      const std::size_t middle = low + (high - low + 1) / 2;
      runners_.clear();
      auto dead = Attempt(
          Places(pending.begin() + static_cast<std::ptrdiff_t>(middle),
                 pending.begin() + static_cast<std::ptrdiff_t>(hinted) + 1));
      if (!dead.ok()) return dead.status();
      if (dead->has_value()) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    if (low != hinted && low != 0) {
      deaths = Confirm(pending[low]);
      if (!deaths.ok()) return deaths.status();
      if (*deaths > 0) return Culprit{low, true};
    }
    bool again = low != 0;
    if (!again) {
      // Not tried yet: all of them.
      runners_.clear();
      auto dead = Attempt(
          Places(pending.begin(),
                 pending.begin() + static_cast<std::ptrdiff_t>(hinted) + 1));
      if (!dead.ok()) return dead.status();
      again = dead->has_value();
      if (again && hinted != 0) {
        deaths = Confirm(pending[0]);
        if (!deaths.ok()) return deaths.status();
        if (*deaths > 0) return Culprit{0, true};
      }
    }
    if (!again) low = hinted;
    Observation& seen = (*observations_)[pending[low]];
    seen.steps.resize(1);
    seen.steps[0] = {};
    seen.steps[0].status = casualty.death.status;
    seen.steps[0].message =
        again ? absl::StrCat("not alone, but in one process with the ",
                             hinted - low,
                             " cases after it: ", casualty.death.message)
              : absl::StrCat("once, and not again in a fresh process: ",
                             casualty.death.message);
    return Culprit{low, false};
  }

  // Runs one case alone in fresh runners; how often it died. Three times, but
  // for one that lives through the first.
  absl::StatusOr<int> Confirm(std::size_t image) {
    int deaths = 0;
    Observation dead;
    for (int run = 0; run < kConfirmations; ++run) {
      runners_.clear();
      auto casualty = Attempt({image});
      if (!casualty.ok()) return casualty.status();
      if (casualty->has_value()) {
        ++deaths;
        dead = (*observations_)[image];
        // It had its second run, which takes longest.
        if ((*casualty)->death.status == CallStatus::kHang) {
          deaths = kConfirmations;
          break;
        }
      } else if (run == 0) {
        return 0;
      }
    }
    if (deaths < kConfirmations) {
      absl::StrAppend(&dead.steps.back().message, "; alone ", deaths, " of ",
                      kConfirmations, " times");
    }
    (*observations_)[image] = std::move(dead);
    return deaths;
  }

  // Runs cases together. A death ends the attempt; of a single case it is the
  // observation. A single case that hangs has hung twice.
  absl::StatusOr<std::optional<Casualty>> Attempt(const Places& places) {
    auto first = AttemptOnce(places);
    if (places.size() != 1 || !first.ok() || !first->has_value() ||
        (*first)->death.status != CallStatus::kHang) {
      return first;
    }
    Observation& seen = (*observations_)[places[0]];
    Observation hung = seen;
    runners_.clear();
    patience_ = kPatience;
    longest_exchange_ = 0;
    auto second = AttemptOnce(places);
    patience_ = 1;
    // Not to be left with other calls.
    runners_.clear();
    if (!second.ok()) return second;
    if (!second->has_value()) {
      // Slow, or something that comes and goes?
      slow_ = longest_exchange_ > hang_limit_;
      if (slow_) return second;
      absl::StrAppend(&(*first)->death.message,
                      "; once, and not again in a fresh process");
      seen = std::move(hung);
      seen.steps.back().message = (*first)->death.message;
      return first;
    }
    if ((*second)->death.status == CallStatus::kHang) {
      std::string message =
          absl::StrCat((*first)->death.message,
                       "; in a fresh process: ", (*second)->death.message);
      seen.steps.back().message = message;
      (*second)->death.message = std::move(message);
    }
    return second;
  }

  absl::StatusOr<std::optional<Casualty>> AttemptOnce(const Places& places) {
    if (absl::Status s = arena_.Map(); !s.ok()) return s;
    arena_.Truncate(0);
    flights_.assign(places.size(), {});
    std::size_t steps = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      Flight& flight = flights_[i];
      flight.image = images_[places[i]];
      flight.seen = &(*observations_)[places[i]];
      *flight.seen = {};
      steps = std::max(steps, flight.image->steps.size());
      const PoolImage& pool = flight.image->pool;
      flight.pool_buffer = arena_.buffers().size();
      const auto staged = StagePool(pool, arena_);
      if (!staged.ok()) return staged.status();
      flight.pool = *staged;
      flight.last_pool = &pool.bytes;
      flight.seen->steps.reserve(flight.image->steps.size());
    }
    const std::size_t pools = arena_.buffers().size();
    for (std::size_t step = 0; step < steps; ++step) {
      arena_.Truncate(pools);
      auto casualty = RunStep(step);
      if (!casualty.ok() || casualty->has_value()) return casualty;
    }
    return std::nullopt;
  }

  // Calls of one runner.
  struct Batch {
    explicit Batch(const std::uint8_t* base) : encoder(base) {}
    WireEncoder encoder;
    Places flights;
  };

  // Step number `number` of all cases that have one.
  absl::StatusOr<std::optional<Casualty>> RunStep(std::size_t number) {
    std::map<const ForeignTarget*, Batch> batches;
    Places own;
    Places inspected;
    for (std::size_t i = 0; i < flights_.size(); ++i) {
      Flight& flight = flights_[i];
      if (flight.ended || number >= flight.image->steps.size()) continue;
      const StepImage& step = flight.image->steps[number];
      flight.seen->steps.emplace_back();
      if (step.is_patch) {
        ApplyStagedPatch(step.step->patch(), flight.image->pool, flight.pool);
        KeepPool(flight);
        continue;
      }
      inspected.push_back(i);
      flight.staged.pool_buffer = flight.pool_buffer;
      if (absl::Status s = StageTensors(step, arena_, &flight.staged);
          !s.ok()) {
        return s;
      }
      Target* const target = targets_->For(step.kernel);
      if (target != nullptr && target->Implements(step.kernel)) {
        ++executions_[static_cast<std::size_t>(step.kernel)];
      }
      if (target == nullptr || !target->Implements(step.kernel) ||
          target->foreign() == nullptr) {
        own.push_back(i);
        continue;
      }
      Batch& batch =
          batches.try_emplace(target->foreign(), arena_.base()).first->second;
      std::vector<WireEncoder::Buffer> buffers = {
          {wire::kCache, flight.pool, flight.image->pool.bytes.size()}};
      for (std::size_t t = 0; t < step.tensors.size(); ++t) {
        buffers.push_back({static_cast<std::uint32_t>(step.tensors[t].id),
                           flight.staged.data[t],
                           step.tensors[t].bytes.size()});
      }
      batch.encoder.NextCall(std::move(buffers));
      const Case* const source = flight.image->source;
      LaunchContext context;
      context.schedule = source != nullptr ? source->schedule() : 0;
      context.launch = flight.image->launch;
      CallArgs(flight.image->pool, flight.pool + flight.image->pool.offset,
               step, flight.staged.data, {kDLCPU, 0})
          .Call(&batch.encoder, context);
      batch.flights.push_back(i);
    }
    if (absl::Status s = arena_.Trim(); !s.ok()) return s;
    for (auto& [target, batch] : batches) {
      auto casualty = Exchange(*target, batch, number);
      if (!casualty.ok() || casualty->has_value()) return casualty;
    }
    for (const std::size_t i : own) {
      Flight& flight = flights_[i];
      const StepImage& step = flight.image->steps[number];
      const Case* const source = flight.image->source;
      if (absl::Status s = CallInProcess(
              targets_->For(step.kernel), flight.image->pool, flight.pool, step,
              flight.staged, source != nullptr ? source->schedule() : 0, arena_,
              &flight.seen->steps.back());
          !s.ok()) {
        return s;
      }
    }
    for (const std::size_t i : inspected) Inspect(flights_[i], number);
    return std::nullopt;
  }

  void Inspect(Flight& flight, std::size_t number) {
    StepObservation& seen = flight.seen->steps.back();
    InspectStep(arena_, flight.image->steps[number], flight.staged, &seen);
    KeepPool(flight);
    flight.ended = EndsCase(seen.status);
  }

  static void KeepPool(Flight& flight) {
    StepObservation& seen = flight.seen->steps.back();
    const std::size_t size = flight.last_pool->size();
    if (std::memcmp(flight.pool, flight.last_pool->data(), size) == 0) return;
    seen.pool.emplace(flight.pool, flight.pool + size);
    flight.last_pool = &*seen.pool;
  }

  // What a device's memory saw. Whatever the runner says, only tensors that the
  // step has.
  static void AddStrays(const std::vector<wire::Stray>& strays, Flight& flight,
                        std::size_t number) {
    StepObservation& seen = flight.seen->steps.back();
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
      for (const Tensor& tensor : flight.image->steps[number].tensors) {
        if (static_cast<std::uint32_t>(tensor.id) != stray.id) continue;
        seen.strays.push_back(
            {tensor.id, stray.first, stray.last, stray.count});
      }
    }
  }

  // The runner of a target, started if there is none.
  absl::StatusOr<RunnerProcess*> RunnerOf(const ForeignTarget& target) {
    std::unique_ptr<RunnerProcess>& runner = runners_[target.name()];
    if (runner != nullptr) return runner.get();
    if (!target.file().path.empty()) {
      const std::string change = ChangeOf(target.file());
      if (!change.empty()) return absl::FailedPreconditionError(change);
    }
    RunnerLimits limits = target.limits();
    limits.call_seconds *= patience_;
    auto started = RunnerProcess::Start(
        target.program(), arena_.fd(), limits,
        target.program().lent_to == lent_to_ ? lent_ : LentDescriptor());
    if (!started.ok()) return started.status();
    runner = *std::move(started);
    ++counts_.starts;
    calls_[target.name()] = 0;
    return runner.get();
  }

  // Makes the calls, and counts what they took.
  std::optional<RunnerProcess::Death> RunTimed(
      const ForeignTarget& target, RunnerProcess& runner,
      const WireEncoder& encoder, std::vector<RunnerProcess::Reply>* replies) {
    wire::Run run;
    run.capacity = GuardedArena::kCapacity;
    run.side = GuardedArena::kSide;
    run.low = arena_.low();
    run.scratch_bytes = target.description().scratch_bytes();
    run.calls = encoder.calls();
    std::string payload(reinterpret_cast<const char*>(&run), sizeof run);
    payload += encoder.bytes();
    const auto start = std::chrono::steady_clock::now();
    std::optional<RunnerProcess::Death> death =
        runner.Run(payload, encoder.calls(), replies);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    longest_exchange_ = std::max(longest_exchange_, seconds);
    counts_.exchange_seconds += seconds;
    counts_.busy_seconds += runner.busy_seconds();
    for (int stage = 0; stage < wire::kStages; ++stage) {
      counts_.stage_seconds[static_cast<std::size_t>(stage)] +=
          runner.stage_seconds(stage);
    }
    counts_.device_rate = runner.device_rate();
    counts_.in_rate = runner.in_rate();
    counts_.out_rate = runner.out_rate();
    return death;
  }

  absl::StatusOr<std::optional<Casualty>> Exchange(const ForeignTarget& target,
                                                   const Batch& batch,
                                                   std::size_t number) {
    auto found = RunnerOf(target);
    if (!found.ok()) return found.status();
    std::unique_ptr<RunnerProcess>& runner = runners_[target.name()];
    for (const std::size_t i : batch.flights) {
      const std::uint64_t earlier = calls_[target.name()]++;
      if (std::exchange(flights_[i].called, true)) continue;
      flights_[i].seen->earlier_calls = earlier;
    }
    std::vector<RunnerProcess::Reply> replies;
    std::optional<RunnerProcess::Death> death =
        RunTimed(target, *runner, batch.encoder, &replies);
    if (patience_ == 1) hang_limit_ = target.limits().call_seconds;
    if (!target.program().sanitizer.empty()) {
      // It tells all that it has seen when the process ends.
      const std::vector<std::string> reports = runner->End();
      flights_[batch.flights[0]].seen->steps.back().reports = reports;
      if (!death.has_value()) runner.reset();
    }
    if (!death.has_value()) {
      for (std::size_t k = 0; k < replies.size(); ++k) {
        StepObservation& seen = flights_[batch.flights[k]].seen->steps.back();
        seen.status = StatusOf(replies[k].status);
        seen.message = std::move(replies[k].message);
        AddStrays(replies[k].strays, flights_[batch.flights[k]], number);
        if (seen.status == CallStatus::kError &&
            replies[k].status != MLAFUZZ_ERROR) {
          seen.message = absl::StrCat("it returned ", replies[k].status,
                                      ", which is no status");
        }
      }
      return std::nullopt;
    }
    ++counts_.deaths;
    runner.reset();
    Casualty casualty;
    casualty.place =
        batch.flights[std::min(death->call, batch.flights.size() - 1)];
    Flight& flight = flights_[casualty.place];
    StepObservation& seen = flight.seen->steps.back();
    if (death->crash.has_value()) {
      Crash crash = *death->crash;
      crash.address += reinterpret_cast<std::uintptr_t>(arena_.base());
      death->message =
          DescribeCrash(crash, arena_, flight.image->pool,
                        flight.image->steps[number], flight.staged);
      seen.fault = FaultOf(crash, arena_, flight.staged);
    } else if (death->unknown_address) {
      seen.fault = FaultOf({.signal = SIGSEGV, .has_address = false}, arena_,
                           flight.staged);
    }
    seen.status = death->status;
    seen.message = death->message;
    // Nobody writes any more.
    Inspect(flight, number);
    casualty.death = *std::move(death);
    return casualty;
  }

  GuardedArena arena_;
  std::map<std::string, std::unique_ptr<RunnerProcess>> runners_;
  std::map<std::string, std::uint64_t> calls_;  // that each has made
  std::array<std::uint64_t, kAllKernels.size()> executions_{};
  RunnerCounts counts_;
  LentDescriptor lent_;          // none: nothing is lent
  int lent_to_ = -2;             // the GPU whose runners take it
  double patience_ = 1;          // times the limit on calls, for new runners
  double hang_limit_ = 0;        // s, of the runner used last
  double longest_exchange_ = 0;  // s
  bool slow_ = false;  // the last single case ended, but not in its limit
  // Of the Run() at hand.
  const TargetSet* targets_ = nullptr;
  absl::Span<const CaseImage* const> images_;
  std::vector<Observation>* observations_ = nullptr;
  // Of the attempt at hand.
  std::vector<Flight> flights_;
};

}  // namespace

std::unique_ptr<ForeignExecutor> MakeForeignExecutor() {
  return std::make_unique<Processes>();
}

std::unique_ptr<Executor> MakeExecutor(const TargetSet& targets) {
  for (const std::shared_ptr<Target>& target : targets.targets) {
    if (target != nullptr && target->foreign() != nullptr) {
      return MakeForeignExecutor();
    }
  }
  return MakeHostExecutor();
}

}  // namespace mlafuzz
