// Go: a goroutine in a call of C, several functions deep.
package main

/*
#include <stdio.h>
#include <unistd.h>
static void wait_there(int depth)
{
	if (depth) {
		wait_there(depth - 1);
		__asm__ volatile("");
		return;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
*/
import "C"

//go:noinline
func deeper(depth int) int {
	if depth == 0 {
		C.wait_there(3)
		return 0
	}
	return deeper(depth-1) + 1
}

func main() {
	deeper(4)
}
