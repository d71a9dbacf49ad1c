(* Calls, closures, exceptions, garbage collection, callbacks out of C (compare, hash), by ocamlopt. *)
exception Odd of int

let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let rec numbers n i = if n = 0 then [] else ((n * 7919 + i) mod 101) :: numbers (n - 1) i
let caught i = try if i land 1 = 1 then raise (Odd i) else 1 with Odd value -> value
let table : (string, int) Hashtbl.t = Hashtbl.create 100

let round i =
  let sorted = List.sort (fun a b -> compare (b, a) (a, b)) (numbers 30 i) in
  let name = Printf.sprintf "name %d %.3f" (i mod 101) (float_of_int i /. 3.) in
  Hashtbl.replace table name i;
  if Hashtbl.length table > 1000 then Hashtbl.reset table;
  let words = String.split_on_char ' ' name in
  fib 10 + List.hd sorted + caught i + List.fold_left (fun sum word -> sum + String.length word) 0 words

let () =
  let sum = ref 0 in
  for i = 0 to 20_000_000 do sum := !sum + round i done;
  Gc.full_major ();
  Printf.printf "%d\n" !sum
