#include "features/networks/ipam/subnet_rules.h"

#include <algorithm>
#include <tuple>

namespace fairlead::ipam {
namespace {

std::optional<std::string> overlap(const std::optional<Cidr>& block,
                                   const std::optional<Cidr>& other, const std::string& rival) {
  if (!block || !other || !block->overlaps(*other)) return std::nullopt;
  return "CIDR overlaps with " + rival + "'s (" + other->to_string() + ")";
}

}  // namespace

std::vector<std::string> conflicts(const SubnetFacts& subnet,
                                   const std::vector<SubnetFacts>& others,
                                   const std::set<std::string>& holders) {
  std::vector<std::string> errors;
  for (const std::string& holder : holders)
    if (holder != subnet.namespace_name)
      errors.push_back("same VNI but namespace " + holder + " still holds addresses of it");
  for (const SubnetFacts& other : others) {
    if (!other.validated) continue;
    if (other.namespace_name != subnet.namespace_name)
      errors.push_back("same VNI but different namespace wrt " + other.key());
    for (const bool v4 : {true, false})
      if (auto error = overlap(subnet.block(v4), other.block(v4), other.key()))
        errors.push_back(std::move(*error));
  }
  std::ranges::sort(errors);
  return errors;
}

std::vector<Judgement> judge_again(std::vector<SubnetFacts> subnets,
                                   const std::set<std::string>& holders) {
  std::ranges::sort(subnets, {}, [](const SubnetFacts& s) {
    return std::tuple(s.created_at, s.namespace_name, s.name);
  });
  std::vector<Judgement> changed;
  for (SubnetFacts& subnet : subnets) {
    if (subnet.validated) continue;
    std::vector<std::string> errors = conflicts(subnet, subnets, holders);
    const bool validated = errors.empty();
    if (!validated && errors == subnet.errors) continue;
    subnet.validated = validated;
    changed.push_back({subnet.key(), validated, std::move(errors)});
  }
  return changed;
}

}  // namespace fairlead::ipam
