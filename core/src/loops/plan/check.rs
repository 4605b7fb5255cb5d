//! Checks a plan: each step has to be possible for its levels.

use super::print::Names;
use super::{
    Arrays, Assembly, Blocks, Decision, Fiber, Finger, Forall, How, Level, Marks, Node, Plan, Point, Seek, Sought,
    Spread, Statement, Step, Table, Walk,
};
use crate::format::LevelKind;
use crate::iteration::{Shape, shape};
use crate::notation::concrete::{AccessId, Index, Origin, Place, Program};

impl Plan {
    /// Checks a plan against a program: levels are opened, walked and assembled in ways that they allow, points follow from their
    /// sequences, and loops are over variables that no loop around binds.
    ///
    /// # Errors
    /// The first impossible step, and the reason.
    pub fn check(&self, program: &Program) -> Result<(), String> {
        self.steps.iter().try_for_each(|node| {
            let target = Statement::of(&node.step).map(|statement| statement.target);
            let check = Check { names: Names::of(program, target), program };
            check.node(node, &Around::default())
        })
    }
}

/// The surroundings of a step.
#[derive(Clone, Default)]
struct Around<'n> {
    statement: &'n [Node],
    bound: Vec<Index>,
    points: Vec<&'n Point>,
}

struct Check<'p> {
    names: Names<'p>,
    program: &'p Program,
}

