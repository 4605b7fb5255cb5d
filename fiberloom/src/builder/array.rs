//! Whole arrays, with NumPy's names: shape operators that name no index variable.
//!
//! ```text
//!  Tensor ─▶ Array ─┬ make ─▶ a declared result            C = vstack([A, B])
//!                   └ at   ─▶ Expr                         y[l] = sum(j: vstack([A, B]) at (l, j) * x[j])
//! ```
//!
//! Each becomes `collapse`, `split`, `concat` and `slice`, with index variables of its own, so it moves no data and fuses
//! with what is around it. Extents are the language's: what contradicts is an error of the program that is made, and a size
//! that an operator alone says is said in the program too (`extent.rs`). What only the builder can know, a rank, is an error
//! of `Builder::finish`.

use super::expr::{Expr, Tensor, Var, concat, split};
use super::name::{ident, own};
use super::{Builder, Format, Size};
use fiberloom_core::counted;
use fiberloom_core::notation::{Span, syntax};
use std::ops::{Range, RangeFull};

/// An array of declared tensors.
#[derive(Clone, Debug)]
pub struct Array(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Tensor(String),
    Reshaped(Box<Array>, Vec<syntax::Size>),
    Flat(Box<Array>),
    /// Mode `m` is mode `axes[m]` of what is inside; `None`: they are reversed.
    Permuted(Box<Array>, Option<Vec<usize>>),
    Joined(Vec<Array>, Axis),
    Stacked(Vec<Array>, usize),
    Windows(Box<Array>, Vec<Window>),
}

/// Along which axis arrays are joined.
#[derive(Clone, Copy, Debug)]
enum Axis {
    /// That one.
    At(usize),
    /// The second, of vectors the first.
    Columns,
    /// The first; vectors are rows.
    Rows,
}

impl From<Tensor<'_>> for Array {
    fn from(tensor: Tensor) -> Array {
        Array(Kind::Tensor(tensor.0.to_string()))
    }
}

/// What is seen of an axis: `..`, `1..5`, or `(1..5, 2)` for every second from 1 below 5.
#[derive(Clone, Debug)]
pub struct Window(Option<(Range<u64>, u64)>);

impl From<RangeFull> for Window {
    fn from(_: RangeFull) -> Window {
        Window(None)
    }
}

impl From<Range<u64>> for Window {
    fn from(range: Range<u64>) -> Window {
        Window(Some((range, 1)))
    }
}

impl From<(Range<u64>, u64)> for Window {
    fn from(window: (Range<u64>, u64)) -> Window {
        Window(Some(window))
    }
}

/// The elements in row-major order in another shape. A size that has a name of its own is what is left, as NumPy's -1 is.
/// The shape holds whatever stands around it: what is beside it in another shape is an error of the program.
///
/// ```
/// use fiberloom::builder::*;
///
/// let mut p = Builder::new();
/// let a = p.tensor("a", Type::F64, [12], "sparse");
/// p.make("B", reshape(a, [3, 4]), "csr");
/// assert!(p.finish().unwrap().text.ends_with("B[axis_1,axis_2] = split(a[axis_3], axis_3 -> (axis_1, axis_2))\n"));
/// ```
pub fn reshape<S: Into<Size>>(a: impl Into<Array>, shape: impl IntoIterator<Item = S>) -> Array {
    Array(Kind::Reshaped(Box::new(a.into()), shape.into_iter().map(|s| s.into().0).collect()))
}

/// The elements in row-major order as a vector.
///
/// ```
/// use fiberloom::builder::*;
///
/// let mut p = Builder::new();
/// let a = p.tensor("A", Type::F64, [3, 4], "csr");
/// p.make("v", flatten(a), "sparse");
/// let text = p.finish().unwrap().text;
/// assert!(text.ends_with("v[axis_1] = collapse(A[axis_2,axis_3], (axis_2, axis_3) -> axis_1)\n"));
/// ```
pub fn flatten(a: impl Into<Array>) -> Array {
    Array(Kind::Flat(Box::new(a.into())))
}

/// The modes in reverse.
///
/// ```
/// use fiberloom::builder::*;
///
/// let mut p = Builder::new();
/// let a = p.tensor("A", Type::F64, ["I", "J"], "csr");
/// p.make("T", transpose(a), "csr");
/// assert!(p.finish().unwrap().text.ends_with("tensor T: f64[J, I] csr\nT[axis_1,axis_2] = A[axis_2,axis_1]\n"));
/// ```
pub fn transpose(a: impl Into<Array>) -> Array {
    Array(Kind::Permuted(Box::new(a.into()), None))
}

