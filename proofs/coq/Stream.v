(** Indexed streams, their walks and the laws of one level.
    Rust: [semantics/src/stream.rs], [semantics/src/stream/law.rs]. *)

From Coq Require Import List Bool Arith Lia.
From Fiberloom Require Import Semiring.
Import ListNotations.

(** [Attribute]: numbers in the place of characters. *)
Definition attribute := nat.
(** [Type]: the attribute of each level, outermost first; [None] is the dummy attribute of a level that is summed up. *)
Definition type := list (option attribute).
(** [Bound]: an index, and whether to skip past it. *)
Definition bound := (nat * bool)%type.
(** Bounds in lexicographic order, as numbers: (i, r) is 2i + r. *)
Definition key (b : bound) : nat := 2 * fst b + Nat.b2n (snd b).
(** [STAR]: the only index of a level that is summed up. *)
Definition STAR := 0.

(** [Schema]: the extent of each index set. [END], which is above all indices, is any number that no extent exceeds. *)
Class Schema := {
  END : nat;
  extent : attribute -> nat;
  extent_END : forall a, extent a <= END;
  STAR_END : STAR < END
}.

(** [Stream]: its states, and the one that it is in, [now] (Definition 5.1). [ahead] bounds the number of states that
    are ahead: a walk stops there, where that of Rust panics after [ENDLESS] states. *)
Record level (R : Type) := {
  state : Type;
  now : state;
  index : state -> nat;
  ready : state -> bool;
  value : state -> R;
  skip : state -> bound -> state;
  ahead : state -> nat
}.
Arguments state {R}. Arguments now {R}. Arguments index {R}. Arguments ready {R}. Arguments value {R}.
Arguments skip {R}. Arguments ahead {R}.

