//! Requests and their answers, as the page has them: values worked out by hand, and what is wrong with a request.

use serde_json::{Value, json};

/// The answer to a request with the bytes of files behind it.
fn ask(request: &Value, files: &[u8]) -> Value {
    let json = request.to_string();
    let request = [&(json.len() as u32).to_le_bytes()[..], json.as_bytes(), files].concat();
    serde_json::from_slice(&fiberloom_play::answer(&request)).unwrap()
}

const SPMV: &str = "tensor A: f64[I, J] csr\ntensor x: f64[J] dense\ntensor y: f64[I] dense\ny[i] = A[i,j] * x[j]\n";
const A: &str = "# extents 2 3\n1 1 2\n2 2 3\n2 3 4\n";
const X: &str = "# extents 3\n1 10\n2 1\n3 0.5\n";

fn spmv(what: &str) -> Value {
    let data = json!([
        {"name": "A", "from": "a.tns", "bytes": [0, A.len()]},
        {"name": "x", "from": "x.tns", "bytes": [A.len(), A.len() + X.len()]},
    ]);
    json!({"ask": what, "program": SPMV, "data": data, "stages": ["loops", "lattice"]})
}

#[test]
fn a_product_is_run_and_checked() {
    let ran = ask(&spmv("run"), [A, X].concat().as_bytes());
    assert_eq!(ran["error"], Value::Null, "{ran}");
    assert_eq!(ran["printed"], "y: f64[2] {dense}, 2 stored, fill 0.0\n  y[0] = 20.0\n  y[1] = 5.0");
    assert_eq!(ran["checked"], "checked: 2 values agree with the reference semantics");
    assert_eq!(ran["wrong"], false);
    let drawn = &ran["operands"][0];
    assert_eq!(drawn["coordinates"], json!([0, 0, 1, 1, 1, 2]));
    assert_eq!(drawn["levels"][1]["arrays"][0], json!({"name": "pos", "length": 3, "elements": ["0", "1", "3"]}));
    assert!(ran["ops"].as_array().unwrap().iter().any(|op| op[0] == "total" && op[1].as_u64() > Some(0)));
    assert!(ran["made"]["stages"][0]["text"].as_str().unwrap().contains("A1_pos"));
    assert!(ran["made"]["picture"].as_str().unwrap().starts_with("<svg"));
}

#[test]
fn places_are_in_units_of_utf_16() {
    let program = "tensor x: f64[J] dense\n# 𝓕 é\ny[j] = 2 * z[j]\n";
    let look = ask(&json!({"ask": "look", "program": program}), b"");
    let mark = &look["marks"][0];
    let text: Vec<u16> = program.encode_utf16().collect();
    let (from, to) = (mark["from"].as_u64().unwrap() as usize, mark["to"].as_u64().unwrap() as usize);
    assert_eq!(String::from_utf16(&text[from..to]).unwrap(), "z", "{look}");
    assert_eq!((&mark["line"], &mark["column"], &mark["severity"]), (&json!(3), &json!(12), &json!("error")));
    assert!(look["rendered"].as_str().unwrap().contains("program:3:12: error: unknown tensor `z`"));
}

#[test]
fn operations_of_a_product_grow_as_its_entries() {
    let data = json!([{"name": "A", "from": "random:64x64:0.1"}, {"name": "x", "from": "random:64"}]);
    let grown = ask(&json!({"ask": "grow", "program": SPMV, "data": data}), b"");
    let points = grown["points"].as_array().unwrap_or_else(|| panic!("{grown}"));
    let of = |what: &str| points.iter().map(|point| point[what].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("n"), [64, 128, 256]);
    // 0.1 · 64 · 64 entries, as many a row when there are twice as many rows; and x.
    assert_eq!(of("stored"), [410 + 64, 820 + 128, 1640 + 256]);
    let ops = of("ops");
    assert!(ops.windows(2).all(|two| (1.9..2.1).contains(&(two[1] as f64 / two[0] as f64))), "{ops:?}");
}

