#!/bin/sh
# swept.sh COMMAND...: becomes that command, when what an ended process of the same number left in /tmp is gone: a map of a
# JIT compiler's, sockets of a runtime's that was killed. Numbers come back after 32,768 processes, within a day of tests.
rm -f "/tmp/perf-$$.map" "/tmp/dotnet-diagnostic-$$-"* "/tmp/clr-debug-pipe-$$-"*
exec "$@"
