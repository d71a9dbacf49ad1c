// What F# compiles to and C# does not: tail calls by the instruction, closures of several arguments, union cases,
// sequence and async expressions, exceptions matched by pattern. functions SECONDS. Fails where a result is wrong.
module Functions

open System

type Tree =
    | Leaf
    | Node of Tree * int * Tree

let rec insert value tree =
    match tree with
    | Leaf -> Node(Leaf, value, Leaf)
    | Node(left, at, right) when value < at -> Node(insert value left, at, right)
    | Node(left, at, right) -> Node(left, at, insert value right)

let rec fold folder state tree =
    match tree with
    | Leaf -> state
    | Node(left, at, right) -> fold folder (folder (fold folder state left) at) right

// In turns, each the last call of the other.
let rec isEven n = if n = 0 then true else isOdd (n - 1)
and isOdd n = if n = 0 then false else isEven (n - 1)

// A last call through a function value, its arguments in turns.
let rec collect (k: int -> int -> int) n more = if n = 0 then k 0 more else collect (fun a b -> k (a + 1) (b + n)) (n - 1) more

exception TooLarge of int

let checkedHalf n = if n > 90 then raise (TooLarge n) else n / 2

let halves () =
    seq {
        for n in 0..100 do
            yield
                try
                    checkedHalf n
                with TooLarge m when m % 2 = 0 ->
                    -m
                   | TooLarge m -> m
    }

let work seed =
    async {
        let tree = Seq.fold (fun tree n -> insert ((n * 7919 + seed) % 1009) tree) Leaf (seq { 1..300 })
        do! Async.Sleep 0
        return fold (+) 0 tree
    }

let round seed =
    let sums = [ for s in 0..3 -> work (seed + s) ] |> Async.Parallel |> Async.RunSynchronously
    let text = sprintf "%d %s %A" seed "and" (Node(Leaf, seed, Leaf))

    if
        not (isEven 100000)
        || collect (fun a b -> a + b) 200 0 <> 200 + 200 * 201 / 2
        || Seq.sum (halves ()) <> 2025 - 92 - 94 - 96 - 98 - 100 + 91 + 93 + 95 + 97 + 99
        || text.Length < 10
        || Array.exists (fun sum -> sum <= 0) sums
    then
        failwith "a wrong result"

[<EntryPoint>]
let main arguments =
    let until = DateTime.UtcNow.AddSeconds(float arguments[0])
    let mutable rounds = 0

    while DateTime.UtcNow < until do
        round rounds
        rounds <- rounds + 1

    printfn "functions: %d rounds" rounds
    0
