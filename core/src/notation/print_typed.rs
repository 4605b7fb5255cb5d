//! The typed program as text, for `show notation`: names resolved, sums spelled out, everything in parentheses.
//!
//! ```text
//!  input A: f64[I, J] {dense, compressed}
//!  result y: f64[I] {dense}
//!  y[i] = sum(j: mul(A[i, j], x[j]))
//! ```
//!
//! It is read by people, not by the parser: two variables that share a name are told apart by their numbers (`j.3`).

use super::typed::*;
use crate::algebra::Op;
use crate::stack::with_room;
use std::fmt::{Display, Formatter, Result};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        with_room(|| self.print(f))
    }
}

impl Program {
    fn print(&self, f: &mut Formatter<'_>) -> Result {
        for (id, tensor) in self.tensors.iter().enumerate() {
            write!(f, "{} ", format!("{:?}", tensor.role).to_lowercase())?;
            let sizes: Vec<String> = tensor.sizes.iter().map(|s| self.size(*s)).collect();
            write!(f, "{}: {}[{}]", self.tensor_name(TensorId(id as u32)), tensor.ty, sizes.join(", "))?;
            match tensor.fill {
                Some(fill) if fill.bits() == 0 => {}
                Some(fill) => write!(f, " fill {fill}")?,
                None => write!(f, " fill ?")?,
            }
            match &tensor.format {
                Some(format) => writeln!(f, " {format}")?,
                None => writeln!(f, " ?")?,
            }
        }
        for function in &self.functions {
            let locals = function.locals[..function.arity].iter().map(|(name, ty)| format!("{name}: {ty}"));
            let params: Vec<String> = locals.collect();
            writeln!(f, "fn {}({}) -> {}", function.name, params.join(", "), function.result)?;
        }
        self.order.iter().try_for_each(|step| self.step(step, 0, f))
    }
}

impl Program {
    /// A step, `depth` blocks deep.
    fn step(&self, step: &Step, depth: usize, f: &mut Formatter<'_>) -> Result {
        write!(f, "{:1$}", "", 2 * depth)?;
        match step {
            Step::Statement(n) => self.statement(&self.statements[*n], f),
            Step::Repeat(Repeat { turns, body, .. }) => {
                match turns {
                    Turns::Count(n) => writeln!(f, "repeat {n} {{")?,
                    Turns::Extent(size, _) => writeln!(f, "repeat {} {{", self.size(*size))?,
                    Turns::While(condition) => writeln!(f, "while {} {{", self.expr(condition))?,
                }
                body.iter().try_for_each(|step| self.step(step, depth + 1, f))?;
                writeln!(f, "{:1$}}}", "", 2 * depth)
            }
        }
    }

    fn statement(&self, s: &Statement, f: &mut Formatter<'_>) -> Result {
        let fold = match s.fold {
            None => "=".to_string(),
            Some(Fun::Op(Op::Add)) => "+=".to_string(),
            Some(fun) => format!("{}=", self.fun(fun)),
        };
        write!(f, "{}{} {fold} ", self.tensor_name(s.tensor), self.indices(&s.indices))?;
        match &*s.folded {
            [] => writeln!(f, "{}", self.expr(&s.rhs)),
            folded => writeln!(f, "{} over {}", self.expr(&s.rhs), self.vars(folded)),
        }
    }

    fn size(&self, id: SizeId) -> String {
        let size = &self.sizes[id.index()];
        match (&size.name, size.value) {
            (Some(name), Some(value)) => format!("{name} = {value}"),
            (Some(name), None) => name.clone(),
            (None, Some(value)) => value.to_string(),
            (None, None) => "?".to_string(),
        }
    }

    fn size_name(&self, id: SizeId) -> String {
        self.sizes[id.index()].name.clone().unwrap_or_else(|| self.size(id))
    }

    pub(crate) fn tensor_name(&self, id: TensorId) -> String {
        told_apart(&self.tensors, id.index(), |t| &t.name)
    }

    fn var(&self, id: VarId) -> String {
        told_apart(&self.vars, id.index(), |v| &v.name)
    }

    pub(crate) fn vars(&self, ids: &[VarId]) -> String {
        ids.iter().map(|v| self.var(*v)).collect::<Vec<_>>().join(", ")
    }

