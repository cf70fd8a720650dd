//! Inventories that try to exhaust memory, and inventories of all common writers.

use std::fs::{self, File};
use std::io::Write as _;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, StringArray, UInt32Array};
use flate2::write::GzEncoder;
use hashmill_inventory::inventory::{Columns, Inventory, Row, rows};
use hashmill_inventory::run::{PART_ROWS, run};
use hashmill_inventory::{Hasher, Options, RunHandle, Shard};
use hashmill_testkit::wait::output;
use hashmill_testkit::{Rng, skip};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use crate::{files, table, texts};

/// Memory limit of a process that reads hostile files, in KiB: the program itself and 256 MiB of pages.
const LIMIT: u64 = 650_000;

/// Environment variable that makes a child process of this test read the files of a folder.
const FOLDER: &str = "HASHMILL_TEST_HOSTILE_FOLDER";

const LARGE: usize = 1 << 30;

fn options() -> Options {
    let mut options = Options::default();
    options.threads = NonZero::new(1);
    options
}

/// Varint of Thrift's compact protocol. The structs here have only 32-bit and boolean fields.
fn varint(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn fields(values: &[i32], to: &mut Vec<u8>) {
    for value in values {
        to.push(0x15);
        varint(((value << 1) ^ (value >> 31)) as u32 as u64, to);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PageKind {
    V1,
    V2,
    Dictionary,
}

/// A page of a required column: its header fields and its bytes.
struct RawPage {
    kind: PageKind,
    declared_values: i32,
    declared_len: usize,
    encoding: Encoding,
    body: Vec<u8>,
}

impl RawPage {
    fn write(&self, to: &mut Vec<u8>) {
        let encoding = match self.encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 6,
            Encoding::DELTA_BYTE_ARRAY => 7,
            Encoding::RLE_DICTIONARY => 8,
            _ => 0,
        };
        let (kind, head, numbers) = match self.kind {
            PageKind::V1 => (0, 0x2c, vec![self.declared_values, encoding, 3, 3]),
            PageKind::Dictionary => (2, 0x4c, vec![self.declared_values, encoding]),
            PageKind::V2 => (3, 0x5c, vec![self.declared_values, 0, self.declared_values, encoding, 0, 0]),
        };
        fields(&[kind, self.declared_len as i32, self.body.len() as i32], to);
        to.push(head);
        fields(&numbers, to);
        to.extend([0, 0]);
        to.extend(&self.body);
    }
}

/// Writes a file of one row group, with the given metadata.
fn file(path: &Path, rows: i64, declared_len: i64, columns: &[(&str, Compression, Vec<RawPage>)]) {
    let names: String = columns.iter().map(|(name, ..)| format!("required binary {name} (UTF8); ")).collect();
    let schema = parse_message_type(&format!("message inventory {{ {names} }}")).expect("a schema");
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
    let (mut bytes, mut chunks) = (b"PAR1".to_vec(), Vec::new());
    for (index, (_, compression, pages)) in columns.iter().enumerate() {
        let start = bytes.len() as i64;
        let mut data = None;
        for page in pages {
            data = data.or((page.kind != PageKind::Dictionary).then_some(bytes.len() as i64));
            page.write(&mut bytes);
        }
        let data = data.expect("a data page");
        let encodings = pages.iter().map(|page| page.encoding).collect();
        let chunk = ColumnChunkMetaData::builder(schema.column(index))
            .set_encodings(encodings)
            .set_compression(*compression)
            .set_num_values(rows)
            .set_total_compressed_size(bytes.len() as i64 - start)
            .set_total_uncompressed_size(declared_len)
            .set_data_page_offset(data)
            .set_dictionary_page_offset((data != start).then_some(start));
        chunks.push(chunk.build().expect("a chunk"));
    }
    let group = RowGroupMetaData::builder(Arc::clone(&schema))
        .set_num_rows(rows)
        .set_total_byte_size(declared_len)
        .set_column_metadata(chunks)
        .build()
        .expect("a row group");
    let about = FileMetaData::new(2, rows, None, None, schema, None);
    let metadata = ParquetMetaDataBuilder::new(about).add_row_group(group).build();
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().expect("metadata");
    fs::write(path, bytes).expect("a file");
}

/// One value of `len - 4` bytes, compressed to a few KiB: both formats allow several frames.
fn compressed(compression: Compression, len: usize) -> Vec<u8> {
    let pack = |bytes: &[u8]| match compression {
        Compression::ZSTD(_) => zstd::bulk::compress(bytes, 1).expect("a frame"),
        Compression::GZIP(_) => {
            let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::best());
            gzip.write_all(bytes).expect("bytes");
            gzip.finish().expect("a member")
        }
        _ => snap::raw::Encoder::new().compress_vec(bytes).expect("a block"),
    };
    let value_len = (len - 4) as u32;
    if compression == Compression::SNAPPY {
        return pack(&[&value_len.to_le_bytes()[..], &vec![b'y'; len - 4]].concat());
    }
    let megabyte = pack(&vec![b'y'; 1 << 20]);
    let mut bytes = pack(&value_len.to_le_bytes());
    for _ in 0..(len - 4) >> 20 {
        bytes.extend(&megabyte);
    }
    bytes.extend(pack(&vec![b'y'; (len - 4) % (1 << 20)]));
    bytes
}

/// Index of the first dictionary value for each of `rows` rows.
fn indexes(rows: u64) -> Vec<u8> {
    let mut body = vec![1];
    varint(rows << 1, &mut body);
    body.push(0);
    body
}

/// `count` equal numbers in `DELTA_BINARY_PACKED`.
fn equal_numbers(value: i32, count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let block = count.div_ceil(128) * 128;
    varint(block, &mut bytes);
    varint(1, &mut bytes);
    varint(count, &mut bytes);
    varint((value as u64) << 1, &mut bytes);
    bytes.extend([0, 0]);
    bytes
}

/// Writes files whose values or stated sizes are larger than memory.
fn hostile(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut add =
        |name: String, rows: i64, declared_len: usize, columns: &[(&str, Compression, Vec<RawPage>)]| {
            file(&folder.join(&name), rows, declared_len as i64, columns);
            names.push(name);
        };
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let gzip = Compression::GZIP(GzipLevel::default());
    for compression in [zstd, gzip, Compression::SNAPPY] {
        // Compressed, each is within the limit of a page, so that only its length is wrong.
        let len = match compression {
            Compression::GZIP(_) => 800 << 20,
            Compression::SNAPPY => 20 << 20,
            _ => LARGE,
        };
        let body = compressed(compression, len);
        for kind in [PageKind::V1, PageKind::V2, PageKind::Dictionary] {
            // True sizes; false metadata; false metadata and page headers.
            for (metadata, header) in [(len, len), (1000, len), (1000, 1000)] {
                let mut pages = vec![RawPage {
                    kind,
                    declared_values: 1,
                    declared_len: header,
                    encoding: Encoding::PLAIN,
                    body: body.clone(),
                }];
                if kind == PageKind::Dictionary {
                    let body = indexes(30);
                    pages.push(RawPage {
                        kind: PageKind::V2,
                        declared_values: 30,
                        declared_len: body.len(),
                        encoding: Encoding::RLE_DICTIONARY,
                        body,
                    });
                }
                let name = format!("{compression}-{kind:?}-{metadata}-{header}");
                add(name, 30, metadata, &[("url", compression, pages)]);
            }
        }
    }
    // Enough rows to allow any length: the pages of all columns together exceed the budget.
    let page = |kind, values: i32, len: usize| RawPage {
        kind,
        declared_values: values,
        declared_len: len,
        encoding: Encoding::PLAIN,
        body: compressed(zstd, len),
    };
    let many = 1 << 20;
    for names in [["bucket", "key"], ["key", "bucket"]] {
        let columns = names.map(|name| (name, zstd, vec![page(PageKind::V1, many, 150 << 20)]));
        add(format!("pages-of-{}", names[0]), many.into(), 150 << 20, &columns);
    }
    add("one-page".to_owned(), many.into(), LARGE, &[("url", zstd, vec![page(PageKind::V1, many, LARGE)])]);
    let dictionary = RawPage { declared_values: i32::MAX, ..page(PageKind::Dictionary, 0, 1 << 20) };
    for rows in [30, i64::from(i32::MAX)] {
        let uncompressed = Compression::UNCOMPRESSED;
        let raw = |encoding, body: Vec<u8>, values: i64| {
            let (declared_values, declared_len) = (values as i32, body.len());
            vec![RawPage { kind: PageKind::V1, declared_values, declared_len, encoding, body }]
        };
        let huge = equal_numbers(0, i32::MAX as u64 - 127);
        let lengths = raw(Encoding::DELTA_LENGTH_BYTE_ARRAY, huge.clone(), rows);
        add(format!("lengths-{rows}"), rows, 100, &[("url", uncompressed, lengths)]);
        let both = raw(Encoding::DELTA_BYTE_ARRAY, [&huge[..], &huge].concat(), rows);
        add(format!("prefixes-{rows}"), rows, 100, &[("url", uncompressed, both)]);
        let suffixes = raw(Encoding::DELTA_BYTE_ARRAY, [&equal_numbers(0, 30)[..], &huge].concat(), rows);
        add(format!("suffixes-{rows}"), rows, 100, &[("url", uncompressed, suffixes)]);
        let entries = vec![
            RawPage { body: dictionary.body.clone(), ..dictionary },
            RawPage {
                kind: PageKind::V1,
                declared_values: 30,
                declared_len: 3,
                encoding: Encoding::RLE_DICTIONARY,
                body: indexes(30),
            },
        ];
        add(format!("entries-{rows}"), rows, 1 << 20, &[("url", zstd, entries)]);
    }
    // The first value has 8 MiB, and all others share it: 2,000 values take 16 GB.
    let shared = 8 << 20;
    let mut body = prefixes_after_the_first(shared, 2000);
    body.extend(suffixes_after_the_first(shared, 2000));
    body.extend(vec![b'y'; shared as usize]);
    let declared_len = body.len();
    let pages = vec![RawPage {
        kind: PageKind::V1,
        declared_values: 2000,
        declared_len,
        encoding: Encoding::DELTA_BYTE_ARRAY,
        body,
    }];
    add("shared".to_owned(), 2000, declared_len, &[("url", Compression::UNCOMPRESSED, pages)]);
    names
}

/// 0, then `len` repeatedly: the first of 32 deltas of a miniblock is `len`, all others are 0.
fn prefixes_after_the_first(len: i32, count: u64) -> Vec<u8> {
    stairs(0, len, count)
}

fn suffixes_after_the_first(len: i32, count: u64) -> Vec<u8> {
    stairs(len, -len, count)
}

fn stairs(first: i32, step: i32, count: u64) -> Vec<u8> {
    let zigzag = |value: i32| ((value << 1) ^ (value >> 31)) as u32 as u64;
    let mut bytes = Vec::new();
    for number in [128, 4, count, zigzag(first)] {
        varint(number, &mut bytes);
    }
    // Deltas are relative to the minimum: for a positive step only the step has non-zero bits, else all others have.
    let least = step.min(0);
    let mut left = count - 1;
    let mut is_first = true;
    while left > 0 {
        let least = if is_first { least } else { 0 };
        varint(zigzag(least), &mut bytes);
        let widths = if is_first { [32, 32, 32, 32] } else { [0; 4] };
        bytes.extend(widths);
        if is_first {
            for index in 0..left.div_ceil(32).min(4) * 32 {
                let delta = if index == 0 { step } else { 0 };
                bytes.extend((delta.wrapping_sub(least)).to_le_bytes());
            }
        }
        is_first = false;
        left = left.saturating_sub(128);
    }
    bytes
}

/// Writes large but valid files.
fn honest(folder: &Path) -> Vec<(String, u64)> {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    // As written by DuckDB: a row group in one page of 80 MB.
    let (rows, len) = (100_000_u64, 800_usize);
    let mut page = Vec::new();
    for _ in 0..rows {
        page.extend((len as u32).to_le_bytes());
        page.extend(vec![b'y'; len]);
    }
    let declared_len = page.len();
    let body = zstd::bulk::compress(&page, 1).expect("a frame");
    let pages = vec![RawPage {
        kind: PageKind::V1,
        declared_values: rows as i32,
        declared_len,
        encoding: Encoding::PLAIN,
        body,
    }];
    file(&folder.join("duck"), rows as i64, declared_len as i64, &[("url", zstd, pages)]);
    vec![("duck".to_owned(), rows)]
}

/// Reading any file takes less than [`LIMIT`]: a process with that memory refuses it and survives.
#[test]
fn memory_is_bounded_for_hostile_files() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return read_all(Path::new(&folder));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let hostile = hostile(folder.path());
    let honest = honest(folder.path());
    for name in &hostile {
        let len = fs::metadata(folder.path().join(name)).expect("a file").len();
        assert!(len < 9 << 20, "{name}: {len} bytes");
    }
    let Some(output) = limited("hostile::memory_is_bounded_for_hostile_files", folder.path()) else {
        return;
    };
    let mut expected: Vec<String> = hostile.iter().map(|name| format!("{name}: refused")).collect();
    expected.extend(honest.iter().map(|(name, rows)| format!("{name}: {rows} rows")));
    expected.sort();
    let lines: Vec<&str> = output.lines().collect();
    let missing: Vec<&String> = expected.iter().filter(|line| !lines.contains(&line.as_str())).collect();
    assert!(missing.is_empty(), "{missing:#?}\n{output}");
    assert_eq!(
        expected.len(),
        lines.iter().filter(|line| line.ends_with(" rows") || line.ends_with(": refused")).count()
    );
}