impl Check<'_> {
    fn kind(&self, (a, l): Level) -> LevelKind {
        self.program.tensor(a).format.levels[l]
    }

    fn node<'n>(&self, Node { step, inside }: &'n Node, around: &Around<'n>) -> Result<(), String> {
        self.step(step, around)?;
        let mut around = around.clone();
        match step {
            Step::Statement(_) => around.statement = inside,
            Step::Forall(Forall(v)) => around.bound.push(*v),
            Step::Range(_) => {
                let point = |node: &'n Node| if let Step::Point(point) = &node.step { Some(point) } else { None };
                around.points = inside.iter().filter_map(point).collect();
            }
            _ => {}
        }
        inside.iter().try_for_each(|node| self.node(node, &around))
    }

    fn step(&self, step: &Step, around: &Around) -> Result<(), String> {
        match step {
            Step::Statement(Statement { target, assembly }) => self.assembly(*target, assembly),
            Step::Table(Table { list, .. }) | Step::Marks(Marks { list, .. }) => self.plain(*list),
            Step::Directory(directory) => self.plain((directory.0, 0)),
            Step::Forall(Forall(v)) => self.forall(*v, around),
            Step::Blocks(Blocks(a)) => self.some(*a, LevelKind::is_list, "a list that a loop may see in blocks"),
            Step::Finger(Finger { list, .. }) => self.list(*list),
            Step::Spread(Spread(list)) => {
                let table = |node: &Node| matches!(&node.step, Step::Table(table) if table.list == *list);
                self.that(around.statement.iter().any(table), || {
                    format!("{} is spread, and the statement has no table for it", self.names.level(*list))
                })
            }
            Step::Fiber(Fiber { level, looplet }) => {
                let is = self.kind(*level).looplet();
                self.that([is, is.bound()].contains(looplet), || {
                    format!("{} is {is}, not {looplet}", self.names.level(*level))
                })
            }
            Step::Point(point) => self.point(point),
            Step::Walk(walk) => self.walk(*walk, around),
            Step::Seek(seek) => self.seek(*seek, around),
            Step::Pass(_) | Step::Leap(_) | Step::Choices(_) | Step::Cut(_) => Ok(()),
            Step::Range(_) | Step::Stepped(_) | Step::Arm(_) => Ok(()),
        }
    }

    fn that(&self, holds: bool, else_what: impl FnOnce() -> String) -> Result<(), String> {
        if holds { Ok(()) } else { Err(else_what()) }
    }

    fn some(&self, a: AccessId, such: fn(LevelKind) -> bool, what: &str) -> Result<(), String> {
        let found = self.program.tensor(a).format.levels.iter().any(|kind| such(*kind));
        self.that(found, || format!("{} has no {what}", self.names.access(a)))
    }

    fn list(&self, level: Level) -> Result<(), String> {
        self.that(self.kind(level).is_list(), || format!("{} is no list", self.names.level(level)))
    }

    fn plain(&self, level: Level) -> Result<(), String> {
        self.that(self.kind(level).is_plain(), || format!("{} is no plain list", self.names.level(level)))
    }

    fn forall(&self, v: Index, around: &Around) -> Result<(), String> {
        let var = &self.program.vars[v.0];
        self.that(var.origin == Origin::Loop, || format!("`{}` is no loop's", var.name))?;
        self.that(!around.bound.contains(&v), || format!("a loop around binds `{}`", var.name))
    }

    fn assembly(&self, target: Place, assembly: &Assembly) -> Result<(), String> {
        let result = &self.program.tensors[target.0];
        let Assembly { arrays, carried, room, .. } = assembly;
        for l in carried {
            let appended = result.format.levels.get(*l).is_some_and(|kind| kind.is_appended());
            self.that(appended, || format!("level {l} of {} has no positions to carry", result.name))?;
        }
        room.iter().flat_map(|room| &room.leaders).try_for_each(|level| self.list(*level))?;
        let of = |a: AccessId| self.program.tensor(a);
        match arrays {
            Arrays::Own | Arrays::Counted => Ok(()),
            Arrays::Operand(place) => {
                let operand = &self.program.tensors[place.0];
                self.that(operand.format == result.format, || {
                    format!("{} has not the format of {}", result.name, operand.name)
                })
            }
            Arrays::Taken(place) => {
                let taken = self.program.taken().contains(&(target, *place));
                let [result, was] = [target, *place].map(|p| &self.program.tensors[p.0].name);
                self.that(taken, || format!("{result} does not go on in the arrays of {was}"))
            }
            Arrays::Levels(a) => {
                let rank = result.format.rank();
                let same = of(*a).format.levels.get(..rank) == Some(&result.format.levels[..]);
                self.that(same, || format!("{} has not the levels of {}", result.name, self.names.access(*a)))
            }
            Arrays::Entries(a) => self.that(of(*a).ty == result.ty, || {
                format!("{} has not the type of {}", result.name, self.names.access(*a))
            }),
        }
    }

    fn point(&self, point: &Point) -> Result<(), String> {
        let Point { sequence, leaders, followers, beside, shape: said, edges } = point;
        let shown = || sequence.show(&|a| self.names.access(a));
        let (lead, decide) = sequence.needed().unwrap_or_else(|| (sequence.lists(), crate::iteration::Sequence::Full));
        self.that(*leaders == lead, || format!("of {} other lists lead", shown()))?;
        self.that(*beside == decide, || format!("of {} other followers decide", shown()))?;
        self.that(*said == shape(sequence, leaders), || format!("{} has another shape", shown()))?;
        self.that(followers.iter().all(|a| !leaders.contains(a)), || format!("of {} a leader follows", shown()))?;
        let gone: Vec<AccessId> = edges.iter().map(|(list, _)| *list).collect();
        let tails = if *said == Shape::Tree { &leaders[..] } else { &[] };
        self.that(gone == tails, || format!("{} has tails for other lists", shown()))
    }

    fn walk(&self, Walk { point, how }: Walk, around: &Around) -> Result<(), String> {
        let Some(point) = around.points.get(point) else { return Err(format!("the range has no point {point}")) };
        let shapes: &[Shape] = match how {
            How::Nothing => &[Shape::Nothing],
            How::Every | How::Constant | How::Gaps | How::CountedGaps | How::Between => &[Shape::Dense],
            How::Each | How::Sift | How::Gapless | How::Decided | How::Lanes => &[Shape::Each],
            How::Tentative | How::Leap | How::Flat | How::Meet => &[Shape::Intersect],
            How::Tree | How::FlatTree => &[Shape::Tree],
            How::Wide => &[Shape::Wide],
        };
        self.that(shapes.contains(&point.shape), || {
            format!("a point that is {:?} is not walked {how:?}", point.shape).to_lowercase()
        })
    }

    fn seek(&self, Seek { level, by }: Seek, around: &Around) -> Result<(), String> {
        let kind = self.kind(level);
        let made = |such: &dyn Fn(&Step) -> bool| around.statement.iter().any(|node| such(&node.step));
        let can = match by {
            Sought::Locate => kind.is_located(),
            Sought::Flag => kind.is_flagged(),
            Sought::Piece => !kind.is_located() && !kind.is_list(),
            Sought::Table => made(&|step| matches!(step, Step::Table(table) if table.list == level)),
            Sought::Hash => kind.has_table(),
            Sought::Directory => level.1 == 0 && made(&|step| matches!(step, Step::Directory(d) if d.0 == level.0)),
            Sought::Search => kind.is_list(),
        };
        self.that(can, || format!("{} cannot be sought so: {by:?}", self.names.level(level)))
    }
}
