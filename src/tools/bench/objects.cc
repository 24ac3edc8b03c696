#include "tools/bench/objects.h"

namespace fairlead::bench {
namespace {

struct KnownKind {
  std::string_view plural, kind, group, version;
};
constexpr KnownKind kKinds[] = {
    {"configmaps", "ConfigMap", "", "v1"},
    {"secrets", "Secret", "", "v1"},
    {"leases", "Lease", "coordination.k8s.io", "v1"},
    {"subnets", "Subnet", "fairlead.dev", "v1alpha1"},
    {"networkattachments", "NetworkAttachment", "fairlead.dev", "v1alpha1"},
};

std::string subnet_block(std::uint64_t number) {
  return "10." + std::to_string(number / 256 % 256) + "." + std::to_string(number % 256) + ".0/24";
}

}  // namespace

std::string known_kinds() {
  std::string names;
  for (const KnownKind& known : kKinds) {
    if (!names.empty()) names += ", ";
    names += known.plural;
  }
  return names;
}

Result<ObjectMaker> ObjectMaker::make(std::string_view kind, std::string run, std::size_t size) {
  for (const KnownKind& known : kKinds) {
    if (known.plural != kind) continue;
    ObjectMaker maker;
    maker.resource_ = {std::string(known.group), std::string(known.version),
                       std::string(known.plural), true};
    maker.api_version_ = known.version;
    if (!known.group.empty())
      maker.api_version_ = std::string(known.group) + "/" + maker.api_version_;
    maker.kind_ = known.kind;
    maker.run_ = std::move(run);
    maker.size_ = size;
    return maker;
  }
  return fail(Code::invalid, "--kind " + std::string(kind) + ": must be one of " + known_kinds());
}

Json ObjectMaker::object(std::uint64_t number) const {
  JsonObject annotations{{kRoundAnnotation, "0"}};
  JsonObject object{{"apiVersion", api_version_}, {"kind", kind_}};
  if (kind_ == "ConfigMap") {
    object["data"] = JsonObject{{"payload", std::string(size_, 'x')}};
  } else if (kind_ == "Secret") {
    // "eHh4" is base64 of "xxx".
    std::string payload;
    for (std::size_t i = 0; i < size_; i += 4) payload += "eHh4";
    object["data"] = JsonObject{{"payload", payload}};
  } else {
    if (size_ != 0) annotations["bench-payload"] = std::string(size_, 'x');
    if (kind_ == "Subnet")
      object["spec"] = JsonObject{{"ipv4", subnet_block(number)}, {"vni", 1 + number % 2'000'000}};
    if (kind_ == "NetworkAttachment")
      object["spec"] = JsonObject{{"node", "node-" + std::to_string(number % 100)},
                                  {"subnet", run_ + "-subnet"}};
    if (kind_ == "Lease")
      object["spec"] = JsonObject{{"holderIdentity", run_}, {"leaseDurationSeconds", 15}};
  }
  object["metadata"] = JsonObject{{"name", name(number)},
                                  {"labels", JsonObject{{"bench-run", run_}}},
                                  {"annotations", std::move(annotations)}};
  return object;
}

void ObjectMaker::satisfy(Json& object, const SelectorTemplate& requirement, std::size_t number) {
  if (!requirement.field) {
    JsonObject& metadata = wire::member_object(object.as_object(), "metadata");
    wire::member_object(metadata, "labels")[requirement.key] = requirement.value(number);
    return;
  }
  JsonObject* at = &object.as_object();
  std::string_view path = requirement.key;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    at = &wire::member_object(*at, path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  (*at)[path] = requirement.value(number);
}

std::string ObjectMaker::update_body(std::uint64_t number, std::uint64_t round,
                                     std::string_view resource_version) const {
  Json updated = object(number);
  JsonObject& metadata = wire::member_object(updated.as_object(), "metadata");
  wire::member_object(metadata, "annotations")[kRoundAnnotation] = std::to_string(round);
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  return wire::encode_json(updated);
}

std::string ObjectMaker::patch_body(std::uint64_t round) {
  return R"({"metadata":{"annotations":{")" + std::string(kRoundAnnotation) + R"(":")" +
         std::to_string(round) + R"("}}})";
}

std::string_view first_string_member(std::string_view json, std::string_view name) {
  const std::string pattern = "\"" + std::string(name) + "\":\"";
  const std::size_t at = json.find(pattern);
  if (at == std::string_view::npos) return {};
  json.remove_prefix(at + pattern.size());
  const std::size_t end = json.find('"');
  return end == std::string_view::npos ? std::string_view{} : json.substr(0, end);
}

}  // namespace fairlead::bench
