//! Functions, from the text that `concrete/print/function.rs` prints.

use super::deeper_than;
use crate::algebra::{Op, Type, Value};
use crate::notation::Span;
use crate::notation::typed::{Expr, FnId, Fun, Function, Kind, LocalId, Property, Set, Stmt};
use crate::text::{Operators, Read, Reading, Text, Token, applied, is_name};

/// Reads `fn …` behind the functions of the lines before.
pub(super) fn function<'t>(text: &mut Text<'t>, functions: &[Function]) -> Read<Function> {
    FunctionReader { text, functions, locals: Vec::new(), arity: 0, blocks: 0 }.function()
}

/// The type of a declared function of arguments of these types.
pub(super) fn called(f: &Function, types: &[Type]) -> Read<Type> {
    match f.takes(types) {
        true => Ok(f.result),
        false => {
            let types: Vec<_> = types.iter().map(|t| t.name()).collect();
            Err(format!("`{}` does not take ({})", f.name, types.join(", ")))
        }
    }
}

/// How many blocks and sets may stand in each other: more than in a program.
const BLOCKS: usize = 512;

struct FunctionReader<'r, 't> {
    text: &'r mut Text<'t>,
    functions: &'r [Function],
    locals: Vec<(String, Type)>,
    arity: usize,
    /// How many blocks and sets are open.
    blocks: usize,
}

/// An expression with how deep it is.
struct Term {
    expr: Expr,
    depth: usize,
}

impl<'t> Reading<'t> for FunctionReader<'_, 't> {
    fn text(&self) -> &Text<'t> {
        self.text
    }

    fn text_mut(&mut self) -> &mut Text<'t> {
        self.text
    }
}

