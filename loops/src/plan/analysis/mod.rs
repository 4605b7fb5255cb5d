//! What the operations of a result show about its arrays: how they have to be made. The planner fills in an [`Assembly`] from that when a
//! statement's tree is finished, and the checker holds every plan to it that its assemblies claim no more.
//!
//! ```text
//!  coverage   what operations certainly come to: a value for each place, the end of a list below each parent, each entry of an access
//!  bound      the lists whose entries bound the appended ones; what is stored speculatively, or only if it differs from the fill value
//! ```
//!
//! The n-th loop around an operation on a result is taken for the one over the n-th variable of the nest's order.

mod bound;
mod coverage;

use super::{Arrays, Assembly, Block, Body, Level, Made, Op, Room, Statement};
use crate::choose::form::Form;
use crate::choose::symbol::{Meaning, Name, Sym};
use crate::choose::{Facts, result};
use coverage::Goal;
use fiberloom_core::format::Holds;
use fiberloom_core::notation::concrete::{AccessId, Nest};
use rustc_hash::{FxHashMap, FxHashSet};

/// An insertion point.
struct Point {
    /// The one above, and the coordinate at which loops come from it.
    from: Option<(Name, Sym)>,
    /// The next level.
    level: usize,
    /// Whether there are flags above it, up to the last list.
    marked: bool,
}

/// The operations that fill a result, and what they define.
pub struct Tree<'t> {
    cx: &'t Facts<'t>,
    nest: &'t Nest,
    form: Form,
    output: Name,
    /// The arrays that it has whatever its loops are.
    arrays: Arrays,
    blocks: Vec<&'t Block>,
    /// The vector that is split entry by entry.
    split: Option<AccessId>,
    points: FxHashMap<Name, Point>,
    /// The levels of open lists.
    opened: FxHashMap<Name, Level>,
    /// The values of variables that are set once.
    defined: FxHashMap<Sym, Sym>,
    /// The variables that are set again.
    set: FxHashSet<Sym>,
    /// The positions of the entries of fibers that are walked whole, with their levels.
    walked: FxHashSet<(Level, Sym)>,
    /// The visits of lists' coordinates: the level, and the entries there.
    listed: Vec<(usize, &'t [(AccessId, Sym)])>,
}

