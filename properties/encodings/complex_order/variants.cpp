// Wrong and right ways to rotate words and to multiply them.
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "properties/kinds/relative_scores.hpp"
#include "reference/encodings/complex_order.hpp"

namespace assay::properties::encodings::complex_order {
namespace {

using core::dtype;
using encoding = reference::encodings::complex_order;
using reference::complex_numbers, reference::wave_of;
using reference::encodings::bilinear_modulus, reference::encodings::bilinear_product;
using reference::encodings::hermitian_product, reference::encodings::product_of_parts;
using reference::formula::traced;
inline constexpr auto& changed = make_variant<encoding>;

// The product of queries and keys, for the bilinear and the hermitian form.
using product_of_two = traced(const complex_numbers& q, const complex_numbers& k);
auto with_products(product_of_two* bilinear, product_of_two* hermitian) {
  return [=](auto& scheme) {
    scheme.product = [=](bool is_bilinear, const complex_numbers& q, const complex_numbers& k) {
      return is_bilinear ? bilinear(q, k) : hermitian(q, k);
    };
  };
}
traced root_of_squares(const complex_numbers& q, const complex_numbers& k) {
  const auto [re, im] = bilinear_product(q, k);
  return power(re * re + im * im, reference::ratio(1, 2));
}
traced sum_of_moduli(const complex_numbers& q, const complex_numbers& k) {
  const auto each_pair = [](const complex_numbers& x, std::size_t other) {
    core::shape s = shape_of(x.re);
    s.insert(s.begin() + static_cast<std::ptrdiff_t>(other), 1);
    return complex_numbers{reshaped(x.re, s), reshaped(x.im, s)};
  };
  const complex_numbers x = each_pair(q, 3), y = each_pair(k, 2);
  return summed(modulus_of(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re), {4});
}
traced real_part_of_bilinear(const complex_numbers& q, const complex_numbers& k) { return bilinear_product(q, k).re; }
traced modulus_of_hermitian(const complex_numbers& q, const complex_numbers& k) {
  return modulus_of(hermitian_product(q, k), product_of_parts(q.im, k.re) - product_of_parts(q.re, k.im));
}
traced with_imaginary_twice(const complex_numbers& q, const complex_numbers& k) {
  const traced im = product_of_parts(q.re, k.im);
  return modulus_of(bilinear_product(q, k).re, im + im);
}
// The larger part times sqrt(1 + ratio^2).
traced scaled_modulus(const complex_numbers& q, const complex_numbers& k) {
  const auto [re, im] = bilinear_product(q, k);
  const traced a = magnitude_of(re), b = magnitude_of(im), none(0.0), one(1.0);
  const auto re_leads = less(b, a);
  const traced most = either(re_leads, a, b), share = either(re_leads, b, a) / most;
  return either(equal(most, none), none, most * power(one + share * share, reference::ratio(1, 2)));
}
// Scores scaled by another width.
auto with_width(std::size_t (*scaled_width)(std::size_t width)) {
  return [scaled_width](auto& scheme) {
    scheme.factor = [scaled_width](std::size_t width, std::size_t, std::size_t) {
      return reference::inverse_root(scaled_width(width));
    };
  };
}
// Changes the real and imaginary parts of f.
auto of_pairs(void (*change)(double& re, double& im)) {
  return [change](core::tensors& outputs) {
    if (const auto f = outputs.find("f"); f != outputs.end())
      for (std::size_t k = 0; k < f->second.size(); k += 2)
        change(f->second.values.data()[k], f->second.values.data()[k + 1]);
  };
}
void turn_phases(request& call) {
  const auto phase = call.inputs.find("phase");
  if (phase == call.inputs.end()) return;
  double* w = call.inputs.at("frequency").values.data();
  change_each(call.inputs, "phase", [&, k = std::size_t{0}](double phi) mutable {
    w[k] = core::round_to(call.type, w[k] + phi);
    return ++k, 0.0;
  });
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/complex_order_no_phase", "iclr-complex-order/complex-order: no model has a phase",
            "complex_order/embed/phase/zeroed"},
           {"mutant/complex_order_from_one",
            "iclr-complex-order/complex-order, complex_mem_transformer.py: arange(1, qlen + 1)",
            "complex_order/embed/position/one_off"},
           {"mutant/complex_order_forward",
            "iclr-complex-order/complex-order: one classifier counts back, others do not",
            "complex_order/embed/reversed/ignored"},
           {"mutant/complex_order_frequency_frozen",
            "iclr-complex-order/complex-order, TRANSLATION: from_pretrained(freeze=True)",
            "complex_order/embed:vjp/grad_frequency/zeroed"},
       }),
       faults_of_scores<encoding>("complex_order"),
       {
           changed("mutant/complex_order_reversed_by_length", "arange(klen, 0, -1) for arange(klen - 1, -1, -1)",
                   "reversed positions are those of the token before",
                   {.formula =
                        [](auto& scheme) {
                          scheme.place = [](std::size_t i, std::size_t n, bool reversed) {
                            return reversed ? (n - i) % n : i;
                          };
                        }}),
           changed("mutant/complex_order_other_way", "exp(-1j * angle), the sign of a Fourier transform",
                   "im has the other sign",
                   {.outputs = of_pairs([](double&, double& im) { im = -im; }), .representative = true}),
           changed("mutant/complex_order_parts_exchanged",
                   "iclr-complex-order/complex-order: encoder(phase, real) calls forward(real, phase)",
                   "re and im are exchanged", {.outputs = of_pairs([](double& re, double& im) { std::swap(re, im); })}),
           changed("mutant/complex_order_half_imaginary", "a factor 1/2 of one part alone", "im has half of its size",
                   {.outputs = of_pairs([](double&, double& im) { im /= 2; }), .representative = true}),
           changed("mutant/complex_order_polar", "torch.polar, whose backward takes a to be a modulus",
                   "the gradient of the amplitude is multiplied by the sign of the amplitude",
                   {.outputs =
                        [](core::tensors& outputs, const request& call) {
                          if (!outputs.contains("grad_amplitude")) return;
                          const double* a = call.inputs.at("amplitude").values.data();
                          change_each(outputs, "grad_amplitude", [=, k = std::size_t{0}](double g) mutable {
                            const double element = a[k++];
                            return element < 0.0 ? -g : element > 0.0 ? g : 0.0;
                          });
                        }}),
           changed("mutant/complex_order_phase_turns", "a phase within the product", "the angle is m (w + phi)",
                   {.inputs = turn_phases, .representative = true}),
           changed("mutant/complex_order_angle_in_f16", "huggingface/transformers#29285: angles of a short format",
                   "w m is held in f16",
                   {.formula =
                        [](auto& scheme) {
                          scheme.wave = [](const traced& turned, const traced& phase) {
                            return wave_of(held_in(dtype::f16, turned), phase);
                          };
                        }}),
           changed("mutant/complex_order_position_lost", "pytorch/pytorch#196705: a factor of a gradient dropped",
                   "the gradient of a frequency is that of its phase",
                   {.outputs =
                        [](core::tensors& outputs) {
                          if (const auto w = outputs.find("grad_frequency"); w != outputs.end())
                            w->second = outputs.at("grad_phase");
                        },
                    .representative = true}),
           changed("mutant/complex_order_not_conjugated", "numpy.dot for numpy.vdot",
                   "hermitian scores conjugate nothing",
                   {.formula = with_products(bilinear_modulus, real_part_of_bilinear), .representative = true}),
           changed("mutant/complex_order_conjugated", "numpy.vdot for numpy.dot", "bilinear scores conjugate the key",
                   {.formula = with_products(modulus_of_hermitian, hermitian_product)}),
           changed("mutant/complex_order_imaginary_twice",
                   "iclr-complex-order/complex-order, complex_mem_transformer.py: AC_phase",
                   "both products of the imaginary part have the real part of the query",
                   {.formula = with_products(with_imaginary_twice, hermitian_product)}),
           changed("mutant/complex_order_sum_of_moduli", "(q * k).abs().sum(-1)", "the modulus is taken before the sum",
                   {.formula = with_products(sum_of_moduli, hermitian_product)}),
           changed("mutant/complex_order_unscaled", "huggingface/transformers: logits without 1 / sqrt(d)",
                   "scores are not scaled", {.formula = with_width([](std::size_t) { return std::size_t{1}; })}),
           changed("mutant/complex_order_width_of_parts", "d_k = q.size(-1) of real parts beside imaginary ones",
                   "scores are scaled by 1 / sqrt(2 d)",
                   {.formula = with_width([](std::size_t width) { return 2 * width; })}),
           changed("mutant/complex_order_nan_at_zero",
                   "iclr-complex-order/complex-order, attention_complex.py: sqrt of a sum of squares",
                   "the gradient of the modulus at 0 is NaN",
                   {.gradient = with_products(root_of_squares, hermitian_product)}),
       }});
}

std::vector<variant> controls() {
  return {
      changed("control/complex_order_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("control/complex_order_usual_stages", "torch.matmul and torch.cos",
              "f16 and bf16: angles and sums in f32, all else in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
      changed(
          "control/complex_order_complex_product", "exp(1j * w * m) * exp(1j * phi), view_as_complex",
          "the addition theorem",
          {.formula =
               [](auto& scheme) {
                 scheme.wave = [](const traced& x, const traced& phi) {
                   return complex_numbers{cos(x) * cos(phi) - sin(x) * sin(phi), sin(x) * cos(phi) + cos(x) * sin(phi)};
                 };
               }}),
      changed("control/complex_order_scaled_modulus", "torch.hypot, abs of a complex number",
              "the modulus is the larger part times sqrt(1 + ratio^2)",
              {.formula = with_products(scaled_modulus, hermitian_product)}),
  };
}

}  // namespace assay::properties::encodings::complex_order
