#include "foundation/http/message.h"

#include <algorithm>

#include "foundation/wire/http1.h"

namespace fairlead::http {

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return wire::http1::equals_ignoring_case(a, b);
}

void Headers::set(std::string_view name, std::string value) {
  auto first = std::find_if(fields_.begin(), fields_.end(), [name](const auto& field) {
    return equals_ignoring_case(field.first, name);
  });
  if (first == fields_.end()) {
    fields_.emplace_back(std::string(name), std::move(value));
    return;
  }
  first->second = std::move(value);
  fields_.erase(
      std::remove_if(std::next(first), fields_.end(),
                     [name](const auto& field) { return equals_ignoring_case(field.first, name); }),
      fields_.end());
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_,
                [name](const auto& field) { return equals_ignoring_case(field.first, name); });
}

std::string_view Headers::get(std::string_view name) const {
  for (const auto& [key, value] : fields_)
    if (equals_ignoring_case(key, name)) return value;
  return {};
}

bool Headers::has(std::string_view name) const {
  return std::any_of(fields_.begin(), fields_.end(),
                     [name](const auto& field) { return equals_ignoring_case(field.first, name); });
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : fields_)
    if (equals_ignoring_case(key, name)) values.emplace_back(value);
  return values;
}

std::size_t Response::body_size() const {
  std::size_t size = 0;
  for (const Bytes& piece : body) size += piece.size();
  return size;
}

std::string Response::body_text() const {
  std::string text;
  text.reserve(body_size());
  for (const Bytes& piece : body) text.append(piece.view());
  return text;
}

}  // namespace fairlead::http
