/* A call of an interpreted function, as its runtime describes it: what the readers of Python and Ruby fill. */
#ifndef RUNTIMES_CALL_H
#define RUNTIMES_CALL_H

enum { CALL_TEXT_BYTES = 512, CALLS_MOST = 1000 };

/* Texts are empty, or "?", where they are not known; line: 0. */
struct runtime_call {
    char function[CALL_TEXT_BYTES], file[CALL_TEXT_BYTES];
    int line;
};

#endif