    fn fun(&self, fun: Fun) -> String {
        match fun {
            Fun::Op(op) => op.name().to_string(),
            Fun::User(id) => self.functions[id.index()].name.clone(),
        }
    }

    fn indices(&self, indices: &[Index]) -> String {
        let index = |i: &Index| format!("{}{}", if i.permit { "~" } else { "" }, self.map(&i.map));
        format!("[{}]", indices.iter().map(index).collect::<Vec<_>>().join(", "))
    }

    fn map(&self, map: &Map) -> String {
        match map {
            Map::Var(v) => self.var(*v),
            Map::Const(c) => c.to_string(),
            Map::Bound(bound) => format!("({})", self.bound(bound)),
            Map::Add(a, b) => format!("({} + {})", self.map(a), self.map(b)),
            Map::Mul(c, a) => format!("{c}*{}", self.map(a)),
            Map::Div(a, c) => format!("{}/{c}", self.map(a)),
            Map::Mod(a, c) => format!("{}%{c}", self.map(a)),
            Map::Computed(e) => self.expr(e),
            Map::Gather(t, indices) => format!("{}{}", self.tensor_name(*t), self.indices(indices)),
        }
    }

    fn bound(&self, bound: &Bound) -> String {
        let term = |(factor, size): &(i64, SizeId)| match factor {
            1 => self.size_name(*size),
            factor => format!("{factor}*{}", self.size_name(*size)),
        };
        let constant = (bound.constant != 0 || bound.terms.is_empty()).then(|| bound.constant.to_string());
        bound.terms.iter().map(term).chain(constant).collect::<Vec<_>>().join(" + ")
    }

    pub(crate) fn expr(&self, e: &Expr) -> String {
        let list = |parts: &[Expr]| parts.iter().map(|p| self.expr(p)).collect::<Vec<_>>().join(", ");
        match &e.kind {
            Kind::Literal(value) => format!("{value}{}", e.ty),
            Kind::Index(v) => self.var(*v),
            Kind::Size(s) => self.size_name(*s),
            Kind::Local(l) => format!("local {}", l.0),
            Kind::Access(t, indices) => format!("{}{}", self.tensor_name(*t), self.indices(indices)),
            Kind::Call(Fun::Op(Op::Convert(ty)), args) => format!("convert({}, {ty})", list(args)),
            Kind::Call(Fun::Op(op), args) if args.len() == 2 && !op.name().starts_with(char::is_alphabetic) => {
                format!("({} {} {})", self.expr(&args[0]), op.name(), self.expr(&args[1]))
            }
            Kind::Call(fun, args) => format!("{}({})", self.fun(*fun), list(args)),
            Kind::Reduce { fun, vars, body, start } => {
                let name = match fun {
                    Fun::Op(Op::Add) => "sum".to_string(),
                    Fun::Op(Op::Mul) => "prod".to_string(),
                    fun => self.fun(*fun),
                };
                let start = start.as_ref().map_or(String::new(), |s| format!(" start {}", self.expr(s)));
                format!("{name}({}: {}{start})", self.vars(vars), self.expr(body))
            }
            Kind::Collapse { body, from, to } => {
                format!("collapse({}, ({}) -> {})", self.expr(body), self.vars(from), self.var(*to))
            }
            Kind::Split { body, from, to } => {
                let (from, to) = (self.var(*from), self.vars(&[to.0, to.1]));
                format!("split({}, {from} -> ({to}))", self.expr(body))
            }
            Kind::Concat { parts, from, to } => {
                format!("concat(({}), ({}) -> {})", list(parts), self.vars(from), self.var(*to))
            }
            Kind::Slice { body, from, to, start, end, step } => {
                let (start, end) = (self.bound(start), end.as_ref().map_or(String::new(), |e| self.bound(e)));
                let (body, from, to) = (self.expr(body), self.var(*from), self.var(*to));
                format!("slice({body}, {from} -> {to}, {start}:{end}:{step})")
            }
        }
    }
}

/// The name of a thing, with its number if another has the same name.
fn told_apart<T>(things: &[T], at: usize, name: impl Fn(&T) -> &String) -> String {
    let own = name(&things[at]);
    if things.iter().filter(|t| name(t) == own).count() == 1 { own.clone() } else { format!("{own}.{at}") }
}
