#include "features/vip/election/message_codec.h"

#include <algorithm>
#include <array>

#include "foundation/wire/protobuf.h"

namespace fairlead::vip {
namespace {

using wire::ProtoReader;
using wire::ProtoWriter;

constexpr std::size_t kMostItems = 128;    // in any list
constexpr std::size_t kLongestText = 253;  // names, addresses, groups
constexpr std::size_t kMostMembers = 15;
constexpr std::int64_t kLongestTime = 3'600'000'000'000;  // an hour, in ns

std::string bytes_of(const Ip& ip) {
  const std::size_t length = ip.is_v4() ? 4 : 16;
  const auto& all = ip.bytes();
  return {reinterpret_cast<const char*>(all.data()) + (16 - length), length};
}

// Every read sets `ok` to false at the first thing that does not fit; the rest is then skipped.
class Decoder {
 public:
  bool ok = true;

  template <class Read>
  void each(std::string_view bytes, Read read) {
    ProtoReader reader(bytes);
    while (ok && reader.next()) read(reader);
    ok = ok && reader.ok();
  }
  template <class T, class Read>
  void item(std::vector<T>& list, std::string_view bytes, Read read,
            std::size_t most = kMostItems) {
    if (list.size() >= most) {
      ok = false;
      return;
    }
    list.push_back(read(bytes));
  }
  std::string text(std::string_view bytes) {
    if (bytes.size() > kLongestText) ok = false;
    return ok ? std::string(bytes) : std::string();
  }
  Ip ip(std::string_view bytes) {
    if (bytes.size() != 4 && bytes.size() != 16) {
      ok = false;
      return {};
    }
    std::array<std::uint8_t, 16> all{};
    std::ranges::transform(bytes, all.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
    if (bytes.size() == 16) return Ip::v6(all);
    return Ip::v4(static_cast<std::uint32_t>(all[0]) << 24 |
                  static_cast<std::uint32_t>(all[1]) << 16 |
                  static_cast<std::uint32_t>(all[2]) << 8 | all[3]);
  }
  Duration time(std::int64_t nanoseconds) {
    if (nanoseconds < 0 || nanoseconds > kLongestTime) ok = false;
    return ok ? Duration(nanoseconds) : Duration();
  }
  template <class Enum>
  Enum choice(std::uint64_t value, Enum last) {
    if (value > static_cast<std::uint64_t>(last)) ok = false;
    return ok ? static_cast<Enum>(value) : Enum{};
  }

  Version version(std::string_view bytes) {
    Version version;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) version.term = in.number();
      if (in.field() == 2) version.index = in.number();
    });
    return version;
  }
  Timing timing(std::string_view bytes) {
    Timing timing{.lease = {}, .renew = {}, .margin = {}, .drift_ppm = 0};
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) timing.lease = time(in.signed_number());
      if (in.field() == 2) timing.renew = time(in.signed_number());
      if (in.field() == 3) timing.margin = time(in.signed_number());
      if (in.field() == 4) timing.drift_ppm = in.signed_number();
    });
    if (!check(timing)) ok = false;
    return timing;
  }
  Member member(std::string_view bytes) {
    Member member;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) member.name = text(in.bytes());
      if (in.field() == 2) member.address = text(in.bytes());
      if (in.field() == 3) member.instance = in.number();
    });
    return member;
  }
  Entry entry(std::string_view bytes) {
    Entry entry;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) entry.version = version(in.bytes());
      if (in.field() == 2) entry.settings.timing = timing(in.bytes());
      if (in.field() == 3)
        item(
            entry.settings.members, in.bytes(), [this](auto b) { return member(b); }, kMostMembers);
    });
    if (entry.settings.members.empty()) ok = false;
    return entry;
  }
  RaftMessage raft(std::string_view bytes) {
    RaftMessage raft{.kind = {}};
    each(bytes, [&](const ProtoReader& in) {
      switch (in.field()) {
        case 1:
          raft.kind = choice(in.number(), RaftMessage::Kind::take_over);
          break;
        case 2:
          raft.term = in.number();
          break;
        case 3:
          raft.last = version(in.bytes());
          break;
        case 4:
          raft.yes = in.boolean();
          break;
        case 5:
          raft.committed = in.number();
          break;
        case 6:
          item(raft.log, in.bytes(), [this](auto b) { return entry(b); }, 16);
          break;
        case 7:
          raft.floor = in.number();
          break;
        default:
          break;
      }
    });
    return raft;
  }
  Claim claim(std::string_view bytes) {
    Claim claim;
    bool named = false;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) claim.vip = ip(in.bytes()), named = true;
      if (in.field() == 2) claim.epoch = in.number();
    });
    if (!named) ok = false;
    return claim;
  }
  Beat beat(std::string_view bytes) {
    Beat beat;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) beat.sequence = in.number();
      if (in.field() == 2) beat.members = version(in.bytes());
      if (in.field() == 3) beat.lease = time(in.signed_number());
      if (in.field() == 4) item(beat.claims, in.bytes(), [this](auto b) { return claim(b); });
      if (in.field() == 5) beat.more = in.boolean();
      if (in.field() == 6) beat.offers = static_cast<std::uint32_t>(in.number());
    });
    return beat;
  }
  Verdict verdict(std::string_view bytes) {
    Verdict verdict;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) verdict.kind = choice(in.number(), Verdict::Kind::members);
      if (in.field() == 2) verdict.wait = time(in.signed_number());
      if (in.field() == 3) verdict.epoch = in.number();
    });
    return verdict;
  }
  BeatAnswer answer(std::string_view bytes) {
    BeatAnswer answer;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) answer.sequence = in.number();
      if (in.field() == 2) item(answer.verdicts, in.bytes(), [this](auto b) { return verdict(b); });
    });
    return answer;
  }
  Assignment assignment(std::string_view bytes) {
    Assignment row;
    bool named = false;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) row.vip = ip(in.bytes()), named = true;
      if (in.field() == 2) row.node = text(in.bytes());
      if (in.field() == 3) row.epoch = in.number();
    });
    if (!named) ok = false;
    return row;
  }
  Offer offer(std::string_view bytes) {
    Offer offer{.vip = {}, .withdrawn = false, .healthy = false, .priority = 0, .options = {}};
    offer.options.preempt = false;
    offer.options.preempt_delay = {};
    bool named = false;
    each(bytes, [&](const ProtoReader& in) {
      switch (in.field()) {
        case 1:
          offer.vip = ip(in.bytes()), named = true;
          break;
        case 2:
          offer.version = static_cast<std::uint32_t>(in.number());
          break;
        case 3:
          offer.withdrawn = in.boolean();
          break;
        case 4:
          offer.healthy = in.boolean();
          break;
        case 5:
          offer.priority = static_cast<std::int32_t>(in.signed_number());
          break;
        case 6:
          offer.options.group = text(in.bytes());
          break;
        case 7:
          offer.options.apart = text(in.bytes());
          break;
        case 8:
          offer.options.preferred = text(in.bytes());
          break;
        case 9:
          offer.options.preempt = in.boolean();
          break;
        case 10:
          offer.options.preempt_delay = time(in.signed_number());
          break;
        default:
          break;
      }
    });
    if (!named) ok = false;
    return offer;
  }
  NumberedWish wish(std::string_view bytes) {
    NumberedWish one;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) one.number = in.number();
      if (in.field() == 2) one.wish.kind = choice(in.number(), Wish::Kind::remove_member);
      if (in.field() == 3) one.wish.vip = ip(in.bytes());
      if (in.field() == 4) one.wish.node = text(in.bytes());
      if (in.field() == 5) one.wish.address = text(in.bytes());
    });
    return one;
  }
  WishAnswer wish_answer(std::string_view bytes) {
    WishAnswer answer;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) answer.number = in.number();
      if (in.field() == 2) answer.refusal = text(in.bytes());
      if (in.field() == 3) answer.unavailable = in.boolean();
    });
    return answer;
  }
  OfferSeen offer_seen(std::string_view bytes) {
    OfferSeen seen;
    bool named = false;
    each(bytes, [&](const ProtoReader& in) {
      if (in.field() == 1) seen.vip = ip(in.bytes()), named = true;
      if (in.field() == 2) seen.version = static_cast<std::uint32_t>(in.number());
    });
    if (!named) ok = false;
    return seen;
  }
};

