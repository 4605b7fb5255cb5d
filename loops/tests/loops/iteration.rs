//! What an iteration of a counted loop does.

use crate::kernel;
use fiberloom_core::algebra::Op;
use fiberloom_loops::{BufferId, Expr, Iteration, Stmt, Stored, Var, fold_of};

const KERNEL: &str = "kernel k(n_I, n_J)
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, x_vals: f64
  result y_vals: f64
  in A@0: f64[n_I, n_J] {dense, compressed} at dense, compressed(A1_pos, A1_crd), A_vals
  in x@1: f64[n_J] {dense} at dense, x_vals
  out y@2: f64[n_J] {dense} at dense, y_vals

  alloc y_vals[n_J] = 0.0
  t = 0.0
  for p in A1_pos[n_I - 1]..A1_pos[n_I - 1 + 1] {
    let i = i64(A1_crd[p])
    t = t + A_vals[p] * x_vals[i]
    y_vals[i] = y_vals[i] + t
    if i < 3 {
      t = 1.0
    }
  }
  finish y_vals[n_J]
";

#[test]
fn a_turn_is_told() {
    let kernel = kernel(KERNEL);
    let each = |stmt| if let &Stmt::For { var, ref body, .. } = stmt { Some(Iteration::of(var, body)) } else { None };
    let turn = kernel.body.iter().find_map(each).expect("a loop");
    let name = |b: BufferId| kernel.buffers[b.0 as usize].name.as_str();
    assert_eq!(turn.coordinates().map(|(_, b)| name(b)).collect::<Vec<_>>(), ["A1_crd"]);
    assert_eq!(turn.streams().into_iter().map(name).collect::<Vec<_>>(), ["A1_crd", "A_vals"]);
    let [(t, e)] = turn.sets[..] else { panic!("one variable is set in the turn itself") };
    assert_eq!(fold_of(t, e).map(|(op, _)| op), Some(Op::Add));
    let [stored] = &turn.stores[..] else { panic!("one element is stored") };
    assert_eq!((name(stored.buffer), stored.fold()), ("y_vals", Some((Op::Add, &Expr::Var(t)))));
    assert_eq!((turn.inside.len(), turn.moving().len()), (1, 3));
    assert!(!turn.only_sets() && !turn.only_stores());
}

/// A difference with the sides exchanged, another variable, and another element are no folds.
#[test]
fn what_does_not_go_on_is_no_fold() {
    let (t, u) = (Var(0), Var(1));
    let of = |a: Expr, b: Expr| Expr::Op(Op::Sub, vec![a, b]);
    assert_eq!(fold_of(t, &of(Expr::Var(u), Expr::Var(t))), None);
    assert_eq!(fold_of(t, &Expr::Var(t)), None);
    let [here, there] = [t, u].map(|v| Expr::Load(BufferId(0), Box::new(Expr::Var(v))));
    let (at, value) = (Expr::Var(t), of(there, here.clone()));
    assert_eq!(Stored { buffer: BufferId(0), at: &at, value: &value }.fold(), None);
    let value = of(here, Expr::Var(u));
    assert!(Stored { buffer: BufferId(0), at: &at, value: &value }.fold().is_some());
    assert_eq!(Stored { buffer: BufferId(1), at: &at, value: &value }.fold(), None);
}
