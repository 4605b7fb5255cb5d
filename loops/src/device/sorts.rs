//! What an iteration sorts, sorted by loops: a device has no library.
//!
//! ```text
//!   sort keys[0..n] into crd[c]      for q in 0..n { crd[c + q] = keys[q] }
//!                                    gap = 1; while gap * 3 + 1 < n { gap = gap * 3 + 1 }
//!                              ──▶   while gap > 0
//!                                      for q in gap..n
//!                                        move crd[c + q] before the greater ones of crd[c + q - gap], crd[c + q - 2 * gap], …
//!                                      gap = gap / 3
//! ```
//!
//! (Shell, *A High-Speed Sorting Procedure*, CACM 1959; the distances are Knuth's, *The Art of Computer Programming* 3, 5.2.1.)

use crate::arith::{binary, int, plus, times};
use crate::names::Vars;
use crate::{BufferId, Entry, Expr, How, Kernel, Stmt, Var, map_blocks};
use fiberloom_core::algebra::{Op, Type};

/// Statements in which loops sort.
pub(super) fn by_loops(kernel: &mut Kernel, block: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(block.len());
    for stmt in block {
        match stmt {
            Stmt::Call(Entry::Sort { keys, order, len }) => {
                out.extend(Sort::of(kernel, (keys, int(0)), Some(order), None, len));
            }
            Stmt::Call(Entry::SortInto { keys, into, at, len }) => {
                out.extend(Sort::of(kernel, (into, at), None, Some(keys), len));
            }
            stmt => out.extend(map_blocks(vec![stmt], &mut |inner| by_loops(kernel, inner))),
        }
    }
    out
}

/// A sort of elements of an array, in place.
struct Sort {
    keys: BufferId,
    /// The index of the first element.
    at: Var,
    /// The array that gets where each element was, whose elements tell equal ones apart.
    order: Option<BufferId>,
    len: Var,
    /// The element that is moved, and where it was.
    moved: [Var; 2],
    place: Var,
    gap: Var,
    from: Var,
}

impl Sort {
    /// The statements; elements of another array are brought there first.
    fn of(
        kernel: &mut Kernel,
        (keys, at): (BufferId, Expr),
        order: Option<BufferId>,
        given: Option<BufferId>,
        len: Expr,
    ) -> Vec<Stmt> {
        let ty = kernel.buffers[keys.0 as usize].ty;
        let mut vars = Vars::of(&mut kernel.vars);
        let [begin, number, was, place, gap, from, q] =
            ["begin", "count", "was", "place", "gap", "from", "q"].map(|name| vars.fresh(name, Type::I64));
        let sort = Sort { keys, at: begin, order, len: number, moved: [vars.fresh("key", ty), was], place, gap, from };
        let mut out = vec![Stmt::Let(begin, at), Stmt::Let(number, len)];
        let here = Expr::Var(q);
        let brought = given.map(|b| Stmt::Store(keys, sort.index(here.clone()), load(b, here.clone())));
        let body = brought.into_iter().chain(order.map(|b| Stmt::Store(b, here.clone(), here.clone()))).collect();
        out.push(Stmt::For { var: q, lo: int(0), hi: Expr::Var(number), how: How::Serial, body });
        let first = plus(times(Expr::Var(gap), int(3)), int(1));
        let wider = binary(Op::Lt, first.clone(), Expr::Var(number));
        out.push(Stmt::Set(gap, int(1)));
        out.push(Stmt::While(wider, vec![Stmt::Set(gap, first)]));
        let third = Stmt::Set(gap, binary(Op::Div, Expr::Var(gap), int(3)));
        out.push(Stmt::While(binary(Op::Gt, Expr::Var(gap), int(0)), vec![sort.pass(), third]));
        out
    }

    fn index(&self, place: Expr) -> Expr {
        binary(Op::Add, Expr::Var(self.at), place)
    }

    fn key(&self, place: Expr) -> Expr {
        load(self.keys, self.index(place))
    }

    /// Moves each element before the greater ones among those that are a gap apart.
    fn pass(&self) -> Stmt {
        let [key, was] = self.moved;
        let (place, from) = (Expr::Var(self.place), Expr::Var(self.from));
        let before = || binary(Op::Sub, place.clone(), Expr::Var(self.gap));
        let greater = binary(Op::Gt, self.key(before()), Expr::Var(key));
        let greater = match self.order {
            None => greater,
            Some(order) => {
                let equal = binary(Op::Eq, self.key(before()), Expr::Var(key));
                let later = binary(Op::Gt, load(order, before()), Expr::Var(was));
                binary(Op::OrElse, greater, binary(Op::AndAlso, equal, later))
            }
        };
        let moves = binary(Op::AndAlso, binary(Op::Ge, place.clone(), Expr::Var(self.gap)), greater);
        let store = |at: Expr, value: Expr, was: &dyn Fn(BufferId) -> Expr| {
            let key = Stmt::Store(self.keys, self.index(at.clone()), value);
            [Some(key), self.order.map(|b| Stmt::Store(b, at, was(b)))].into_iter().flatten()
        };
        let mut shift: Vec<Stmt> = store(place.clone(), self.key(before()), &|b| load(b, before())).collect();
        shift.push(Stmt::Set(self.place, before()));
        let mut body = vec![Stmt::Let(key, self.key(from.clone()))];
        body.extend(self.order.map(|b| Stmt::Let(was, load(b, from.clone()))));
        body.push(Stmt::Set(self.place, from));
        body.push(Stmt::While(moves, shift));
        body.extend(store(place, Expr::Var(key), &|_| Expr::Var(was)));
        Stmt::For { var: self.from, lo: Expr::Var(self.gap), hi: Expr::Var(self.len), how: How::Serial, body }
    }
}

fn load(b: BufferId, at: Expr) -> Expr {
    Expr::Load(b, Box::new(at))
}
