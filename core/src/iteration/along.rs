//! The spaces of a program: along each of a statement's index variables, where its expression can differ from its
//! *background*, the value that it has where nothing is stored (shape paper, figure 11; functions paper, section 5.2).

use super::{Cut, Space, SpaceLattice};
use crate::algebra::{Mode, Value, evaluate, identity, properties, subject};
use crate::map::Size;
use crate::notation::typed::{Bound, Expr, Fun, Index, Kind, Map, Program, Role, Statement, TensorId, VarId};
use crate::shape::Classes;
use crate::stack::with_room;
use std::fmt::Write;

/// The most points of a lattice that is printed.
const PRINTED: usize = 16;

/// Every statement's variables with their spaces, and each space's lattice: its points in drop-out order, the parts that can run out of
/// each with the point that is left, and the points that are the cases of its body.
pub fn show(program: &Program, classes: &Classes, mode: Mode) -> String {
    with_room(|| shown(program, classes, mode))
}

fn shown(program: &Program, classes: &Classes, mode: Mode) -> String {
    let mut text = String::new();
    for statement in &program.statements {
        let tensor = &program.tensors[statement.tensor.index()];
        for (v, space) in spaces(program, classes, mode, statement) {
            let var = &program.vars[v.index()].name;
            show_space(&mut text, &format!("{}: {var}", tensor.name), &space, classes);
        }
    }
    text
}

fn show_space(text: &mut String, title: &str, space: &Space, classes: &Classes) {
    let shown = |s: &Space| s.show(&|c| classes.name(c));
    let mut line = |s: String| writeln!(text, "{s}").expect("strings take everything");
    line(format!("{title} ∈ {}", shown(space)));
    let Some(lattice) = SpaceLattice::of(space, PRINTED) else {
        return line(format!("  more than {PRINTED} points"));
    };
    // The title says all of a lattice with a single point.
    for (n, point) in lattice.points.iter().enumerate().filter(|_| lattice.points.len() > 1) {
        let edges = point.edges.iter().map(|(edge, to)| {
            let to = to.map_or("end".to_string(), |to| to.to_string());
            format!("{} runs out → {to}", shown(&edge.exhausted))
        });
        let cases: Vec<String> = lattice.sub_points(n).iter().map(usize::to_string).collect();
        let edges: Vec<String> = edges.collect();
        line(format!("  {n}: {}   {}   cases {}", shown(&point.space), edges.join(", "), cases.join(" ")));
    }
}

/// The spaces of a statement: along the variables of its left side, then along those of its reductions.
fn spaces(program: &Program, classes: &Classes, mode: Mode, statement: &Statement) -> Vec<(VarId, Space)> {
    let reader = Reader { program, classes, mode };
    let fill = program.tensors[statement.tensor.index()].fill;
    let mut all = vec![];
    for v in statement.vars.iter().chain(&statement.folded) {
        let Along { space, background } = reader.along(&statement.rhs, *v);
        let sparse = background.is_some() && (fill.is_none() || fill == background);
        all.push((*v, space.filter(|_| sparse).unwrap_or_else(everything)));
    }
    statement.rhs.walk(&mut |e| {
        if let Kind::Reduce { fun, vars, body, .. } = &e.kind {
            for v in vars {
                let Along { space, background } = reader.along(body, *v);
                let skipped = background.is_some() && background == program.identity(*fun, e.ty);
                all.push((*v, space.filter(|_| skipped).unwrap_or_else(everything)));
            }
        }
    });
    all
}

/// All coordinates.
fn everything() -> Space {
    Space::Level { name: "𝕌".to_string(), dense: true }
}

/// An expression along a variable.
struct Along {
    /// The coordinates at which it can differ from its background; `None` if it does not depend on the variable.
    space: Option<Space>,
    /// The expression's value elsewhere, if it is known.
    background: Option<Value>,
}

