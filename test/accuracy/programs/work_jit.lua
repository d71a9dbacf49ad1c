-- Calls, strings, tables, closures and coroutines, as luajit takes them; without an end.
local function f(n) return n < 2 and n or f(n - 1) + f(n - 2) end
local co = coroutine.wrap(function() while true do coroutine.yield(f(5)) end end)
local sum = 0
while true do
    local t = {}
    for j = 1, 30 do t[j] = (j * 7919 + sum) % 101 end
    table.sort(t, function(a, b) return a > b end)
    sum = (sum + f(12) + #string.gsub("a" .. sum, "%d", function(d) return d .. d end) + co() + t[1]) % 1000003
    pcall(error, "e")
end
