(** Theorem 6.1 of the streams paper, by induction over expressions: evaluating the stream of an expression is
    evaluating the expression on relations.
    Rust: [proofs/src/theorem.rs], which checks the same within bounds. *)

From Coq Require Import List Bool Arith Lia Sorted.
From Fiberloom Require Import Semiring Stream Relation Contract Vector Typed Times Plus Expression.
Import ListNotations.

Section Shapes.
  Lemma is_sorted_Sorted s : is_sorted s = true -> Sorted lt s.
  Proof.
    induction s as [| a [| b s] IH]; intros sorted; [constructor | now repeat constructor |].
    apply andb_true_iff in sorted as (less & sorted). apply Nat.ltb_lt in less.
    constructor; [now apply IH | now constructor].
  Qed.

  Lemma sorted_first a s : Sorted lt (a :: s) -> Sorted lt s /\ forall b, In b s -> a < b.
  Proof.
    intros sorted. apply Sorted_StronglySorted in sorted; [| intros x y z; lia].
    apply StronglySorted_inv in sorted as (rest & more). split; [now apply StronglySorted_Sorted |].
    now apply Forall_forall.
  Qed.

  Lemma sorted_once s : Sorted lt s -> NoDup s.
  Proof.
    induction s as [| a s IH]; intros sorted; [constructor |]. apply sorted_first in sorted as (rest & more).
    constructor; [| now apply IH]. intros among. specialize (more a among). lia.
  Qed.

  Lemma without_subset a s b : In b (without a s) -> In b s.
  Proof. induction s as [| c s IH]; cbn; [auto |]. destruct (c =? a); cbn; tauto. Qed.

  Lemma without_others a s b : In b s -> b <> a -> In b (without a s).
  Proof.
    induction s as [| c s IH]; cbn; [auto |]. intros among differ.
    destruct (Nat.eqb_spec c a) as [-> | differs]; cbn; destruct among as [<- |]; auto. contradiction.
  Qed.

  Lemma sorted_cons a s : (forall b, In b s -> a < b) -> Sorted lt s -> Sorted lt (a :: s).
  Proof. intros more sorted. constructor; [assumption |]. destruct s; constructor. apply more. now left. Qed.

  Lemma without_sorted a s : Sorted lt s -> Sorted lt (without a s).
  Proof.
    induction s as [| c s IH]; cbn; [auto |]. intros sorted. apply sorted_first in sorted as (rest & more).
    destruct (c =? a); [assumption |]. apply sorted_cons; [| now apply IH].
    intros b among. apply more. now apply without_subset in among.
  Qed.

  Lemma with_attribute_in a s b : In b (with_attribute a s) <-> b = a \/ In b s.
  Proof.
    assert (a = b <-> b = a) by (split; congruence).
    induction s as [| c s IH]; cbn [with_attribute In]; [tauto |].
    destruct (a <? c); cbn [In]; [tauto |]. rewrite IH. tauto.
  Qed.

  Lemma with_attribute_sorted a s : ~ In a s -> Sorted lt s -> Sorted lt (with_attribute a s).
  Proof.
    induction s as [| c s IH]; cbn [with_attribute In]; intros new sorted; [now repeat constructor |].
    pose proof (sorted_first c s sorted) as (rest & more).
    destruct (Nat.ltb_spec a c) as [less | le].
    - apply sorted_cons; [| assumption]. intros b [<- | among]; [assumption |]. specialize (more b among). lia.
    - apply sorted_cons; [| apply IH; tauto]. intros b among. apply with_attribute_in in among as [-> | among]; auto.
      assert (c <> a) by (intros ->; tauto). lia.
  Qed.

  Lemma existsb_In a s : existsb (Nat.eqb a) s = true <-> In a s.
  Proof.
    rewrite existsb_exists. split.
    - intros (b & among & same). apply Nat.eqb_eq in same. now subst.
    - intros among. exists a. split; [assumption | apply Nat.eqb_refl].
  Qed.
End Shapes.

