(** K-relations, the evaluation of nested streams to them, and the laws of nested streams.
    Rust: [semantics/src/stream/relation.rs], [semantics/src/stream/law.rs]. *)

From Coq Require Import List Bool Arith Lia.
From Fiberloom Require Import Semiring Stream.
Import ListNotations.

(** A tuple (Definition 4.2): an index of each attribute. Who knows the shape looks at its attributes only. *)
Definition tuple := attribute -> nat.

(** A tuple with another index of one attribute. *)
Definition with_index (t : tuple) (a : attribute) (i : nat) : tuple := fun b => if b =? a then i else t b.

(** [attributes]: the shape of a type (Definition 5.7). *)
Fixpoint attributes (ty : type) : list attribute :=
  match ty with
  | [] => []
  | Some a :: ty => a :: attributes ty
  | None :: ty => attributes ty
  end.

Section Evaluation.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** [evaluate]: ⟦q⟧ at a tuple (Definition 5.11). *)
  Fixpoint evaluate (ty : type) (q : nested K) (t : tuple) : K :=
    match ty, q with
    | [], Value v => v
    | l :: ty, Stream x => meaning x (here l t) (fun v => evaluate ty v t) (now x)
    | _, _ => zero
    end.

  (** [Law::Lawful]: a skip to b leaves the evaluation at each index from b on as it is (section 6.1). *)
  Definition lawful (x : level (nested K)) (l : option attribute) (ty : type) : Prop :=
    forall t s b, fits l b -> key b <= key (asked l t, false) ->
      meaning x (here l t) (fun v => evaluate ty v t) (skip x s b) =
      meaning x (here l t) (fun v => evaluate ty v t) s.

  (** [LAWS]: a nested stream has a type, and at every level of it obeys the laws. *)
  Fixpoint laws (ty : type) (q : nested K) : Prop :=
    match ty, q with
    | [], Value _ => True
    | l :: ty, Stream x =>
        obeys x l /\ lawful x l ty /\ forall s, ready x s = true -> laws ty (value x s)
    | _, _ => False
    end.

  Lemma with_same t a i : with_index t a i a = i.
  Proof. unfold with_index. now rewrite Nat.eqb_refl. Qed.

  Lemma with_other t a i b : b <> a -> with_index t a i b = t b.
  Proof. intros differ. unfold with_index. apply Nat.eqb_neq in differ. now rewrite differ. Qed.

  (** An evaluation looks at the attributes of its type only. *)
  Lemma evaluate_agree ty q t u :
    (forall a, In a (attributes ty) -> t a = u a) -> evaluate ty q t = evaluate ty q u.
  Proof.
    revert q. induction ty as [| l ty IH]; intros q same; [reflexivity |].
    destruct q as [| x]; [reflexivity |]. cbn. unfold meaning. apply total_ext. intros s _. unfold term.
    replace (here l u (index x s)) with (here l t (index x s)).
    - destruct (ready x s && here l t (index x s)); [| reflexivity].
      apply IH. intros a among. apply same. destruct l; cbn; auto.
    - destruct l; cbn; [| reflexivity]. now rewrite same by now left.
  Qed.

  (** At tuples outside of the index sets an evaluation is zero. *)
  Lemma evaluate_outside ty q t a :
    laws ty q -> In a (attributes ty) -> extent a <= t a -> evaluate ty q t = zero.
  Proof.
    revert q. induction ty as [| l ty IH]; intros q obeyed among outside; [now destruct among |].
    destruct q as [| x]; [now destruct obeyed |]. destruct obeyed as (level_obeys & _ & inner).
    cbn. unfold meaning. apply total_zero. intros s _. unfold term.
    destruct (ready x s) eqn:is_ready; [| reflexivity]. cbn.
    destruct (here l t (index x s)) eqn:at_it; [| reflexivity].
    pose proof (in_index_set x l level_obeys s) as inside. destruct l as [b |]; cbn in *.
    - destruct among as [-> | among]; [| now apply IH; auto].
      apply Nat.eqb_eq in at_it. specialize (inside is_ready). lia.
    - now apply IH; auto.
  Qed.
End Evaluation.