/// The modes in another order: the first of the result is mode `axes[0]`.
///
/// ```
/// use fiberloom::builder::*;
///
/// let mut p = Builder::new();
/// let a = p.tensor("A", Type::F64, [2, 3, 4], "csf");
/// p.make("T", permute_dims(a, [2, 0, 1]), "csf");
/// let text = p.finish().unwrap().text;
/// assert!(text.ends_with("tensor T: f64[4, 2, 3] csf\nT[axis_1,axis_2,axis_3] = A[axis_2,axis_3,axis_1]\n"));
/// ```
pub fn permute_dims<const N: usize>(a: impl Into<Array>, axes: [usize; N]) -> Array {
    Array(Kind::Permuted(Box::new(a.into()), Some(axes.to_vec())))
}

/// Arrays one behind the other along an axis that they have.
///
/// ```
/// use fiberloom::builder::*;
///
/// let mut p = Builder::new();
/// let a = p.tensor("A", Type::F64, ["I", "J"], "csr");
/// let b = p.tensor("B", Type::F64, ["I", "K"], "csr");
/// p.make("C", concatenate([a, b], 1), "csr");
/// let text = p.finish().unwrap().text;
/// assert!(text.ends_with("C[axis_1,axis_2] = concat((A[axis_1,axis_3], B[axis_1,axis_4]), (axis_3, axis_4) -> axis_2)\n"));
/// ```
pub fn concatenate<A: Into<Array>>(parts: impl IntoIterator<Item = A>, axis: usize) -> Array {
    joined(parts, Axis::At(axis))
}

/// Arrays beside each other: along the second axis, vectors along the first.
///
/// ```
/// use fiberloom::builder::*;
///
/// let mut p = Builder::new();
/// let (a, b) = (p.tensor("a", Type::F64, ["I"], "sparse"), p.tensor("b", Type::F64, ["K"], "sparse"));
/// p.make("c", hstack([a, b]), "sparse");
/// let text = p.finish().unwrap().text;
/// assert!(text.ends_with("c[axis_1] = concat((a[axis_2], b[axis_3]), (axis_2, axis_3) -> axis_1)\n"));
/// ```
pub fn hstack<A: Into<Array>>(parts: impl IntoIterator<Item = A>) -> Array {
    joined(parts, Axis::Columns)
}

/// Arrays below each other: along the first axis; vectors are rows.
///
/// ```
/// use fiberloom::builder::*;
///
/// let mut p = Builder::new();
/// let (a, b) = (p.tensor("A", Type::F64, ["I", "J"], "csr"), p.tensor("B", Type::F64, ["K", "J"], "csr"));
/// let (x, y) = (p.tensor("x", Type::F64, ["J"], "dense"), p.tensor("y", Type::F64, ["L"], "dense"));
/// let (l, j) = (var("l"), var("j"));
/// let stacked = p.at(vstack([a, b]), [l, j]);
/// p.set(y.at([l]), sum([j], stacked * x.at([j])));
/// let text = p.finish().unwrap().text;
/// assert!(text.ends_with("y[l] = sum(j: concat((A[axis_1,j], B[axis_2,j]), (axis_1, axis_2) -> l) * x[j])\n"));
/// ```
pub fn vstack<A: Into<Array>>(parts: impl IntoIterator<Item = A>) -> Array {
    joined(parts, Axis::Rows)
}

fn joined<A: Into<Array>>(parts: impl IntoIterator<Item = A>, axis: Axis) -> Array {
    Array(Kind::Joined(parts.into_iter().map(Into::into).collect(), axis))
}

/// Arrays of one shape along a new axis, which is `axis` of the result.
///
/// ```
/// use fiberloom::builder::*;
///
/// let mut p = Builder::new();
/// let (a, b) = (p.tensor("a", Type::F64, [5], "sparse"), p.tensor("b", Type::F64, [5], "sparse"));
/// p.make("C", stack([a, b], 0), "csr");
/// let text = p.finish().unwrap().text;
/// assert!(text.contains("tensor C: f64[2, 5] csr"));
/// assert!(text.contains("C[axis_1,axis_2] = concat((select(true, a[axis_2], extent_1[axis_3]), "));
/// assert!(text.contains("select(true, b[axis_2], extent_1[axis_4])), (axis_3, axis_4) -> axis_1)"));
/// ```
pub fn stack<A: Into<Array>>(parts: impl IntoIterator<Item = A>, axis: usize) -> Array {
    Array(Kind::Stacked(parts.into_iter().map(Into::into).collect(), axis))
}

