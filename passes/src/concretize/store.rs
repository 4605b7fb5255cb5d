//! The choice of a place that holds a statement's values until they are stored: a workspace, or another tensor.
//!
//! ```text
//!  C[i,j] += …   over i k j, C by rows       a workspace over j, in each i        coordinates arrive again and again
//!  D_t[k,j] = D[k,j], D by columns           counts of each row                   a copy: each entry comes once
//!  y[i,c] += …   over i j c, 8 columns       a row in registers
//!  m[i] min= …   m filled with 0             m_fold, filled with +∞, then copied  where no value arrives, m holds its fill
//! ```

use super::Concretize;
use super::draft::Draft;
use super::given::{Given, length};
use super::out::Out;
use crate::schedule::order::{Assembly, starts_as_identity};
use fiberloom_core::format::Format;
use fiberloom_core::map::{ClassId, Map};
use fiberloom_core::notation::concrete::{
    self, AccessId, Assign, Expr, Index, Origin, Program, Role, Tensor, WorkspaceKind,
};
use fiberloom_core::shape::Classes;

/// The longest row that is added up in registers: all vector registers of the widest kind, with values of eight bytes.
const LONGEST_ROW: u64 = 256;

/// The statement with the workspace that its loops' order needs.
pub(super) fn stored(s: Draft, out: &Out, given: Given) -> Draft {
    let tensor = &out.tensors[s.place.0];
    let workspace = match s.assembly {
        Assembly::Workspace { .. } if counted(&s, out, given) == s.order => Some((0, WorkspaceKind::Counts)),
        Assembly::Workspace { prefix, vars } => {
            let levels = &tensor.format.order[tensor.format.rank() - vars..];
            let extents: Vec<ClassId> = levels.iter().map(|&m| tensor.extents[m]).collect();
            Some((prefix, given.sizes.workspace(&extents, s.assign.fold().is_some())))
        }
        Assembly::InPlace => row(&s, out, given.classes),
        Assembly::Append => None,
    };
    Draft { workspace, ..s }
}

/// The scatter with the workspace that it needs: its coordinates arrive in any order.
pub(super) fn scattered(s: Draft, out: &Out, given: Given) -> Draft {
    let (tensor, before) = (&out.tensors[s.place.0], s.assign.before());
    let gathers = s.assign.fold().is_some_and(|fun| given.gathered(fun, tensor.ty, before.is_some()).is_some());
    let in_place = tensor.format.levels.iter().all(|k| k.holds_any());
    // A hashed workspace folds a value for whose key the search gives up behind values that came later.
    let workspace = (!in_place).then(|| (0, given.sizes.scattered(&tensor.extents, gathers)));
    Draft { workspace, ..s }
}

/// The loops of a statement that copies a tensor stored column by column into `{dense, compressed}`: each place of the copy is reached
/// once, and those of a row in the order of the row. The tensor is a matrix, of which the copy's column says which column is read, or a
/// vector that is split into columns. `None` for any other statement.
pub(super) fn counted(s: &Draft, program: &Program, given: Given) -> Option<Vec<Index>> {
    let (Expr::Access(a, _), Assign::Once) = (&s.rhs, &s.assign) else { return None };
    let (to, from) = (&program.tensors[s.place.0], program.tensor(*a));
    let levels = |format: &Format, vars: &[Index]| format.order.iter().map(|&m| vars[m]).collect::<Vec<_>>();
    let mut columns = levels(&to.format, &s.target);
    columns.reverse();
    let loops = |v: &Index| program.vars[v.0].origin == Origin::Loop;
    let read = levels(&from.format, &program.accesses[a.0].vars);
    let split = || matches!(read[..], [v] if is_split(v, &columns, program, given.classes));
    let by_columns = || matches!(read[..], [w, row] if row == columns[1] && program.roots(w) == columns[..1]);
    let copies = columns.iter().all(loops)
        && matches!(to.format.levels[..], [rows, columns] if rows.is_full() && columns.is_plain())
        && given.simplify.same(to.fill, from.fill)
        && (by_columns() || split())
        && from.format.levels.last().is_some_and(|kind| kind.is_list() || kind.is_narrow());
    copies.then_some(columns)
}

