#include "api/apimachinery/patch/json_patch.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "api/apimachinery/apply/typed_walk.h"

namespace fairlead::apimachinery {
namespace {

using Tokens = std::vector<std::string>;

// The deepest document that a patch may build; beyond, walks over the result could exhaust the
// stack.
constexpr std::size_t kMaxPointerDepth = 100;

Result<Tokens> parse_pointer(std::string_view text) {
  Tokens tokens;
  if (text.empty()) return tokens;
  if (text.front() != '/') return fail(Code::invalid, fmt::format("bad JSON pointer '{}'", text));
  std::string token;
  for (std::size_t i = 1; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == '/') {
      tokens.push_back(std::move(token));
      token.clear();
    } else if (text[i] == '~') {
      const char code = i + 1 < text.size() ? text[i + 1] : '\0';
      if (code != '0' && code != '1') {
        return fail(Code::invalid, fmt::format("bad escape in JSON pointer '{}'", text));
      }
      token += code == '0' ? '~' : '/';
      ++i;
    } else {
      token += text[i];
    }
  }
  if (tokens.size() > kMaxPointerDepth) return fail(Code::invalid, "JSON pointer is too deep");
  return tokens;
}

// An index below `size`. RFC 6902: digits without leading zeros.
std::optional<std::size_t> parse_index(std::string_view token, std::size_t size) {
  if (token.empty() || (token.size() > 1 && token.front() == '0')) return std::nullopt;
  std::size_t index = 0;
  const auto [end, status] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (status != std::errc{} || end != token.data() + token.size()) return std::nullopt;
  if (index >= size) return std::nullopt;
  return index;
}

Json* step(Json& value, const std::string& token) {
  if (JsonObject* object = value.if_object()) return object->if_contains(token);
  if (JsonArray* array = value.if_array()) {
    const auto index = parse_index(token, array->size());
    return index ? &(*array)[*index] : nullptr;
  }
  return nullptr;
}

Json* resolve(Json& document, const Tokens& tokens, std::size_t count) {
  Json* value = &document;
  for (std::size_t i = 0; i < count && value; ++i) value = step(*value, tokens[i]);
  return value;
}

std::size_t depth_of(const Json& value) {
  std::size_t deepest = 0;
  if (const JsonObject* object = value.if_object()) {
    for (const auto& member : *object) deepest = std::max(deepest, depth_of(member.value()));
  } else if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array) deepest = std::max(deepest, depth_of(item));
  } else {
    return 0;
  }
  return deepest + 1;
}

std::size_t size_of(const Json& value) {
  std::size_t size = 8;
  if (const JsonObject* object = value.if_object()) {
    for (const auto& member : *object) size += member.key().size() + size_of(member.value()) + 4;
  } else if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array) size += size_of(item) + 1;
  } else if (value.is_string()) {
    size = value.get_string().size() + 2;
  }
  return size;
}

struct Operation {
  std::string op;
  std::string path_text;
  Tokens path;
  Tokens from;
  std::string from_text;
  const Json* value = nullptr;
};

Result<Operation> parse_operation(const Json& json) {
  const JsonObject* object = json.if_object();
  if (!object) return fail(Code::invalid, "a JSON patch operation must be an object");
  Operation operation;
  const auto text = [&](std::string_view name) -> Result<std::string> {
    const Json* member = object->if_contains(name);
    if (!member || !member->is_string()) {
      return fail(Code::invalid, fmt::format("JSON patch operation lacks the string '{}'", name));
    }
    return std::string(member->get_string());
  };
  FL_TRY(operation.op, text("op"));
  FL_TRY(operation.path_text, text("path"));
  FL_TRY(operation.path, parse_pointer(operation.path_text));
  if (operation.op == "move" || operation.op == "copy") {
    FL_TRY(operation.from_text, text("from"));
    FL_TRY(operation.from, parse_pointer(operation.from_text));
  }
  operation.value = object->if_contains("value");
  const bool needs_value =
      operation.op == "add" || operation.op == "replace" || operation.op == "test";
  if (needs_value && !operation.value) {
    return fail(Code::invalid,
                fmt::format("JSON patch operation '{}' lacks 'value'", operation.op));
  }
  return operation;
}

class Patcher {
 public:
  explicit Patcher(Json& document) : document_(document) {}

  Answer<> apply(const Operation& operation) {
    if (operation.op == "add") return add(operation, *operation.value);
    if (operation.op == "remove") return remove(operation);
    if (operation.op == "replace") return replace(operation);
    if (operation.op == "move") return move(operation);
    if (operation.op == "copy") return copy(operation);
    if (operation.op == "test") return test(operation);
    return refuse(bad_request(fmt::format("Unexpected kind: {}", operation.op)));
  }

 private:
  static std::unexpected<Status> missing(std::string_view op, std::string_view path) {
    return refuse(patch_failed(
        fmt::format("{} operation does not apply: doc is missing path: {}", op, path)));
  }

