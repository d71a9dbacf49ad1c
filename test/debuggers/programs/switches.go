// Go: goroutines that yield, end, and begin on stacks that have to grow, so that threads change stacks all the time.
package main

import (
	"fmt"
	"runtime"
)

func deep(n int) int {
	var pad [64]byte
	if n == 0 {
		runtime.Gosched()
		return int(pad[3])
	}
	return deep(n-1) + int(pad[n%64])
}

func main() {
	runtime.GOMAXPROCS(4)
	for i := 0; i < 8; i++ {
		go func() {
			for {
				done := make(chan int, 1)
				go func() { done <- deep(40) }()
				runtime.Gosched()
				<-done
			}
		}()
	}
	fmt.Println("ready")
	select {}
}
