//! Checks a plan: symbols and names are defined once, before they are used and where their use sees them; levels are walked and opened in
//! ways that they allow; a result's arrays are made as its operations need them (`analysis`).

use super::analysis::Tree;
use super::parts::{Part, Visitor};
use super::read::nest_of;
use super::rules::Thing;
use super::{Arrays, Assembly, Block, Body, Level, Op, Plan, Statement, Step, Table, Turns};
use crate::choose::symbol::{Meaning, Name, Sym, Symbols};
use crate::choose::{Facts, result};
use fiberloom_core::format::Holds;
use fiberloom_core::notation::concrete::{AccessId, Place, Program, Role};
use fiberloom_core::notation::typed::Fun;
use rustc_hash::{FxHashMap, FxHashSet};

impl Plan {
    /// Checks a plan against a program; the symbols of extents are known before its first step.
    ///
    /// # Errors
    /// The first operation that cannot be, and the reason.
    pub(crate) fn check(&self, facts: &Facts, extents: &[Sym]) -> Result<(), Wrong> {
        let program = facts.program;
        let operand = |place: &Place| matches!(program.tensors[place.0].role, Role::Operand(_));
        let mut checker = Checker {
            facts,
            all: &facts.symbols,
            program,
            seen: vec![Seen {
                symbols: extents.iter().copied().collect(),
                made: (0..program.tensors.len()).map(Place).filter(operand).collect(),
                ..Seen::default()
            }],
            keeps: false,
            defined: vec![],
            named: vec![],
            ever: FxHashSet::default(),
            coming: FxHashMap::default(),
            vars: FxHashSet::default(),
            unset: FxHashSet::default(),
            ends: vec![],
            tables: vec![],
            marks: vec![],
            bucket_indices: vec![],
            ops: 0,
            wrong: None,
        };
        self.steps.iter().for_each(|step| checker.step(step));
        checker.ops = 0;
        for (place, tensor) in program.tensors.iter().enumerate() {
            if matches!(tensor.role, Role::Result(_)) && checker.made(Place(place)).is_err() {
                checker.wrong(|| format!("`{}` is not computed", tensor.name));
            }
        }
        checker.wrong.map_or(Ok(()), Err)
    }
}

/// What the operations of one block have defined so far.
#[derive(Clone, Default)]
pub(super) struct Seen {
    pub symbols: FxHashSet<Sym>,
    pub names: FxHashMap<Name, Thing>,
    /// The tensors whose arrays are there.
    pub made: FxHashSet<Place>,
}

/// A plan that cannot be.
pub(crate) struct Wrong {
    /// The number of steps and operations that begin before the one that is wrong has begun, and this one; 0 if it is none.
    pub op: usize,
    /// What is wrong.
    pub what: String,
}

pub(super) struct Checker<'p> {
    pub facts: &'p Facts<'p>,
    /// The meanings of symbols.
    pub all: &'p Symbols,
    pub program: &'p Program,
    /// What is defined, in the operations and blocks around, outermost first.
    pub seen: Vec<Seen>,
    /// Whether what a block of the current operation defines is seen behind the block.
    keeps: bool,
    /// What the current operation defines, until it is seen: in the operation's blocks, and behind it.
    defined: Vec<Sym>,
    named: Vec<(Name, Thing)>,
    /// All names that were ever defined.
    ever: FxHashSet<Name>,
    /// What names stand for that the current operation defines.
    coming: FxHashMap<Name, Thing>,
    /// Symbols that are set again.
    pub vars: FxHashSet<Sym>,
    /// Those of them that may have no value yet; and at the ends of the blocks of the operations around, outermost first.
    pub unset: FxHashSet<Sym>,
    ends: Vec<Vec<FxHashSet<Sym>>>,
    /// The tables of the statement.
    pub tables: Vec<Table>,
    /// The lists of the statement that have tables of windows.
    pub marks: Vec<Level>,
    /// The accesses of the statement that have bucket indices.
    pub bucket_indices: Vec<AccessId>,
    /// The number of steps and operations so far.
    ops: usize,
    wrong: Option<Wrong>,
}

