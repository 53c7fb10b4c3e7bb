#include "properties/encodings/sinusoidal/mutants/mutants.hpp"

#include <cmath>
#include <limits>

#include "properties/encodings/sinusoidal/mutants/recipes.hpp"
#include "properties/faults/angle_faults.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;
using core::attribute;

// The same call with another setting, where the operation has it.
template <class T>
void change_setting(request& call, const char* name, T (*change)(const T& now)) {
  if (call.operation->attribute(name) == nullptr) return;
  const core::attributes now = core::completed(*call.operation, call.attributes);
  call.attributes[name] = change(core::setting<T>(now, name));
}

struct layout_swapped : unchanged_table {
  static void edit(request& call) {
    change_setting<std::string>(call, "layout", [](const std::string& now) {
      return std::string(now == "interleaved" ? "half_split" : "interleaved");
    });
  }
};
struct functions_swapped : unchanged_table {
  static void edit(request& call) {
    change_setting<std::string>(call, "first",
                                [](const std::string& now) { return std::string(now == "sine" ? "cosine" : "sine"); });
  }
};
struct first_ignored : unchanged_table {
  static void edit(request& call) {
    change_setting<std::string>(call, "first", [](const std::string&) { return std::string("sine"); });
  }
};
struct rule_of_tensor2tensor : unchanged_table {
  static void edit(request& call) {
    change_setting<std::string>(call, "rule", [](const std::string&) { return std::string("tensor2tensor"); });
  }
};
struct base_is_a_tenth : unchanged_table {
  static void edit(request& call) {
    change_setting<double>(call, "base", [](const double& now) { return now / 10; });
  }
};
struct offset_ignored : unchanged_table {
  static void edit(request& call) {
    change_setting<std::int64_t>(call, "offset", [](const std::int64_t&) { return std::int64_t{0}; });
  }
};
struct offset_twice : unchanged_table {
  static void edit(request& call) {
    change_setting<std::int64_t>(call, "offset", [](const std::int64_t& now) { return 2 * now; });
  }
};

// The cosine of a pair has the exponent of the next one.
struct cosine_one_ahead : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.plan = [](const core::attributes& settings) {
      table_plan plan = plan_of_table(settings);
      for (column& c : plan.columns) c.pair += c.function == waveform::cosine ? 1 : 0;
      return plan;
    };
    return how;
  }
};

// tensor2tensor's divisor without its guard: 0 / 0 where there is one frequency.
struct unguarded_divisor : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.plan = [](const core::attributes& settings) {
      table_plan plan = plan_of_table(settings);
      const bool by_count = core::setting<std::string>(settings, "rule") == "tensor2tensor";
      const bool one =
          std::none_of(plan.columns.begin(), plan.columns.end(), [](const column& c) { return c.pair > 0; });
      if (by_count && one) plan.scale.steps = 0;
      return plan;
    };
    how.frequency = [](const R& base, std::size_t step, std::size_t steps) {
      return steps == 0 ? R(std::nan("")) : geometric_frequency(base, step, steps);
    };
    return how;
  }
};

// An odd width is filled as the next even one, and the last column cut off: other exponents.
struct odd_width_rounded_up : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.plan = [](const core::attributes& settings) {
      table_plan plan = plan_of_table(settings);
      if (core::setting<std::string>(settings, "rule") == "paper") plan.scale.steps += plan.columns.size() % 2;
      return plan;
    };
    return how;
  }
};

// The column that an odd width leaves over is not cleared: it holds the function before it.
struct odd_column_repeated : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.plan = [](const core::attributes& settings) {
      table_plan plan = plan_of_table(settings);
      if (plan.columns.size() > 1 && plan.columns.back().function == waveform::zero)
        plan.columns.back() = plan.columns[plan.columns.size() - 2];
      return plan;
    };
    return how;
  }
};

template <double (*read)(double position)>
struct positions_read : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.position = [](double m) { return R(read(m)); };
    return how;
  }
};
double as_f16(double m) { return core::round_to(core::dtype::f16, m); }
double as_bf16(double m) { return core::round_to(core::dtype::bf16, m); }
double by_fours(double m) { return std::fabs(m) < 4096 ? m : 4 * std::nearbyint(m / 4); }
double magnitude(double m) { return std::fabs(m); }

struct frequencies_in_bf16 : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.frequency = [](const R& base, std::size_t step, std::size_t steps) {
      return R(core::round_to(core::dtype::bf16, geometric_frequency(base, step, steps).number));
    };
    return how;
  }
};

