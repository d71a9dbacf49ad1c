// A program of Go that calls the library by its C headers: the walk goes through the C code,
// and ends where Go has switched stacks to call it.
package main

/*
#cgo pkg-config: snapwalk
#include <snapwalk/here.h>
#include <stdio.h>

static bool show(void *arg, const struct sw_frame *frame, const char *name, uint64_t offset)
{
	(void)arg, (void)frame, (void)offset;
	return puts(name) >= 0;
}

static void here_in_go(void)
{
	enum sw_stop stop;
	if (sw_here(NULL, show, NULL, &stop) == SW_OK)
		printf("ended: %s\n", sw_stop_name(stop));
	fflush(stdout);
}
*/
import "C"

func main() {
	C.here_in_go()
}
