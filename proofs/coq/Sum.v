(** Sums of lawful streams.
    Rust: [semantics/src/stream/operators.rs]. *)

From Coq Require Import List Bool Arith Lia.
From Fiberloom Require Import Semiring Stream Relation.
Import ListNotations.

Section Sums.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** The smaller of two bounds. *)
  Definition least (b c : bound) : bound := if key b <=? key c then b else c.

  (** [Sum]: the union of two streams, by order. [of] adds values. *)
  Definition sum_level {R : Type} (of : R -> R -> R) (x y : level R) : level R := {|
    state := state x * state y;
    now := (now x, now y);
    index := fun '(s, t) => Nat.min (index x s) (index y t);
    ready := fun '(s, t) => snd (least (order x s) (order y t));
    value := fun '(s, t) =>
      match key (order x s) ?= key (order y t) with
      | Lt => value x s
      | Eq => of (value x s) (value y t)
      | Gt => value y t
      end;
    skip := fun '(s, t) to => (skip x s to, skip y t to);
    ahead := fun '(s, t) => ahead x s + ahead y t
  |}.

  (** [sum]: x + y. Of terms with different numbers of levels, of which Rust panics, it is a value. *)
  Fixpoint sum (x y : nested K) : nested K :=
    match x, y with
    | Value x, Value y => Value (plus x y)
    | Stream x, Stream y => Stream (sum_level sum x y)
    | _, _ => Value zero
    end.

  Lemma key_injective b c : key b = key c -> b = c.
  Proof. destruct b as (i, []), c as (j, []); unfold key; cbn; intros; f_equal; lia. Qed.

  Section Level.
    Context {R : Type} (of : R -> R -> R) (x y : level R) (l : option attribute).
    Context (x_obeys : obeys x l) (y_obeys : obeys y l).
    Notation xy := (sum_level of x y).

    (** The order of a sum is the smaller one of its terms'. *)
    Lemma sum_order s t : order xy (s, t) = least (order x s) (order y t).
    Proof.
      unfold order at 1. cbn. unfold least. destruct (Nat.leb_spec (key (order x s)) (key (order y t))) as [le | lt];
        unfold order, key in *; cbn in *; f_equal; destruct (ready x s), (ready y t); cbn in *; lia.
    Qed.

    Lemma sum_order_cases s t :
      order xy (s, t) = order x s /\ key (order x s) <= key (order y t) \/
      order xy (s, t) = order y t /\ key (order y t) < key (order x s).
    Proof. rewrite sum_order. unfold least. destruct (Nat.leb_spec (key (order x s)) (key (order y t))); auto. Qed.

    Lemma sum_obeys : obeys xy l.
    Proof.
      assert (cases : forall s t,
        index xy (s, t) = index x s /\ ready xy (s, t) = ready x s \/
        index xy (s, t) = index y t /\ ready xy (s, t) = ready y t).
      { intros s t. destruct (sum_order_cases s t) as [(same & _) | (same & _)]; [left | right];
          exact (conj (f_equal fst same) (f_equal snd same)). }
      constructor.
      - intros (s, t) is_ready. destruct (cases s t) as [(-> & as_x) | (-> & as_y)].
        + apply (ready_before_END x _ x_obeys). congruence.
        + apply (ready_before_END y _ y_obeys). congruence.
      - intros (s, t). pose proof (in_index_set x _ x_obeys s) as x_in. pose proof (in_index_set y _ y_obeys t) as y_in.
        destruct l; destruct (cases s t) as [(-> & as_one) | (-> & as_one)]; try rewrite as_one; auto.
      - intros (s, t) b fit. destruct (terminates x _ x_obeys s b fit) as (x_less & x_fewer).
        destruct (terminates y _ y_obeys t b fit) as (y_less & y_fewer).
        split; [cbn; lia |]. intros live past.
        destruct (sum_order_cases s t) as [(same & _) | (same & _)]; rewrite same in past;
          unfold order in same; injection same as at_it _.
        + specialize (x_fewer ltac:(cbn in *; lia) past). cbn. lia.
        + specialize (y_fewer ltac:(cbn in *; lia) past). cbn. lia.
      - intros (s, t) b fit. pose proof (monotone x _ x_obeys s b fit). pose proof (monotone y _ y_obeys t b fit).
        cbn. lia.
      - intros a (s, t) b -> is_ready past.
        pose proof (monotone x _ x_obeys s b I) as x_more. pose proof (monotone y _ y_obeys t b I) as y_more.
        pose proof (strictly_monotone x _ x_obeys a s b eq_refl) as x_strict.
        pose proof (strictly_monotone y _ y_obeys a t b eq_refl) as y_strict.
        pose proof (sum_order_cases s t) as smaller. unfold order, key in *. rewrite is_ready in *. cbn in *.
        destruct smaller as [(same & le) | (same & lt)]; injection same as at_it as_ready; rewrite <- as_ready in *;
          cbn in *; destruct (ready x s), (ready y t); cbn in *; try specialize (x_strict eq_refl);
          try specialize (y_strict eq_refl); lia.
    Qed.

    (** The sum of a sum's walk is that of its terms' walks. By induction along the walk: δ takes the first state off
        the term whose order is the sum's, and skips the other, which is lawful, to where nothing is lost. *)
    Lemma sum_level_meaning (tup : tuple) (f : R -> K) :
      (forall s b, fits l b -> key b <= key (asked l tup, false) ->
        meaning x (here l tup) f (skip x s b) = meaning x (here l tup) f s) ->
      (forall s b, fits l b -> key b <= key (asked l tup, false) ->
        meaning y (here l tup) f (skip y s b) = meaning y (here l tup) f s) ->
      (forall s t, ready x s = true -> ready y t = true ->
        f (of (value x s) (value y t)) = plus (f (value x s)) (f (value y t))) ->
      forall s t, meaning xy (here l tup) f (s, t) = plus (meaning x (here l tup) f s) (meaning y (here l tup) f t).
    Proof.
      intros x_lawful y_lawful values s t.
      change (meaning xy (here l tup) f (s, t) =
        (fun st => plus (meaning x (here l tup) f (fst st)) (meaning y (here l tup) f (snd st))) (s, t)).
      generalize (s, t). clear s t.
      apply (walk_induction xy sum_obeys); intros (s, t); cbn [fst snd].
      - intros ended. rewrite meaning_ended by assumption. cbn in ended.
        rewrite (meaning_ended x), (meaning_ended y) by lia. now rewrite plus_zero.
      - intros live IH. rewrite (meaning_step xy sum_obeys) by assumption. rewrite IH. clear IH.
        pose proof (order_fits xy sum_obeys (s, t) live) as fit. unfold next.
        change (skip xy (s, t) ?b) with (skip x s b, skip y t b). cbn [fst snd].
        set (o := order xy (s, t)) in *.
        assert (x_moves : order x s = o ->
          meaning x (here l tup) f s = plus (term x (here l tup) f s) (meaning x (here l tup) f (skip x s o))).
        { intros same. rewrite <- same. apply (meaning_step x x_obeys).
          unfold o in same. unfold order in same. injection same as -> _. exact live. }
        assert (y_moves : order y t = o ->
          meaning y (here l tup) f t = plus (term y (here l tup) f t) (meaning y (here l tup) f (skip y t o))).
        { intros same. rewrite <- same. apply (meaning_step y y_obeys).
          unfold o in same. unfold order in same. injection same as -> _. exact live. }
        assert (x_stays : key o < key (order x s) ->
          meaning x (here l tup) f (skip x s o) = meaning x (here l tup) f s).
        { intros less. destruct (Nat.le_gt_cases (key o) (key (asked l tup, false))); [now apply x_lawful |].
          pose proof (monotone x _ x_obeys s o fit). unfold key, order in *.
          rewrite !(meaning_passed x x_obeys); [reflexivity | |]; destruct (ready x s), (snd o); cbn in *; lia. }
        assert (y_stays : key o < key (order y t) ->
          meaning y (here l tup) f (skip y t o) = meaning y (here l tup) f t).
        { intros less. destruct (Nat.le_gt_cases (key o) (key (asked l tup, false))); [now apply y_lawful |].
          pose proof (monotone y _ y_obeys t o fit). unfold key, order in *.
          rewrite !(meaning_passed y y_obeys); [reflexivity | |]; destruct (ready y t), (snd o); cbn in *; lia. }
        assert (split_term : forall u, order xy (s, t) = u -> term xy (here l tup) f (s, t) =
          if snd u && here l tup (fst u) then f (value xy (s, t)) else zero).
        { intros u <-. reflexivity. }
        assert (x_term : forall u, order x s = u -> term x (here l tup) f s =
          if snd u && here l tup (fst u) then f (value x s) else zero) by (intros u <-; reflexivity).
        assert (y_term : forall u, order y t = u -> term y (here l tup) f t =
          if snd u && here l tup (fst u) then f (value y t) else zero) by (intros u <-; reflexivity).
        rewrite (split_term o eq_refl). cbn [value sum_level].
        destruct (Nat.compare_spec (key (order x s)) (key (order y t))) as [same | less | more].
        + apply key_injective in same.
          assert (x_order : order x s = o).
          { unfold o. rewrite sum_order, <- same. unfold least. now destruct (_ <=? _). }
          assert (y_order : order y t = o) by congruence.
          rewrite (x_moves x_order), (y_moves y_order), (x_term o x_order), (y_term o y_order), plus_swap. f_equal.
          destruct (snd o) eqn:o_ready; cbn [andb]; [| now rewrite plus_zero].
          destruct (here l tup (fst o)); [| now rewrite plus_zero].
          apply values; [rewrite <- x_order in o_ready | rewrite <- y_order in o_ready]; exact o_ready.
        + assert (x_order : order x s = o).
          { unfold o. rewrite sum_order. unfold least. rewrite (proj2 (Nat.leb_le _ _)) by lia. reflexivity. }
          rewrite (x_moves x_order), (y_stays ltac:(congruence)), (x_term o x_order). apply plus_assoc.
        + assert (y_order : order y t = o).
          { unfold o. rewrite sum_order. unfold least. rewrite (proj2 (Nat.leb_gt _ _)) by lia. reflexivity. }
          rewrite (y_moves y_order), (x_stays ltac:(congruence)), (y_term o y_order).
          rewrite !plus_assoc. f_equal. apply plus_comm.
    Qed.
  End Level.

  (** Theorem 6.1 of sums of streams of one type, which may have dummy attributes. *)
  Theorem sum_correct (ty : type) (x y : nested K) :
    laws ty x -> laws ty y ->
    laws ty (sum x y) /\ forall t, evaluate ty (sum x y) t = plus (evaluate ty x t) (evaluate ty y t).
  Proof.
    revert x y. induction ty as [| l ty IH]; intros [u | x] [v | y] x_laws y_laws; cbn [laws] in *; try contradiction.
    - split; [exact I | reflexivity].
    - destruct x_laws as (x_obeys & x_lawful & x_inner), y_laws as (y_obeys & y_lawful & y_inner).
      assert (means : forall tup s, meaning (sum_level sum x y) (here l tup) (fun v => evaluate ty v tup) s =
        plus (meaning x (here l tup) (fun v => evaluate ty v tup) (fst s))
             (meaning y (here l tup) (fun v => evaluate ty v tup) (snd s))).
      { intros tup (s, t). apply sum_level_meaning; auto. intros s' t' x_ready y_ready. now apply IH; auto. }
      cbn [sum laws evaluate]. split; [| intros; apply means].
      split; [now apply sum_obeys | split].
      + intros tup (s, t) b fit before. rewrite !means. cbn. f_equal; [now apply x_lawful | now apply y_lawful].
      + intros (s, t). cbn [ready value sum_level]. unfold least.
        destruct (Nat.compare_spec (key (order x s)) (key (order y t))) as [same | less | more]; intros is_ready.
        * apply key_injective in same. rewrite <- same in is_ready.
          assert (both : ready x s = true /\ ready y t = true).
          { destruct (_ <=? _) in is_ready; unfold order in *; cbn in *; injection same as _ same; split; congruence. }
          apply IH; [apply x_inner | apply y_inner]; apply both.
        * rewrite (proj2 (Nat.leb_le _ _)) in is_ready by lia. now apply x_inner.
        * rewrite (proj2 (Nat.leb_gt _ _)) in is_ready by lia. now apply y_inner.
  Qed.
End Sums.
