(** Products of strictly monotone streams.
    Rust: [semantics/src/stream/operators.rs]. *)

From Coq Require Import List Bool Arith Lia.
From Fiberloom Require Import Semiring Stream Relation.
Import ListNotations.

Section Products.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** [Product]: Definition 5.4. [of] multiplies values. *)
  Definition product_level {R : Type} (of : R -> R -> R) (x y : level R) : level R := {|
    state := state x * state y;
    now := (now x, now y);
    index := fun '(s, t) => Nat.max (index x s) (index y t);
    ready := fun '(s, t) => ready x s && ready y t && (index x s =? index y t);
    value := fun '(s, t) => of (value x s) (value y t);
    skip := fun '(s, t) to => (skip x s to, skip y t to);
    ahead := fun '(s, t) => ahead x s + ahead y t
  |}.

  (** [product]: x · y. Of factors with different numbers of levels, of which Rust panics, it is a value. *)
  Fixpoint product (x y : nested K) : nested K :=
    match x, y with
    | Value x, Value y => Value (times x y)
    | Stream x, Stream y => Stream (product_level product x y)
    | _, _ => Value zero
    end.

  Section Level.
    Context {R : Type} (of : R -> R -> R) (x y : level R) (a : attribute).
    Context (x_obeys : obeys x (Some a)) (y_obeys : obeys y (Some a)).
    Notation xy := (product_level of x y).

    Lemma product_ready s t :
      ready xy (s, t) = true -> ready x s = true /\ ready y t = true /\ index x s = index y t.
    Proof. cbn. rewrite !andb_true_iff, Nat.eqb_eq. tauto. Qed.

    (** The order of one factor is at most that of the product: so δ moves one of them. *)
    Lemma product_order s t :
      key (order x s) <= key (order xy (s, t)) \/ key (order y t) <= key (order xy (s, t)).
    Proof.
      unfold order, key. cbn. destruct (ready x s), (ready y t); cbn; try lia.
      destruct (Nat.eqb_spec (index x s) (index y t)); cbn; lia.
    Qed.

    Lemma product_obeys : obeys xy (Some a).
    Proof.
      constructor.
      - intros (s, t) is_ready. apply product_ready in is_ready as (x_ready & _ & at_one). cbn.
        rewrite at_one, Nat.max_id, <- at_one. now apply (ready_before_END x _ x_obeys).
      - intros (s, t) is_ready. apply product_ready in is_ready as (x_ready & _ & at_one). cbn.
        rewrite at_one, Nat.max_id, <- at_one. now apply (in_index_set x _ x_obeys).
      - intros (s, t) b fit. destruct (terminates x _ x_obeys s b fit) as (x_less & x_fewer).
        destruct (terminates y _ y_obeys t b fit) as (y_less & y_fewer).
        pose proof (product_order s t) as moves. cbn in *. split; [lia |]. intros live past.
        destruct moves; [specialize (x_fewer ltac:(lia) ltac:(lia)) | specialize (y_fewer ltac:(lia) ltac:(lia))]; lia.
      - intros (s, t) b fit. pose proof (monotone x _ x_obeys s b fit). pose proof (monotone y _ y_obeys t b fit).
        cbn. lia.
      - intros a' (s, t) b _ is_ready past. pose proof (product_ready s t is_ready) as (x_ready & y_ready & at_one).
        unfold order in past. rewrite is_ready in past. unfold key in past. cbn in *.
        pose proof (strictly_monotone x _ x_obeys a s b eq_refl x_ready) as x_more.
        pose proof (strictly_monotone y _ y_obeys a t b eq_refl y_ready) as y_more.
        unfold order, key in x_more, y_more. rewrite x_ready in x_more. rewrite y_ready in y_more. cbn in *. lia.
    Qed.

    (** The sum of a product's walk is the product of the sums of its factors' walks. By induction along the walk:
        before the index that is asked for nothing counts, and both factors are lawful; at it, both are ready, and what comes
        behind is elsewhere, as both are strictly monotone; beyond it, one factor has nothing left. *)
    Lemma product_level_meaning (tup : tuple) (f g h : R -> K) :
      (forall s b, key b <= key (tup a, false) ->
        meaning x (here (Some a) tup) f (skip x s b) = meaning x (here (Some a) tup) f s) ->
      (forall s b, key b <= key (tup a, false) ->
        meaning y (here (Some a) tup) g (skip y s b) = meaning y (here (Some a) tup) g s) ->
      (forall s t, ready x s = true -> ready y t = true ->
        h (of (value x s) (value y t)) = times (f (value x s)) (g (value y t))) ->
      forall s t, meaning xy (here (Some a) tup) h (s, t) =
        times (meaning x (here (Some a) tup) f s) (meaning y (here (Some a) tup) g t).
    Proof.
      intros x_lawful y_lawful values s t.
      change (meaning xy (here (Some a) tup) h (s, t) =
        (fun st => times (meaning x (here (Some a) tup) f (fst st)) (meaning y (here (Some a) tup) g (snd st))) (s, t)).
      generalize (s, t). clear s t.
      apply (walk_induction xy product_obeys); intros (s, t); cbn [fst snd].
      - intros ended. rewrite meaning_ended by assumption. cbn in ended.
        destruct (Nat.le_gt_cases END (index x s)).
        + rewrite (meaning_ended x) by assumption. now rewrite zero_times.
        + rewrite (meaning_ended y) by lia. now rewrite times_zero.
      - intros live IH. rewrite (meaning_step xy product_obeys) by assumption. rewrite IH. clear IH.
        unfold next. cbn [skip product_level fst snd]. fold xy. set (o := order xy (s, t)).
        destruct (Nat.le_gt_cases (key o) (key (tup a, false))) as [before | past].
        + rewrite x_lawful, y_lawful by assumption.
          replace (term xy _ h (s, t)) with (@zero K _); [apply plus_zero |]. symmetry.
          destruct (ready xy (s, t)) eqn:is_ready; [| now apply term_not_ready].
          apply (term_elsewhere xy product_obeys). unfold o, order, key in before. rewrite is_ready in before.
          cbn in before |- *. lia.
        + pose proof (monotone x _ x_obeys s o I) as x_more. pose proof (monotone y _ y_obeys t o I) as y_more.
          destruct (Nat.lt_ge_cases (tup a) (index xy (s, t))) as [beyond | at_it].
          * rewrite (term_elsewhere xy product_obeys) by (cbn [asked]; lia). rewrite plus_zero.
            cbn in beyond. destruct (Nat.lt_ge_cases (tup a) (index x s)).
            -- rewrite !(meaning_passed x x_obeys) by (cbn [asked]; lia). now rewrite !zero_times.
            -- rewrite !(meaning_passed y y_obeys) by (cbn [asked]; lia). now rewrite !times_zero.
          * assert (is_ready : ready xy (s, t) = true).
            { destruct (ready xy (s, t)) eqn:is_ready; [reflexivity |].
              unfold o, order, key in past. rewrite is_ready in past. cbn in past, at_it. lia. }
            destruct (product_ready s t is_ready) as (x_ready & y_ready & at_one).
            assert (at_x : index x s = tup a).
            { unfold o, order, key in past. rewrite is_ready in past. cbn in past, at_it. lia. }
            assert (x_order : order x s = o).
            { unfold o, order. rewrite is_ready, x_ready. cbn. f_equal. lia. }
            assert (y_order : order y t = o).
            { unfold o, order. rewrite is_ready, y_ready. cbn. f_equal. lia. }
            cbn in live.
            rewrite (meaning_step x x_obeys _ f s), (meaning_step y y_obeys _ g t) by lia.
            unfold next. rewrite x_order, y_order.
            pose proof (strictly_monotone x _ x_obeys a s o eq_refl x_ready) as x_strict.
            pose proof (strictly_monotone y _ y_obeys a t o eq_refl y_ready) as y_strict.
            rewrite x_order in x_strict. rewrite y_order in y_strict.
            rewrite (meaning_passed x x_obeys _ f), (meaning_passed y y_obeys _ g) by (cbn [asked]; lia).
            rewrite !zero_plus, zero_times, zero_plus.
            rewrite (term_ready xy product_obeys), (term_ready x x_obeys), (term_ready y y_obeys)
              by (auto; cbn in *; lia).
            cbn. now apply values.
    Qed.
  End Level.

  (** Theorem 6.1 of products of streams of one type without dummy attributes. *)
  Theorem product_correct (ty : list attribute) (x y : nested K) :
    laws (map Some ty) x -> laws (map Some ty) y ->
    laws (map Some ty) (product x y) /\
    forall t, evaluate (map Some ty) (product x y) t = times (evaluate (map Some ty) x t) (evaluate (map Some ty) y t).
  Proof.
    revert x y. induction ty as [| a ty IH]; intros [u | x] [v | y] x_laws y_laws; cbn [map laws] in *;
      try contradiction.
    - split; [exact I | reflexivity].
    - destruct x_laws as (x_obeys & x_lawful & x_inner), y_laws as (y_obeys & y_lawful & y_inner).
      assert (means : forall tup s, meaning (product_level product x y) (here (Some a) tup)
          (fun v => evaluate (map Some ty) v tup) s =
        times (meaning x (here (Some a) tup) (fun v => evaluate (map Some ty) v tup) (fst s))
              (meaning y (here (Some a) tup) (fun v => evaluate (map Some ty) v tup) (snd s))).
      { intros tup (s, t). apply product_level_meaning; auto.
        - intros; now apply x_lawful.
        - intros; now apply y_lawful.
        - intros s' t' x_ready y_ready. now apply IH; auto. }
      cbn [product laws evaluate]. split; [| intros; apply means].
      split; [now apply product_obeys | split].
      + intros tup (s, t) b fit before. rewrite !means. cbn. f_equal; [now apply x_lawful | now apply y_lawful].
      + intros (s, t) is_ready. apply product_ready in is_ready as (x_ready & y_ready & _). cbn. apply IH; auto.
  Qed.
End Products.
