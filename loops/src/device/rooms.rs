//! How much room workspaces take of which each iteration may ask for more: a first loop finds the most that one asks for.
//!
//! ```text
//!   parallel for i in 0..n with w                parallel for i in 0..n folding w_room
//!     for p in pos[i]..pos[i + 1]                  k = 0
//!       if k + 1 > capacity(w)            ──▶      for p in pos[i]..pos[i + 1] { w_room = max(w_room, k + 1); k = k + 1 }
//!         reserve w[k + 1]                       reserve w[w_room]
//!       w[k] = …                                 parallel for i in 0..n with w
//!       k = k + 1                                  for p in pos[i]..pos[i + 1] { w[k] = …; k = k + 1 }
//! ```

use super::slice::Slice;
use crate::arith::{binary, int};
use crate::names::{Vars, loop_again};
use crate::{BufferId, Entry, Expr, How, Kernel, Stmt, Var, map_blocks};
use fiberloom_core::algebra::Op;
use std::collections::{BTreeMap, BTreeSet};

/// A parallel loop whose workspaces have all the room that iterations need, with what stands before it; any other statement as it is.
///
/// # Errors
/// That the room depends on what workspaces hold, or on how much they have.
pub(super) fn with_room(kernel: &mut Kernel, stmt: Stmt) -> Result<Vec<Stmt>, String> {
    let Stmt::For { var, lo, hi, how: How::Parallel { own, joined, folded, arrays }, body } = stmt else {
        return Ok(vec![stmt]);
    };
    let mut asked = BTreeSet::new();
    note(&body, &own, &mut asked);
    let mut vars = Vars::of(&mut kernel.vars);
    let rooms: BTreeMap<BufferId, Var> = asked.into_iter().map(|b| (b, vars.index("room"))).collect();
    let how = |own, folded| How::Parallel { own, joined: joined.clone(), folded, arrays: arrays.clone() };
    if rooms.is_empty() {
        return Ok(vec![Stmt::For { var, lo, hi, how: how(own, folded), body }]);
    }
    let most: Vec<Var> = rooms.values().copied().collect();
    let asking = asking(body.clone(), &rooms);
    let slice = Slice::of(kernel, &asking, &most, &own)?;
    if let Some(b) = rooms.keys().find(|b| slice.reads(**b)) {
        return Err(format!("the room that `{}` takes depends on what it has", kernel.buffers[b.0 as usize].name));
    }
    let kept = own.iter().filter(|b| slice.reads(**b)).copied().collect();
    let measuring = How::Parallel { own: kept, joined: vec![], folded: most.clone(), arrays: vec![] };
    let each = Stmt::For { var, lo: lo.clone(), hi: hi.clone(), how: measuring, body: slice.statements() };
    // The variables into which iterations fold are those behind the loop.
    let each = loop_again(kernel, each, most.iter().map(|v| (*v, *v)).collect());
    let begin = most.iter().map(|v| Stmt::Set(*v, int(0)));
    let reserve = rooms.iter().map(|(b, v)| Stmt::Call(Entry::Reserve { buffer: *b, len: Expr::Var(*v) }));
    let body = unasked(body, &rooms);
    let made = Stmt::For { var, lo, hi, how: how(own, folded), body };
    Ok(begin.chain(each).chain(reserve).chain([made]).collect())
}

/// Notes the workspaces for which statements ask for room.
fn note(block: &[Stmt], own: &[BufferId], asked: &mut BTreeSet<BufferId>) {
    for stmt in block {
        match stmt {
            Stmt::Call(Entry::Reserve { buffer, .. }) if own.contains(buffer) => _ = asked.insert(*buffer),
            stmt => stmt.blocks().for_each(|inner| note(inner, own, asked)),
        }
    }
}

/// Statements that fold into variables how much room they ask for, whether there is so much or not.
fn asking(block: Vec<Stmt>, rooms: &BTreeMap<BufferId, Var>) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(block.len());
    for stmt in block {
        match stmt {
            Stmt::Call(Entry::Reserve { buffer, len }) if rooms.contains_key(&buffer) => {
                let room = rooms[&buffer];
                out.push(Stmt::Set(room, binary(Op::Max, Expr::Var(room), len)));
            }
            Stmt::If(_, yes, no) if is_asking(&yes, rooms) && no.is_empty() => out.extend(asking(yes, rooms)),
            stmt => out.extend(map_blocks(vec![stmt], &mut |inner| asking(inner, rooms))),
        }
    }
    out
}

/// Whether a block does nothing but ask for room.
fn is_asking(block: &[Stmt], rooms: &BTreeMap<BufferId, Var>) -> bool {
    let asks = |stmt: &Stmt| matches!(stmt, Stmt::Call(Entry::Reserve { buffer, .. }) if rooms.contains_key(buffer));
    !block.is_empty() && block.iter().all(asks)
}

/// Statements that ask for none.
fn unasked(block: Vec<Stmt>, rooms: &BTreeMap<BufferId, Var>) -> Vec<Stmt> {
    let asks = |stmt: &Stmt| match stmt {
        Stmt::Call(Entry::Reserve { buffer, .. }) => rooms.contains_key(buffer),
        Stmt::If(_, yes, no) => is_asking(yes, rooms) && no.is_empty(),
        _ => false,
    };
    let kept = block.into_iter().filter(|stmt| !asks(stmt)).collect();
    map_blocks(kept, &mut |inner| unasked(inner, rooms))
}
