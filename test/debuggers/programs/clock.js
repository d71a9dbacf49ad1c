// Compiled code that calls into V8 all the time, by its built-in code.
'use strict';
function readClock() {
    return Date.now();
}
let last = readClock();
console.log('ready');
for (;;)
    last = Math.max(last, readClock());
