//! Expressions of a kernel's text, typed as they are read.

use super::{Name, Reader};
use crate::print::alike;
use crate::{Expr, Kernel, Sought};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::text::{DEPTH, Operators, Read, Reading, Token, applied};

/// An expression with its type and depth.
pub(super) struct Term {
    pub expr: Expr,
    pub ty: Type,
    depth: usize,
}

impl Term {
    fn leaf(expr: Expr, ty: Type) -> Term {
        Term { expr, ty, depth: 1 }
    }

    /// A load from an `i32` buffer.
    pub fn is_narrow_load(&self, kernel: &Kernel) -> bool {
        matches!(self.expr, Expr::Load(b, _) if kernel.buffers[b.0 as usize].ty == Type::I32)
    }

    /// The expression as an `i64`, if it is a load from an `i32` buffer.
    pub fn widened(self, kernel: &Kernel) -> Term {
        match self.is_narrow_load(kernel) {
            true => {
                Term { expr: Expr::Op(Op::Convert(Type::I64), vec![self.expr]), ty: Type::I64, depth: self.depth + 1 }
            }
            false => self,
        }
    }
}

impl<'t> Operators<'t> for Reader<'t> {
    type Term = Term;

    fn literal(&mut self, value: Value) -> Term {
        Term::leaf(Expr::Const(value), value.ty())
    }

    fn named(&mut self, word: &'t str) -> Read<Term> {
        match self.ahead(1) {
            Token::Sign("[") => {
                let (b, at) = self.place_in()?;
                Ok(at.nest(|at| Expr::Load(b, Box::new(at)), self.kernel.buffers[b.0 as usize].ty))
            }
            Token::Sign("(") if word == "capacity" => self.capacity(),
            Token::Sign("(") => match Sought::named(word) {
                Some(sought) => self.among(sought),
                None => self.call(word),
            },
            _ => match self.names.get(word) {
                Some(Name::Var(v)) => {
                    let v = *v;
                    self.skip();
                    Ok(Term::leaf(Expr::Var(v), self.kernel.vars[v.0 as usize].1))
                }
                _ => self.constant_term(),
            },
        }
    }

    /// A call of a function; loads from `i32` buffers beside an `i64` are widened.
    fn apply(&mut self, op: Op, args: Vec<Term>) -> Read<Term> {
        let group = alike(op, args.len());
        let wide = group.clone().any(|i| args.get(i).is_some_and(|a| a.ty == Type::I64));
        let args: Vec<Term> = args
            .into_iter()
            .enumerate()
            .map(|(i, a)| if wide && group.contains(&i) { a.widened(&self.kernel) } else { a })
            .collect();
        let types: Vec<Type> = args.iter().map(|a| a.ty).collect();
        let depth = 1 + args.iter().map(|a| a.depth).max().unwrap_or(0);
        let ty = applied(op, &types)?;
        if depth > DEPTH {
            return Err(format!("an expression is nested more than {DEPTH} deep"));
        }
        Ok(Term { expr: Expr::Op(op, args.into_iter().map(|a| a.expr).collect()), ty, depth })
    }
}

impl Reader<'_> {
    fn place_in(&mut self) -> Read<(crate::BufferId, Term)> {
        let b = self.buffer()?;
        self.sign("[")?;
        let at = self.wide()?;
        self.sign("]")?;
        Ok((b, at))
    }

    /// An index: an `i64`, or a load that is widened to one.
    fn wide(&mut self) -> Read<Term> {
        let term = self.expr()?.widened(&self.kernel);
        match term.ty {
            Type::I64 => Ok(term),
            ty => Err(format!("an index is i64, this is {ty}")),
        }
    }

    /// `among(b[begin..end], target)`, or another search.
    fn among(&mut self, sought: Sought) -> Read<Term> {
        self.skip();
        self.sign("(")?;
        let b = self.buffer()?;
        self.sign("[")?;
        let begin = self.wide()?;
        self.sign("..")?;
        let end = self.wide()?;
        self.sign("]")?;
        self.sign(",")?;
        let target = self.wide()?;
        self.sign(")")?;
        let depth = 1 + begin.depth.max(end.depth).max(target.depth);
        if depth > DEPTH {
            return Err(format!("an expression is nested more than {DEPTH} deep"));
        }
        let parts = Box::new([begin.expr, end.expr, target.expr]);
        Ok(Term { expr: Expr::Among(sought, b, parts), ty: Type::I64, depth })
    }

    fn capacity(&mut self) -> Read<Term> {
        self.skip();
        self.sign("(")?;
        let b = self.buffer()?;
        self.sign(")")?;
        Ok(Term::leaf(Expr::Capacity(b), Type::I64))
    }
}

impl Term {
    /// The term inside of another expression.
    fn nest(self, outer: impl FnOnce(Expr) -> Expr, ty: Type) -> Term {
        Term { expr: outer(self.expr), ty, depth: self.depth + 1 }
    }
}
