//! Programs of the whole language, as syntax trees: every item, type, level, format, fill, built-in, operator, shape
//! operator, index, property and schedule command that the language has.
//!
//! ```text
//!  bytes ─▶ Maker ─┬ items        dims, tensors as they are needed, functions, statements, schedules
//!                  ├ again        statements about what one before has defined, whole or in part
//!                  ├ block        statements that run turn after turn, and what ends them
//!                  ├ expression   of a wanted type, over the index variables in scope, each with its extent
//!                  ├ function     bodies that end, properties that hold
//!                  └ schedule     commands over the statement's variables
//!                  ─▶ Made: the tree, and what its operands are
//! ```
//!
//! Every index variable has a known extent, and each stands bare in some access, so that programs are well-typed
//! unless chance has it otherwise. With `wild` choices, one in so many names, types and integers is arbitrary: with all
//! of them wild a tree is only syntax.

mod again;
mod block;
mod constructs;
mod expression;
mod function;
mod schedule;
mod written;

pub use constructs::constructs;
pub use written::Written;

use super::fitted::fitted;
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{self, LevelKind};
use fiberloom_core::notation::syntax::*;
use fiberloom_core::notation::{Span, typed};
use std::collections::{BTreeMap, BTreeSet};

/// A program and what its operands are.
#[derive(Clone, Debug)]
pub struct Made {
    /// The program.
    pub program: Program,
    operands: Vec<Known>,
    /// Named sizes with their extents.
    sizes: Vec<(String, u64)>,
}

/// A tensor that expressions may read.
#[derive(Clone, Debug)]
struct Known {
    name: String,
    ty: Type,
    extents: Vec<u64>,
    /// Its values are coordinates below this: it is read in indices.
    below: Option<u64>,
    operand: bool,
}

/// What a function takes and gives.
struct Signature {
    name: String,
    params: Vec<Type>,
    result: Type,
    associative: bool,
}

/// The program of these bytes; one choice in `wild` is arbitrary, none if it is 0.
pub fn program(u: &mut Unstructured, wild: usize) -> Made {
    made(u, wild, false)
}

/// The program of these bytes, of constructs, levels and types whose loops can be compared with the meaning exactly, and with
/// a function at least.
pub fn lowered(u: &mut Unstructured) -> Made {
    made(u, 0, true)
}

fn made(u: &mut Unstructured, wild: usize, lowered: bool) -> Made {
    let mut m = Maker {
        u,
        wild,
        lowered,
        sizes: vec![],
        valued: BTreeSet::new(),
        tensors: vec![],
        declared: vec![],
        computes: vec![],
        functions: vec![],
        vars: vec![],
        anchored: BTreeSet::new(),
        locals: vec![],
        read: vec![],
        inside: false,
        permits: false,
        left: false,
        fresh: 0,
        results: 0,
        ended: vec![],
        counters: 0,
        in_block: false,
    };
    let mut items = vec![];
    for _ in 0..m.one(&[0, 1, 1, 2]).max(lowered as usize) {
        let f = m.function();
        items.push(Item::Function(f));
    }
    for _ in 0..m.one(&[1, 2, 1, 3]) {
        if m.chance(4) {
            let block = m.repeat(2);
            items.extend(block);
            continue;
        }
        let statement = if m.chance(4) { m.again() } else { m.statement(2) };
        let alone = !lowered && statement.schedule.is_none() && m.chance(6);
        let vars = m.names_of(&statement);
        items.push(Item::Statement(statement));
        if alone {
            // Directly behind the statement it would be the statement's own.
            let (name, value) = (m.ident(&format!("D{}", items.len())), m.int(3));
            items.push(Item::Dim(Dim { name, value: Some(value) }));
            let schedule = m.schedule(&vars);
            items.push(Item::Schedule(schedule));
        }
    }
    let declared = std::mem::take(&mut m.declared);
    let mut all: Vec<Item> = vec![];
    for (name, extent) in m.sizes.clone() {
        let said = declared.iter().any(|t| {
            let operand = t.name.name.starts_with('A') && m.computes.iter().all(|f| f.name != t.name);
            operand && t.sizes.iter().any(|s| matches!(s, Size::Name(own) if own.name == name))
        });
        if m.chance(2) || m.valued.contains(&name) && !said {
            let value = if m.chance(3) { None } else { Some(m.int(extent)) };
            all.push(Item::Dim(Dim { name: m.ident(&name), value }));
        }
    }
    all.extend(declared.into_iter().map(Item::Tensor));
    all.extend(std::mem::take(&mut m.computes).into_iter().map(Item::Function));
    all.extend(items);
    let operands = m.tensors.into_iter().filter(|t| t.operand).collect();
    Made { program: Program { items: all }, operands, sizes: m.sizes }
}

