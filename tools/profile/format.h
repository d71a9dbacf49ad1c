/* Which format the name of a file asks for. Needs no writer: who only takes a name links ending.c alone. */
#ifndef PROFILE_FORMAT_H
#define PROFILE_FORMAT_H

/* ORDER format: format.c, writers. */
enum format { FORMAT_NONE, FORMAT_PPROF, FORMAT_OTLP, FORMAT_SPEEDSCOPE, FORMAT_HTML, FORMAT_FOLDED };

/* ending: receives where in the name the format's ending begins; may be null. FORMAT_NONE: no format ends so. */
enum format sw_profile_format_of(const char *name, const char **ending);

#endif
