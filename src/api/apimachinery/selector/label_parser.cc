#include "api/apimachinery/selector/label_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/apimachinery/request/quoted.h"
#include "api/resource/schema/validation.h"

namespace fairlead::apimachinery {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

enum class Token {
  end,
  identifier,
  comma,
  open,
  close,
  bang,
  equals,
  double_equals,
  not_equals,
  in,
  not_in,
  greater,
  less,
  unknown
};

struct Lexeme {
  Token token = Token::end;
  std::string_view text;
};

constexpr std::string_view kSpecial = "=!(),><";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_special(char c) { return kSpecial.find(c) != std::string_view::npos; }

Token special_token(std::string_view text) {
  if (text == ")") return Token::close;
  if (text == ",") return Token::comma;
  if (text == "!") return Token::bang;
  if (text == "==") return Token::double_equals;
  if (text == "=") return Token::equals;
  if (text == ">") return Token::greater;
  if (text == "<") return Token::less;
  if (text == "!=") return Token::not_equals;
  if (text == "(") return Token::open;
  return Token::unknown;
}

class Parser {
 public:
  explicit Parser(std::string_view text) { scan(text); }

  Result<std::vector<Requirement>> parse() {
    std::vector<Requirement> requirements;
    while (true) {
      const Lexeme next = peek();
      if (next.token == Token::end) return requirements;
      if (next.token != Token::identifier && next.token != Token::bang) {
        return expected(next, "!, identifier, or 'end of string'");
      }
      auto requirement = parse_requirement();
      if (!requirement) {
        return fail(Code::invalid, "unable to parse requirement: " + requirement.error().message);
      }
      requirements.push_back(std::move(*requirement));
      const Lexeme after = take();
      if (after.token == Token::end) return requirements;
      if (after.token != Token::comma) return expected(after, "',' or 'end of string'");
      if (peek().token != Token::identifier && peek().token != Token::bang) {
        return expected(peek(), "identifier after ','");
      }
    }
  }

 private:
  void scan(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
      if (is_space(text[at])) {
        ++at;
      } else if (is_special(text[at])) {
        at = scan_special(text, at);
      } else {
        std::size_t end = at;
        while (end < text.size() && !is_space(text[end]) && !is_special(text[end])) ++end;
        const std::string_view word = text.substr(at, end - at);
        const Token token = word == "in"      ? Token::in
                            : word == "notin" ? Token::not_in
                                              : Token::identifier;
        lexemes_.push_back({token, word});
        at = end;
      }
    }
    lexemes_.push_back({});
  }

  // The longest run of special characters that is one operator.
  std::size_t scan_special(std::string_view text, std::size_t at) {
    std::size_t length = 1;
    if (at + 1 < text.size() && special_token(text.substr(at, 2)) != Token::unknown) length = 2;
    lexemes_.push_back({special_token(text.substr(at, length)), text.substr(at, length)});
    return at + length;
  }

  // `in` and `notin` are words like any other where an operator cannot stand.
  static Lexeme as_value(Lexeme lexeme) {
    if (lexeme.token == Token::in || lexeme.token == Token::not_in) {
      lexeme.token = Token::identifier;
    }
    return lexeme;
  }
  Lexeme peek() const { return as_value(lexemes_[position_]); }
  Lexeme take() { return as_value(take_raw()); }
  Lexeme take_raw() {
    const Lexeme lexeme = lexemes_[position_];
    if (position_ + 1 < lexemes_.size()) ++position_;
    return lexeme;
  }

  static std::unexpected<Error> expected(const Lexeme& found, std::string_view what) {
    return fail(Code::invalid, fmt::format("found '{}', expected: {}", found.text, what));
  }

