#ifndef MLAFUZZ_KERNELS_HOST_CHECKS_H_
#define MLAFUZZ_KERNELS_HOST_CHECKS_H_

#include <cstdint>
#include <string>

#include "kernels/params.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// What the host looks at before it launches. Each returns an empty string, or
// the reason for refusing in words with the numbers, first fault first:
// "pe_dim must be 0 or 64, got 32".
//
// A stride counts only where it is used: that of the rows of a one-row page, or
// of the pages of a one-page pool, may be anything.

// Refuses: a layout other than FP8_DS_MLA; kv_c not bf16 or fp16, k_pe of
// another dtype; kv_lora_rank other than 512, pe_dim other than 64 and 0; a
// cache row other than 656 bytes; fewer source rows than slots; kv_c rows off
// 16 bytes, k_pe rows off 4, cache rows off 8; overlapping rows or pages.
std::string WhyRefuseWrite(const WriteArgs& args);
// The same for kernels that take fp32, and neither bf16 nor fp16.
std::string WhyRefuseFp32Write(const WriteArgs& args);

// Refuses: a layout other than FP8_DS_MLA; dst not bf16, not 576 columns wide,
// rows off 16 bytes or overlapping; a cache row other than 656 bytes or off 8;
// starts, lengths and table that disagree about the number of requests.
std::string WhyRefuseGather(const GatherArgs& args);

// Refuses: a width that is not a multiple of `width_multiple` (0 counts as 1);
// request ids, indices, output and counts that disagree about tokens or width;
// dtypes other than int32; a page size below 1.
std::string WhyRefuseConvert(const ConvertArgs& args,
                             std::int64_t width_multiple);

// Parts of WhyRefuseGather() that gathers of other layouts refuse too: block
// table and starts; starts, and lengths and first tokens where given, that are
// not of as many requests as the table has rows. The second after the first.
std::string CheckTable(const GatherArgs& args);
std::string CheckRequests(const GatherArgs& args);

// Checked arguments as the kernels take them.
kernels::WriterParams ToParams(const WriteArgs& args);
kernels::GatherParams ToParams(const GatherArgs& args);
kernels::ConvertParams ToParams(const ConvertArgs& args);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_HOST_CHECKS_H_
