//! Indices of accesses.
//!
//! ```text
//!  A0[i]   A0[3]   A0[2*i + k + 1]   A0[i(1:6:2)]
//!  Var     Sum     Sum               Window
//! ```

use super::make::Maker;
use super::{Case, name};

/// An index of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// A variable of the mode's size.
    Var(usize),
    /// A number, and variables each times a factor: nothing but the number, or it is not a bare variable.
    Sum(u64, Vec<(u64, usize)>),
    /// A variable's window: from a start, by a step.
    Window(usize, u64, u64),
}

impl At {
    /// The bare variable.
    pub fn var(&self) -> Option<usize> {
        match self {
            At::Var(v) => Some(*v),
            At::Sum(..) | At::Window(..) => None,
        }
    }

    /// The variable whose extent it says.
    pub fn says(&self) -> Option<usize> {
        match self {
            At::Var(v) | At::Window(v, ..) => Some(*v),
            At::Sum(..) => None,
        }
    }

    /// Its variables.
    pub fn vars(&self) -> impl Iterator<Item = usize> {
        let sum = match self {
            At::Sum(_, terms) => &terms[..],
            At::Var(_) | At::Window(..) => &[],
        };
        sum.iter().map(|(_, v)| *v).chain(self.says())
    }

    /// Indices of the same mode that are plainer.
    pub fn plainer(&self) -> Vec<At> {
        match self {
            At::Var(_) => vec![],
            At::Sum(0, terms) if terms.is_empty() => vec![],
            At::Sum(..) => vec![At::Sum(0, vec![])],
            At::Window(v, start, step) => {
                let windows = [(0, 1), (0, *step), (*start, 1)].map(|(s, r)| At::Window(*v, s, r));
                windows.into_iter().filter(|w| w != self).collect()
            }
        }
    }

    /// In a word.
    pub fn kind(&self) -> &'static str {
        match self {
            At::Var(_) => "variable",
            At::Sum(_, terms) if terms.is_empty() => "constant",
            At::Sum(_, terms) if terms.len() == 1 => "affine",
            At::Sum(..) => "sum",
            At::Window(_, _, 1) => "window",
            At::Window(..) => "window with step",
        }
    }
}

impl Case {
    pub(super) fn written(&self, at: &At) -> String {
        match at {
            At::Var(v) => name(*v),
            At::Sum(constant, terms) => {
                let term = |(factor, v): &(u64, usize)| match factor {
                    1 => name(*v),
                    _ => format!("{factor}*{}", name(*v)),
                };
                let mut terms: Vec<String> = terms.iter().map(term).collect();
                if *constant > 0 || terms.is_empty() {
                    terms.push(constant.to_string());
                }
                terms.join(" + ")
            }
            At::Window(v, start, step) => {
                let end = last(*start, *step, self.extent(*v)).map_or(*start, |last| last + 1);
                format!("{}({start}:{end}:{step})", name(*v))
            }
        }
    }
}

/// The last coordinate that so many steps come to.
fn last(start: u64, step: u64, count: u64) -> Option<u64> {
    Some(start + step * count.checked_sub(1)?)
}

impl Maker<'_, '_> {
    /// An index of a mode of this size, over the variables in scope.
    pub fn at(&mut self, size: usize) -> Option<At> {
        let fitting: Vec<usize> = self.scope.iter().copied().filter(|v| self.case.vars[*v] == size).collect();
        let extent = self.case.sizes[size].0;
        let other = match self.below(16) {
            12 => self.window(extent),
            13 => self.sum(extent),
            15 => None,
            _ if !fitting.is_empty() => return Some(At::Var(self.one(&fitting))),
            _ if self.below(2) == 0 => self.window(extent),
            _ => None,
        };
        other.or_else(|| (extent > 0).then(|| At::Sum(self.below(extent as usize) as u64, vec![])))
    }

    /// A window of a mode of this extent.
    fn window(&mut self, extent: u64) -> Option<At> {
        let fitting: Vec<usize> = self.scope.iter().copied().filter(|v| self.case.extent(*v) <= extent).collect();
        let v = self.any(&fitting)?;
        let count = self.case.extent(v);
        let step = self.one(&[1, 2, 3]);
        let step = if last(0, step, count).is_none_or(|last| last < extent) { step } else { 1 };
        let room = extent - last(0, step, count).map_or(0, |last| last + 1);
        Some(At::Window(v, self.below(room as usize + 1) as u64, step))
    }

    /// A sum of one or two variables that stays below an extent.
    fn sum(&mut self, extent: u64) -> Option<At> {
        let (mut room, mut terms) = (extent.checked_sub(1)?, vec![]);
        for _ in 0..1 + self.below(2) {
            let fits = |v: &usize| (1..=room + 1).contains(&self.case.extent(*v)) && terms.iter().all(|(_, w)| w != v);
            let fitting: Vec<usize> = self.scope.iter().copied().filter(fits).collect();
            let Some(v) = self.any(&fitting) else { break };
            let most = self.case.extent(v) - 1;
            let factor = self.one(&[1, 2, 3]);
            let factor = if factor * most <= room { factor } else { 1 };
            room -= factor * most;
            terms.push((factor, v));
        }
        let constant = self.below(room as usize + 1) as u64;
        match terms[..] {
            // Bare, it would say that the variable has the mode's extent.
            [(1, v)] if constant == 0 => Some(At::Window(v, 0, 1)),
            _ => Some(At::Sum(constant, terms)),
        }
    }

    /// A variable as an index of a mode of a new tensor, and the mode's size: it may have further coordinates.
    pub fn widened(&mut self, v: usize) -> (usize, At) {
        if self.below(6) < 5 {
            return (self.case.vars[v], At::Var(v));
        }
        let (start, step, behind) = (self.one(&[1, 0, 2]), self.one(&[1, 2, 3]), self.one(&[0, 1]));
        let extent = last(start, step, self.case.extent(v)).map_or(start, |last| last + 1) + behind;
        (self.new_size(extent), At::Window(v, start, step))
    }

    /// One of these, if there is any.
    pub fn any<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| self.one(of))
    }
}
