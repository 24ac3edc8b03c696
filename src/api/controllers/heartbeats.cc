#include "api/controllers/heartbeats.h"

namespace fairlead::controllers {

void Heartbeats::heard(std::string_view node, Instant now) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) {
    nodes_.emplace(node, Node{.heard = now});
  } else {
    at->second = {.heard = now};
  }
}

void Heartbeats::found_silent(std::string_view node) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) {
    nodes_.emplace(node, Node{.heard = {}, .found_silent = true});
  } else {
    at->second.found_silent = true;
  }
}

void Heartbeats::forget(std::string_view node) {
  if (const auto at = nodes_.find(node); at != nodes_.end()) nodes_.erase(at);
}

void Heartbeats::start_over(Instant now) {
  for (auto& [name, node] : nodes_) node.heard = now;
}

bool Heartbeats::silent(std::string_view node, Instant now) const {
  const auto at = nodes_.find(node);
  return at != nodes_.end() && silent(at->second, now);
}

std::vector<std::string> Heartbeats::silent(Instant now) const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_)
    if (silent(node, now)) names.push_back(name);
  return names;
}

}  // namespace fairlead::controllers
