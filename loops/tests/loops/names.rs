//! Fresh names: numbers are put behind those that are taken.

use crate::rewrites::rewrite;
use crate::sound;
use fiberloom_core::algebra::Type;
use fiberloom_loops::Symbolic;

/// Two loops that are jammed, each with names of its own for what it computes.
const JAMMED: &str = "kernel k(n)
  operand x: f64
  result y: f64
  in x@0: f64[n] {dense} at dense, x
  out y@1: f64[n] {dense} at dense, y

  begin_2 = 0
  alloc y[n] = 0.0
  for p in 0..n {
    let p_3 = x[p]
    for k in 0..n {
      y[k] = y[k] + p_3
    }
  }
  for q in 0..n {
    for k in 0..n {
      y[k] = y[k] + x[q]
    }
  }
  finish y[n]
";

fn names(all: &[(String, Type)]) -> Vec<&str> {
    all.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn numbers_go_on_where_names_are_taken() {
    let mut made = Symbolic::default();
    for name in ["p", "p_3", "q_2", "p", "p", "q", "q", "p_3"] {
        made.fresh(name, Type::I64);
    }
    assert_eq!(names(&made.vars[3..]), ["p_2", "p_4", "q", "q_3", "p_3_2"]);
}

/// A rewrite takes no name that a kernel has.
#[test]
fn rewrites_go_on_where_names_are_taken() {
    let mut kernel = sound(JAMMED);
    let taken = kernel.vars.len();
    rewrite("unroll and jam", &mut kernel);
    let groups =
        ["begin", "last", "groups", "group", "k_2", "p_2", "p_3_2", "p_4", "p_3_3", "p_5", "p_3_4", "p_6", "p_3_5"];
    let more = ["begin_3", "last_2", "groups_2", "group_2", "k_3", "q_2", "q_3", "q_4", "q_5"];
    assert_eq!(names(&kernel.vars[taken..]), [&groups[..], &more].concat());
}

/// Many names that begin alike take linear time: the search for a free one begins behind the last that was found.
#[test]
fn many_of_a_name_are_made_in_time() {
    let mut made = Symbolic::default();
    for _ in 0..50_000 {
        made.fresh("p", Type::I64);
    }
    assert_eq!(made.vars[49_999].0, "p_50000");
}

/// So do those that a rewrite makes: four of `q` a loop.
#[test]
fn rewrites_make_many_of_a_name_in_time() {
    let mut kernel = sound(JAMMED);
    let jammed = kernel.body[3].clone();
    kernel.body = vec![jammed; 12_500];
    rewrite("unroll and jam", &mut kernel);
    assert_eq!(kernel.vars.last().map(|(name, _)| name.as_str()), Some("q_50001"));
}