#[test]
fn rows_of_a_table_grow_to_all_of_them() {
    let rows = "city,amount\na,1\nb,2\na,3\nb,5\n";
    let program = "dim CITY: string\ntable sales[row: N] { city: CITY, amount: i64 }\ntensor total: i64[CITY]\ntotal[city[n]] += amount[n]";
    let data = json!([{"name": "sales", "from": "sales.csv", "bytes": [0, rows.len()]}]);
    let grown = ask(&json!({"ask": "grow", "program": program, "data": data}), rows.as_bytes());
    let n: Vec<u64> = grown["points"].as_array().unwrap().iter().map(|point| point["n"].as_u64().unwrap()).collect();
    assert_eq!((n, &grown["what"]), (vec![1, 2, 4], &json!("rows of sales")));
    let request = json!({"ask": "run", "program": program, "data": data, "order": [["total", "total:desc"]], "limit": [["total", 1]]});
    let ran = ask(&request, rows.as_bytes());
    assert_eq!(ran["tables"][0]["columns"][1]["cells"], json!(["7"]), "{ran}");
}

#[test]
fn each_command_has_its_loops() {
    let program = SPMV.trim_end().to_string() + " schedule { split(i -> i0, i1, 8); unroll(i1, 2); }";
    let steps = ask(&json!({"ask": "steps", "program": program}), b"");
    let commands: Vec<&Value> = steps["steps"].as_array().unwrap().iter().map(|step| &step["command"]).collect();
    assert_eq!(commands, [&Value::Null, &json!("split(i -> i0, i1, 8)"), &json!("unroll(i1, 2)")]);
    let loops = |n: usize| steps["steps"][n]["loops"].as_str().unwrap_or_else(|| panic!("{steps}"));
    assert!(!loops(0).contains("i0") && loops(1).contains("i0") && loops(1) != loops(2));
    let planned =
        "tensor A: f64[I, J] csr tensor B: f64[J, K] csr tensor x: f64[K] dense y[i] = A[i,j] * B[j,k] * x[k]";
    let steps = ask(&json!({"ask": "steps", "program": planned}), b"");
    assert_eq!(steps["own"], false);
    assert!(steps["steps"][1]["command"].as_str().unwrap().starts_with("stage("), "{steps}");
}

#[test]
fn formats_and_schedules_go_before_the_program_s() {
    let request = json!({"ask": "look", "program": SPMV, "formats": [["A", "{compressed, dense} order(1, 0)"]],
        "schedule": "split(i -> a, b, 4)", "stages": ["loops"]});
    let look = ask(&request, b"");
    let tensor = &look["tensors"][0];
    assert_eq!((&tensor["levels"], &tensor["order"]), (&json!(["compressed", "dense"]), &json!([1, 0])));
    let request = json!({"ask": "look", "program": SPMV, "formats": [["A", "csx"]], "stages": ["loops"]});
    assert!(ask(&request, b"")["error"]["message"].as_str().unwrap().contains("unknown format `csx`"));
}

#[test]
fn what_is_no_request_is_an_error() {
    let long = [&9u32.to_le_bytes()[..], b"{}"].concat();
    for request in [&b""[..], b"ab", &long, &[2, 0, 0, 0, b'{', b'}'], &[2, 0, 0, 0, 0xff, 0xff]] {
        let answer: Value = serde_json::from_slice(&fiberloom_play::answer(request)).unwrap();
        assert_eq!(answer["error"]["kind"], "call", "{answer}");
    }
    let outside = json!({"ask": "run", "program": SPMV, "data": [{"name": "A", "from": "a.tns", "bytes": [5, 900]}, {"name": "x", "from": "1"}]});
    assert!(ask(&outside, b"short")["error"]["message"].as_str().unwrap().contains("the page has no file `a.tns`"));
    let none = json!({"ask": "run", "program": SPMV, "data": [{"name": "A", "from": "/etc/passwd"}, {"name": "x", "from": "random:3"}]});
    assert!(ask(&none, b"")["error"]["message"].as_str().unwrap().contains("the page has no file `/etc/passwd`"));
    let missing = ask(&json!({"ask": "run", "program": SPMV}), b"");
    assert!(missing["rendered"].as_str().unwrap().contains("no data are given for tensor `A`"), "{missing}");
    let stage = ask(&json!({"ask": "look", "program": SPMV, "stages": ["llvm", "xyz"]}), b"");
    assert!(stage["error"]["message"].as_str().unwrap().contains("`xyz` is no stage"), "{stage}");
}
