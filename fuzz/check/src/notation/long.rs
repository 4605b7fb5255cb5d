//! Programs of few kinds on large data: what no data of a few coordinates meets.
//!
//! ```text
//!  rows       of 0, 1, 7–9, 15–17, 63–66, 127–130, 511–513, 2,001 and 5,000 entries: lanes of 8, words of 64, networks of 128,
//!             rooms of 512; without gaps, in clusters, in steps, around powers of two, shared with other operands
//!  extents    64 to 32,769, 2³¹ − 1 to 2³¹ + 1, 2³³, 2⁶², 2⁶³ − 1: blocks of 4,096, 32-bit borders, sums that may wrap
//!  programs   each merge, workspace, seek, sort, shape operator and scatter (`long/program.rs`), in all formats that
//!             such extents permit
//! ```
//!
//! The expected side is the meaning over what is stored, which other walks hold to the pointwise one. Interpreted loops run first, with a
//! limit on steps: a program that visits an extent of 2³³ is left out by name, on every engine.

pub mod data;
pub mod program;

use super::subject::{Operands, Subject};
use arbitrary::Unstructured;
use data::Random;
use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::{self, Format};
use fiberloom_core::iteration::Thin;
use fiberloom_core::notation::typed;
use fiberloom_core::shape::Magnitude;
use fiberloom_loops::{Options, Widths};
use fiberloom_semantics::machine;
use fiberloom_semantics::meaning::Limits;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// Steps of the meaning of one program.
const STEPS: u64 = 30_000_000;

/// Steps of interpreted loops, and bytes of their results and workspaces.
const MACHINE: machine::Limits = machine::Limits { memory: 1 << 28, steps: 6_000_000 };

/// A program with long data.
#[derive(Clone, Debug)]
pub struct Long {
    /// What kind of program it is, in a word.
    kind: &'static str,
    sizes: Vec<Size>,
    operands: Vec<Operand>,
    /// Declarations of results, then statements.
    lines: Vec<String>,
    mode: Mode,
    few: i64,
    sought: u32,
    thin: bool,
    made: Widths,
}

/// A named extent.
#[derive(Clone, Debug)]
struct Size {
    name: &'static str,
    extent: u64,
    /// Whether the program says it.
    said: bool,
    /// What it is taken for when the program is lowered.
    taken_for: Option<Magnitude>,
}

/// A tensor that the caller gives.
#[derive(Clone, Debug)]
struct Operand {
    name: &'static str,
    ty: Type,
    /// The size of each mode.
    sizes: Vec<usize>,
    format: Format,
    widths: Widths,
    /// Whether its values are coordinates, and below which size.
    points: Option<usize>,
    entries: Vec<(Vec<i64>, i64)>,
}

impl Long {
    /// The program of these bytes, on data of theirs.
    pub fn any(u: &mut Unstructured) -> Long {
        let mut random = Random::new(u.arbitrary().unwrap_or(0));
        let mut long = program::any(&mut random);
        long.fill(&mut random);
        long
    }

    /// Draws all entries anew.
    fn fill(&mut self, random: &mut Random) {
        let extents: Vec<u64> = self.sizes.iter().map(|s| s.extent).collect();
        let pools: Vec<Vec<i64>> = extents.iter().map(|e| random.pool(*e)).collect();
        for a in &mut self.operands {
            a.entries = random.entries(&a.sizes, &a.format, (&extents, &pools), a.points.map(|n| extents[n]));
        }
    }

    fn extents(&self, a: &Operand) -> Vec<u64> {
        a.sizes.iter().map(|n| self.sizes[*n].extent).collect()
    }

    fn stored(&self, a: &Operand) -> format::Tensor<'static> {
        let entries = a.entries.iter().map(|(at, x)| (at.clone(), Value::from_i128(a.ty, *x as i128)));
        let Widths { pos, crd } = a.widths;
        let zero = Value::zero(a.ty);
        let made = format::Tensor::from_entries(self.extents(a), a.format.clone(), zero, pos, crd, entries);
        made.expect("entries are within the extents")
    }

    /// Whether an extent is taken for a shorter one.
    fn is_misled(&self) -> bool {
        let narrow = Magnitude::ALL[0];
        self.sizes.iter().any(|s| s.taken_for.unwrap_or(narrow) < Magnitude::of(s.extent))
    }

    /// The operand of that name.
    fn given(&self, name: &str) -> Option<&Operand> {
        self.operands.iter().find(|a| a.name == name)
    }
}

