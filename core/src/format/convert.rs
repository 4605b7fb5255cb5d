//! Tensors from lists and from dense data, to dense data, and from one format to another.
//!
//! All conversions go through [`Entries`], so any mixture of levels in any order of modes becomes any other. Entries of an innermost list
//! stay stored, fill values among them. Where the innermost level is dense, structured or a singleton in no chain, only values that are
//! not bit-identical to the fill value count as stored.

use super::{Array, Assembly, Entries, Error, Format, Level, Tensor};
use crate::algebra::{Type, Value};

impl<'a> Tensor<'a> {
    /// The tensor that holds these entries and `fill` elsewhere, with index arrays of these types (`I32` or `I64`). Coordinates are in
    /// the order of declaration, and distinct; entries come in any order.
    ///
    /// To let the index types be chosen, combine duplicates or limit memory, see [`Entries::assemble`].
    ///
    /// # Errors
    /// An entry with another number of coordinates than extents; errors of [`Entries::assemble`].
    pub fn from_entries(
        extents: Vec<u64>,
        format: Format,
        fill: Value,
        pos_ty: Type,
        crd_ty: Type,
        entries: impl IntoIterator<Item = (Vec<i64>, Value)>,
    ) -> Result<Tensor<'static>, Error> {
        let entries = Entries::of(extents.len(), fill.ty(), entries)?;
        entries.assemble(
            &extents,
            &format,
            fill,
            &Assembly { pos: Some(pos_ty), crd: Some(crd_ty), ..Assembly::default() },
        )
    }

    /// The tensor with a value at every coordinate, the last mode's coordinate running fastest. In a format other than `dense`, values
    /// that are not bit-identical to `fill` are stored; the dense format takes `values` as they are.
    pub fn from_dense(
        extents: Vec<u64>,
        format: Format,
        fill: Value,
        pos_ty: Type,
        crd_ty: Type,
        values: Array<'a>,
    ) -> Result<Tensor<'a>, Error> {
        let dense = Tensor::dense(extents, fill, values)?;
        dense.convert(&format, &Assembly { pos: Some(pos_ty), crd: Some(crd_ty), ..Assembly::default() })
    }

    /// The dense tensor of these values, the last mode's coordinate running fastest; borrowed values stay borrowed. Refused if the number
    /// of values is not the number of coordinates.
    pub fn dense(extents: Vec<u64>, fill: Value, values: Array<'a>) -> Result<Tensor<'a>, Error> {
        let format = Format::dense(extents.len());
        let levels = vec![Level::Dense; extents.len()];
        let tensor = Tensor { extents, format, levels, values, fill };
        tensor.check()?;
        Ok(tensor)
    }

    /// The scalar tensor of one value.
    pub fn scalar(value: Value) -> Tensor<'static> {
        let values = Array::from_values(value.ty(), [value]);
        Tensor { extents: vec![], format: Format::dense(0), levels: vec![], values, fill: Value::zero(value.ty()) }
    }

    /// The tensor in another format. It is returned as it is if it has that format and the index types of `how`.
    ///
    /// # Errors
    /// [`Error::Malformed`]: see [`Tensor::check`]; else those of [`Entries::assemble`].
    pub fn convert(self, format: &Format, how: &Assembly) -> Result<Tensor<'a>, Error> {
        self.check()?;
        if self.format == *format && self.has_types(how) {
            return Ok(self);
        }
        self.entries_to_store()?.assemble(&self.extents, format, self.fill, how)
    }

    /// Whether the index arrays have the types that `how` asks for.
    fn has_types(&self, how: &Assembly) -> bool {
        let same = |wanted: Option<Type>, ty: Option<Type>| wanted.is_none() || ty.is_none() || wanted == ty;
        self.levels.iter().map(Level::index_types).all(|(pos, crd)| same(how.pos, pos) && same(how.crd, crd))
    }

    /// The entries that another format has to store, by the rule at the head of this module.
    ///
    /// # Errors
    /// [`Error::Malformed`]: see [`Tensor::check`]. [`Error::Memory`].
    pub fn stored_entries(&self) -> Result<Entries<'_>, Error> {
        self.check()?;
        self.entries_to_store()
    }

    /// As [`Tensor::stored_entries`], of a tensor that is known to be well-formed.
    fn entries_to_store(&self) -> Result<Entries<'_>, Error> {
        let padded = |l: usize| self.format.levels[l].pads() || self.format.is_single(l);
        if !self.extents.len().checked_sub(1).is_some_and(padded) {
            return self.listed_all();
        }
        let mut differing = self.stored_positions()?;
        differing.retain(|&p| self.values.get(p) != self.fill);
        self.listed_at(differing)
    }

    /// The value at every coordinate, the last mode's coordinate running fastest. Refused if that takes more than
    /// `limit` bytes.
    ///
    /// # Errors
    /// As of [`Tensor::convert`].
    pub fn to_dense(&self, limit: u64) -> Result<Array<'_>, Error> {
        let how = Assembly { limit, ..Assembly::default() };
        Ok(self.borrow().convert(&Format::dense(self.extents.len()), &how)?.values)
    }
}
