// Go: goroutines whose stacks grow and move, while the collector stops them over and over.
package main

import (
	"fmt"
	"runtime"
)

type node struct{ left, right *node }

func build(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{build(depth - 1), build(depth - 1)}
}

func deep(n int) int {
	var pad [64]byte
	if n == 0 {
		return int(pad[3])
	}
	return deep(n-1) + int(pad[n%64])
}

func main() {
	runtime.GOMAXPROCS(4)
	for i := 0; i < 8; i++ {
		go func() {
			for {
				build(12)
				done := make(chan int)
				go func() { done <- deep(500) }()
				<-done
			}
		}()
	}
	fmt.Println("ready")
	select {}
}
