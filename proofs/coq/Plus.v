(** Sums of typed streams: dummy levels that one term lacks are put in.
    Rust: [semantics/src/stream/operators.rs]. *)

From Coq Require Import List Bool Arith Lia.
From Fiberloom Require Import Semiring Stream Relation Sum Vector Typed.
Import ListNotations.

Section Plus.
  Context {K : Type} `{Semiring K} `{Schema}.

  Definition same_level (l m : option attribute) : bool :=
    match l, m with
    | Some a, Some b => a =? b
    | None, None => true
    | _, _ => false
    end.

  (** Where two types first differ. *)
  Fixpoint differ (x y : type) : option nat :=
    match x, y with
    | [], [] => None
    | l :: x, m :: y => if same_level l m then option_map S (differ x y) else Some 0
    | _, _ => Some 0
    end.

  (** The loop of [Typed::plus], for so many turns: each puts a dummy level into the term that lacks it. *)
  Fixpoint aligned (turns : nat) (x y : typed K) : typed K * typed K :=
    match turns, differ (ty x) (ty y) with
    | S turns, Some k =>
        match nth_error (ty x) k with
        | Some None => aligned turns x (insert k None once y)
        | _ => aligned turns (insert k None once x) y
        end
    | _, _ => (x, y)
    end.

  (** [Typed::plus]: x + y, of one shape. *)
  Definition plus_typed (x y : typed K) : typed K :=
    let (x, y) := aligned (length (ty x) + length (ty y)) x y in
    {| ty := ty x; stream := sum (stream x) (stream y) |}.

  (** How many levels two types have behind their common ones: each turn of the loop makes it less. *)
  Fixpoint unequal (x y : type) : nat :=
    match x, y with
    | l :: x', m :: y' => if same_level l m then unequal x' y' else length x + length y
    | _, _ => length x + length y
    end.

  Lemma same_level_refl l : same_level l l = true.
  Proof. destruct l; cbn; [apply Nat.eqb_refl | reflexivity]. Qed.

  Lemma same_level_eq l m : same_level l m = true -> l = m.
  Proof. destruct l, m; cbn; try discriminate; [intros same; apply Nat.eqb_eq in same; now subst | reflexivity]. Qed.

  Lemma differ_not t u : differ t u = None -> t = u.
  Proof.
    revert u. induction t as [| l t IH]; intros [| m u]; cbn; try discriminate; [reflexivity |].
    destruct (same_level l m) eqn:same; [| discriminate]. apply same_level_eq in same as ->.
    destruct (differ t u) eqn:rest; [discriminate |]. intros _. f_equal. now apply IH.
  Qed.

  Lemma unequal_length t u : unequal t u <= length t + length u.
  Proof.
    revert u. induction t as [| l t IH]; intros [| m u]; cbn; try lia.
    destruct (same_level l m); [specialize (IH u) |]; lia.
  Qed.

  (** Types of one shape first differ at a dummy level of one of them. *)
  Lemma align_step t u k :
    attributes t = attributes u -> differ t u = Some k ->
    match nth_error t k with
    | Some None => k <= length u /\ unequal t (firstn k u ++ None :: skipn k u) < unequal t u
    | _ => k <= length t /\ unequal (firstn k t ++ None :: skipn k t) u < unequal t u
    end.
  Proof.
    revert u k. induction t as [| l t IH]; intros [| m u] k same; cbn [differ]; try discriminate.
    - intros at_k. injection at_k as <-. destruct m; [discriminate |]. cbn. lia.
    - intros at_k. injection at_k as <-. destruct l; [discriminate |]. pose proof (unequal_length t []). cbn in *. lia.
    - destruct (same_level l m) eqn:first.
      + apply same_level_eq in first as ->. destruct (differ t u) as [k' |] eqn:rest; [| discriminate].
        intros at_k. injection at_k as <-. cbn [nth_error].
        assert (same_inside : attributes t = attributes u) by (destruct m; cbn in same; congruence).
        specialize (IH u k' same_inside rest).
        destruct (nth_error t k') as [[a |] |]; cbn; rewrite same_level_refl; lia.
      + intros at_k. injection at_k as <-. destruct l as [a |]; cbn [nth_error firstn skipn app].
        * destruct m as [b |]; [cbn in same; injection same as -> _; now rewrite same_level_refl in first |].
          split; [lia |]. pose proof (unequal_length (Some a :: t) u). cbn in *. lia.
        * split; [lia |]. pose proof (unequal_length t (m :: u)). cbn in *. rewrite first. lia.
  Qed.

  Lemma insert_attributes k f (q : typed K) : attributes (ty (insert k None f q)) = attributes (ty q).
  Proof.
    unfold insert. cbn [ty]. rewrite <- (firstn_skipn k (ty q)) at 3. rewrite !attributes_app. reflexivity.
  Qed.

  Lemma insert_once_correct k s q : k <= length (ty q) -> valid s q ->
    valid s (insert k None once q) /\ forall t, evaluation (insert k None once q) t = evaluation q t.
  Proof.
    intros inside (<- & obeyed). destruct (insert_correct k None once (fun t => [t]) q) as (obeys_still & means);
      auto using once_correct.
    - intros t u [-> | []]. reflexivity.
    - split; [split; [apply insert_attributes | exact obeys_still] |].
      intros t. rewrite means. cbn. apply zero_plus.
  Qed.

  Lemma aligned_correct turns s x y : valid s x -> valid s y -> unequal (ty x) (ty y) <= turns ->
    let (x', y') := aligned turns x y in
    ty x' = ty y' /\ valid s x' /\ valid s y' /\
    forall t, evaluation x' t = evaluation x t /\ evaluation y' t = evaluation y t.
  Proof.
    revert x y. induction turns as [| turns IH]; intros x y x_valid y_valid enough; cbn [aligned];
      destruct (differ (ty x) (ty y)) as [k |] eqn:at_k; try (apply differ_not in at_k; auto; fail).
    - pose proof (align_step (ty x) (ty y) k) as less. destruct x_valid as (<- & _), y_valid as (same & _).
      specialize (less (eq_sym same) at_k). destruct (nth_error (ty x) k) as [[a |] |]; lia.
    - assert (step : forall x' y', valid s x' -> valid s y' ->
        (forall t, evaluation x' t = evaluation x t) -> (forall t, evaluation y' t = evaluation y t) ->
        unequal (ty x') (ty y') < unequal (ty x) (ty y) ->
        let (x', y') := aligned turns x' y' in
        ty x' = ty y' /\ valid s x' /\ valid s y' /\
        forall t, evaluation x' t = evaluation x t /\ evaluation y' t = evaluation y t).
      { intros x' y' x_valid' y_valid' x_means y_means fewer.
        specialize (IH x' y' x_valid' y_valid' ltac:(lia)). destruct (aligned turns x' y') as (x'', y'').
        destruct IH as (one_type & x_still & y_still & means). repeat split; try assumption; try apply x_still;
          try apply y_still; rewrite <- ?x_means, <- ?y_means; apply means. }
      pose proof (align_step (ty x) (ty y) k) as less.
      specialize (less ltac:(destruct x_valid, y_valid; congruence) at_k).
      destruct (nth_error (ty x) k) as [[a |] |]; destruct less as (inside & fewer).
      + destruct (insert_once_correct k s x inside x_valid). now apply step.
      + destruct (insert_once_correct k s y inside y_valid). now apply step.
      + destruct (insert_once_correct k s x inside x_valid). now apply step.
  Qed.

  (** Theorem 6.1 of sums of any streams of one shape. *)
  Theorem plus_correct s x y :
    valid s x -> valid s y ->
    valid s (plus_typed x y) /\ forall t, evaluation (plus_typed x y) t = plus (evaluation x t) (evaluation y t).
  Proof.
    intros x_valid y_valid. unfold plus_typed.
    pose proof (aligned_correct (length (ty x) + length (ty y)) s x y x_valid y_valid (unequal_length _ _)) as both.
    destruct (aligned _ x y) as (x', y'). destruct both as (one_type & (x_shape & x_laws) & (_ & y_laws) & means).
    rewrite <- one_type in y_laws.
    destruct (sum_correct (ty x') (stream x') (stream y') x_laws y_laws) as (obeyed & sums).
    split; [now split |]. intros t. destruct (means t) as (<- & <-). unfold evaluation. cbn [ty stream].
    rewrite sums, one_type. reflexivity.
  Qed.
End Plus.
