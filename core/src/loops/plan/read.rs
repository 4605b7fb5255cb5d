//! Reads a plan from text.

use super::print::{CHOICES, CUTS, HOWS, Names, PASSES, SHAPES, SOUGHT};
use super::{
    Arm, Arrays, Assembly, Blocks, By, Decision, Directory, Fiber, Finger, Forall, Leap, Level, Marks, Node, Plan,
    Point, Range, Room, Seek, Spread, Statement, Step, Stepped, Table, Walk,
};
use crate::iteration::Sequence;
use crate::notation::concrete::{AccessId, Index, Place, Program};

impl Plan {
    /// Reads the plan of a text, with the names of a program.
    ///
    /// # Errors
    /// The first line that is wrong, with its number, and what was expected.
    pub fn read(text: &str, program: &Program) -> Result<Plan, String> {
        // The names of each open statement, with its indentation.
        let (mut named, outside): (Vec<(usize, Names)>, Names) = (vec![], Names::of(program, None));
        // The open steps, each with its indentation.
        let mut open: Vec<(usize, Node)> = vec![];
        let mut steps = vec![];
        let mut end = |open: &mut Vec<(usize, Node)>| {
            let Some((_, node)) = open.pop() else { return };
            open.last_mut().map_or(&mut steps, |(_, around)| &mut around.inside).push(node);
        };
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let depth = line.len() - line.trim_start().len();
            while open.last().is_some_and(|(around, _)| *around >= depth) {
                end(&mut open);
            }
            let line = line.trim();
            named.retain(|(around, _)| *around < depth);
            if let Some(target) = line.strip_prefix("result ").and_then(|rest| rest.split(':').next()) {
                let place = program.tensors.iter().position(|t| t.name == target);
                named.push((depth, Names::of(program, place.map(Place))));
            }
            let names = named.last().map_or(&outside, |(_, names)| names);
            let step = Line { names }.step(line).map_err(|e| format!("line {}: {e}", n + 1))?;
            open.push((depth, Node::leaf(step)));
        }
        while !open.is_empty() {
            end(&mut open);
        }
        Ok(Plan { steps })
    }
}

/// A line that is being read.
struct Line<'n> {
    names: &'n Names<'n>,
}

