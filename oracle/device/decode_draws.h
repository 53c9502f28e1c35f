#ifndef MLAFUZZ_ORACLE_DEVICE_DECODE_DRAWS_H_
#define MLAFUZZ_ORACLE_DEVICE_DECODE_DRAWS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/contract.pb.h"

// Random decodes, for tests of what is worked out on a device.
namespace mlafuzz::oracle {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  // In [0, n).
  std::uint32_t operator()(std::uint32_t n) {
    return static_cast<std::uint32_t>(random_() % n);
  }
  // In [0, 1).
  double Real() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 random_;
};

// A case with one decode of at most `most_keys` keys a query, hostile values
// among others.
Case DrawDecode(Layout layout, std::uint32_t most_keys, Draws& draw);
// The same case with other values, slots and lengths.
void Redraw(Case& c, Draws& draw);

// A contract whose arithmetic, scales and results are drawn value by value.
Contract DrawContract(Layout layout, Draws& draw);

struct NamedContract {
  std::string name;
  Layout layout;
  Contract contract;
};
// Of all layouts that a decode reads, and of all parties that read one.
std::vector<NamedContract> DecodeContracts();

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_DECODE_DRAWS_H_
