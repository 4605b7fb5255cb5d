(** The stream algebra: streams with their types; contraction, expansion and renaming by attribute.
    Rust: [semantics/src/stream/operators.rs]. *)

From Coq Require Import List Bool Arith Lia.
From Fiberloom Require Import Semiring Stream Relation Contract Vector Map.
Import ListNotations.

Section Typed.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** [Typed]: a stream with its type (Definition 5.8). *)
  Record typed := { ty : type; stream : nested K }.

  (** The stream has this shape and obeys the laws. *)
  Definition valid (s : list attribute) (q : typed) : Prop := attributes (ty q) = s /\ laws (ty q) (stream q).

  (** [Typed::evaluate]: its K-relation. *)
  Definition evaluation (q : typed) : tuple -> K := evaluate (ty q) (stream q).

  (** [Typed::insert]: a further level, below [k] others. *)
  Definition insert (k : nat) (l : option attribute) (f : nested K -> nested K) (q : typed) : typed :=
    {| ty := firstn k (ty q) ++ l :: skipn k (ty q); stream := map k f (stream q) |}.

  (** ** Contraction *)

  Definition is_level (a : attribute) (l : option attribute) : bool :=
    match l with Some b => b =? a | None => false end.

  (** [Typed::contract]: Σ over an attribute of the shape. *)
  Definition contract_typed (a : attribute) (q : typed) : typed :=
    let k := position (is_level a) (ty q) in
    {| ty := firstn k (ty q) ++ None :: skipn (S k) (ty q); stream := map k contract (stream q) |}.

  (** A shape without an attribute of it. *)
  Fixpoint without (a : attribute) (s : list attribute) : list attribute :=
    match s with
    | [] => []
    | b :: s => if b =? a then s else b :: without a s
    end.

  Lemma attributes_app t u : attributes (t ++ u) = attributes t ++ attributes u.
  Proof. induction t as [| [a |] t IH]; cbn; [reflexivity | now rewrite IH | exact IH]. Qed.

  (** The level of an attribute, and those around it. *)
  Lemma level_of a t : In a (attributes t) ->
    let k := position (is_level a) t in
    t = firstn k t ++ Some a :: skipn (S k) t /\ length (firstn k t) = k /\
    attributes (firstn k t ++ None :: skipn (S k) t) = without a (attributes t).
  Proof.
    induction t as [| [b |] t IH]; cbn; [contradiction | |].
    - destruct (Nat.eqb_spec b a) as [-> | differs]; cbn; [auto |]. intros [same | among]; [contradiction |].
      destruct (IH among) as (parts & long & rest). cbn in parts, rest. rewrite <- parts, rest, long. auto.
    - intros among. destruct (IH among) as (parts & long & rest). cbn in parts, rest.
      rewrite <- parts, rest, long. auto.
  Qed.

  (** Theorem 6.1 of contractions, at any depth. *)
  Theorem contract_typed_correct a s q :
    NoDup s -> In a s -> valid s q ->
    valid (without a s) (contract_typed a q) /\
    forall t, evaluation (contract_typed a q) t = total (evaluation q) (along a t).
  Proof.
    intros once_each among (<- & obeyed). destruct (level_of a (ty q) among) as (parts & long & rest). cbn zeta in *.
    set (k := position (is_level a) (ty q)) in *. unfold valid, evaluation, contract_typed. cbn [ty stream].
    fold k. rewrite rest. rewrite parts in obeyed, once_each. rewrite attributes_app in once_each.
    cbn [attributes] in once_each. apply NoDup_remove_2 in once_each. rewrite in_app_iff in once_each.
    destruct (map_correct (firstn k (ty q)) (Some a :: skipn (S k) (ty q)) (None :: skipn (S k) (ty q)) contract
      (along a)) with (q := stream q) as (obeys_still & means); [| | exact obeyed |].
    - intros r r_laws. apply contract_correct; [tauto | exact r_laws].
    - intros t u b u_in b_in. unfold along in u_in. apply in_map_iff in u_in as (i & <- & _).
      apply with_other. intros ->. tauto.
    - rewrite long in obeys_still, means. split; [auto |]. intros t. rewrite means, <- parts. reflexivity.
  Qed.

  (** ** Expansion *)

  Definition is_later (a : attribute) (l : option attribute) : bool :=
    match l with Some b => a <? b | None => false end.

  (** [Typed::expand]: ⇑ over an attribute that is not of the shape. *)
  Definition expand_typed (a : attribute) (q : typed) : typed :=
    insert (position (is_later a) (ty q)) (Some a) (expand a) q.

  (** A shape with a further attribute, in its place. *)
  Fixpoint with_attribute (a : attribute) (s : list attribute) : list attribute :=
    match s with
    | [] => [a]
    | b :: s => if a <? b then a :: b :: s else b :: with_attribute a s
    end.

  Lemma attributes_later a t :
    let k := position (is_later a) t in
    attributes (firstn k t ++ Some a :: skipn k t) = with_attribute a (attributes t).
  Proof.
    induction t as [| [b |] t IH]; cbn [position is_later]; [reflexivity | | exact IH].
    cbn [attributes with_attribute]. destruct (a <? b); [reflexivity |]. cbn. now f_equal.
  Qed.

  (** Theorem 6.1 of a level that is inserted, from that of the level as a first one. *)
  Lemma insert_correct k l (f : nested K -> nested K) (places : tuple -> list tuple) q :
    (forall inner r, laws inner r ->
      laws (l :: inner) (f r) /\ forall t, evaluate (l :: inner) (f r) t = total (evaluate inner r) (places t)) ->
    (forall t u, In u (places t) -> u = t) ->
    k <= length (ty q) -> laws (ty q) (stream q) ->
    laws (ty (insert k l f q)) (stream (insert k l f q)) /\
    forall t, evaluation (insert k l f q) t = total (evaluation q) (places t).
  Proof.
    intros f_correct same inside obeyed. unfold evaluation, insert. cbn [ty stream].
    pose proof (firstn_skipn k (ty q)) as parts. rewrite <- parts in obeyed.
    destruct (map_correct (firstn k (ty q)) (skipn k (ty q)) (l :: skipn k (ty q)) f places) with (q := stream q)
      as (obeys_still & means); [now apply f_correct | | exact obeyed |].
    - intros t u a u_in _. now rewrite (same t u u_in).
    - rewrite firstn_length_le in obeys_still, means by assumption.
      split; [exact obeys_still |]. intros t. rewrite means, parts. reflexivity.
  Qed.

  (** Theorem 6.1 of expansions, at any depth. *)
  Theorem expand_typed_correct a s q :
    valid s q ->
    valid (with_attribute a s) (expand_typed a q) /\
    forall t, evaluation (expand_typed a q) t = total (evaluation q) (within a t).
  Proof.
    intros (<- & obeyed). unfold valid, expand_typed. rewrite <- attributes_later.
    destruct (insert_correct (position (is_later a) (ty q)) (Some a) (expand a) (within a) q) as (obeys_still & means);
      auto using expand_correct, position_length.
    intros t u. unfold within. destruct (t a <? extent a); [intros [-> | []]; reflexivity | intros []].
  Qed.

  (** ** Renaming *)

  (** [Typed::rename]: the same stream under other attributes. *)
  Definition rename (rho : attribute -> attribute) (q : typed) : typed :=
    {| ty := List.map (option_map rho) (ty q); stream := stream q |}.

  Lemma rename_evaluate rho t q u : evaluate (List.map (option_map rho) t) q u = evaluate t q (fun a => u (rho a)).
  Proof.
    revert q. induction t as [| l t IH]; intros [v | x]; cbn; try reflexivity. unfold meaning. apply total_ext.
    intros s _. unfold term.
    replace (here (option_map rho l) u (index x s)) with (here l (fun a => u (rho a)) (index x s)) by now destruct l.
    destruct (ready x s && _); [apply IH | reflexivity].
  Qed.

  Lemma rename_obeys {R : Type} rho l (x : level R) :
    (forall a, l = Some a -> extent (rho a) = extent a) -> obeys x l -> obeys x (option_map rho l).
  Proof.
    intros same [before inside ends more strictly]. constructor; auto.
    - intros s. specialize (inside s). destruct l as [a |]; cbn; [now rewrite same | exact inside].
    - intros s b fit. apply ends. now destruct l.
    - intros s b fit. apply more. now destruct l.
    - intros a s b same_level. destruct l as [a' |]; [| discriminate]. now apply (strictly a').
  Qed.

  Lemma rename_laws rho t q :
    (forall a, In a (attributes t) -> extent (rho a) = extent a) ->
    laws t q -> laws (List.map (option_map rho) t) q.
  Proof.
    revert q. induction t as [| l t IH]; intros [v | x] same obeyed; cbn in *; auto.
    destruct obeyed as (x_obeys & x_lawful & x_inner). split; [| split].
    - apply rename_obeys; [| exact x_obeys]. intros a ->. apply same. now left.
    - intros u s b fit before. specialize (x_lawful (fun a => u (rho a)) s b).
      assert (as_here : forall s,
        meaning x (here (option_map rho l) u) (fun v => evaluate (List.map (option_map rho) t) v u) s =
        meaning x (here l (fun a => u (rho a))) (fun v => evaluate t v (fun a => u (rho a))) s).
      { intros r. destruct l; apply meaning_ext; intros; apply rename_evaluate. }
      rewrite !as_here. apply x_lawful; destruct l; assumption.
    - intros s is_ready. apply IH; [| now apply x_inner]. intros a among. apply same. destruct l; cbn; auto.
  Qed.

  Lemma rename_attributes rho t : attributes (List.map (option_map rho) t) = List.map rho (attributes t).
  Proof. induction t as [| [a |] t IH]; cbn; [reflexivity | now rewrite IH | exact IH]. Qed.

  (** Theorem 6.1 of renamings. *)
  Theorem rename_correct rho s q :
    (forall a, In a s -> extent (rho a) = extent a) -> valid s q ->
    valid (List.map rho s) (rename rho q) /\ forall t, evaluation (rename rho q) t = evaluation q (fun a => t (rho a)).
  Proof.
    intros same (<- & obeyed). split; [split |].
    - apply rename_attributes.
    - now apply rename_laws.
    - intros t. apply rename_evaluate.
  Qed.
End Typed.
Arguments typed : clear implicits.
