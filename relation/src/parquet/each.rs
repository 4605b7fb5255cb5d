//! Pages that the crate decodes, a value at a time: those of encodings that few files have.

use super::chunk::Chunk;
use super::{Pages, damaged};
use crate::Cell;
use fiberloom_core::algebra::Value;
use fiberloom_data::Fault;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};

impl Chunk<'_> {
    /// Reads the pages through the crate's readers of columns.
    pub(super) fn read_each(&mut self, pages: Pages) -> Result<(), Fault> {
        use ColumnReader as Of;
        let form = self.form;
        let column = get_column_reader(self.column.clone(), Box::new(pages));
        match &column {
            Of::BoolColumnReader(_) => self.records::<BoolType>(column, |x| Ok(Cell::Plain(Value::bool(*x)))),
            Of::Int32ColumnReader(_) => self.records::<Int32Type>(column, |x| form.integer((*x).into())),
            Of::Int64ColumnReader(_) => self.records::<Int64Type>(column, |x| form.integer(*x)),
            Of::FloatColumnReader(_) => self.records::<FloatType>(column, |x| Ok(Cell::Plain((*x).into()))),
            Of::DoubleColumnReader(_) => self.records::<DoubleType>(column, |x| Ok(Cell::Plain((*x).into()))),
            Of::ByteArrayColumnReader(_) => self.records::<ByteArrayType>(column, |x| form.bytes(x.data())),
            Of::FixedLenByteArrayColumnReader(_) => {
                self.records::<FixedLenByteArrayType>(column, |x| form.bytes(x.data()))
            }
            Of::Int96ColumnReader(_) => Err(Fault::whole("INT96 is not read")),
        }
    }

    /// Puts the values of the crate's reader into the column.
    fn records<T: DataType>(
        &mut self,
        column: ColumnReader,
        cell: impl for<'v> Fn(&'v T::T) -> Result<Cell<'v>, String>,
    ) -> Result<(), Fault> {
        /// Rows that are decoded at once.
        const BATCH: usize = 1 << 12;
        let Some(mut from) = T::get_column_reader(column) else {
            return Err(Fault::whole("damaged: a column of another type than it says"));
        };
        let most = self.column.max_def_level();
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        loop {
            values.clear();
            levels.clear();
            let (records, ..) = from.read_records(BATCH, Some(&mut levels), None, &mut values).map_err(damaged)?;
            if records == 0 {
                return Ok(());
            }
            let mut next = values.iter();
            for row in 0..records {
                let is_null = most > 0 && levels.get(row).is_none_or(|level| *level < most);
                let value = if is_null { None } else { next.next() };
                let pushed = match value {
                    None => self.to.null(),
                    Some(value) => cell(value).map_err(Fault::whole).and_then(|cell| self.to.push(cell)),
                };
                pushed.map_err(|fault| fault.at(|| self.place(row)))?;
            }
            self.took(records)?;
        }
    }
}