struct Reader<'a> {
    program: &'a Program,
    classes: &'a Classes,
    mode: Mode,
}

impl Reader<'_> {
    fn along(&self, e: &Expr, v: VarId) -> Along {
        let of = |e: &Expr, v: VarId| self.along(e, v);
        // The space of a shape operator, made from the space of its body.
        let made = |body: &Expr, from: VarId, space: &dyn Fn(Space) -> Space| {
            let Along { space: inner, background } = of(body, from);
            Along { space: inner.map(space), background }
        };
        match &e.kind {
            Kind::Literal(value) => Along { space: None, background: Some(*value) },
            Kind::Index(w) if *w == v => Along { space: Some(everything()), background: None },
            Kind::Index(_) | Kind::Size(_) | Kind::Local(_) => Along { space: None, background: None },
            Kind::Access(tensor, indices) => self.access(*tensor, indices, v),
            Kind::Call(fun, args) => self.call(*fun, e, args.iter().map(|a| of(a, v)).collect()),
            Kind::Reduce { fun, body, start, .. } => {
                let Along { space, background } = of(body, v);
                let unit = if let Fun::Op(op) = fun { identity(*op, e.ty) } else { None };
                Along { space, background: background.filter(|b| start.is_none() && Some(*b) == unit) }
            }
            Kind::Collapse { body, from, to } if *to == v => {
                let parts: Vec<Along> = from.iter().map(|u| of(body, *u)).collect();
                let background = parts[0].background;
                let moved = parts.iter().any(|p| p.space.is_some());
                let mut parts = parts.into_iter().map(|p| p.space.unwrap_or_else(everything));
                let first = parts.next().filter(|_| moved);
                let product = |a, (b, u): (Space, &VarId)| Space::product(a, b, self.extent(*u));
                Along { space: first.map(|first| parts.zip(&from[1..]).fold(first, product)), background }
            }
            Kind::Split { body, from, to } if to.0 == v => made(body, *from, &|s| Space::outer(s, self.extent(to.1))),
            Kind::Split { body, from, to } if to.1 == v => made(body, *from, &|s| Space::inner(s, self.extent(to.1))),
            Kind::Slice { body, from, to, start, end, step } if *to == v => {
                let value = |b: &Bound| self.classes.bound(b).value().and_then(|n| u64::try_from(n).ok());
                match (value(start), end.as_ref().map(value)) {
                    (Some(start), None) => {
                        made(body, *from, &|s| Space::slice(s, Cut { start, end: None, step: *step }))
                    }
                    (Some(start), Some(Some(end))) => {
                        made(body, *from, &|s| Space::slice(s, Cut { start, end: Some(end), step: *step }))
                    }
                    // Only the data say where the slice begins or ends.
                    _ => made(body, *from, &|_| everything()),
                }
            }
            Kind::Concat { parts, from, to } if *to == v => {
                self.concat(parts.iter().zip(from).map(|(part, u)| (of(part, *u), self.extent(*u))).collect())
            }
            Kind::Collapse { body, .. } | Kind::Split { body, .. } | Kind::Slice { body, .. } => of(body, v),
            Kind::Concat { parts, .. } => {
                let parts: Vec<Along> = parts.iter().map(|p| of(p, v)).collect();
                let background = common(&parts);
                Along { space: parts.into_iter().filter_map(|p| p.space).reduce(Space::or), background }
            }
        }
    }

    fn extent(&self, v: VarId) -> Size {
        self.classes.size(self.classes.class_of_var(v))
    }

    /// The levels that a bare `v` moves. Under another index map an entry can be at any coordinate.
    fn access(&self, tensor: TensorId, indices: &[Index], v: VarId) -> Along {
        let tensor = &self.program.tensors[tensor.index()];
        let level = |mode: usize| {
            let kinds = tensor.format.as_ref().map(|f| (f, f.order.iter().position(|m| *m == mode)));
            let dense = kinds
                .and_then(|(f, l)| Some(f.levels[l?].is_full() || matches!(tensor.role, Role::Computed(_))))
                .unwrap_or(true);
            Space::Level { name: format!("{}.{}", tensor.name, self.program.vars[v.index()].name), dense }
        };
        let mut space = None;
        for (mode, index) in indices.iter().enumerate() {
            let here = match index.bare() {
                Some(w) if w == v => level(mode),
                None if mentions(index, v) => return Along { space: Some(everything()), background: None },
                _ => continue,
            };
            space = Some(space.map_or(here.clone(), |s| Space::and(s, here)));
        }
        let stored = !matches!(tensor.role, Role::Computed(_));
        let background = tensor.fill.filter(|_| space.is_some() && stored);
        Along { space, background }
    }

    /// The space of a call: an intersection of the arguments whose background is an annihilator, else a union.
    fn call(&self, fun: Fun, e: &Expr, args: Vec<Along>) -> Along {
        let values: Option<Vec<Value>> = args.iter().map(|a| a.background).collect();
        let Fun::Op(op) = fun else {
            return Along { space: args.into_iter().filter_map(|a| a.space).reduce(Space::or), background: None };
        };
        let Kind::Call(_, exprs) = &e.kind else { unreachable!("called with a call") };
        let known = properties(op, exprs.get(subject(op)).map_or(e.ty, |a| a.ty), self.mode).annihilators;
        let result = |k: usize| {
            let background = args[k].background?;
            known.iter().find(|(at, x, _)| *at == k && *x == background).map(|(_, _, result)| *result)
        };
        let killed = (0..args.len()).find_map(result);
        let background = values.and_then(|v| evaluate(op, &v, self.mode)).or(killed);
        let kills: Vec<bool> = (0..args.len()).map(|k| result(k).is_some() && result(k) == background).collect();
        let any = kills.contains(&true);
        let parts = args.into_iter().zip(kills).filter(|(_, kills)| *kills || !any).filter_map(|(a, _)| a.space);
        Along { space: parts.reduce(if any { Space::and } else { Space::or }), background }
    }

    /// The concatenation of these parts. A part that does not depend on its variable is taken to fill its extent.
    fn concat(&self, parts: Vec<(Along, Size)>) -> Along {
        let (parts, extents): (Vec<Along>, Vec<Size>) = parts.into_iter().unzip();
        let background = common(&parts);
        let whole = |space: Option<Space>| space.unwrap_or_else(everything);
        let parts = parts.into_iter().map(|p| whole(p.space)).zip(extents);
        let behind = |(a, m): (Space, Size), (b, n): (Space, Size)| {
            let extent = m.plus(&n);
            (Space::concat(a, b, [m, n]), extent)
        };
        Along { space: parts.reduce(behind).map(|(s, _)| s), background }
    }
}

/// The common background of all parts, if they have one.
fn common(parts: &[Along]) -> Option<Value> {
    let first = parts.first()?.background?;
    parts.iter().all(|p| p.background == Some(first)).then_some(first)
}

/// Whether an index depends on a variable, also through a tensor that it reads.
pub(super) fn mentions(index: &Index, v: VarId) -> bool {
    fn in_map(map: &Map, v: VarId) -> bool {
        match map {
            Map::Var(w) => *w == v,
            Map::Const(_) | Map::Bound(_) => false,
            Map::Add(a, b) => in_map(a, v) || in_map(b, v),
            Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => in_map(a, v),
            Map::Gather(_, indices) => indices.iter().any(|i| mentions(i, v)),
            Map::Computed(e) => {
                let mut found = false;
                e.walk(&mut |e| match &e.kind {
                    Kind::Index(w) => found |= *w == v,
                    Kind::Access(_, indices) => found |= indices.iter().any(|i| mentions(i, v)),
                    _ => {}
                });
                found
            }
        }
    }
    in_map(&index.map, v)
}
