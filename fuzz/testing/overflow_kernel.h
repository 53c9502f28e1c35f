#ifndef MLAFUZZ_FUZZ_TESTING_OVERFLOW_KERNEL_H_
#define MLAFUZZ_FUZZ_TESTING_OVERFLOW_KERNEL_H_

namespace mlafuzz {

// Launches a kernel of one lane a token, the second of which overflows an int.
// Nobody reads the sum: UBSan alone can tell.
void LaunchOverflow(int tokens);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_TESTING_OVERFLOW_KERNEL_H_
