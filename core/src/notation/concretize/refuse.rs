//! What of the language is not lowered yet, refused by name.

use super::super::typed::{self, Fun, Kind};
use super::super::{Diagnostic, Span, syntax};
use super::shape::linear;
use crate::algebra::{Mode, Op, Type, identity};
use crate::format::LevelKind;

/// Everything of a program that is not lowered yet.
pub fn refuse(program: &typed::Program, mode: Mode) -> Vec<Diagnostic> {
    let mut r = Refuse { program, mode, found: Vec::new() };
    for t in &program.tensors {
        let levels = t.format.iter().flat_map(|f| &f.levels);
        let foreign = |k: &&LevelKind| !(k.is_located() || k.is_list());
        if let Some(kind) = levels.into_iter().find(foreign) {
            r.say(t.span, format!("a level of kind `{}` (of tensor `{}`)", kind.name(), t.name));
        }
        if t.role == typed::Role::Input && t.format.is_none() {
            r.say(t.span, format!("an operand without a format (tensor `{}`)", t.name));
        }
    }
    for s in &program.statements {
        r.statement(s);
    }
    r.found
}

/// Most ranges into which the concatenations of one statement may split its loops: each is code of its own.
const RANGES: u64 = 256;

/// Into how many ranges the concatenations of an expression can split its loops: those of parts stand beside one another,
/// those of operands meet.
fn ranges(e: &typed::Expr) -> u64 {
    let parts = e.children().map(ranges);
    match &e.kind {
        Kind::Concat { .. } => parts.fold(0, u64::saturating_add),
        _ => parts.fold(1, u64::saturating_mul),
    }
}

struct Refuse<'a> {
    program: &'a typed::Program,
    mode: Mode,
    found: Vec<Diagnostic>,
}

impl Refuse<'_> {
    fn say(&mut self, span: Span, what: String) {
        let help = "run it with --engine meaning, which evaluates the whole language";
        self.found.push(Diagnostic::new(span, format!("{what} is not lowered yet")).help(help));
    }

    fn statement(&mut self, s: &typed::Statement) {
        if let Some(i) = s.indices.iter().find(|i| i.permit || i.map.gathers()) {
            self.say(i.span, "a scatter through an index tensor or a permitted index `~`".to_string());
        }
        let commands = s.schedule.iter().flat_map(|c| &c.commands);
        if commands.into_iter().any(|c| c.kind != syntax::CommandKind::None) {
            self.say(s.span, "a schedule".to_string());
        }
        let ty = self.program.tensors[s.tensor.index()].ty;
        if self.mode == Mode::Strict && ty.is_float() {
            self.say(s.span, "mode `strict` on floats".to_string());
        }
        if let Some(fun) = s.fold {
            self.fold(fun, ty, false, s.span);
        }
        if ranges(&s.rhs) > RANGES {
            self.say(s.span, format!("a statement whose concatenations meet in more than {RANGES} ranges"));
        }
        self.expr(&s.rhs);
    }

    fn fold(&mut self, fun: Fun, ty: Type, start: bool, span: Span) {
        match fun {
            Fun::User(f) => {
                let name = &self.program.functions[f.index()].name;
                self.say(span, format!("the declared function `{name}`"));
            }
            Fun::Op(op) if identity(op, ty).is_none() => {
                self.say(span, format!("a reduction with `{}`, which has no identity,", op.name()));
            }
            Fun::Op(_) if start => self.say(span, "a reduction with a start value".to_string()),
            Fun::Op(_) => {}
        }
    }

    fn expr(&mut self, e: &typed::Expr) {
        match &e.kind {
            Kind::Literal(_) | Kind::Index(_) | Kind::Local(_) => {}
            Kind::Access(_, indices) => {
                for index in indices {
                    let what = match linear(index) {
                        Some((_, factors)) if factors.values().all(|f| *f > 0) => continue,
                        Some(_) => "an index that falls where an index variable rises",
                        None if index.permit => "a permitted index `~`",
                        None => "an index with a quotient, a remainder or a gather in it",
                    };
                    self.say(index.span, what.to_string());
                }
            }
            Kind::Call(fun, args) => {
                match fun {
                    Fun::Op(Op::Coalesce) => self.say(e.span, "`coalesce`".to_string()),
                    Fun::Op(_) => {}
                    Fun::User(f) => {
                        let name = &self.program.functions[f.index()].name;
                        self.say(e.span, format!("the declared function `{name}`"));
                    }
                }
                args.iter().for_each(|a| self.expr(a));
            }
            Kind::Reduce { fun, body, start, .. } => {
                self.fold(*fun, e.ty, start.is_some(), e.span);
                self.expr(body);
            }
            Kind::Concat { parts, .. } => parts.iter().for_each(|part| self.expr(part)),
            Kind::Collapse { body, .. } | Kind::Split { body, .. } | Kind::Slice { body, .. } => self.expr(body),
        }
    }
}
