// Work for a runtime to compile: recursion, accessors, sorting, strings, exceptions. Ends after two minutes.
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
class P { constructor(x) { this.x = x; } get y() { return this.x * 2; } }
function work(n) {
    let s = 0;
    const list = [];
    for (let i = 0; i < n; i++) list.push(new P((i * 7919) % 1000));
    list.sort((a, b) => a.x - b.x);
    for (const p of list) s += p.y;
    s += JSON.stringify(list.slice(0, 20)).replace(/x/g, (m) => m + 'y').length;
    try { if (n % 3 === 0) throw new Error('e' + n); } catch (e) { s += e.message.length; }
    return s + fib(15);
}
let t = 0;
const end = Date.now() + 120000;
while (Date.now() < end) t += work(100 + (t % 50));
console.log(t);
