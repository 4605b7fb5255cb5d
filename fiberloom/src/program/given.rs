//! Tensors that a program does not declare, and whose data are given: they are declared as the data say.

use super::{Program, reformat, refused};
use crate::error::Error;
use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::syntax;
use fiberloom_passes::check::{Undeclared, undeclared};
use std::collections::HashSet;

/// What data say of a tensor that a program does not declare.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Its element type.
    pub ty: Type,
    /// Its fill value.
    pub fill: Value,
    /// Its format, as the language writes it.
    pub format: String,
}

/// What the data of a tensor of this name are that is read under so many indices, if they are given.
pub type Data<'d> = dyn FnMut(&str, usize) -> Result<Option<Given>, Error> + 'd;

impl Program {
    /// Reads and checks a program that leaves the declarations of some operands to their data: type, rank, fill and format
    /// are those of the tensor that is given.
    ///
    /// ```
    /// # use fiberloom::{Array, Options, Program, Tensor, Type, Value};
    /// let a = Tensor::csr(2, 3, vec![0i32, 1, 2], vec![2i32, 0], vec![4.0, 5.0])?;
    /// let x = Tensor::dense(vec![3], Value::zero(Type::F64), Array::from(vec![1.0, 2.0, 3.0]))?;
    /// let program = Program::parse_given("y[i] = A[i,j] * x[j]", &[("A", &a), ("x", &x)])?;
    /// let outcome = program.compile(&Options::default())?.run(&[("A", &a), ("x", &x)])?;
    /// assert_eq!(outcome["y"].values, Array::from(vec![12.0, 5.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As of [`Program::parse`].
    pub fn parse_given(text: &str, given: &[(&str, &Tensor)]) -> Result<Program, Error> {
        Program::given("program", text, &[], &mut |name, _| {
            let tensor = given.iter().find(|(n, _)| *n == name).map(|(_, tensor)| tensor);
            let of = |t: &&Tensor| Given { ty: t.values.ty(), fill: t.fill, format: t.format.to_string() };
            Ok(tensor.map(of))
        })
    }

    /// The same of a program whose file has this name in messages, with other formats for some tensors; `given` says what the data
    /// of an undeclared tensor are that is read under so many indices, if they are given.
    ///
    /// # Errors
    /// As of [`Program::named_with`]; those of `given`.
    pub fn given(file: &str, text: &str, formats: &[(&str, &str)], given: &mut Data<'_>) -> Result<Program, Error> {
        let refused = |diagnostics| refused(file, text, diagnostics);
        match fiberloom_front::parse(text) {
            (Some(mut syntax), diagnostics) if diagnostics.is_empty() => {
                for tensor in undeclared(&syntax) {
                    if let Some(given) = given(&tensor.name.name, tensor.rank)? {
                        declare(&mut syntax, &tensor, &given)?;
                    }
                }
                formats.iter().try_for_each(|(name, format)| reformat(&mut syntax, name, format))?;
                Program::checked(file, text, syntax).map_err(refused)
            }
            (_, diagnostics) => Err(refused(diagnostics)),
        }
    }

    /// The same program with a format for a result, declared or not. One that is not declared keeps the fill value that this
    /// mode gives it; `None` if that depends on extents, so that no declaration can say it.
    ///
    /// ```
    /// # use fiberloom::{Mode, Program};
    /// let program = Program::parse("tensor A: f64[I, J] csr  tensor x: f64[J] dense  y[i] = A[i,j] * x[j]")?;
    /// let sparse = program.with_result("y", "sparse", Mode::Algebraic)?.expect("0 times anything is 0");
    /// assert_eq!(sparse.format(sparse.tensor("y").unwrap().0).to_string(), "{compressed}");
    /// # Ok::<(), fiberloom::Error>(())
    /// ```
    ///
    /// # Errors
    /// As of [`Program::with_format`], and of [`Program::lowered`].
    pub fn with_result(&self, name: &str, format: &str, mode: Mode) -> Result<Option<Program>, Error> {
        let (id, tensor) = self.named_tensor(name)?;
        if tensor.format.is_some() {
            return self.with_format(name, format).map(Some);
        }
        if self.lowers(mode)?.extents {
            return Ok(None);
        }
        let lowered = self.lowered(mode)?;
        let fill = lowered.kernel.arguments.iter().find(|a| a.tensor == id).map(|a| a.fill);
        let ident = syntax::Ident { name: name.to_string(), span: tensor.span };
        let undeclared = Undeclared { name: ident, rank: tensor.sizes.len() };
        let given = Given { ty: tensor.ty, fill: fill.unwrap_or(Value::zero(tensor.ty)), format: format.to_string() };
        let mut syntax = self.syntax().clone();
        declare(&mut syntax, &undeclared, &given)?;
        let (file, text) = (&self.inner.file, &self.inner.text);
        Program::checked(file, text, syntax).map(Some).map_err(|diagnostics| refused(file, text, diagnostics))
    }
}

/// Declares a tensor before all else; each of its extents has a name of its own.
fn declare(syntax: &mut syntax::Program, tensor: &Undeclared, given: &Given) -> Result<(), Error> {
    let Undeclared { name, rank } = tensor;
    let taken: HashSet<String> = syntax.items.iter().flat_map(names).collect();
    let size = |mode: usize| {
        let mut size = format!("{name}_{}", mode + 1);
        while taken.contains(&size) {
            size.push('_');
        }
        syntax::Size::Name(syntax::Ident { name: size, span: name.span })
    };
    let declared = syntax::Tensor {
        name: name.clone(),
        sort: syntax::Sort::Plain(given.ty),
        sizes: (0..*rank).map(size).collect(),
        fill: Some((literal(given.fill), name.span)),
        format: None,
    };
    syntax.items.insert(0, syntax::Item::Tensor(declared));
    reformat(syntax, &name.name, &given.format)
}

/// The names that an item declares.
fn names(item: &syntax::Item) -> Vec<String> {
    match item {
        syntax::Item::Dim(dim) => vec![dim.name.name.clone()],
        syntax::Item::Tensor(t) => {
            let size = |size: &syntax::Size| match size {
                syntax::Size::Name(name) => Some(name.name.clone()),
                syntax::Size::Int(..) => None,
            };
            t.sizes.iter().filter_map(size).chain([t.name.name.clone()]).collect()
        }
        syntax::Item::Domain(domain) => vec![domain.name.name.clone()],
        syntax::Item::Table(t) => {
            let sizes = t.modes.iter().map(|m| m.size.to_string());
            t.columns.iter().map(|c| c.name.name.clone()).chain([t.name.name.clone()]).chain(sizes).collect()
        }
        syntax::Item::Function(f) => vec![f.name.name.clone()],
        syntax::Item::Statement(_) | syntax::Item::Repeat(_) | syntax::Item::Schedule(_) => vec![],
    }
}

/// A value as a program writes it.
pub(crate) fn literal(value: Value) -> syntax::Literal {
    match value.ty() {
        Type::Bool => syntax::Literal::Bool(value.is_true()),
        ty if ty.is_float() => syntax::Literal::Float(syntax::Float(value.as_f64())),
        _ => syntax::Literal::Int(value.as_i128().expect("an integer")),
    }
}
