//! A frame as a Parquet file: a column is required unless it has nulls; pages are packed by Snappy.

use crate::{Column, Frame, Values};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::{Array, room};
use fiberloom_data::write::Output;
use fiberloom_data::{Fault, Place};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type,
};
use parquet::errors::{ParquetError, Result as Written};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type as Schema, TypePtr};
use std::ops::Range;
use std::sync::Arc;

/// Rows that stand in one group.
const GROUP: usize = 1 << 20;

/// Below 10¹⁸ a decimal has 18 digits, which 64 bits hold.
const SHORT: i64 = 1_000_000_000_000_000_000;

/// Writes a file.
pub(crate) fn write(frame: &Frame, out: &mut dyn Output) -> Result<(), Fault> {
    let columns: Vec<Out> = frame.columns.iter().map(Out::of).collect();
    let fields = columns.iter().map(Out::field).collect::<Written<Vec<TypePtr>>>().map_err(unwritten)?;
    let schema = Schema::group_type_builder("schema").with_fields(fields).build().map_err(unwritten)?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(unwritten)?;
    for begin in (0..frame.rows).step_by(GROUP) {
        let rows = begin..frame.rows.min(begin + GROUP);
        let mut group = file.next_row_group().map_err(unwritten)?;
        for column in &columns {
            let Some(mut writer) = group.next_column().map_err(unwritten)? else { break };
            column.put(rows.clone(), &mut writer)?;
            writer.close().map_err(unwritten)?;
        }
        group.close().map_err(unwritten)?;
    }
    file.close().map(drop).map_err(unwritten)
}

/// Why a file is not written.
fn unwritten(error: ParquetError) -> Fault {
    match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => Fault::io(*error),
            Err(error) => Fault::whole(format!("not written: {error}")),
        },
        error => Fault::whole(format!("not written: {error}")),
    }
}

/// A column to be written.
struct Out<'c> {
    column: &'c Column<'c>,
    /// Whether it is of decimals that need more than 18 digits.
    is_long: bool,
}

impl<'c> Out<'c> {
    fn of(column: &'c Column) -> Out<'c> {
        let long = |x: Option<i64>| x.is_none_or(|x| !(-SHORT < x && x < SHORT));
        let is_long = match &column.values {
            Values::Decimals(array, digits) => *digits > 18 || array.iter().any(|value| long(value.as_i64())),
            _ => false,
        };
        Out { column, is_long }
    }

    /// What is said of a column.
    fn field(&self) -> Written<TypePtr> {
        let column = self.column;
        let (physical, logical) = match &column.values {
            Values::Plain(array) => match array.ty() {
                Type::Bool => (Physical::BOOLEAN, None),
                Type::F32 => (Physical::FLOAT, None),
                Type::F64 => (Physical::DOUBLE, None),
                ty => {
                    let physical = if ty.bytes() == 8 { Physical::INT64 } else { Physical::INT32 };
                    (physical, Some(LogicalType::integer(ty.bits() as i8, ty.is_signed())))
                }
            },
            Values::Dates(_) => (Physical::INT32, Some(LogicalType::Date)),
            Values::Timestamps(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
            Values::Decimals(_, digits) => match self.is_long {
                false => (Physical::INT64, Some(LogicalType::decimal((*digits).into(), 18))),
                true => (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::decimal((*digits).into(), 38))),
            },
            Values::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let (precision, scale) = match &logical {
            Some(LogicalType::Decimal(decimal)) => (decimal.precision, decimal.scale),
            _ => (-1, -1),
        };
        let repetition = if column.nulls.is_empty() { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        let field = Schema::primitive_type_builder(&column.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .with_length(if physical == Physical::FIXED_LEN_BYTE_ARRAY { 16 } else { -1 })
            .with_precision(precision)
            .with_scale(scale)
            .build()?;
        Ok(Arc::new(field))
    }

    /// Writes some rows of a column.
    fn put(&self, rows: Range<usize>, writer: &mut SerializedColumnWriter) -> Result<(), Fault> {
        let column = self.column;
        let number = |array: &Array, row: usize| array.get(row).bits();
        match &column.values {
            Values::Plain(array) => match array.ty() {
                Type::Bool => values::<BoolType>(column, rows, writer, |row| Ok(number(array, row) != 0)),
                Type::F32 => values::<FloatType>(column, rows, writer, |row| Ok(array.get(row).as_f64() as f32)),
                Type::F64 => values::<DoubleType>(column, rows, writer, |row| Ok(array.get(row).as_f64())),
                ty if ty.bytes() == 8 => values::<Int64Type>(column, rows, writer, |row| Ok(number(array, row) as i64)),
                // An integer of less than 32 bits keeps its sign; one of 32 bits without sign keeps its bits.
                _ => values::<Int32Type>(column, rows, writer, |row| Ok(array.get(row).as_i64().unwrap_or(0) as i32)),
            },
            Values::Dates(array) => values::<Int32Type>(column, rows, writer, |row| {
                let days = array.get(row).as_i64().unwrap_or(0);
                i32::try_from(days).map_err(|_| format!("a date {days} days from 1970-01-01 is more than a file holds"))
            }),
            Values::Timestamps(array) => {
                values::<Int64Type>(column, rows, writer, |row| Ok(array.get(row).as_i64().unwrap_or(0)))
            }
            Values::Decimals(array, _) => match self.is_long {
                false => values::<Int64Type>(column, rows, writer, |row| Ok(array.get(row).as_i64().unwrap_or(0))),
                true => values::<FixedLenByteArrayType>(column, rows, writer, |row| {
                    let x = i128::from(array.get(row).as_i64().unwrap_or(0));
                    Ok(FixedLenByteArray::from(x.to_be_bytes().to_vec()))
                }),
            },
            Values::Texts(texts) => {
                values::<ByteArrayType>(column, rows, writer, |row| Ok(ByteArray::from(texts.get(row))))
            }
        }
    }
}

/// Writes the values of some rows, and which of these are null.
fn values<T: DataType>(
    column: &Column,
    rows: Range<usize>,
    writer: &mut SerializedColumnWriter,
    value: impl Fn(usize) -> Result<T::T, String>,
) -> Result<(), Fault> {
    let mut values: Vec<T::T> = room::room(rows.len())?;
    for row in rows.clone().filter(|row| !column.is_null(*row)) {
        let place = || Place::Cell { row: row + 1, column: column.name.clone() };
        values.push(value(row).map_err(|what| Fault::new(place(), what))?);
    }
    let levels: Vec<i16> = match column.nulls.is_empty() {
        true => Vec::new(),
        false => room::collected(rows.map(|row| i16::from(!column.is_null(row))))?,
    };
    let levels = (!column.nulls.is_empty()).then_some(&levels[..]);
    writer.typed::<T>().write_batch(&values, levels, None).map(drop).map_err(unwritten)
}
