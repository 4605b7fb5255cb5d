(** Contraction of the first level.
    Rust: [semantics/src/stream/operators.rs]. *)

From Coq Require Import List Bool Arith Lia.
From Fiberloom Require Import Semiring Stream Relation.
Import ListNotations.

Section Contractions.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** [Contract]: the same states, their indices forgotten (section 5.1.2). *)
  Definition contract_level {R : Type} (x : level R) : level R := {|
    state := state x;
    now := now x;
    index := fun s => if END <=? index x s then END else STAR;
    ready := ready x;
    value := value x;
    skip := fun s to => skip x s (index x s, snd to);
    ahead := ahead x
  |}.

  (** [contract]: Σ q. Of a value, of which Rust panics, it is that value. *)
  Definition contract (q : nested K) : nested K :=
    match q with
    | Stream x => Stream (contract_level x)
    | Value v => Value v
    end.

  (** The tuples over which Σ_a sums. *)
  Definition along (a : attribute) (t : tuple) : list tuple := map (with_index t a) (seq 0 (extent a)).

  Section Level.
    Context {R : Type} (x : level R) (a : attribute) (x_obeys : obeys x (Some a)).

    Lemma contract_live s : index (contract_level x) s < END <-> index x s < END.
    Proof.
      pose proof STAR_END. cbn. destruct (Nat.leb_spec END (index x s)); split; lia.
    Qed.

    Lemma contract_next s : next (contract_level x) s = next x s.
    Proof. reflexivity. Qed.

    Lemma contract_walk n s : walk (contract_level x) n s = walk x n s.
    Proof.
      revert s. induction n as [| n IH]; intros s; cbn [walk]; [reflexivity |].
      rewrite contract_next, IH. pose proof (contract_live s) as live.
      destruct (Nat.leb_spec END (index (contract_level x) s)), (Nat.leb_spec END (index x s)); try reflexivity; lia.
    Qed.

    Lemma contract_obeys : obeys (contract_level x) None.
    Proof.
      constructor.
      - intros s is_ready. apply contract_live. now apply (ready_before_END x _ x_obeys).
      - intros s live. apply contract_live in live. cbn. now rewrite (proj2 (Nat.leb_gt _ _) live).
      - intros s (i, past) fit. cbn in fit. subst i.
        destruct (terminates x _ x_obeys s (index x s, past) I) as (less & fewer).
        split; [exact less |]. intros live reached. apply contract_live in live. apply fewer; [assumption |].
        unfold order, key in *. cbn in *. rewrite (proj2 (Nat.leb_gt _ _) live) in reached. lia.
      - intros s (i, past) fit. pose proof (monotone x _ x_obeys s (index x s, past) I) as more. cbn in *.
        pose proof STAR_END.
        destruct (Nat.leb_spec END (index x s)), (Nat.leb_spec END (index x (skip x s (index x s, past)))); lia.
      - discriminate.
    Qed.

    (** A contracted level adds up what the level has at each index. *)
    Lemma contract_level_meaning t (v : R -> K) s :
      meaning (contract_level x) (here None t) v s =
      total (fun i => meaning x (fun j => j =? i) v s) (seq 0 (extent a)).
    Proof.
      unfold meaning. cbn [ahead contract_level]. rewrite contract_walk, total_exchange.
      apply total_ext. intros r _. unfold term. cbn [ready value contract_level here]. rewrite andb_true_r.
      destruct (ready x r) eqn:is_ready; cbn [andb].
      - pose proof (in_index_set x _ x_obeys r is_ready) as inside. cbn in inside.
        rewrite (total_one _ 0 (extent a) (index x r)); [now rewrite Nat.eqb_refl | lia |].
        intros j differs. now rewrite (proj2 (Nat.eqb_neq _ _)) by auto.
      - symmetry. now apply total_zero.
    Qed.
  End Level.

  (** Theorem 6.1 of contractions of a first level. *)
  Theorem contract_correct (a : attribute) (ty : type) (q : nested K) :
    ~ In a (attributes ty) -> laws (Some a :: ty) q ->
    laws (None :: ty) (contract q) /\
    forall t, evaluate (None :: ty) (contract q) t = total (evaluate (Some a :: ty) q) (along a t).
  Proof.
    intros once. destruct q as [v | x]; [contradiction |]. intros (x_obeys & x_lawful & x_inner).
    assert (means : forall t s, meaning (contract_level x) (here None t) (fun v => evaluate ty v t) s =
      total (fun u => meaning x (here (Some a) u) (fun v => evaluate ty v u) s) (along a t)).
    { intros t s. rewrite (contract_level_meaning x a x_obeys). unfold along. rewrite total_map.
      apply total_ext. intros i _.
      change (here (Some a) (with_index t a i)) with (fun j => j =? with_index t a i a). rewrite with_same.
      apply meaning_ext. intros r _.
      apply evaluate_agree. intros b among. symmetry. apply with_other. now intros ->. }
    cbn [contract laws evaluate]. split; [| intros; apply means].
    split; [now apply contract_obeys with a | split; [| exact x_inner]].
    intros t s (i, past) fit before. rewrite !means. apply total_ext. intros u _. cbn [skip contract_level snd].
    assert (past = false) as ->.
    { destruct past; [| reflexivity]. unfold key in before. cbn in *. lia. }
    destruct (Nat.le_gt_cases (index x s) (u a)) as [ahead_of | passed].
    - apply x_lawful; [exact I |]. unfold key. cbn. lia.
    - pose proof (monotone x _ x_obeys s (index x s, false) I).
      rewrite !(meaning_passed x x_obeys) by (cbn [asked]; lia). reflexivity.
  Qed.
End Contractions.
