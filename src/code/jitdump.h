/* A jitdump reader, internal interface: its position in the file. For src/target, which opens the file. */
#ifndef SW_CODE_JITDUMP_H
#define SW_CODE_JITDUMP_H

#include <snapwalk/jitdump.h>

/*
 * position: bytes of the file fed or passed over so far. pass: goes over what need not be fed of the record there, up
 * to `most` bytes. begin: what follows is of the file with that number and size; if it is another one, or has become
 * shorter, it is read from its start. Names and images stay. perfmap: as given to create.
 */
uint64_t sw_jitdump_position(const struct sw_jitdump *jitdump);
void sw_jitdump_pass(struct sw_jitdump *jitdump, uint64_t most);
void sw_jitdump_begin(struct sw_jitdump *jitdump, uint64_t inode, uint64_t size);
const struct sw_perfmap *sw_jitdump_perfmap(const struct sw_jitdump *jitdump);

#endif