impl<'t> Tree<'t> {
    /// The tree of a statement.
    pub fn of_statement(cx: &'t Facts<'t>, of: &'t Statement) -> Tree<'t> {
        let split = if let Body::Split { split, .. } = &of.body { Some(split.of) } else { None };
        let arrays = result::arrays(cx, &of.nest);
        Tree { split, ..Tree::new(cx, &of.nest, (of.output, of.root), arrays, of.body.blocks()) }
    }

    /// The tree of a temporary.
    pub fn of_made(cx: &'t Facts<'t>, of: &'t Made) -> Tree<'t> {
        Tree::new(cx, &of.nest, (of.output, of.root), Arrays::Own, vec![&of.body])
    }

    fn new(
        cx: &'t Facts<'t>,
        nest: &'t Nest,
        (output, root): (Name, Name),
        arrays: Arrays,
        blocks: Vec<&'t Block>,
    ) -> Tree<'t> {
        let points = [(root, Point { from: None, level: 0, marked: false })].into_iter().collect();
        let mut tree = Tree {
            cx,
            nest,
            form: Form::of(cx, nest),
            output,
            arrays,
            blocks: vec![],
            split: None,
            points,
            opened: FxHashMap::default(),
            defined: FxHashMap::default(),
            set: FxHashSet::default(),
            walked: FxHashSet::default(),
            listed: vec![],
        };
        blocks.iter().for_each(|block| tree.gather(block));
        tree.blocks = blocks;
        tree
    }

    /// Gathers what operations define.
    fn gather(&mut self, Block(ops): &'t Block) {
        for op in ops {
            match op {
                Op::Let { it, of } | Op::Hold { it, of } if *it != Sym::ZERO => drop(self.defined.insert(*it, *of)),
                Op::Set { var, .. } => drop(self.set.insert(*var)),
                Op::Open { it, list } => drop(self.opened.insert(*it, list.of)),
                Op::Each { list, single: false, visit } if list.is_counted() => {
                    self.walked.insert((list.of, visit.entry.position));
                }
                Op::Visit { output, insertion, at, below, positions, .. } if *output == self.output => {
                    self.enter((*insertion, *at), *below);
                    if let Some(level) = self.level(*insertion).filter(|level| self.form.is_list(*level)) {
                        self.listed.push((level, positions));
                    }
                }
                Op::Locate { output, insertion, at, below } if *output == self.output => {
                    self.enter((*insertion, *at), *below);
                }
                _ => {}
            }
            op.blocks().into_iter().for_each(|(_, block)| self.gather(block));
        }
    }

    /// Gathers an insertion point below another.
    fn enter(&mut self, from: (Name, Sym), below: Name) {
        let above = self.points.get(&from.0).filter(|point| point.level < self.form.kinds.len());
        let point = above.map(|Point { level, marked, .. }| Point {
            from: Some(from),
            level: level + 1,
            marked: self.form.marks(*level, *marked),
        });
        self.points.extend(point.map(|point| (below, point)));
    }

    /// The level below an insertion point.
    fn level(&self, insertion: Name) -> Option<usize> {
        self.points.get(&insertion).map(|point| point.level)
    }

    /// What a symbol stands for: that of which it is the name.
    fn meant(&self, mut s: Sym) -> Sym {
        while let Some(of) = self.defined.get(&s) {
            s = *of;
        }
        s
    }

    /// Whether a symbol has one value: it is no function of variables that are set again.
    fn is_fixed(&self, s: Sym) -> bool {
        !self.set.contains(&s)
            && match self.cx.symbols.meaning(s) {
                Meaning::Of(_, args) => args.iter().all(|arg| self.is_fixed(*arg)),
                Meaning::Load(_, at) => self.is_fixed(at),
                _ => self.defined.get(&s).is_none_or(|of| self.is_fixed(*of)),
            }
    }

    /// The assembly of a statement's result. If the loops store a value for each entry of an operand and nothing else, the result has the
    /// levels of that operand.
    pub fn assembly(&self) -> Assembly {
        let along = self.nest.rhs.accesses().into_iter().map(Arrays::Levels);
        let may = along.chain([self.arrays]).find(|arrays| self.may_have(*arrays));
        self.needs(may.unwrap_or_default())
    }

    /// The assembly of a temporary: its arrays keep their room from iteration to iteration, so no bound allocates them.
    pub fn assembly_inside(&self) -> Assembly {
        Assembly { room: None, ..self.needs(self.arrays) }
    }

    /// How arrays must be allocated. If operands' entries bound the appended ones, room for all can be allocated at once. If loops store
    /// every value, the arrays need not be filled. That pieces of entries come to all of them is not asked of their edges.
    fn needs(&self, arrays: Arrays) -> Assembly {
        let shown = Assembly { arrays, ..Assembly::default() };
        match arrays {
            Arrays::Own | Arrays::Entries(_) if self.form.keeps_entries() => {
                let carried = (0..self.form.kinds.len()).filter(|l| self.may_skip_parents(*l)).collect();
                Assembly { carried, room: self.room(), ..shown }
            }
            Arrays::Own => Assembly { filled: !self.stores_all(), ..shown },
            Arrays::Levels(a) => {
                let in_pieces = self.nest.order().iter().any(|v| result::counts_entries(self.cx, *v, a));
                Assembly { filled: in_pieces, ..shown }
            }
            _ => shown,
        }
    }

    /// Whether a value is stored at every place of a dense result. A fold in place leaves the identity where nothing is folded in.
    fn stores_all(&self) -> bool {
        let folds = self.nest.assign().fold().is_some() && self.nest.workspace().is_none();
        !folds && self.is_certain(&Goal::Stored)
    }

    /// Whether loops may pass over a parent of a list, so that the positions before it must be carried forward. Runs carry them as they are
    /// stored.
    fn may_skip_parents(&self, l: usize) -> bool {
        let form = &self.form;
        let runs = l + 1 == form.kinds.len() && form.is_of_runs();
        if l == 0 || runs || !form.is_list(l) || !form.kinds[l].holds(Holds::Positions) {
            return false;
        }
        let from = (0..l).rev().find(|above| form.is_list(*above)).map_or(0, |above| above + 1);
        !self.is_certain(&Goal::Closed { list: l, from })
    }

    /// Whether the result may have the levels of an access, all of whose entries are visited, and nothing else.
    fn is_along(&self, a: AccessId) -> bool {
        let of_entry = |(level, entries): &(usize, &[(AccessId, Sym)])| {
            entries.iter().any(|(b, position)| *b == a && self.walked.contains(&((a, *level), *position)))
        };
        self.nest.workspace().is_none()
            && result::may_share(self.cx, self.nest, a)
            && !self.tries()
            && self.listed.iter().all(of_entry)
            && self.is_certain(&Goal::Along(a))
    }

    /// Whether the result may have these arrays.
    fn may_have(&self, arrays: Arrays) -> bool {
        match arrays {
            Arrays::Own => self.arrays != Arrays::Counted,
            Arrays::Levels(a) => self.arrays == Arrays::Own && self.is_along(a),
            Arrays::Entries(_) => arrays == self.arrays && !self.tries() && !self.filters(),
            Arrays::Counted | Arrays::Taken(_) => arrays == self.arrays,
        }
    }

    /// Checks that an assembly claims no more than the tree shows.
    pub fn shows(&self, claimed: &Assembly) -> Result<(), String> {
        let Assembly { arrays, filled, carried, room } = claimed;
        if !self.may_have(*arrays) {
            return Err("the result cannot have these arrays".to_string());
        }
        let shown = self.needs(*arrays);
        if shown.filled && !filled {
            return Err("the result is to be filled: not every value is certainly stored".to_string());
        }
        if let Some(l) = shown.carried.iter().find(|l| !carried.contains(l)) {
            return Err(format!("level {l} is to be carried: a parent may be passed over"));
        }
        let bounds = |of: &Room| of.leaders.iter().all(|led| room.iter().any(|room| room.leaders.contains(led)));
        let spare = |of: &Room| !of.spare || room.as_ref().is_some_and(|room| room.spare);
        match room.is_none() || shown.room.is_some_and(|of| bounds(&of) && spare(&of)) {
            true => Ok(()),
            false => Err("these lists do not bound the entries".to_string()),
        }
    }
}