Section Theorem61.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** The hypothesis, of each operand: its shape ascends; its stream is of that shape and obeys the laws (finite, lawful
      and, but at levels of the dummy attribute, strictly monotone); and it evaluates to its relation. *)
  Definition operand (v : variable K) : Prop :=
    Sorted lt (shape_of_variable v) /\
    valid (shape_of_variable v) (stream_of_variable v) /\
    forall t, tuple_of (shape_of_variable v) t ->
      evaluation (stream_of_variable v) t = relation v (map t (shape_of_variable v)).

  Lemma expression_correct (c : context K) (e : expr) (s : shape) :
    Forall operand c -> shape_of (map shape_of_variable c) e = Some s ->
    Sorted lt s /\ valid s (stream_of c e) /\
    forall t, tuple_of s t -> evaluation (stream_of c e) t = at_tuple c e t.
  Proof.
    intros operands. revert s.
    induction e as [v | x IHx y IHy | x IHx y IHy | a e IH | a e IH | rho e IH]; intros s;
      cbn [shape_of stream_of at_tuple].
    - rewrite nth_error_map. destruct (nth_error c v) as [v' |] eqn:found; [| discriminate].
      cbn. intros same. injection same as <-. rewrite (nth_error_nth c v nothing found).
      apply nth_error_In in found. now apply (proj1 (Forall_forall operand c) operands) in found.
    - destruct (shape_of _ x) as [sx |]; [| discriminate]. destruct (shape_of _ y) as [sy |]; [| discriminate].
      destruct (list_eq_dec Nat.eq_dec sx sy) as [<- |]; [| discriminate]. intros same. injection same as <-.
      destruct (IHx sx eq_refl) as (sorted & x_valid & x_means), (IHy sx eq_refl) as (_ & y_valid & y_means).
      destruct (plus_correct sx _ _ x_valid y_valid) as (obeyed & means).
      split; [assumption | split; [assumption |]]. intros t inside. rewrite means. f_equal; auto.
    - destruct (shape_of _ x) as [sx |]; [| discriminate]. destruct (shape_of _ y) as [sy |]; [| discriminate].
      destruct (list_eq_dec Nat.eq_dec sx sy) as [<- |]; [| discriminate]. intros same. injection same as <-.
      destruct (IHx sx eq_refl) as (sorted & x_valid & x_means), (IHy sx eq_refl) as (_ & y_valid & y_means).
      destruct (times_correct sx _ _ x_valid y_valid) as (obeyed & means).
      split; [assumption | split; [assumption |]]. intros t inside. rewrite means by assumption. f_equal; auto.
    - destruct (shape_of _ e) as [se |]; [| discriminate].
      destruct (existsb (Nat.eqb a) se) eqn:among; [| discriminate].
      intros same. injection same as <-. apply existsb_In in among.
      destruct (IH se eq_refl) as (sorted & e_valid & e_means).
      destruct (contract_typed_correct a se _ (sorted_once se sorted) among e_valid) as (obeyed & means).
      split; [now apply without_sorted | split; [assumption |]].
      intros t inside. rewrite means. unfold along. rewrite total_map. apply total_ext. intros i i_in.
      apply in_seq in i_in. apply e_means. intros b b_in. destruct (Nat.eq_dec b a) as [-> | differs].
      + rewrite with_same. lia.
      + rewrite with_other by assumption. now apply inside, without_others.
    - destruct (shape_of _ e) as [se |]; [| discriminate].
      destruct (existsb (Nat.eqb a) se) eqn:among; [discriminate |].
      intros same. injection same as <-.
      assert (new : ~ In a se) by (intros among'; apply existsb_In in among'; congruence).
      destruct (IH se eq_refl) as (sorted & e_valid & e_means).
      destruct (expand_typed_correct a se _ e_valid) as (obeyed & means).
      split; [now apply with_attribute_sorted | split; [assumption |]].
      intros t inside. rewrite means. unfold within.
      rewrite (proj2 (Nat.ltb_lt _ _)) by (apply inside, with_attribute_in; now left).
      cbn. rewrite zero_plus. apply e_means. intros b b_in. apply inside, with_attribute_in. now right.
    - destruct (shape_of _ e) as [se |]; [| discriminate].
      destruct (is_sorted (map rho se)) eqn:sorted'; [cbn [andb] | discriminate].
      destruct (forallb _ se) eqn:extents; [| discriminate]. intros same. injection same as <-.
      rewrite forallb_forall in extents.
      assert (one_extent : forall a, In a se -> extent (rho a) = extent a) by (intros; now apply Nat.eqb_eq, extents).
      destruct (IH se eq_refl) as (sorted & e_valid & e_means).
      destruct (rename_correct rho se _ one_extent e_valid) as (obeyed & means).
      split; [now apply is_sorted_Sorted | split; [assumption |]].
      intros t inside. rewrite means. apply e_means. intros a a_in. rewrite <- one_extent by assumption.
      now apply inside, in_map.
  Qed.

  (** Theorem 6.1, of every semiring, all index sets, all operands that obey the laws, every expression that has a shape
      and every tuple of it. No expression is excluded: factors that were contracted are stored ([times_typed]). *)
  Theorem theorem_6_1 (c : context K) (e : expr) (s : shape) :
    Forall operand c -> shape_of (map shape_of_variable c) e = Some s ->
    forall t, tuple_of s t -> evaluation (stream_of c e) t = at_tuple c e t.
  Proof. intros operands has_shape. now apply expression_correct. Qed.

  (** The stream of an expression is of its shape and obeys the laws; at all other tuples it is zero. *)
  Theorem streams_are_valid (c : context K) (e : expr) (s : shape) :
    Forall operand c -> shape_of (map shape_of_variable c) e = Some s ->
    valid s (stream_of c e) /\ forall t, ~ tuple_of s t -> evaluation (stream_of c e) t = zero.
  Proof.
    intros operands has_shape. destruct (expression_correct c e s operands has_shape) as (_ & (same & obeyed) & _).
    split; [now split |]. intros t outside. rewrite <- same in outside.
    assert (somewhere : Exists (fun a => ~ t a < extent a) (attributes (ty (stream_of c e)))).
    { apply neg_Forall_Exists_neg; [intros a; apply lt_dec |]. intros all. apply outside.
      intros a among. now apply (proj1 (Forall_forall _ _) all). }
    apply Exists_exists in somewhere as (a & among & over).
    apply evaluate_outside with a; [assumption | assumption | lia].
  Qed.
End Theorem61.
