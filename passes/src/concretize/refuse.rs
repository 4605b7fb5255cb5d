//! Refuses constructs that are not lowered yet, by name.

use fiberloom_core::algebra::Op;
use fiberloom_core::notation::concrete::Extent;
use fiberloom_core::notation::typed::{self, Fun, Kind};
use fiberloom_core::notation::{Diagnostic, Span};

/// A diagnostic for each construct of a program that is not lowered yet.
pub fn refuse(program: &typed::Program) -> Vec<Diagnostic> {
    let extents = Extent::of(&program.functions);
    let mut r = Refuse { program, extents, found: Vec::new() };
    for t in &program.tensors {
        if t.role == typed::Role::Input && t.format.is_none() {
            r.say(t.span, format!("an operand without a format (tensor `{}`)", t.name));
        }
    }
    for s in &program.statements {
        r.statement(s);
    }
    program.each_step(&mut |step| {
        if let typed::Step::Repeat(typed::Repeat { turns: typed::Turns::While(condition), .. }) = step {
            condition.walk(&mut |e| r.expr(e));
        }
    });
    r.found
}

/// The most statements of a function with all that it calls: it is inlined where it is called.
const STATEMENTS: u64 = 2000;

/// The deepest nesting of blocks in a function, with the loops around them.
const BLOCKS: usize = 100;

struct Refuse<'a> {
    program: &'a typed::Program,
    /// The size of each function.
    extents: Vec<Extent>,
    found: Vec<Diagnostic>,
}

impl Refuse<'_> {
    fn say(&mut self, span: Span, what: String) {
        let help = "the engine `meaning` evaluates the whole language";
        self.found.push(Diagnostic::new(span, format!("{what} is not lowered yet")).help(help));
    }

    fn statement(&mut self, s: &typed::Statement) {
        if let Some(fun) = s.fold {
            self.called(fun, s.span);
        }
        s.rhs.walk(&mut |e| self.expr(e));
    }

    fn called(&mut self, fun: Fun, span: Span) {
        let f = match fun {
            Fun::Op(Op::Coalesce) => return self.say(span, "`coalesce`".to_string()),
            Fun::Op(_) => return,
            Fun::User(f) => f.index(),
        };
        let (name, Extent { statements, depth }) = (&self.program.functions[f].name, self.extents[f]);
        if statements > STATEMENTS {
            let what = "whose statements, with those of what it calls, are more than";
            self.say(span, format!("the declared function `{name}`, {what} {STATEMENTS},"));
        } else if depth > BLOCKS {
            let what = "whose blocks, with those of what it calls, are in each other more than";
            self.say(span, format!("the declared function `{name}`, {what} {BLOCKS} times,"));
        }
    }

    fn expr(&mut self, e: &typed::Expr) {
        match &e.kind {
            Kind::Call(Fun::Op(Op::Coalesce), _) => {}
            Kind::Call(fun, _) | Kind::Reduce { fun, .. } => self.called(*fun, e.span),
            Kind::Access(tensor, _) => {
                if let typed::Role::Computed(f) = self.program.tensors[tensor.index()].role {
                    self.called(Fun::User(f), e.span);
                }
            }
            _ => {}
        }
    }
}
