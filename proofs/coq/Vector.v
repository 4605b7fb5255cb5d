(** Vectors: sparse ones, which may have states that are not ready, and dense ones, of which expansions are.
    Rust: [semantics/src/stream/operators.rs]. *)

From Coq Require Import List Bool Arith Lia.
From Fiberloom Require Import Semiring Stream Relation.
Import ListNotations.

Section Sparse.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** An index, and a value where the state is ready. *)
  Definition entry := (nat * option (nested K))%type.
  (** The order of an entry's state. *)
  Definition entry_order (e : entry) : bound := (fst e, match snd e with Some _ => true | None => false end).

  (** Where the first of a list is that fulfils a condition; its length, if none does. *)
  Fixpoint position {A : Type} (p : A -> bool) (l : list A) : nat :=
    match l with
    | [] => 0
    | a :: l => if p a then 0 else S (position p l)
    end.

  (** [Sparse]: Example 5.2, with internal states. *)
  Definition sparse_level (entries : list entry) : level (nested K) := {|
    state := nat;
    now := 0;
    index := fun pos => match nth_error entries pos with Some e => fst e | None => END end;
    ready := fun pos => match nth_error entries pos with Some e => snd (entry_order e) | None => false end;
    value := fun pos => match nth_error entries pos with Some (_, Some v) => v | _ => Value zero end;
    skip := fun pos to => pos + position (fun e => key to <? key (entry_order e)) (skipn pos entries);
    ahead := fun pos => length entries - pos
  |}.

  (** [sparse]: the vector of these entries. *)
  Definition sparse (entries : list entry) : nested K := Stream (sparse_level entries).

  (** The orders of entries ascend strictly. *)
  Fixpoint ascend (entries : list entry) : Prop :=
    match entries with
    | [] => True
    | e :: rest => (forall f, In f rest -> key (entry_order e) < key (entry_order f)) /\ ascend rest
    end.

  (** The sum of the values of entries at indices that count. *)
  Definition entries_at (h : nat -> bool) (v : nested K -> K) (entries : list entry) : K :=
    total (fun e => match snd e with Some value => if h (fst e) then v value else zero | None => zero end) entries.

  Lemma skipn_at {A : Type} (l : list A) pos :
    match nth_error l pos with
    | Some a => skipn pos l = a :: skipn (S pos) l
    | None => skipn pos l = []
    end.
  Proof.
    revert pos. induction l as [| b l IH]; intros [| pos]; cbn; try reflexivity. exact (IH pos).
  Qed.

  Lemma skipn_more {A : Type} (l : list A) pos n : skipn (pos + n) l = skipn n (skipn pos l).
  Proof. revert l. induction pos as [| pos IH]; intros [| a l]; cbn; try reflexivity; [now destruct n | apply IH]. Qed.

  Lemma ascend_skipn n entries : ascend entries -> ascend (skipn n entries).
  Proof. revert entries. induction n as [| n IH]; intros [| e rest]; cbn; auto. intros []. now apply IH. Qed.

  Lemma position_length {A : Type} (p : A -> bool) l : position p l <= length l.
  Proof. induction l as [| a l IH]; cbn; [lia |]. destruct (p a); lia. Qed.

  Lemma position_skipped {A : Type} (p : A -> bool) l e : In e (firstn (position p l) l) -> p e = false.
  Proof.
    induction l as [| a l IH]; cbn; [contradiction |]. destruct (p a) eqn:found; cbn; [contradiction |].
    intros [<- | among]; auto.
  Qed.

  Context (entries : list entry) (ascending : ascend entries).
  Notation x := (sparse_level entries).

  (** A skip to the order of its state or further goes on. *)
  Lemma sparse_skip_moves s b : index x s < END -> key (order x s) <= key b -> s < skip x s b <= length entries.
  Proof.
    unfold order, key at 1. cbn [index ready skip sparse_level]. pose proof (skipn_at entries s) as rest.
    destruct (nth_error entries s) as [e |] eqn:found; [| lia]. intros _ passed. rewrite rest. cbn [position].
    replace (key b <? key (entry_order e)) with false by (symmetry; apply Nat.ltb_ge; exact passed).
    pose proof (position_length (fun e => key b <? key (entry_order e)) (skipn (S s) entries)) as most.
    rewrite skipn_length in most. assert (s < length entries) by (apply nth_error_Some; congruence). lia.
  Qed.

  Lemma sparse_skip_at_least s b : s <= skip x s b.
  Proof. cbn. lia. Qed.

  (** A later state has a larger order. *)
  Lemma sparse_skip_more s b :
    (forall e, In e entries -> fst e < END) -> s < skip x s b -> index x s < END ->
    key (order x s) < key (order x (skip x s b)).
  Proof.
    intros before_END. generalize (skip x s b) as u. intros u more live.
    unfold order. cbn in *.
    pose proof (skipn_at entries s) as rest.
    destruct (nth_error entries s) as [e |] eqn:at_s; [| lia].
    destruct (nth_error entries u) as [f |] eqn:at_u.
    - pose proof (ascend_skipn s entries ascending) as sorted. rewrite rest in sorted.
      destruct sorted as (more_behind & _).
      apply (more_behind f). replace u with (S s + (u - S s)) in at_u by lia.
      apply nth_error_In with (u - S s). rewrite <- at_u. clear. generalize (u - S s) as n. generalize (S s) as m.
      intros m. revert entries.
      induction m as [| m IH]; intros [| e rest] n; cbn; try reflexivity; [now destruct n | apply IH].
    - apply nth_error_In, before_END in at_s. unfold key. cbn. destruct (snd e); cbn; lia.
  Qed.

  Lemma sparse_step_is_one s : index x s < END -> (forall e, In e entries -> fst e < END) -> next x s = S s.
  Proof.
    intros live before_END. unfold next, order. cbn [index ready skip sparse_level] in *.
    pose proof (skipn_at entries s) as rest.
    destruct (nth_error entries s) as [e |] eqn:at_s; [| lia]. rewrite rest. cbn [position].
    change (fst e, snd (entry_order e)) with (entry_order e). rewrite Nat.ltb_irrefl.
    pose proof (ascend_skipn s entries ascending) as sorted. rewrite rest in sorted.
    destruct sorted as (more_behind & _).
    destruct (skipn (S s) entries) as [| f behind]; cbn [position]; [lia |].
    rewrite (proj2 (Nat.ltb_lt _ _)) by (apply more_behind; now left). lia.
  Qed.

  (** The sum of a walk is that of the entries from its state on. *)
  Lemma sparse_meaning h v s :
    (forall e, In e entries -> fst e < END) -> meaning x h v s = entries_at h v (skipn s entries).
  Proof.
    intros before_END. unfold meaning. cbn [ahead sparse_level]. remember (length entries - s) as n eqn:fuel.
    revert s fuel. induction n as [| n IH]; intros s fuel.
    - rewrite skipn_all2 by lia. reflexivity.
    - cbn [walk]. pose proof (skipn_at entries s) as rest.
      destruct (nth_error entries s) as [e |] eqn:at_s.
      + assert (live : index x s < END).
        { cbn. rewrite at_s. apply nth_error_In in at_s. now apply before_END. }
        rewrite (proj2 (Nat.leb_gt _ _) live), sparse_step_is_one by assumption.
        rewrite rest. cbn [total entries_at]. rewrite IH by lia. f_equal.
        unfold term. cbn. rewrite at_s. destruct e as (i, [value |]); reflexivity.
      + apply nth_error_None in at_s. lia.
  Qed.

  (** A skip passes no entry at an index from its bound on. *)
  Lemma sparse_level_lawful l t v s b :
    (forall e, In e entries -> fst e < END) ->
    (l = None -> forall e, In e entries -> fst e = STAR) ->
    key b <= key (asked l t, false) ->
    meaning x (here l t) v (skip x s b) = meaning x (here l t) v s.
  Proof.
    intros before_END at_star before. rewrite !sparse_meaning by assumption. cbn [skip sparse_level].
    set (p := fun e => key b <? key (entry_order e)). rewrite skipn_more.
    assert (skipped : forall e, In e (firstn (position p (skipn s entries)) (skipn s entries)) ->
      match snd e with Some value => if here l t (fst e) then v value else zero | None => zero end = zero).
    { intros e passed. pose proof (position_skipped p _ e passed) as small. apply Nat.ltb_ge in small.
      assert (among : In e entries).
      { rewrite <- (firstn_skipn s entries). apply in_or_app. right.
        rewrite <- (firstn_skipn (position p (skipn s entries)) (skipn s entries)). apply in_or_app. now left. }
      destruct e as (i, [value |]); [| reflexivity]. cbn in *. unfold key in *. cbn in *.
      destruct l as [a |]; cbn in *.
      - rewrite (proj2 (Nat.eqb_neq _ _)) by lia. reflexivity.
      - specialize (at_star eq_refl _ among). cbn in at_star. lia. }
    revert skipped. generalize (position p (skipn s entries)) as n. generalize (skipn s entries) as rest. clear.
    intros rest n. revert rest. induction n as [| n IH]; intros [| e rest] skipped; cbn; try reflexivity.
    rewrite (skipped e) by (now left). rewrite plus_zero. apply IH. intros; apply skipped; now right.
  Qed.

  (** A sparse vector of ascending entries obeys the laws if its values do. *)
  Theorem sparse_laws l ty :
    (forall i v, In (i, v) entries -> match l with Some a => i < extent a | None => i = STAR end) ->
    (forall i v, In (i, Some v) entries -> laws ty v) ->
    laws (l :: ty) (sparse entries) /\
    forall t, evaluate (l :: ty) (sparse entries) t = entries_at (here l t) (fun v => evaluate ty v t) entries.
  Proof.
    intros inside inner.
    assert (before_END : forall e, In e entries -> fst e < END).
    { intros (i, v) among. specialize (inside i v among). destruct l as [a |]; cbn.
      - pose proof (extent_END a). lia.
      - pose proof STAR_END. lia. }
    split; [split; [constructor | split] |].
    - intros s. cbn. destruct (nth_error entries s) as [e |] eqn:at_s; [| discriminate]. intros _.
      apply before_END. now apply nth_error_In with s.
    - intros s. cbn. destruct (nth_error entries s) as [(i, v) |] eqn:at_s.
      + apply nth_error_In, inside in at_s. now destruct l; cbn.
      + destruct l; [discriminate | lia].
    - intros s b _. split; [cbn; lia |]. intros live passed.
      pose proof (sparse_skip_moves s b live passed) as moves. cbn in *. lia.
    - intros s b _. destruct (Nat.lt_ge_cases (index x s) END) as [live | over].
      + destruct (Nat.eq_dec s (skip x s b)) as [<- | differs]; [lia |].
        pose proof (sparse_skip_at_least s b).
        pose proof (sparse_skip_more s b before_END ltac:(lia) live) as more.
        unfold order, key in more. cbn [fst snd] in more.
        destruct (ready x s), (ready x (skip x s b)); cbn [Nat.b2n] in more; lia.
      + cbn in *. destruct (nth_error entries s) as [e |] eqn:at_s.
        * apply nth_error_In, before_END in at_s. lia.
        * apply nth_error_None in at_s. rewrite skipn_all2 by assumption. cbn.
          rewrite (proj2 (nth_error_None _ _)) by lia. lia.
    - intros a s b _ is_ready passed.
      assert (live : index x s < END).
      { cbn in *. destruct (nth_error entries s) as [e |] eqn:at_s; [| discriminate].
        apply before_END. now apply nth_error_In with s. }
      pose proof (sparse_skip_moves s b live passed) as moves.
      pose proof (sparse_skip_more s b before_END ltac:(lia) live) as more.
      unfold order, key in more. rewrite is_ready in more. cbn [fst snd] in more.
      destruct (ready x (skip x s b)); cbn [Nat.b2n] in more; lia.
    - intros t s b fit before. apply sparse_level_lawful; auto. intros -> (i, v) among. now apply (inside i v).
    - intros s. cbn. destruct (nth_error entries s) as [(i, [v |]) |] eqn:at_s; try discriminate.
      intros _. apply nth_error_In in at_s. now apply inner with i.
    - intros t. cbn [evaluate sparse]. rewrite sparse_meaning by assumption. reflexivity.
  Qed.
End Sparse.

Section Dense.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** [Dense]: Example 5.2, stored or computed. *)
  Definition dense_level (n : nat) (value : nat -> nested K) : level (nested K) := {|
    state := nat;
    now := 0;
    index := fun pos => if pos <? n then pos else END;
    ready := fun pos => pos <? n;
    value := value;
    skip := fun pos '(i, past) => Nat.max pos (Nat.min n (i + Nat.b2n past));
    ahead := fun pos => n - pos
  |}.

  (** [dense]: a value at every index below an extent. *)
  Definition dense (n : nat) (value : nat -> nested K) : nested K := Stream (dense_level n value).

  (** ⇑_a v: the same value at every index of an attribute. *)
  Definition expand (a : attribute) (v : nested K) : nested K := dense (extent a) (fun _ => v).

  Ltac unfold_dense := unfold order, key in *; cbn [index ready skip ahead dense_level fst snd] in *.

  Lemma dense_obeys a f : obeys (dense_level (extent a) f) (Some a).
  Proof.
    pose proof (extent_END a) as in_END. constructor.
    - intros s is_ready. unfold_dense. rewrite is_ready. apply Nat.ltb_lt in is_ready. lia.
    - intros s is_ready. unfold_dense. rewrite is_ready. now apply Nat.ltb_lt in is_ready.
    - intros s (i, past) _. unfold_dense. split; [lia |].
      destruct (Nat.ltb_spec s (extent a)), past; cbn [Nat.b2n]; lia.
    - intros s (i, past) _. unfold_dense. set (u := Nat.max s (Nat.min (extent a) (i + Nat.b2n past))).
      destruct (Nat.ltb_spec s (extent a)), (Nat.ltb_spec u (extent a)); lia.
    - intros a' s (i, past) _ is_ready. unfold_dense. rewrite is_ready. apply Nat.ltb_lt in is_ready.
      set (u := Nat.max s (Nat.min (extent a) (i + Nat.b2n past))).
      destruct (Nat.ltb_spec u (extent a)), past; cbn [Nat.b2n] in *; lia.
  Qed.

  (** The sum of a walk is the value at the index that is asked for, if that is still to come. *)
  Lemma dense_meaning a f (v : nested K -> K) t s :
    meaning (dense_level (extent a) f) (here (Some a) t) v s =
    if (s <=? t a) && (t a <? extent a) then v (f (t a)) else zero.
  Proof.
    pose proof (extent_END a) as in_END. pose proof (dense_obeys a f) as obeyed.
    induction s as [s over | s live IH] using (walk_induction (dense_level (extent a) f) obeyed).
    - rewrite meaning_ended by assumption. unfold_dense.
      destruct (Nat.ltb_spec s (extent a)), (Nat.leb_spec s (t a)), (Nat.ltb_spec (t a) (extent a)); cbn; auto; lia.
    - rewrite (meaning_step _ obeyed), IH by assumption. clear IH. unfold next, term. unfold_dense. cbn [here value].
      destruct (Nat.ltb_spec s (extent a)) as [inside |]; [cbn [andb Nat.b2n] | lia].
      replace (Nat.max s (Nat.min (extent a) (s + 1))) with (S s) by lia.
      destruct (Nat.eqb_spec s (t a)) as [<- | differs].
      + rewrite (proj2 (Nat.leb_gt (S s) s)), Nat.leb_refl, (proj2 (Nat.ltb_lt _ _)) by lia. apply zero_plus.
      + rewrite plus_zero. destruct (Nat.leb_spec s (t a)), (Nat.leb_spec (S s) (t a)); try reflexivity; lia.
  Qed.

  (** The tuples at which v is looked up for ⇑_a v: none outside of the index set. *)
  Definition within (a : attribute) (t : tuple) : list tuple := if t a <? extent a then [t] else [].

  (** Theorem 6.1 of expansions by a first level. *)
  Theorem expand_correct (a : attribute) (ty : type) (q : nested K) :
    laws ty q ->
    laws (Some a :: ty) (expand a q) /\
    forall t, evaluate (Some a :: ty) (expand a q) t = total (evaluate ty q) (within a t).
  Proof.
    intros inner. split; [split; [apply dense_obeys | split] |].
    - intros t s (i, past) _ before. rewrite !dense_meaning. unfold_dense. cbn [asked] in before.
      set (u := Nat.max s (Nat.min (extent a) (i + Nat.b2n past))).
      destruct (Nat.ltb_spec (t a) (extent a)); rewrite ?andb_false_r, ?andb_true_r; [| reflexivity].
      destruct (Nat.leb_spec s (t a)), (Nat.leb_spec u (t a)), past; cbn [Nat.b2n] in *; try reflexivity; lia.
    - intros s _. exact inner.
    - intros t. cbn [evaluate expand dense]. rewrite dense_meaning. unfold within. cbn [now dense_level Nat.leb andb].
      destruct (t a <? extent a); cbn; [symmetry; apply zero_plus | reflexivity].
  Qed.

  (** The dummy level of one state that [Typed::plus] puts in. *)
  Definition once (v : nested K) : nested K := sparse [(STAR, Some v)].

  (** It changes no evaluation. *)
  Theorem once_correct (ty : type) (q : nested K) :
    laws ty q ->
    laws (None :: ty) (once q) /\ forall t, evaluate (None :: ty) (once q) t = total (evaluate ty q) [t].
  Proof.
    intros inner. destruct (sparse_laws [(STAR, Some q)]) with (l := @None attribute) (ty := ty) as (obeyed & means).
    - split; [contradiction | exact I].
    - intros i v [same |]; [now injection same as <- <- | contradiction].
    - intros i v [same |]; [now injection same as <- <- | contradiction].
    - split; [exact obeyed |]. intros t. exact (means t).
  Qed.
End Dense.
