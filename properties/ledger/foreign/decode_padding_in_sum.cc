// Lanes that pad the last tile get their sentinel before the logits are
// bounded by tanh, which makes it a finite -50: each adds exp(-50 - max) to the
// sum. Only rows with very low logits show it.
//
// Source: ggml-org/llama.cpp#29034 (CPU flash attention with logit_softcap:
// -INFINITY of padded KV entries becomes -logit_softcap).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"

namespace {

class PaddingInSum : public wild::RightDecode {
 protected:
  float PaddingLogit() override { return -50 * wild::kLog2E; }
};

}  // namespace

WILD_EXPORT_DECODE(PaddingInSum);