/// Whether a variable is split into these loops, outermost first: each iteration of the outer loops visits a run of it.
fn is_split(v: Index, loops: &[Index], program: &Program, classes: &Classes) -> bool {
    let Origin::Mapped(map) = &program.vars[v.0].origin else { return false };
    let whole = loops.iter().map(|l| (Map::var(*l), length(classes, program.vars[l.0].extent)));
    let whole = whole.reduce(|(outer, _), (inner, length)| (Map::split((&outer, &inner), &length), length));
    whole.is_some_and(|(whole, _)| whole == *map)
}

/// The workspace of sums around the innermost loop, over a short dense row of the result whose coordinates are all visited: the row is
/// added up in registers and written once.
fn row(s: &Draft, program: &Program, classes: &Classes) -> Option<(usize, WorkspaceKind)> {
    let (tensor, order) = (&program.tensors[s.place.0], s.order.as_ref()?);
    let levels: Vec<Index> = tensor.format.order.iter().map(|&m| s.target[m]).collect();
    let (row, rows) = levels.split_last()?;
    let short = classes.value(program.vars[row.0].extent).is_some_and(|n| n <= LONGEST_ROW);
    let dense = tensor.format.is_dense();
    // A mapped variable is no loop: `rows` and `row` have to be the loops themselves.
    let together = order.starts_with(rows) && order.last() == Some(row);
    let located = |a: &AccessId| {
        let access = &program.accesses[a.0];
        let format = &program.tensor(*a).format;
        let along = |l: usize| program.follows(program.level_var(access, l), *row);
        (0..format.rank()).all(|l| !along(l) || format.levels[l].is_located())
    };
    let always = s.rhs.accesses().iter().all(located);
    let folds = s.assign.fold().is_some();
    (folds && short && dense && together && always).then_some((rows.len(), WorkspaceKind::Row))
}

/// Whether values are folded in the result itself, from the fold's identity on, while the result's fill is another value.
pub(super) fn begins_otherwise(s: &Draft, program: &Program, given: Given) -> bool {
    let tensor = &program.tensors[s.place.0];
    s.assign.fold().is_some_and(|fun| {
        s.assembly != Assembly::Append && !starts_as_identity((&tensor.format, tensor.fill), fun, given.simplify)
    })
}

impl Concretize<'_> {
    /// Defines a fold whose identity is not the result's fill: a temporary with the identity as fill, then a copy.
    pub(super) fn define_through(&mut self, s: Draft) {
        let (tensor, fun) =
            (self.out.tensors[s.place.0].clone(), s.assign.fold().expect("only folds have an identity"));
        let sums = s.sums.into_iter().filter(|v| !self.out.counts_pieces(*v)).collect();
        let ty = s.rhs.ty();
        let rhs = Expr::Reduce(fun, sums, Box::new(s.rhs), ty);
        let fill = self.given.simplify.begins(fun, tensor.ty).expect("folds have an identity: checked before lowering");
        let name = format!("{}_fold", tensor.name);
        let made = self.out.place(Tensor { name, fill, role: Role::Temporary, ..tensor });
        self.define(Draft::new(made, s.target.clone(), rhs));
        // The copy gets loops of its own where the target's variables are functions of loops.
        let out = &mut self.out;
        let mapped = s.target.iter().any(|v| out.vars[v.0].origin != Origin::Loop);
        let own = |v: Index| {
            let concrete::Var { name, extent, .. } = out.vars[v.0].clone();
            out.fresh(name, extent)
        };
        let target: Vec<Index> = if mapped { s.target.into_iter().map(own).collect() } else { s.target };
        let copy = self.out.read(made, target.clone());
        self.define(Draft::new(s.place, target, copy));
    }
}
