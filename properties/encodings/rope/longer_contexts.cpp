#include "properties/encodings/rope/longer_contexts.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "properties/kinds/table.hpp"

namespace assay::properties::encodings::rope {
namespace {

using std::int64_t;

double usual_base(const drawing& from) {
  constexpr double usual[] = {10000, 100, 500000, 1000000};
  return usual[from.random.below(from.type == core::dtype::f16 ? 2 : std::size(usual))];
}
// Extensions from 1/2, for which rules of magnitudes give 1, to 128.
double usual_extension(const drawing& from) { return std::exp2(from.random.uniform(-1, 7)); }
double usual_divisor(const drawing& from) { return std::exp2(from.random.uniform(0, 6)); }

double wide_divisor(const drawing& from) {
  return std::ldexp(from.random.uniform(1, 2), from.type == core::dtype::f16
                                                   ? static_cast<int>(from.random.below(15)) - 4
                                                   : static_cast<int>(from.random.below(56)) - 16);
}
double wide_extension(const drawing& from) {
  const int low = from.type == core::dtype::f16 ? -10 : -20;
  return std::exp2(from.random.uniform(low, std::ilogb(core::largest_finite(from.type))));
}

// Draws a base that solves c(turns) = index, so that a ramp begins or ends near a pair: a 64th before or behind it, or
// half-way between two. No format that programs compute in has a logarithm with so large an error.
double base_at_end_of_ramp(const drawing& from) {
  const auto number = [&](const char* name) { return core::setting<double>(from.settings, name); };
  const auto pairs = static_cast<double>(core::setting<int64_t>(from.settings, "pairs")),
             trained = static_cast<double>(core::setting<int64_t>(from.settings, "trained_length"));
  const bool by_turns = core::setting<std::string>(from.settings, "scaling") == "llama3";
  const double betas[] = {number(by_turns ? "high" : "beta_fast"), number(by_turns ? "low" : "beta_slow")};
  constexpr double beside[] = {0x1p-6, -0x1p-6, 0.5};
  const double index = static_cast<double>(from.random.below(static_cast<std::uint64_t>(2.0 * pairs))) +
                       beside[from.random.below(std::size(beside))];
  const double turns = trained / (2 * std::numbers::pi * betas[from.random.below(2)]);
  const double base = std::pow(turns, pairs / index), most = std::min(core::largest_finite(from.type), 0x1p40);
  return base >= 2.0 && base <= most ? base : usual_base(from);
}

family where(bool (*applies)(const core::operation& op), family f) {
  f.applies = [of_inputs = f.applies, applies](const core::operation& op) { return of_inputs(op) && applies(op); };
  return f;
}
// For numbers only: whole rotations have families of positions.
bool has_ramp(const core::operation& op) { return op.attribute("ramp") && !op.input("x"); }
bool has_factors(const core::operation& op) {
  return !op.input("x") && (op.input("factors") || op.input("long_factor") || op.input("factor"));
}
// A family of the numbers of all operations for longer contexts.
family of_numbers(const char* name, const char* summary, const number_filler& bases, const number_filler& divisors,
                  const number_filler& extensions) {
  return table_family(name, summary,
                      {{"base", bases},
                       {"factors", divisors},
                       {"short_factor", divisors},
                       {"long_factor", divisors},
                       {"factor", extensions}});
}

// A published model: its base and its settings.
struct model {
  const char *name, *summary;
  double base;
  core::attributes settings;
  setting_values others{};  ///< settings of other models of the same family
  core::attributes magnitude{{"rule", std::string("given")}, {"magnitude", 1.0}};
};
std::vector<model> published_models() {
  const auto with = [](const char* scaling, int64_t pairs, double factor, int64_t trained) -> core::attributes {
    return {{"scaling", std::string(scaling)}, {"pairs", pairs}, {"factor", factor}, {"trained_length", trained}};
  };
  const auto with_length = [](int64_t length, core::attributes settings) {
    settings["length"] = length;
    return settings;
  };
  const core::attributes yarn_magnitude{{"rule", std::string("yarn")}, {"magnitude", 1.0}},
      equal_magnitude{{"rule", std::string("ratio")}, {"mscale", 1.0}, {"mscale_all_dim", 1.0}};
  core::attributes gpt_oss = with("yarn", 32, 32.0, 4096);
  gpt_oss["truncate"] = false;
  core::attributes llama_4_scout = with("llama3", 64, 16.0, 8192);
  llama_4_scout["high"] = 1.0;
  return {{"qwen2_5", "Qwen2.5, by yarn", 1e6, with("yarn", 64, 4.0, 32768), {}, yarn_magnitude},
          {"deepseek_v3", "DeepSeek-V3, by yarn", 1e4, with("yarn", 32, 40.0, 4096), {}, equal_magnitude},
          {"gpt_oss", "gpt-oss, by yarn between pairs", 150000, gpt_oss, {}, yarn_magnitude},
          {"llama_3_1",
           "Llama 3.1 and 3.2",
           5e5,
           with("llama3", 64, 8.0, 8192),
           {{"pairs", {int64_t{64}, int64_t{32}}}, {"factor", {8.0, 32.0}}}},
          {"llama_4_scout", "Llama 4 Scout, llama3 without a band", 5e5, llama_4_scout},
          {"internlm2", "InternLM2 behind its trained length, dynamic", 1e6,
           with_length(65536, with("dynamic", 64, 2.0, 32768))},
          {"qwen_7b", "Qwen-7B behind a power of two, in steps", 1e4,
           with_length(32769, with("dynamic_steps", 64, 1.0, 8192))}};
}
family of_model(const model& m) {
  const auto bases = [base = m.base](std::vector<double>& all, const drawing& from) {
    const double own = base < core::largest_finite(from.type) ? base : 1e4;
    for (double& x : all) x = std::ldexp(own, from.random.one_in(3) ? -1 : 0);
  };
  family f = table_family(m.name, m.summary, {{"base", bases}});
  const core::operation& op = *reference::find_operation("rope/extended_frequencies");
  for (const auto& [name, value] : core::completed(op, m.settings)) f.settings[name] = {value};
  for (const auto& [name, values] : m.others) f.settings[name] = values;
  return where(has_ramp, f);
}
// Factors as in LongRoPE: hundredths that do not decrease, from 1 to 3, as in short lists, or to 64, as in long ones.
void factors_of_longrope(std::vector<double>& factors, const drawing& from) {
  const double last = from.random.one_in(2) ? 3.0 : 64.0, steepness = from.random.uniform(2, 4);
  for (std::size_t t = 0; t < factors.size(); ++t) {
    const double share = static_cast<double>(t) / static_cast<double>(std::max<std::size_t>(factors.size(), 2) - 1);
    factors[t] = std::nearbyint(100.0 * (1.0 + (last - 1.0) * std::pow(share, steepness))) / 100.0;
  }
}
}  // namespace

std::vector<usual_size> sizes_of_published_models() {
  const core::operation& whole = *reference::find_operation("rope/rotate_extended");
  std::vector<usual_size> all;
  for (const model& m : published_models()) {
    core::attributes settings = m.settings;
    settings.insert(m.magnitude.begin(), m.magnitude.end());
    settings["base"] = m.base;
    settings["layout"] = std::string("half_split");
    settings["rotary"] = std::get<int64_t>(settings.at("pairs"));
    settings.erase("pairs");
    const auto width = static_cast<std::size_t>(2 * std::get<int64_t>(settings.at("rotary")));
    all.push_back({{whole.name},
                   {{"B", 1}, {"n", all.empty() ? 66 : 9}, {"h", 2}, {"d", width}},
                   true,
                   "",
                   core::completed(whole, settings)});
  }
  return all;
}

family usual_numbers() {
  return of_numbers("mild", "the usual numbers", each(usual_base), each(usual_divisor), each(usual_extension));
}

std::vector<family> families_of_longer_contexts() {
  const auto bases = [](const char* name, const char* summary, double (*base)(const drawing&),
                        setting_values settings) {
    family f = where(has_ramp, table_family(name, summary, {{"base", each(base)}}));
    f.settings = std::move(settings);
    return f;
  };
  const auto factors = [](const char* name, const char* summary, number_filler divisors, number_filler extensions,
                          setting_values settings) {
    family f = where(has_factors, of_numbers(name, summary, each(usual_base), divisors, extensions));
    f.settings = std::move(settings);
    return f;
  };
  const std::string yarn = "yarn", index = "index";
  std::vector<family> all{
      bases("ends_of_ramps", "bases at which a ramp begins or ends beside a pair", base_at_end_of_ramp,
            {{"scaling", {yarn, yarn, std::string("llama3")}},
             {"ramp", {index, index, std::string("turns")}},
             {"last", {std::string("width"), std::string("pairs")}}}),
      bases("around_trained_length",
            "lengths at the trained one, its double and four times that, or a token beside them", usual_base,
            {{"scaling", {std::string("dynamic"), std::string("dynamic_steps")}},
             {"trained_length", {int64_t{4096}}},
             {"length",
              {int64_t{4095}, int64_t{4096}, int64_t{4097}, int64_t{8191}, int64_t{8192}, int64_t{8193}, int64_t{16384},
               int64_t{16385}}}}),
      factors("phi_3_5", "Phi-3.5: lists of factors of LongRoPE, contexts twice or 32 times as long",
              factors_of_longrope, one_of({2, 32}), {{"rule", {std::string("su")}}}),
      factors("wide_factors", "factors from far below 1 to the end of the format", each(wide_divisor),
              each(wide_extension), {}),
      holding_nan(factors("nan_factors", "a NaN in some factors", with_nan(each(usual_divisor)),
                          with_nan(each(usual_extension)), {}))};
  for (const model& m : published_models()) all.push_back(of_model(m));
  return all;
}

}  // namespace assay::properties::encodings::rope
