#include "api/apiserver/list_text.h"

#include <utility>

#include "api/apimachinery/partial_metadata.h"
#include "foundation/base/check.h"
#include "foundation/wire/yaml.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::Format;
using apimachinery::Shape;

// The text of a list without items up to where they belong; `end` is what follows them there.
std::string before_items(std::string text, std::string_view end) {
  CHECK(text.ends_with(end));
  text.resize(text.size() - end.size());
  return text;
}

// Four spaces further in: below the list's field, inside its brackets.
void append_indented(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out.append(4, ' ').append(text.substr(0, end));
    if (end == std::string_view::npos) return;
    out.push_back('\n');
    text.remove_prefix(end + 1);
  }
}

}  // namespace

ListText::ListText(const resource::Kind& kind, std::vector<watchcache::ObjectRef> objects,
                   const apimachinery::ListMeta& meta, apimachinery::Representation form,
                   apimachinery::TableOptions table)
    : kind_(kind), objects_(std::move(objects)), form_(std::move(form)), table_(std::move(table)) {
  const Json empty = envelope(meta);
  if (form_.format == Format::yaml) {
    head_ = wire::encode_yaml(empty);
    if (!objects_.empty()) head_ = before_items(std::move(head_), " []\n").append("\n");
  } else if (form_.pretty) {
    head_ = before_items(wire::encode_json_pretty(empty), "]\n}");
    tail_ = objects_.empty() ? "]\n}\n" : "\n  ]\n}\n";
  } else {
    head_ = before_items(wire::encode_json(empty), "]}");
    tail_ = "]}\n";
  }
}

// The list without its items, which are its last field.
Json ListText::envelope(const apimachinery::ListMeta& meta) const {
  if (form_.shape == Shape::table) return apimachinery::make_table(kind_, {}, meta, table_);
  if (form_.shape == Shape::partial_metadata_list)
    return apimachinery::make_partial_metadata_list({}, meta, form_.meta_version);
  return JsonObject{{"kind", kind_.list_kind()},
                    {"apiVersion", kind_.api_version()},
                    {"metadata", meta.to_json()},
                    {"items", JsonArray()}};
}

Json ListText::item(const watchcache::ObjectRef& object) const {
  Json value = kind_.shown(object->decode());
  if (form_.shape == Shape::table) return apimachinery::make_table_row(kind_, value, table_);
  if (form_.shape == Shape::partial_metadata_list)
    return apimachinery::make_partial_metadata(value, form_.meta_version);
  return value;
}

void ListText::append_item(std::string& out, const watchcache::ObjectRef& object) {
  if (form_.format == Format::yaml) {
    JsonArray one;
    one.push_back(item(object));
    out.append(wire::encode_yaml(one));
    return;
  }
  if (next_ > 0) out.push_back(',');
  if (form_.pretty) {
    out.push_back('\n');
    append_indented(out, wire::encode_json_pretty(item(object)));
  } else if (form_.shape == Shape::object && !kind_.view) {
    out.append(watchcache::served_bytes(object).view());  // encoded once, when it was stored
  } else {
    wire::encode_json_to(out, item(object));
  }
}

std::string ListText::next(std::size_t enough) {
  std::string out = std::exchange(head_, {});
  for (; next_ < objects_.size() && out.size() < enough; ++next_) {
    append_item(out, objects_[next_]);
    objects_[next_] = nullptr;  // its memory is no longer ours to hold
  }
  if (next_ == objects_.size() && !std::exchange(ended_, true)) out.append(tail_);
  return out;
}

}  // namespace fairlead::apiserver
