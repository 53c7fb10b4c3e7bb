#include "properties/mutants/rope.hpp"
namespace assay::properties {
std::vector<variant> rope_mutants() { return {}; }
std::vector<variant> rope_controls() { return {}; }
}
