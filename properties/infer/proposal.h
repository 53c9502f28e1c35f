#ifndef MLAFUZZ_PROPERTIES_INFER_PROPOSAL_H_
#define MLAFUZZ_PROPERTIES_INFER_PROPOSAL_H_

#include <string>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "kernels/foreign/description.pb.h"

namespace mlafuzz {

// Copies one kernel's rules from `from` into `proposal` where they are not
// builtin's; its host checks and a decode's arithmetic whole, because what a
// description leaves out of them means none, and unknown.
void AddToProposal(const Contract& from, Kernel kernel, Contract* proposal);

// "name: '...' contract { ... }": a TargetDescription with `head`'s name,
// version, devices and scratch.
std::string ProposalText(const TargetDescription& head,
                         const Contract& proposal);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_INFER_PROPOSAL_H_
