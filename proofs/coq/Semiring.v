(** Semirings, and sums over lists of their elements.
    Rust: [semantics/src/stream/semiring.rs]. *)

From Coq Require Import List Bool Arith Lia.
Import ListNotations.

(** [Semiring]: Definition 4.5 of the streams paper. Products need not commute. *)
Class Semiring (K : Type) := {
  zero : K;
  one : K;
  plus : K -> K -> K;
  times : K -> K -> K;
  plus_assoc : forall x y z, plus x (plus y z) = plus (plus x y) z;
  plus_comm : forall x y, plus x y = plus y x;
  plus_zero : forall x, plus zero x = x;
  times_assoc : forall x y z, times x (times y z) = times (times x y) z;
  one_times : forall x, times one x = x;
  times_one : forall x, times x one = x;
  times_plus : forall x y z, times x (plus y z) = plus (times x y) (times x z);
  plus_times : forall x y z, times (plus x y) z = plus (times x z) (times y z);
  zero_times : forall x, times zero x = zero;
  times_zero : forall x, times x zero = zero;
  (** A test that takes no other element for zero; Rust's is equality. It may miss zeros, so every semiring has one:
      that which always answers no. *)
  is_zero : K -> bool;
  is_zero_sound : forall x, is_zero x = true -> x = zero
}.

Section Sums.
  Context {K : Type} `{Semiring K} {A : Type}.

  (** The sum of [f] over a list. *)
  Fixpoint total (f : A -> K) (l : list A) : K :=
    match l with
    | [] => zero
    | a :: l => plus (f a) (total f l)
    end.

  Lemma zero_plus x : plus x zero = x.
  Proof. rewrite plus_comm. apply plus_zero. Qed.

  Lemma plus_swap (a b c d : K) : plus (plus a b) (plus c d) = plus (plus a c) (plus b d).
  Proof. rewrite <- !plus_assoc. f_equal. rewrite !plus_assoc. f_equal. apply plus_comm. Qed.

  Lemma total_ext (f g : A -> K) l : (forall a, In a l -> f a = g a) -> total f l = total g l.
  Proof.
    induction l as [| a l IH]; cbn; intros same; [reflexivity |].
    f_equal; [apply same; now left | apply IH; intros; apply same; now right].
  Qed.

  Lemma total_zero (f : A -> K) l : (forall a, In a l -> f a = zero) -> total f l = zero.
  Proof.
    induction l as [| a l IH]; cbn; intros none; [reflexivity |].
    rewrite none by (now left). rewrite plus_zero. apply IH. intros; apply none; now right.
  Qed.

  Lemma total_plus (f g : A -> K) l : total (fun a => plus (f a) (g a)) l = plus (total f l) (total g l).
  Proof.
    induction l as [| a l IH]; cbn; [symmetry; apply plus_zero |]. rewrite IH. apply plus_swap.
  Qed.
End Sums.

Section Exchange.
  Context {K : Type} `{Semiring K} {A B : Type}.

  (** Two sums commute. *)
  Lemma total_exchange (f : A -> B -> K) l m :
    total (fun a => total (f a) m) l = total (fun b => total (fun a => f a b) l) m.
  Proof.
    induction l as [| a l IH]; cbn.
    - symmetry. now apply total_zero.
    - rewrite IH. symmetry. apply total_plus.
  Qed.

  Lemma total_map (f : B -> K) (g : A -> B) l : total f (map g l) = total (fun a => f (g a)) l.
  Proof. induction l as [| a l IH]; cbn; [reflexivity | now rewrite IH]. Qed.
End Exchange.

Section Ranges.
  Context {K : Type} `{Semiring K}.

  (** Of the summands over [first .. first + n] only that at [i] is not zero. *)
  Lemma total_one (f : nat -> K) first n i :
    first <= i < first + n -> (forall j, j <> i -> f j = zero) -> total f (seq first n) = f i.
  Proof.
    revert first. induction n as [| n IH]; intros first inside others; [lia |]. cbn.
    destruct (Nat.eq_dec first i) as [-> | differs].
    - rewrite total_zero; [apply zero_plus |]. intros j behind. apply others. apply in_seq in behind. lia.
    - rewrite others by assumption. rewrite plus_zero. apply IH; [lia | assumption].
  Qed.
End Ranges.
