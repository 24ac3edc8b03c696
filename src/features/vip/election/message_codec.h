// Message on the wire: protobuf, written and read field by field. Fields that a reader does not
// know are skipped, so that nodes of two versions understand each other. Pure.
//
// Reads bytes of a peer: what is too long, out of range or broken is refused as a whole.
#pragma once

#include <string>
#include <string_view>

#include "features/vip/election/message.h"
#include "foundation/base/result.h"

namespace fairlead::vip {

std::string encode(const Message& message);
Result<Message> decode_message(std::string_view bytes);

}  // namespace fairlead::vip
