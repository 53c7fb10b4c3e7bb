// A library in C++ whose function lets an exception escape.
#include <stdexcept>

#include "assay_candidate.h"

namespace {
int scan(assay_call*) { throw std::runtime_error("no device"); }
const assay_operation operations[] = {{"heinsen/scan", "f32", scan}, {nullptr, nullptr, nullptr}};
const assay_candidate me = {ASSAY_CANDIDATE_ABI, "throwing", "1", operations, nullptr};
}  // namespace

const assay_candidate* assay_candidate_v1(void) { return &me; }
