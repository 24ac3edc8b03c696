// The objects that a load writes, for each kind it knows: where they live and their JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/client/rest_client.h"
#include "foundation/base/result.h"
#include "foundation/wire/json.h"
#include "tools/bench/settings.h"

namespace fairlead::bench {

// Beside every object's number it carries this annotation, changed by every patch and update.
inline constexpr std::string_view kRoundAnnotation = "bench-round";

class ObjectMaker {
 public:
  // `run` is part of every name, so that loads do not meet. Fails with invalid on a kind that is
  // not in the table.
  static Result<ObjectMaker> make(std::string_view kind, std::string run, std::size_t size);

  const client::ResourceName& resource() const { return resource_; }
  std::string name(std::uint64_t number) const { return run_ + "-" + std::to_string(number); }

  Json object(std::uint64_t number) const;
  // Makes `object` satisfy "key=value" of a selector template.
  static void satisfy(Json& object, const SelectorTemplate& requirement, std::size_t number);

  // With a round; the resourceVersion is left out when empty.
  std::string update_body(std::uint64_t number, std::uint64_t round,
                          std::string_view resource_version) const;
  static std::string patch_body(std::uint64_t round);

 private:
  ObjectMaker() = default;
  client::ResourceName resource_;
  std::string api_version_;
  std::string kind_;
  std::string run_;
  std::size_t size_ = 0;
};

// The names of the kinds there are, for --help.
std::string known_kinds();

// The value of the first `"name":"value"` in JSON text, without parsing it: what the load needs
// from an answer it otherwise throws away. Empty if there is none.
std::string_view first_string_member(std::string_view json, std::string_view name);

}  // namespace fairlead::bench
