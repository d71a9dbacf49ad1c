// Go: a thread in a system call, below inlined and generic functions; it says itself what has called it.
package main

import (
	"fmt"
	"runtime"
	"syscall"
)

//go:noinline
func stay() {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Printf("%s %s:%d\n", f.Function, f.File, f.Line)
	}
	fmt.Println("ready")
	for {
		syscall.Pause()
	}
}

func innermost() { stay() }

func inner() { innermost() }

//go:noinline
func either[T any](t T) {
	inner()
}

type box struct{ a, b int }

//go:noinline
func (b *box) method(n int) {
	if n == 0 {
		func() { either(b) }()
		return
	}
	b.method(n - 1)
}

func main() {
	(&box{}).method(1)
}