impl Display for Long {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for size in self.sizes.iter().filter(|s| s.said) {
            writeln!(f, "dim {} = {}", size.name, size.extent)?;
        }
        for Operand { name, ty, sizes, format, .. } in &self.operands {
            let sizes: Vec<&str> = sizes.iter().map(|n| self.sizes[*n].name).collect();
            writeln!(f, "tensor {name}: {ty}[{}] {format}", sizes.join(", "))?;
        }
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Subject for Long {
    fn mode(&self) -> Mode {
        self.mode
    }

    fn options(&self, typed: &typed::Program) -> Options {
        let named = |id: &typed::TensorId| self.given(&typed.tensors[id.index()].name);
        let all = (0..typed.tensors.len() as u32).map(typed::TensorId);
        let operands: BTreeMap<_, _> =
            all.filter_map(|id| named(&id).map(|a| (id, vec![a.widths; a.sizes.len()]))).collect();
        let taken = |(id, size): (usize, &typed::Size)| {
            let own = self.sizes.iter().find(|s| Some(s.name) == size.name.as_deref())?;
            Some((typed::SizeId(id as u32), own.taken_for?))
        };
        Options {
            initial: typed.starts().into_iter().filter(|id| named(id).is_some()).collect(),
            operands,
            sizes: typed.sizes.iter().enumerate().filter_map(taken).collect(),
            few: self.few,
            sought: self.sought,
            thin: if self.thin { typed.spares().thinnest() } else { Thin::new() },
            made: self.made,
            ..Options::default()
        }
    }

    fn limits(&self) -> Limits {
        Limits { steps: STEPS }
    }

    fn machine_limits(&self) -> machine::Limits {
        MACHINE
    }

    fn is_long(&self) -> bool {
        true
    }

    fn operands(&self, typed: &typed::Program) -> Option<Operands> {
        let wanted = typed.inputs().into_iter().chain(typed.starts());
        let given = wanted.filter_map(|id| self.given(&typed.tensors[id.index()].name));
        Some(given.map(|a| (a.name.to_string(), self.stored(a))).collect())
    }

    fn shortened(&self, _extent: u64) -> Option<Long> {
        None
    }

    fn redrawn(&self, u: &mut Unstructured) -> Long {
        let mut other = self.clone();
        other.fill(&mut Random::new(u.arbitrary().unwrap_or(0)));
        other
    }

    fn left_out(&self, kind: &str, words: &str) -> Option<&'static str> {
        match kind {
            "meaning" if words.contains("Steps") => Some("the meaning takes too many steps"),
            "fault" if words.contains("step") => Some("an extent is visited"),
            "fault" if words.contains("memory") => Some("an extent is stored"),
            // Where a loop is launched the host says so of what it runs around it, and the machine for PTX of the launch.
            "failure" if words.contains("Steps") => Some("an extent is visited"),
            "failure" if words.contains("Memory") => Some("an extent is stored"),
            // Extents are taken for narrow ones whose product then fits no key.
            "fault" if words.contains("overflow") && self.is_misled() => Some("keys have too few bits"),
            _ => None,
        }
    }

    /// With a half, a quarter or less of an operand's entries left out; with plainer options.
    fn smaller(&self) -> Vec<Long> {
        let mut all = vec![];
        for (n, a) in self.operands.iter().enumerate() {
            let mut part = a.entries.len().div_ceil(2);
            while part > 0 && part * 32 >= a.entries.len() {
                for from in (0..a.entries.len()).step_by(part) {
                    let mut smaller = self.clone();
                    smaller.operands[n].entries.drain(from..(from + part).min(a.entries.len()));
                    all.push(smaller);
                }
                part /= 2;
            }
        }
        let plainer = Long { few: Options::default().few, sought: Options::SOUGHT, thin: false, ..self.clone() };
        if (plainer.few, plainer.sought, plainer.thin) != (self.few, self.sought, self.thin) {
            all.push(plainer);
        }
        all
    }

    fn constructs(&self) -> Vec<String> {
        let mut all = vec![format!("kind {}", self.kind), format!("few {}", self.few)];
        let known = |size: &&Size| program::EXTENTS.contains(&size.extent);
        all.extend(self.sizes.iter().filter(known).map(|size| format!("extent {}", size.extent)));
        for a in &self.operands {
            all.extend(a.format.levels.iter().map(|kind| format!("operand level {}", kind.name())));
            all.extend(data::lengths(a.entries.iter().map(|(at, _)| at), &a.format.order));
        }
        let commands = self.lines.iter().flat_map(|line| line.split("protocol(").skip(1));
        all.extend(commands.filter_map(|command| Some(format!("protocol {}", command.split(['}', ')', ' ']).nth(1)?))));
        let results =
            self.lines.iter().filter(|line| line.starts_with("tensor")).flat_map(|line| line.split('{').skip(1));
        let levels = results.flat_map(|levels| levels.split('}').next().unwrap_or_default().split(", "));
        all.extend(levels.map(|level| format!("result level {level}")));
        all
    }

    fn data(&self) -> String {
        let shown = |a: &Operand| {
            let some: Vec<_> = a.entries.iter().take(40).collect();
            format!("{} {:?} {:?}, {} entries: {some:?}\n", a.name, self.extents(a), a.widths, a.entries.len())
        };
        let options = format!(
            "{:?} few {} sought {} thin {} made {:?}\n",
            self.mode, self.few, self.sought, self.thin, self.made
        );
        let taken = self.sizes.iter().map(|s| format!("{} = {} taken for {:?}\n", s.name, s.extent, s.taken_for));
        self.operands.iter().map(shown).chain([options]).chain(taken).collect()
    }
}