impl Made {
    /// Data for the operands of the checked program.
    pub fn operands(&self, u: &mut Unstructured, typed: &typed::Program) -> BTreeMap<String, format::Tensor<'static>> {
        let inputs = typed.inputs().into_iter().map(|id| &typed.tensors[id.index()]);
        let known = inputs.filter_map(|t| Some((t, self.operands.iter().find(|k| k.name == t.name)?)));
        known.map(|(t, k)| (t.name.clone(), k.data(u, t))).collect()
    }

    /// The values of the sizes that the caller of the checked program says.
    pub fn sizes(&self, typed: &typed::Program) -> Vec<(typed::SizeId, u64)> {
        let value = |size: typed::SizeId| {
            let name = typed.sizes[size.index()].name.as_deref();
            // Of one to which a wild choice gave another name, any.
            (size, self.sizes.iter().find(|(own, _)| name == Some(own)).map_or(1, |(_, extent)| *extent))
        };
        typed.given_sizes().map(value).collect()
    }
}

impl Known {
    fn data(&self, u: &mut Unstructured, t: &typed::Tensor) -> format::Tensor<'static> {
        let mut below = |n: usize| u.choose_index(n).unwrap_or(0);
        let mut entries = vec![];
        for cell in 0..self.extents.iter().product::<u64>() {
            let mut rest = cell;
            let mut at = vec![0; self.extents.len()];
            for (x, extent) in at.iter_mut().zip(&self.extents).rev() {
                *x = (rest % extent) as i64;
                rest /= extent;
            }
            match self.below {
                Some(n) => entries.push((at, Value::from_i128(t.ty, below(n as usize) as i128))),
                None if below(2) == 0 => entries.push((at, Value::from_i128(t.ty, below(5) as i128 - 1))),
                None => {}
            }
        }
        let fill = t.fill.unwrap_or(Value::zero(t.ty));
        let stored = |format| {
            let entries = fitted(&format, entries.clone());
            format::Tensor::from_entries(self.extents.clone(), format, fill, Type::I32, Type::I32, entries)
        };
        let declared =
            t.format.as_ref().map_or_else(|| format::Format::dense(self.extents.len()), format::Format::stored);
        // What a level cannot hold (a band with a gap, an unsymmetric matrix) is given as a dense tensor.
        stored(declared)
            .or_else(|_| stored(format::Format::dense(self.extents.len())))
            .expect("a dense tensor holds anything")
    }
}

struct Maker<'u, 'b> {
    u: &'u mut Unstructured<'b>,
    wild: usize,
    /// Only what is lowered is wanted.
    lowered: bool,
    /// Named sizes with their extents.
    sizes: Vec<(String, u64)>,
    /// Those that stand as values, or in bounds of slices: something must say their extents.
    valued: BTreeSet<String>,
    tensors: Vec<Known>,
    declared: Vec<Tensor>,
    /// Functions that give tensors.
    computes: Vec<Function>,
    functions: Vec<Signature>,
    /// Index variables in scope with their extents.
    vars: Vec<(String, u64)>,
    /// Those that some access has as a bare index: what says their extents.
    anchored: BTreeSet<String>,
    /// Parameters and locals of the function that is being made.
    locals: Vec<(String, Type)>,
    /// What the statement has read, each with a variable under which it stands, and in which mode.
    read: Vec<(String, String, usize)>,
    /// A function is being made.
    inside: bool,
    /// An index may leave its array here.
    permits: bool,
    /// A left side is being made: it has no slices in place.
    left: bool,
    fresh: usize,
    /// Tensors that statements define.
    results: usize,
    /// Locals of `where` blocks that have ended, which are declared.
    ended: Vec<Known>,
    /// Scalars that count the turns of blocks.
    counters: usize,
    /// A block is being made.
    in_block: bool,
}

const NOWHERE: Span = Span { start: 0, end: 0 };

fn named(name: impl Into<String>) -> Ident {
    Ident { name: name.into(), span: NOWHERE }
}

impl Maker<'_, '_> {
    fn below(&mut self, n: usize) -> usize {
        self.u.choose_index(n).unwrap_or(0)
    }

