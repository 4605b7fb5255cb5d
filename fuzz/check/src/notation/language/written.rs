//! Programs of the whole language as engines run them.

use super::{Made, constructs, lowered, program};
use crate::notation::engines::UNKNOWN;
use crate::notation::subject::{Operands, Subject};
use arbitrary::Unstructured;
use fiberloom_core::algebra::Mode;
use fiberloom_core::notation::syntax::{Item, Program, Repeat, Size, Turns};
use fiberloom_core::notation::typed;
use fiberloom_loops::Options;
use fiberloom_semantics::meaning::Limits;
use std::fmt::{self, Display};

/// A program of the whole language, and the bytes that its data are drawn from.
#[derive(Clone, Debug)]
pub struct Written {
    /// The program.
    pub made: Made,
    mode: Mode,
    data: Vec<u8>,
}

/// Steps of the meaning of one program: some nest deeply.
const STEPS: u64 = 300_000;

impl Written {
    /// The program of these bytes: half of them of what is lowered, and of the others one in four with one choice in so many
    /// arbitrary.
    pub fn any(u: &mut Unstructured) -> Written {
        let wild = [0, 0, 0, 20][u.choose_index(4).unwrap_or(0)];
        match u.choose_index(2) {
            Ok(1) => Written::lowered(u),
            _ => Written::of(u, |u| program(u, wild)),
        }
    }

    /// The program of these bytes, of what is lowered.
    pub fn lowered(u: &mut Unstructured) -> Written {
        Written::of(u, lowered)
    }

    fn of(u: &mut Unstructured, make: impl FnOnce(&mut Unstructured) -> Made) -> Written {
        let mode = [Mode::Algebraic, Mode::Strict][u.choose_index(2).unwrap_or(0)];
        let made = make(u);
        let rest = u.bytes(u.len()).expect("so many are left");
        Written { made, mode, data: rest.to_vec() }
    }
}

impl Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.made.program)
    }
}

/// What strict mode refuses of commands.
const ORDERED: [&str; 2] = ["folds in its order", "keeps the order of floats"];

impl Subject for Written {
    fn mode(&self) -> Mode {
        self.mode
    }

    fn options(&self, _typed: &typed::Program) -> Options {
        Options::default()
    }

    fn limits(&self) -> Limits {
        Limits { steps: STEPS }
    }

    /// `None` where a wild choice gave an operand another name, or what it holds has no place in its format.
    fn operands(&self, typed: &typed::Program) -> Option<Operands> {
        let operands = self.made.operands(&mut Unstructured::new(&self.data), typed);
        let declared = |t: &typed::Tensor| {
            let given = operands.get(&t.name)?;
            t.format.as_ref().is_none_or(|f| f.stored() == given.format).then_some(())
        };
        let mut inputs = typed.inputs().into_iter().map(|id| &typed.tensors[id.index()]);
        inputs.try_for_each(declared).map(|()| operands)
    }

    fn sizes(&self, typed: &typed::Program) -> Vec<(typed::SizeId, u64)> {
        self.made.sizes(typed)
    }

    fn shortened(&self, _extent: u64) -> Option<Written> {
        None
    }

    fn redrawn(&self, u: &mut Unstructured) -> Written {
        let data = u.bytes(u.len()).expect("so many are left").to_vec();
        Written { data, ..self.clone() }
    }

    fn smaller(&self) -> Vec<Written> {
        let with = |items| Written { made: Made { program: Program { items }, ..self.made.clone() }, ..self.clone() };
        smaller(&self.made.program.items).into_iter().map(with).collect()
    }

    fn left_out(&self, kind: &str, words: &str) -> Option<&'static str> {
        match kind {
            "checker" | "extents" => Some("rejected"),
            "refusal" if ["is not lowered yet", UNKNOWN].iter().any(|may| words.contains(may)) => Some("not lowered"),
            "refusal" if self.mode == Mode::Strict && ORDERED.iter().any(|may| words.contains(may)) => {
                Some("not strict")
            }
            "meaning" => Some("without a meaning, or one that takes too long"),
            _ => None,
        }
    }

    fn constructs(&self) -> Vec<String> {
        let mode = match self.mode {
            Mode::Algebraic => "algebraic",
            Mode::Strict => "strict",
        };
        constructs(&self.made.program).into_iter().chain([mode.to_string()]).collect()
    }

    fn data(&self) -> String {
        let typed = fiberloom_passes::check::check(&self.made.program).ok();
        format!("{:?} {:#?}\n", self.mode, typed.and_then(|typed| self.operands(&typed)))
    }
}

/// Items with one of them less, or with one of their blocks smaller: its statements alone, fewer turns, fewer items.
fn smaller(items: &[Item]) -> Vec<Vec<Item>> {
    let mut all = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let with = |others: Vec<Item>| [&items[..n], &others, &items[n + 1..]].concat();
        all.push(with(vec![]));
        let Item::Repeat(block) = item else { continue };
        all.push(with(block.body.clone()));
        if !matches!(block.turns, Turns::Times(Size::Int(0 | 1, _))) {
            let turns = Turns::Times(Size::Int(1, block.span));
            all.push(with(vec![Item::Repeat(Repeat { turns, ..block.clone() })]));
        }
        let smaller = smaller(&block.body).into_iter();
        all.extend(smaller.map(|body| with(vec![Item::Repeat(Repeat { body, ..block.clone() })])));
    }
    all
}