  // Inserting into and erasing from a long list moves what follows; a patch may repeat that 10,000
  // times on a list of a million items.
  bool affordable(std::size_t steps) {
    steps_ += steps;
    return steps_ <= kMaxSteps;
  }
  static std::unexpected<Status> too_expensive() {
    return refuse(request_entity_too_large("the JSON patch moves too much"));
  }

  Answer<> add(const Operation& operation, Json value) {
    if (operation.path.size() + depth_of(value) > kMaxPointerDepth) {
      return refuse(patch_failed("the patched document would be too deep"));
    }
    if (operation.path.empty()) {
      document_ = std::move(value);
      return {};
    }
    Json* parent = resolve(document_, operation.path, operation.path.size() - 1);
    const std::string& last = operation.path.back();
    if (parent && parent->is_object()) {
      parent->get_object()[last] = std::move(value);
      return {};
    }
    if (parent && parent->is_array()) {
      JsonArray& array = parent->get_array();
      const auto index = last == "-" ? array.size() : parse_index(last, array.size() + 1);
      if (!index) return missing(operation.op, operation.path_text);
      if (!affordable(array.size() - *index)) return too_expensive();
      array.insert(array.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
      return {};
    }
    return missing(operation.op, operation.path_text);
  }

  Answer<> erase(const Tokens& path, std::string_view op, std::string_view text) {
    if (path.empty()) return missing(op, text);
    Json* parent = resolve(document_, path, path.size() - 1);
    if (parent && parent->is_object()) {
      if (!affordable(parent->get_object().size())) return too_expensive();
      if (parent->get_object().stable_erase(path.back()) == 1) return {};
    } else if (parent && parent->is_array()) {
      JsonArray& array = parent->get_array();
      if (const auto index = parse_index(path.back(), array.size())) {
        if (!affordable(array.size() - *index)) return too_expensive();
        array.erase(array.begin() + static_cast<std::ptrdiff_t>(*index));
        return {};
      }
    }
    return missing(op, text);
  }

  Answer<> remove(const Operation& operation) {
    return erase(operation.path, operation.op, operation.path_text);
  }

  Answer<> replace(const Operation& operation) {
    Json* target = resolve(document_, operation.path, operation.path.size());
    if (!target) return missing(operation.op, operation.path_text);
    if (operation.path.size() + depth_of(*operation.value) > kMaxPointerDepth) {
      return refuse(patch_failed("the patched document would be too deep"));
    }
    *target = *operation.value;
    return {};
  }

  Answer<> move(const Operation& operation) {
    if (operation.from_text == operation.path_text) return {};
    if (operation.path_text.starts_with(operation.from_text + "/")) {
      return refuse(patch_failed("a value cannot be moved into itself"));
    }
    Json* source = resolve(document_, operation.from, operation.from.size());
    if (!source) return missing(operation.op, operation.from_text);
    if (!affordable(size_of(*source))) return too_expensive();
    Json value = std::move(*source);
    if (auto erased = erase(operation.from, operation.op, operation.from_text); !erased) {
      return erased;
    }
    return add(operation, std::move(value));
  }

  Answer<> copy(const Operation& operation) {
    const Json* source = resolve(document_, operation.from, operation.from.size());
    if (!source) return missing(operation.op, operation.from_text);
    copied_ += size_of(*source);
    if (copied_ > kMaxJsonPatchCopyBytes) {
      return refuse(request_entity_too_large(fmt::format(
          "the copies of a JSON patch may add up to {} bytes", kMaxJsonPatchCopyBytes)));
    }
    return add(operation, *source);
  }

  Answer<> test(const Operation& operation) {
    const Json* found = resolve(document_, operation.path, operation.path.size());
    // An absent value equals null, as the patch library of Kubernetes has it.
    const bool same = found ? equal_values(*found, *operation.value) : operation.value->is_null();
    if (same) return {};
    return refuse(patch_failed(fmt::format("testing path {} failed", operation.path_text)));
  }

  static constexpr std::size_t kMaxSteps = 50'000'000;

  Json& document_;
  std::size_t copied_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace

Answer<Json> apply_json_patch(const Json& document, const Json& patch) {
  const JsonArray* operations = patch.if_array();
  if (!operations) {
    return refuse(bad_request("error decoding patch: a JSON patch must be an array"));
  }
  if (operations->size() > kMaxJsonPatchOperations) {
    return refuse(request_entity_too_large(
        fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                    kMaxJsonPatchOperations, operations->size())));
  }
  Json result = document;
  Patcher patcher(result);
  for (const Json& json : *operations) {
    auto operation = parse_operation(json);
    if (!operation) {
      return refuse(bad_request("error decoding patch: " + operation.error().message));
    }
    if (auto applied = patcher.apply(*operation); !applied) {
      return std::unexpected(std::move(applied).error());
    }
  }
  return result;
}

}  // namespace fairlead::apimachinery
