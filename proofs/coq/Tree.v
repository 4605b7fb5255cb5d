(** Operands of which the theorem's hypothesis holds: nested sparse vectors, with states that are not ready.
    Rust: [proofs/src/theorem.rs]. *)

From Coq Require Import List Bool Arith Lia Sorted.
From Fiberloom Require Import Semiring Stream Relation Vector Typed Times Expression Homomorphism.
Import ListNotations.

Section Trees.
  Context {K : Type} `{Semiring K} `{Schema}.

  (** [Tree]: nested entries, what a stream and its relation are both made from. *)
  Inductive tree :=
  | Entry (value : K)
  | Level (entries : list (nat * option tree)).

  (** [Tree::stream]: as a stream. *)
  Fixpoint stream_of_tree (t : tree) : nested K :=
    match t with
    | Entry value => Value value
    | Level entries => sparse (map (fun '(i, e) => (i, option_map stream_of_tree e)) entries)
    end.

  (** [Tree::relation]: as a relation, without a stream. *)
  Fixpoint relation_of_tree (t : tree) (at_indices : list nat) : K :=
    match t, at_indices with
    | Entry value, [] => value
    | Level entries, i :: rest =>
        let here '(j, e) := match e with Some e => if j =? i then relation_of_tree e rest else zero | None => zero end in
        total here entries
    | _, _ => zero
    end.

  (** [Tree::variable]: as a variable of a shape. *)
  Definition variable_of_tree (s : shape) (t : tree) : variable K := {|
    shape_of_variable := s;
    stream_of_variable := {| ty := map Some s; stream := stream_of_tree t |};
    relation := relation_of_tree t
  |}.

  (** A tree of a shape: indices of the index sets, (index, ready) ascending strictly. *)
  Fixpoint tree_of (s : shape) (t : tree) : Prop :=
    match s, t with
    | [], Entry _ => True
    | a :: s, Level entries =>
        ascend (map (fun '(i, e) => (i, option_map stream_of_tree e)) entries) /\
        forall i e, In (i, e) entries -> i < extent a /\ match e with Some e => tree_of s e | None => True end
    | _, _ => False
    end.

  Lemma tree_correct s t : tree_of s t ->
    laws (map Some s) (stream_of_tree t) /\
    forall u, evaluate (map Some s) (stream_of_tree t) u = relation_of_tree t (map u s).
  Proof.
    revert t. induction s as [| a s IH]; intros [v | entries] is_tree; cbn in is_tree; try contradiction.
    - split; [exact I | reflexivity].
    - destruct is_tree as (ascending & inside).
      destruct (sparse_laws _ ascending (Some a) (map Some s)) as (obeyed & means).
      + intros i v among. apply in_map_iff in among as ((j & e) & same & among). injection same as <- _.
        now apply inside in among.
      + intros i v among. apply in_map_iff in among as ((j & e) & same & among). injection same as <- same.
        destruct e as [e |]; [| discriminate]. injection same as <-. apply IH. now apply inside in among.
      + split; [exact obeyed |]. intros u. cbn [stream_of_tree map]. rewrite means. unfold entries_at.
        rewrite total_map. cbn [relation_of_tree]. apply total_ext. intros (j, [e |]) among; [| reflexivity].
        cbn. destruct (j =? u a); [| reflexivity]. apply IH. now apply inside in among.
  Qed.

  Theorem tree_operand s t : Sorted lt s -> tree_of s t -> operand (variable_of_tree s t).
  Proof.
    intros sorted is_tree. destruct (tree_correct s t is_tree) as (obeyed & means).
    split; [exact sorted | split; [split; [apply attributes_all | exact obeyed] |]].
    intros u _. apply means.
  Qed.

  (** Theorem 6.1 of trees: nothing is supposed of streams. *)
  Corollary theorem_6_1_of_trees (trees : list (shape * tree)) (e : expr) (s : shape) :
    Forall (fun '(s, t) => Sorted lt s /\ tree_of s t) trees ->
    let c := map (fun '(s, t) => variable_of_tree s t) trees in
    shape_of (map shape_of_variable c) e = Some s ->
    forall t, tuple_of s t -> evaluation (stream_of c e) t = at_tuple c e t.
  Proof.
    intros are_trees c. apply theorem_6_1. apply Forall_map. eapply Forall_impl; [| exact are_trees].
    intros (s', t) (sorted & is_tree). now apply tree_operand.
  Qed.
End Trees.
Arguments tree : clear implicits.
