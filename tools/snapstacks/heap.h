/* Where malloc takes its memory from. */
#ifndef SNAPSTACKS_HEAP_H
#define SNAPSTACKS_HEAP_H

/*
 * Called first, before anything is allocated. What is allocated then lies on huge pages, where the system offers them
 * on request; elsewhere nothing changes.
 */
void heap_begin(void);

#endif
