// Cases of this folder's tests, run and looked at with gtest.
#ifndef MLAFUZZ_KERNELS_CASE_CHECKS_H_
#define MLAFUZZ_KERNELS_CASE_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "corpus/case.pb.h"

namespace mlafuzz::test {

// That 200 schedules of lanes leave what the default one does.
void ExpectEveryScheduleGivesTheSame(const std::string& target, const Case& c);

// The elements of int32 bytes.
std::vector<std::int32_t> Ints(const std::vector<std::uint8_t>& bytes);

// What an index conversion leaves; dense rows one behind another.
struct Converted {
  std::vector<std::int32_t> out;
  std::vector<std::int32_t> valid_count;  // empty: the case asks for none
};
// Of a case's first step, which must end well and write nothing else.
Converted Convert(const std::string& target, const std::string& text);

}  // namespace mlafuzz::test

#endif  // MLAFUZZ_KERNELS_CASE_CHECKS_H_
