//! Programs from Rust: the same syntax tree as the text form makes.
//!
//! ```text
//!  Builder ─┬ dim, tensor, tensor_filled ─▶ Tensor ─ at ─▶ Access ─▶ Expr
//!           ├ domain, table, tensor_of     labels
//!           ├ function(…) { Body }        properties behind it
//!           ├ set, add, fold              where and schedule behind it
//!           ├ repeat, repeat_while        statements that run turn after turn
//!           ├ make, at ◀─ Array           reshape, vstack, … of whole arrays, as NumPy names them
//!           ├ program ─▶ Program              checked: stages to print, kernels to compile
//!           └ finish ─▶ Built { program, text } as it is written
//! ```
//!
//! [`Builder::program`] prints what was built and reads it back. So names are held to the language's rules, messages
//! have places in a text that can be shown, and a program built in Rust is one that could have been written.
//!
//! ```
//! use fiberloom::builder::*;
//!
//! let mut p = Builder::new();
//! let a = p.tensor("A", Type::F64, ["I", "J"], "csr");
//! let x = p.tensor("x", Type::F64, ["J"], "dense");
//! let y = p.tensor("y", Type::F64, ["I"], "dense");
//! let (i, j) = (var("i"), var("j"));
//! p.set(y.at([i]), sum([j], a.at([i, j]) * x.at([j])));
//!
//! let program = p.program()?;
//! assert!(program.canonical().ends_with("y[i] = sum(j: A[i,j] * x[j])\n"));
//! # Ok::<(), fiberloom::Error>(())
//! ```
mod array;
mod expr;
mod extent;
mod function;
mod name;
mod relation;
mod schedule;

pub use array::{
    Array, Window, concatenate, flatten, hstack, permute_dims, reshape, stack, transpose, vstack, windows,
};
pub use expr::*;
pub use fiberloom_core::algebra::Type;
pub use fiberloom_core::notation::syntax::{Protocol, Race, Unit};
pub use function::{Body, Pattern, Properties, Set, all, anything, exactly, local, param};
pub use relation::{Column, Kind, column, computed, labels, quoted};
pub use schedule::Schedule;

use crate::{Error, Program};
use fiberloom_core::notation::{Diagnostic, Span, syntax};
use name::ident;
use std::fmt;

/// A program under construction.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    items: Vec<syntax::Item>,
    too_deep: bool,
    /// What arrays cannot be.
    wrong: Vec<String>,
    /// How many index variables arrays have so far.
    axes: usize,
    /// The sizes that they say.
    extents: Vec<extent::Extent>,
}

/// A finished program and its text, to which the places in its spans and in later diagnostics refer;
/// `Program::parse(&built.text)` checks it for compilation.
#[derive(Clone, Debug)]
pub struct Built {
    /// What `check` takes.
    pub program: syntax::Program,
    /// The same as text.
    pub text: String,
}

/// The text.
impl fmt::Display for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A size in a declaration: a name or a number.
#[derive(Clone, Debug)]
pub struct Size(syntax::Size);

impl From<&str> for Size {
    fn from(name: &str) -> Size {
        Size(syntax::Size::Name(ident(name)))
    }
}

impl From<u64> for Size {
    fn from(n: u64) -> Size {
        Size(syntax::Size::Int(n, Span::default()))
    }
}

/// A scalar's sizes: none.
pub const SCALAR: [&str; 0] = [];

/// A format in a declaration: a name such as `"csr"`, or [`levels`].
#[derive(Clone, Debug)]
pub struct Format(syntax::Format);

impl From<&str> for Format {
    fn from(name: &str) -> Format {
        Format(syntax::Format::named(ident(name)))
    }
}

/// `{dense, compressed}`, outermost first.
pub fn levels<const N: usize>(names: [&str; N]) -> Format {
    let levels = names.into_iter().map(ident).collect();
    Format(syntax::Format::Levels { levels, order: None, span: Span::default() })
}

