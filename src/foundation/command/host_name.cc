#include "foundation/command/host_name.h"

#include <unistd.h>

#include <cctype>

namespace fairlead::command {

std::string own_host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  std::string text = name;
  for (char& character : text)
    character = static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  return text;
}

}  // namespace fairlead::command