/// A window of each axis, as NumPy's basic slices: `..`, `1..5`, or `(1..5, 2)` with a stride.
///
/// ```
/// use fiberloom::builder::*;
///
/// let mut p = Builder::new();
/// let a = p.tensor("A", Type::F64, [9, 7], "csr");
/// p.make("W", windows(a, [(0..8, 2).into(), (..).into()]), "csr");
/// let text = p.finish().unwrap().text;
/// assert!(text.ends_with("tensor W: f64[4, 7] csr\nW[axis_1,axis_2] = slice(A[axis_3,axis_2], axis_3 -> axis_1, 0:8:2)\n"));
/// ```
pub fn windows<const N: usize>(a: impl Into<Array>, windows: [Window; N]) -> Array {
    Array(Kind::Windows(Box::new(a.into()), windows.to_vec()))
}

/// Why an array cannot be.
type Wrong = String;

/// An index variable in the place of a mode, and the size that something beside the array says of it.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    pub(super) var: String,
    pub(super) size: Option<syntax::Size>,
}

impl Builder {
    /// Declares a tensor and sets it to an array: its type and fill are those of the array's first tensor, its sizes those
    /// of the array, with names of their own where only the data say them.
    pub fn make<'a>(&mut self, name: &'a str, array: impl Into<Array>, format: impl Into<Format>) -> Tensor<'a> {
        let array = array.into();
        let leaf = self.leaf(&array).map(|tensor| (tensor.sort.stored(), tensor.fill.clone()));
        let shape = self.shape(&array);
        match leaf.and_then(|leaf| Ok((leaf, shape?))) {
            Err(wrong) => self.wrong.push(wrong),
            Ok(((ty, fill), shape)) => {
                let named = |(m, size): (usize, Option<syntax::Size>)| {
                    size.unwrap_or_else(|| syntax::Size::Name(ident(&own(&format!("{name}_{m}")))))
                };
                let sizes: Vec<syntax::Size> = shape.into_iter().enumerate().map(named).collect();
                let said = |size: &syntax::Size| Mode { size: Some(size.clone()), ..self.axis() };
                let modes: Vec<Mode> = sizes.iter().map(said).collect();
                let format = Some(format.into().0);
                self.items.push(syntax::Item::Tensor(syntax::Tensor {
                    name: ident(name),
                    sort: syntax::Sort::Plain(ty),
                    sizes,
                    fill,
                    format,
                }));
                let value = self.element_or_wrong(&array, &modes);
                self.set(Tensor(name).at(vars(&modes)), value);
            }
        }
        Tensor(name)
    }

    /// An array's element at index variables, one a mode.
    pub fn at<'a>(&mut self, array: impl Into<Array>, modes: impl IntoIterator<Item = Var<'a>>) -> Expr {
        let modes: Vec<Mode> = modes.into_iter().map(|v| Mode { var: v.0.to_string(), size: None }).collect();
        self.element_or_wrong(&array.into(), &modes)
    }

    fn element_or_wrong(&mut self, array: &Array, modes: &[Mode]) -> Expr {
        self.element(array, modes).unwrap_or_else(|wrong| {
            self.wrong.push(wrong);
            Expr::from(0)
        })
    }

    /// A new index variable, of which nothing is said.
    fn axis(&mut self) -> Mode {
        self.axes += 1;
        Mode { var: own(&format!("axis_{}", self.axes)), size: None }
    }

    fn declaration(&self, name: &str) -> Result<&syntax::Tensor, Wrong> {
        let declared = self.items.iter().find_map(|item| match item {
            syntax::Item::Tensor(tensor) if tensor.name.name == name => Some(tensor),
            _ => None,
        });
        declared.ok_or_else(|| format!("`{name}` is not declared, so that nothing says how many modes it has"))
    }

    /// The first tensor of an array.
    fn leaf(&self, array: &Array) -> Result<&syntax::Tensor, Wrong> {
        match &array.0 {
            Kind::Tensor(name) => self.declaration(name),
            Kind::Reshaped(a, _) | Kind::Flat(a) | Kind::Permuted(a, _) | Kind::Windows(a, _) => self.leaf(a),
            Kind::Joined(parts, _) | Kind::Stacked(parts, _) => self.leaf(parts.first().ok_or("nothing is joined")?),
        }
    }

    /// The size of each mode, where it is more than a number that follows from the data.
    fn shape(&self, array: &Array) -> Result<Vec<Option<syntax::Size>>, Wrong> {
        let first = |parts: &[Array]| self.shape(parts.first().ok_or("nothing is joined")?);
        Ok(match &array.0 {
            Kind::Tensor(name) => self.declaration(name)?.sizes.iter().cloned().map(Some).collect(),
            Kind::Reshaped(_, shape) => shape.iter().cloned().map(Some).collect(),
            Kind::Flat(a) if self.shape(a)?.is_empty() => vec![Some(ONE)],
            Kind::Flat(_) => vec![None],
            Kind::Permuted(a, axes) => {
                let inner = self.shape(a)?;
                order(axes.as_deref(), inner.len())?.into_iter().map(|m| inner[m].clone()).collect()
            }
            Kind::Joined(parts, axis) => match (axis, first(parts)?) {
                (Axis::Rows, shape) if shape.len() == 1 => [vec![number(parts.len() as u64)], shape].concat(),
                (axis, mut shape) => {
                    let along = axis.of(shape.len());
                    *shape.get_mut(along).ok_or_else(|| no_axis(*axis))? = None;
                    shape
                }
            },
            Kind::Stacked(parts, axis) => {
                let mut shape = first(parts)?;
                (*axis <= shape.len()).then_some(()).ok_or_else(|| no_axis(Axis::At(*axis)))?;
                shape.insert(*axis, number(parts.len() as u64));
                shape
            }
            Kind::Windows(a, windows) => {
                let inner = self.shape(a)?;
                of_rank(windows.len(), inner.len(), ("window", "windows"))?;
                let length =
                    |range: &Range<u64>, step: u64| range.end.saturating_sub(range.start).div_ceil(step.max(1));
                let seen = |(size, window): (Option<syntax::Size>, &Window)| match &window.0 {
                    None => size,
                    Some((range, step)) => number(length(range, *step)),
                };
                inner.into_iter().zip(windows).map(seen).collect()
            }
        })
    }

    /// An array's element at these modes.
    fn element(&mut self, array: &Array, modes: &[Mode]) -> Result<Expr, Wrong> {
        let rank = self.shape(array)?.len();
        of_rank(modes.len(), rank, ("index variable", "index variables"))?;
        match &array.0 {
            Kind::Tensor(name) => Ok(Tensor(name).at(vars(modes)).into()),
            Kind::Flat(a) => self.collapsed(a, &modes[0]),
            Kind::Reshaped(a, shape) => self.reshaped(a, shape, modes),
            Kind::Permuted(a, axes) => {
                let mut inner = modes.to_vec();
                order(axes.as_deref(), rank)?.into_iter().zip(modes).for_each(|(m, mode)| inner[m].clone_from(mode));
                self.element(a, &inner)
            }
            Kind::Joined(parts, Axis::Rows) if self.shape(&parts[0])?.len() == 1 => {
                self.element(&Array(Kind::Stacked(parts.clone(), 0)), modes)
            }
            Kind::Joined(parts, axis) => self.joined(parts, axis.of(rank), modes),
            Kind::Stacked(parts, axis) => self.stacked(parts, *axis, modes),
            Kind::Windows(a, windows) => {
                let mut inner = modes.to_vec();
                for (mode, _) in inner.iter_mut().zip(windows).filter(|(_, window)| window.0.is_some()) {
                    *mode = self.axis();
                }
                let whole = self.element(a, &inner)?;
                let slices = inner.iter().zip(modes).zip(windows).filter_map(|(pair, w)| Some((pair, w.0.clone()?)));
                Ok(slices.fold(whole, |e, ((from, to), (range, step))| {
                    let step = (step != 1).then_some(step);
                    super::expr::cut(e, Var(&from.var), Var(&to.var), range, step)
                }))
            }
        }
    }

    /// All of an array along one index variable.
    fn collapsed(&mut self, a: &Array, whole: &Mode) -> Result<Expr, Wrong> {
        let modes: Vec<Mode> = match self.shape(a)?.len() {
            1 => vec![whole.clone()],
            rank => (0..rank).map(|_| self.axis()).collect(),
        };
        let inner = self.element(a, &modes)?;
        match &modes[..] {
            [] => Ok(self.sized(inner, self.leaf(a)?.sort.stored(), whole, &ONE)),
            [_] => Ok(inner),
            modes => Ok(super::expr::collapsed(inner, &vars(modes), Var(&whole.var))),
        }
    }

    fn reshaped(&mut self, a: &Array, shape: &[syntax::Size], modes: &[Mode]) -> Result<Expr, Wrong> {
        let whole = match modes {
            [] => return Err("an array has no shape without modes".into()),
            [whole] => whole.clone(),
            _ => self.axis(),
        };
        let collapsed = self.collapsed(a, &whole)?;
        let split = self.split_into(collapsed, whole, modes);
        let ty = self.leaf(a)?.sort.stored();
        Ok(modes.iter().zip(shape).fold(split, |e, (mode, size)| self.sized(e, ty, mode, size)))
    }

    /// What is along one index variable along several.
    fn split_into(&mut self, e: Expr, whole: Mode, modes: &[Mode]) -> Expr {
        match modes {
            [] | [_] => e,
            [outer, inner] => split(e, Var(&whole.var), [Var(&outer.var), Var(&inner.var)]),
            [outer, rest @ ..] => {
                let inner = self.axis();
                let e = split(e, Var(&whole.var), [Var(&outer.var), Var(&inner.var)]);
                self.split_into(e, inner, rest)
            }
        }
    }

    fn joined(&mut self, parts: &[Array], axis: usize, modes: &[Mode]) -> Result<Expr, Wrong> {
        let mut of_part = |part: &Array| {
            let mut inner = modes.to_vec();
            inner[axis] = self.part(parts, &modes[axis]);
            Ok((self.element(part, &inner)?, inner.swap_remove(axis)))
        };
        let made: Vec<(Expr, Mode)> = parts.iter().map(&mut of_part).collect::<Result<_, Wrong>>()?;
        Ok(concatenated(made, &modes[axis]))
    }

    /// Parts whose modes are the same index variables, so that they have one shape, each with a new one of extent 1.
    fn stacked(&mut self, parts: &[Array], axis: usize, modes: &[Mode]) -> Result<Expr, Wrong> {
        let mut inner = modes.to_vec();
        let whole = inner.remove(axis);
        let mut of_part = |part: &Array| {
            let new = self.part(parts, &whole);
            let (e, ty) = (self.element(part, &inner)?, self.leaf(part)?.sort.stored());
            Ok((self.sized(e, ty, &new, &ONE), new))
        };
        let made: Vec<(Expr, Mode)> = parts.iter().map(&mut of_part).collect::<Result<_, Wrong>>()?;
        Ok(concatenated(made, &whole))
    }

    /// The mode of one of the parts that are joined to this one: the only part has all of it.
    fn part(&mut self, parts: &[Array], whole: &Mode) -> Mode {
        if parts.len() == 1 { whole.clone() } else { self.axis() }
    }
}

