//! The reader of kernels' text as `loops/print.rs` prints it: recursive descent with types.
//!
//! ```text
//!  text ──lex──▶ tokens with lines ──▶ header: names and types ──▶ statements, expressions ──▶ Kernel
//! ```
//!
//! Words such as `for` or `alloc` are not reserved: a statement begins with such a keyword exactly if it is not followed by `=`, `:` or
//! `[`. The reader checks types; [`super::check`] checks the rest.
mod expr;

use super::check::NESTING;
use super::print::KINDS;
use super::{
    Argument, Buffer, BufferId, Claim, Deal, Entry, Expr, Failure, Hints, How, Joined, Kernel, LevelBuffers, Role,
    Stmt, Var,
};
use expr::Term;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::LevelKind;
use fiberloom_core::notation::typed::{SizeId, TensorId, VarId};
use fiberloom_core::text::{Operators, Read, Reading, Text, Token};
use std::collections::{BTreeMap, HashMap};

/// Reads the kernel of a text.
///
/// # Errors
/// `line N: ` and what is wrong there.
pub fn read(text: &str) -> Result<Kernel, String> {
    let mut reader = Reader { text: Text::of(text)?, kernel: empty(), names: HashMap::new() };
    reader.located(Reader::kernel)?;
    Ok(reader.kernel)
}

fn empty() -> Kernel {
    let (vars, params, buffers, body, arguments, solved, given) = Default::default();
    Kernel {
        name: String::new(),
        vars,
        params,
        buffers,
        body,
        arguments,
        solved,
        given,
        reassociate: false,
        hints: BTreeMap::new(),
    }
}

/// The meaning of a name.
#[derive(Clone, Copy)]
enum Name {
    Var(Var),
    Buffer(BufferId),
}

struct Reader<'t> {
    text: Text<'t>,
    kernel: Kernel,
    names: HashMap<&'t str, Name>,
}

impl<'t> Reading<'t> for Reader<'t> {
    fn text(&self) -> &Text<'t> {
        &self.text
    }

    fn text_mut(&mut self) -> &mut Text<'t> {
        &mut self.text
    }
}

impl<'t> Reader<'t> {
    fn kernel(&mut self) -> Read<()> {
        self.expect(Token::Word("kernel"))?;
        self.kernel.name = self.word()?.to_string();
        self.kernel.params = self.enclosed("(", ")", |r| {
            let name = r.word()?;
            r.new_var(name, Type::I64)
        })?;
        self.kernel.reassociate = self.eat(Token::Word("reassociate"));
        while let (Token::Word(word), Token::Word(_)) = (self.peek(), self.ahead(1)) {
            match KINDS.into_iter().find(|(.., name)| *name == word) {
                Some((role, private, _)) => self.located(|r| r.buffers(role, private))?,
                None if matches!(word, "in" | "out") => self.located(Reader::argument)?,
                None if word == "solved" => self.located(|r| {
                    let solved = r.numbered()?;
                    r.kernel.solved.extend(solved.into_iter().map(|(v, of)| (v, VarId(of))));
                    Ok(())
                })?,
                None if word == "given" => self.located(|r| {
                    let given = r.numbered()?;
                    r.kernel.given.extend(given.into_iter().map(|(v, of)| (v, SizeId(of))));
                    Ok(())
                })?,
                None => break,
            }
        }
        self.kernel.body = self.block(NESTING)?;
        self.located(|r| r.expect(Token::End))
    }

    fn buffers(&mut self, role: Role, private: bool) -> Read<()> {
        self.skip();
        self.list(|r| {
            let name = r.word()?;
            r.sign(":")?;
            let ty = r.ty()?;
            r.kernel.buffers.push(Buffer { name: name.to_string(), ty, role, private });
            let id = BufferId(r.kernel.buffers.len() as u32 - 1);
            r.define(name, Name::Buffer(id))
        })?;
        Ok(())
    }

