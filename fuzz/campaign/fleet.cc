#include "fuzz/campaign/fleet.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/value_generator.h"
#include "fuzz/campaign/signals.h"

namespace mlafuzz {
namespace {

// Bytes of a case in the engine: a small case takes a few hundred.
constexpr int kMaxLen = 16 << 10;
// A worker that dies again and again before its first case cannot work.
constexpr int kMaxIdleDeaths = 3;

const char* VerdictOf(WorkerState state) {
  switch (state) {
    case WorkerState::kHang:
      return "hang";
    case WorkerState::kOutOfMemory:
      return "oom";
    default:
      return "crash";
  }
}

Fleet::Death DeathOf(WorkerProcess& worker, WorkerState state) {
  return {VerdictOf(state), state == WorkerState::kKilled, worker.DiedInCase(),
          worker.CurrentCase(), worker.Reason()};
}

}  // namespace

Fleet::Fleet(const CampaignOptions& options, const std::string& folder)
    : options_(options),
      folder_(folder),
      jobs_(static_cast<std::size_t>(options.jobs)) {}

absl::Status Fleet::Start() {
  std::error_code error;
  std::filesystem::create_directories(absl::StrCat(folder_, "/corpus"), error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat(folder_, "/corpus: ", error.message()));
  }
  const auto jobs = static_cast<std::uint64_t>(jobs_.size());
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    jobs_[i].cases_left = options_.cases / jobs + (i < options_.cases % jobs);
    if (options_.cases != 0 && jobs_[i].cases_left == 0) continue;
    if (absl::Status s = Spawn(i, {}); !s.ok()) return s;
  }
  return absl::OkStatus();
}

std::vector<std::string> Fleet::Arguments(std::uint32_t number) const {
  const ValueGenerator seeds = ValueGenerator(options_.seed).Stream(number);
  const auto seed = static_cast<std::uint32_t>(
      seeds.Word(static_cast<std::uint64_t>(jobs_[number].incarnation)));
  std::vector<std::string> arguments = {
      absl::StrCat("-seed=", (seed >> 1) | 1),  // 0 means: by the clock
      absl::StrCat("-max_len=", kMaxLen),
      "-len_control=0",
      // Deaths are judged by the supervisor, which has the case.
      "-timeout=0",
      "-rss_limit_mb=0",
      "-malloc_limit_mb=0",
      "-handle_segv=0",
      "-handle_bus=0",
      "-handle_ill=0",
      "-handle_fpe=0",
      "-handle_abrt=0",
      "-handle_int=0",
      "-handle_term=0",
      "-detect_leaks=0",
      // One job is deterministic; several share what they find.
      absl::StrCat("-reload=", jobs_.size() > 1 ? 10 : 0),
      absl::StrCat("-artifact_prefix=", folder_, "/"),
      absl::StrCat(folder_, "/corpus"),
  };
  if (!options_.case_list.empty()) {
    arguments.push_back(absl::StrCat("-seed_inputs=@", options_.case_list));
  }
  arguments.insert(arguments.end(), options_.corpora.begin(),
                   options_.corpora.end());
  return arguments;
}

absl::Status Fleet::Spawn(std::uint32_t number,
                          const std::vector<std::string>& known) {
  Job& job = jobs_[number];
  WorkRequest request;
  request.set_mode(WorkRequest::FUZZ);
  *request.mutable_targets() = options_.targets;
  if (!options_.devices.empty()) {
    request.mutable_targets()->set_device(
        options_.devices[number % options_.devices.size()]);
  }
  if (options_.other.has_value()) {
    *request.mutable_other() = *options_.other;
    request.set_diff(true);
    request.set_no_oracle(options_.no_oracle);
    request.set_within_bounds(options_.within_bounds);
  }
  request.mutable_kernels()->Assign(options_.kernels.begin(),
                                    options_.kernels.end());
  request.set_seed(ValueGenerator(options_.seed)
                       .Stream(number + 0x1000)
                       .Word(static_cast<std::uint64_t>(job.incarnation)));
  request.set_out(folder_);
  request.set_job(number + 1000 * static_cast<std::uint32_t>(job.incarnation));
  request.set_mutator(options_.mutator);
  request.set_max_cases(options_.cases == 0 ? 0 : job.cases_left);
  request.set_max_inputs(options_.inputs);
  request.set_max_cpu_seconds(options_.cpu_seconds);
  if (!options_.case_log.empty()) {
    request.set_case_log(absl::StrCat(options_.case_log, ".", number));
  }
  request.set_stop_on_first(options_.stop_on_first);
  request.set_fuse(options_.fuse);
  request.set_judge_twice(options_.judge_twice);
  request.set_threads(options_.threads);
  request.mutable_known_causes()->Assign(known.begin(), known.end());
  auto worker = WorkerProcess::Start(options_.engine.path, folder_,
                                     absl::StrCat(number), std::move(request),
                                     Arguments(number), options_.limits);
  if (!worker.ok()) return worker.status();
  job.worker = *std::move(worker);
  return absl::OkStatus();
}