#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
fn read_all(folder: &Path) {
    let mut names: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    let hasher = Hasher::new(options()).expect("a hasher");
    // The test harness has not ended its line yet.
    println!();
    for path in names {
        let read = || {
            let inventory = Inventory::open(&hasher, &[&path], Columns::default())?;
            inventory.rows(0..inventory.len()).try_fold(0_u64, |count, row| row.map(|_| count + 1))
        };
        let name = path.file_name().expect("a name").to_string_lossy();
        match read() {
            Ok(rows) => println!("{name}: {rows} rows"),
            Err(error) => println!("{name}: refused\n{error}"),
        }
    }
}

/// Output of one test in a child process with the memory limit [`LIMIT`]. `None` on systems without such a limit.
fn limited(test: &str, folder: &Path) -> Option<String> {
    let what = "inventories beyond a limit of memory";
    let Ok(program) = std::env::current_exe() else {
        skip(what, "this program cannot be started again");
        return None;
    };
    let line = format!("ulimit -v {LIMIT} && exec \"$0\" --exact {test} --nocapture");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(line).arg(program).env(FOLDER, folder);
    let Ok(output) = output(shell.env("MALLOC_ARENA_MAX", "1").env("RUST_TEST_THREADS", "1")) else {
        skip(what, "there is no shell that can set one");
        return None;
    };
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    // An emulator and the address sanitizer, which reserves terabytes, do not reach the first test.
    if !words.contains("running 1 test") {
        skip(what, "this program cannot start within the limit");
        return None;
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{words}\n{errors}", output.status);
    Some(words)
}

/// The names of one part are in memory several times. A dictionary stores each in one byte.
#[test]
fn rejects_parts_with_too_long_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("inventory.parquet");
    let long = format!("/{}", "y".repeat(16_000));
    let keys = Int32Array::from(vec![0; 10_000]);
    let values = Arc::new(StringArray::from(vec![long]));
    let column: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).expect("keys"));
    crate::write(&path, &table(vec![("url", column)]), 10_000);
    assert!(fs::metadata(&path).expect("a file").len() < 100_000);
    let hasher = Hasher::new(options()).expect("a hasher");
    let inventory = Inventory::open(&hasher, &[&path], Columns::default()).expect("an inventory");
    let by = |rows| run(&hasher, &inventory, &folder.path().join("out"), Shard::ALL, rows, &RunHandle::new());
    let error = by(PART_ROWS).expect_err("160 MB of names").to_string();
    assert!(error.contains("take parts of fewer rows"), "{error}");
}

