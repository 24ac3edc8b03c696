// A program as the first process of a container: the kernel gives it every process whose parent has
// died, and expects it to take their exit statuses. Programs here wait for their own children only,
// so a first process keeps a child that is the program, and does nothing else.
#pragma once

#include <functional>

namespace fairlead::command {

// Calls `run` and returns what it returns. As the first process (id 1): in a child, to which signals
// are passed on; what else ends meanwhile is cleared away. REQUIRES: this process has one thread.
int run_program(const std::function<int()>& run);

}  // namespace fairlead::command
