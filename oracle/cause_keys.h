#ifndef MLAFUZZ_ORACLE_CAUSE_KEYS_H_
#define MLAFUZZ_ORACLE_CAUSE_KEYS_H_

// Keys of diagnoses that more than one file knows; with kNothingWritten of
// oracle/verdict.h. Most others stand only where they are given.
namespace mlafuzz::oracle {

// The raw bytes of the input stand in the output.
inline constexpr char kRepeatsInput[] = "repeats-input";
// All that is wrong are rows that were never written.
inline constexpr char kMissingRows[] = "rows-missing";
// A call that the contract allows is refused.
inline constexpr char kRefusedValid[] = "refused-valid";
// Of a decode, damage of no known shape.
inline constexpr char kWrongOutputAndLse[] = "wrong-output-and-lse";

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_CAUSE_KEYS_H_