impl<'t> FunctionReader<'_, 't> {
    fn function(mut self) -> Read<Function> {
        self.expect(Token::Word("fn"))?;
        let name = self.word()?.to_string();
        if !is_name(&name) || self.functions.iter().any(|f| f.name == name) {
            return Err(format!("`{name}` is no name of another function"));
        }
        self.sign("(")?;
        if !matches!(self.peek(), Token::Sign(";" | ")")) {
            self.list(Self::local)?;
        }
        self.arity = self.locals.len();
        if self.eat(Token::Sign(";")) {
            self.list(Self::local)?;
        }
        self.sign(")")?;
        self.sign(":")?;
        let result = self.ty()?;
        self.sign("{")?;
        let stmts = self.stmts()?;
        let value = self.of(result)?;
        self.sign("}")?;
        let mut properties = Vec::new();
        if self.eat(Token::Word("where")) {
            properties = self.list(|r| Ok((r.property(result)?, Span::default())))?;
        }
        let (locals, arity) = (self.locals, self.arity);
        Ok(Function { name, locals, arity, result, stmts, value, properties, span: Span::default() })
    }

    fn local(&mut self) -> Read<()> {
        let name = self.word()?.to_string();
        self.sign(":")?;
        let ty = self.ty()?;
        match is_name(&name) && self.find(&name).is_none() {
            true => self.locals.push((name, ty)),
            false => return Err(format!("`{name}` is no name of another local")),
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Option<(LocalId, Type)> {
        let n = self.locals.iter().position(|(l, _)| l == name)?;
        Some((LocalId(n as u32), self.locals[n].1))
    }

    /// What `read` reads, one block or set deeper.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.blocks += 1;
        if self.blocks > BLOCKS {
            return Err(format!("blocks are nested more than {BLOCKS} deep"));
        }
        let made = read(self)?;
        self.blocks -= 1;
        Ok(made)
    }

    fn block(&mut self) -> Read<Vec<Stmt>> {
        self.sign("{")?;
        let stmts = self.inside(Self::stmts)?;
        self.sign("}")?;
        Ok(stmts)
    }

    /// As many as there are.
    fn stmts(&mut self) -> Read<Vec<Stmt>> {
        let mut all = Vec::new();
        loop {
            all.push(match (self.peek(), self.ahead(1)) {
                (Token::Word("while"), _) => {
                    self.skip();
                    Stmt::While(self.of(Type::Bool)?, self.block()?)
                }
                (Token::Word("if"), _) => {
                    self.skip();
                    let (c, yes) = (self.of(Type::Bool)?, self.block()?);
                    let no = if self.eat(Token::Word("else")) { self.block()? } else { vec![] };
                    Stmt::If(c, yes, no)
                }
                (Token::Word(name), Token::Sign("=")) => {
                    let (local, ty) = self.find(name).ok_or_else(|| format!("there is no local `{name}`"))?;
                    self.skip();
                    self.skip();
                    let value = self.of(ty)?;
                    self.sign(";")?;
                    Stmt::Set(local, value)
                }
                _ => return Ok(all),
            });
        }
    }

    /// An expression of that type.
    fn of(&mut self, ty: Type) -> Read<Expr> {
        let expr = self.expr()?.expr;
        if expr.ty == ty { Ok(expr) } else { Err(format!("an expression is {}, and {ty} is needed", expr.ty)) }
    }

    fn property(&mut self, result: Type) -> Read<Property> {
        Ok(match self.word()? {
            "commutative" => Property::Commutative,
            "associative" => Property::Associative,
            "idempotent" => Property::Idempotent,
            "identity" => {
                let (v, at) = self.valued()?;
                Property::Identity(v, at)
            }
            "annihilator" => {
                let (v, at) = self.valued()?;
                Property::Annihilator(v, at)
            }
            "iterate" => {
                self.sign("(")?;
                let outer = self.blocks;
                let set = self.set()?;
                self.blocks = outer;
                self.sign(")")?;
                Property::Iterate(set)
            }
            "case" => self.case(result)?,
            "derivative" => self.derivative(result)?,
            other => return Err(format!("there is no property `{other}`")),
        })
    }

    /// `(value)`, `(value, position)`
    fn valued(&mut self) -> Read<(Value, Option<usize>)> {
        self.sign("(")?;
        let value = self.constant()?;
        let at = if self.eat(Token::Sign(",")) { Some(self.number()?) } else { None };
        self.sign(")")?;
        let fits = |n: usize| self.locals.get(n).is_some_and(|(_, ty)| n < self.arity && *ty == value.ty());
        match at.map_or(self.arity > 0 && (0..self.arity).all(fits), fits) {
            true => Ok((value, at)),
            false => Err("the value is of another type than the argument".to_string()),
        }
    }

    fn derivative(&mut self, result: Type) -> Read<Property> {
        self.sign("(")?;
        let name = self.word()?.to_string();
        let at = self.locals[..self.arity].iter().position(|(own, _)| *own == name);
        let at = at.ok_or(format!("there is no parameter `{name}`"))?;
        self.sign(")")?;
        self.sign("=")?;
        let locals = self.locals.split_off(self.arity);
        let value = self.of(result)?;
        self.locals.extend(locals);
        Ok(Property::Derivative(at, value))
    }

    fn case(&mut self, result: Type) -> Read<Property> {
        let mut n = 0;
        let patterns = self.enclosed("(", ")", |r| {
            let (name, ty) = r.locals[..r.arity].get(n).cloned().ok_or("a case has a pattern too many")?;
            n += 1;
            if r.eat(Token::Word(&name)) {
                return Ok(None);
            }
            let value = r.constant()?;
            if value.ty() == ty { Ok(Some(value)) } else { Err(format!("the pattern of `{name}` is no {ty}")) }
        })?;
        if patterns.len() != self.arity {
            return Err("a case has a pattern for each parameter".to_string());
        }
        self.sign("=")?;
        // Its expression is one of the parameters.
        let locals = self.locals.split_off(self.arity);
        let value = self.of(result)?;
        self.locals.extend(locals);
        Ok(Property::Case(patterns, value))
    }

    /// `a & b | !c`
    fn set(&mut self) -> Read<Set> {
        let mut left = self.both()?;
        while self.eat(Token::Sign("|")) {
            self.blocks += 1;
            left = Set::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Read<Set> {
        let mut left = self.inside(Self::one)?;
        while self.eat(Token::Sign("&")) {
            self.blocks += 1;
            left = Set::And(Box::new(left), Box::new(self.inside(Self::one)?));
        }
        Ok(left)
    }

    fn one(&mut self) -> Read<Set> {
        if self.eat(Token::Sign("!")) {
            return Ok(Set::Not(Box::new(self.inside(Self::one)?)));
        }
        if self.eat(Token::Sign("(")) {
            let set = self.inside(Self::set)?;
            self.sign(")")?;
            return Ok(set);
        }
        match self.word()? {
            "all" => Ok(Set::All),
            name => match self.find(name) {
                Some((LocalId(n), _)) if (n as usize) < self.arity => Ok(Set::Param(n as usize)),
                _ => Err(format!("there is no parameter `{name}`")),
            },
        }
    }

    fn made(&self, kind: Kind, ty: Type, depth: usize) -> Read<Term> {
        deeper_than(depth)?;
        Ok(Term { expr: Expr { kind, ty, span: Span::default() }, depth: depth + 1 })
    }
}

impl<'t> Operators<'t> for FunctionReader<'_, 't> {
    type Term = Term;

    fn literal(&mut self, value: Value) -> Term {
        Term { expr: Expr { kind: Kind::Literal(value), ty: value.ty(), span: Span::default() }, depth: 1 }
    }

    fn apply(&mut self, op: Op, args: Vec<Term>) -> Read<Term> {
        let types: Vec<Type> = args.iter().map(|a| a.expr.ty).collect();
        let (ty, depth) = (applied(op, &types)?, args.iter().map(|a| a.depth).max().unwrap_or(0));
        self.made(Kind::Call(Fun::Op(op), args.into_iter().map(|a| a.expr).collect()), ty, depth)
    }

    fn named(&mut self, word: &'t str) -> Read<Term> {
        if self.ahead(1) == Token::Sign("(") {
            let Some(n) = self.functions.iter().position(|f| f.name == word) else { return self.call(word) };
            self.skip();
            let args = self.enclosed("(", ")", |r| r.expr())?;
            let types: Vec<Type> = args.iter().map(|a| a.expr.ty).collect();
            let (ty, depth) = (called(&self.functions[n], &types)?, args.iter().map(|a| a.depth).max().unwrap_or(0));
            let args = args.into_iter().map(|a| a.expr).collect();
            return self.made(Kind::Call(Fun::User(FnId(n as u32)), args), ty, depth);
        }
        match self.find(word) {
            Some((local, ty)) => {
                self.skip();
                self.made(Kind::Local(local), ty, 0)
            }
            None => self.constant_term(),
        }
    }
}
