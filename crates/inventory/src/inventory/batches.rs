//! Arrow batches of one row group, in bounded memory.
//!
//! Values that are longer than any name are truncated when they are read, so a batch is at most its rows times the longest name.

use std::str;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, NullArray, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::column::page::PageReader;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{
    AsBytes as _, ByteArrayType, DataType as Physical, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;

/// A column to read.
pub(super) struct ColumnPlan {
    pub(super) name: String,
    pub(super) data_type: DataType,
    pub(super) descriptor: ColumnDescPtr,
    /// Longer values are truncated to this length in bytes.
    pub(super) value_len: usize,
}

/// Batches of the rows of one group.
pub(super) struct Batches {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows_left: u64,
}

impl Batches {
    /// Reads `rows` rows after the first `skipped`.
    pub(super) fn new(
        columns: Vec<(ColumnPlan, Box<dyn PageReader>)>,
        skipped: u64,
        rows: u64,
    ) -> Result<Batches, ParquetError> {
        let mut fields = Vec::new();
        let mut readers = Vec::new();
        for (plan, pages) in columns {
            let mut column = Column::new(&plan, pages)?;
            column.skip(skipped)?;
            fields.push(Field::new(plan.name, column.data_type(), true));
            readers.push(column);
        }
        Ok(Batches { schema: Arc::new(Schema::new(fields)), columns: readers, rows_left: rows })
    }

    /// At most `rows` rows; `None` at the end.
    pub(super) fn next(&mut self, rows: usize) -> Result<Option<RecordBatch>, ParquetError> {
        let rows = rows.min(usize::try_from(self.rows_left).unwrap_or(usize::MAX));
        if rows == 0 {
            return Ok(None);
        }
        let columns = self.columns.iter_mut().map(|column| column.read(rows));
        let columns = columns.collect::<Result<Vec<ArrayRef>, _>>()?;
        self.rows_left -= rows as u64;
        Ok(Some(RecordBatch::try_new(Arc::clone(&self.schema), columns)?))
    }
}

fn missing(rows: u64) -> ParquetError {
    ParquetError::General(format!("{rows} rows that it says it has are not there"))
}

enum Column {
    Null,
    Text(Values<ByteArrayType>),
    Bytes(Values<ByteArrayType>),
    Digests(Values<FixedLenByteArrayType>),
    Int32(Values<Int32Type>),
    UInt32(Values<Int32Type>),
    Int64(Values<Int64Type>),
    UInt64(Values<Int64Type>),
}

impl Column {
    fn new(plan: &ColumnPlan, pages: Box<dyn PageReader>) -> Result<Column, ParquetError> {
        use parquet::basic::Type;
        let descriptor = &plan.descriptor;
        let physical = descriptor.physical_type();
        let is_flat = descriptor.max_rep_level() == 0 && descriptor.max_def_level() <= 1;
        Ok(match (&plan.data_type, physical) {
            (DataType::Null, _) => Column::Null,
            (DataType::Utf8, Type::BYTE_ARRAY) if is_flat => Column::Text(Values::new(plan, pages)),
            (DataType::Binary, Type::BYTE_ARRAY) if is_flat => Column::Bytes(Values::new(plan, pages)),
            (DataType::FixedSizeBinary(32), Type::FIXED_LEN_BYTE_ARRAY) if is_flat => {
                Column::Digests(Values::new(plan, pages))
            }
            (DataType::Int32, Type::INT32) if is_flat => Column::Int32(Values::new(plan, pages)),
            (DataType::UInt32, Type::INT32) if is_flat => Column::UInt32(Values::new(plan, pages)),
            (DataType::Int64, Type::INT64) if is_flat => Column::Int64(Values::new(plan, pages)),
            (DataType::UInt64, Type::INT64) if is_flat => Column::UInt64(Values::new(plan, pages)),
            (data_type, _) => {
                let what = format!("the column {} of type {data_type} cannot be used", plan.name);
                return Err(ParquetError::General(what));
            }
        })
    }

    fn data_type(&self) -> DataType {
        match self {
            Column::Null => DataType::Null,
            Column::Text(_) => DataType::Utf8,
            Column::Bytes(_) => DataType::Binary,
            Column::Digests(_) => DataType::FixedSizeBinary(32),
            Column::Int32(_) => DataType::Int32,
            Column::UInt32(_) => DataType::UInt32,
            Column::Int64(_) => DataType::Int64,
            Column::UInt64(_) => DataType::UInt64,
        }
    }

    fn skip(&mut self, rows: u64) -> Result<(), ParquetError> {
        match self {
            Column::Null => Ok(()),
            Column::Text(values) | Column::Bytes(values) => values.skip(rows),
            Column::Digests(values) => values.skip(rows),
            Column::Int32(values) | Column::UInt32(values) => values.skip(rows),
            Column::Int64(values) | Column::UInt64(values) => values.skip(rows),
        }
    }

    fn read(&mut self, rows: usize) -> Result<ArrayRef, ParquetError> {
        Ok(match self {
            Column::Null => Arc::new(NullArray::new(rows)),
            Column::Text(values) => {
                let most = values.value_len;
                let mut array = StringBuilder::new();
                values.read(rows, |value| {
                    array.append_option(value.map(|value| text(value.as_bytes(), most)).transpose()?);
                    Ok(())
                })?;
                Arc::new(array.finish())
            }
            Column::Bytes(values) => {
                let most = values.value_len;
                let mut array = BinaryBuilder::new();
                values.read(rows, |value| {
                    array.append_option(value.map(|value| &value.as_bytes()[..value.len().min(most)]));
                    Ok(())
                })?;
                Arc::new(array.finish())
            }
            Column::Digests(values) => {
                let mut array = FixedSizeBinaryBuilder::new(32);
                values.read(rows, |value| {
                    match value {
                        Some(value) => array.append_value(value.as_bytes())?,
                        None => array.append_null(),
                    }
                    Ok(())
                })?;
                Arc::new(array.finish())
            }
            Column::Int32(values) => Arc::new(Int32Array::from(values.numbers(rows, |value| value)?)),
            Column::UInt32(values) => Arc::new(UInt32Array::from(values.numbers(rows, i32::cast_unsigned)?)),
            Column::Int64(values) => Arc::new(Int64Array::from(values.numbers(rows, |value| value)?)),
            Column::UInt64(values) => Arc::new(UInt64Array::from(values.numbers(rows, i64::cast_unsigned)?)),
        })
    }
}

/// The text, truncated to `most` bytes or a few less.
fn text(bytes: &[u8], most: usize) -> Result<&str, ParquetError> {
    let text = str::from_utf8(bytes)
        .map_err(|error| ParquetError::General(format!("a text that is not UTF-8: {error}")))?;
    Ok(&text[..text.floor_char_boundary(most)])
}

/// Values of one column, null or not.
struct Values<T: Physical> {
    reader: ColumnReaderImpl<T>,
    is_optional: bool,
    value_len: usize,
    levels: Vec<i16>,
    values: Vec<T::T>,
}

impl<T: Physical> Values<T> {
    fn new(plan: &ColumnPlan, pages: Box<dyn PageReader>) -> Values<T> {
        Values {
            reader: ColumnReaderImpl::new(Arc::clone(&plan.descriptor), pages),
            is_optional: plan.descriptor.max_def_level() > 0,
            value_len: plan.value_len,
            levels: Vec::new(),
            values: Vec::new(),
        }
    }

    fn skip(&mut self, rows: u64) -> Result<(), ParquetError> {
        let mut left = rows;
        while left > 0 {
            match self.reader.skip_records(usize::try_from(left).unwrap_or(usize::MAX))? {
                0 => return Err(missing(left)),
                skipped => left = left.saturating_sub(skipped as u64),
            }
        }
        Ok(())
    }

    fn read(
        &mut self,
        rows: usize,
        mut append: impl FnMut(Option<&T::T>) -> Result<(), ParquetError>,
    ) -> Result<(), ParquetError> {
        let mut left = rows;
        while left > 0 {
            self.levels.clear();
            self.values.clear();
            let levels = self.is_optional.then_some(&mut self.levels);
            let (records, _, _) = self.reader.read_records(left, levels, None, &mut self.values)?;
            if records == 0 {
                return Err(missing(left as u64));
            }
            left -= records.min(left);
            let mut values = self.values.iter();
            if self.is_optional {
                for level in &self.levels {
                    append(if *level > 0 { values.next() } else { None })?;
                }
            } else {
                values.try_for_each(|value| append(Some(value)))?;
            }
        }
        // A value of a dictionary keeps the whole dictionary in memory.
        self.values.clear();
        Ok(())
    }

    fn numbers<N>(&mut self, rows: usize, of: fn(T::T) -> N) -> Result<Vec<Option<N>>, ParquetError>
    where
        T::T: Copy,
    {
        let mut numbers = Vec::with_capacity(rows);
        self.read(rows, |value| {
            numbers.push(value.copied().map(of));
            Ok(())
        })?;
        Ok(numbers)
    }
}
