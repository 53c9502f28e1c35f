#ifndef MLAFUZZ_PROPERTIES_GENERATE_H_
#define MLAFUZZ_PROPERTIES_GENERATE_H_

#include <cstdint>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "properties/choices.h"

namespace mlafuzz {

// What a campaign tells its generator, and hears from it.
struct Steering {
  // Of cases made for one contract field, by AllFields() numbers: how often it
  // is that field's turn, relative to the others. Missing or all zero: all
  // alike.
  std::vector<std::uint32_t> weights;
  // Set by GenerateCase: the field the last case was made for, -1 for none.
  int made_for = -1;
};

// What generated cases may contain.
struct GeneratorOptions {
  // Kernels that the program calls; a gather case may hold writes before it
  // only if `writer` is among them.
  bool writer = true;
  bool gather = true;
  bool convert = true;
  // Not by default: a decode costs ten times what the others do.
  bool decode = false;
  // Of the pool; what cannot be said of it is left out, a decode among it.
  Layout layout = FP8_DS_MLA;
  // Also cases that the host must refuse (about one in sixteen).
  bool invalid = true;
  // Bounds work to what `corpus/small` promises: at most 5 ms on the host.
  bool small = true;
  // Must outlive the options; null: nobody steers.
  Steering* steering = nullptr;
  // What some kernels take and most do not; see TakeWhat().
  bool fp32 = false;         // inputs of a write are fp32, and no other
  bool workspace = false;    // conversions that name a workspace
  bool any_page = false;     // tables that name pages past the pool
  bool any_request = false;  // rows of requests past the table
  bool lengths = false;      // a decode is refused without lengths
  GatherContract::Rows rows = GatherContract::ROWS_UPCONVERTED;
};

// Says in `options` what this kernel of this contract takes.
void TakeWhat(Kernel kernel, const Contract& contract,
              GeneratorOptions& options);

// A case that builds (BuildImage succeeds) and is valid, boundary or, where
// asked for, invalid under BuiltinContract() of the layout; never unspecified.
// Engine-neutral: RapidCheck, libFuzzer and the campaign all draw from here.
// Every value class of corpus/knobs.h that these kernels have is reachable and
// not rare. About one case in three is made for one contract field, see
// generate_for.h; `options.steering` says for which.
Case GenerateCase(Choices& choices, const GeneratorOptions& options);

// Parts, for mutators and single properties.
Pool GeneratePool(Choices& choices, const GeneratorOptions& options);
// Of the layout's rows.
Values GenerateValues(Choices& choices, Layout layout = FP8_DS_MLA);
Write GenerateWrite(Choices& choices, const Pool& pool,
                    const GeneratorOptions& options);
Gather GenerateGather(Choices& choices, const Pool& pool,
                      const GeneratorOptions& options);
Convert GenerateConvert(Choices& choices, const Pool& pool,
                        const GeneratorOptions& options);
// Small pools of rows with something to say, aligned to 16 bytes.
Pool GenerateDecodePool(Choices& choices, const GeneratorOptions& options);
// Puts gaps between heads and queries of q, of the output and of the LSE: of
// one of them, or more.
void StrideHeads(Choices& choices, Decode& decode);
Decode GenerateDecode(Choices& choices, const Pool& pool,
                      const GeneratorOptions& options);
// Gives the decode a second cache, of a layout that may have one. To be
// repaired.
void GenerateExtra(Choices& choices, const Pool& pool,
                   const GeneratorOptions& options, Decode& decode);
// Pool and steps of `c`: a decode or two, maybe a write before them, maybe a
// poisoned row that no key names.
void GenerateDecodeProgram(Choices& choices, const GeneratorOptions& options,
                           Case& c);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_GENERATE_H_