    /// Reads parameters behind a word, each with its number.
    fn numbered(&mut self) -> Read<Vec<(Var, u32)>> {
        self.skip();
        self.list(|r| {
            let name = r.word()?;
            let v = r.var(name)?;
            r.sign("@")?;
            Ok((v, r.number()?))
        })
    }

    fn argument(&mut self) -> Read<()> {
        let operand = self.word()? == "in";
        let name = self.word()?.to_string();
        self.sign("@")?;
        let tensor = TensorId(self.number()?);
        self.sign(":")?;
        let ty = self.ty()?;
        let extents = self.enclosed("[", "]", |r| {
            let name = r.word()?;
            r.var(name)
        })?;
        let fill = if self.eat(Token::Word("fill")) { self.constant()? } else { Value::zero(ty) };
        let format = self.format()?;
        self.expect(Token::Word("at"))?;
        let levels = (0..format.rank()).map(|_| self.level()).collect::<Read<Vec<_>>>()?;
        let values = self.buffer()?;
        self.kernel.arguments.push(Argument { tensor, name, ty, format, fill, extents, levels, values, operand });
        Ok(())
    }

    fn level(&mut self) -> Read<LevelBuffers> {
        let name = self.word()?;
        let unknown = || format!("expected a kind of level such as `dense` or `compressed(…)`, found `{name}`");
        let kind = LevelKind::from_name(name).ok_or_else(unknown)?;
        let mut first = true;
        let level = LevelBuffers::of(kind, |_, _| {
            self.sign(if std::mem::take(&mut first) { "(" } else { "," })?;
            self.buffer()
        })?;
        if !first {
            self.sign(")")?;
        }
        self.sign(",")?;
        level.ok_or_else(unknown)
    }

    fn define(&mut self, name: &'t str, what: Name) -> Read<()> {
        match self.names.insert(name, what) {
            None => Ok(()),
            Some(_) => Err(format!("`{name}` is defined twice")),
        }
    }

    fn new_var(&mut self, name: &'t str, ty: Type) -> Read<Var> {
        let v = Var(self.kernel.vars.len() as u32);
        self.kernel.vars.push((name.to_string(), ty));
        self.define(name, Name::Var(v))?;
        Ok(v)
    }

    fn var(&mut self, name: &str) -> Read<Var> {
        match self.names.get(name) {
            Some(Name::Var(v)) => Ok(*v),
            Some(Name::Buffer(_)) => Err(format!("`{name}` is a buffer, not a variable")),
            None => Err(format!("there is no variable `{name}` before this line")),
        }
    }

    fn buffer(&mut self) -> Read<BufferId> {
        let name = self.word()?;
        match self.names.get(name) {
            Some(Name::Buffer(b)) => Ok(*b),
            _ => Err(format!("there is no buffer `{name}`")),
        }
    }

    /// Reads statements up to a closing brace or the end.
    fn block(&mut self, nesting: usize) -> Read<Vec<Stmt>> {
        let Some(nesting) = nesting.checked_sub(1) else {
            return Err(format!("blocks are nested more than {NESTING} deep"));
        };
        let mut stmts = vec![];
        while !matches!(self.peek(), Token::End | Token::Sign("}")) {
            stmts.push(self.located(|r| r.stmt(nesting))?);
        }
        Ok(stmts)
    }

    fn braces(&mut self, nesting: usize) -> Read<Vec<Stmt>> {
        self.sign("{")?;
        let stmts = self.block(nesting)?;
        self.sign("}")?;
        Ok(stmts)
    }

