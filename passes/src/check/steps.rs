//! The order of statements: blocks, what they carry from turn to turn, and the statement that a schedule is for.

use super::schedules::commands;
use super::{Check, Scope};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::diagnostic::{Diagnostic, Span};
use fiberloom_core::notation::syntax::{self, Item, Schedule, Size};
use fiberloom_core::notation::typed::{Expr, Kind, Repeat, Role, Step, Turns};
use std::collections::HashMap;
use std::ops::Range;

/// How many blocks may stand in each other: each is a loop in the kernel.
const DEEPEST: usize = 32;

/// The statement that a schedule is for.
enum Before {
    /// None: it is the first of its block, or stands behind one.
    Nothing,
    /// A statement that was refused.
    Refused,
    /// This one.
    Statement(usize),
}

/// What statements are checked with.
pub(super) struct Statements<'c> {
    pub c: &'c mut Check,
    /// Where a statement that is no local defines a tensor first.
    pub results: HashMap<String, Span>,
    /// The index variables of the statement before.
    pub own: Range<usize>,
}

impl Statements<'_> {
    /// The steps of a program, or of a block that `depth` blocks stand around.
    pub(super) fn steps(&mut self, items: &[Item], depth: usize) -> Vec<Step> {
        let (mut steps, mut before) = (Vec::new(), Before::Nothing);
        for item in items {
            match item {
                Item::Statement(s) => {
                    let first = self.c.out.statements.len();
                    let made = self.statement(s, false);
                    let all = first..self.c.out.statements.len();
                    before = if made { Before::Statement(all.end - 1) } else { Before::Refused };
                    steps.extend(all.map(Step::Statement));
                }
                Item::Repeat(block) => {
                    steps.extend(self.repeat(block, depth).map(Step::Repeat));
                    before = Before::Nothing;
                }
                Item::Schedule(schedule) => self.schedule_behind(&before, schedule),
                Item::Dim(syntax::Dim { name, .. })
                | Item::Domain(syntax::Domain { name, .. })
                | Item::Table(syntax::Table { name, .. })
                | Item::Tensor(syntax::Tensor { name, .. })
                | Item::Function(syntax::Function { name, .. })
                    if depth > 0 =>
                {
                    let d = Diagnostic::new(name.span, format!("`{name}` is declared inside of a block"));
                    self.c.error(d.help("declarations stand outside of blocks"));
                }
                Item::Dim(_) | Item::Domain(_) | Item::Table(_) | Item::Tensor(_) | Item::Function(_) => {}
            }
        }
        steps
    }

    fn schedule_behind(&mut self, before: &Before, schedule: &Schedule) {
        match *before {
            Before::Statement(n) if self.c.out.statements[n].schedule.is_none() => {
                let statement = self.c.out.statements[n].clone();
                self.c.out.statements[n].commands = commands(schedule, &statement, self.own.clone(), self.c);
                self.c.out.statements[n].schedule = Some(schedule.clone());
            }
            Before::Statement(_) => self.c.say(schedule.span, "the statement before this schedule has one already"),
            Before::Nothing => self.c.say(schedule.span, "a schedule stands behind the statement that it is for"),
            Before::Refused => {}
        }
    }

    fn repeat(&mut self, block: &syntax::Repeat, depth: usize) -> Option<Repeat> {
        if depth == DEEPEST {
            let d = Diagnostic::new(block.span, format!("more than {DEEPEST} blocks stand in each other"));
            self.c.error(d.help("let one condition say what several do"));
            return None;
        }
        let turns = self.turns(&block.turns);
        let body = self.steps(&block.body, depth + 1);
        Some(Repeat { turns: turns?, body, span: block.span })
    }

    fn turns(&mut self, turns: &syntax::Turns) -> Option<Turns> {
        match turns {
            syntax::Turns::Times(Size::Int(n, _)) => Some(Turns::Count(*n)),
            syntax::Turns::Times(Size::Name(name)) => {
                if let Some((Some(value), _)) = self.c.dims.get(&name.name) {
                    return Some(Turns::Count(*value));
                }
                let Some(&size) = self.c.sizes.get(&name.name) else {
                    let known: Vec<String> = self.c.sizes.keys().chain(self.c.dims.keys()).cloned().collect();
                    self.c.unknown("size", name, known.iter().map(String::as_str));
                    return None;
                };
                Some(Turns::Extent(size, self.c.fresh_var(name)))
            }
            syntax::Turns::While(condition) => self.condition(condition).map(Turns::While),
        }
    }

    /// A condition: a `bool` that is computed of scalars.
    fn condition(&mut self, e: &syntax::Expr) -> Option<Expr> {
        let condition = self.c.expr(&Scope::default(), e, Some(Type::Bool))?;
        self.c.nesting(&condition, 0)?;
        let mut loops = None;
        condition.walk(&mut |part| {
            let scalar = match &part.kind {
                Kind::Literal(_) | Kind::Size(_) | Kind::Call(..) => true,
                Kind::Access(_, indices) => indices.is_empty(),
                _ => false,
            };
            loops = loops.or((!scalar).then_some(part.span));
        });
        let Some(span) = loops else { return Some(condition) };
        let d = Diagnostic::new(span, "a condition is computed of scalars");
        self.c.error(d.help("define a scalar in the block, `s[] = …`, and ask for `s[]`"));
        None
    }
}

/// What a block assigns has one format in all turns, and something to begin with: it is declared, or one statement alone
/// defines it.
pub(super) fn carried(c: &mut Check) {
    let mut assigned = Vec::new();
    c.out.each_step(&mut |step| {
        if let Step::Repeat(block) = step {
            assigned.extend(block.statements());
        }
    });
    assigned.sort();
    assigned.dedup();
    let mut complained = Vec::new();
    for n in assigned {
        let id = c.out.statements[n].tensor;
        let tensor = &c.out.tensors[id.index()];
        if tensor.format.is_some() || tensor.role == Role::Local || complained.contains(&id) {
            continue;
        }
        let alone = c.out.statements.iter().filter(|s| s.tensor == id).count() == 1;
        if alone && c.out.statements[n].fold.is_none() && !c.out.statements[n].is_part() {
            continue;
        }
        let name = tensor.name.clone();
        let message = format!("`{name}` is taken from one turn of a block to the next, and is not declared");
        let help = format!("declare it: `tensor {name}: {}[…]` with its sizes and its format", tensor.ty);
        c.error(Diagnostic::new(c.out.statements[n].span, message).help(help));
        complained.push(id);
    }
}
