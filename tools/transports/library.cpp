#include "tools/transports/library.hpp"

#include <dlfcn.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/safetensors.hpp"
#include "golden/formats/strict_json.hpp"
#include "tools/transports/guarded_buffer.hpp"

namespace assay::transports {
namespace {

using nlohmann::ordered_json;
using properties::call_failure;
using properties::fault;

constexpr std::size_t most_operations = 1000;
constexpr std::size_t message_bytes = 4000;

core::result<const assay_candidate*> load(const std::filesystem::path& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return core::failure(::dlerror());
  void* entry = ::dlsym(library, "assay_candidate_v1");
  if (entry == nullptr) return core::failure(path.string() + " does not export assay_candidate_v1");
  const assay_candidate* about = reinterpret_cast<decltype(&assay_candidate_v1)>(entry)();
  if (about == nullptr) return core::failure(path.string() + ": assay_candidate_v1() returned NULL");
  if (about->abi != ASSAY_CANDIDATE_ABI)
    return core::failure(path.string() + " has the ABI version " + std::to_string(about->abi) +
                         ", and this assay takes version " + std::to_string(ASSAY_CANDIDATE_ABI));
  return about;
}

// The members that a library may add to its hello.
core::result<ordered_json> claims_of(const char* text) {
  if (text == nullptr) return ordered_json::object();
  const auto document = formats::parse_strict_json(text);
  if (!document)
    return core::failure("claims: byte " + std::to_string(document.error().offset) + ": " + document.error().rule);
  for (const char* own : {"protocol", "name", "version", "operations"})
    if (document->value.contains(own))
      return core::failure(std::string("claims must not have the member '") + own + "': it has its own field");
  return ordered_json(document->value);
}

// Exchanges the floating-point environment (rounding, flushing of subnormals) during its lifetime.
class borrowed_environment {
 public:
  explicit borrowed_environment(const std::fenv_t& other) {
    std::fegetenv(&own_);
    std::fesetenv(&other);
  }
  borrowed_environment(const borrowed_environment&) = delete;
  borrowed_environment& operator=(const borrowed_environment&) = delete;
  ~borrowed_environment() { std::fesetenv(&own_); }

 private:
  std::fenv_t own_;
};

// The memory of a call as the library sees it, with the declarations.
struct shared_tensors {
  std::vector<std::string> dtypes;
  std::vector<core::shape> shapes;
  std::vector<guarded_buffer> buffers;
  std::vector<assay_tensor> views;