void Fleet::Retire(Job& job) {
  const WorkerStatus& status = job.worker->status();
  retired_.Add(status);
  retired_.coverage = std::max(retired_.coverage, job.worker->coverage());
  retired_.corpus = std::max(retired_.corpus, job.worker->corpus());
  job.cases_left -= std::min<std::uint64_t>(job.cases_left, status.cases);
  job.worker.reset();
}

void Fleet::TakeRecords(std::vector<FindingRecord>* records) {
  std::error_code error;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator it(folder_, error), end;
       !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".finding") {
      paths.push_back(it->path().string());
    }
  }
  if (paths.empty()) return;
  std::sort(paths.begin(), paths.end());
  const Totals sum = Sum();
  for (const std::string& path : paths) {
    const auto bytes = ReadFile(path);
    FindingRecord record;
    if (bytes.ok() && record.ParseFromString(*bytes)) {
      // One job: exactly as recorded. More: what all have done by now.
      if (jobs_.size() > 1 || respawns_ > 0) {
        for (std::size_t k = 0; k < kKernels; ++k) {
          record.set_executions(static_cast<int>(k), sum.executions[k]);
        }
        record.set_cases(sum.cases);
        record.set_cpu_seconds(1e-9 * static_cast<double>(sum.cpu_nanoseconds));
      }
      records->push_back(std::move(record));
    }
    std::filesystem::remove(path, error);
  }
}

absl::Status Fleet::Poll(const std::vector<std::string>& known,
                         std::vector<FindingRecord>* records,
                         std::vector<Death>* deaths) {
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    Job& job = jobs_[i];
    if (job.worker == nullptr) continue;
    const WorkerState state = job.worker->Poll();
    if (state == WorkerState::kRunning) continue;
    if (state == WorkerState::kUsage) {
      return absl::InvalidArgumentError(job.worker->Reason());
    }
    if (state == WorkerState::kDone) {
      Retire(job);
      continue;
    }
    Death death = DeathOf(*job.worker, state);
    const bool at_start = job.worker->status().inputs == 0 && !death.in_case;
    job.idle_deaths = at_start ? job.idle_deaths + 1 : 0;
    Retire(job);
    if (job.idle_deaths >= kMaxIdleDeaths) {
      return absl::UnavailableError(
          absl::StrCat("the engine cannot start: ", death.reason));
    }
    if (!at_start || death.killed) deaths->push_back(std::move(death));
    if (options_.cases != 0 && job.cases_left == 0) continue;
    ++job.incarnation;
    ++respawns_;
    if (absl::Status s = Spawn(i, known); !s.ok()) return s;
  }
  TakeRecords(records);
  return absl::OkStatus();
}

Fleet::Waited Fleet::Stop(double seconds, std::vector<FindingRecord>* records,
                          std::vector<Death>* deaths) {
  using Clock = std::chrono::steady_clock;
  // What a case that is nothing special takes to end, and its worker to leave.
  constexpr double kMoment = 0.3;
  // Of many cases at once, for what was found among them.
  constexpr double kTurn = 3;
  const auto moment = [this] {
    return options_.fuse > 1 && StopSignals() < 2 ? kTurn : kMoment;
  };
  for (Job& job : jobs_) {
    if (job.worker != nullptr) job.worker->Stop();
  }
  Waited waited;
  const Clock::time_point start = Clock::now();
  while (!AllDone()) {
    for (Job& job : jobs_) {
      if (job.worker == nullptr) continue;
      const WorkerState state = job.worker->Poll();
      if (state == WorkerState::kRunning) continue;
      if (state != WorkerState::kDone && state != WorkerState::kUsage &&
          job.worker->DiedInCase()) {
        deaths->push_back(DeathOf(*job.worker, state));
      }
      Retire(job);
    }
    waited.seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    if (waited.seconds >= (StopSignals() > 0 ? moment() : seconds)) break;
    usleep(2000);
  }
  for (Job& job : jobs_) {
    if (job.worker == nullptr) continue;
    if (job.worker->DiedInCase()) {
      ++waited.killed;
      waited.cases.push_back(job.worker->CurrentCase());
    }
    Retire(job);  // kills it
  }
  TakeRecords(records);
  return waited;
}

bool Fleet::AllDone() const {
  return std::all_of(jobs_.begin(), jobs_.end(),
                     [](const Job& job) { return job.worker == nullptr; });
}

Totals Fleet::Sum() const {
  Totals sum = retired_;
  for (const Job& job : jobs_) {
    if (job.worker == nullptr) continue;
    sum.Add(job.worker->status());
    sum.coverage = std::max(sum.coverage, job.worker->coverage());
    sum.corpus = std::max(sum.corpus, job.worker->corpus());
  }
  return sum;
}

}  // namespace mlafuzz
