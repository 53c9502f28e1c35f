#include "oracle/other_reading.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "oracle/changed_call.h"
#include "oracle/changed_row.h"
#include "oracle/expect.h"
#include "oracle/layout.h"
#include "oracle/token_place.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {
namespace {

class Reader {
 public:
  explicit Reader(const ComparedStep& compared)
      : contract_(compared.contract),
        image_(compared.image),
        index_(compared.index),
        step_(compared.step),
        layout_(compared.layout),
        before_(compared.before),
        expected_(compared.expected),
        after_(compared.after) {}

  std::vector<OtherReading> Run() {
    ByCall();
    ByRow();
    ByBytes();
    return std::move(found_);
  }

  std::vector<OtherReading> Narrowed() {
    for (const CallChange& named : CallChanges()) {
      if (named.narrowed) ByCall(named);
    }
    return std::move(found_);
  }

 private:
  void Found(const char* key, std::string words) {
    for (const OtherReading& other : found_) {
      if (other.key == key) return;
    }
    found_.push_back(
        {key, absl::StrCat("the ", KernelName(step_.kernel), " ", words)});
  }

  bool Predicts(const Expectation& other) const {
    if (!other.unsettled.empty() || other.outside_writes > 0) return false;
    if (ExpectedPool(other, before_) != after_.pool) return false;
    // A change may have dropped an input: outputs are the same, in order.
    std::size_t at = 0;
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      if (!step_.tensors[i].output) continue;
      while (at < other.outputs.size() && other.outputs[at].empty() &&
             !after_.outputs[i].empty()) {
        ++at;
      }
      if (at >= other.outputs.size() ||
          absl::MakeConstSpan(other.outputs[at]) != after_.outputs[i]) {
        return false;
      }
      ++at;
    }
    return true;
  }

  void ByCall() {
    for (const CallChange& named : CallChanges()) ByCall(named);
  }

  void ByCall(const CallChange& named) {
    if (named.kernel != step_.kernel || step_.step == nullptr) return;
    ChangedCall call(contract_, image_, step_);
    if (!named.change(call)) return;
    if (Predicts(Expect(call.contract, call.image, 0, before_))) {
      Found(named.key, named.words);
    }
  }

  void ByRow() {
    if (step_.kernel == Kernel::kWriter) {
      const WritePlan plan = PlanWrites(contract_.writer(), image_.pool, step_);
      if (plan.repeated || expected_.pool.empty()) return;
      for (const RowChange& named : RowChanges()) {
        Expectation other = expected_;
        for (const RowWrite& row : plan.rows) {
          ChangeToken(named, row.place(), &other.pool);
        }
        if (Predicts(other)) Found(named.key, named.words);
      }
    } else if (step_.kernel == Kernel::kGather) {
      for (const RowChange& named : RowChanges()) {
        std::vector<std::uint8_t> pool(before_.begin(), before_.end());
        for (std::int64_t slot = 0; slot < image_.pool.slots(); ++slot) {
          ChangeToken(named, PlaceOf(image_.pool, slot), &pool);
        }
        Expectation other = Expect(contract_, image_, index_, pool);
        other.pool.clear();
        if (Predicts(other)) Found(named.key, named.words);
      }
    }
  }

  void ChangeToken(const RowChange& named, const TokenPlace& place,
                   std::vector<std::uint8_t>* pool) const {
    if (!Fits(layout_, place, static_cast<std::int64_t>(pool->size()))) return;
    TokenBytes token;
    LoadToken(layout_, place, pool->data(), token.data());
    named.change(layout_, token.data());
    StoreToken(layout_, place, token.data(), pool->data());
  }

  // Of a writer and a gather: what is wrong is what stood there.
  void ByBytes() {
    std::int64_t first = -1, last = -1, wrong = 0;
    const auto add = [&](std::int64_t byte) {
      first = first < 0 ? byte : std::min(first, byte);
      last = std::max(last, byte);
      ++wrong;
    };
    if (step_.kernel == Kernel::kWriter) {
      const absl::Span<const std::uint8_t> want =
          ExpectedPool(expected_, before_);
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (want[i] == after_.pool[i]) continue;
        if (after_.pool[i] != before_[i]) return;
        const PoolPlace place =
            PlaceInPool(image_.pool, static_cast<std::int64_t>(i));
        if (place.slot < 0) return;
        add(place.byte);
      }
    } else if (step_.kernel == Kernel::kGather) {
      if (after_.pool != before_) return;
      for (std::size_t t = 0; t < step_.tensors.size(); ++t) {
        const Tensor& dst = step_.tensors[t];
        if (!dst.output) continue;
        if (dst.strides[0] <= 0) return;
        for (std::size_t i = 0; i < expected_.outputs[t].size(); ++i) {
          if (expected_.outputs[t][i] == after_.outputs[t][i]) continue;
          if (after_.outputs[t][i] != dst.bytes[i]) return;
          add(static_cast<std::int64_t>(i) %
              (DTypeSize(dst.dtype) * dst.strides[0]));
        }
      }
    }
    // One byte may be right by chance in what was never written, and a byte
    // that is kept by chance is no sign of anything.
    if (wrong < 2) return;
    Found(kBytesMissing,
          absl::StrCat("left bytes ", first, "..", last,
                       " of rows that it was to write as they were"));
  }

  const Contract& contract_;
  const CaseImage& image_;
  const int index_;
  const StepImage& step_;
  const RowLayout& layout_;
  const absl::Span<const std::uint8_t> before_;
  const Expectation& expected_;
  const AfterImage& after_;
  std::vector<OtherReading> found_;
};

}  // namespace

std::vector<OtherReading> OtherReadings(const ComparedStep& compared) {
  return Reader(compared).Run();
}

std::vector<OtherReading> NarrowedRules(const ComparedStep& compared) {
  return Reader(compared).Narrowed();
}

bool IsNarrowedRule(absl::string_view key) {
  const absl::Span<const CallChange> changes = CallChanges();
  return std::any_of(changes.begin(), changes.end(),
                     [key](const CallChange& change) {
                       return key == change.key && change.narrowed;
                     });
}

bool RulesOutNarrowedRule(const Contract& contract, const CaseImage& image,
                          int step, absl::Span<const std::uint8_t> pool_before,
                          const AfterImage& after, absl::string_view key) {
  const StepImage& own = image.steps[static_cast<std::size_t>(step)];
  for (const CallChange& named : CallChanges()) {
    if (key != named.key || !named.narrowed || named.kernel != own.kernel ||
        own.step == nullptr) {
      continue;
    }
    ChangedCall call(contract, image, own);
    if (!named.change(call)) return false;
    const Expectation other = Expect(call.contract, call.image, 0, pool_before);
    // What it reads outside may be anything.
    if (!other.unsettled.empty()) return false;
    return !Matches(call.contract, call.image, 0, pool_before, other, after);
  }
  return false;
}

bool IsOtherReading(absl::string_view key) {
  const auto has_key = [key](const auto& changes) {
    return std::any_of(changes.begin(), changes.end(),
                       [key](const auto& change) { return key == change.key; });
  };
  return has_key(CallChanges()) || has_key(RowChanges());
}

}  // namespace mlafuzz::oracle