    fn stmt(&mut self, nesting: usize) -> Read<Stmt> {
        if let Token::Comment(text) = self.peek() {
            self.skip();
            return Ok(Stmt::Comment(text.to_string()));
        }
        let word = self.word()?;
        match (self.peek(), word) {
            (Token::Sign("=" | ":"), _) => {
                let (v, e) = self.set(word)?;
                Ok(Stmt::Set(v, e))
            }
            (Token::Sign("["), _) => {
                self.back();
                let (b, at) = self.place()?;
                self.sign("=")?;
                let value = self.expr()?;
                let ty = self.kernel.buffers[b.0 as usize].ty;
                Ok(Stmt::Store(b, at, self.needed(value, ty)?))
            }
            (_, "let") => {
                let name = self.word()?;
                let (v, e) = self.set(name)?;
                Ok(Stmt::Let(v, e))
            }
            (_, "if") => self.branch(nesting),
            (_, "while") => {
                let condition = self.condition()?;
                Ok(Stmt::While(condition, self.braces(nesting)?))
            }
            (_, "for") => self.each(How::Serial, nesting),
            (Token::Word("for"), "vector" | "parallel") => {
                self.skip();
                self.each(if word == "vector" { How::Vector } else { How::apart() }, nesting)
            }
            (
                Token::Word("for" | "vector" | "parallel" | "lanes" | "apart" | "racing" | "temporary" | "seamed"),
                "block" | "warp" | "lane" | "lanes" | "apart" | "racing" | "temporary" | "seamed",
            )
            | (Token::Number(_), "unroll") => self.hints(word, nesting),
            _ => self.entry(word).map(Stmt::Call),
        }
    }

    /// Reads `unroll 4 for …`, `block for …`, `apart for …`, `lanes for …`, `unroll 4 lanes for …`, also with `vector` or `parallel` before `for`.
    fn hints(&mut self, word: &str, nesting: usize) -> Read<Stmt> {
        let unroll = if word == "unroll" { self.number()? } else { 0 };
        let deal = Deal::ALL.into_iter().find(|deal| word == deal.name() || self.eat(Token::Word(deal.name())));
        let claim = Claim::ALL.into_iter().find(|claim| word == claim.name() || self.eat(Token::Word(claim.name())));
        let claim = claim.unwrap_or_default();
        let seamed = word == "seamed" || self.eat(Token::Word("seamed"));
        let lanes = word == "lanes" || self.eat(Token::Word("lanes"));
        let how = if self.eat(Token::Word("vector")) {
            How::Vector
        } else if self.eat(Token::Word("parallel")) {
            How::apart()
        } else {
            How::Serial
        };
        self.expect(Token::Word("for"))?;
        let made = self.each(how, nesting)?;
        if let Stmt::For { var, .. } = &made {
            let hints = Hints { unroll, lanes, deal, claim, seamed };
            // `unroll 0` asks for nothing.
            self.kernel.hints.extend((hints != Hints::default()).then_some((*var, hints)));
        }
        Ok(made)
    }

    fn condition(&mut self) -> Read<Expr> {
        let e = self.expr()?;
        self.needed(e, Type::Bool)
    }

    fn index(&mut self) -> Read<Expr> {
        let e = self.expr()?;
        self.needed(e, Type::I64)
    }

    /// Reads `= e` or `: type = e`, behind the name.
    fn set(&mut self, name: &'t str) -> Read<(Var, Expr)> {
        let ty = if self.eat(Token::Sign(":")) { Some(self.ty()?) } else { None };
        self.sign("=")?;
        let value = self.expr()?;
        let v = match self.names.contains_key(name) {
            true => self.var(name)?,
            false => {
                let natural = if value.is_narrow_load(&self.kernel) { Type::I64 } else { value.ty };
                self.new_var(name, ty.unwrap_or(natural))?
            }
        };
        let has = self.kernel.vars[v.0 as usize].1;
        match ty {
            Some(ty) if ty != has => Err(format!("`{name}` is {has}, not {ty}")),
            _ => Ok((v, self.needed(value, has)?)),
        }
    }

    fn branch(&mut self, nesting: usize) -> Read<Stmt> {
        let condition = self.condition()?;
        let yes = self.braces(nesting)?;
        let no = match self.eat(Token::Word("else")) {
            false => vec![],
            true if self.eat(Token::Word("if")) => {
                let nesting = nesting.checked_sub(1).ok_or_else(|| format!("more than {NESTING} `else if`"))?;
                vec![self.branch(nesting)?]
            }
            true => self.braces(nesting)?,
        };
        Ok(Stmt::If(condition, yes, no))
    }

