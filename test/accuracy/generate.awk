# Writes a C program of many functions of mixed shapes: -v seed=N -v count=N. Functions call only later ones, so it ends.
function rnd(n) { state = (state * 16807) % 2147483647; return state % n }
function call(i) { return i + 1 >= count ? "x" : "f" (i + 1 + rnd(count - i - 1 < 9 ? count - i - 1 : 9)) "(x + " rnd(7) ", d - 1)" }
function live(i,    k) {
    for (k = 0; k < 6; k++) printf "    const long v%d = x * %d + seed;\n", k, 3 + rnd(90)
    printf "    if (d > 0) x += %s;\n    x += v0 ^ v1 ^ v2;\n    if (x & 1) x += %s;\n    return x + v3 * v4 - v5;\n", call(i), call(i)
}
function buffer(i,    n) {
    n = 16 * (1 + rnd(rnd(8) == 0 ? 1200 : 40))
    printf "    char text[%d];\n    if (d <= 0) return x;\n    memset(text, (int)x, sizeof text);\n", n
    printf "    x += %s;\n    take(text);\n    return x + text[x & 15];\n", call(i)
}
function sized(i) {
    printf "    char *text = __builtin_alloca((size_t)(16 + (x & 255)));\n    text[0] = (char)x;\n    take(text);\n"
    printf "    return d > 0 ? %s + text[0] : x;\n", call(i)
}
function table(i,    k) {
    printf "    switch (x & 15) {\n"
    for (k = 0; k < 13; k++) printf "    case %d: %s\n", k, rnd(3) ? "x += " (k * k + 1) "; break;" : "return d > 0 ? " call(i) " : seed;"
    printf "    default: x ^= seed; break;\n    }\n    return d > 0 ? %s + 1 : x;\n", call(i)
}
function early(i) {
    printf "    if (x == 0 || d <= 0) return seed;\n    if (x %% 97 == 3) return fail(x);\n    long sum = %s;\n", call(i)
    printf "    for (long k = 0; k < (x & 3); k++) {\n        if (sum %% 11 == 5) return %s;\n        sum += k * x;\n    }\n    return sum;\n", call(i)
}
function aligned(i) {
    printf "    _Alignas(64) long row[8] = { x, d };\n    take((char *)row);\n    return d > 0 ? %s + row[x & 7] : row[0];\n", call(i)
}
function tail(i) { printf "    if (d <= 0) return x + seed;\n    return %s;\n", call(i) }
function pointer(i) { printf "    long (*const g)(long, long) = seed > 100 ? f%d : f%d;\n    return d > 0 ? g(x ^ 5, d - 1) + %s : x;\n", count - 1, i + 1 < count ? i + 1 : i, call(i) }
function many(i) { printf "    return d > 0 ? spread(x, d, seed, x + 1, 2, 3, 4, x ^ d, 9) + %s : x;\n", call(i) }
function real(i) { printf "    double r = (double)x * 1.5;\n    r += (double)(d > 0 ? %s : 2);\n    take((char *)&r);\n    return (long)r %% 100003;\n", call(i) }
BEGIN {
    state = seed + 12345
    print "#include <setjmp.h>\n#include <stdio.h>\n#include <string.h>\nstatic volatile long seed = 7;\nstatic volatile char *kept;\nstatic jmp_buf out;"
    print "#define APART __attribute__((noinline))"
    print "APART static void take(char *text) { kept = text; text[1] = (char)seed; }"
    print "APART _Noreturn static void leave(long x) { seed = 7 + x % 2; longjmp(out, 1); }"
    print "APART static long fail(long x) { if (x % 5 == 0) leave(x); return x + 1; }"
    print "APART static long spread(long a, long b, long c, long d, long e, long f, long g, long h, long i) { return a + b * c - d + e * f - g + h * i; }"
    for (i = 0; i < count; i++) printf "static long f%d(long x, long d);\n", i
    for (i = 0; i < count; i++) {
        printf "%sstatic long f%d(long x, long d)\n{\n    x &= 0xffff;\n", rnd(6) ? "APART " : "", i
        k = rnd(12)
        if (k < 2) live(i); else if (k < 3) buffer(i); else if (k < 4) sized(i); else if (k < 5) table(i)
        else if (k < 7) early(i); else if (k < 8) aligned(i); else if (k < 9) tail(i); else if (k < 10) pointer(i); else if (k < 11) many(i); else real(i)
        print "}"
    }
    print "int main(void)\n{\n    static volatile long sum;\n    for (long i = 0; i < 400; i++)\n        if (setjmp(out) == 0)\n            switch (i % 40) {"
    for (i = 0; i < 40; i++) printf "            case %d: sum += f%d(i, 4 + i %% 4); break;\n", i, rnd(count)
    print "            }\n    printf(\"%ld\\n\", sum);\n    return 0;\n}"
}