(** [Nested]: what a stream's values are. *)
Inductive nested (K : Type) :=
| Value (v : K)
| Stream (x : level (nested K)).
Arguments Value {K}. Arguments Stream {K}.

Section Walks.
  Context {K : Type} `{Semiring K} `{Schema} {R : Type} (x : level R).

  (** [Stream::order]: what a skip is measured by. *)
  Definition order (s : state x) : bound := (index x s, ready x s).
  (** [Stream::next]: δ (Definition 5.3). *)
  Definition next (s : state x) : state x := skip x s (order s).

  (** [walk]: the first [n] states that δ comes to, without the last one of the stream. *)
  Fixpoint walk (n : nat) (s : state x) : list (state x) :=
    match n with
    | 0 => []
    | S n => if END <=? index x s then [] else s :: walk n (next s)
    end.

  (** What a state adds to the sum of a walk: its value, if it is ready at an index that counts. *)
  Definition term (here : nat -> bool) (v : R -> K) (s : state x) : K :=
    if ready x s && here (index x s) then v (value x s) else zero.

  (** The sum of the walk from a state: one level of Definition 5.11. *)
  Definition meaning (here : nat -> bool) (v : R -> K) (s : state x) : K :=
    total (term here v) (walk (ahead x s) s).

  (** The bounds that a level may be skipped to: a level of the dummy attribute has one index. *)
  Definition fits (l : option attribute) (b : bound) : Prop :=
    match l with Some _ => True | None => fst b = STAR end.

  (** The laws of a level that do not mention its evaluation, of all states and of all bounds that fit. *)
  Record obeys (l : option attribute) : Prop := {
    (** A stream that has ended is not ready. *)
    ready_before_END : forall s, ready x s = true -> index x s < END;
    (** Values are at indices of the index set. *)
    in_index_set : forall s,
      match l with
      | Some a => ready x s = true -> index x s < extent a
      | None => index x s < END -> index x s = STAR
      end;
    (** [Law::Terminates]: no skip has more states ahead, and one to the order of its state or further has fewer. Rust's
        law is of δ alone, and products need more (see [repeated_next_terminates]). *)
    terminates : forall s b, fits l b ->
      ahead x (skip x s b) <= ahead x s /\
      (index x s < END -> key (order s) <= key b -> ahead x (skip x s b) < ahead x s);
    (** [Law::Monotone]: skips do not go back. *)
    monotone : forall s b, fits l b -> index x s <= index x (skip x s b);
    (** [Law::StrictlyMonotone]: a skip that passes a ready state goes to a later index. Levels of the dummy attribute
        are exempt. *)
    strictly_monotone : forall a s b, l = Some a ->
      ready x s = true -> key (order s) <= key b -> index x s < index x (skip x s b)
  }.

  (** The index at which a tuple asks a level, and whether an index counts there. *)
  Definition asked (l : option attribute) (t : attribute -> nat) : nat :=
    match l with Some a => t a | None => STAR end.
  Definition here (l : option attribute) (t : attribute -> nat) (i : nat) : bool :=
    match l with Some a => i =? t a | None => true end.

  Context {l : option attribute} (laws : obeys l).

  Lemma order_fits s : index x s < END -> fits l (order s).
  Proof. intros live. pose proof (in_index_set l laws s) as at_star. destruct l; cbn; auto. Qed.

  (** A ready state is counted where its index is the one that is asked for. *)
  Lemma here_asked t s : ready x s = true -> here l t (index x s) = (index x s =? asked l t).
  Proof.
    intros is_ready. pose proof (in_index_set l laws s) as at_star. pose proof (ready_before_END l laws s is_ready).
    destruct l; cbn; [reflexivity |]. rewrite at_star by assumption. reflexivity.
  Qed.

  Lemma term_elsewhere t v s : index x s <> asked l t -> term (here l t) v s = zero.
  Proof.
    intros elsewhere. unfold term. destruct (ready x s) eqn:is_ready; [| reflexivity].
    rewrite here_asked by assumption. apply Nat.eqb_neq in elsewhere. now rewrite elsewhere.
  Qed.

  Lemma term_not_ready h v s : ready x s = false -> term h v s = zero.
  Proof. unfold term. now intros ->. Qed.

  Lemma term_ready t v s : ready x s = true -> index x s = asked l t -> term (here l t) v s = v (value x s).
  Proof.
    intros is_ready at_it. unfold term. rewrite here_asked, is_ready by assumption. now rewrite at_it, Nat.eqb_refl.
  Qed.

  Lemma ahead_next s : index x s < END -> ahead x (next s) < ahead x s.
  Proof. intros live. apply (terminates l laws s (order s)); auto using order_fits. Qed.

  (** A walk ends by itself: any number of steps that is enough gives the same. *)
  Lemma walk_enough n m s : ahead x s <= n -> ahead x s <= m -> walk n s = walk m s.
  Proof.
    revert m s. induction n as [| n IH]; intros m s enough also.
    - destruct m as [| m]; [reflexivity |]. cbn. destruct (END <=? index x s) eqn:live; [reflexivity |].
      apply Nat.leb_gt, ahead_next in live. lia.
    - cbn. destruct (END <=? index x s) eqn:live.
      + destruct m; cbn; [reflexivity | now rewrite live].
      + pose proof live as live'. apply Nat.leb_gt, ahead_next in live'. destruct m as [| m]; [lia |].
        cbn. rewrite live. f_equal. apply IH; lia.
  Qed.

  Lemma meaning_ended h v s : END <= index x s -> meaning h v s = zero.
  Proof.
    intros ended. unfold meaning. destruct (ahead x s); cbn; [reflexivity |].
    apply Nat.leb_le in ended. now rewrite ended.
  Qed.

  Lemma meaning_step h v s : index x s < END -> meaning h v s = plus (term h v s) (meaning h v (next s)).
  Proof.
    intros live. pose proof (ahead_next s live) as less. unfold meaning.
    destruct (ahead x s) as [| n] eqn:fuel; [lia |]. cbn [walk].
    rewrite (proj2 (Nat.leb_gt _ _) live). cbn. f_equal.
    f_equal. apply walk_enough; lia.
  Qed.

  (** Induction along a walk. *)
  Lemma walk_induction (P : state x -> Prop) :
    (forall s, END <= index x s -> P s) -> (forall s, index x s < END -> P (next s) -> P s) -> forall s, P s.
  Proof.
    intros ended step s. remember (ahead x s) as n. revert s Heqn.
    induction n as [n IH] using lt_wf_ind. intros s ->.
    destruct (Nat.lt_ge_cases (index x s) END) as [live | over]; [| now apply ended].
    apply step; [assumption |]. eapply IH; [| reflexivity]. now apply ahead_next.
  Qed.

  (** Nothing is left at an index that has been passed. *)
  Lemma meaning_passed t v s : asked l t < index x s -> meaning (here l t) v s = zero.
  Proof.
    induction s as [s over | s live IH] using walk_induction; intros passed.
    - now apply meaning_ended.
    - pose proof (monotone l laws s (order s) (order_fits s live)) as more.
      rewrite meaning_step by assumption. rewrite IH by (unfold next; lia).
      rewrite term_elsewhere by lia. apply plus_zero.
  Qed.

  Lemma meaning_ext h v w s :
    (forall s, ready x s = true -> v (value x s) = w (value x s)) -> meaning h v s = meaning h w s.
  Proof.
    intros same. unfold meaning. apply total_ext. intros r _. unfold term.
    destruct (ready x r) eqn:is_ready; [| reflexivity]. cbn. now rewrite same.
  Qed.

  (** Iterated δ. *)
  Fixpoint next_times (k : nat) (s : state x) : state x :=
    match k with
    | 0 => s
    | S k => next_times k (next s)
    end.
End Walks.

(** [Law::SkipIsRepeatedNext]: a skip to b comes to the first of q, δ(q), … whose order is above b, or to the end. *)
Definition skip_is_repeated_next `{Schema} {R : Type} (x : level R) : Prop := forall s b, exists k,
  skip x s b = next_times x k s /\ (END <= index x (skip x s b) \/ key b < key (order x (skip x s b))) /\
  forall j, j < k -> index x (next_times x j s) < END.

(** Streams that skip so, as the emitted iterators do, terminate as products need it if δ comes to an end. *)
Lemma repeated_next_terminates `{Schema} {R : Type} (x : level R) :
  skip_is_repeated_next x -> (forall s, index x s < END -> ahead x (next x s) < ahead x s) ->
  forall s b, ahead x (skip x s b) <= ahead x s /\
    (index x s < END -> key (order x s) <= key b -> ahead x (skip x s b) < ahead x s).
Proof.
  intros repeated ends s b. destruct (repeated s b) as (k & lands & stops & live).
  assert (fewer : ahead x (next_times x k s) + k <= ahead x s).
  { clear lands stops. revert s live. induction k as [| k IH]; intros s live; cbn; [lia |].
    specialize (IH (next x s) (fun j less => live (S j) ltac:(lia))).
    pose proof (ends s (live 0 ltac:(lia))). lia. }
  rewrite <- lands in fewer. split; [lia |]. intros before_end passed.
  destruct k; [| lia]. cbn in lands. rewrite lands in stops. lia.
Qed.
