#ifndef MLAFUZZ_ORACLE_VERDICT_H_
#define MLAFUZZ_ORACLE_VERDICT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "corpus/image.h"

namespace mlafuzz {

enum class Verdict {
  kPass,
  kFail,
  kUninformative,  // right, but nothing wrong could have looked different
  kUnspecified,    // the caller's duty under this contract; not judged
  kSkipped,        // the target has no such kernel, or no oracle exists
  kFlaky,
  kCrash,
  kHang,
  kOutOfMemory,
  kProtocol,
};
inline constexpr int kVerdictCount = 10;
// "pass", "fail", "uninformative", ..., "oom", "protocol".
const char* VerdictName(Verdict verdict);
// kFail, kFlaky, kCrash, kHang, kOutOfMemory, kProtocol.
bool IsFailure(Verdict verdict);

// Names of the properties that judge one observation against the oracle.
// Relations between runs (properties/relations.h) add their own.
namespace property {
inline constexpr char kWriterRow[] = "writer-row";  // codes, scales, rope
inline constexpr char kNopeTail[] = "nope-tail";    // bytes 528..655, pe_dim 0
inline constexpr char kSlots[] = "slots";           // which rows were written
inline constexpr char kGather[] = "gather-exact";   // dst values
inline constexpr char kGatherTail[] = "gather-tail";  // dst columns 512..575
inline constexpr char kConvert[] = "convert-exact";   // indices
inline constexpr char kValidCount[] = "valid-count";
inline constexpr char kDecodeOut[] = "decode-out";    // attention values
inline constexpr char kDecodeLse[] = "decode-lse";    // log-sum-exp of each row
inline constexpr char kWrittenSet[] = "written-set";  // no other byte changed
inline constexpr char kRefusal[] = "refusal";  // refuses invalid, takes valid
inline constexpr char kMemory[] = "memory-safety";  // guards, sanitizers
inline constexpr char kLanes[] = "lanes";  // deadlock, divergence, race, error
}  // namespace property

// The key of a Diagnosis: a kernel left what it was to write as it was.
inline constexpr char kNothingWritten[] = "nothing-written";

// Why a check failed, as far as the oracle can tell.
struct Diagnosis {
  // Contract field whose other value explains what came back, e.g.
  // "writer.tail"; empty if none does.
  std::string field;
  // Stable short name of the explanation: "writer.tail=TAIL_UNCHANGED", or of
  // a pattern: "nothing-written", "repeats-input", "codes-only", ...
  std::string key;
  // One sentence for people.
  std::string cause;
  // Keys of other explanations that predict this one observation as well.
  std::vector<std::string> also;
  // Keys of rules that forbid nothing of what is seen, but predict nothing of
  // it either, and do not explain it: a later failure may show that it was one
  // of them.
  std::vector<std::string> possible;
  // The explanation predicts what is seen and rests on nothing that was read
  // outside of the tensors.
  bool exact = false;
  // Of a relation whose rerun calls another kernel as well: that one, where its
  // call is what is wrong; unset: the check's own.
  std::optional<Kernel> kernel;
  // All that is wrong is NaN, or what stood there before the call: faults of
  // many kinds end so, and what foretells it may do so by chance.
  bool says_little = false;
};

// The verdict of one property on one step.
struct Check {
  int step = 0;
  Kernel kernel = Kernel::kWriter;
  std::string property;
  Verdict verdict = Verdict::kPass;
  // Of a failure or a case that is not judged: the first wrong element with
  // expected and got, or the rule's name. Empty for a pass.
  std::string detail;
  // Of a relation whose rerun the oracle finds wrong by itself: why. Null
  // elsewhere.
  std::shared_ptr<const Diagnosis> why;
  // Of a bounded value, the LSE of a decode: the largest share of its bound
  // that an error had; above 1 it is a failure. 0 where nothing is bounded.
  double of_bound = 0;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_VERDICT_H_