/// Damage gives an error or other rows. Panics of the parser are not printed.
#[test]
fn panics_of_the_parser_are_not_printed() {
    const TEST: &str = "hostile::panics_of_the_parser_are_not_printed";
    if let Some(folder) = std::env::var_os(FOLDER) {
        return read_damaged(Path::new(&folder));
    }
    let folder = tempfile::tempdir().expect("a folder");
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let names: Vec<String> = (0..40).map(|index| format!("/file/{index}")).collect();
        let sizes = Int64Array::from_iter_values(0..40);
        let batch = table(vec![("url", texts(names.iter().map(String::as_str))), ("size", Arc::new(sizes))]);
        let properties =
            WriterProperties::builder().set_writer_version(version).set_dictionary_enabled(false).build();
        write_with(&folder.path().join(format!("{version:?}")), &batch, properties);
    }
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program);
    child.args(["--exact", TEST, "--nocapture"]).env(FOLDER, folder.path()).env("RUST_BACKTRACE", "1");
    let output = output(&mut child).expect("a process");
    let (words, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{words}\n{errors}");
    // Other panics are printed as usual.
    assert_eq!(errors.matches("panicked at").count(), 1, "{errors}");
    assert!(errors.contains("this one is printed"), "{errors}");
    let damaged = words.lines().find_map(|line| line.strip_prefix("panics: ")).expect("a count");
    assert!(damaged.parse::<u64>().expect("a number") > 0, "no panic was met, so nothing was tried");
}