impl Format {
    /// `order(…)`: the mode that each level holds.
    pub fn order<const N: usize>(mut self, modes: [u64; N]) -> Format {
        let (syntax::Format::Levels { order, .. } | syntax::Format::Name { order, .. }) = &mut self.0;
        *order = Some(modes.to_vec());
        self
    }
}

impl Builder {
    /// An empty program.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// `dim name = value`
    pub fn dim(&mut self, name: &str, value: u64) {
        self.items.push(syntax::Item::Dim(syntax::Dim { name: ident(name), value: Some(value) }));
    }

    /// `dim name`: a size that each call says, as `("name", 100.into())` among its operands.
    pub fn size(&mut self, name: &str) {
        self.items.push(syntax::Item::Dim(syntax::Dim { name: ident(name), value: None }));
    }

    /// `tensor name: ty[sizes] format`
    pub fn tensor<'a, S: Into<Size>>(
        &mut self,
        name: &'a str,
        ty: Type,
        sizes: impl IntoIterator<Item = S>,
        format: impl Into<Format>,
    ) -> Tensor<'a> {
        self.declare(name, ty, sizes, None, format.into())
    }

    /// `tensor name: ty[sizes] fill value format`
    pub fn tensor_filled<'a, S: Into<Size>>(
        &mut self,
        name: &'a str,
        ty: Type,
        sizes: impl IntoIterator<Item = S>,
        fill: impl Into<Value>,
        format: impl Into<Format>,
    ) -> Tensor<'a> {
        self.declare(name, ty, sizes, Some(fill.into()), format.into())
    }

    fn declare<'a, S: Into<Size>>(
        &mut self,
        name: &'a str,
        ty: Type,
        sizes: impl IntoIterator<Item = S>,
        fill: Option<Value>,
        format: Format,
    ) -> Tensor<'a> {
        self.items.push(syntax::Item::Tensor(syntax::Tensor {
            name: ident(name),
            sort: syntax::Sort::Plain(ty),
            sizes: sizes.into_iter().map(|s| s.into().0).collect(),
            fill: fill.map(|v| (v.0, Span::default())),
            format: Some(format.0),
        }));
        Tensor(name)
    }

    /// `fn name(params) -> result { … }`; the closure adds statements and gives the value.
    ///
    /// ```
    /// use fiberloom::builder::*;
    ///
    /// let mut p = Builder::new();
    /// p.function("mygcd", [("x", Type::I64), ("y", Type::I64)], Type::I64, |f| {
    ///     let a = f.define("a", abs(param("x")));
    ///     let b = f.define("b", abs(param("y")));
    ///     f.repeat(a.clone().ne(0), |f| {
    ///         let t = f.define("t", a.clone());
    ///         f.assign("a", b.clone() % a.clone());
    ///         f.assign("b", t);
    ///     });
    ///     b
    /// })
    /// .commutative()
    /// .iterate(Set::of("x") | Set::of("y"));
    /// let (r, a, i) = (tensor("R"), tensor("A"), var("i"));
    /// p.tensor("A", Type::I64, ["I"], "sparse");
    /// p.set(r.at([i]), call("mygcd", [a.at([i]).into(), literal(12)]));
    /// assert!(p.finish().is_ok());
    /// ```
    pub fn function<const N: usize>(
        &mut self,
        name: &str,
        params: [(&str, Type); N],
        result: Type,
        body: impl FnOnce(&mut Body) -> Expr,
    ) -> Properties<'_> {
        let mut statements = Body::default();
        let value = body(&mut statements);
        self.too_deep |= statements.too_deep || value.depth > expr::DEEPEST;
        let function = syntax::Function {
            name: ident(name),
            params: params.into_iter().map(|(name, ty)| (ident(name), ty)).collect(),
            result,
            body: syntax::Block { stmts: statements.stmts, value: Box::new(value.tree) },
            properties: Vec::new(),
        };
        self.items.push(syntax::Item::Function(function));
        match self.items.last_mut() {
            Some(syntax::Item::Function(function)) => Properties { function, too_deep: &mut self.too_deep },
            _ => unreachable!("it was pushed above"),
        }
    }

    /// `lhs = rhs`
    pub fn set(&mut self, lhs: Access, rhs: impl Into<Expr>) -> Defined<'_> {
        self.define(lhs, syntax::Assign::Set, rhs.into())
    }

    /// `lhs += rhs`
    pub fn add(&mut self, lhs: Access, rhs: impl Into<Expr>) -> Defined<'_> {
        self.define(lhs, syntax::Assign::Add, rhs.into())
    }

    /// `lhs function= rhs`
    pub fn fold(&mut self, lhs: Access, function: &str, rhs: impl Into<Expr>) -> Defined<'_> {
        self.define(lhs, syntax::Assign::Fold(ident(function)), rhs.into())
    }

    fn define(&mut self, lhs: Access, op: syntax::Assign, rhs: Expr) -> Defined<'_> {
        self.too_deep |= rhs.depth > expr::DEEPEST;
        let (rhs, span) = (rhs.tree, Span::default());
        let statement = syntax::Statement { lhs: lhs.0, op, rhs, locals: Vec::new(), schedule: None, span };
        self.items.push(syntax::Item::Statement(statement));
        Defined { program: self }
    }

    /// `repeat turns { … }`: what is added in `body` runs so often; a size's name stands for its extent. Declarations among it belong
    /// to the program.
    ///
    /// ```
    /// use fiberloom::builder::*;
    ///
    /// let mut p = Builder::new();
    /// let a = p.tensor("A", Type::F64, ["I", "J"], "csr");
    /// let x = p.tensor("x", Type::F64, ["I"], "dense");
    /// let (i, j) = (var("i"), var("j"));
    /// p.repeat(20, |p| {
    ///     p.set(x.at([i]), sum([j], a.at([i, j]) * x.at([j])));
    /// });
    /// assert!(p.finish().unwrap().text.ends_with("repeat 20 {\n  x[i] = sum(j: A[i,j] * x[j])\n}\n"));
    /// ```
    pub fn repeat(&mut self, turns: impl Into<Size>, body: impl FnOnce(&mut Builder)) {
        self.block(syntax::Turns::Times(turns.into().0), body);
    }

    /// `while condition { … }`: what is added in `body` runs as long as the condition, a `bool` of scalars, holds before it.
    ///
    /// ```
    /// use fiberloom::builder::*;
    ///
    /// let mut p = Builder::new();
    /// let e = p.tensor("e", Type::F64, SCALAR, "dense");
    /// p.repeat_while(Expr::from(e.at(())).gt(1.0), |p| {
    ///     p.set(e.at(()), Expr::from(e.at(())) * 0.5);
    /// });
    /// assert!(p.finish().unwrap().text.ends_with("while e[] > 1.0 {\n  e[] = e[] * 0.5\n}\n"));
    /// ```
    pub fn repeat_while(&mut self, condition: impl Into<Expr>, body: impl FnOnce(&mut Builder)) {
        let condition = condition.into();
        self.too_deep |= condition.depth > expr::DEEPEST;
        self.block(syntax::Turns::While(condition.tree), body);
    }

    fn block(&mut self, turns: syntax::Turns, body: impl FnOnce(&mut Builder)) {
        // Built in the program itself, which so knows its declarations, as the statements of a `where` block are.
        let first = self.items.len();
        body(self);
        let is_declared = |item: &syntax::Item| {
            use syntax::Item::{Dim, Domain, Function, Table, Tensor};
            matches!(item, Dim(_) | Domain(_) | Table(_) | Tensor(_) | Function(_))
        };
        let (declared, body) = self.items.split_off(first).into_iter().partition(is_declared);
        let declared: Vec<syntax::Item> = declared;
        self.items.extend(declared);
        self.items.push(syntax::Item::Repeat(syntax::Repeat { turns, body, span: Span::default() }));
    }

    /// The program, checked: any of its stages can be printed, and it can be compiled.
    ///
    /// # Errors
    /// [`Error::Program`] with what [`Builder::finish`] or the language's check refuses, drawn in the printed program.
    pub fn program(self) -> Result<Program, Error> {
        match self.written() {
            Ok(built) => Program::parse(&built.text),
            Err((text, diagnostics)) => Err(Error::Program { file: "program".to_string(), text, diagnostics }),
        }
    }

    /// The program as it is written, before it is checked.
    ///
    /// # Errors
    /// A name that is none or that the language reserves; expressions that nest too deep; arrays whose ranks do not fit.
    /// Places refer to the printed program.
    pub fn finish(self) -> Result<Built, Vec<Diagnostic>> {
        self.written().map_err(|(_, diagnostics)| diagnostics)
    }

    /// The program, or the text as far as there is one, and what is wrong.
    fn written(mut self) -> Result<Built, (String, Vec<Diagnostic>)> {
        let nowhere = |message: String| Diagnostic::new(Span::default(), message);
        if self.too_deep {
            let message = format!("an expression nests more than {} operators", expr::DEEPEST);
            let help = "name a part of it: a tensor, or a local of a function";
            return Err((String::new(), vec![nowhere(message).help(help)]));
        }
        if !self.wrong.is_empty() {
            return Err((String::new(), self.wrong.into_iter().map(nowhere).collect()));
        }
        self.define_extents();
        let text = name::written(&syntax::Program { items: self.items }.to_string())
            .map_err(|none| (String::new(), vec![none]))?;
        match fiberloom_front::parse(&text) {
            (Some(program), diagnostics) if diagnostics.is_empty() => Ok(Built { program, text }),
            (_, diagnostics) => Err((text, diagnostics)),
        }
    }
}