    /// True once in so many times, and never where bytes have ended.
    fn chance(&mut self, n: usize) -> bool {
        self.below(n) == n - 1 && !self.u.is_empty()
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn wilds(&mut self) -> bool {
        self.wild > 0 && !self.u.is_empty() && self.below(self.wild) == 0
    }

    /// This name, or any.
    fn ident(&mut self, name: &str) -> Ident {
        let odd = ["i", "j", "A", "x", "pos", "all", "none", "case", "csr", "_1", "split_up", "iterate", "E1"];
        named(if self.wilds() { self.one(&odd) } else { name })
    }

    /// This integer, or any.
    fn int(&mut self, n: u64) -> u64 {
        if self.wilds() { self.one(&[0, 1, 2, 7, 1 << 40, u64::MAX]) } else { n }
    }

    /// This type, or any.
    fn ty(&mut self, ty: Type) -> Type {
        if self.wilds() { self.one(&Type::ALL) } else { ty }
    }

    fn any_type(&mut self) -> Type {
        match self.below(3) {
            _ if self.lowered => self.one(&[Type::I64, Type::U8, Type::Bool, Type::I32, Type::F64, Type::I64]),
            0 => self.one(&[Type::I64, Type::F64, Type::Bool]),
            _ => self.one(&Type::ALL),
        }
    }

    fn new_var(&mut self) -> String {
        let letters = ["i", "j", "k", "l", "m", "n", "p", "q", "r", "s", "t", "u", "v", "w"];
        let (n, turn) = (self.fresh % letters.len(), self.fresh / letters.len());
        self.fresh += 1;
        if turn == 0 { letters[n].to_string() } else { format!("{}{turn}", letters[n]) }
    }

    fn extent(&mut self) -> u64 {
        self.one(&[3, 4, 2, 6, 1, 5, 4, 0])
    }

    fn literal(&mut self, ty: Type) -> Literal {
        if self.wilds() {
            let floats = [0.1, 1e300, 5e-324, 1e16, 123456.75, f64::MAX, -0.0, f64::NAN, f64::NEG_INFINITY];
            let n = self.one(&[u64::MAX as i128, -(u64::MAX as i128), 1 << 40]);
            let any = [Literal::Bool(true), Literal::Float(Float(self.one(&floats))), Literal::Int(n)];
            return self.one(&any);
        }
        match ty {
            Type::Bool => Literal::Bool(self.below(2) == 1),
            t if t.is_float() => {
                let any = [0.0, 1.0, -1.0, 2.5, 0.5, -3.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e9];
                Literal::Float(Float(self.one(&any)))
            }
            t => {
                let (least, most) = t.range().expect("integers have a range");
                let n = self.one(&[1, 2, 0, 3, 7, -1, -2, 100, least, most]);
                Literal::Int(n.clamp(least, most))
            }
        }
    }

    fn size(&mut self, extent: u64) -> Size {
        if self.wilds() || self.chance(4) {
            return Size::Int(self.int(extent), NOWHERE);
        }
        let same = self.sizes.iter().find(|(_, n)| *n == extent).map(|(name, _)| name.clone());
        let name = match same {
            Some(name) if !self.chance(4) => name,
            _ => {
                let name = format!("S{}", self.sizes.len());
                self.sizes.push((name.clone(), extent));
                name
            }
        };
        Size::Name(self.ident(&name))
    }

    /// A size that stands as a value, once in so many times, if there is one.
    fn sized(&mut self, n: usize) -> Option<(String, u64)> {
        if self.sizes.is_empty() || !self.chance(n) {
            return None;
        }
        let sizes = self.sizes.clone();
        let (size, extent) = self.one(&sizes);
        self.valued.insert(size.clone());
        Some((size, extent))
    }

    /// The modes of a tensor, in any order.
    fn order(&mut self, rank: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rank).collect();
        for l in (1..rank).rev() {
            let with = l - self.below(l + 1);
            order.swap(l, with);
        }
        order
    }

