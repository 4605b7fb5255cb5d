//! Operations on results and workspaces.

use super::{Context, Expr, call, counting, fiber, workspace};
use crate::choose::symbol::{Name, Sym};
use crate::lower::insertion::Insertion;
use crate::lower::scratch::Scratch;
use crate::plan::{Block, Driver, Op};
use crate::{Stmt, Symbolic};
use fiberloom_core::notation::concrete::AccessId;
use std::rc::Rc;

/// Emits an operation on a result or a workspace.
pub(super) fn emit(cx: &Context, d: &mut Symbolic, op: &Op) {
    match op {
        Op::OpenFiber { output, insertion, bound } => {
            let ((output, insertion), bound) = (cx.insertion((*output, *insertion)), cx.expr(d, *bound));
            output.open(d, &insertion, &|_| bound.clone());
        }
        Op::MakeRoom { output, insertion, bound } => {
            let ((output, insertion), bound) = (cx.insertion((*output, *insertion)), cx.expr(d, *bound));
            output.make_room(d, &insertion, &|_| bound.clone());
        }
        Op::CloseFiber { output, insertion } => {
            let (output, insertion) = cx.insertion((*output, *insertion));
            output.close(d, &insertion);
        }
        Op::Visit { output, insertion, at, driver, below, positions, body } => {
            visit(cx, d, (*output, *insertion), (*at, *driver), (*below, positions), body);
        }
        Op::Locate { output, insertion, at, below } => {
            let ((output, insertion), at) = (cx.insertion((*output, *insertion)), cx.expr(d, *at));
            say(cx, *below, output.located(insertion, at));
        }
        Op::Store { output, insertion, fold, value } => {
            let ((output, insertion), value) = (cx.insertion((*output, *insertion)), cx.expr(d, *value));
            let value = match fold {
                Some(fun) => call::applied(cx, d, *fun, vec![output.held(&insertion), value]),
                None => value,
            };
            output.store(d, &insertion, fold.is_some(), value);
        }
        Op::StoreIf { output, insertion, value, kept } => {
            let (output, insertion) = cx.insertion((*output, *insertion));
            let (value, kept) = (cx.expr(d, *value), cx.expr(d, *kept));
            output.store_if(d, &insertion, value, kept);
        }
        Op::Expect { output, insertion, first, most } => {
            let (output, insertion) = cx.insertion((*output, *insertion));
            let (first, most) = (cx.expr(d, *first), cx.expr(d, *most));
            output.runs(&insertion).iter().for_each(|runs| runs.expect(d, first.clone(), most.clone()));
        }
        Op::PutRun { output, insertion, lo, hi, value } => {
            let (output, insertion) = cx.insertion((*output, *insertion));
            let (lo, hi, value) = (lo.map(|lo| cx.expr(d, lo)), cx.expr(d, *hi), cx.expr(d, *value));
            output.runs(&insertion).expect("a result of runs").put_run(d, &insertion, (lo, hi), value);
        }
        Op::FoldIn { of, at, fun, value } => {
            let (values, at, value) = (super::arrays_of(cx, *of).values, cx.expr(d, *at), cx.expr(d, *value));
            let was = Expr::Load(values, Box::new(at.clone()));
            let joined = call::applied(cx, d, *fun, vec![was, value]);
            d.emit(Stmt::Store(values, at, joined));
        }
        Op::Tally { row, place } => {
            let row = cx.expr(d, *row);
            let place = place.map(|(at, value)| (cx.expr(d, at), cx.expr(d, value)));
            counting::tally(cx, d, row, place);
        }
        op => work(cx, d, op),
    }
}

/// Defines an insertion point.
fn say(cx: &Context, name: Name, insertion: Insertion) {
    cx.names.borrow_mut().insertions.insert(name, insertion);
}

/// Emits a coordinate of a result's next level. A result with an operand's levels has that operand's position.
fn visit(
    cx: &Context,
    d: &mut Symbolic,
    of: (Name, Name),
    (at, driver): (Sym, Driver),
    (below, positions): (Name, &[(AccessId, Sym)]),
    body: &Block,
) {
    let (output, insertion) = cx.insertion(of);
    if let Some(a) = output.shared_with(&insertion) {
        let (_, position) = positions.iter().find(|(b, _)| *b == a).expect("loops visit its entries");
        say(cx, below, output.entered(&insertion, cx.expr(d, *position)));
        return cx.block(d, body);
    }
    let at = cx.expr(d, at);
    output.visit(d, &insertion, at, driver, &mut |d, insertion| {
        say(cx, below, insertion);
        cx.block(d, body);
    });
}

/// Emits an operation on a workspace.
fn work(cx: &Context, d: &mut Symbolic, op: &Op) {
    match op {
        Op::Work { work } => workspace::begin(cx, d, work),
        Op::ByLength { work, few, is_short, body } => by_length(cx, d, (*work, *few), *is_short, body),
        Op::Clear { work } => cx.work(*work).clear(d),
        Op::Put { work, at, fold, value } => {
            let at: Vec<Expr> = at.iter().map(|at| cx.expr(d, *at)).collect();
            let value = cx.expr(d, *value);
            cx.work(*work).put(cx, d, *fold, &at, value);
        }
        Op::MarkOld { work } => cx.work(*work).lay(d),
        Op::Drain { work, along, output, insertion } => {
            let along = along.as_ref().map(|list| fiber::unopened(cx, d, list));
            let (output, insertion) = cx.insertion((*output, *insertion));
            cx.work(*work).drain(cx, d, along.as_ref(), (&output, &insertion));
        }
        _ => unreachable!("every operation is emitted"),
    }
}

/// Emits the operations on a workspace twice: where rows are short, on its form for these.
fn by_length(cx: &Context, d: &mut Symbolic, (name, few): (Name, Name), is_short: Sym, body: &Block) {
    let (whole, few) = (cx.work(name), cx.work(few));
    let on = |work: Rc<dyn Scratch>| drop(cx.names.borrow_mut().works.insert(name, work));
    let short = |d: &mut Symbolic| {
        few.clear(d);
        on(few.clone());
        cx.block(d, body);
        on(whole.clone());
    };
    let is_short = cx.expr(d, is_short);
    d.when(is_short, short, |d| cx.block(d, body));
}