/// A tensor that is declared elsewhere, or a result that is not declared.
pub fn tensor(name: &str) -> Tensor<'_> {
    Tensor(name)
}

/// A statement, the program's last item, to which a `where` block and a schedule can be added.
pub struct Defined<'a> {
    program: &'a mut Builder,
}

impl Defined<'_> {
    /// `where { … }`: statements that run first and whose results are local. What is declared among them belongs to the
    /// program: a tensor that they define is a local like the one declared.
    ///
    /// ```
    /// use fiberloom::builder::*;
    ///
    /// let mut p = Builder::new();
    /// let (a, t, y, i, j) = (tensor("A"), tensor("t"), tensor("y"), var("i"), var("j"));
    /// p.tensor("A", Type::F64, ["I", "J"], "csr");
    /// p.set(y.at([i]), t.at([i]) * t.at([i]))
    ///     .locals(|w| {
    ///         w.set(t.at([i]), sum([j], a.at([i, j])));
    ///     })
    ///     .schedule(Schedule::new().none());
    /// assert!(p.finish().unwrap().text.contains("where {\n  t[i] = sum(j: A[i,j])\n} schedule { none; }"));
    /// ```
    pub fn locals(mut self, add: impl FnOnce(&mut Builder)) -> Self {
        // The block is built in the program itself, which so knows its declarations, and is then moved into the statement.
        let first = self.program.items.len();
        add(self.program);
        let mut block = Vec::new();
        let mut declared = Vec::new();
        for item in self.program.items.split_off(first) {
            match item {
                syntax::Item::Statement(statement) => block.push(statement),
                syntax::Item::Repeat(_) => {
                    self.program.wrong.push("a block stands among the locals of a statement".into())
                }
                declaration => declared.push(declaration),
            }
        }
        self.statement().locals.extend(block);
        self.program.items.splice(first - 1..first - 1, declared);
        self
    }

    fn statement(&mut self) -> &mut syntax::Statement {
        match self.program.items.last_mut() {
            Some(syntax::Item::Statement(statement)) => statement,
            _ => unreachable!("a statement is the last item as long as something can be added to it"),
        }
    }

    /// `schedule { … }`
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.program.too_deep |= schedule.too_deep;
        self.statement().schedule = Some(schedule.tree);
        self
    }
}

/// Names at no place.
fn names(vars: &[Var]) -> Vec<syntax::Ident> {
    vars.iter().map(|v| ident(v.0)).collect()
}