impl Line<'_> {
    fn step(&self, line: &str) -> Result<Step, String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        let known = |found: Option<Step>| found.ok_or(format!("`{rest}` is no way of `{word}`"));
        match (word, &words[..]) {
            ("result", _) => self.statement(rest),
            ("point", _) => self.point(rest),
            ("table", [list, of @ ("values" | "positions"), flags @ ..]) => {
                let flagged = matches!(flags, ["flagged"]);
                Ok(Table { list: self.level(list)?, by_value: *of == "values", flagged }.step())
            }
            ("marks", [list]) => Ok(Marks { list: self.level(list)?, by: None }.step()),
            ("marks", [list, by]) => Ok(Marks { list: self.level(list)?, by: Some(self.var(by)?) }.step()),
            ("directory", [a]) => Ok(Directory(self.access(a)?).step()),
            ("pass", [pass]) => known(PASSES.read(pass).map(Decision::step)),
            ("forall", [v]) => Ok(Forall(self.var(v)?).step()),
            ("blocks", [a]) => Ok(Blocks(self.access(a)?).step()),
            ("finger", [list, through @ ..]) => {
                let through = through.iter().map(|v| self.var(v)).collect::<Result<_, _>>()?;
                Ok(Finger { list: self.level(list)?, through }.step())
            }
            ("spread", [list]) => Ok(Spread(self.level(list)?).step()),
            ("leap", [far, near]) => Ok(Leap { far: self.access(far)?, near: self.access(near)? }.step()),
            ("choices", [choices]) => known(CHOICES.read(choices).map(Decision::step)),
            ("cut", [cut]) => known(CUTS.read(cut).map(Decision::step)),
            ("range", []) => Ok(Range.step()),
            ("fiber", [level, ..]) => self.fiber(level, rest[level.len()..].trim()),
            ("walk", [point, how]) => {
                let point = number(point)?;
                known(HOWS.read(how).map(|how| Walk { point, how }.step()))
            }
            ("stepped", _) => self.stepped(&words),
            ("arm", all) => Ok(Arm(self.all(all)?).step()),
            ("seek", [level, by]) => {
                let level = self.level(level)?;
                known(SOUGHT.read(by).map(|by| Seek { level, by }.step()))
            }
            _ => Err(format!("`{line}` is no step of a plan")),
        }
    }

    fn access(&self, name: &str) -> Result<AccessId, String> {
        self.names.access_of(name).ok_or(format!("the statement has no access `{name}`"))
    }

    fn all(&self, names: &[&str]) -> Result<Vec<AccessId>, String> {
        names.iter().map(|name| self.access(name)).collect()
    }

    fn level(&self, name: &str) -> Result<Level, String> {
        let (access, level) = name.rsplit_once('.').ok_or(format!("`{name}` is no level: A[i,j].1"))?;
        let (access, level) = (self.access(access)?, number(level)?);
        let rank = self.names.program.tensor(access).format.rank();
        if level < rank { Ok((access, level)) } else { Err(format!("`{name}`: there are {rank} levels")) }
    }

    fn var(&self, name: &str) -> Result<Index, String> {
        self.names.var_of(name).ok_or(format!("the statement has no loop over `{name}`"))
    }

    fn tensor(&self, name: &str) -> Result<Place, String> {
        let place = self.names.program.tensors.iter().position(|t| t.name == name);
        place.map(Place).ok_or(format!("the program has no tensor `{name}`"))
    }

    fn fiber(&self, level: &str, text: &str) -> Result<Step, String> {
        let (a, l) = self.level(level)?;
        let looplet = self.names.program.tensor(a).format.levels[l].looplet();
        let same = [looplet, looplet.bound()].into_iter().find(|looplet| looplet.to_string() == text);
        let looplet = same.ok_or(format!("`{level}` is no `{text}`"))?;
        Ok(Fiber { level: (a, l), looplet }.step())
    }

    fn statement(&self, text: &str) -> Result<Step, String> {
        let (target, how) = text.split_once(": ").ok_or("expected `result NAME: how`")?;
        let target = self.tensor(target)?;
        let mut parts = how.split("; ");
        let arrays = match parts.next().unwrap_or("").split_whitespace().collect::<Vec<_>>()[..] {
            ["own"] => Arrays::Own,
            ["counted"] => Arrays::Counted,
            ["arrays", operand] => Arrays::Operand(self.tensor(operand)?),
            ["taken", version] => Arrays::Taken(self.tensor(version)?),
            ["levels", a] => Arrays::Levels(self.access(a)?),
            ["entries", a] => Arrays::Entries(self.access(a)?),
            _ => {
                return Err(format!(
                    "`{how}` does not say whose arrays: own, counted, arrays, taken, levels or entries"
                ));
            }
        };
        let mut assembly = Assembly { arrays, ..Assembly::default() };
        for part in parts {
            match part.split_whitespace().collect::<Vec<_>>()[..] {
                ["filled"] => assembly.filled = true,
                ["carry", ref levels @ ..] => {
                    assembly.carried = levels.iter().map(|l| number(l)).collect::<Result<_, _>>()?;
                }
                ["room", ref leaders @ ..] => {
                    let spare = leaders.last() == Some(&"spare");
                    let leaders = &leaders[..leaders.len() - spare as usize];
                    let leaders = leaders.iter().map(|list| self.level(list)).collect::<Result<_, _>>()?;
                    assembly.room = Some(Room { leaders, spare });
                }
                _ => return Err(format!("`{part}` is not of a result: filled, carry or room")),
            }
        }
        Ok(Statement { target, assembly }.step())
    }

    fn point(&self, text: &str) -> Result<Step, String> {
        let mut parts = text.split("; ");
        let first = parts.next().unwrap_or("");
        let shaped = || {
            let (_, first) = first.split_once(": ")?;
            let (shape, sequence) = first.split_once(' ')?;
            Some((SHAPES.read(shape)?, sequence))
        };
        let (shape, sequence) = shaped().ok_or("expected `point N: shape sequence`")?;
        let sequence = self.sequence(sequence)?;
        let mut point =
            Point { sequence, shape, leaders: vec![], followers: vec![], beside: Sequence::Full, edges: vec![] };
        for part in parts {
            match part.split_once(' ') {
                Some(("lead", all)) => point.leaders = self.all(&all.split_whitespace().collect::<Vec<_>>())?,
                Some(("follow", all)) => point.followers = self.all(&all.split_whitespace().collect::<Vec<_>>())?,
                Some(("beside", sequence)) => point.beside = self.sequence(sequence)?,
                Some(("without", edge)) => {
                    let (list, to) = edge.split_once(' ').ok_or("expected `without LIST POINT`")?;
                    point.edges.push((self.access(list)?, number(to)?));
                }
                _ => return Err(format!("`{part}` is not of a point: lead, follow, beside or without")),
            }
        }
        Ok(point.step())
    }

    fn stepped(&self, words: &[&str]) -> Result<Step, String> {
        let at = words.iter().position(|w| *w == "by").ok_or("expected `by`")?;
        let by = match words[at + 1..] {
            ["search"] => By::Search,
            ["presence", a] => By::Presence(self.access(a)?),
            ["block"] => By::Block,
            ["piece", switches] => By::Piece(number(switches)?),
            _ => return Err("levels with pieces are split by search, presence, block or piece".to_string()),
        };
        Ok(Stepped { accesses: self.all(&words[..at])?, by }.step())
    }

    /// Reads a sequence expression: lists joined by ∩ or ∪, in parentheses where they are nested.
    fn sequence(&self, text: &str) -> Result<Sequence, String> {
        let (sequence, rest) = self.joined(text.trim(), 0)?;
        if rest.trim().is_empty() { Ok(sequence) } else { Err(format!("`{rest}` is left of the sequence `{text}`")) }
    }

    fn joined<'t>(&self, text: &'t str, depth: usize) -> Result<(Sequence, &'t str), String> {
        if depth > crate::text::DEPTH {
            return Err("sequences stand in each other too deep".to_string());
        }
        let mut parts = vec![];
        let (mut rest, mut sign) = (text, None);
        loop {
            let part;
            (part, rest) = match rest.strip_prefix('(') {
                Some(inner) => {
                    let (part, rest) = self.joined(inner, depth + 1)?;
                    (part, rest.strip_prefix(')').ok_or("a parenthesis is not closed")?)
                }
                None => {
                    let end = rest.find([' ', ')']).unwrap_or(rest.len());
                    let part = match &rest[..end] {
                        "∅" => Sequence::Empty,
                        "𝓕" => Sequence::Full,
                        name => Sequence::List(self.access(name)?),
                    };
                    (part, &rest[end..])
                }
            };
            parts.push(part);
            let next = [" ∩ ", " ∪ "].into_iter().find(|sign| rest.starts_with(sign));
            let Some(next) = next else { break };
            if sign.is_some_and(|sign| sign != next) {
                return Err("∩ and ∪ stand side by side: one of them needs parentheses".to_string());
            }
            (sign, rest) = (Some(next), &rest[next.len()..]);
        }
        let sequence = match sign {
            None => parts.remove(0),
            Some(" ∩ ") => Sequence::And(parts),
            Some(_) => Sequence::Or(parts),
        };
        Ok((sequence, rest))
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}
