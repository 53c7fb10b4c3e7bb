#include "tools/fuzz/program_target.hpp"

#include <cstdio>
#include <cstdlib>

#include "reference/formula/evaluate.hpp"
#include "reference/formula/mathematics.hpp"
#include "reference/formula/text.hpp"
#include "reference/formula/work.hpp"

namespace assay::fuzz {
namespace {

namespace formula = reference::formula;
constexpr std::uint64_t most_work = 1 << 14;

void require_of_program(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: broken: %s\n", rule);
  std::abort();
}

core::tensors ones(const formula::program& p) {
  core::tensors all;
  for (const formula::node_id k : p.inputs()) {
    core::tensor t = core::unwritten(core::dtype::f64, p.type_of(k).shape);
    t.values.fill(1.0);
    all.emplace(p.nodes()[k].text, std::move(t));
  }
  return all;
}

bool names_a_node(const core::error& e) {
  return e.message.starts_with("node ") || e.message.starts_with("an output has the integer ");
}

}  // namespace

void read_and_run_program(std::string_view bytes) {
  const auto p = formula::read_program(bytes);
  require_of_program(p || !p.error().message.empty(), "a refusal says why");
  if (!p) return;
  const std::string written = formula::to_text(*p);
  const auto again = formula::read_program(written);
  require_of_program(again && formula::to_text(*again) == written, "a program that was written reads as the same");
  require_of_program(formula::as_mathematics(*p) == formula::as_mathematics(*again), "a program has one form for eyes");
  const auto cheap = formula::check_work(*p, most_work);
  require_of_program(cheap.has_value() == (formula::work_of(*p) <= most_work), "both say how much work there is");
  std::uint64_t input_elements = 0;
  for (const formula::node_id k : p->inputs()) input_elements += formula::elements_of(p->type_of(k).shape);
  if (!cheap || input_elements > most_work) return;
  const core::tensors inputs = ones(*p);
  // 0 precisions of MPFR: only balls of one double and of two doubles are used.
  const auto truth = formula::certify(*p, inputs, core::dtype::f32, 0);
  const auto plain = formula::evaluate_in(*p, inputs, core::dtype::f32, core::dtype::f32);
  const auto law = formula::allow(*p, inputs, core::dtype::f32);
  require_of_program(truth || names_a_node(truth.error()), "an error of the truth names a node");
  require_of_program(plain || names_a_node(plain.error()), "an error of arithmetic names a node");
  require_of_program(law || names_a_node(law.error()), "an error of the allowance names a node");
  for (const auto& o : p->outputs())
    if (truth)
      require_of_program(truth->at(o.name).rounded.shape() == p->type_of(o.node).shape, "an output has its shape");
}

std::vector<std::string> program_seeds() {
  const std::string begin = R"({"schema":"assay-program/1","nodes":[)",
                    x = R"({"op":"input","name":"x","kind":"real","shape":[2,3]})",
                    end = R"(],"outputs":[{"name":"y","node":)";
  const auto program_text = [&](const std::string& nodes, int output) {
    return begin + x + "," + nodes + end + std::to_string(output) + "}]}";
  };
  return {
      program_text(R"({"op":"iota","size":3},{"op":"reshape","in":[1],"shape":[3,1]},{"op":"less_equal","in":[1,2]},)"
                   R"({"op":"contract","in":[0,0],"of":"nd,nm->dm","stage":"scores"},{"op":"number","value":"-inf"},)"
                   R"({"op":"where","in":[3,4,5]},{"op":"softmax","in":[6],"axis":1})",
                   7),
      program_text(R"({"op":"power","in":[0],"p":-1,"q":2},{"op":"mean","in":[1],"axes":[1]},{"op":"log","in":[2]},)"
                   R"({"op":"sin","in":[3]},{"op":"pow","in":[4,3]},{"op":"log_sum_exp","in":[5],"axes":[0]})",
                   6),
      program_text(
          R"({"op":"input","name":"i","kind":"integer","shape":[2]},{"op":"integer","value":3},{"op":"remainder","in":[1,2]},)"
          R"({"op":"gather","in":[0,3],"axis":1},{"op":"concatenate","in":[4,0],"axis":1},{"op":"cumulative_sum","in":[5],"axis":0},)"
          R"({"op":"slice","in":[6],"start":[0,4],"stop":[2,-1],"step":[1,-2]},{"op":"transpose","in":[7],"axes":[1,0]})",
          8),
      program_text(
          R"({"op":"input","name":"b","kind":"boolean","shape":[3]},{"op":"to_integer","in":[1]},{"op":"not","in":[1]},)"
          R"({"op":"and","in":[1,3]},{"op":"any","in":[4],"axes":[0]},{"op":"to_real","in":[5]},{"op":"fraction","numerator":-2,"denominator":7},)"
          R"({"op":"log_add_exp","in":[6,7]},{"op":"broadcast","in":[8],"shape":[1,2]},{"op":"update","in":[0,9],"start":[1,1]},)"
          R"({"op":"integer","value":0},{"op":"broadcast","in":[11],"shape":[1,3]},{"op":"take_along","in":[10,12],"axis":0})",
          13),
      program_text(
          R"({"op":"exp","in":[0]},{"op":"exp","in":[1]},{"op":"exp","in":[2]},{"op":"exp","in":[3]},{"op":"cos","in":[4]},)"
          R"({"op":"pi"},{"op":"multiply","in":[5,6]},{"op":"is_nan","in":[7]},{"op":"to_integer","in":[8]},)"
          R"({"op":"integer","value":9223372036854775807},{"op":"add","in":[9,10]},{"op":"floor_divide","in":[11,9]})",
          12)};
}

std::vector<std::string> program_words() {
  return {"\"op\":",
          "\"in\":[0]",
          "\"in\":[0,1]",
          "\"axis\":0",
          "\"axes\":[0]",
          "\"shape\":[]",
          "\"stage\":\"s\"",
          "exp",
          "log1p",
          "tanh",
          "erf",
          "sigmoid",
          "softplus",
          "log_sigmoid",
          "floor",
          "maximum",
          "minimum",
          "largest",
          "magnitude",
          "negative",
          "divide",
          "subtract",
          "multiply",
          "equal",
          "detach",
          "all",
          "sum",
          "{\"op\":\"number\",\"value\":1e300}",
          "67108864",
          "8192,8192",
          "ad,bd->ab"};
}

}  // namespace assay::fuzz
