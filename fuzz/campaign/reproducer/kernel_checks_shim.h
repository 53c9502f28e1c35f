// Calls are made as they are: what the host checks refuse is not looked at.
namespace mlafuzz {
inline std::string WhyRefuseWrite(const WriteArgs&) { return ""; }
inline std::string WhyRefuseGather(const GatherArgs&) { return ""; }
inline std::string WhyRefuseConvert(const ConvertArgs&, std::int64_t) {
  return "";
}
namespace {
constexpr DLDataType kFp16 = {kDLFloat, 16, 1};
bool Is(const DLTensor& tensor, const DLDataType& type) {
  return tensor.dtype.code == type.code && tensor.dtype.bits == type.bits;
}
template <typename T>
T* As(const DLTensor* tensor) {
  return tensor == nullptr
             ? nullptr
             : reinterpret_cast<T*>(static_cast<char*>(tensor->data) +
                                    tensor->byte_offset);
}
bool HasRope(const WriteArgs& args) {
  return args.k_pe != nullptr && args.k_pe->shape[1] != 0;
}
}  // namespace
