//! Where threads that part meet again: at the first instruction that all ways from a branch come to.
//!
//! These are the immediate postdominators of the graph of instructions. (Cooper, Harvey and Kennedy, *A Simple, Fast Dominance Algorithm*,
//! 2001, on the graph with its arrows turned.)

use super::ir::{Instruction, Op};

/// For each instruction, the first one behind it on every way to the end; the code's length is the end.
pub(super) fn meets(code: &[Instruction]) -> Vec<usize> {
    let end = code.len();
    let next: Vec<Vec<usize>> = (0..end).map(|at| successors(code, at)).collect();
    let order = backward(&next, end);
    let mut place = vec![usize::MAX; end + 1];
    order.iter().enumerate().for_each(|(n, at)| place[*at] = n);
    let mut meet = vec![usize::MAX; end + 1];
    meet[end] = end;
    let mut changed = true;
    while changed {
        changed = false;
        for at in order.iter().copied().filter(|at| *at != end) {
            let known = next[at].iter().copied().filter(|to| meet[*to] != usize::MAX);
            let Some(found) = known.reduce(|a, b| common(a, b, &meet, &place)) else { continue };
            changed |= meet[at] != found;
            meet[at] = found;
        }
    }
    // From a loop without an end no way leads anywhere.
    meet.iter().take(end).map(|at| if *at == usize::MAX { end } else { *at }).collect()
}

fn successors(code: &[Instruction], at: usize) -> Vec<usize> {
    let Instruction { guard, op, .. } = &code[at];
    let through = [at + 1];
    let mut all = match op {
        Op::Branch(to) => vec![*to],
        Op::Return => vec![code.len()],
        _ => return through.into(),
    };
    all.extend(guard.is_some().then_some(at + 1));
    all
}

/// The instructions from which the end is reached, in reverse postorder from it.
fn backward(next: &[Vec<usize>], end: usize) -> Vec<usize> {
    let mut before: Vec<Vec<usize>> = vec![vec![]; end + 1];
    for (at, to) in next.iter().enumerate() {
        to.iter().for_each(|to| before[*to].push(at));
    }
    let (mut seen, mut order, mut stack) = (vec![false; end + 1], vec![], vec![(end, 0)]);
    seen[end] = true;
    while let Some((at, child)) = stack.pop() {
        match before[at].get(child) {
            None => order.push(at),
            Some(from) => {
                stack.push((at, child + 1));
                if !std::mem::replace(&mut seen[*from], true) {
                    stack.push((*from, 0));
                }
            }
        }
    }
    order.reverse();
    order
}

fn common(mut a: usize, mut b: usize, meet: &[usize], place: &[usize]) -> usize {
    while a != b {
        while place[a] > place[b] {
            a = meet[a];
        }
        while place[b] > place[a] {
            b = meet[b];
        }
    }
    a
}