    /// A format for these extents, all levels of which fit where they stand.
    fn format(&mut self, extents: &[u64], result: bool) -> Format {
        let rank = extents.len();
        let names: Vec<&str> = format::NAMES.into_iter().filter(|n| format::Format::named(n, rank).is_some()).collect();
        if rank == 0 || self.below(2) == 0 {
            let name = self.one(&names);
            let ordered = format::Format::named(name, rank).is_some_and(|f| rank > 0 && f.order.is_sorted());
            let order = (ordered && self.chance(4)).then(|| self.order(rank));
            let order = order.map(|order| order.into_iter().map(|m| self.int(m as u64)).collect());
            return Format::Name { name: self.ident(name), order, span: NOWHERE };
        }
        let order = self.order(rank);
        let mut kinds: Vec<LevelKind> = vec![];
        for l in 0..rank {
            // Outside of chains a singleton holds one coordinate below each: most data have no place in it.
            let chained = result || self.lowered;
            let fits = |k: &LevelKind| {
                let made = !result || *k != LevelKind::Function;
                made && stands(*k, &kinds, chained) && (!triangular(*k) || extents[order[l]] == extents[order[l - 1]])
            };
            let fit: Vec<LevelKind> = LevelKind::ALL.into_iter().filter(fits).collect();
            kinds.push(self.one(&fit));
        }
        let levels = kinds.iter().map(|k| self.ident(k.name())).collect();
        let as_declared = order.iter().enumerate().all(|(l, m)| l == *m);
        let order: Vec<u64> = order.into_iter().map(|m| self.int(m as u64)).collect();
        Format::Levels { levels, order: (!as_declared || self.chance(4)).then_some(order), span: NOWHERE }
    }

    fn declare(&mut self, name: &str, ty: Type, extents: &[u64], result: bool) {
        let sizes = extents.iter().map(|n| self.size(*n)).collect();
        let fill = self.chance(5).then(|| (self.literal(ty), NOWHERE));
        let format = (!self.chance(6) || self.lowered && !result).then(|| self.format(extents, result));
        let (name, ty) = (self.ident(name), self.ty(ty));
        self.declared.push(Tensor { name, sort: Sort::Plain(ty), sizes, fill, format });
    }

    /// A tensor of this type and these extents that can be read: one that there is, or a new operand.
    fn tensor(&mut self, ty: Type, extents: &[u64], below: Option<u64>) -> String {
        let fits = |t: &&Known| t.ty == ty && t.extents == extents && (below.is_none() || t.below == below);
        let known: Vec<String> = self.tensors.iter().filter(fits).map(|t| t.name.clone()).collect();
        if !known.is_empty() && !self.chance(3) {
            return self.one(&known);
        }
        let name = format!("A{}", self.declared.len());
        // What a function gives is no coordinate of nothing.
        if !extents.is_empty() && !self.inside && below != Some(0) && self.chance(8) {
            self.computed(&name, ty, extents, below);
        } else {
            self.declare(&name, ty, extents, false);
        }
        let extents = extents.to_vec();
        self.tensors.push(Known { name: name.clone(), ty, extents, below, operand: true });
        name
    }

    /// A tensor that a function gives.
    fn computed(&mut self, name: &str, ty: Type, extents: &[u64], below: Option<u64>) {
        let sizes = extents.iter().map(|n| self.size(*n)).collect();
        let levels = extents.iter().map(|_| named("function")).collect();
        let format = Some(Format::Levels { levels, order: None, span: NOWHERE });
        self.declared.push(Tensor { name: named(name), sort: Sort::Plain(ty), sizes, fill: None, format });
        let params: Vec<Ident> = (0..extents.len()).map(|m| named(format!("x{m}"))).collect();
        let sum =
            params.iter().map(|p| expression::name(&p.name)).reduce(|a, b| expression::binary(BinaryOp::Add, a, b));
        let rest = expression::literal(Literal::Int(below.unwrap_or(4) as i128));
        let value = expression::binary(BinaryOp::Rem, sum.expect("it has modes"), rest);
        let body = Block { stmts: vec![], value: Box::new(expression::convert(value, ty)) };
        let params = params.into_iter().map(|p| (p, Type::I64)).collect();
        self.computes.push(Function { name: named(name), params, result: ty, body, properties: vec![] });
    }

