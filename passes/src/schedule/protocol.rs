//! Protocols: the ways of iterating accesses that a schedule asks for, by tensor and index variable.
//!
//! ```text
//!  schedule { protocol(A[j], gallop); }      every mode of A under an index with j in it, in that statement
//!    walk      visit entry by entry
//!    gallop    in an intersection, seek the others' coordinates by doubling steps: levels that are lists of coordinates
//!    locate    search at each coordinate that the others, or the extent, visit
//! ```

use fiberloom_core::format::Format;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::syntax::{self, Affine, CommandKind, Factor, Protocol, TensorCommand};
use fiberloom_core::notation::typed::{self, Index, Kind, Map, TensorId, VarId};
use std::collections::BTreeMap;

/// A `protocol` command in a statement's own variables.
pub struct Asked {
    tensor: TensorId,
    vars: Vec<VarId>,
    protocol: Protocol,
}

/// The protocols of a statement's schedule.
pub fn asked(program: &typed::Program, s: &typed::Statement) -> Vec<Asked> {
    commands(s).filter_map(|(access, protocol)| Some(Asked { protocol, ..named(program, s, access)? })).collect()
}

/// The protocol of each mode of an access under these commands: the last command wins.
pub fn of(asked: &[Asked], tensor: TensorId, indices: &[Index]) -> BTreeMap<usize, Protocol> {
    let mut protocols = BTreeMap::new();
    for command in asked.iter().filter(|command| command.tensor == tensor) {
        let modes = (0..indices.len()).filter(|m| command.vars.iter().any(|v| mentions(&indices[*m].map, *v)));
        protocols.extend(modes.map(|m| (m, command.protocol)));
    }
    protocols
}

/// Errors in the protocols of a statement: no mode is read as the command says, or `gallop` has no list.
pub fn check(program: &typed::Program, s: &typed::Statement) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    for (access, protocol) in commands(s) {
        let name = &access.tensor.name;
        let modes = modes(program, s, access, protocol);
        let level = |m: &usize| {
            let tensor = program.tensors.iter().position(|t| t.name == *name)?;
            let format = copied(s, tensor).or(program.tensors[tensor].format.as_ref())?;
            let l = format.order.iter().position(|mode| mode == m)?;
            Some(format.levels[l]).filter(|kind| protocol == Protocol::Gallop && !kind.is_list())
        };
        if modes.is_empty() && is_gathered(program, s, name) {
            let message = format!(
                "`{access}` cannot {protocol}: what gathers or is gathered is asked for one coordinate after the other"
            );
            let help = "name a tensor whose index is made of index variables alone";
            wrong.push(Diagnostic::new(access.span, message).help(help));
        } else if modes.is_empty() {
            let message = format!("`{access}` names nothing that this statement reads, so that nothing can {protocol}");
            let help = "name a tensor of the right side, with index variables under which it is read";
            wrong.push(Diagnostic::new(access.span, message).help(help));
        } else if let Some(kind) = modes.iter().find_map(level) {
            let message = format!("`{access}` cannot gallop: the level of `{name}` there is `{}`", kind.name());
            let help = "gallop over a level that lists coordinates (compressed, nonunique, singleton, hashed)";
            wrong.push(Diagnostic::new(access.span, message).help(help));
        }
    }
    wrong
}

/// The format of the copy that the statement reads in place of a tensor, if it reads one.
fn copied(s: &typed::Statement, tensor: usize) -> Option<&Format> {
    s.commands.iter().find_map(|command| match &command.kind {
        typed::CommandKind::Tensor(typed::TensorCommand::Copy(t, format)) if t.index() == tensor => Some(format),
        _ => None,
    })
}

/// Whether a tensor of this name is read as an index, or under an index that reads another tensor.
fn is_gathered(program: &typed::Program, s: &typed::Statement, name: &str) -> bool {
    let mut found = false;
    s.accesses(&mut |t, indices, written| {
        let gathers = indices.iter().any(|i| i.map.gathers());
        let of_name = |t: &TensorId| program.tensors[t.index()].name == name;
        let read_in = |i: &Index| matches!(&i.map, Map::Gather(p, _) if of_name(p));
        found |= (!written && of_name(&t) && gathers) || indices.iter().any(read_in);
    });
    found
}

/// The modes that a command affects, wherever its tensor is read.
fn modes(program: &typed::Program, s: &typed::Statement, access: &syntax::Access, protocol: Protocol) -> Vec<usize> {
    let Some(command) = named(program, s, access) else { return vec![] };
    let (command, mut modes) = ([Asked { protocol, ..command }], vec![]);
    s.rhs.walk(&mut |e| {
        if let Kind::Access(t, indices) = &e.kind {
            modes.extend(of(&command, *t, indices).into_keys());
        }
    });
    modes
}

fn commands(s: &typed::Statement) -> impl Iterator<Item = (&syntax::Access, Protocol)> {
    s.schedule.iter().flat_map(|schedule| &schedule.commands).filter_map(|command| match &command.kind {
        CommandKind::Tensor(TensorCommand::Protocol(access, protocol)) => Some((access, *protocol)),
        _ => None,
    })
}

/// The tensor and variables that a command names, in the statement's own variables.
fn named(program: &typed::Program, s: &typed::Statement, access: &syntax::Access) -> Option<Asked> {
    let mut words = Vec::new();
    access.indices.iter().for_each(|index| match index {
        syntax::Index::Affine { map, .. } => in_affine(map, &mut words),
        syntax::Index::Slice { var, .. } => words.push(&var.name),
        syntax::Index::Access(_) | syntax::Index::Computed { .. } => {}
    });
    let mut found = None;
    let mut vars = Vec::new();
    s.rhs.walk(&mut |e| {
        if let Kind::Access(t, indices) = &e.kind
            && program.tensors[t.index()].name == access.tensor.name
        {
            found = Some(*t);
            indices.iter().for_each(|i| each_var(&i.map, &mut |v| vars.push(v)));
        }
    });
    vars.retain(|v| words.contains(&&program.vars[v.index()].name));
    Some(Asked { tensor: found?, vars, protocol: Protocol::Walk })
}

fn in_affine<'a>(map: &'a Affine, words: &mut Vec<&'a String>) {
    for (_, term) in &map.terms {
        match &term.factor {
            Factor::Var(v) => words.push(&v.name),
            Factor::Group(inner) => in_affine(inner, words),
            Factor::Int(_) => {}
        }
    }
}

fn mentions(map: &Map, v: VarId) -> bool {
    let mut found = false;
    each_var(map, &mut |w| found |= w == v);
    found
}

fn each_var(map: &Map, f: &mut impl FnMut(VarId)) {
    match map {
        Map::Var(v) => f(*v),
        Map::Add(a, b) => {
            each_var(a, f);
            each_var(b, f);
        }
        Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => each_var(a, f),
        Map::Const(_) | Map::Bound(_) | Map::Gather(..) | Map::Computed(_) => {}
    }
}
