(** What the stream of an expression does, as numbers. [proofs/tests/coq.rs] compares it with what the Rust stream does.
    Rust: [semantics/src/stream.rs]. *)

From Coq Require Import List NArith.
From Fiberloom Require Import Semiring Stream Relation Typed Expression Tree Example.
Import ListNotations.

Definition order_number {R : Type} (x : level R) (s : state x) : N := N.of_nat (key (order x s)).

(** All bounds up to the extent. *)
Definition bounds : list bound := list_prod (seq 0 4) [false; true].

(** Of each state of a walk: its order, the orders to which skips lead, and what its value does; last, the end. *)
Fixpoint trace (q : nested N) : list N :=
  match q with
  | Value v => [v]
  | Stream x =>
      let of_state s :=
        order_number x s :: map (fun b => order_number x (skip x s b)) bounds ++
        (if ready x s then trace (value x s) else []) in
      flat_map of_state (walk x (ahead x (now x)) (now x)) ++ [N.of_nat (key (END, false))]
  end.

(** All tuples of three attributes. *)
Definition tuples : list tuple :=
  map (fun '(i, j, k) a => nth a [i; j; k] 0) (list_prod (list_prod (seq 0 3) (seq 0 3)) (seq 0 3)).

(** Of an expression: the type of its stream, the dummy attribute being 0, and its trace; at each tuple what it evaluates
    to, and what the expression on relations is. *)
Definition trace_of (trees : list (shape * tree N)) (e : expr) : list N :=
  let c := map (fun '(s, t) => variable_of_tree s t) trees in
  let q := stream_of c e in
  map (fun l => match l with Some a => N.of_nat (S a) | None => 0%N end) (ty q) ++ trace (stream q) ++
  flat_map (fun t => [evaluation q t; at_tuple c e t]) tuples.
