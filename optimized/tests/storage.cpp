// Tests all 16-bit numbers, and the floats between them.
#include "optimized/storage.hpp"

#include "optimized/tests/support.hpp"
#include "reference/core/dtype.hpp"

namespace assay::optimized::tests {
namespace {

template <class Storage>
constexpr core::dtype dtype_of = std::is_same_v<Storage, float16> ? core::dtype::f16 : core::dtype::bf16;

// All finite numbers that are not negative, from 0 on, and infinity. The bits of a number are its rank.
template <class Storage>
std::vector<float> ascending() {
  std::vector<Storage> bits;
  for (std::uint16_t k = 0; k <= Storage::rounded(inf<float>); ++k) bits.push_back({k});
  std::vector<float> x(bits.size());
  storage_for<Storage>(active_kernels()).widen(bits.data(), x.data(), x.size());
  return x;
}

template <class Storage>
float rounded(float x) {
  Storage y{};
  storage_for<Storage>(active_kernels()).round(&x, &y, 1);
  return Storage::widened(y.bits);
}

}  // namespace

TEMPLATE_TEST_CASE("optimized/storage/numbers_are_those_of_the_format", "[unit][optimized]", bfloat16, float16) {
  constexpr core::dtype type = dtype_of<TestType>;
  on_every_target([] {
    const std::vector<float> x = ascending<TestType>();
    CHECK(x[0] == 0.0f);
    CHECK(x[1] == core::smallest_subnormal(type));
    CHECK(x[x.size() - 2] == core::largest_finite(type));
    CHECK(x.back() == inf<float>);
    bool known = true, negative = true;
    for (std::size_t k = 0; k + 1 < x.size(); ++k) {
      known = known && x[k] < x[k + 1] && core::round_to(type, x[k]) == x[k];
      negative = negative && TestType::widened(static_cast<std::uint16_t>(k | 0x8000u)) == -x[k];
    }
    CHECK(known);
    CHECK(negative);
    CHECK(std::signbit(TestType::widened(0x8000u)));
  });
}

// Tests every number, every middle of two neighbours, and the floats next to them.
TEMPLATE_TEST_CASE("optimized/storage/rounds_to_nearest_even", "[unit][optimized]", bfloat16, float16) {
  constexpr core::dtype type = dtype_of<TestType>;
  on_every_target([] {
    const std::vector<float> x = ascending<TestType>();
    std::vector<float> tried{inf<float>, std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()};
    for (std::size_t k = 0; k + 1 < x.size(); ++k) {
      const double above = std::isinf(x[k + 1]) ? 2.0 * x[k] - x[k - 1] : x[k + 1];
      const auto middle = static_cast<float>((x[k] + above) / 2.0);
      for (const float y : {x[k], middle})
        for (const float z : {std::nextafter(y, 0.0f), y, std::nextafter(y, inf<float>)}) tried.push_back(z);
    }
    std::vector<TestType> bits(tried.size());
    storage_for<TestType>(active_kernels()).round(tried.data(), bits.data(), tried.size());
    std::size_t wrong = 0, wrong_negative = 0;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      const double expected = core::round_to(type, tried[i]);
      wrong += TestType::widened(bits[i].bits) != expected;
      wrong_negative += rounded<TestType>(-tried[i]) != -expected;
    }
    CHECK(tried.size() > 100000);
    CHECK(wrong == 0);
    CHECK(wrong_negative == 0);
  });
}

TEMPLATE_TEST_CASE("optimized/storage/nan_stays_nan", "[unit][optimized]", bfloat16, float16) {
  on_every_target([] {
    for (const std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffc00000u, 0x7f8000ffu})
      CHECK(std::isnan(rounded<TestType>(storage::from_bits(bits))));
    std::size_t lost = 0;
    for (std::uint32_t k = TestType::rounded(inf<float>) + 1u; k <= 0x7fffu; ++k)
      lost += !std::isnan(TestType::widened(static_cast<std::uint16_t>(k)));
    CHECK(lost == 0);
  });
}

}  // namespace assay::optimized::tests