void write(ProtoWriter& out, const Version& version) {
  out.number(1, version.term);
  out.number(2, version.index);
}

void write(ProtoWriter& out, const Entry& entry) {
  out.message(1, [&](ProtoWriter& w) { write(w, entry.version); });
  const Timing& timing = entry.settings.timing;
  out.message(2, [&](ProtoWriter& w) {
    w.signed_number(1, timing.lease.count());
    w.signed_number(2, timing.renew.count());
    w.signed_number(3, timing.margin.count());
    w.signed_number(4, timing.drift_ppm);
  });
  for (const Member& member : entry.settings.members)
    out.message(3, [&](ProtoWriter& w) {
      w.bytes(1, member.name);
      w.bytes(2, member.address);
      w.number(3, member.instance);
    });
}

void write(ProtoWriter& out, const RaftMessage& raft) {
  out.number(1, static_cast<std::uint64_t>(raft.kind));
  out.number(2, raft.term);
  out.message(3, [&](ProtoWriter& w) { write(w, raft.last); });
  out.boolean(4, raft.yes);
  out.number(5, raft.committed);
  for (const Entry& entry : raft.log) out.message(6, [&](ProtoWriter& w) { write(w, entry); });
  out.number(7, raft.floor);
}

void write(ProtoWriter& out, const Claim& claim) {
  out.bytes(1, bytes_of(claim.vip));
  out.number(2, claim.epoch);
}

