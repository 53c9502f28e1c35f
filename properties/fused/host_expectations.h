#ifndef MLAFUZZ_PROPERTIES_FUSED_HOST_EXPECTATIONS_H_
#define MLAFUZZ_PROPERTIES_FUSED_HOST_EXPECTATIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "oracle/expect.h"
#include "oracle/judge.h"
#include "properties/fused/fused_case.h"

namespace mlafuzz {

// What steps of a call's members must leave, as the host works it out.
class HostExpectations {
 public:
  // Both must outlive it.
  HostExpectations(const FusedCase& fused, const Contracts& contracts)
      : fused_(fused),
        contracts_(contracts),
        expected_(fused.members().size()) {}

  // Works out step `step` of member m, from what those before it left as far as
  // they were worked out. False: the contract leaves it open. Of a decode,
  // which has bounds instead, nothing. For several threads, which have members
  // of their own each.
  bool Expect(std::size_t m, std::size_t step);
  // All steps before `end` of all members.
  void ExpectAll(std::size_t end, int threads);

  // Of a step that was worked out.
  const Expectation& of(std::size_t m, std::size_t step) const {
    return expected_[m][step];
  }
  // Some member's step changes the pool.
  bool ChangesPool(std::size_t step) const;
  // Member m's pages after `step`, into the call's pool.
  void LayPages(std::size_t m, std::size_t step, std::uint8_t* pool) const;

 private:
  Expectation& At(std::size_t m, std::size_t step);

  const FusedCase& fused_;
  const Contracts& contracts_;
  // By member and step; empty where none was asked for.
  std::vector<std::vector<Expectation>> expected_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_HOST_EXPECTATIONS_H_
