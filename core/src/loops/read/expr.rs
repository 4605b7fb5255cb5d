//! Expressions of a kernel's text, typed as they are read.

use super::lex::Token;
use super::{Name, Read, Reader};
use crate::algebra::{Op, Type, Value, result_type};
use crate::loops::check::DEPTH;
use crate::loops::print::{COMPARISON, alike, infix};
use crate::loops::{Expr, Kernel};

/// An expression with its type and how deep it is.
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

    /// As an `i64`, if it is a load from an `i32` buffer.
    pub fn widened(self, kernel: &Kernel) -> Term {
        match self.is_narrow_load(kernel) {
            true => {
                Term { expr: Expr::Op(Op::Convert(Type::I64), vec![self.expr]), ty: Type::I64, depth: self.depth + 1 }
            }
            false => self,
        }
    }
}

impl Reader<'_> {
    /// An expression of any type.
    pub(super) fn expr(&mut self) -> Read<Term> {
        self.binary(0)
    }

    /// Operators that bind at least as tightly as `least`, from the left.
    fn binary(&mut self, least: u8) -> Read<Term> {
        let mut left = self.unary()?;
        loop {
            let Some((op, binds)) = self.operator().filter(|(_, binds)| *binds >= least) else { return Ok(left) };
            self.at += 1;
            let right = self.binary(binds + 1)?;
            left = self.apply(op, vec![left, right])?;
            if binds == COMPARISON && self.operator().is_some_and(|(_, b)| b == COMPARISON) {
                return Err("comparisons do not chain: put one of them in parentheses".into());
            }
        }
    }

    fn operator(&self) -> Option<(Op, u8)> {
        let Token::Sign(sign) = self.peek() else { return None };
        Op::all().find_map(|op| infix(op).filter(|(symbol, _)| *symbol == sign).map(|(_, binds)| (op, binds)))
    }

    fn unary(&mut self) -> Read<Term> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("an expression is nested more than {DEPTH} deep"));
        }
        let term = self.prefixed();
        self.depth -= 1;
        term
    }

    fn prefixed(&mut self) -> Read<Term> {
        let number = matches!(self.ahead(1), Token::Number(_) | Token::Word("inf" | "inff32"));
        match self.peek() {
            Token::Sign("-") if number => self.constant().map(|x| Term::leaf(Expr::Const(x), x.ty())),
            Token::Sign("-") => {
                self.at += 1;
                let arg = self.unary()?;
                self.apply(Op::Neg, vec![arg])
            }
            Token::Sign("!") => {
                self.at += 1;
                let arg = self.unary()?;
                self.apply(Op::Not, vec![arg])
            }
            Token::Sign("(") => {
                self.at += 1;
                let term = self.expr()?;
                self.sign(")")?;
                Ok(term)
            }
            _ => self.atom(),
        }
    }

    fn atom(&mut self) -> Read<Term> {
        let Token::Word(word) = self.peek() else {
            return self.constant().map(|x| Term::leaf(Expr::Const(x), x.ty()));
        };
        match self.ahead(1) {
            Token::Sign("[") => {
                let (b, at) = self.place_in()?;
                Ok(at.nest(|at| Expr::Load(b, Box::new(at)), self.kernel.buffers[b.0 as usize].ty))
            }
            Token::Sign("(") if matches!(self.ahead(2), Token::Number(n) if n.starts_with("0x")) => {
                self.constant().map(|x| Term::leaf(Expr::Const(x), x.ty()))
            }
            Token::Sign("(") => self.call(word),
            _ => match self.names.get(word) {
                Some(Name::Var(v)) => {
                    self.at += 1;
                    Ok(Term::leaf(Expr::Var(*v), self.kernel.vars[v.0 as usize].1))
                }
                _ => self.constant().map(|x| Term::leaf(Expr::Const(x), x.ty())),
            },
        }
    }

    fn place_in(&mut self) -> Read<(crate::loops::BufferId, Term)> {
        let b = self.buffer()?;
        self.sign("[")?;
        let at = self.expr()?.widened(&self.kernel);
        self.sign("]")?;
        match at.ty {
            Type::I64 => Ok((b, at)),
            ty => Err(format!("an index is i64, this is {ty}")),
        }
    }

    fn call(&mut self, word: &str) -> Read<Term> {
        self.at += 1;
        if word == "capacity" {
            self.sign("(")?;
            let b = self.buffer()?;
            self.sign(")")?;
            return Ok(Term::leaf(Expr::Capacity(b), Type::I64));
        }
        let named = || Op::all().find(|op| op.name() == word && !matches!(op, Op::Convert(_) | Op::Neg | Op::Not));
        let op = Type::from_name(word).map(Op::Convert).or_else(named);
        let op = op.ok_or_else(|| format!("there is no function `{word}`"))?;
        let args = self.enclosed("(", ")", |r| r.expr())?;
        self.apply(op, args)
    }

    /// The function applied; loads from `i32` buffers beside an `i64` are widened.
    fn apply(&self, op: Op, args: Vec<Term>) -> Read<Term> {
        let group = alike(op, args.len());
        let wide = group.clone().any(|i| args.get(i).is_some_and(|a| a.ty == Type::I64));
        let args: Vec<Term> = args
            .into_iter()
            .enumerate()
            .map(|(i, a)| if wide && group.contains(&i) { a.widened(&self.kernel) } else { a })
            .collect();
        let types: Vec<Type> = args.iter().map(|a| a.ty).collect();
        let depth = 1 + args.iter().map(|a| a.depth).max().unwrap_or(0);
        let Some(ty) = result_type(op, &types) else {
            let types: Vec<_> = types.iter().map(|t| t.name()).collect();
            return Err(format!("`{}` does not take ({})", op.name(), types.join(", ")));
        };
        if depth > DEPTH {
            return Err(format!("an expression is nested more than {DEPTH} deep"));
        }
        Ok(Term { expr: Expr::Op(op, args.into_iter().map(|a| a.expr).collect()), ty, depth })
    }

    /// A literal: `-1`, `1.5f32`, `inf`, `true`, or the bits of a NaN: `f64(0x7ff8000000000001)`.
    pub(super) fn constant(&mut self) -> Read<Value> {
        let negative = self.eat(Token::Sign("-"));
        let token = self.peek();
        self.at += 1;
        let value = match token {
            Token::Number(text) => number(text, negative),
            Token::Word("inf") => {
                Some(Value::from_f64(Type::F64, if negative { -f64::INFINITY } else { f64::INFINITY }))
            }
            Token::Word("inff32") => {
                Some(Value::from_f64(Type::F32, if negative { -f64::INFINITY } else { f64::INFINITY }))
            }
            Token::Word("nan") if !negative => Some(Value::from_f64(Type::F64, f64::NAN)),
            Token::Word("nanf32") if !negative => Some(Value::from_f64(Type::F32, f64::NAN)),
            Token::Word("true") if !negative => Some(Value::bool(true)),
            Token::Word("false") if !negative => Some(Value::bool(false)),
            Token::Word(word @ ("f32" | "f64")) if !negative => return self.bits(word),
            _ => None,
        };
        value.ok_or_else(|| match token {
            Token::Word(word) => format!("there is no variable `{word}` before this line"),
            _ => format!("expected a value, found {token}"),
        })
    }

    fn bits(&mut self, word: &str) -> Read<Value> {
        self.sign("(")?;
        let token = self.peek();
        let Token::Number(text) = token else { return Err(format!("expected bits, found {token}")) };
        self.at += 1;
        let bits = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        self.sign(")")?;
        match (word, bits) {
            ("f64", Some(bits)) => Ok(Value::from_bits(Type::F64, bits)),
            ("f32", Some(bits)) if bits <= u32::MAX as u64 => Ok(Value::from_bits(Type::F32, bits)),
            _ => Err(format!("`{text}` are no bits of an {word}")),
        }
    }
}

impl Term {
    /// This inside another expression.
    fn nest(self, outer: impl FnOnce(Expr) -> Expr, ty: Type) -> Term {
        Term { expr: outer(self.expr), ty, depth: self.depth + 1 }
    }
}

/// A number with its type behind it: an `i64` or, with a fraction or an exponent, an `f64` if none is.
fn number(text: &str, negative: bool) -> Option<Value> {
    let suffix = Type::ALL.into_iter().find(|t| text.ends_with(t.name()) && *t != Type::Bool);
    let digits = suffix.map_or(text, |t| &text[..text.len() - t.name().len()]);
    let float = digits.contains(['.', 'e']);
    let sign = if negative { "-" } else { "" };
    let signed = format!("{sign}{digits}");
    match suffix.unwrap_or(if float { Type::F64 } else { Type::I64 }) {
        Type::F64 => signed.parse::<f64>().ok().map(|x| Value::from_f64(Type::F64, x)),
        Type::F32 => signed.parse::<f32>().ok().map(|x| Value::from_f64(Type::F32, x as f64)),
        ty => {
            let x: i128 = signed.parse().ok()?;
            let (least, greatest) = ty.range()?;
            (least..=greatest).contains(&x).then(|| Value::from_i128(ty, x))
        }
    }
}