void write(ProtoWriter& out, const Beat& beat) {
  out.number(1, beat.sequence);
  out.message(2, [&](ProtoWriter& w) { write(w, beat.members); });
  out.signed_number(3, beat.lease.count());
  for (const Claim& claim : beat.claims) out.message(4, [&](ProtoWriter& w) { write(w, claim); });
  out.boolean(5, beat.more);
  out.number(6, beat.offers);
}

void write(ProtoWriter& out, const BeatAnswer& answer) {
  out.number(1, answer.sequence);
  for (const Verdict& verdict : answer.verdicts)
    out.message(2, [&](ProtoWriter& w) {
      w.number(1, static_cast<std::uint64_t>(verdict.kind));
      w.signed_number(2, verdict.wait.count());
      w.number(3, verdict.epoch);
    });
}

void write(ProtoWriter& out, const Assignment& row) {
  out.bytes(1, bytes_of(row.vip));
  out.bytes(2, row.node);
  out.number(3, row.epoch);
}

void write(ProtoWriter& out, const Offer& offer) {
  out.bytes(1, bytes_of(offer.vip));
  out.number(2, offer.version);
  out.boolean(3, offer.withdrawn);
  out.boolean(4, offer.healthy);
  out.signed_number(5, offer.priority);
  out.bytes(6, offer.options.group);
  out.bytes(7, offer.options.apart);
  out.bytes(8, offer.options.preferred);
  out.boolean(9, offer.options.preempt);
  out.signed_number(10, offer.options.preempt_delay.count());
}

void write(ProtoWriter& out, const NumberedWish& one) {
  out.number(1, one.number);
  out.number(2, static_cast<std::uint64_t>(one.wish.kind));
  if (one.wish.kind == Wish::Kind::move) out.bytes(3, bytes_of(one.wish.vip));
  out.bytes(4, one.wish.node);
  out.bytes(5, one.wish.address);
}

void write(ProtoWriter& out, const WishAnswer& answer) {
  out.number(1, answer.number);
  out.bytes(2, answer.refusal.substr(0, kLongestText));
  out.boolean(3, answer.unavailable);
}

}  // namespace

std::string encode(const Message& message) {
  std::string bytes;
  ProtoWriter out(bytes);
  const auto part = [&](std::uint32_t field, const auto& value) {
    out.message(field, [&](ProtoWriter& w) { write(w, value); });
  };
  out.number(1, message.incarnation);
  if (message.raft) part(2, *message.raft);
  if (message.beat) part(3, *message.beat);
  if (message.answer) part(4, *message.answer);
  for (const Claim& claim : message.released) part(5, claim);
  out.boolean(6, message.released_all);
  out.boolean(7, message.claim_again);
  for (const Assignment& row : message.assignments) part(8, row);
  for (const Claim& claim : message.assignments_seen) part(9, claim);
  for (const Offer& offer : message.offers) part(10, offer);
  for (const OfferSeen& seen : message.offers_seen)
    part(11, Claim{.vip = seen.vip, .epoch = seen.version});
  out.number(12, message.term);
  for (const NumberedWish& wish : message.wishes) part(13, wish);
  for (const WishAnswer& answer : message.wish_answers) part(14, answer);
  out.number(15, message.instance);
  return bytes;
}

Result<Message> decode_message(std::string_view bytes) {
  Message message;
  Decoder in;
  in.each(bytes, [&](const ProtoReader& reader) {
    const std::string_view part = reader.bytes();
    switch (reader.field()) {
      case 1:
        message.incarnation = reader.number();
        break;
      case 2:
        message.raft = in.raft(part);
        break;
      case 3:
        message.beat = in.beat(part);
        break;
      case 4:
        message.answer = in.answer(part);
        break;
      case 5:
        in.item(message.released, part, [&](auto b) { return in.claim(b); });
        break;
      case 6:
        message.released_all = reader.boolean();
        break;
      case 7:
        message.claim_again = reader.boolean();
        break;
      case 8:
        in.item(message.assignments, part, [&](auto b) { return in.assignment(b); });
        break;
      case 9:
        in.item(message.assignments_seen, part, [&](auto b) { return in.claim(b); });
        break;
      case 10:
        in.item(message.offers, part, [&](auto b) { return in.offer(b); });
        break;
      case 11:
        in.item(message.offers_seen, part, [&](auto b) { return in.offer_seen(b); });
        break;
      case 12:
        message.term = reader.number();
        break;
      case 13:
        in.item(message.wishes, part, [&](auto b) { return in.wish(b); });
        break;
      case 14:
        in.item(message.wish_answers, part, [&](auto b) { return in.wish_answer(b); });
        break;
      case 15:
        message.instance = reader.number();
        break;
      default:
        break;
    }
  });
  if (!in.ok) return fail(Code::invalid, "not a message of an election peer");
  return message;
}

}  // namespace fairlead::vip
