#include "reference/kinds/recorded_call.hpp"

namespace assay::reference {

using formula::traced;
using formula::traced_integer;

namespace {

template <class T>
void put_out(formula::recording& recording, const formula::program_sizes& call, std::size_t k, const T& output) {
  const core::tensor_declaration& declared = call.function.outputs[k];
  recording.output(declared.name, broadcast(output, core::shape_of(declared, call.axes)));
}

}  // namespace

formula::program recorded_call::finish(const traced& output) { return finish_all({output}); }
formula::program recorded_call::finish(const traced_integer& output) {
  put_out(recording_, call_, 0, output);
  return recording_.finish();
}
formula::program recorded_call::finish_all(const std::vector<traced>& outputs) {
  for (std::size_t k = 0; k < outputs.size(); ++k) put_out(recording_, call_, k, outputs[k]);
  return recording_.finish();
}

}  // namespace assay::reference
