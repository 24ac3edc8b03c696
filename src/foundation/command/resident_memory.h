// What a long-lived process can give back to the system.
#pragma once

namespace fairlead::command {

// Free memory of the heap, and the pages of programs and libraries, which come back from the page
// cache as they are used: starting up touches several times as many as running does, and the kernel
// maps sixteen for each one that is touched. Costs a millisecond and some page faults later.
void give_back_memory();

}  // namespace fairlead::command
