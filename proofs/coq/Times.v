(** Products of typed streams: a factor with dummy levels is stored first.
    Rust: [semantics/src/stream/operators.rs]. *)

From Coq Require Import List Bool Arith Lia.
From Fiberloom Require Import Semiring Stream Relation Product Vector Typed.
Import ListNotations.

Section Times.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** Whether some tuple that differs from [t] at attributes of a shape only is not known to be a zero of [f]. *)
  Fixpoint supported (s : list attribute) (f : tuple -> K) (t : tuple) : bool :=
    match s with
    | [] => negb (is_zero (f t))
    | a :: s => existsb (fun i => supported s f (with_index t a i)) (seq 0 (extent a))
    end.

  (** [nest]: sparse vectors of sparse vectors, a level for each attribute. *)
  Fixpoint nest (s : list attribute) (f : tuple -> K) (t : tuple) : nested K :=
    match s with
    | [] => Value (f t)
    | a :: s =>
        let fiber i := (i, Some (nest s f (with_index t a i))) in
        sparse (map fiber (filter (fun i => supported s f (with_index t a i)) (seq 0 (extent a))))
    end.

  (** [Typed::stored]: itself, or its evaluation if it has dummy levels. *)
  Definition stored (q : typed K) : typed K :=
    if existsb (fun l => match l with Some _ => false | None => true end) (ty q)
    then {| ty := map Some (attributes (ty q)); stream := nest (attributes (ty q)) (evaluation q) (fun _ => 0) |}
    else q.

  (** [Typed::times]: x · y, of one shape; a factor with dummy levels is stored first. *)
  Definition times_typed (x y : typed K) : typed K :=
    {| ty := ty (stored x); stream := product (stream (stored x)) (stream (stored y)) |}.

  Lemma unsupported s f t u (all : list attribute) :
    (forall t u, (forall a, In a all -> t a = u a) -> f t = f u) ->
    supported s f u = false ->
    (forall a, In a s -> t a < extent a) -> (forall a, In a all -> ~ In a s -> t a = u a) -> f t = zero.
  Proof.
    intros agree. revert u. induction s as [| a s IH]; cbn [supported]; intros u none inside same.
    - apply negb_false_iff, is_zero_sound in none. rewrite <- none. apply agree. intros a among. apply same; auto.
    - apply (IH (with_index u a (t a))).
      + destruct (supported s f (with_index u a (t a))) eqn:some; [| reflexivity].
        rewrite <- none. symmetry. apply existsb_exists. exists (t a). split; [| exact some].
        apply in_seq. specialize (inside a (or_introl eq_refl)). lia.
      + intros b among. apply inside. now right.
      + intros b among not. destruct (Nat.eq_dec b a) as [-> | differs]; [now rewrite with_same |].
        rewrite with_other by assumption. apply same; [assumption |]. now intros [-> |].
  Qed.

  Lemma total_filter {A : Type} (f : A -> K) p l :
    total f (filter p l) = total (fun a => if p a then f a else zero) l.
  Proof.
    induction l as [| a l IH]; cbn; [reflexivity |].
    destruct (p a); cbn; rewrite IH; [reflexivity | now rewrite plus_zero].
  Qed.

  Lemma ascend_fibers (fiber : nat -> nested K) p first n :
    ascend (map (fun i => (i, Some (fiber i))) (filter p (seq first n))).
  Proof.
    revert first. induction n as [| n IH]; intros first; cbn; [exact I |]. destruct (p first); cbn; [| apply IH].
    split; [| apply IH]. intros e among. apply in_map_iff in among as (i & <- & among).
    apply filter_In in among as (among & _). apply in_seq in among. unfold key. cbn. lia.
  Qed.

  Lemma nest_correct s f u (all : list attribute) :
    (forall t u, (forall a, In a all -> t a = u a) -> f t = f u) ->
    laws (map Some s) (nest s f u) /\
    forall t, (forall a, In a s -> t a < extent a) -> (forall a, In a all -> ~ In a s -> t a = u a) ->
      evaluate (map Some s) (nest s f u) t = f t.
  Proof.
    intros agree. revert u. induction s as [| a s IH]; intros u.
    { split; [exact I |]. intros t _ same. apply agree. intros b among. symmetry. now apply same. }
    cbn [nest map]. cbn zeta. set (p := fun i => supported s f (with_index u a i)).
    set (fibers := map (fun i => (i, Some (nest s f (with_index u a i)))) (filter p (seq 0 (extent a)))).
    assert (among_fibers : forall i v, In (i, v) fibers ->
      i < extent a /\ v = Some (nest s f (with_index u a i))).
    { intros i v among. apply in_map_iff in among as (j & same & among). injection same as <- <-.
      apply filter_In in among as (among & _). apply in_seq in among. split; [lia | reflexivity]. }
    destruct (sparse_laws fibers (ascend_fibers _ _ _ _) (Some a) (map Some s)) as (obeyed & means).
    - intros i v among. now apply among_fibers in among.
    - intros i v among. apply among_fibers in among as (_ & same). injection same as ->. apply IH.
    - split; [exact obeyed |]. intros t inside same. rewrite means. unfold entries_at, fibers.
      rewrite total_map, total_filter. cbn [snd fst here].
      rewrite (total_one _ 0 (extent a) (t a)).
      + assert (inside_still : forall b, In b s -> t b < extent b) by (intros; apply inside; now right).
        assert (same_still : forall b, In b all -> ~ In b s -> t b = with_index u a (t a) b).
        { intros b among not. destruct (Nat.eq_dec b a) as [-> | differs]; [now rewrite with_same |].
          rewrite with_other by assumption. apply same; [assumption |]. now intros [-> |]. }
        rewrite Nat.eqb_refl. destruct (p (t a)) eqn:some; [now apply IH |].
        symmetry. now apply (unsupported s f t (with_index u a (t a)) all).
      + specialize (inside a (or_introl eq_refl)). lia.
      + intros j differs. rewrite (proj2 (Nat.eqb_neq _ _) differs). now destruct (p j).
  Qed.

  (** A tuple of a shape. *)
  Definition tuple_of (s : list attribute) (t : tuple) : Prop := forall a, In a s -> t a < extent a.

  Lemma stored_correct s q : valid s q ->
    ty (stored q) = map Some s /\ laws (ty (stored q)) (stream (stored q)) /\
    forall t, tuple_of s t -> evaluation (stored q) t = evaluation q t.
  Proof.
    intros (<- & obeyed). unfold stored. destruct (existsb _ (ty q)) eqn:some.
    - unfold evaluation. cbn [ty stream]. split; [reflexivity |].
      destruct (nest_correct (attributes (ty q)) (evaluation q) (fun _ => 0) (attributes (ty q)))
        as (obeys_still & means).
      + intros t u same. now apply evaluate_agree.
      + split; [exact obeys_still |]. intros t inside. apply means; [exact inside | contradiction].
    - split; [| auto]. clear obeyed. induction (ty q) as [| [a |] t IH]; cbn in *; [reflexivity | | discriminate].
      now rewrite <- IH.
  Qed.

  Lemma attributes_all s : attributes (map Some s) = s.
  Proof. induction s as [| a s IH]; cbn; [reflexivity | now rewrite IH]. Qed.

  (** Theorem 6.1 of products of any streams of one shape. *)
  Theorem times_correct s x y :
    valid s x -> valid s y ->
    valid s (times_typed x y) /\
    forall t, tuple_of s t -> evaluation (times_typed x y) t = times (evaluation x t) (evaluation y t).
  Proof.
    intros x_valid y_valid. destruct (stored_correct s x x_valid) as (x_ty & x_laws & x_means).
    destruct (stored_correct s y y_valid) as (y_ty & y_laws & y_means).
    rewrite x_ty in x_laws. rewrite y_ty in y_laws.
    destruct (product_correct s (stream (stored x)) (stream (stored y)) x_laws y_laws) as (obeyed & means).
    unfold valid, times_typed. cbn [ty stream]. rewrite x_ty. split; [split; [apply attributes_all | exact obeyed] |].
    intros t inside. rewrite <- x_means, <- y_means by assumption. unfold evaluation. cbn [ty stream].
    rewrite x_ty, y_ty. apply means.
  Qed.
End Times.
