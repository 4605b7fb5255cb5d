//! What becomes of each tensor, as text.
//!
//! ```text
//!  6 boxes
//!    i: 3 ranges of 0..6
//!    j: 2 ranges of 0..4
//!  operands
//!    A: mode 0 cut along i, mode 1 cut along j
//!    x: mode 0 cut along j
//!  results
//!    y: mode 0 concatenated along i; folded with `+` along j
//! ```

use super::Shards;
use fiberloom_core::notation::typed::{Fun, TensorId};
use std::fmt::{Display, Formatter, Result};

/// What becomes of an operand or a result where index variables are split. One that is neither cut nor folded is the same in
/// every box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Its name.
    pub tensor: String,
    /// The modes that are cut, ascending, each with the number of the split that cuts it; of a result, parts are concatenated along them.
    pub cuts: Vec<(usize, usize)>,
    /// The function that folds what boxes make of it, and the numbers of the splits along which it does; of results alone.
    pub fold: Option<(String, Vec<usize>)>,
}

impl Shards<'_> {
    /// What becomes of each operand, in the order in which they were given. What boxes fold into is none of theirs: it is folded in
    /// once, before all boxes.
    pub fn operand_fates(&self) -> Vec<Fate> {
        self.given.iter().map(|id| self.fate(*id)).filter(|fate| fate.fold.is_none()).collect()
    }

    /// What becomes of each result.
    pub fn result_fates(&self) -> Vec<Fate> {
        self.program.typed().results().into_iter().map(|id| self.fate(id)).collect()
    }

    fn fate(&self, id: TensorId) -> Fate {
        let share = self.share(id);
        let name = |fun: Fun| match fun {
            Fun::Op(op) => op.name().to_string(),
            Fun::User(id) => self.program.typed().functions[id.index()].name.clone(),
        };
        let fold = share.fold.as_ref().map(|fold| (name(fold.fun), fold.along.clone()));
        let mut cuts = share.cuts.clone();
        cuts.sort_unstable();
        Fate { tensor: self.tensor(id).name.clone(), cuts, fold }
    }

    /// A line of the plan, in which a cut mode is said to be `cut` or `concatenated`.
    fn line(&self, Fate { tensor, cuts, fold }: &Fate, cut: &str) -> String {
        let name = |split: &usize| self.splits[*split].name.as_str();
        let along = |splits: &[usize]| splits.iter().map(name).collect::<Vec<_>>().join(", ");
        let modes: Vec<String> =
            cuts.iter().map(|(mode, split)| format!("mode {mode} {cut} along {}", name(split))).collect();
        let fold = fold.iter().map(|(fun, splits)| format!("folded with `{fun}` along {}", along(splits)));
        let said: Vec<String> = (!modes.is_empty()).then(|| modes.join(", ")).into_iter().chain(fold).collect();
        match said.is_empty() {
            true => format!("  {tensor}: the same in every box\n"),
            false => format!("  {tensor}: {}\n", said.join("; ")),
        }
    }
}

/// The plan: its boxes, what they have of each operand, and what is made of each result.
impl Display for Shards<'_> {
    fn fmt(&self, f: &mut Formatter) -> Result {
        writeln!(f, "{} box{}", self.boxes.len(), if self.boxes.len() == 1 { "" } else { "es" })?;
        for split in &self.splits {
            let (count, extent) = (split.ranges.len(), split.ranges.last().map_or(0, |last| last.end));
            writeln!(f, "  {}: {count} range{} of 0..{extent}", split.name, if count == 1 { "" } else { "s" })?;
        }
        writeln!(f, "operands")?;
        self.operand_fates().iter().try_for_each(|fate| f.write_str(&self.line(fate, "cut")))?;
        writeln!(f, "results")?;
        self.result_fates().iter().try_for_each(|fate| f.write_str(&self.line(fate, "concatenated")))
    }
}
