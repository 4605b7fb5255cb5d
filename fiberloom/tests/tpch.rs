//! The queries of `examples/tpch/` on data of scale 0.01, against what DuckDB 2.0.1 answered: `tests/tpch/qNN.csv` has the name of the
//! result that is compared, then its rows as text, in the order of text. `qNN_by_rows.loom` is the same query.

use fiberloom::relation::{self, Given};
use fiberloom::{Options, Program, Tensor, data};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use tpchgen::csv::*;
use tpchgen::generators::*;

/// The scale of the data.
const SCALE: f64 = 0.01;

fn table<T: Display>(header: &str, rows: impl Iterator<Item = T>) -> String {
    let mut text = format!("{header}\n");
    rows.for_each(|row| text += &format!("{row}\n"));
    text
}

/// Each table as comma-separated values.
fn tables() -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("region", table(RegionCsv::header(), RegionGenerator::default().iter().map(RegionCsv::new))),
        ("nation", table(NationCsv::header(), NationGenerator::default().iter().map(NationCsv::new))),
        ("part", table(PartCsv::header(), PartGenerator::new(SCALE, 1, 1).iter().map(PartCsv::new))),
        ("supplier", table(SupplierCsv::header(), SupplierGenerator::new(SCALE, 1, 1).iter().map(SupplierCsv::new))),
        ("partsupp", table(PartSuppCsv::header(), PartSuppGenerator::new(SCALE, 1, 1).iter().map(PartSuppCsv::new))),
        ("customer", table(CustomerCsv::header(), CustomerGenerator::new(SCALE, 1, 1).iter().map(CustomerCsv::new))),
        ("orders", table(OrderCsv::header(), OrderGenerator::new(SCALE, 1, 1).iter().map(OrderCsv::new))),
        ("lineitem", table(LineItemCsv::header(), LineItemGenerator::new(SCALE, 1, 1).iter().map(LineItemCsv::new))),
    ])
}

/// The rows of a result, as text, in the order of text.
fn rows(program: &Program, result: &str, tables: &BTreeMap<&str, String>) -> Vec<String> {
    let relations = program.relations();
    let options = data::Options::default();
    let read = relations.tables.iter().map(|table| {
        let (name, wanted) = (table.name.as_str(), relation::wanted(relations, table));
        let file = format!("{name}.csv");
        let frame = relation::read_bytes(Path::new(&file), tables[name].as_bytes(), &wanted, &options);
        (name, frame.unwrap())
    });
    let frames: Vec<_> = read.collect();
    let bound = relation::bind(relations, program.typed(), &Given { frames: &frames, sizes: &[], limit: 1 << 32 });
    let bound = bound.unwrap();
    let operands: Vec<(&str, &Tensor)> = bound.operands.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let outcome = program.compile(&Options::default()).unwrap().run(&operands).unwrap();
    let shown = &relations.results[result];
    let frame = relation::decode(relations, result, &outcome[result], shown, &bound.labels).unwrap();
    let text = relation::to_bytes(Path::new("result.csv"), &frame).unwrap();
    let mut lines: Vec<String> = String::from_utf8(text).unwrap().lines().skip(1).map(str::to_string).collect();
    lines.sort();
    lines
}

/// Whether two rows are the same, floats but for rounding.
fn same(a: &str, b: &str) -> bool {
    let float = |text: &str| text.rsplit(',').next().and_then(|value| value.parse::<f64>().ok());
    a == b || matches!((float(a), float(b)), (Some(x), Some(y)) if !a.contains(',') && (x - y).abs() <= 1e-12 * x.abs())
}

#[test]
fn queries_answer_as_duckdb_does() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let tables = tables();
    let mut queries: Vec<PathBuf> =
        std::fs::read_dir(root.join("../examples/tpch")).unwrap().map(|file| file.unwrap().path()).collect();
    queries.sort();
    assert_eq!(queries.len(), 17);
    for query in queries {
        let name = query.file_stem().unwrap().to_str().unwrap();
        let number = name.split('_').next().unwrap();
        let expected = std::fs::read_to_string(root.join(format!("tests/tpch/{number}.csv"))).unwrap();
        let (result, expected) = expected.split_once('\n').unwrap();
        let program = Program::parse(&std::fs::read_to_string(&query).unwrap()).unwrap();
        let (rows, expected): (Vec<String>, Vec<&str>) = (rows(&program, result, &tables), expected.lines().collect());
        assert_eq!(rows.len(), expected.len(), "{name}: {rows:?}");
        for (row, expected) in rows.iter().zip(expected) {
            assert!(same(row, expected), "{name}: {row}, and DuckDB has {expected}");
        }
    }
}
