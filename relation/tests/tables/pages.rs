//! Files of one column whose pages are written byte by byte.

use ::parquet::basic::Encoding;
use ::parquet::column::page::{CompressedPage, Page, PageWriter};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use ::parquet::schema::parser::parse_message_type;
use bytes::Bytes;
use std::sync::Arc;

/// A page of so many rows, whose levels are encoded so and whose values stand one behind the other.
pub(super) fn page(rows: u32, levels: Encoding, bytes: &[u8]) -> Page {
    Page::DataPage {
        buf: Bytes::copy_from_slice(bytes),
        num_values: rows,
        encoding: Encoding::PLAIN,
        def_level_encoding: levels,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    }
}

/// The file of a column, as a schema declares it, and its pages.
pub(super) fn file(column: &str, pages: Vec<Page>) -> Vec<u8> {
    let schema = parse_message_type(&format!("message m {{ {column}; }}")).unwrap();
    let mut file = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), properties).unwrap();
    let rows: u32 = pages.iter().map(Page::num_values).sum();
    let mut chunk = TrackedWrite::new(Vec::new());
    for page in pages {
        let length = page.buffer().len();
        SerializedPageWriter::new(&mut chunk).write_page(CompressedPage::new(page, length)).unwrap();
    }
    let chunk = chunk.into_inner().unwrap();
    let metadata = ColumnChunkMetaData::builder(writer.schema_descr().column(0))
        .set_encodings(vec![Encoding::PLAIN])
        .set_num_values(rows.into())
        .set_total_compressed_size(chunk.len() as i64)
        .set_total_uncompressed_size(chunk.len() as i64)
        .set_data_page_offset(0)
        .build()
        .unwrap();
    let close = ColumnCloseResult {
        bytes_written: chunk.len() as u64,
        rows_written: rows.into(),
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    let mut group = writer.next_row_group().unwrap();
    group.append_column(&Bytes::from(chunk), close).unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    file
}
