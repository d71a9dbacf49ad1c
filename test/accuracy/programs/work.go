// Goroutines that wait for each other, stacks that grow, panics, maps, sorting.
package main

import (
	"fmt"
	"sort"
	"strings"
)

type shape interface{ area() float64 }
type square struct{ side float64 }
type disc struct{ radius float64 }

func (s square) area() float64 { return s.side * s.side }
func (d disc) area() float64   { return d.radius * d.radius * 3.14159 }

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func deep(n int) int {
	var room [64]int
	if n == 0 {
		return len(room)
	}
	room[n%64] = n
	return deep(n-1) + room[n%64]
}

func guarded(n int) (result int) {
	defer func() {
		if r := recover(); r != nil {
			result = len(fmt.Sprint(r))
		}
	}()
	if n%3 == 0 {
		panic(fmt.Sprintf("three of %d", n))
	}
	return n
}

func produce(to chan<- int, n int) {
	for i := 0; i < n; i++ {
		to <- fib(8) + i
	}
	close(to)
}

func round(n int) int {
	numbers := make(chan int)
	go produce(numbers, 10)
	sum := 0
	for number := range numbers {
		sum += number
	}
	done := make(chan int)
	go func() { done <- deep(40) }()
	names := map[string]int{}
	for j := 0; j < 30; j++ {
		names[fmt.Sprintf("name %d", (j*7919+n)%101)] = j
	}
	keys := make([]string, 0, len(names))
	for key := range names {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(a, b int) bool { return keys[a] > keys[b] })
	for _, s := range []shape{square{float64(n)}, disc{float64(n)}} {
		sum += int(s.area())
	}
	return sum + len(strings.Join(keys, ",")) + guarded(n) + <-done
}

func main() {
	sum := 0
	for i := 0; i < 100000; i++ {
		sum += round(i)
	}
	fmt.Println(sum)
}
