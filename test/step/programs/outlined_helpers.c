/* step outlined: -mllvm -enable-machine-outliner=always -mllvm -homogeneous-prolog-epilog */
/* The same with clang's helpers that save and restore all registers of a function. x64: has none. */
#include "outlined.c"
