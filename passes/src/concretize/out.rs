//! The concrete program so far: its tensors, index variables and accesses, each under a name of its own.
//!
//! ```text
//!  y[i] = A[i,j] * x[j]         i ─▶ Index(0), j ─▶ Index(1)      variables of the typed program, bound
//!                               A ─▶ Place(0), x ─▶ Place(1)      the place that reading a tensor reads: its current version
//! ```
//!
//! A variable of the typed program is a loop, or a map of loops' variables; `schedule.rs` and `shape.rs` bind it.

use super::distinct;
use fiberloom_core::algebra::Value;
use fiberloom_core::format::Format;
use fiberloom_core::map::{ClassId, Map};
use fiberloom_core::notation::concrete::{Expr, Index, Origin, Place, Program, Role, Tensor};
use fiberloom_core::notation::typed::{self, TensorId, VarId};
use fiberloom_core::shape::Classes;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

/// A concrete program under construction, without its steps.
pub(super) struct Out<'a> {
    program: Program,
    pub typed: &'a typed::Program,
    pub classes: &'a Classes,
    /// The index variable that each variable of the typed program is bound to.
    bound: FxHashMap<VarId, Index>,
    /// The version of each tensor that statements read; the first that is read without a definition is the caller's.
    current: Vec<Option<Place>>,
    /// Tensors that hold for each iteration of some loops, their later modes, one coordinate of their first.
    pub inverses: BTreeSet<Place>,
}

impl Deref for Out<'_> {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.program
    }
}

impl DerefMut for Out<'_> {
    fn deref_mut(&mut self) -> &mut Program {
        &mut self.program
    }
}

/// Tensors.
impl<'a> Out<'a> {
    /// A program without tensors, with the functions of a typed one.
    pub fn new(typed: &'a typed::Program, classes: &'a Classes, functions: &[typed::Function]) -> Out<'a> {
        let program = Program { functions: functions.to_vec(), ..Program::default() };
        let current = vec![None; typed.tensors.len()];
        Out { program, typed, classes, bound: FxHashMap::default(), current, inverses: BTreeSet::new() }
    }

    /// A new place. Renames the tensor if another has its name, unless the program gives it that name.
    pub fn place(&mut self, mut tensor: Tensor) -> Place {
        let given = match tensor.role {
            Role::Operand(id) | Role::Result(id) => self.typed.tensors[id.index()].name == tensor.name,
            // The first version of a local keeps the local's name.
            Role::Temporary => {
                let local = |t: &typed::Tensor| t.role == typed::Role::Local && t.name == tensor.name;
                self.typed.tensors.iter().any(local) && self.tensors.iter().all(|t| t.name != tensor.name)
            }
        };
        if !given {
            let given = self.typed.tensors.iter().map(|t| &t.name);
            let taken: FxHashSet<&String> = given.chain(self.tensors.iter().map(|t| &t.name)).collect();
            tensor.name = distinct(&tensor.name, |name| taken.contains(name));
        }
        self.tensors.push(tensor);
        Place(self.tensors.len() - 1)
    }

    /// The current version of a tensor, if it has been defined or read.
    pub fn current(&self, id: TensorId) -> Option<Place> {
        self.current[id.index()]
    }

    /// Makes this version the one that reading the tensor reads.
    pub fn defined(&mut self, id: TensorId, version: Place) {
        self.current[id.index()] = Some(version);
    }

    /// The place that reading a tensor reads: its current version, or the operand.
    pub fn reading(&mut self, id: TensorId) -> Place {
        if let Some(place) = self.current(id) {
            return place;
        }
        let t = &self.typed.tensors[id.index()];
        let place = self.place(Tensor {
            name: if t.role == typed::Role::Result { format!("{}_in", t.name) } else { t.name.clone() },
            ty: t.ty,
            extents: t.sizes.iter().map(|s| self.classes.class_of_size(*s)).collect(),
            format: t.format.as_ref().map_or_else(|| Format::dense(t.sizes.len()), Format::stored),
            fill: t.fill.unwrap_or(Value::zero(t.ty)),
            role: Role::Operand(id),
        });
        self.defined(id, place);
        place
    }

    /// An access to a tensor under these variables.
    pub fn read(&mut self, place: Place, vars: Vec<Index>) -> Expr {
        let ty = self.tensors[place.0].ty;
        Expr::Access(self.access(place, vars), ty)
    }

    /// The program with a distinct name for each extent: the user's, if it is a name and no other extent has it.
    pub fn named(self) -> Program {
        let mut out = self.program;
        let mut all = out.extents_used();
        // Sizes that calls give have names, whether anything uses them or not.
        all.extend(self.classes.given().into_keys());
        let mut taken = FxHashSet::default();
        for class in all {
            let given = self.classes.name(class);
            // A number is a name only for the first extent that has it, and takes no suffix.
            let number = given.starts_with(|c: char| c.is_ascii_digit());
            let given = if number && taken.contains(&given) { format!("e{}", class.0) } else { given };
            let name = distinct(&given, |name| taken.contains(name));
            taken.insert(name.clone());
            out.extents.insert(class, name);
        }
        out
    }
}