#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
fn read_damaged(folder: &Path) {
    let hasher = Hasher::new(options()).expect("a hasher");
    let mut rng = Rng::new(5);
    let mut panics = 0;
    for version in ["PARQUET_1_0", "PARQUET_2_0"] {
        let whole = fs::read(folder.join(version)).expect("a file");
        let path = folder.join("damaged");
        for _ in 0..600 {
            let mut bytes = whole.clone();
            for _ in 0..=rng.below(2) {
                let at = rng.below(bytes.len());
                bytes[at] = rng.next_u64() as u8;
            }
            fs::write(&path, &bytes).expect("a file");
            let read = || {
                let inventory = Inventory::open(&hasher, &[&path], Columns::default())?;
                inventory.rows(0..inventory.len()).take(1000).try_fold(0, |count, row| row.map(|_| count + 1))
            };
            panics += u64::from(read().is_err_and(|error| error.to_string().ends_with("it is damaged")));
        }
    }
    println!("panics: {panics}");
    assert!(std::panic::catch_unwind(|| panic!("this one is printed")).is_err());
}

fn write_with(path: &Path, batch: &arrow_array::RecordBatch, properties: WriterProperties) {
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(batch).expect("rows");
    writer.close().expect("an end");
}

/// Arrow's own reader of Parquet is the oracle.
#[test]
fn rows_equal_those_of_arrows_reader() {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, path) = (folder.path().join("data"), folder.path().join("inventory.parquet"));
    fs::create_dir(&data).expect("a folder");
    let names = files(&data, 30);
    let hasher = Hasher::new(options()).expect("a hasher");
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let rows_count = 1 + rng.below(700);
        let mut text = |nulls: usize, long: usize| -> ArrayRef {
            let mut value = || match rng.below(nulls + 8) {
                0..8 => {
                    let stem = names[rng.below(30)].0.to_string_lossy().into_owned();
                    Some(stem + &"ä".repeat(rng.below(long)))
                }
                _ => None,
            };
            Arc::new(StringArray::from_iter((0..rows_count).map(|_| value())))
        };
        let mut columns = vec![("bucket", text(0, 3)), ("other", text(2, 3)), ("key", text(3, 20))];
        columns.push(("etag", text(seed as usize % 3, 600)));
        let sizes =
            (0..rows_count).map(|row| (!(row as u64).is_multiple_of(2 + seed % 5)).then_some(row as i64));
        columns.push(match seed % 2 {
            0 => ("size", Arc::new(Int64Array::from_iter(sizes)) as ArrayRef),
            _ => ("size", Arc::new(UInt32Array::from_iter(sizes.map(|size| Some(size? as u32)))) as ArrayRef),
        });
        let batch = table(columns);
        let compression = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::ZSTD(ZstdLevel::default()),
        ][rng.below(4)];
        let version = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0][rng.below(2)];
        let mut properties = WriterProperties::builder()
            .set_compression(compression)
            .set_writer_version(version)
            .set_dictionary_enabled(rng.below(2) == 0)
            .set_data_page_size_limit(1 + rng.below(4000))
            .set_dictionary_page_size_limit(1 + rng.below(9000))
            .set_write_batch_size(1 + rng.below(300))
            .set_max_row_group_row_count(Some(1 + rng.below(400)));
        let encodings = [Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY];
        for column in ["bucket", "key", "etag"] {
            properties = properties.set_column_encoding(column.into(), encodings[rng.below(3)]);
        }
        if rng.below(2) == 0 {
            properties = properties.set_column_encoding("size".into(), Encoding::DELTA_BINARY_PACKED);
        }
        write_with(&path, &batch, properties.build());

        let file = File::open(&path).expect("a file");
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).expect("Parquet");
        let expected: Vec<Row> = reader
            .build()
            .expect("a reader")
            .flat_map(|batch| rows(&batch.expect("a batch"), &Columns::default()).expect("rows"))
            .collect();
        let inventory = Inventory::open(&hasher, &[&path], Columns::default()).expect("an inventory");
        assert_eq!(inventory.len(), rows_count as u64);
        let read = |range: std::ops::Range<u64>| {
            inventory
                .rows(range)
                .collect::<Result<Vec<Row>, _>>()
                .unwrap_or_else(|error| panic!("{seed}: {error}"))
        };
        assert_eq!(read(0..rows_count as u64), expected, "{seed}");
        for _ in 0..4 {
            let start = rng.below(rows_count);
            let end = start + rng.below(rows_count - start + 1);
            assert_eq!(read(start as u64..end as u64), expected[start..end], "{seed}: {start}..{end}");
        }
    }
}
