#ifndef MLAFUZZ_ORACLE_NAME_DAMAGE_H_
#define MLAFUZZ_ORACLE_NAME_DAMAGE_H_

#include "oracle/verdict.h"
#include "oracle/wrong_step.h"

namespace mlafuzz::oracle {

// A name for what is wrong itself, where no rule explains it: by what was left
// out, by what stands in its place, by the one part of rows that is wrong.
// `also` has what the step shows as well; `possible` is empty.
Diagnosis NameDamage(const WrongStep& wrong);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_NAME_DAMAGE_H_
