// Go: 1,000 goroutines that wait in the runtime, and four that each hold a thread in a system call.
package main

import (
	"fmt"
	"sort"
	"syscall"
	"time"
)

type list []int

func (l list) Len() int           { return len(l) }
func (l list) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l list) Less(i, j int) bool { waitThere(); return l[i] < l[j] }

//go:noinline
func waitThere() {
	byte := make([]byte, 1)
	syscall.Read(0, byte)
}

//go:noinline
func deeper(depth int) int {
	if depth == 0 {
		waitThere()
		return 0
	}
	return 1 + deeper(depth-1)
}

//go:noinline
func closure(depth int) func() { return func() { deeper(depth) } }

//go:noinline
func parked(channel chan int) { <-channel }

func main() {
	channel := make(chan int)
	for i := 0; i < 1000; i++ {
		go parked(channel)
	}
	go sort.Sort(list{3, 2, 1})
	go closure(3)()
	go closure(30)()
	time.Sleep(300 * time.Millisecond)
	fmt.Println("ready")
	waitThere()
}
