// Node: interpreted and optimised functions, methods, a callback of a builtin; its own stack of each thread.
'use strict';
const { Worker, isMainThread, workerData } = require('worker_threads');
const fs = require('fs');
Error.stackTraceLimit = 200;
Error.prepareStackTrace = (error, calls) => calls.map((call) => '    at ' + (call.getFunctionName() || '(anonymous)')).join('\n');

function waitThere(gate, name) {
    fs.writeSync(2, 'thread ' + name + '\n' + new Error().stack + '\n');
    Atomics.add(gate, 0, 1);
    Atomics.notify(gate, 0);
    Atomics.wait(gate, 1, 0);
}
class Room {
    enter(depth, gate, name) { return depth ? this.enter(depth - 1, gate, name) + 1 : waitThere(gate, name); }
}
function hot(n) { let sum = 0; for (let i = 0; i < n; i++) sum += i % 7; return sum; }
function compiled(depth, last) { return depth ? compiled(depth - 1, last) + hot(3) : last ? last() : 0; }

const gate = isMainThread ? new Int32Array(new SharedArrayBuffer(8)) : workerData.gate;
const bodies = {
    method: () => new Room().enter(5, gate, 'method'),
    callback: () => [3, 1, 2].sort((a, b) => { waitThere(gate, 'callback'); return a - b; }),
    optimised: () => {
        for (let i = 0; i < 30000; i++) compiled(10, null);
        compiled(10, () => waitThere(gate, 'optimised'));
    },
};
if (isMainThread) {
    const names = Object.keys(bodies);
    for (const name of names) new Worker(__filename, { workerData: { gate, name } });
    const poll = setInterval(() => {
        if (Atomics.load(gate, 0) < names.length) return;
        clearInterval(poll);
        fs.writeSync(1, 'ready\n');
        Atomics.wait(gate, 1, 0);
    }, 50);
} else {
    bodies[workerData.name]();
}
