#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "api/apimachinery/selector/selector.h"

namespace fairlead::apimachinery {
namespace {

constexpr std::size_t kMaxSelectorBytes = 64 << 10;
constexpr std::size_t kMaxTerms = 20;   // a watch keeps them
constexpr std::size_t kMostTold = 200;  // of what was wrong, in an answer that anybody gets

// Split at commas that no backslash protects.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  terms.push_back(text.substr(start));
  return terms;
}

Result<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      const std::string_view sequence = text.substr(i, 2);
      if (sequence != "\\\\" && sequence != "\\," && sequence != "\\=") {
        return fail(Code::invalid,
                    fmt::format("invalid field selector: invalid escape sequence: {}", sequence));
      }
      out += sequence[1];
      ++i;
    } else if (c == ',' || c == '=') {
      return fail(Code::invalid,
                  fmt::format("invalid field selector: unescaped character in value: {}", c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == ',' || c == '=') out += '\\';
    out += c;
  }
  return out;
}

Result<FieldSelector::Term> parse_term(std::string_view selector, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fail(Code::invalid,
                fmt::format("invalid selector: '{}'; can't understand '{}'",
                            selector.substr(0, kMostTold), text.substr(0, kMostTold)));
  }
  FieldSelector::Term term;
  std::size_t path_end = equals;
  std::size_t value_start = equals + 1;
  if (equals > 0 && text[equals - 1] == '!') {
    term.equal = false;
    --path_end;
  } else if (text.substr(value_start).starts_with('=')) {
    ++value_start;
  }
  term.path = text.substr(0, path_end);
  FL_TRY(term.value, unescape(text.substr(value_start)));
  return term;
}

}  // namespace

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  if (text.size() > kMaxSelectorBytes) return fail(Code::invalid, "field selector is too long");
  FieldSelector selector;
  for (const std::string_view part : split_terms(text)) {
    if (part.empty()) continue;
    FL_TRY(Term term, parse_term(text, part));
    if (selector.terms_.size() == kMaxTerms)
      return fail(Code::invalid, fmt::format("field selector: more than {} terms", kMaxTerms));
    selector.terms_.push_back(std::move(term));
  }
  std::sort(selector.terms_.begin(), selector.terms_.end(), [](const Term& a, const Term& b) {
    return std::tie(a.path, a.equal, a.value) < std::tie(b.path, b.equal, b.value);
  });
  return selector;
}

Result<> FieldSelector::check(const resource::Kind& kind) const {
  for (const Term& term : terms_) {
    if (term.path == "metadata.name" || term.path == "metadata.namespace") continue;
    const auto& known = kind.selectable;
    if (std::find(known.begin(), known.end(), term.path) == known.end()) {
      return fail(Code::invalid, "field label not supported: " + term.path);
    }
  }
  return {};
}

bool FieldSelector::matches(const Json& object) const {
  for (const Term& term : terms_) {
    if ((resource::selected_value(object, term.path) == term.value) != term.equal) return false;
  }
  return true;
}

std::optional<std::string_view> FieldSelector::required(std::string_view path) const {
  for (const Term& term : terms_) {
    if (term.equal && term.path == path) return term.value;
  }
  return std::nullopt;
}

std::string FieldSelector::to_string() const {
  std::string out;
  for (const Term& term : terms_) {
    if (!out.empty()) out += ',';
    out += term.path + (term.equal ? "=" : "!=") + escape(term.value);
  }
  return out;
}

}  // namespace fairlead::apimachinery
