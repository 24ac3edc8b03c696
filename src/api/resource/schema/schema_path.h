// Where a walk over an object stands. Lives on the stack of the walk and costs nothing until
// something is wrong and the path has to be told. Used by validation.cc and its neighbours.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fairlead::resource {

class SchemaPath {
 public:
  SchemaPath() = default;
  SchemaPath member(std::string_view name) const { return SchemaPath(this, name, Step::member); }
  SchemaPath key(std::string_view name) const { return SchemaPath(this, name, Step::key); }
  SchemaPath item(std::size_t index) const { return SchemaPath(this, index); }

  bool is_root() const { return step_ == Step::root; }

  // "spec.ports[0].port"; a key of a map in brackets ("data[tls.crt]").
  std::string to_string() const {
    std::string text = parent_ ? parent_->to_string() : "";
    switch (step_) {
      case Step::root:
        break;
      case Step::member:
        if (!text.empty()) text += '.';
        text += name_;
        break;
      case Step::key:
        text.append("[").append(name_).append("]");
        break;
      case Step::item:
        text += "[" + std::to_string(index_) + "]";
        break;
    }
    return text;
  }

 private:
  enum class Step { root, member, key, item };
  SchemaPath(const SchemaPath* parent, std::string_view name, Step step)
      : parent_(parent), name_(name), step_(step) {}
  SchemaPath(const SchemaPath* parent, std::size_t index)
      : parent_(parent), index_(index), step_(Step::item) {}

  const SchemaPath* parent_ = nullptr;
  std::string_view name_;
  std::size_t index_ = 0;
  Step step_ = Step::root;
};

}  // namespace fairlead::resource
