#include "oracle/decode/recorded_flashmla.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include "corpus/contracts.h"
#include "nlohmann/json.hpp"

namespace mlafuzz {
namespace {

using Json = nlohmann::json;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::uint8_t> Bytes(const std::string& data, const Json& blob) {
  const std::size_t at = blob.at("offset");
  const std::size_t size = blob.at("nbytes");
  return {data.begin() + at, data.begin() + at + size};
}

template <typename T>
std::vector<T> Elements(const std::string& data, const Json& blob) {
  const std::vector<std::uint8_t> bytes = Bytes(data, blob);
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

// A dense tensor with the given bytes; an output's are zero.
Tensor Dense(TensorId id, DType dtype, std::vector<std::int64_t> shape,
             std::vector<std::uint8_t> bytes) {
  Tensor t{.id = id, .dtype = dtype, .output = bytes.empty()};
  t.ndim = static_cast<int>(shape.size());
  std::int64_t stride = 1;
  for (int i = t.ndim - 1; i >= 0; --i) {
    t.shape[i] = shape[i];
    t.strides[i] = stride;
    stride *= shape[i];
  }
  t.bytes = bytes.empty() ? std::vector<std::uint8_t>(stride * DTypeSize(dtype))
                          : std::move(bytes);
  return t;
}

FlashMlaCase Load(const std::string& data, const Json& c) {
  FlashMlaCase out;
  out.name = c.at("name");
  out.compare = c.at("check") == "compare";
  PoolImage& pool = out.image.pool;
  pool.pages = c.at("num_pages");
  pool.page_size = c.at("page_size");
  pool.page_stride = c.at("page_stride_bytes");
  pool.row_stride = c.at("row_bytes");
  pool.row_bytes = pool.row_stride;
  pool.bytes = Bytes(data, c.at("cache"));
  const std::int64_t b = c.at("b"), heads = c.at("h_q"), topk = c.at("topk");
  Decode& d = *out.step.mutable_decode();
  d.set_queries(static_cast<std::uint32_t>(b));
  d.set_heads(static_cast<std::uint32_t>(heads));
  d.set_pe_dim(64);
  d.set_softmax_scale_bits(static_cast<std::uint32_t>(
      std::stoul(c.at("sm_scale_f32_hex").get<std::string>(), nullptr, 16)));
  out.splits =
      c.at("splits").get<std::vector<std::vector<std::pair<int, int>>>>();
  out.out = Elements<std::uint16_t>(data, c.at("out"));
  out.lse = Elements<float>(data, c.at("lse"));
  StepImage& step = out.image.steps.emplace_back();
  step.kernel = Kernel::kDecode;
  step.tensors = {
      Dense(TensorId::kQ, BF16, {b, heads, 576}, Bytes(data, c.at("q"))),
      Dense(TensorId::kIndices, I32, {b, topk}, Bytes(data, c.at("indices"))),
      Dense(TensorId::kAttention, BF16, {b, heads, 512}, {}),
      Dense(TensorId::kLse, F32, {b, heads}, {})};
  return out;
}

}  // namespace

std::vector<FlashMlaCase> LoadFlashMla() {
  const std::string folder = "oracle/decode/testdata/";
  const Json manifest = Json::parse(ReadAll(folder + "flashmla_public.json"));
  const std::string data = ReadAll(folder + "flashmla_public.bin");
  std::vector<FlashMlaCase> cases;
  for (const Json& c : manifest.at("cases")) cases.push_back(Load(data, c));
  for (FlashMlaCase& c : cases) c.image.steps[0].step = &c.step;
  return cases;
}

Contract FlashMlaContract() {
  Contract c = BuiltinContract();
  c.mutable_qk()->set_scale_rule(ReaderSide::SCALE_BF16);
  c.mutable_v()->set_scale_rule(ReaderSide::SCALE_BF16);
  DecodeContract& d = *c.mutable_decode();
  d.set_mask(DecodeContract::MINUS_ONE_MASKED);
  d.set_length(DecodeContract::LENGTH_IGNORED);
  d.set_empty_row(DecodeContract::ZERO_AND_PLUS_INF);
  d.set_lse_base(DecodeContract::BASE_E);
  d.set_sink(DecodeContract::SINK_NOT_IN_LSE);
  d.clear_pe_dims();
  d.add_pe_dims(64);
  Arithmetic& a = *c.mutable_arithmetic();
  a.set_dequantised(Arithmetic::DEQUANTISED_BF16);
  a.set_query(Arithmetic::QUERY_BF16);
  a.set_weights(Arithmetic::WEIGHTS_BF16);
  a.set_block(64);
  a.set_blocks_per_split(0);  // its scheduler's choice
  a.set_partials(Arithmetic::PARTIALS_FP32);
  a.set_accumulator(Arithmetic::MMA);
  a.set_accumulator_bits(26);          // measured with these recordings
  a.set_exp2_relative_error(0x1p-22);  // ex2.approx.ftz.f32
  a.set_denormals(Arithmetic::DENORMALS_FLUSHED);
  return c;
}

}  // namespace mlafuzz
