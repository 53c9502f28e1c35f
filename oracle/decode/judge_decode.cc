#include "oracle/decode/judge_decode.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/decode_matches.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/judge_ending.h"

// In the order of oracle/judge.cc.
namespace mlafuzz {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

class StepJudge {
 public:
  StepJudge(const Contract& contract, const CaseImage& image, int step,
            Bytes before, const StepObservation& observed,
            std::vector<Check>* checks, const DecodeWithin* within)
      : contract_(contract),
        image_(image),
        index_(step),
        step_(image.steps[static_cast<std::size_t>(step)]),
        before_(before),
        observed_(observed),
        within_(within),
        ending_(step, Kernel::kDecode, observed, checks) {}

  bool Run() {
    if (observed_.status == CallStatus::kNotImplemented) {
      Add(property::kDecodeOut, Verdict::kSkipped,
          oracle::WhySkipped(Kernel::kDecode, observed_));
      return true;
    }
    const StepValidity validity = ClassifyDecode(contract_, image_, index_);
    if (validity.validity == Validity::kUnspecified) {
      Add(property::kDecodeOut, Verdict::kUnspecified,
          absl::StrCat(validity.rule, ": ", validity.reason));
      // A decode writes no pool unless it writes astray.
      return observed_.status == CallStatus::kRefused ||
             (observed_.status == CallStatus::kOk && observed_.strays.empty() &&
              !observed_.pool);
    }
    if (ending_.EndedAbnormally()) return true;
    const oracle::ObservedRows rows(step_, observed_);
    if (!rows.well_formed() ||
        (observed_.pool && observed_.pool->size() != before_.size())) {
      ending_.Malformed();
    } else if (!ending_.EndedWithoutResult(
                   validity, [&] { return TraceOfRefusedCall(rows); })) {
      JudgeResult(rows);
    }
    return true;
  }

 private:
  void Add(const char* property, Verdict verdict, std::string detail = "",
           double of_bound = 0) {
    ending_.Add(property, verdict, std::move(detail), of_bound);
  }

  // Changed bytes of the pool, which a decode only reads.
  std::int64_t ChangedPoolBytes() const {
    if (!observed_.pool) return 0;
    std::int64_t changed = 0;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      changed += before_[i] != (*observed_.pool)[i] ? 1 : 0;
    }
    return changed;
  }

  std::string TraceOfRefusedCall(const oracle::ObservedRows& rows) const {
    if (const std::int64_t changed = ChangedPoolBytes(); changed != 0) {
      return absl::StrCat(changed, " bytes of the pool");
    }
    return rows.Untouched() ? "" : "its outputs";
  }

  // A bounded value in words.
  static std::string Bound(double value, double bound) {
    if (!std::isfinite(value)) return absl::StrFormat("%g", value);
    return absl::StrFormat("%.9g +- %.3g", value, bound);
  }

  void JudgeResult(const oracle::ObservedRows& rows) {
    const DecodeWithin seen = within_ != nullptr ? *within_ : Compare(rows);
    const Verdict pass =
        seen.settled_out ? Verdict::kPass : Verdict::kUninformative;
    if (wrong_out_ == 0) {
      Add(property::kDecodeOut, pass);
    } else {
      Add(property::kDecodeOut, Verdict::kFail,
          absl::StrCat(first_out_, " (", wrong_out_, " values)"));
    }
    if (wrong_lse_ == 0) {
      Add(property::kDecodeLse,
          seen.settled_lse ? Verdict::kPass : Verdict::kUninformative, "",
          seen.lse_of_bound);
    } else {
      Add(property::kDecodeLse, Verdict::kFail,
          absl::StrCat(first_lse_, " (", wrong_lse_, " values)"),
          seen.lse_of_bound);
    }
    const std::int64_t pool = ChangedPoolBytes();
    const std::int64_t gaps = rows.StrayGapBytes();
    if (pool != 0 || gaps != 0) {
      Add(property::kWrittenSet, Verdict::kFail,
          absl::StrCat(pool, " bytes of the pool and ", gaps,
                       " between outputs changed"));
    } else {
      Add(property::kWrittenSet, pass);
    }
    ending_.JudgeMemory(pass);
    Add(property::kLanes, pass);
    Add(property::kRefusal, pass);
  }

  // Output and LSE against what they must be.
  DecodeWithin Compare(const oracle::ObservedRows& rows) {
    const DecodeExpectation expected =
        ExpectDecode(contract_, image_, index_, before_);
    DecodeWithin seen;
    for (std::int64_t row = 0; row < expected.rows(); ++row) {
      const std::int64_t query = row / expected.heads;
      const std::int64_t head = row % expected.heads;
      const std::size_t r = static_cast<std::size_t>(row);
      seen.settled_lse |= !std::isinf(expected.lse_bound[r]);
      seen.lse_of_bound =
          std::max(seen.lse_of_bound,
                   oracle::LseOfBound(expected.lse[r], expected.lse_bound[r],
                                      rows.Lse(row)));
      if (!rows.LseMatches(expected, row) && wrong_lse_++ == 0) {
        first_lse_ = absl::StrFormat(
            "lse[%d, %d]: expected %s, got %.9g", query, head,
            Bound(expected.lse[r], expected.lse_bound[r]), rows.Lse(row));
      }
      for (int c = 0; c < kDecodeColumns; ++c) {
        const std::size_t i = r * kDecodeColumns + c;
        seen.settled_out |= !std::isinf(expected.out_bound[i]);
        const std::uint16_t bits = rows.Out(row, c);
        if (!DecodeOutMatches(expected, static_cast<std::int64_t>(i), bits) &&
            wrong_out_++ == 0) {
          first_out_ = absl::StrFormat(
              "attention[%d, %d, %d]: expected bf16 of %s, got 0x%04x (%.9g)",
              query, head, c, Bound(expected.out[i], expected.out_bound[i]),
              bits, oracle::Bf16Value(bits));
        }
      }
    }
    return seen;
  }

  const Contract& contract_;
  const CaseImage& image_;
  const int index_;
  const StepImage& step_;
  const Bytes before_;
  const StepObservation& observed_;
  const DecodeWithin* const within_;
  oracle::EndingJudge ending_;
  std::int64_t wrong_out_ = 0;
  std::int64_t wrong_lse_ = 0;
  std::string first_out_;
  std::string first_lse_;
};

}  // namespace

bool JudgeDecode(const Contract& contract, const CaseImage& image, int step,
                 absl::Span<const std::uint8_t> pool_before,
                 const StepObservation& observed, std::vector<Check>* checks,
                 const DecodeWithin* within) {
  return StepJudge(contract, image, step, pool_before, observed, checks, within)
      .Run();
}

}  // namespace mlafuzz
