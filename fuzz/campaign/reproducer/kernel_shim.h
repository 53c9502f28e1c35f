// What this project's kernels take from its other parts, without those.
namespace mlafuzz {
struct Contract;
enum Layout { LAYOUT_UNSPECIFIED = 0, FP8_DS_MLA = 1 };
enum class Launch { kDirect, kGraph };
enum class CallStatus {
  kOk,
  kRefused,
  kError,
  kNotImplemented,
  kFault,
};
}  // namespace mlafuzz
