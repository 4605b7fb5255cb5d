//! Checks a plan: symbols and names are defined once, before they are used and where their use sees them; levels are walked and opened in
//! ways that they allow.

use super::parts::Visitor;
use super::{Assembly, Block, Body, Found, Kind, Level, List, Op, Plan, Statement, Step, Turns};
use crate::format::{Holds, LevelKind};
use crate::looplet::Looplet;
use crate::loops::choose::symbol::{Meaning, Name, Sym};
use crate::notation::concrete::{AccessId, Place, Program};
use crate::notation::typed::Fun;
use rustc_hash::FxHashSet;

impl Plan {
    /// Checks a plan against a program.
    ///
    /// # Errors
    /// The first operation that cannot be, and the reason.
    pub fn check(&self, program: &Program) -> Result<(), String> {
        let mut checker = Checker { plan: self, program, seen: vec![], ever: FxHashSet::default(), wrong: None };
        checker.seen.push(Seen { symbols: self.extents.iter().copied().collect(), ..Seen::default() });
        self.steps.iter().for_each(|step| checker.step(step));
        checker.wrong.map_or(Ok(()), Err)
    }
}

/// What the operations of one block have defined so far.
#[derive(Clone, Default)]
struct Seen {
    symbols: FxHashSet<Sym>,
    names: FxHashSet<Name>,
}

struct Checker<'p> {
    plan: &'p Plan,
    program: &'p Program,
    /// What is defined: in the blocks around, outermost first, and in blocks of the current operation that have ended.
    seen: Vec<Seen>,
    /// All names that were ever defined.
    ever: FxHashSet<Name>,
    wrong: Option<String>,
}

impl Checker<'_> {
    fn wrong(&mut self, what: impl FnOnce() -> String) {
        self.wrong.get_or_insert_with(what);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Whole { .. } => {}
            Step::Nest(of) => self.statement(of),
            Step::Repeat { turns, steps, .. } => {
                match turns {
                    Turns::Count(count) => self.value(*count),
                    Turns::While { go, condition } => {
                        self.define(*go);
                        self.block(condition);
                    }
                }
                steps.iter().for_each(|step| self.step(step));
            }
        }
    }

    fn statement(&mut self, of: &Statement) {
        of.directories.iter().for_each(|(_, list, most)| {
            self.list(list);
            self.value(*most);
        });
        [of.output, of.root].into_iter().for_each(|n| self.name(n));
        match &of.body {
            Body::Loops(block) => self.block(block),
            Body::Counted(passes) => passes.iter().for_each(|block| self.block(block)),
            Body::Split { split, otherwise } => {
                [split.rows, split.columns].into_iter().for_each(|s| self.value(s));
                otherwise.iter().for_each(|block| self.block(block));
            }
        }
    }

    fn kind(&self, (a, level): Level) -> Option<LevelKind> {
        self.program.tensor(a).format.levels.get(level).copied()
    }

    /// A list is of a level with coordinates.
    fn list(&mut self, list: &List) {
        self.can(list.of, "be walked", |kind| kind.holds(Holds::Coordinates));
    }

    /// A level is of a kind that can do this.
    fn can(&mut self, level: Level, what: &str, can: impl Fn(LevelKind) -> bool) {
        if !self.kind(level).is_some_and(can) {
            let name = self.program.tensor(level.0).name.clone();
            self.wrong(|| format!("level {} of `{name}` cannot {what}", level.1));
        }
    }

    /// The levels of an operation are of kinds that can do what it asks of them.
    fn levels(&mut self, op: &Op) {
        let pieces = |kind: Kind| {
            move |level: LevelKind| match level.looplet() {
                Looplet::Blocks | Looplet::Aligned(_) => kind == Kind::Blocks,
                Looplet::Packed => kind == Kind::Packed,
                _ => kind == Kind::Runs && level.is_stepped(),
            }
        };
        match op {
            Op::Open { list, .. } | Op::Each { list, .. } | Op::Sift { list, .. } | Op::InBulk { list, .. } => {
                self.list(list);
            }
            Op::Seek { by: Found::Search { list }, .. } => self.list(list),
            Op::Seek { by: Found::Hash { list, .. }, .. } => self.can(list.of, "be hashed", LevelKind::has_table),
            Op::Seek { by: Found::Pieces { list, kind, .. }, .. } | Op::OpenPieces { list, kind, .. } => {
                self.can(list.of, "be in such pieces", pieces(*kind));
            }
            Op::Interval { of, .. } => {
                self.can(*of, "have an interval", |kind| kind.holds(Holds::Positions));
            }
            Op::Ask { of, .. } | Op::Lay { list: List { of, .. }, .. } => {
                self.can(*of, "be in a position map", LevelKind::is_list);
            }
            _ => {}
        }
    }
}

impl Visitor for Checker<'_> {
    fn word(&mut self, _: &str) {}

    fn define(&mut self, s: Sym) {
        let named = self.plan.symbols.named(s);
        match &named {
            // A position that is known already.
            _ if self.seen.iter().any(|seen| seen.symbols.contains(&s)) => {}
            None => self.value(s),
            Some(_) => drop(self.seen.last_mut().map(|seen| seen.symbols.insert(s))),
        }
    }

    fn value(&mut self, s: Sym) {
        match self.plan.symbols.meaning(s) {
            Meaning::Constant(_) | Meaning::Length(_) => {}
            Meaning::Load(_, at) => self.value(at),
            Meaning::Of(_, args) => args.iter().for_each(|arg| self.value(*arg)),
            Meaning::Held(_) | Meaning::Read(_) => {
                if !self.seen.iter().any(|seen| seen.symbols.contains(&s)) {
                    let name = self.plan.symbols.named(s).map_or(String::new(), |(name, _)| name);
                    self.wrong(|| format!("`{name}` is used where it is not defined"));
                }
            }
        }
    }

    fn name(&mut self, n: Name) {
        if !self.ever.insert(n) {
            self.wrong(|| "a name is defined twice".to_string());
        }
        self.seen.last_mut().map(|seen| seen.names.insert(n));
    }

    fn named(&mut self, n: Name) {
        if !self.seen.iter().any(|seen| seen.names.contains(&n)) {
            self.wrong(|| "a name is used where it is not defined".to_string());
        }
    }

    fn access(&mut self, _: AccessId) {}

    fn place(&mut self, _: Place) {}

    fn fun(&mut self, _: Fun) {}

    fn level(&mut self, _: Level) {}

    fn assembly(&mut self, _: &Assembly) {}

    fn block(&mut self, Block(ops): &Block) {
        self.seen.push(Seen::default());
        for op in ops {
            let around = self.seen.len();
            self.levels(op);
            op.show(self);
            // What the operation's blocks defined is used by none behind it.
            self.seen.truncate(around);
        }
    }
}