  Result<Requirement> parse_requirement() {
    Requirement requirement;
    Lexeme key = take();
    const bool negated = key.token == Token::bang;
    if (negated) key = take();
    if (key.token != Token::identifier) return expected(key, "identifier");
    if (!resource::is_qualified_name(key.text)) return bad_key(key.text);
    requirement.key = key.text;
    if (peek().token == Token::end || peek().token == Token::comma) {
      requirement.op = negated ? Operator::not_exists : Operator::exists;
      return requirement;
    }
    FL_TRY(requirement.op, parse_operator());
    if (requirement.op == Operator::in || requirement.op == Operator::not_in) {
      FL_TRY(requirement.values, parse_values());
    } else {
      FL_TRY(requirement.values, parse_exact_value());
    }
    FL_CHECKED(check_values(requirement));
    return requirement;
  }

  Result<Operator> parse_operator() {
    const Lexeme lexeme = take_raw();
    switch (lexeme.token) {
      case Token::in:
        return Operator::in;
      case Token::not_in:
        return Operator::not_in;
      case Token::equals:
        return Operator::equals;
      case Token::double_equals:
        return Operator::double_equals;
      case Token::not_equals:
        return Operator::not_equals;
      case Token::greater:
        return Operator::greater;
      case Token::less:
        return Operator::less;
      default:
        return expected(lexeme, "in, notin, =, ==, !=, gt, lt");
    }
  }

  Result<std::vector<std::string>> parse_values() {
    const Lexeme open = take();
    if (open.token != Token::open) {
      return fail(Code::invalid, fmt::format("found '{}' expected: '('", open.text));
    }
    std::vector<std::string> values;
    std::string_view pending;  // an empty place between commas counts as the empty value
    while (true) {
      const Lexeme lexeme = take();
      if (lexeme.token == Token::identifier && pending.empty()) {
        pending = lexeme.text;
      } else if (lexeme.token == Token::comma || lexeme.token == Token::close) {
        values.emplace_back(pending);
        pending = {};
        if (lexeme.token == Token::close) break;
      } else {
        return expected(lexeme, pending.empty() ? "',', ')' or identifier" : "',' or ')'");
      }
    }
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  Result<std::vector<std::string>> parse_exact_value() {
    if (peek().token == Token::end || peek().token == Token::comma) {
      return std::vector<std::string>{""};
    }
    const Lexeme value = take();
    if (value.token != Token::identifier) return expected(value, "identifier");
    return std::vector<std::string>{std::string(value.text)};
  }

  static std::unexpected<Error> bad_key(std::string_view key) {
    return fail(Code::invalid,
                fmt::format("<nil>: Invalid value: {}: name part must consist of alphanumeric "
                            "characters, '-', '_' or '.', and must start and end with an "
                            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
                            "regex used for validation is "
                            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                            quoted(key)));
  }

  static Result<> check_values(const Requirement& requirement) {
    if (requirement.op == Operator::greater || requirement.op == Operator::less) {
      const std::string& text = requirement.values.front();
      std::int64_t number = 0;
      const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (status != std::errc{} || end != text.data() + text.size()) {
        return fail(Code::invalid,
                    fmt::format("values[0]: Invalid value: {}: for 'Gt', 'Lt' operators, the value "
                                "must be an integer",
                                quoted(text)));
      }
    }
    for (const std::string& value : requirement.values) {
      if (!resource::is_label_value(value)) return bad_value(requirement.key, value);
    }
    return {};
  }

  static std::unexpected<Error> bad_value(std::string_view key, std::string_view value) {
    if (value.size() > 63) {
      return fail(Code::invalid,
                  fmt::format("values[0][{}]: Invalid value: {}: must be no more than 63 bytes",
                              key, quoted(value)));
    }
    return fail(Code::invalid,
                fmt::format("values[0][{}]: Invalid value: {}: a valid label must be an empty "
                            "string or consist of alphanumeric characters, '-', '_' or '.', and "
                            "must start and end with an alphanumeric character (e.g. 'MyValue',  "
                            "or 'my_value',  or '12345', regex used for validation is "
                            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
                            key, quoted(value)));
  }

  std::vector<Lexeme> lexemes_;
  std::size_t position_ = 0;
};

}  // namespace

Result<std::vector<Requirement>> parse_label_requirements(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace fairlead::apimachinery
