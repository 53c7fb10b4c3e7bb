// Faults that any operation can have, made from its declaration: an encoding need not write them by hand.
#pragma once

#include "properties/faults/declared_fault.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::properties {

/// The faults of one operation:
/// - a setting ignored, taken for another value, two values exchanged, stuck at its first value, one off, in bf16;
/// - a position or index one off, clamped, wrapped, counted instead of read, from 0 or from the first, in bf16;
/// - an axis reversed, late or early by one, its first element for all, or exchanged with the next axis;
/// - a tensor zeroed, negated, halved, doubled; its first or last token lost; an output that is an echo of an input, or
/// 0 from some position of an axis on; all elements of an output, or one, off by 2^k u;
/// - a tensor, or the whole call, in a narrower format;
/// - a cache of the outputs or of one input, with a key by shape, by address, by first element, or without the
/// settings.
/// Faults for which the declaration has no place are left out.
declared_fault_list declared_faults(const core::operation& op);

/// One of these faults that a public report describes.
struct reported_fault {
  const char* id;      ///< "mutant/NAME"
  const char* report;  ///< owner/name#issue
  const char* fault;   ///< "alibi/bias/causal/always_false": the id of the generated mutant without "generated/"
};
/// It is a contract violation if no declaration has such a fault.
std::vector<variant> reported_faults(const std::vector<reported_fault>& reported);

/// All faults of all operations of an encoding, each in an otherwise right implementation.
std::vector<variant> declared_mutants(const std::string& encoding,
                                      const std::function<std::unique_ptr<implementation>()>& right);

/// The plain implementation of an encoding: step by step, in f64 for f64 and in f32 for all others, rounded to storage
/// once.
std::unique_ptr<implementation> plain_implementation(const std::string& encoding);

}  // namespace assay::properties
