// What F# makes of its own: closures, unions, computation expressions, tail calls, units of measure. Works until it has
// had so many seconds of a processor; what is printed does not depend on that. Ends with 5.
module Workload.Program

open System

type Tree =
    | Leaf
    | Node of Tree * int * Tree

[<Measure>]
type tick

let rec insert value tree =
    match tree with
    | Leaf -> Node(Leaf, value, Leaf)
    | Node(left, at, right) when value < at -> Node(insert value left, at, right)
    | Node(left, at, right) -> Node(left, at, insert value right)

let rec total tree =
    match tree with
    | Leaf -> 0
    | Node(left, at, right) -> total left + at + total right

let mix (turns: int<tick>) =
    let rec go left value = if left = 0<tick> then value else go (left - 1<tick>) (value * 31 + 7)
    go turns 1

let spinning turns = async { return mix turns }

let numbers = seq { for i in 1..1000 -> (i * 7919) % 10007 }

let work () =
    let sum = numbers |> Seq.fold (fun tree value -> insert value tree) Leaf |> total
    let spun = spinning 100_000<tick> |> Async.RunSynchronously
    let later = task { return! spinning 100_000<tick> }
    let squares = [ for i in 1..500 -> i * i ] |> List.filter (fun i -> i % 3 = 0) |> List.sumBy (fun i -> i % 7)
    let failed = try failwith "on purpose" with Failure text -> text.Length
    sum, spun = later.Result, squares, failed

[<EntryPoint>]
let main args =
    let first = work ()
    let mutable same = true
    while Environment.CpuUsage.TotalTime.TotalSeconds < float args[0] do
        same <- same && work () = first
    printfn "%A %b" first same
    if same then 5 else 1
