// All readings and primitives, for the definitions of the primitives.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/primitives/all.hpp"
#include "reference/readings/ball.hpp"
#include "reference/readings/enclosure.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/readings/tangent.hpp"
#include "reference/readings/tracked.hpp"
#include "reference/readings/value.hpp"
