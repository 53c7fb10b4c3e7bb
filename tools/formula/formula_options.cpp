#include "tools/formula/formula_options.hpp"

#include "tools/formula/formula_host.hpp"

namespace assay::tools {

CLI::Validator hosted_formula() {
  return {[](const std::string& text) {
            return is_hosted_formula(text) ? std::string() : text + " must be python:MODULE:FUNCTION";
          },
          "python:MODULE:FUNCTION"};
}

void add_axes(CLI::App& command, asked_formula& asked) {
  command.add_option("--axes", asked.axes,
                     "NAME=AXES of an input of the formula, such as \"q=B h n d\"; may be repeated");
}

void add_formula(CLI::App& command, asked_formula& asked) {
  command
      .add_option("--formula", asked.spec, "a plain function of NumPy, torch or JAX that is the formula: what is right")
      ->check(hosted_formula());
  add_axes(command, asked);
}

}  // namespace assay::tools
