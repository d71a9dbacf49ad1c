// Go: goroutines that ask for the time, which a thread does on its own stack.
package main

import (
	"fmt"
	"time"
)

//go:noinline
func ask(n int) (sum int64) {
	for i := 0; i < n; i++ {
		sum += time.Now().UnixNano()
	}
	return sum
}

func main() {
	for i := 0; i < 3; i++ {
		go func() {
			for {
				ask(1000)
			}
		}()
	}
	fmt.Println("ready")
	select {}
}