/// Parts one behind the other, each along its mode.
fn concatenated(mut parts: Vec<(Expr, Mode)>, whole: &Mode) -> Expr {
    if parts.len() == 1 {
        return parts.remove(0).0;
    }
    concat(parts.iter().map(|(e, mode)| (e.clone(), Var(&mode.var))), Var(&whole.var))
}

impl Axis {
    fn of(self, rank: usize) -> usize {
        match self {
            Axis::At(axis) => axis,
            Axis::Columns => usize::from(rank > 1),
            Axis::Rows => 0,
        }
    }
}

fn vars(modes: &[Mode]) -> Vec<Var<'_>> {
    modes.iter().map(|mode| Var(&mode.var)).collect()
}

/// The size of an axis that an array gets.
const ONE: syntax::Size = syntax::Size::Int(1, Span { start: 0, end: 0 });

fn number(n: u64) -> Option<syntax::Size> {
    Some(syntax::Size::Int(n, Span::default()))
}

fn no_axis(axis: Axis) -> Wrong {
    format!("there is no axis {} to join along", axis.of(2))
}

fn of_rank(given: usize, rank: usize, what: (&str, &str)) -> Result<(), Wrong> {
    if given == rank {
        return Ok(());
    }
    Err(format!("{} for an array of {}", counted(given, what.0, what.1), counted(rank, "mode", "modes")))
}

/// Which mode of what is inside each mode is.
fn order(axes: Option<&[usize]>, rank: usize) -> Result<Vec<usize>, Wrong> {
    let Some(axes) = axes else { return Ok((0..rank).rev().collect()) };
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    let all: Vec<usize> = (0..rank).collect();
    if sorted == all {
        return Ok(axes.to_vec());
    }
    Err(format!("{axes:?} is no order of {}", counted(rank, "mode", "modes")))
}
