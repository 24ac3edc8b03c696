#include "program/status_text.h"

#include <algorithm>
#include <vector>

#include "node/agent/explanation.h"

namespace fairlead::program {
namespace {

std::string scalar(const Json& value) {
  if (value.is_string()) return agent::printable(std::string(value.get_string()));
  if (value.is_bool()) return value.get_bool() ? "yes" : "no";
  return wire::encode_json(value);
}

bool is_table(const Json& value) {
  const JsonArray* rows = value.if_array();
  return rows && !rows->empty() && rows->front().is_object();
}

// An empty cell is a dash, so that columns can be counted.
std::string cell(const JsonObject& row, std::string_view name) {
  const Json* value = row.if_contains(name);
  std::string text = value ? scalar(*value) : "";
  return text.empty() ? "-" : text;
}

void add_table(std::string& out, const JsonArray& rows, const std::string& indent) {
  std::vector<std::string> names;
  for (const auto& member : rows.front().get_object()) names.emplace_back(member.key());
  std::vector<std::size_t> widths;
  for (const std::string& name : names) {
    std::size_t width = name.size();
    for (const Json& row : rows)
      if (row.is_object()) width = std::max(width, cell(row.get_object(), name).size());
    widths.push_back(width);
  }
  const auto add_line = [&](const auto& text_of) {
    std::string line = indent;
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::string text = text_of(names[i]);
      text.resize(std::max(text.size(), widths[i]), ' ');
      line += text + "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line([](const std::string& name) { return name; });
  for (const Json& row : rows)
    if (row.is_object())
      add_line([&](const std::string& name) { return cell(row.get_object(), name); });
}

void add_object(std::string& out, const JsonObject& object, const std::string& indent) {
  for (const auto& member : object) {
    const std::string name(member.key());
    const Json& value = member.value();
    if (is_table(value)) {
      out += indent + name + ":\n";
      add_table(out, value.get_array(), indent + "  ");
    } else if (const JsonArray* list = value.if_array()) {
      for (const Json& one : *list) out += indent + name + ": " + scalar(one) + "\n";
    } else if (value.is_object()) {
      out += indent + name + ":\n";
      add_object(out, value.get_object(), indent + "  ");
    } else if (const std::string text = scalar(value); !text.empty()) {
      out += indent + name + ": " + text + "\n";
    }
  }
}

}  // namespace

std::string status_text(const Json& status) {
  std::string out;
  if (status.is_object()) add_object(out, status.get_object(), "");
  return out;
}

}  // namespace fairlead::program