  explicit shared_tensors(std::size_t count) {
    dtypes.reserve(count), shapes.reserve(count), buffers.reserve(count);  // the views point into these vectors
  }
  void add(const core::tensor_declaration& declared, core::dtype type, const core::shape& shape,
           guarded_buffer buffer) {
    dtypes.emplace_back(core::name_of(type));
    shapes.push_back(shape);
    buffers.push_back(std::move(buffer));
    views.push_back({declared.name.c_str(), dtypes.back().c_str(), shapes.back().data(), shape.size(),
                     core::element_count(shape), buffers.back().data()});
  }
};

shared_tensors share_inputs(const properties::request& call) {
  shared_tensors shared(call.operation->inputs.size());
  for (const auto& declared : call.operation->inputs) {
    const core::tensor& t = call.inputs.at(declared.name);
    auto bytes = formats::tensor_bytes(t);
    ASSAY_EXPECTS(bytes.has_value());
    shared.add(declared, t.type, t.shape(), guarded_buffer(*bytes));
  }
  return shared;
}

// All bits are set: NaN in every floating-point format, so that elements which the library does not write are visible.
shared_tensors share_outputs(const properties::request& call, const core::axis_sizes& sizes) {
  shared_tensors shared(call.operation->outputs.size());
  for (const auto& declared : call.operation->outputs) {
    const core::shape shape = core::shape_of(declared, sizes);
    const std::size_t bytes =
        core::element_count(shape) * static_cast<std::size_t>(core::bytes_of(declared.type_in(call.type)));
    shared.add(declared, declared.type_in(call.type), shape, guarded_buffer(std::string(bytes, '\xff')));
  }
  return shared;
}

// Names the memory that the library wrote although it must not write it.
std::string trespass(const shared_tensors& inputs, const shared_tensors& outputs) {
  for (std::size_t i = 0; i < inputs.views.size(); ++i)
    if (!inputs.buffers[i].untouched()) return std::string("it wrote to the input '") + inputs.views[i].name + "'";
  for (std::size_t i = 0; i < outputs.views.size(); ++i)
    if (!outputs.buffers[i].margins_untouched())
      return std::string("it wrote outside the output '") + outputs.views[i].name + "'";
  return "";
}

tl::expected<void, call_failure> judge_status(int status, const std::string& message) {
  const auto failed = [](fault kind, std::string text) {
    return tl::make_unexpected(call_failure{kind, std::move(text)});
  };
  switch (status) {
    case ASSAY_OK:
      return {};
    case ASSAY_ERROR:
      return failed(fault::error_reply, message.empty() ? "it returned ASSAY_ERROR without a message" : message);
    case ASSAY_UNSUPPORTED:
      return failed(fault::unsupported, message);
    default:
      return failed(fault::error_reply, "it returned " + std::to_string(status) + ", which is no status");
  }
}

}  // namespace

core::result<library_candidate> library_candidate::open(const std::filesystem::path& path) {
  library_candidate made;
  std::fenv_t own;
  std::fegetenv(&own);
  const auto loaded = load(path);
  std::fegetenv(&made.environment_);
  std::fesetenv(&own);
  if (!loaded) return tl::make_unexpected(loaded.error());
  const assay_candidate& about = **loaded;
  const auto refuse = [&](const std::string& rule) { return core::failure(path.string() + ": " + rule); };
  if (about.name == nullptr || about.operations == nullptr) return refuse("it has no name or no operations");
  ordered_json operations = ordered_json::object();
  for (const assay_operation* op = about.operations; op->name != nullptr; ++op) {
    if (operations.size() == most_operations) return refuse("its operations are not ended by one without a name");
    if (op->dtypes == nullptr || op->evaluate == nullptr)
      return refuse(std::string("operation '") + op->name + "' has no dtypes or no function");
    if (!made.operations_.emplace(op->name, op->evaluate).second)
      return refuse(std::string("operation '") + op->name + "' stands twice");
    std::istringstream words(op->dtypes);
    ordered_json& dtypes = operations[op->name] = ordered_json::array();
    for (std::string word; words >> word;) dtypes.push_back(word);
  }
  const auto claims = claims_of(about.claims);
  if (!claims) return refuse(claims.error().message);
  ordered_json hello{{"protocol", 1}, {"name", about.name}};
  if (about.version != nullptr) hello["version"] = about.version;
  hello["operations"] = std::move(operations);
  hello.update(*claims);
  made.hello_ =
      ordered_json{{"hello", std::move(hello)}}.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  return made;
}

properties::call_result library_candidate::evaluate(const properties::request& call) const {
  const core::operation& op = *call.operation;
  const auto known = operations_.find(op.name);
  if (known == operations_.end()) return tl::make_unexpected(call_failure{fault::unsupported, "no " + op.name});
  const auto sizes = core::check_request(call);
  ASSAY_EXPECTS(sizes.has_value());
  const shared_tensors inputs = share_inputs(call), outputs = share_outputs(call, *sizes);
  const std::string type(core::name_of(call.type)), attributes = formats::to_json(call.attributes).dump();
  std::string message(message_bytes, '\0');
  assay_call shared{op.name.c_str(),      type.c_str(),         attributes.c_str(),
                    inputs.views.data(),  outputs.views.data(), inputs.views.size(),
                    outputs.views.size(), message.data(),       message.size()};
  tl::expected<void, call_failure> judged;
  try {
    const borrowed_environment library_environment(environment_);
    const int status = known->second(&shared);
    message.back() = '\0';
    judged = judge_status(status, message.c_str());
  } catch (const std::exception& e) {
    judged = tl::make_unexpected(call_failure{fault::error_reply, std::string("it threw an exception: ") + e.what()});
  }
  if (const std::string broken = trespass(inputs, outputs); !broken.empty())
    return tl::make_unexpected(call_failure{fault::error_reply, broken});
  if (!judged) return tl::make_unexpected(judged.error());
  core::tensors results;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    auto t =
        formats::tensor_from_bytes(op.outputs[i].type_in(call.type), outputs.shapes[i], outputs.buffers[i].bytes());
    if (!t) return tl::make_unexpected(call_failure{fault::error_reply, op.outputs[i].name + ": " + t.error().message});
    results.emplace(op.outputs[i].name, std::move(*t));
  }
  return results;
}

}  // namespace assay::transports
