#include "properties/fused/lent_calls.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
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
// Members that a thread works out or judges at a time: calls differ in size,
// and a decode takes a millisecond.
constexpr std::size_t kPiece = 8;

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

// Of calls that were made; empty: all ended well.
std::string WhyNot(absl::Span<const CallEnd> ends) {
  for (const CallEnd& end : ends) {
    if (end.status == CallStatus::kOk) continue;
    return absl::StrCat("the call ended in ", CallStatusName(end.status), ": ",
                        end.message);
  }
  return "";
}

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
    PlaceAt(0);
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
      if (device.ok() && !differs) {
        Timer timer(owner_.times_.expect);
        device = Refer(step, 0);
      }
      if (device.ok() && !differs) {
        Timer timer(owner_.times_.wait);
        device = memory_.Settle();
      }
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
      Timer timer(owner_.times_.judge);
      return AsExpected();
    }
    return result;
  }

  // ---- of several calls at once; see RunTogether()

  // From `from` on in all memories. Tensors first: what lies behind the pool is
  // soon not mapped.
  void PlaceAt(std::uint64_t from) {
    from_ = from;
    std::uint64_t at = from + kSlack;
    tensors_.assign(image_.steps.size(), {});
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
  std::uint64_t end() const { return used_; }
  std::size_t steps() const { return image_.steps.size(); }
  // Whether the host looks at anything itself.
  bool looks() const {
    for (std::size_t step = 0; step < steps(); ++step) {
      for (std::size_t t = 0; t < tensors_[step].size(); ++t) {
        if (IsLooked(step, t)) return true;
      }
    }
    return false;
  }

  // What must come of all members. False: a contract leaves it open.
  bool Expect(int threads) {
    expectations_.resize(size_);
    if (by_rows_) standing_.resize(size_);
    std::atomic<bool> settled{true};
    ForEach(
        size_, threads,
        [&](std::size_t m) {
          if (!ExpectMember(m)) settled = false;
        },
        kPiece);
    return settled_ = settled;
  }

  void Lay(std::uint8_t* inputs, int threads) const {
    std::uint64_t end = from_;
    ForEachPlace([&](const Place& place) {
      std::memset(inputs + end, kSlackByte, place.begin - end);
      end = place.begin + place.size;
    });
    std::memset(inputs + end, kSlackByte, used_ - end);
    FusedCase::Memory to;
    to.pool = inputs + pool_.begin;
    for (const auto& step : tensors_) {
      auto& tensors = to.tensors.emplace_back();
      for (const Place& place : step) tensors.push_back(inputs + place.begin);
    }
    fused_.LayInto(to, threads);
  }
  void LayExpectedInto(std::uint8_t* expected) { expected_ = expected; }

  LentCall Describe(std::size_t step) const {
    return {.image = &image_,
            .step = step,
            .pool = pool_,
            .tensors = tensors_[step]};
  }

  // Rows of the step that the device works out.
  std::size_t rows(std::size_t step) const {
    std::size_t rows = 0;
    if (!by_rows_) return rows;
    for (const auto& member : standing_) rows += member[step].size();
    return rows;
  }

  // The reference for what comes of the step; begins to. Its rows are those
  // from `first_row` on in the memory's.
  absl::Status Refer(std::size_t step, std::size_t first_row) {
    return by_rows_ && image_.steps[step].kernel == Kernel::kWriter
               ? ReferByRows(step, first_row)
               : ReferWhole(step);
  }

  // All of its bytes but those of steps up to `step` that the host looks at.
  void AddRanges(std::size_t step, std::vector<MlafuzzRange>* ranges) const {
    // Of one that lies behind the last, all is one stretch.
    if (!ranges->empty() && ranges->back().end == from_) {
      ranges->back().end = used_;
    } else {
      ranges->push_back({from_, used_});
    }
    for (std::size_t done = 0; done <= step && done < steps(); ++done) {
      for (std::size_t t = 0; t < tensors_[done].size(); ++t) {
        if (!IsLooked(done, t)) continue;
        const Place& place = tensors_[done][t];
        ranges->back().end = place.begin;
        ranges->push_back({place.begin + place.size, used_});
      }
    }
  }

  // Brings what the host looks at. False: there are bytes of nobody's.
  absl::StatusOr<bool> Look(std::size_t step) {
    bool same = true;
    for (std::size_t t = 0; same && t < tensors_[step].size(); ++t) {
      if (!IsLooked(step, t)) continue;
      const Place& place = tensors_[step][t];
      if (absl::Status s = Fetch(place); !s.ok()) return s;
      same = fused_.GapsAreWhole(step, t, results_ + place.begin);
    }
    return same;
  }

  Result AsExpected() {
    Result result;
    result.as_expected = true;
    result.pools_left_out = by_rows_;
    Judge(&result);
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
    auto inputs = memory_.Inputs(used_);
    if (!inputs.ok()) return inputs.status();
    {
      Timer timer(owner_.times_.lay);
      Lay(*inputs, threads_);
      if (absl::Status s = memory_.Bring(0, used_); !s.ok()) return s;
      owner_.copied_bytes_ += used_;
    }
    Timer timer(owner_.times_.expect);
    auto expected = memory_.Expected(used_);
    if (!expected.ok()) return expected.status();
    expected_ = *expected;
    Expect(threads_);
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
  absl::Status ReferByRows(std::size_t step, std::size_t first_row) {
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
    std::vector<std::size_t> first(size_ + 1, first_row);
    for (std::size_t m = 0; m < size_; ++m) {
      first[m + 1] = first[m] + standing_[m][step].size();
    }
    const std::size_t count = first[size_] - first_row;
    if (count == 0) return absl::OkStatus();
    auto rows = memory_.Rows(first[size_] * sizeof(oracle::WriteRow));
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
    owner_.copied_bytes_ += count * sizeof(oracle::WriteRow);
    const oracle::WriteRules& rules = *rules_[step];
    return memory_.WriteRows(
        {reinterpret_cast<const std::uint8_t*>(&rules), sizeof rules},
        first_row, count);
  }

  absl::Status ReferWhole(std::size_t step) {
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
      if (absl::Status s = Bring(pool_); !s.ok()) return s;
    }
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (!outputs[t]) continue;
      if (absl::Status s = Bring(tensors_[step][t]); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::Status Bring(const Place& place) {
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
    std::vector<CallEnd> ends;
    absl::Status s =
        owner_.executor_.CallLent(owner_.targets_, {Describe(step)}, &ends);
    if (absl::IsFailedPrecondition(s)) {
      *why_not = std::string(s.message());
      return absl::OkStatus();
    }
    if (s.ok()) *why_not = WhyNot(ends);
    return s;
  }

  // Whether all bytes are as expected, but for those that the host looks at;
  // and brings those of the step.
  absl::StatusOr<bool> Compare(std::size_t step) {
    Timer timer(owner_.times_.wait);
    std::vector<MlafuzzRange> ranges;
    AddRanges(step, &ranges);
    auto differences = memory_.Compare(ranges);
    if (!differences.ok()) return differences.status();
    if (differences->bytes != 0) return false;
    return Look(step);
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
    result->observations.resize(size_);
    result->checks.resize(size_);
    ForEach(
        size_, threads_,
        [&](std::size_t m) {
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
          result->checks[m] =
              JudgeAsExpected(contracts_, member, seen, written);
        },
        kPiece);
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
  std::uint64_t from_ = 0;
  std::uint64_t used_ = 0;  // up to here
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

// Goes on as long as all is as expected.
absl::StatusOr<LentCalls::Together> LentCalls::RunTogether(
    absl::Span<Call* const> calls, int threads) {
  Together end;
  std::size_t steps = 0;
  const auto lost = [&](const absl::Status& device) {
    lost_ = std::string(device.message());
    end.why_not = lost_;
    return end;
  };
  const std::uint64_t bytes = calls.back()->end();
  auto inputs = memory_->Inputs(bytes);
  if (!inputs.ok()) return lost(inputs.status());
  auto expected = memory_->Expected(bytes);
  if (!expected.ok()) return lost(expected.status());
  // As large as all will ask for: a larger one loses what it held.
  if (std::any_of(calls.begin(), calls.end(),
                  [](const Call* call) { return call->looks(); })) {
    auto results = memory_->Results(bytes);
    if (!results.ok()) return lost(results.status());
  }
  {
    Timer timer(times_.lay);
    ForEach(
        calls.size(), threads,
        [&](std::size_t i) { calls[i]->Lay(*inputs, 1); }, 1);
  }
  if (absl::Status s = memory_->Bring(0, bytes); !s.ok()) return lost(s);
  copied_bytes_ += bytes;
  for (Call* const call : calls) {
    call->LayExpectedInto(*expected);
    steps = std::max(steps, call->steps());
  }
  for (std::size_t step = 0; step < steps; ++step) {
    // A runner each.
    std::map<std::string, std::vector<LentCall>> made;
    std::size_t rows = 0;
    for (const Call* const call : calls) {
      if (step < call->steps()) rows += call->rows(step);
    }
    if (rows > 0) {
      auto all = memory_->Rows(rows * sizeof(oracle::WriteRow));
      if (!all.ok()) return lost(all.status());
    }
    std::size_t first_row = 0;
    for (Call* const call : calls) {
      if (step >= call->steps()) continue;
      const LentCall described = call->Describe(step);
      made[targets_.For(described.image->steps[step].kernel)->name()].push_back(
          described);
      Timer timer(times_.expect);
      if (absl::Status s = call->Refer(step, first_row); !s.ok()) {
        return lost(s);
      }
      first_row += call->rows(step);
    }
    Timer timer(times_.wait);
    if (absl::Status s = memory_->Settle(); !s.ok()) return lost(s);
    for (const auto& [target, exchange] : made) {
      std::vector<CallEnd> ends;
      absl::Status s = executor_.CallLent(targets_, exchange, &ends);
      if (!s.ok() && !absl::IsFailedPrecondition(s)) return s;
      end.why_not = s.ok() ? WhyNot(ends) : std::string(s.message());
      if (end.why_not.empty()) continue;
      end.told = std::any_of(ends.begin(), ends.end(), [](const CallEnd& e) {
        return e.status == CallStatus::kError || e.status == CallStatus::kFault;
      });
      return end;
    }
    std::vector<MlafuzzRange> ranges;
    for (Call* const call : calls) call->AddRanges(step, &ranges);
    auto differences = memory_->Compare(ranges);
    if (!differences.ok()) return lost(differences.status());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      bool same = true;
      if (differences->bytes != 0) {
        ranges.clear();
        calls[i]->AddRanges(step, &ranges);
        auto own = memory_->Compare(ranges);
        if (!own.ok()) return lost(own.status());
        same = own->bytes == 0;
      }
      if (same && step < calls[i]->steps()) {
        auto whole = calls[i]->Look(step);
        if (!whole.ok()) return lost(whole.status());
        same = *whole;
      }
      if (!same) end.odd.push_back(i);
    }
    if (!end.odd.empty()) return end;
  }
  const MlafuzzLenderTimes times = memory_->TakeTimes();
  times_.copy += times.bring + times.compare + times.fetch;
  end.as_expected = true;
  return end;
}

absl::StatusOr<std::vector<LentCalls::Result>> LentCalls::RunAll(
    absl::Span<const std::unique_ptr<FusedCase>> calls,
    const Contracts& contracts, int threads,
    const std::function<void()>& progress) {
  std::vector<Result> results(calls.size());
  std::vector<std::unique_ptr<Call>> open(calls.size());
  std::vector<std::size_t> alone;
  // Those that fit into the memory at once.
  for (std::size_t begin = 0; begin < calls.size();) {
    progress();
    std::vector<std::size_t> fits;
    std::uint64_t at = 0;
    std::size_t end = begin;
    for (; end < calls.size(); ++end) {
      if (!lost_.empty() || calls[end]->shape().launch != Launch::kDirect) {
        alone.push_back(end);
        continue;
      }
      open[end] =
          std::make_unique<Call>(*this, *calls[end], contracts, threads);
      open[end]->PlaceAt(at);
      if (open[end]->end() > memory_->bytes()) {
        if (at > 0) break;
        alone.push_back(end);
        continue;
      }
      at = open[end]->end();
      fits.push_back(end);
    }
    begin = end;
    std::vector<char> settled(fits.size(), 0);
    {
      Timer timer(times_.expect);
      ForEach(
          fits.size(), threads,
          [&](std::size_t i) { settled[i] = open[fits[i]]->Expect(threads); },
          1);
    }
    std::vector<Call*> together;
    std::vector<std::size_t> which;
    at = 0;
    for (std::size_t i = 0; i < fits.size(); ++i) {
      if (settled[i] == 0) {
        alone.push_back(fits[i]);
        continue;
      }
      together.push_back(open[fits[i]].get());
      which.push_back(fits[i]);
      together.back()->PlaceAt(at);
      at = together.back()->end();
    }
    if (together.empty()) continue;
    auto seen = RunTogether(together, threads);
    if (!seen.ok()) return seen.status();
    if (seen->as_expected) {
      Timer timer(times_.judge);
      ForEach(
          which.size(), threads,
          [&](std::size_t i) { results[which[i]] = together[i]->AsExpected(); },
          1);
    } else {
      bool all_well = true;
      for (const std::size_t i : which) {
        progress();
        auto own = Run(*calls[i], contracts, threads);
        if (!own.ok()) return own.status();
        results[i] = *std::move(own);
        all_well &= results[i].as_expected;
      }
      if (all_well && which.size() > 1 && (seen->told || !seen->odd.empty())) {
        const std::string how = absl::StrCat(
            "in one exchange with ", which.size() - 1,
            " other calls, and not by itself: ",
            seen->why_not.empty() ? "it left bytes that are not as expected"
                                  : seen->why_not);
        if (seen->odd.empty()) results[which[0]].unstable = how;
        for (const std::size_t i : seen->odd) results[which[i]].unstable = how;
      }
    }
    for (const std::size_t i : fits) open[i].reset();
  }
  for (const std::size_t i : alone) {
    progress();
    auto own = Run(*calls[i], contracts, threads);
    if (!own.ok()) return own.status();
    results[i] = *std::move(own);
  }
  return results;
}

}  // namespace mlafuzz
