(** The language of contraction expressions and its two meanings (Figures 4 and 9).
    Rust: [semantics/src/stream/expression.rs]. *)

From Coq Require Import List Bool Arith Lia Sorted.
From Fiberloom Require Import Semiring Stream Relation Typed Times Plus.
Import ListNotations.

(** [Expr]: a contraction expression. *)
Inductive expr :=
| Var (v : nat)
| Add (x y : expr)
| Mul (x y : expr)
| Contract (a : attribute) (e : expr)
| Expand (a : attribute) (e : expr)
| Name (rho : attribute -> attribute) (e : expr).

(** [Shape]: attributes, ascending. *)
Definition shape := list attribute.

(** Whether attributes ascend. *)
Fixpoint is_sorted (s : shape) : bool :=
  match s with
  | a :: (b :: _) as rest => (a <? b) && is_sorted rest
  | _ => true
  end.

Section Shapes.
  Context `{Schema}.

  (** [Expr::shape]: Figure 4b, from the shapes of variables. Every attribute has an index set. *)
  Fixpoint shape_of (variables : list shape) (e : expr) : option shape :=
    match e with
    | Var v => nth_error variables v
    | Add x y | Mul x y =>
        match shape_of variables x, shape_of variables y with
        | Some s, Some t => if list_eq_dec Nat.eq_dec s t then Some s else None
        | _, _ => None
        end
    | Contract a e =>
        match shape_of variables e with
        | Some s => if existsb (Nat.eqb a) s then Some (without a s) else None
        | None => None
        end
    | Expand a e =>
        match shape_of variables e with
        | Some s => if existsb (Nat.eqb a) s then None else Some (with_attribute a s)
        | None => None
        end
    | Name rho e =>
        match shape_of variables e with
        | Some s =>
            if is_sorted (map rho s) && forallb (fun a => extent (rho a) =? extent a) s
            then Some (map rho s) else None
        | None => None
        end
    end.
End Shapes.

Section Meanings.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** [Variable]: what a variable stands for in the stream algebra and in that of K-relations, which are functions of
      the indices of a tuple, in the order of attributes. *)
  Record variable := {
    shape_of_variable : shape;
    stream_of_variable : typed K;
    relation : list nat -> K
  }.

  (** [Context]: variables, by number. *)
  Definition context := list variable.

  (** What stands for variables that a context lacks. No expression that has a shape names one. *)
  Definition nothing : variable := {|
    shape_of_variable := [];
    stream_of_variable := {| ty := []; stream := Value zero |};
    relation := fun _ => zero
  |}.

  (** [Expr::stream]: ⟦e⟧ in the stream algebra (Figure 9). *)
  Fixpoint stream_of (c : context) (e : expr) : typed K :=
    match e with
    | Var v => stream_of_variable (nth v c nothing)
    | Add x y => plus_typed (stream_of c x) (stream_of c y)
    | Mul x y => times_typed (stream_of c x) (stream_of c y)
    | Contract a e => contract_typed a (stream_of c e)
    | Expand a e => expand_typed a (stream_of c e)
    | Name rho e => rename rho (stream_of c e)
    end.

  (** [Expr::at]: ⟦e⟧ in the algebra of K-relations, at one tuple of its shape (Figure 4c). *)
  Fixpoint at_tuple (c : context) (e : expr) (t : tuple) : K :=
    match e with
    | Var v => relation (nth v c nothing) (map t (shape_of_variable (nth v c nothing)))
    | Add x y => plus (at_tuple c x t) (at_tuple c y t)
    | Mul x y => times (at_tuple c x t) (at_tuple c y t)
    | Contract a e => total (fun i => at_tuple c e (with_index t a i)) (seq 0 (extent a))
    | Expand a e => at_tuple c e t
    | Name rho e => at_tuple c e (fun a => t (rho a))
    end.
End Meanings.
Arguments variable : clear implicits.
Arguments context : clear implicits.
