<?php
// Calls, callbacks, exceptions, generators and fibers, which switch stacks.
class Item
{
    public function __construct(public int $key) {}
    public function __toString(): string { return "item {$this->key}"; }
}
function fib(int $n): int { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
function squares(int $n) { for ($i = 0; $i < $n; $i++) yield $i * $i; }
function odd(int $n): int { if ($n % 3 == 0) throw new RuntimeException("three"); return $n; }
$sum = 0;
for ($i = 0; $i < 100000; $i++) {
    $items = array_map(fn($j) => new Item(($j * 7919 + $i) % 101), range(1, 30));
    usort($items, fn($a, $b) => $b->key <=> $a->key);
    $sum += fib(10) + strlen(preg_replace_callback('/\d+/', fn($m) => $m[0] . $m[0], implode(',', $items)));
    foreach (squares(20) as $square) $sum += $square;
    try { $sum += odd($i); } catch (RuntimeException $e) { $sum += strlen($e->getMessage()); }
    $fiber = new Fiber(function () use ($i) { for ($j = 0; $j < 3; $j++) Fiber::suspend(fib(5) + $i); });
    for ($value = $fiber->start(); !$fiber->isTerminated(); $value = $fiber->resume()) $sum += $value;
}
echo $sum, "\n";