impl Checker<'_> {
    /// Notes what is wrong first.
    fn wrong(&mut self, what: impl FnOnce() -> String) {
        let op = self.ops;
        self.wrong.get_or_insert_with(|| Wrong { op, what: what() });
    }

    /// Notes that the arrays of a tensor are there from now on, in the block that is checked.
    fn makes(&mut self, place: Place) {
        if self.made(place).is_ok() {
            let name = &self.program.tensors[place.0].name;
            self.wrong(|| format!("`{name}` is computed twice"));
        }
        self.seen.last_mut().map(|seen| seen.made.insert(place));
    }

    /// What the operation has defined is seen from here on.
    fn see(&mut self) {
        if let Some(seen) = self.seen.last_mut() {
            seen.symbols.extend(self.defined.drain(..));
            seen.names.extend(self.named.drain(..));
        }
    }

    fn note(&mut self, rule: Result<(), String>) {
        if let Err(what) = rule {
            self.wrong(|| what);
        }
    }

    fn step(&mut self, step: &Step) {
        let around = self.seen.len();
        self.ops += 1;
        match step {
            Step::Whole { target, operand } => {
                self.note(self.made(*operand));
                let nest = nest_of(&self.program.steps, *target);
                if nest.and_then(|nest| result::is_operand(self.facts, &nest)) != Some(*operand) {
                    self.wrong(|| "the result does not equal this".to_string());
                }
                self.makes(*target);
            }
            Step::Nest(of) => self.statement(of),
            Step::Repeat { turns, steps, carried } => {
                match turns {
                    Turns::Count(count) => self.value(*count),
                    Turns::While { go, condition } => {
                        self.seen.push(Seen::default());
                        self.define(*go);
                        self.vars.insert(*go);
                        self.block(condition);
                        self.seen.truncate(around);
                    }
                }
                // The steps may not run.
                self.seen.push(Seen::default());
                steps.iter().for_each(|step| self.step(step));
                let here = self.seen.pop().unwrap_or_default();
                carried.iter().for_each(|carried| self.note(self.made(carried.tensor)));
                let moved: FxHashSet<Place> = carried.iter().flat_map(|c| [c.tensor, c.last]).collect();
                if moved.len() < 2 * carried.len() || !carried.iter().all(|c| here.made.contains(&c.last)) {
                    self.wrong(|| "what is carried on is computed in the block, and for one tensor".to_string());
                }
            }
        }
        self.seen.truncate(around);
    }

    fn statement(&mut self, of: &Statement) {
        let step = self.ops;
        self.prepared(of);
        let place = of.nest.target.tensor;
        match of.assembly.arrays {
            Arrays::Own | Arrays::Counted => {}
            Arrays::Taken(of) => self.note(self.made(of)),
            Arrays::Levels(a) | Arrays::Entries(a) => self.note(self.made(self.program.accesses[a.0].tensor)),
        }
        let fits = match (&of.body, of.assembly.arrays) {
            (Body::Loops(_), arrays) => arrays != Arrays::Counted,
            (Body::Counted(_), arrays) => arrays == Arrays::Counted,
            (Body::Split { .. }, arrays) => matches!(arrays, Arrays::Entries(_)),
        };
        if !fits {
            self.wrong(|| "operations of this form do not make these arrays".to_string());
        }
        self.makes(place);
        self.seen.push(Seen::default());
        self.coming.extend([(of.output, Thing::Result(place)), (of.root, Thing::Insertion(of.output, 0))]);
        [of.output, of.root].into_iter().for_each(|n| self.name(n));
        self.see();
        match &of.body {
            Body::Loops(block) => self.block(block),
            Body::Counted(passes) => passes.iter().for_each(|block| self.block(block)),
            Body::Split { split, otherwise } => {
                self.note(self.made(self.program.accesses[split.of.0].tensor));
                [split.rows, split.columns].into_iter().for_each(|s| self.value(s));
                otherwise.iter().for_each(|block| self.block(block));
            }
        }
        if self.wrong.is_none() {
            let shown = Tree::of_statement(self.facts, of).shows(&of.assembly);
            self.wrong = shown.err().map(|what| Wrong { op: step, what });
        }
    }

    /// What is prepared before a statement's loops: they are of lists.
    fn prepared(&mut self, of: &Statement) {
        let is_list =
            |checker: &Self, list: &Level| checker.can(*list, "be walked", |kind| kind.holds(Holds::Coordinates));
        for list in of.tables.iter().map(|table| &table.list).chain(of.marks.iter().map(|marks| &marks.list)) {
            self.note(is_list(self, list));
        }
        (self.tables, self.marks) = (of.tables.clone(), of.marks.iter().map(|marks| marks.list).collect());
        self.bucket_indices = of.bucket_indices.iter().map(|(a, ..)| *a).collect();
        for (_, list, most) in &of.bucket_indices {
            self.note(self.list(list).and(self.number(*most)));
            list.show(self);
            self.value(*most);
        }
    }

    /// Checks an operation, and defines what it defines.
    fn operation(&mut self, op: &Op) {
        self.ops += 1;
        let number = self.ops;
        match self.defines(op) {
            Ok(things) => self.coming.extend(things),
            Err(what) => self.wrong(|| what),
        }
        self.note(self.rule(op));
        // What the block defines is used by what stands behind it in the operation.
        let keeps = matches!(op, Op::Steps { .. } | Op::Scatter { .. });
        let around = std::mem::replace(&mut self.keeps, keeps);
        let before = self.unset.clone();
        self.ends.push(vec![]);
        match op {
            Op::Set { var, to } => {
                self.value(*to);
                self.unset.remove(var);
                self.value(*var);
            }
            Op::UniteFlat { at, flags, lists, both, some } => {
                self.define(*at);
                lists.iter().for_each(|list| self.named(*list));
                self.block(both);
                flags.iter().for_each(|flag| self.define(*flag));
                self.block(some);
            }
            Op::Scatter { it, list, flags } => {
                list.show(self);
                let around = self.seen.len();
                flags.iter().for_each(|flags| flags.show(self));
                self.seen.truncate(around);
                self.name(*it);
            }
            _ => op.show(self),
        }
        if let Op::Make { made } = op
            && self.wrong.is_none()
        {
            let shown = Tree::of_made(self.facts, made).shows(&made.assembly);
            self.wrong = shown.err().map(|what| Wrong { op: number, what });
        }
        self.keeps = around;
        let ends = self.ends.pop().unwrap_or_default();
        self.sets(op, before, ends);
    }

    /// Notes which variables have values behind an operation: `before` had none before it, `ends` at the ends of its blocks.
    fn sets(&mut self, op: &Op, before: FxHashSet<Sym>, mut ends: Vec<FxHashSet<Sym>>) {
        match op {
            Op::Var { it, .. } => drop(self.vars.insert(*it)),
            Op::Fresh { it } => drop((self.vars.insert(*it), self.unset.insert(*it))),
            Op::Work { work } => {
                self.vars.extend(work.most);
                self.unset.extend(work.most);
            }
            Op::Fail { .. } => self.unset.clear(),
            Op::Range { .. } => self.unset = ends.pop().unwrap_or(before),
            Op::When { .. } if ends.len() == 2 => self.unset = ends.into_iter().flatten().collect(),
            _ if ends.is_empty() => {}
            // Its blocks may not run.
            _ => self.unset = before,
        }
    }
}

