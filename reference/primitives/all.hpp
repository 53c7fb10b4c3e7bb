// All primitives: the functions in which formulas are written, besides + - * /.
#pragma once

#include "reference/primitives/choices.hpp"
#include "reference/primitives/cosine_integral.hpp"
#include "reference/primitives/exponential.hpp"
#include "reference/primitives/log_sum_exp.hpp"
#include "reference/primitives/logarithm.hpp"
#include "reference/primitives/logistic.hpp"
#include "reference/primitives/power.hpp"
#include "reference/primitives/trigonometric.hpp"
