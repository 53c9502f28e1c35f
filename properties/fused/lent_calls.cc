#include "properties/fused/lent_calls.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/foreign/foreign_target.h"
#include "oracle/device/write_rules.h"
#include "oracle/expect.h"
#include "properties/fused/for_each.h"

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;
using Place = LentCall::Place;

// Where buffers begin, before their own misalignment.
constexpr std::uint64_t kAlignment = 256;
constexpr int kSlackByte = 0x5c;

class Timer {
 public:
  explicit Timer(double& seconds) : seconds_(seconds) {}
  ~Timer() {
    seconds_ += std::chrono::duration<double>(Clock::now() - start_).count();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

absl::StatusOr<std::unique_ptr<LentCalls>> LentCalls::Create(
    const TargetSet& targets, ForeignExecutor& executor, std::uint64_t bytes) {
  int device = -1;
  for (const std::shared_ptr<Target>& target : targets.targets) {
    if (target == nullptr) continue;
    const int its = target->foreign() == nullptr
                        ? -1
                        : target->foreign()->program().lent_to;
    if (its < 0 || (device >= 0 && its != device)) {
      return absl::FailedPreconditionError(
          absl::StrCat(target->name(), " takes no memory of that GPU"));
    }
    device = its;
  }
  if (device < 0) return absl::FailedPreconditionError("no kernel on a GPU");
  auto memory = LentMemory::Create(device, bytes);
  if (!memory.ok()) return memory.status();
  executor.Lend(**memory, device);
  return std::make_unique<LentCalls>(targets, executor, *std::move(memory));
}

// One call at work.
class LentCalls::Call {
 public:
  Call(LentCalls& owner, const FusedCase& fused, const Contracts& contracts,
       int threads)
      : owner_(owner),
        memory_(*owner.memory_),
        fused_(fused),
        contracts_(contracts),
        threads_(threads),
        image_(fused.shape()),
        size_(fused.members().size()) {
    PlaceAll();
    FindRules();
  }

  absl::StatusOr<Result> Run() {
    Result result;
    if (used_ > memory_.bytes()) {
      result.why_not = absl::StrCat(used_, " bytes are more than are lent");
      return result;
    }
    absl::Status device = Prepare();
    if (device.ok() && !settled_) {
      // Bring() may still be under way.
      device = memory_.Settle();
      result.why_not = "its bytes do not follow from its contract alone";
    }
    bool differs = false;
    for (std::size_t step = 0; step < image_.steps.size(); ++step) {
      if (device.ok() && !differs) device = Reference(step);
      if (!device.ok() || !result.why_not.empty()) break;
      if (absl::Status s = Make(step, &result.why_not); !s.ok()) return s;
      if (!result.why_not.empty()) break;
      if (!differs) {
        auto same = Compare(step);
        device = same.status();
        if (!device.ok()) break;
        differs = !*same;
        if (differs) {
          if (by_rows_) ExpectWhole(step);
          for (std::size_t i = 0; i < step; ++i) {
            Remember(i, &result.together);
          }
        }
      }
      if (differs) device = Observe(step, &result.together);
    }
    const MlafuzzLenderTimes times = memory_.TakeTimes();
    owner_.times_.copy += times.bring + times.compare + times.fetch;
    if (!device.ok()) {
      owner_.lost_ = std::string(device.message());
      result.why_not = owner_.lost_;
    }
    if (!result.why_not.empty()) {
      result.together = {};
    } else if (!differs) {
      result.as_expected = true;
      result.pools_left_out = by_rows_;
      Judge(&result);
    }
    return result;
  }

 private:
  static Place Reserve(std::uint64_t* at, std::size_t misalignment,
                       std::size_t size) {
    const std::uint64_t begin =
        (*at + kAlignment - 1) / kAlignment * kAlignment + misalignment;
    *at = begin + size + kSlack;
    return {begin, size};
  }

  // Tensors first: what lies behind the pool is soon not mapped.
  void PlaceAll() {
    std::uint64_t at = kSlack;
    tensors_.resize(image_.steps.size());
    for (std::size_t step = 0; step < image_.steps.size(); ++step) {
      for (std::size_t t = 0; t < image_.steps[step].tensors.size(); ++t) {
        tensors_[step].push_back(
            Reserve(&at, image_.steps[step].tensors[t].misalignment,
                    fused_.tensor_size(step, t)));
      }
    }
    pool_ = Reserve(&at, 0, fused_.pool_size());
    used_ = at;
  }

  // Whether the device can work out what comes of all steps: writers whose
  // rules are numbers, and what has nothing to do with the pool.
  void FindRules() {
    for (const StepImage& step : image_.steps) {
      rules_.emplace_back();
      if (step.kernel == Kernel::kConvert) continue;
      if (step.kernel == Kernel::kWriter) {
        rules_.back() = oracle::WriteRulesOf(
            contracts_[static_cast<std::size_t>(step.kernel)]->writer(),
            image_.pool, step);
      }
      if (!rules_.back().has_value()) return;
    }
    by_rows_ = true;
  }

  template <typename F>
  void ForEachPlace(const F& body) const {
    for (const auto& step : tensors_) {
      for (const Place& place : step) body(place);
    }
    body(pool_);
  }

  absl::Status Prepare() {
    {
      Timer timer(owner_.times_.lay);
      auto inputs = memory_.Inputs(used_);
      if (!inputs.ok()) return inputs.status();
      std::uint64_t end = 0;
      ForEachPlace([&](const Place& place) {
        std::memset(*inputs + end, kSlackByte, place.begin - end);
        end = place.begin + place.size;
      });
      std::memset(*inputs + end, kSlackByte, used_ - end);
      FusedCase::Memory to;
      to.pool = *inputs + pool_.begin;
      for (const auto& step : tensors_) {
        auto& tensors = to.tensors.emplace_back();
        for (const Place& place : step) {
          tensors.push_back(*inputs + place.begin);
        }
      }
      fused_.LayInto(to, threads_);
      if (absl::Status s = memory_.Bring(0, used_); !s.ok()) return s;
      owner_.copied_bytes_ += used_;
    }
    Timer timer(owner_.times_.expect);
    auto expected = memory_.Expected(used_);
    if (!expected.ok()) return expected.status();
    expected_ = *expected;
    expectations_.resize(size_);
    if (by_rows_) standing_.resize(size_);
    std::atomic<bool> settled{true};
    ForEach(size_, threads_, [&](std::size_t m) {
      if (!ExpectMember(m)) settled = false;
    });
    settled_ = settled;
    return absl::OkStatus();
  }

  // What each step of a member must leave. False: the contract leaves it open.
  bool ExpectMember(std::size_t m) {
    const CaseImage& member = *fused_.members()[m];
    absl::Span<const std::uint8_t> before = member.pool.bytes;
    auto& steps = expectations_[m];
    steps.reserve(member.steps.size());
    if (by_rows_) standing_[m].resize(member.steps.size());
    for (std::size_t step = 0; step < member.steps.size(); ++step) {
      const Kernel kernel = member.steps[step].kernel;
      Expectation& expected = steps.emplace_back();
      // Within bounds, which the host looks at.
      if (kernel == Kernel::kDecode) continue;
      if (by_rows_ && kernel == Kernel::kWriter) {
        auto standing = oracle::StandingRowsOf(
            contracts_[static_cast<std::size_t>(kernel)]->writer(), member.pool,
            member.steps[step]);
        if (!standing.has_value()) return false;
        expected.written = standing->written;
        standing_[m][step] = std::move(standing->rows);
        continue;
      }
      expected = mlafuzz::Expect(*contracts_[static_cast<std::size_t>(kernel)],
                                 member, static_cast<int>(step), before);
      if (!expected.unsettled.empty() || expected.outside_writes != 0) {
        return false;
      }
      if (!expected.pool.empty()) before = expected.pool;
    }
    return true;
  }

  // What steps before `end` left, on the host after all.
  void ExpectWhole(std::size_t end) {
    ForEach(size_, threads_, [&](std::size_t m) {
      const CaseImage& member = *fused_.members()[m];
      absl::Span<const std::uint8_t> before = member.pool.bytes;
      for (std::size_t step = 0; step < end; ++step) {
        Expectation& expected = expectations_[m][step];
        expected = mlafuzz::Expect(
            *contracts_[static_cast<std::size_t>(member.steps[step].kernel)],
            member, static_cast<int>(step), before);
        if (!expected.pool.empty()) before = expected.pool;
      }
    });
  }

  // The rows that the step's writer must leave, for the device.
  absl::Status ReferByRows(std::size_t step) {
    const StepImage& shape = image_.steps[step];
    const auto number = [&](TensorId id) {
      return static_cast<std::size_t>(shape.Find(id) - shape.tensors.data());
    };
    const std::size_t latent = number(TensorId::kKvC);
    const bool has_rope = shape.Find(TensorId::kKPe) != nullptr;
    const std::size_t rope = has_rope ? number(TensorId::kKPe) : 0;
    const auto row_bytes = [&](std::size_t t) {
      return 2 * static_cast<std::uint64_t>(shape.tensors[t].strides[0]);
    };
    std::vector<std::size_t> first(size_ + 1, 0);
    for (std::size_t m = 0; m < size_; ++m) {
      first[m + 1] = first[m] + standing_[m][step].size();
    }
    const std::size_t bytes = first[size_] * sizeof(oracle::WriteRow);
    if (bytes == 0) return absl::OkStatus();
    auto rows = memory_.Rows(bytes);
    if (!rows.ok()) return rows.status();
    ForEach(size_, threads_, [&](std::size_t m) {
      const FusedCase::Place pages = fused_.PagesOf(m);
      const std::uint64_t pool =
          pool_.begin + pages.begin -
          static_cast<std::uint64_t>(fused_.members()[m]->pool.offset);
      const std::uint64_t values =
          Begin(step, latent) + fused_.RowsOf(step, latent, m).begin;
      const std::uint64_t tail =
          has_rope ? Begin(step, rope) + fused_.RowsOf(step, rope, m).begin : 0;
      std::uint8_t* to = *rows + first[m] * sizeof(oracle::WriteRow);
      for (const oracle::RowWrite& row : standing_[m][step]) {
        const auto token = static_cast<std::uint64_t>(row.token);
        const oracle::WriteRow written = {
            .latent = values + token * row_bytes(latent),
            .rope = has_rope ? tail + token * row_bytes(rope) : 0,
            .at = pool + static_cast<std::uint64_t>(row.at),
            .behind = pool + static_cast<std::uint64_t>(row.behind)};
        std::memcpy(to, &written, sizeof written);
        to += sizeof written;
      }
    });
    owner_.copied_bytes_ += bytes;
    const oracle::WriteRules& rules = *rules_[step];
    return memory_.WriteRows(
        {reinterpret_cast<const std::uint8_t*>(&rules), sizeof rules},
        first[size_]);
  }

  // The reference for what comes of the step.
  absl::Status Reference(std::size_t step) {
    if (by_rows_ && image_.steps[step].kernel == Kernel::kWriter) {
      Timer timer(owner_.times_.expect);
      if (absl::Status s = ReferByRows(step); !s.ok()) return s;
    } else {
      Timer timer(owner_.times_.expect);
      const auto& tensors = image_.steps[step].tensors;
      std::vector<char> outputs(tensors.size(), 0);
      for (std::size_t t = 0; t < tensors.size(); ++t) {
        outputs[t] = tensors[t].output && !IsLooked(step, t);
      }
      const bool pool = std::any_of(
          expectations_.begin(), expectations_.end(),
          [&](const auto& member) { return !member[step].pool.empty(); });
      if (pool) {
        const CaseImage& first = *fused_.members()[0];
        std::memcpy(expected_ + pool_.begin, first.pool.bytes.data(),
                    static_cast<std::size_t>(first.pool.offset));
      }
      // Gaps between members' rows have what Lay() gives them.
      for (std::size_t t = 0; t < tensors.size(); ++t) {
        if (outputs[t]) fused_.LayGaps(step, t, expected_ + Begin(step, t));
      }
      ForEach(size_, threads_, [&](std::size_t m) {
        if (pool) LayPages(step, m, expected_ + pool_.begin);
        for (std::size_t t = 0; t < tensors.size(); ++t) {
          if (!outputs[t]) continue;
          const auto& bytes = expectations_[m][step].outputs[t];
          std::memcpy(
              expected_ + Begin(step, t) + fused_.RowsOf(step, t, m).begin,
              bytes.data(), bytes.size());
        }
      });
      if (pool) {
        if (absl::Status s = Refer(pool_); !s.ok()) return s;
      }
      for (std::size_t t = 0; t < tensors.size(); ++t) {
        if (!outputs[t]) continue;
        if (absl::Status s = Refer(tensors_[step][t]); !s.ok()) return s;
      }
    }
    Timer timer(owner_.times_.wait);
    return memory_.Settle();
  }

  absl::Status Refer(const Place& place) {
    owner_.copied_bytes_ += place.size;
    return memory_.Expect(place.begin, place.begin + place.size);
  }

  // The member's pages after `step`, into the call's pool.
  void LayPages(std::size_t step, std::size_t m, std::uint8_t* to) const {
    const CaseImage& member = *fused_.members()[m];
    const std::vector<std::uint8_t>* pool = &member.pool.bytes;
    for (std::size_t i = 0; i <= step; ++i) {
      const auto& after = expectations_[m][i].pool;
      if (!after.empty()) pool = &after;
    }
    const FusedCase::Place pages = fused_.PagesOf(m);
    std::memcpy(to + pages.begin, pool->data() + member.pool.offset,
                pages.size);
  }

  std::uint64_t Begin(std::size_t step, std::size_t t) const {
    return tensors_[step][t].begin;
  }

  // Whether the host looks at the tensor itself.
  bool IsLooked(std::size_t step, std::size_t t) const {
    return image_.steps[step].kernel == Kernel::kDecode &&
           image_.steps[step].tensors[t].output;
  }

  absl::Status Make(std::size_t step, std::string* why_not) {
    Timer timer(owner_.times_.wait);
    CallEnd end;
    const LentCall call = {.image = &image_,
                           .step = step,
                           .pool = pool_,
                           .tensors = tensors_[step]};
    absl::Status s = owner_.executor_.CallLent(owner_.targets_, call, &end);
    if (absl::IsFailedPrecondition(s)) {
      *why_not = std::string(s.message());
      return absl::OkStatus();
    }
    if (s.ok() && end.status != CallStatus::kOk) {
      *why_not = absl::StrCat("the call ended in ", CallStatusName(end.status),
                              ": ", end.message);
    }
    return s;
  }

  // Whether all bytes are as expected, but for those that the host looks at;
  // and brings those of the step.
  absl::StatusOr<bool> Compare(std::size_t step) {
    Timer timer(owner_.times_.wait);
    std::vector<MlafuzzRange> ranges = {{0, used_}};
    for (std::size_t done = 0; done <= step; ++done) {
      for (std::size_t t = 0; t < tensors_[done].size(); ++t) {
        if (!IsLooked(done, t)) continue;
        const Place& place = tensors_[done][t];
        ranges.back().end = place.begin;
        ranges.push_back({place.begin + place.size, used_});
      }
    }
    auto differences = memory_.Compare(ranges);
    if (!differences.ok()) return differences.status();
    bool same = differences->bytes == 0;
    for (std::size_t t = 0; same && t < tensors_[step].size(); ++t) {
      if (!IsLooked(step, t)) continue;
      const Place& place = tensors_[step][t];
      if (absl::Status s = Fetch(place); !s.ok()) return s;
      same = fused_.GapsAreWhole(step, t, results_ + place.begin);
    }
    return same;
  }

  absl::Status Fetch(const Place& place) {
    auto results = memory_.Results(used_);
    if (!results.ok()) return results.status();
    results_ = *results;
    owner_.copied_bytes_ += place.size;
    return memory_.Fetch(place.begin, place.begin + place.size);
  }

  // ---- a call of which some byte is not as expected

  // A step that was as expected.
  void Remember(std::size_t step, Observation* seen) {
    StepObservation& own = seen->steps.emplace_back();
    const auto& tensors = image_.steps[step].tensors;
    own.outputs.resize(tensors.size());
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (!tensors[t].output) continue;
      auto& bytes = own.outputs[t];
      bytes.resize(fused_.tensor_size(step, t));
      if (IsLooked(step, t)) {
        std::memcpy(bytes.data(), results_ + Begin(step, t), bytes.size());
        continue;
      }
      fused_.LayGaps(step, t, bytes.data());
      for (std::size_t m = 0; m < size_; ++m) {
        const auto& rows = expectations_[m][step].outputs[t];
        std::memcpy(bytes.data() + fused_.RowsOf(step, t, m).begin, rows.data(),
                    rows.size());
      }
    }
    own.pool.emplace(fused_.pool_size());
    const PoolImage& first = fused_.members()[0]->pool;
    std::memcpy(own.pool->data(), first.bytes.data(),
                static_cast<std::size_t>(first.offset));
    for (std::size_t m = 0; m < size_; ++m) {
      LayPages(step, m, own.pool->data());
    }
  }

  // What the step left, whatever it is.
  absl::Status Observe(std::size_t step, Observation* seen) {
    Timer timer(owner_.times_.wait);
    if (absl::Status s = Fetch({0, used_}); !s.ok()) return s;
    auto inputs = memory_.Inputs(used_);
    if (!inputs.ok()) return inputs.status();
    StepObservation& own = seen->steps.emplace_back();
    const auto& tensors = image_.steps[step].tensors;
    own.outputs.resize(tensors.size());
    own.pool.emplace(results_ + pool_.begin,
                     results_ + pool_.begin + pool_.size);
    // Everything else is an input of the call, another's, or slack.
    std::uint64_t end = 0;
    const auto whole = [&](std::uint64_t until) {
      if (std::memcmp(results_ + end, *inputs + end, until - end) != 0) {
        own.strays.push_back({});
      }
    };
    for (std::size_t number = 0; number < tensors_.size(); ++number) {
      for (std::size_t t = 0; t < tensors_[number].size(); ++t) {
        if (number > step || !image_.steps[number].tensors[t].output) continue;
        const Place& place = tensors_[number][t];
        whole(place.begin);
        end = place.begin + place.size;
        if (number == step) {
          own.outputs[t].assign(results_ + place.begin, results_ + end);
        }
      }
    }
    whole(pool_.begin);
    end = pool_.begin + pool_.size;
    whole(used_);
    return absl::OkStatus();
  }

  // Everything was as expected.
  void Judge(Result* result) {
    Timer timer(owner_.times_.judge);
    result->observations.resize(size_);
    result->checks.resize(size_);
    ForEach(size_, threads_, [&](std::size_t m) {
      const CaseImage& member = *fused_.members()[m];
      Observation& seen = result->observations[m];
      seen.steps.resize(member.steps.size());
      std::vector<std::int64_t> written;
      const std::vector<std::uint8_t>* last_pool = &member.pool.bytes;
      for (std::size_t step = 0; step < member.steps.size(); ++step) {
        Expectation& expected = expectations_[m][step];
        StepObservation& own = seen.steps[step];
        written.push_back(expected.written);
        if (!expected.pool.empty() && expected.pool != *last_pool) {
          own.pool = std::move(expected.pool);
          last_pool = &*own.pool;
        }
        own.outputs = std::move(expected.outputs);
        own.outputs.resize(member.steps[step].tensors.size());
        for (std::size_t t = 0; t < own.outputs.size(); ++t) {
          if (!IsLooked(step, t)) continue;
          const FusedCase::Place rows = fused_.RowsOf(step, t, m);
          const std::uint8_t* const from =
              results_ + Begin(step, t) + rows.begin;
          own.outputs[t].assign(from, from + rows.size);
        }
      }
      result->checks[m] = JudgeAsExpected(contracts_, member, seen, written);
    });
  }

  LentCalls& owner_;
  LentMemory& memory_;
  const FusedCase& fused_;
  const Contracts& contracts_;
  const int threads_;
  const CaseImage image_;
  const std::size_t size_;
  Place pool_;
  std::vector<std::vector<Place>> tensors_;
  std::uint64_t used_ = 0;
  std::uint8_t* expected_ = nullptr;
  const std::uint8_t* results_ = nullptr;
  // By member and step.
  std::vector<std::vector<Expectation>> expectations_;
  // By step, where the device works it out: the rules of a writer; and by
  // member and step the rows.
  bool by_rows_ = false;
  std::vector<std::optional<oracle::WriteRules>> rules_;
  std::vector<std::vector<std::vector<oracle::RowWrite>>> standing_;
  bool settled_ = true;
};

void FillPools(const Contracts& contracts, const CaseImage& image,
               Observation* observation) {
  const std::vector<std::uint8_t>* before = &image.pool.bytes;
  for (std::size_t step = 0; step < observation->steps.size(); ++step) {
    Expectation expected =
        Expect(*contracts[static_cast<std::size_t>(image.steps[step].kernel)],
               image, static_cast<int>(step), *before);
    if (expected.pool.empty() || expected.pool == *before) continue;
    auto& pool = observation->steps[step].pool;
    pool = std::move(expected.pool);
    before = &*pool;
  }
}

absl::StatusOr<LentCalls::Result> LentCalls::Run(const FusedCase& fused,
                                                 const Contracts& contracts,
                                                 int threads) {
  Result result;
  if (!lost_.empty()) {
    result.why_not = lost_;
    return result;
  }
  if (fused.shape().launch != Launch::kDirect) {
    result.why_not = "it is launched in another way";
    return result;
  }
  return Call(*this, fused, contracts, threads).Run();
}

}  // namespace mlafuzz
