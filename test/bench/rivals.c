/* Runs other programs. */
#include "rivals.h"

#include <stdio.h>

bool rival_run(const char *command, void (*line)(void *arg, const char *text), void *arg)
{
    char text[512];
    fflush(stdout);
    FILE *from = popen(command, "r");
    must(from != NULL, command);
    while (fgets(text, sizeof text, from))
        line(arg, text);
    return pclose(from) == 0;
}
