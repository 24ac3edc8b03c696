#include "tools/bench/schedule.h"

namespace fairlead::bench {
namespace {

// Twenty steps of a mixed load: reads dominate, as controllers do; lists are short ones.
constexpr Verb kMix[] = {Verb::get,    Verb::create, Verb::get, Verb::patch, Verb::get,
                         Verb::get,    Verb::create, Verb::get, Verb::get,   Verb::list,
                         Verb::get,    Verb::update, Verb::get, Verb::get,   Verb::create,
                         Verb::remove, Verb::get,    Verb::get, Verb::patch, Verb::get};
constexpr std::uint64_t kStride = 7'919;  // prime: walks through all objects, not in their order

}  // namespace

Agenda::Agenda(const ApiSettings& settings)
    : verb_(settings.verb),
      objects_(settings.objects),
      connections_(settings.connections),
      count_(settings.count),
      created_(settings.objects) {}

std::uint64_t Agenda::own_object(std::size_t worker) {
  const std::uint64_t mine = (objects_ - worker + connections_ - 1) / connections_;
  return worker + (round_++ % mine) * connections_;
}

std::optional<Operation> Agenda::mixed(std::size_t worker) {
  const Verb verb = kMix[issued_ % std::size(kMix)];
  switch (verb) {
    case Verb::create:
      return Operation{verb, created_++};
    case Verb::remove:
      // Three creates come before each delete; objects made for reading stay.
      return Operation{verb, objects_ + deleted_++};
    case Verb::patch:
    case Verb::update:
      if (worker < objects_) return Operation{verb, own_object(worker)};
      return Operation{Verb::get, 0};
    default:
      return Operation{verb, (read_++ * kStride) % objects_};
  }
}

std::optional<Operation> Agenda::next(std::size_t worker) {
  if (count_ != 0 && issued_ >= count_) return std::nullopt;
  std::optional<Operation> operation;
  switch (verb_) {
    case Verb::create:
      operation = Operation{verb_, created_++};
      break;
    case Verb::remove:
      if (deleted_ < objects_) operation = Operation{verb_, deleted_++};
      break;
    case Verb::patch:
    case Verb::update:
      operation = Operation{verb_, own_object(worker)};
      break;
    case Verb::mixed:
      operation = mixed(worker);
      break;
    case Verb::get:
    case Verb::list:
      operation = Operation{verb_, (read_++ * kStride) % objects_};
      break;
  }
  if (operation) ++issued_;
  return operation;
}

}  // namespace fairlead::bench
