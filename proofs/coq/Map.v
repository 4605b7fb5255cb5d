(** Functions below levels of a stream.
    Rust: [semantics/src/stream/operators.rs]. *)

From Coq Require Import List Bool Arith Lia.
From Fiberloom Require Import Semiring Stream Relation.
Import ListNotations.

Section Maps.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** [Map]: a function after [value]. *)
  Definition map_level {R : Type} (f : R -> R) (x : level R) : level R := {|
    state := state x;
    now := now x;
    index := index x;
    ready := ready x;
    value := fun s => f (value x s);
    skip := skip x;
    ahead := ahead x
  |}.

  (** [map]: mapᵏ f applies [f] below [k] levels. Of fewer levels, of which Rust panics, it applies nothing. *)
  Fixpoint map (k : nat) (f : nested K -> nested K) (q : nested K) : nested K :=
    match k, q with
    | 0, q => f q
    | S k, Stream x => Stream (map_level (map k f) x)
    | _, Value v => Value v
    end.

  Lemma map_walk {R : Type} (f : R -> R) (x : level R) n s : walk (map_level f x) n s = walk x n s.
  Proof. revert s. induction n as [| n IH]; intros s; cbn; [reflexivity |]. now rewrite <- IH. Qed.

  Lemma map_obeys {R : Type} (f : R -> R) (x : level R) l : obeys x l -> obeys (map_level f x) l.
  Proof. now intros []. Qed.

  (** If the evaluation of f(q) at [t] is the sum of those of q at the tuples [places t], so is that of mapᵏ f, provided
      that the tuples agree with [t] at the k levels. Contraction, expansion and the dummy levels of sums are such. *)
  Theorem map_correct (outer inner inner' : type) (f : nested K -> nested K) (places : tuple -> list tuple) :
    (forall q, laws inner q ->
      laws inner' (f q) /\ forall t, evaluate inner' (f q) t = total (evaluate inner q) (places t)) ->
    (forall t u a, In u (places t) -> In a (attributes outer) -> u a = t a) ->
    forall q, laws (outer ++ inner) q ->
      laws (outer ++ inner') (map (length outer) f q) /\
      forall t, evaluate (outer ++ inner') (map (length outer) f q) t = total (evaluate (outer ++ inner) q) (places t).
  Proof.
    intros f_correct. induction outer as [| l outer IH]; cbn [app length]; intros unchanged q q_laws.
    { now apply f_correct. }
    assert (unchanged_inside : forall t u a, In u (places t) -> In a (attributes outer) -> u a = t a).
    { intros t u a u_in a_in. apply (unchanged t u a u_in). destruct l; cbn; auto. }
    assert (unchanged_here : forall t u, In u (places t) -> asked l u = asked l t /\ forall i, here l u i = here l t i).
    { intros t u u_in. destruct l as [a |]; cbn; [| auto].
      rewrite (unchanged t u a u_in); [auto | now left]. }
    destruct q as [v | x]; [contradiction |]. destruct q_laws as (x_obeys & x_lawful & x_inner).
    specialize (IH unchanged_inside).
    assert (means : forall t s, meaning (map_level (map (length outer) f) x) (here l t)
        (fun v => evaluate (outer ++ inner') v t) s =
      total (fun u => meaning x (here l u) (fun v => evaluate (outer ++ inner) v u) s) (places t)).
    { intros t s. unfold meaning. rewrite total_exchange. cbn [ahead map_level]. rewrite map_walk.
      apply total_ext. intros r _. unfold term. cbn [ready index value map_level].
      destruct (ready x r) eqn:is_ready; [| symmetry; now apply total_zero]. cbn [andb].
      destruct (here l t (index x r)) eqn:at_it.
      - destruct (IH (value x r)) as (_ & ->); [now apply x_inner |].
        apply total_ext. intros u u_in. destruct (unchanged_here t u u_in) as (_ & ->). now rewrite at_it.
      - symmetry. apply total_zero. intros u u_in. destruct (unchanged_here t u u_in) as (_ & ->). now rewrite at_it. }
    cbn [map laws evaluate]. split; [| intros; apply means].
    split; [now apply map_obeys | split].
    - intros t s b fit before. rewrite !means. apply total_ext. intros u u_in.
      apply x_lawful; [assumption |]. destruct (unchanged_here t u u_in) as (-> & _). exact before.
    - intros s is_ready. apply IH. now apply x_inner.
  Qed.
End Maps.
