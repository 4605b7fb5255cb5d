//! What may hold at each turn of a loop: shapes of invariants over its variables, of which `any_length` keeps those that
//! do.
//!
//! ```text
//!   positions p, q     p ≤ a    a ≤ p    p < a    a < p        a: another position, a begin, an end, a border, a witness
//!   lengths w          p + w ≤ a    a ≤ p + w    0 ≤ w    w ≤ p + 8
//!   coordinates x      where p has an element, x < it, x ≤ it, x + n < it;  x is it, or 2⁶³ − 1 at the end
//!   flags m            0 ≤ m ≤ 1; any of the above where m is 0, or where it is 1
//! ```

use fiberloom_loops::LANES;
use std::collections::BTreeSet;
use std::rc::Rc;
use z3::ast::{Bool, Int};

/// The element of an array at a place.
pub type Element = Rc<dyn Fn(&Int) -> Int>;

/// What may be so, of the values of all variables.
pub type Claim = Rc<dyn Fn(&[Int]) -> Bool>;

/// What a loop stands in.
pub struct Scene {
    /// The names of variables.
    pub names: Vec<String>,
    /// Those that a turn changes.
    pub changes: BTreeSet<usize>,
    /// The array that each is a place of, if it is of one.
    pub places: Vec<Option<usize>>,
    /// Numbers that no turn changes, and the array that each is a place of, if that is known.
    pub anchors: Vec<(Int, Option<usize>)>,
    /// Each array's elements, its begin and its end.
    pub arrays: Vec<(Element, Int, Int)>,
}

/// A proposal.
#[derive(Clone)]
pub struct Candidate {
    /// What it proposes.
    pub of: Claim,
    /// The variable at whose place it looks at an array, and which.
    pub looks: Option<(usize, usize)>,
}

/// What a variable is for; its name says so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Position,
    Length,
    Coordinate,
    Flag,
}

fn role(name: &str) -> Role {
    match name {
        "width" | "step" => Role::Length,
        "last" | "at" | "from" => Role::Coordinate,
        "met" => Role::Flag,
        _ => Role::Position,
    }
}

/// A number by a variable, or a fixed one.
type Number = Rc<dyn Fn(&[Int]) -> Int>;

fn variable(v: usize) -> Number {
    Rc::new(move |x| x[v].clone())
}

fn fixed(a: Int) -> Number {
    Rc::new(move |_| a.clone())
}

/// a + c ≤ b
fn at_most(a: &Number, c: i64, b: &Number) -> Candidate {
    let (a, b) = (a.clone(), b.clone());
    Candidate { of: Rc::new(move |x| Int::add(&[&a(x), &Int::from_i64(c)]).le(b(x))), looks: None }
}

/// All that may hold.
pub fn propose(scene: &Scene) -> Vec<Candidate> {
    let of = |wanted: Role| (0..scene.names.len()).filter(move |v| role(&scene.names[*v]) == wanted);
    let mut all = vec![];
    let positions: Vec<usize> = of(Role::Position).collect();
    // Places of two arrays are not compared.
    let alike = |p: usize, of: &Option<usize>| of.is_none() || scene.places[p].is_none() || *of == scene.places[p];
    for &p in &positions {
        let others = positions.iter().filter(|q| **q > p && alike(p, &scene.places[**q]));
        let others = others.map(|q| (*q, variable(*q)));
        let anchors = scene.anchors.iter().filter(|(_, of)| alike(p, of)).map(|(a, _)| (p, fixed(a.clone())));
        for (_, other) in others.chain(anchors).filter(|(q, _)| [p, *q].iter().any(|v| scene.changes.contains(v))) {
            for c in [0, 1] {
                all.extend([at_most(&variable(p), c, &other), at_most(&other, c, &variable(p))]);
            }
        }
    }
    for w in of(Role::Length).filter(|w| scene.changes.contains(w)) {
        all.extend([
            at_most(&fixed(Int::from_i64(0)), 0, &variable(w)),
            at_most(&fixed(Int::from_i64(1)), 0, &variable(w)),
        ]);
        for &p in &positions {
            all.push(at_most(&variable(w), -LANES, &variable(p)));
            let sum: Number = Rc::new(move |x| Int::add(&[&x[p], &x[w]]));
            for a in scene.anchors.iter().filter(|(_, of)| alike(p, of)).map(|(a, _)| fixed(a.clone())) {
                all.extend([at_most(&sum, 0, &a), at_most(&a, 0, &sum)]);
            }
        }
    }
    all.extend(of_coordinates(scene, &positions));
    for m in of(Role::Flag) {
        let whole = all.clone();
        for (value, candidate) in [0, 1].into_iter().flat_map(|value| whole.iter().map(move |c| (value, c.clone()))) {
            let of = Rc::new(move |x: &[Int]| x[m].eq(Int::from_i64(value)).implies((candidate.of)(x)));
            all.push(Candidate { of, looks: candidate.looks });
        }
        let flag = |value: i64| at_most(&variable(m), 0, &fixed(Int::from_i64(value)));
        all.extend([flag(1), flag(0), at_most(&fixed(Int::from_i64(0)), 0, &variable(m))]);
    }
    all
}

/// What may hold of coordinates and of the arrays' elements.
fn of_coordinates(scene: &Scene, positions: &[usize]) -> Vec<Candidate> {
    let mut all = vec![];
    for x in (0..scene.names.len()).filter(|x| role(&scene.names[*x]) == Role::Coordinate) {
        let legal = at_most(&fixed(Int::from_i64(-1)), 0, &variable(x));
        all.extend([legal, at_most(&variable(x), 0, &fixed(Int::from_i64(i64::MAX)))]);
        let free = scene.anchors.iter().filter(|(_, of)| of.is_none() && scene.changes.contains(&x));
        for a in free.map(|(a, _)| fixed(a.clone())) {
            all.extend([0, 1].into_iter().flat_map(|c| [at_most(&variable(x), c, &a), at_most(&a, c, &variable(x))]));
        }
        for (n, (element, begin, end)) in scene.arrays.iter().enumerate() {
            for &p in positions.iter().filter(|p| scene.places[**p].is_none_or(|of| of == n)) {
                let (a, from, to) = (element.clone(), begin.clone(), end.clone());
                all.push(Candidate {
                    of: Rc::new(move |v| Bool::and(&[from.le(&v[p]), v[p].lt(&to)]).implies(v[x].le(a(&v[p])))),
                    looks: Some((p, n)),
                });
                let (a, from, to) = (element.clone(), begin.clone(), end.clone());
                all.push(Candidate {
                    of: Rc::new(move |v| Bool::and(&[from.le(&v[p]), v[p].lt(&to)]).implies(v[x].lt(a(&v[p])))),
                    looks: Some((p, n)),
                });
                for shift in scene.anchors.iter().map(|(a, _)| a).filter(|a| a.to_string().starts_with('n')) {
                    let (a, from, to, shift) = (element.clone(), begin.clone(), end.clone(), shift.clone());
                    all.push(Candidate {
                        of: Rc::new(move |v| {
                            let inside = Bool::and(&[from.le(&v[p]), v[p].lt(&to)]);
                            inside.implies(Int::add(&[&v[x], &shift]).lt(a(&v[p])))
                        }),
                        looks: Some((p, n)),
                    });
                }
                let (a, to) = (element.clone(), end.clone());
                all.push(Candidate {
                    of: Rc::new(move |v| v[p].lt(&to).ite(&v[x].eq(a(&v[p])), &v[x].eq(Int::from_i64(i64::MAX)))),
                    looks: Some((p, n)),
                });
            }
        }
    }
    all
}