/// Index variables.
impl Out<'_> {
    /// A loop's variable.
    pub fn fresh(&mut self, name: String, extent: ClassId) -> Index {
        self.var(name, extent, Origin::Loop)
    }

    /// A new loop variable for each mode of a tensor.
    pub fn modes(&mut self, extents: &[ClassId]) -> Vec<Index> {
        extents.iter().enumerate().map(|(m, e)| self.fresh(format!("m{m}"), *e)).collect()
    }

    /// A new loop for a variable of the typed program, with a distinct name. The variable may be bound to another already.
    pub fn own_loop(&mut self, v: VarId) -> Index {
        let name = self.own_name(v);
        self.fresh(name, self.classes.class_of_var(v))
    }

    /// The variable of this origin: one for all uses.
    pub fn at(&mut self, extent: ClassId, origin: Origin) -> Index {
        self.known(extent, &origin).unwrap_or_else(|| {
            let name = self.unused("at");
            self.var(name, extent, origin)
        })
    }

    /// The variable that has this origin.
    fn known(&self, extent: ClassId, origin: &Origin) -> Option<Index> {
        self.vars.iter().position(|u| u.extent == extent && u.origin == *origin).map(Index)
    }

    /// An extent as a value: a number if the program says it, else the value of a variable that is mapped to it.
    pub fn extent(&mut self, class: ClassId) -> Expr {
        let extent = self.classes.size(class);
        match extent.value() {
            Some(n) => Expr::Literal(Value::i64(n)),
            None => Expr::Index(self.at(class, Origin::Mapped(Map::constant(extent)))),
        }
    }

    /// The start of a slice on a left side.
    pub fn begin(&mut self, bound: &typed::Bound) -> Expr {
        let start = self.classes.bound(bound);
        match (start.value(), bound.terms.first()) {
            (None, Some((_, size))) => {
                let extent = self.classes.class_of_size(*size);
                Expr::Index(self.at(extent, Origin::Mapped(Map::constant(start))))
            }
            (n, _) => Expr::Literal(Value::i64(n.unwrap_or(0))),
        }
    }

    /// The index variable that a typed variable is bound to. An unbound one is bound to a new loop.
    pub fn of(&mut self, v: VarId) -> Index {
        self.bound(v).unwrap_or_else(|| {
            let made = self.fresh(self.typed.vars[v.index()].name.clone(), self.classes.class_of_var(v));
            self.bind(v, made);
            made
        })
    }

    /// The index variable that a typed variable is bound to, if it is bound.
    pub fn bound(&self, v: VarId) -> Option<Index> {
        self.bound.get(&v).copied()
    }

    /// Binds a variable of the typed program to an index variable.
    pub fn bind(&mut self, v: VarId, to: Index) {
        self.bound.insert(v, to);
    }

    /// Binds a variable to a map, or to an existing variable that equals the map.
    pub fn bind_to_map(&mut self, v: VarId, map: Map<Index>) {
        let extent = self.classes.class_of_var(v);
        let same = map.as_var().filter(|u| self.vars[u.0].extent == extent);
        let origin = Origin::Mapped(map);
        let bound = same.or_else(|| self.known(extent, &origin)).unwrap_or_else(|| {
            let own = self.own_name(v);
            self.var(own, extent, origin)
        });
        self.bind(v, bound);
    }

    /// A variable as a map of loops' and parts' variables.
    pub fn map_of(&mut self, v: VarId) -> Map<Index> {
        let v = self.of(v);
        self.map(v)
    }

    /// A name like this one that no variable has.
    pub fn unused(&self, name: &str) -> String {
        let taken = |name: &String| {
            self.typed.vars.iter().any(|u| u.name == *name) || self.vars.iter().any(|u| u.name == *name)
        };
        distinct(name, taken)
    }

    /// A variable's name if no other variable has it, else a distinct one derived from it.
    pub fn own_name(&self, v: VarId) -> String {
        let others = self.typed.vars.iter().enumerate().filter(|(n, _)| *n != v.index());
        let others: Vec<&str> = others.map(|(_, u)| u.name.as_str()).collect();
        let taken = |name: &String| others.contains(&name.as_str()) || self.vars.iter().any(|u| u.name == *name);
        distinct(&self.typed.vars[v.index()].name, taken)
    }
}
