//! Checking: syntax becomes typed, or is rejected with everything that is wrong with it.
//!
//! ```text
//!  depth.rs      refuses deep trees before anything recurses over them
//!  declare.rs    dims, tensors, scopes of tensors
//!  formats.rs    formats of tensors
//!  function.rs   declared functions and their properties
//!  statement.rs  left sides, the einsum short form, where-blocks
//!  steps.rs      the order of statements: blocks, the statement that a schedule is for
//!  schedules.rs  the names in schedules
//!  temporaries.rs  their temporaries and copies
//!  expr.rs       names, types, literals
//!  elsewhere.rs  what other systems call things, for help
//! ```
//!
//! Every error of independent parts is reported in one run; an expression that is wrong yields `None` and is not
//! complained of twice. At the end extents are checked as far as the program alone decides them, and declared
//! properties are tried.
mod declare;
mod depth;
mod elsewhere;
mod expr;
mod formats;
mod function;
mod schedules;
mod statement;
mod steps;
mod temporaries;
mod undeclared;

use crate::schedule::loops::Loops;
use crate::schedule::protocol;
use elsewhere::nearest;
use fiberloom_core::algebra::{Mode, Type};
use fiberloom_core::notation::diagnostic::{Diagnostic, Span};
use fiberloom_core::notation::syntax::{self, Ident, Item};
use fiberloom_core::notation::typed::{self, FnId, LocalId, SizeId, TensorId, VarId};
use fiberloom_core::stack::with_room;
use std::collections::{HashMap, HashSet};
use steps::Statements;

pub use undeclared::{Undeclared, undeclared};

/// What checks a program: [`check`], or for programs over labels what makes such a program one over coordinates before.
pub type Checker<'c> = &'c dyn Fn(&syntax::Program) -> Result<typed::Program, Vec<Diagnostic>>;

/// Checks a program over coordinates.
///
/// # Errors
/// All that is wrong with it, in the order of the text; what only programs over labels declare.
pub fn check(program: &syntax::Program) -> Result<typed::Program, Vec<Diagnostic>> {
    check_depth(program)?;
    let labelled = |name: &Ident| {
        let message = format!("`{name}` is of a program over labels, and this checks programs over coordinates");
        Diagnostic::new(name.span, message).help("check the program by `fiberloom::relation::check`")
    };
    let labelled: Vec<Diagnostic> = program.labelled().map(labelled).collect();
    if labelled.is_empty() { check_related(program) } else { Err(labelled) }
}

/// Refuses a program that nests too deep for what recurses over it.
///
/// # Errors
/// Where it does.
pub fn check_depth(program: &syntax::Program) -> Result<(), Vec<Diagnostic>> {
    depth::check(program).map_err(|e| vec![e])
}

/// Checks a program over coordinates that was made of one which [is not too deep](check_depth).
///
/// # Errors
/// As of [`check`].
pub fn check_related(program: &syntax::Program) -> Result<typed::Program, Vec<Diagnostic>> {
    with_room(|| check_here(program))
}

fn check_here(program: &syntax::Program) -> Result<typed::Program, Vec<Diagnostic>> {
    let mut c = Check::default();
    let results = declare::declarations(&program.items, &mut c);
    function::functions(&program.items, &mut c);
    declare::computed(&mut c);
    c.out.order = Statements { c: &mut c, results, own: 0..0 }.steps(&program.items, 0);
    steps::carried(&mut c);
    if c.errors.is_empty() {
        c.errors.extend(fiberloom_core::shape::check(&c.out).err().into_iter().flatten());
        c.errors.extend(fiberloom_core::notation::property::check(&c.out));
        c.errors.extend(c.out.statements.iter().flat_map(|s| protocol::check(&c.out, s)));
        // What is legal in some mode: lowering knows the mode.
        let illegal = |s| Loops::of(&c.out, s, Mode::Algebraic).err();
        c.errors.extend(c.out.statements.iter().filter_map(illegal));
    }
    c.errors.sort_by_key(|d| d.span.start);
    if c.errors.is_empty() { Ok(c.out) } else { Err(c.errors) }
}

