/* Finds a process by its name. */
#ifndef SNAPSTACKS_PROCESS_NAME_H
#define SNAPSTACKS_PROCESS_NAME_H

/* The id of the process that `word` names: a number, or a name. Ends the program where none is, or several are. */
int process_named(const char *word);

#endif
