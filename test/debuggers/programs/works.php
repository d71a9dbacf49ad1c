<?php
// PHP: calls by functions of C (a callback of array_map, a comparison of usort), a method, a static one, a generator,
// code in a text, a class without a name; it says itself by whom it was called. It sleeps or, with an argument, works;
// with two, it does so in a fiber.
class Works
{
    private $kept = [3, 1, 2];

    function __construct(private bool $work)
    {
    }

    function again(int $n)
    {
        if ($n == 0) {
            return $this->stay();
        }
        return array_map(
            fn($k) => $k == 3 ? $this->again($n - 1) : $k,
            $this->kept
        );
    }

    static function begun(bool $work)
    {
        return eval('
            return (new Works($work))->again(3);
        ');
    }

    function stay()
    {
        // Each entry says the line of a call; the function around that line is the next entry's.
        $calls = debug_backtrace();
        foreach ($calls as $i => $call) {
            $around = $calls[$i + 1] ?? ['function' => '{main}'];
            $class = isset($around['class']) ? strtok($around['class'], "\0") . '::' : '';
            $name = $around['function'] == 'eval' ? '{main}' : $class . $around['function'];
            if (isset($call['line'])) {
                echo 'call ', $call['line'], ' ', $name, "\n";
            }
        }
        echo "ready\n";
        if (!$this->work) {
            fgets(STDIN);
        }
        while (true) {
            $this->work();
        }
    }

    function work()
    {
        $all = range(1, 100);
        usort($all, fn($a, $b) => strcmp((string) $a, (string) $b));
        foreach ($all as $one) {
            $all[$one] = sqrt($one) * count($all);
        }
    }
}

function generate(bool $work)
{
    yield 1;
    yield Works::begun($work);
}

$outer = new class {
    function begin(bool $work)
    {
        foreach (generate($work) as $each) {
            $last = $each;
        }
        return $last;
    }
};

if ($argc > 2) {
    $fiber = new Fiber(fn() => $outer->begin(true));
    $fiber->start();
}
$outer->begin($argc > 1);