    fn statement(&mut self, deep: usize) -> Statement {
        let (outer, before) = (std::mem::take(&mut self.vars), self.tensors.len());
        let locals: Vec<Statement> = match deep {
            0 => vec![],
            _ => (0..self.one(&[0, 0, 0, 1, 2])).map(|_| self.statement(deep - 1)).collect(),
        };
        self.read.clear();
        self.fresh = if deep < 2 { self.fresh } else { 0 };
        let again = (deep < 2 && !self.ended.is_empty() && self.chance(2)).then(|| self.ended.swap_remove(0));
        let extents = match &again {
            Some(local) => local.extents.clone(),
            None => (0..self.one(&[1, 2, 0, 3])).map(|_| self.extent()).collect(),
        };
        for extent in extents {
            let var = (self.new_var(), extent);
            self.vars.push(var);
        }
        let left = self.vars.clone();
        for _ in 0..self.one(&[0, 0, 1, 2]) {
            let var = (self.new_var(), self.extent());
            self.vars.push(var);
        }
        let ty = again.as_ref().map_or_else(|| self.any_type(), |local| local.ty);
        let folds = self.folds(ty, false);
        let op = match self.below(4) {
            0 | 1 => Assign::Set,
            2 => Assign::Add,
            _ => Assign::Fold(self.one(&folds)),
        };
        // What is accumulated into from turn to turn is declared.
        let carried = self.in_block && op != Assign::Set;
        let declared = carried || matches!(op, Assign::Fold(_)) || again.is_some() || self.below(3) > 0;
        let rhs = self.anchored(ty, !declared, |m| m.expr(ty, 4));
        let name = again.as_ref().map_or_else(|| format!("R{}", self.results), |local| local.name.clone());
        self.results += again.is_none() as usize;
        let part = op == Assign::Set && declared && again.is_none() && deep == 2 && self.chance(4);
        let (indices, extents) = match op != Assign::Set && declared && again.is_none() && self.chance(2) {
            true => self.scattered(),
            false if part => left.iter().map(|(v, n)| self.line(v, *n)).unzip(),
            false => {
                let indices = left.iter().map(|(v, _)| self.bare(v)).collect();
                (indices, left.iter().map(|(_, n)| *n).collect::<Vec<u64>>())
            }
        };
        if declared && again.is_none() {
            self.declare(&name, ty, &extents, true);
        }
        let lhs = Access { tensor: self.ident(&name), indices, span: NOWHERE };
        let vars: Vec<String> = self.vars.iter().map(|(v, _)| v.clone()).collect();
        let schedule = self.chance(4).then(|| self.schedule(&vars));
        let (stay, ended): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.tensors).into_iter().enumerate().partition(|(n, t)| *n < before || t.operand);
        self.tensors = stay.into_iter().map(|(_, t)| t).collect();
        // Their names are free for locals of other blocks, where the declaration says what they are like.
        let is_declared = |t: &Known| self.declared.iter().any(|d| d.name.name == t.name);
        self.ended.extend(ended.into_iter().map(|(_, t)| t).filter(is_declared));
        // What the rest of a part is is given.
        self.tensors.push(Known { name, ty, extents, below: None, operand: part });
        self.vars = outer;
        Statement { lhs, op, rhs, locals, schedule, span: NOWHERE }
    }

    /// A left side that is not distinct bare index variables.
    fn scattered(&mut self) -> (Vec<Index>, Vec<u64>) {
        let rank = 1 + self.below(2);
        let outer = std::mem::replace(&mut self.left, true);
        let made = (0..rank).map(|_| self.index()).unzip();
        self.left = outer;
        made
    }

    /// An index of a part over a variable of this extent, and the extent of its mode.
    fn line(&mut self, v: &str, n: u64) -> (Index, u64) {
        let term = |coefficient, factor| Term { coefficient, factor, divisions: vec![] };
        let var = Factor::Var(self.ident(v));
        match self.below(4) {
            0 => (self.bare(v), n),
            1 => {
                let (index, extent) = self.slice_in_place(v, n);
                (index, extent)
            }
            _ => {
                let (factor, start) = (self.one(&[1, 1, 2]), self.below(3) as u64);
                let terms =
                    vec![(false, term((factor > 1).then_some(factor), var)), (false, term(None, Factor::Int(start)))];
                let extent = start + n.saturating_sub(1) * factor + n.min(1) + self.below(2) as u64;
                (Index::Affine { permit: false, map: Affine { terms }, span: NOWHERE }, extent)
            }
        }
    }

    fn names_of(&self, s: &Statement) -> Vec<String> {
        let bare = |i: &Index| match i {
            Index::Affine { map, .. } => match map.terms.first().map(|t| &t.1.factor) {
                Some(Factor::Var(v)) => Some(v.name.clone()),
                _ => None,
            },
            _ => None,
        };
        s.lhs.indices.iter().filter_map(bare).collect()
    }
}

/// A level that holds a part of a square, or mirrors it.
fn triangular(k: LevelKind) -> bool {
    matches!(k, LevelKind::Lower | LevelKind::Upper | LevelKind::Symmetric)
}

/// Whether a level can stand directly below these, all singletons being in chains if that is asked for.
fn stands(k: LevelKind, above: &[LevelKind], chained: bool) -> bool {
    let chain = above.iter().rev().find(|k| **k != LevelKind::Singleton) == Some(&LevelKind::Nonunique);
    match k {
        LevelKind::Singleton => !above.is_empty() && (chain || !chained),
        k if triangular(k) => above.last() == Some(&LevelKind::Dense),
        _ => true,
    }
}