    fn each(&mut self, mut how: How, nesting: usize) -> Read<Stmt> {
        let name = self.word()?;
        self.expect(Token::Word("in"))?;
        let (lo, hi) = self.extent()?;
        let var = if self.names.contains_key(name) { self.var(name)? } else { self.new_var(name, Type::I64)? };
        if let How::Parallel { own, joined, folded, arrays } = &mut how {
            if self.eat(Token::Word("with")) {
                self.list(|r| r.buffer().map(|b| own.push(b)))?;
            }
            if self.eat(Token::Word("joining")) {
                self.list(|r| r.joined().map(|j| joined.push(j)))?;
            }
            if self.eat(Token::Word("folding")) {
                self.list(|r| {
                    let name = r.word()?;
                    match r.names.get(name) {
                        Some(Name::Buffer(b)) => arrays.push(*b),
                        _ => folded.push(r.var(name)?),
                    }
                    Ok(())
                })?;
            }
        }
        let body = self.braces(nesting)?;
        Ok(Stmt::For { var, lo, hi, how, body })
    }

    /// Reads `array[from]`, or `array[from] = counter`.
    fn joined(&mut self) -> Read<Joined> {
        let (array, from) = self.place()?;
        let holds = if self.eat(Token::Sign("=")) { Some(self.word()?) } else { None };
        Ok(Joined { array, from, holds: holds.map(|name| self.var(name)).transpose()? })
    }

    fn extent(&mut self) -> Read<(Expr, Expr)> {
        let lo = self.index()?;
        self.sign("..")?;
        Ok((lo, self.index()?))
    }

    /// Reads `buffer[index]`.
    fn place(&mut self) -> Read<(BufferId, Expr)> {
        let b = self.buffer()?;
        self.sign("[")?;
        let at = self.index()?;
        self.sign("]")?;
        Ok((b, at))
    }

    fn entry(&mut self, word: &str) -> Read<Entry> {
        match word {
            "alloc" => {
                let (buffer, len) = self.place()?;
                let fill = if self.eat(Token::Sign("=")) { Some(self.constant()?) } else { None };
                Ok(Entry::Alloc { buffer, len, fill })
            }
            "reserve" => self.place().map(|(buffer, len)| Entry::Reserve { buffer, len }),
            "finish" => self.place().map(|(buffer, len)| Entry::Finish { buffer, len }),
            "move" => {
                let to = self.buffer()?;
                self.expect(Token::Word("from"))?;
                Ok(Entry::Move { to, from: self.buffer()? })
            }
            "sort" => self.sort(),
            "fail" => {
                let word = self.word()?;
                let failure = Failure::ALL.into_iter().find(|f| f.name() == word);
                failure.map(Entry::Fail).ok_or_else(|| format!("`{word}` is no failure"))
            }
            _ => Err(format!("expected a statement, found `{word}` and {}", self.peek())),
        }
    }

    fn sort(&mut self) -> Read<Entry> {
        let keys = self.buffer()?;
        self.sign("[")?;
        let (lo, hi) = self.extent()?;
        self.sign("]")?;
        if lo != Expr::Const(Value::i64(0)) {
            return Err("sorting begins at 0".into());
        }
        if self.eat(Token::Word("into")) {
            let (into, at) = self.place()?;
            return Ok(Entry::SortInto { keys, into, at, len: hi });
        }
        self.expect(Token::Word("with"))?;
        Ok(Entry::Sort { keys, order: self.buffer()?, len: hi })
    }

    /// The expression where `ty` is needed: a load from an `i32` buffer is widened.
    fn needed(&self, term: Term, ty: Type) -> Read<Expr> {
        let term = if ty == Type::I64 { term.widened(&self.kernel) } else { term };
        match term.ty {
            has if has == ty => Ok(term.expr),
            has => Err(format!("{ty} is needed, this is {has}")),
        }
    }
}