/// What names mean, and what is wrong so far: what expressions are checked with.
#[derive(Default)]
struct Check {
    out: typed::Program,
    errors: Vec<Diagnostic>,
    dims: HashMap<String, (Option<u64>, Span)>,
    sizes: HashMap<String, SizeId>,
    tensors: HashMap<String, TensorId>,
    functions: HashMap<String, FnId>,
    /// Functions that are complained of already.
    faulty: HashSet<String>,
    /// Tensors that are not declared and whose definition is complained of already.
    unmade: HashSet<String>,
    /// Tensors that a statement so far has defined.
    defined: HashSet<TensorId>,
    /// The names of the blocks that are being checked.
    open: HashSet<String>,
    /// A function each: how deep it nests, those that it calls counted.
    nesting: Vec<usize>,
    /// Functions are being checked, not statements.
    inside: bool,
    /// Types of the locals of the function that is being checked.
    local_types: Vec<Type>,
}

/// What names mean inside an expression.
#[derive(Clone, Default)]
struct Scope {
    vars: HashMap<String, VarId>,
    locals: HashMap<String, LocalId>,
}

impl Check {
    fn error(&mut self, d: Diagnostic) {
        self.errors.push(d);
    }

    fn say(&mut self, span: Span, message: impl Into<String>) {
        self.error(Diagnostic::new(span, message));
    }

    fn fresh_var(&mut self, name: &Ident) -> VarId {
        self.out.vars.push(typed::Var { name: name.name.clone(), span: name.span });
        VarId(self.out.vars.len() as u32 - 1)
    }

    /// A variable of a reduction or shape operator, which must not hide another.
    fn bind(&mut self, scope: &mut Scope, name: &Ident) -> VarId {
        if let Some(outer) = scope.vars.get(&name.name) {
            let first = self.out.vars[outer.index()].span;
            self.error(
                Diagnostic::new(name.span, format!("index variable `{name}` is bound already"))
                    .label(first, "here")
                    .help("give one of the two another name"),
            );
        }
        let var = self.fresh_var(name);
        scope.vars.insert(name.name.clone(), var);
        var
    }

    fn fresh_size(&mut self, name: Option<String>, value: Option<u64>, span: Span) -> SizeId {
        let given = name.as_ref().and_then(|name| self.dims.get(name)).is_some_and(|(value, _)| value.is_none());
        self.out.sizes.push(typed::Size { name, value, given, span });
        SizeId(self.out.sizes.len() as u32 - 1)
    }

    /// How deep an expression inside of so many blocks nests, the functions that it calls counted; refused beyond
    /// [`depth::DEEPEST`].
    fn nesting(&mut self, e: &typed::Expr, blocks: usize) -> Option<usize> {
        let deep = blocks + nested(e, &self.out.tensors, &self.nesting);
        if deep > depth::DEEPEST {
            let message = format!("with the functions that it calls, this nests deeper than {}", depth::DEEPEST);
            self.error(Diagnostic::new(e.span, message).help("call fewer functions in one another"));
            return None;
        }
        Some(deep)
    }

    /// "unknown …", with the nearest name that exists.
    fn unknown<'n>(&mut self, what: &str, name: &Ident, known: impl Iterator<Item = &'n str>) {
        let d = Diagnostic::new(name.span, format!("unknown {what} `{name}`"));
        let d = match nearest(&name.name, known) {
            Some(k) => d.help(format!("there is `{k}`")),
            None => d,
        };
        self.error(d);
    }
}

fn nested(e: &typed::Expr, tensors: &[typed::Tensor], functions: &[usize]) -> usize {
    let inner = e.children().map(|c| nested(c, tensors, functions)).max().unwrap_or(0);
    let called = match &e.kind {
        typed::Kind::Call(typed::Fun::User(f), _) | typed::Kind::Reduce { fun: typed::Fun::User(f), .. } => {
            functions[f.index()]
        }
        typed::Kind::Access(t, _) => match tensors[t.index()].role {
            typed::Role::Computed(f) => functions[f.index()],
            _ => 0,
        },
        _ => 0,
    };
    1 + inner.max(called)
}

/// All statements of a program, those of blocks too, in order.
fn statements(items: &[Item]) -> Vec<&syntax::Statement> {
    let (mut all, mut open) = (Vec::new(), items.iter().rev().collect::<Vec<_>>());
    while let Some(item) = open.pop() {
        match item {
            Item::Statement(s) => all.push(s),
            Item::Repeat(block) => open.extend(block.body.iter().rev()),
            _ => {}
        }
    }
    all
}
