//! What the names and symbols of a plan stand for where its operations are emitted.

use super::{Context, Expr, insertion::Insertion, output::Output, position_map::Scattered, scratch::Scratch};
use crate::choose::symbol::{Array, Meaning, Name, Sym};
use crate::stream::{self, EntryRun, Interval, List, Pieces, State};
use crate::{BufferId, Symbolic, Term};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::Holds;
use fiberloom_core::map::ClassId;
use fiberloom_core::notation::concrete::AccessId;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The arrays of a counted copy, in one of its passes.
#[derive(Clone, Copy)]
pub(super) struct Tally {
    pub pos: BufferId,
    /// The arrays of coordinates and values; `None` in the first pass.
    pub arrays: Option<(BufferId, BufferId)>,
}

/// What names stand for. Operations say it, and others behind them read it.
#[derive(Default)]
pub(super) struct Names {
    /// The expressions of held and read symbols, by number.
    exprs: FxHashMap<u32, Expr>,
    pub runs: FxHashMap<Name, EntryRun<Term>>,
    /// Cursors that stay, and hints.
    pub states: FxHashMap<Name, State>,
    /// Open lists, each with its access.
    pub lists: FxHashMap<Name, (AccessId, List<Term>)>,
    pub pieces: FxHashMap<Name, Rc<Pieces<Term>>>,
    pub insertions: FxHashMap<Name, Insertion>,
    pub outputs: FxHashMap<Name, Rc<Output>>,
    pub works: FxHashMap<Name, Rc<dyn Scratch>>,
    pub scattered: FxHashMap<Name, Rc<Scattered>>,
    pub tally: Option<Tally>,
}

impl Context<'_> {
    /// Defines the expression of a symbol. A symbol that is made of others has one already.
    pub fn say(&self, s: Sym, e: Expr) {
        if let Meaning::Held(number) | Meaning::Read(number) = self.symbols.meaning(s) {
            self.names.borrow_mut().exprs.insert(number, e);
        }
    }

    /// Defines the expression of a symbol, to be placed here.
    pub fn say_term(&self, d: &mut Symbolic, s: Sym, term: &Term) {
        let e = d.place(term);
        debug_assert!(self.has_type(d, s, &e), "a symbol of another type");
        self.say(s, e);
    }

    /// Whether an expression has the type of a symbol.
    fn has_type(&self, d: &Symbolic, s: Sym, e: &Expr) -> bool {
        self.symbols.named(s).is_none_or(|(_, ty)| ty == d.type_of(e))
    }

    /// The name and type of a symbol's variable.
    pub fn named(&self, s: Sym) -> (String, Type) {
        self.symbols.named(s).expect("a symbol that an operation defines has a name")
    }

    /// The expression of a symbol.
    pub fn expr(&self, d: &Symbolic, s: Sym) -> Expr {
        match self.symbols.meaning(s) {
            Meaning::Constant(x) => Expr::Const(x),
            Meaning::Held(number) | Meaning::Read(number) => self.names.borrow().exprs[&number].clone(),
            Meaning::Load(array, at) => {
                let at = self.expr(d, at);
                match array {
                    Array::Level(.., Holds::Positions | Holds::Coordinates) => d.index(self.buffer(array), at),
                    _ => Expr::Load(self.buffer(array), Box::new(at)),
                }
            }
            Meaning::Length(array) => Expr::Capacity(self.buffer(array)),
            Meaning::Of(op, args) => Expr::Op(op, args.iter().map(|arg| self.expr(d, *arg)).collect()),
        }
    }

    /// The term of a symbol that reads no variable which is set twice.
    pub fn term(&self, d: &Symbolic, s: Sym) -> Term {
        Term::fixed(self.expr(d, s))
    }

    /// The buffer of an array.
    pub fn buffer(&self, array: Array) -> BufferId {
        match array {
            Array::Level(place, level, holds) => {
                let level = &super::arrays_of(self, place).levels[level];
                level.array(holds).expect("a level has the arrays of its kind")
            }
            Array::Values(place) => super::arrays_of(self, place).values,
        }
    }

    /// An array of an access's level.
    pub fn level_array(&self, (a, level): (AccessId, usize), holds: Holds) -> BufferId {
        self.buffer(Array::Level(self.program.accesses[a.0].tensor, level, holds))
    }

    /// The expression of an extent.
    pub fn extent(&self, class: ClassId) -> Expr {
        let s = self.extents.name(class);
        match self.symbols.meaning(s) {
            Meaning::Constant(x) => Expr::Const(x),
            Meaning::Held(number) | Meaning::Read(number) => self.names.borrow().exprs[&number].clone(),
            _ => unreachable!("an extent is a number or a variable"),
        }
    }

    /// The state of a cursor that stays, or of a hint.
    pub fn state(&self, name: Name) -> State {
        self.names.borrow().states[&name]
    }

    /// An open list.
    pub fn list(&self, name: Name) -> List<Term> {
        self.names.borrow().lists[&name].1.clone()
    }

    /// The name of a variable for the entries of an open list.
    pub fn entry_name(&self, list: Name) -> String {
        format!("q_{}", self.program.tensor(self.names.borrow().lists[&list].0).name)
    }

    /// The open pieces of a level.
    pub fn pieces(&self, name: Name) -> Rc<Pieces<Term>> {
        self.names.borrow().pieces[&name].clone()
    }

    /// The run of an entry's positions.
    pub fn run(&self, name: Name) -> EntryRun<Term> {
        self.names.borrow().runs[&name].clone()
    }

    /// A result, and an insertion point in it.
    pub fn insertion(&self, (output, insertion): (Name, Name)) -> (Rc<Output>, Insertion) {
        let names = self.names.borrow();
        (names.outputs[&output].clone(), names.insertions[&insertion].clone())
    }

    /// Defines a result, and the insertion point above its levels.
    pub fn say_output(&self, (name, root): (Name, Name), output: Output) -> Rc<Output> {
        let (output, names) = (Rc::new(output), &mut *self.names.borrow_mut());
        names.insertions.insert(root, output.root());
        names.outputs.insert(name, output.clone());
        output
    }

    /// A workspace.
    pub fn work(&self, name: Name) -> Rc<dyn Scratch> {
        self.names.borrow().works[&name].clone()
    }

    /// Defines an interval's ends and base.
    pub fn say_interval(&self, d: &mut Symbolic, is: &[Sym; 3], Interval { start, stop, base }: &Interval<Term>) {
        is.iter().zip([start, stop, base]).for_each(|(s, term)| self.say_term(d, *s, term));
    }

    /// Defines an entry's positions.
    pub fn say_entry(&self, d: &mut Symbolic, is: &crate::plan::Entry, entry: &stream::Entry<Term>) {
        self.say_term(d, is.position, &entry.position);
        if let (Some(name), Some(run)) = (is.run, &entry.run) {
            let run = match run {
                EntryRun::Ends(end) => EntryRun::Ends(Term::fixed(d.place(end))),
                open => open.clone(),
            };
            self.names.borrow_mut().runs.insert(name.name, run);
        }
    }
}
