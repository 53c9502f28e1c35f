#ifndef MLAFUZZ_ORACLE_DECODE_OUTSIDE_READS_H_
#define MLAFUZZ_ORACLE_DECODE_OUTSIDE_READS_H_

#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/decode/decode.h"
#include "oracle/expect.h"

namespace mlafuzz::oracle {

// The rows that a decode reads outside of its caches, as OutsideReads() of
// oracle/outside_memory.h has them for other kernels: where readers look for
// the slot, whose page is rounded toward zero, or down. At most
// KeyPlan::kMostOutside a query.
std::vector<ByteRange> DecodeOutsideReads(const Contract& contract,
                                          const CaseImage& image, int step,
                                          const ExpectOptions& options = {});

// Whether a reader with these options looks for a row at an address that is not
// as aligned as those of the contract's own rows: a load of 16 bytes there ends
// the process, or is reported, though the row lies in its cache.
bool ReadsLessAligned(const Contract& contract, const CaseImage& image,
                      int step, const ExpectOptions& options);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_OUTSIDE_READS_H_
