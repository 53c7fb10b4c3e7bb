#include "properties/laws/rope.hpp"
namespace assay::properties {
std::vector<property> rope_laws() { return {}; }
}