impl Visitor for Checker<'_> {
    fn word(&mut self, _: &str) {}

    fn define(&mut self, s: Sym) {
        let named = self.all.named(s);
        match &named {
            // A position that is known already.
            _ if self.seen.iter().any(|seen| seen.symbols.contains(&s)) => {}
            None => self.value(s),
            Some(_) => self.defined.push(s),
        }
    }

    fn value(&mut self, s: Sym) {
        match self.all.meaning(s) {
            Meaning::Constant(_) | Meaning::Length(_) => {}
            Meaning::Load(_, at) => self.value(at),
            Meaning::Of(_, args) => args.iter().for_each(|arg| self.value(*arg)),
            Meaning::Held(_) | Meaning::Read(_) => {
                if self.unset.contains(&s) {
                    self.wrong(|| "a variable has no value yet".to_string());
                }
                if !self.seen.iter().any(|seen| seen.symbols.contains(&s)) {
                    let name = self.all.named(s).map_or(String::new(), |(name, _)| name);
                    self.wrong(|| format!("`{name}` is used where it is not defined"));
                }
            }
        }
    }

    fn name(&mut self, n: Name) {
        if !self.ever.insert(n) {
            self.wrong(|| "a name is defined twice".to_string());
        }
        let thing = self.coming.remove(&n).unwrap_or(Thing::Run);
        self.named.push((n, thing));
    }

    fn named(&mut self, n: Name) {
        self.note(self.thing(n).map(drop));
    }

    fn access(&mut self, _: AccessId) {}

    fn place(&mut self, _: Place) {}

    fn fun(&mut self, _: Fun) {}

    fn level(&mut self, _: Level) {}

    fn assembly(&mut self, _: &Assembly) {}

    fn scope(&mut self, define: &mut dyn FnMut(&mut dyn Visitor), block: &Block) {
        self.see();
        self.seen.push(Seen::default());
        define(self);
        self.block(block);
        self.seen.pop();
    }

    fn block(&mut self, Block(ops): &Block) {
        self.see();
        let unset = self.unset.clone();
        self.seen.push(Seen::default());
        for op in ops {
            let around = self.seen.len();
            if op.is_scope() {
                self.seen.push(Seen::default());
            }
            self.operation(op);
            self.see();
            self.seen.truncate(around);
            if let Op::Make { made } = op {
                self.makes(made.nest.target.tensor);
            }
        }
        if !self.keeps {
            self.seen.pop();
        }
        let end = std::mem::replace(&mut self.unset, unset);
        if let Some(ends) = self.ends.last_mut() {
            ends.push(end);
        }
    }
}