struct fast_sine : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.wave = [](waveform function, const R& m, const R& theta) {
      const R angle = reduced_once(m * theta);
      return function == waveform::sine ? sin(angle) : cos(angle);
    };
    return how;
  }
};

struct padding_row_cleared : unchanged_table {
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "sinusoidal/table") return;
    core::tensor& p = outputs.at("p");
    const auto& positions = call.inputs.at("position").values.storage();
    for (std::size_t k = 0; k < p.size(); ++k)
      if (positions[k / p.shape()[1]] == 0.0) p.values.storage()[k] = 0.0;
  }
};

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      make_variant<cosine_one_ahead>("mutant/sinusoidal_cosine_one_ahead", "SamLynnEvans/Transformer#25",
                                     "a cosine has the exponent of the next pair"),
      make_variant<layout_swapped>("mutant/sinusoidal_layout_swapped", "SN04 tatp22/multidim-positional-encoding#20",
                                   "halves instead of pairs side by side, and the other way round"),
      make_variant<functions_swapped>("mutant/sinusoidal_functions_swapped",
                                      "SN04 tatp22/multidim-positional-encoding#22", "cosines where sines belong"),
      make_variant<first_ignored>("mutant/sinusoidal_first_ignored", "SN04 tatp22/multidim-positional-encoding#22",
                                  "sines first, whatever is asked for"),
      make_variant<unguarded_divisor>("mutant/sinusoidal_unguarded_divisor", "SN02 ml-explore/mlx#3614",
                                      "a single frequency is 0/0 by the divisor count - 1"),
      make_variant<odd_width_rounded_up>("mutant/sinusoidal_odd_width_rounded_up", "SN03 gc-os-ai/pyaptamer#607",
                                         "an odd width has the exponents of the next even one"),
      make_variant<odd_column_repeated>("mutant/sinusoidal_odd_column_repeated", "SN03 datawhalechina/base-llm#67",
                                        "the column that an odd width leaves over is not 0"),
      make_variant<positions_read<as_f16>>("mutant/sinusoidal_positions_in_f16", "pytorch/pytorch#81926",
                                           "positions repeat after 2048"),
      make_variant<positions_read<as_bf16>>("mutant/sinusoidal_positions_in_bf16", "huggingface/candle#3520",
                                            "positions repeat after 256"),
      make_variant<positions_read<by_fours>>("mutant/sinusoidal_positions_by_fours", "openvinotoolkit/openvino#33214",
                                             "positions from 4096 on are multiples of 4"),
      make_variant<positions_read<magnitude>>("mutant/sinusoidal_distance_without_sign",
                                              "fastnlp/TENER: direction awareness",
                                              "negative positions lose their sign"),
      make_variant<frequencies_in_bf16>("mutant/sinusoidal_frequencies_in_bf16",
                                        "zihangdai/xlnet: frequencies in the dtype of the run",
                                        "frequencies of 8 bits"),
      make_variant<offset_ignored>("mutant/sinusoidal_offset_ignored",
                                   "facebookresearch/fairseq: positions from padding_idx + 1",
                                   "the offset has no effect"),
      make_variant<offset_twice>("mutant/sinusoidal_offset_twice",
                                 "facebookresearch/fairseq: positions from padding_idx + 1",
                                 "the offset is added twice"),
      make_variant<base_is_a_tenth>("mutant/sinusoidal_base_is_a_tenth", "kexue.fm/archives/8231 plots base 1000 too",
                                    "the base is 1000 instead of 10000"),
      make_variant<fast_sine>("mutant/sinusoidal_fast_sine", "kekzl/imp#1317",
                              "angles are reduced by a 2 pi of 24 bits"),
      make_variant<rule_of_tensor2tensor>("mutant/sinusoidal_rule_of_tensor2tensor", "tensorflow/tensor2tensor#391",
                                          "the slowest frequency is 1/base instead of base^(-(d-2)/d)"),
      make_variant<padding_row_cleared>("mutant/sinusoidal_padding_row_cleared",
                                        "facebookresearch/fairseq: the row of padding_idx",
                                        "the row of position 0 is 0"),
  };
  // In f32 a 2 pi of 24 bits is no worse than the rounding of the angle.
  for (variant& v : all)
    if (v.id == "mutant/sinusoidal_fast_sine") v.shown_in = core::dtype::f64;
  const std::vector<variant> others = function_mutants();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace assay::properties::encodings::sinusoidal
