(** What the theorem's hypothesis is for, by an example.
    Rust: [proofs/src/mistakes.rs]. *)

From Coq Require Import List NArith Lia.
From Fiberloom Require Import Semiring Stream Relation Product Contract Vector Typed Times.
Import ListNotations.

(** Natural numbers, with their own test for zero. *)
#[export, refine] Instance naturals : Semiring N := {
  zero := 0%N; one := 1%N; plus := N.add; times := N.mul; is_zero := N.eqb 0
}.
Proof. all: try lia. intros x same. now apply N.eqb_eq in same. Defined.

(** Three indices of each attribute. *)
#[export, refine] Instance small : Schema := { END := 20; extent := fun _ => 3 }.
Proof. all: unfold STAR; lia. Defined.

Definition two (i j : N) : nested N := contract (sparse [(0, Some (Value i)); (2, Some (Value j))]).
Definition summed (q : nested N) : typed N := {| ty := [None]; stream := q |}.

(** [products_need_strict_monotonicity]: a contracted stream is not strictly monotone. A product of two pairs their terms
    by number, 1 · 3 + 2 · 4; where the factors are stored first, it is (1 + 2) · (3 + 4). *)
Example products_need_strict_monotonicity :
  evaluate [None] (product (two 1 2) (two 3 4)) (fun _ => 0) = 11%N /\
  evaluation (times_typed (summed (two 1 2)) (summed (two 3 4))) (fun _ => 0) = 21%N.
Proof. split; reflexivity. Qed.
