//! Parallel loops written by hand, as PTX on the machine for it: copies of workspaces, failures, loops that lanes share. Values by hand.

use fiberloom_codegen::device::{Ptx, ptx};
use fiberloom_core::format::Array;
use fiberloom_loops::{DeviceArgument, Failure, Gpu, Runner, check, for_device, read};
use fiberloom_semantics::machine::{Fault, Prepared};
use fiberloom_semantics::ptx::{Host, Limits, Module, Shape, Simulated};

/// Threads that run many iterations, a warp that is not full, a thread an iteration.
const SHAPES: [Shape; 3] =
    [Shape { blocks: 1, threads: 2 }, Shape { blocks: 3, threads: 33 }, Shape { blocks: 64, threads: 64 }];

/// A kernel over a csr matrix, a vector, and a result of length `n_k`, with this loop.
fn kernel(result: &str, body: &str) -> String {
    format!(
        "kernel k(n_i, n_j, n_k)
  operand A1_pos: i32, A1_crd: i32, A_vals: i64, x_vals: i64
  result y_vals: {result}
  workspace w: i64

  alloc w[n_j]
  alloc y_vals[n_k]
{body}
  finish y_vals[n_k]
"
    )
}

/// The matrix [1 2 0; 0 0 0; 0 0 3; 4 5 6], and (1, 10, 100).
fn operands() -> [Array<'static>; 4] {
    [
        Array::from(vec![0i32, 2, 2, 3, 6]),
        Array::from(vec![0i32, 1, 2, 0, 1, 2]),
        Array::from(vec![1i64, 2, 3, 4, 5, 6]),
        Array::from(vec![1i64, 10, 100]),
    ]
}

/// What a kernel makes of these, the same for each shape of a launch, and the code.
fn made(text: &str, results: i64) -> (Result<Vec<i64>, Failure>, Ptx) {
    made_of(text, &operands(), [4, 3, results])
}

/// The same, of these operands and extents.
fn made_of(text: &str, operands: &[Array], extents: [i64; 3]) -> (Result<Vec<i64>, Failure>, Ptx) {
    let kernel = for_device(&read(text).unwrap_or_else(|e| panic!("{e}\n{text}")));
    check(&kernel).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let code = ptx(&kernel, Gpu::Sm80).unwrap();
    let module = Module::read(&code.text).unwrap_or_else(|e| panic!("{e}\n{}", code.text));
    let given: Vec<Option<&Array>> = operands.iter().map(Some).chain([None; 8]).take(kernel.buffers.len()).collect();
    let mut all = SHAPES.iter().zip(1..).map(|(shape, seed)| {
        let limits = Limits { seed, ..Limits::default() };
        let launcher = Simulated::new(&module, limits);
        let host = Host::new(&kernel, &launcher, &code.entries, *shape);
        let prepared = Prepared::new(&kernel).unwrap();
        match prepared.run_on(Some(&host), &extents, &given, &Default::default()) {
            Ok(outcome) => {
                let array = outcome.buffers.into_iter().flatten().next().unwrap();
                Ok((0..array.len()).map(|n| array.get(n).as_i64().unwrap()).collect())
            }
            Err(Fault::Stopped(failure)) => Err(failure),
            Err(fault) => panic!("{fault}\n{}", code.text),
        }
    });
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(other, first, "{text}"));
    (first, code)
}

/// Each thread has a copy of a row.
#[test]
fn threads_have_copies_of_workspaces() {
    let (dense, code) = made(
        &kernel(
            "i64",
            "  parallel for i in 0..n_i with w {
    for j in 0..n_j {
      w[j] = 0
    }
    for p in A1_pos[i]..A1_pos[i + 1] {
      w[A1_crd[p]] = A_vals[p]
    }
    for j_2 in 0..n_j {
      y_vals[i * n_j + j_2] = w[j_2] * x_vals[j_2]
    }
  }",
        ),
        12,
    );
    assert_eq!(dense, Ok(vec![1, 20, 0, 0, 0, 0, 0, 0, 300, 4, 50, 600]));
    assert!(code.refused.is_empty());
}

/// Of two iterations that fail, the first in the loop's order says why.
#[test]
fn the_first_failure_is_reported() {
    let failing = |first: &str, second: &str| {
        kernel(
            "i64",
            &format!(
                "  parallel for i in 0..n_i {{
    if A1_pos[i] == {first} {{
      fail overflow
    }}
    if A1_pos[i] == {second} {{
      fail outside
    }}
    y_vals[i] = i
  }}"
            ),
        )
    };
    // Positions are 0, 2, 2, 3.
    assert_eq!(made(&failing("2", "3"), 4).0, Err(Failure::Overflow));
    assert_eq!(made(&failing("3", "0"), 4).0, Err(Failure::Outside));
    assert_eq!(made(&failing("9", "3"), 4).0, Err(Failure::Outside));
    assert_eq!(made(&failing("9", "8"), 4).0, Ok(vec![0, 1, 2, 3]));
}

/// Lanes share a row: what there was before is folded in once, and lanes without an entry change nothing.
#[test]
fn lanes_share_a_loop() {
    let shared = |start: &str, fold: &str| {
        kernel(
            "i64",
            &format!(
                "  parallel for i in 0..n_i {{
    t = {start}
    lane for p in A1_pos[i]..A1_pos[i + 1] {{
      t = {fold}
    }}
    y_vals[i] = t
  }}"
            ),
        )
    };
    for (start, fold, wanted) in [
        ("7", "t + A_vals[p] * x_vals[A1_crd[p]]", [28, 7, 307, 661]),
        ("-9", "max(t, -A_vals[p])", [-1, -9, -3, -4]),
        ("2", "min(A_vals[p], t)", [1, 2, 2, 2]),
        ("3", "t * A_vals[p]", [6, 3, 9, 360]),
        ("8", "t ^ A_vals[p]", [8 ^ 1 ^ 2, 8, 8 ^ 3, 8 ^ 4 ^ 5 ^ 6]),
    ] {
        let (sums, code) = made(&shared(start, fold), 4);
        assert_eq!(sums, Ok(wanted.to_vec()), "{fold}");
        assert!(code.text.contains("shfl.sync.bfly"), "{}", code.text);
        assert_eq!(code.entries[0].runner, Runner::Warp);
    }
    // One that does more than fold is not shared, and answers all the same.
    let (sums, code) = made(&shared("0", "t + A_vals[p]\n      y_vals[i] = t"), 4);
    assert_eq!(sums, Ok(vec![3, 0, 3, 15]));
    assert_eq!(code.entries[0].runner, Runner::Thread);
}

/// Lanes share a loop that sets variables of its own, but not one that sets what is read behind it, or leaves what it sets.
#[test]
fn lanes_have_variables_of_their_own() {
    let rows = "  parallel for i in 0..n_i {
    t = 0
    u = 0
    lane for p in A1_pos[i]..A1_pos[i + 1] {
      u = A_vals[p]
      if u > 2 {
        u = u * 10
      }
      t = t + u
    }
    y_vals[i] = t
  }";
    let behind = rows.replace("y_vals[i] = t", "y_vals[i] = t + u");
    let left = rows.replace("      u = A_vals[p]", "      u = u + A_vals[p]");
    for (body, wanted, runner) in [
        (rows.to_string(), [3, 0, 30, 150], Runner::Warp),
        (behind, [5, 0, 60, 210], Runner::Thread),
        (left, [1 + 30, 0, 30, 40 + 450 + 4560], Runner::Thread),
    ] {
        let (sums, code) = made(&kernel("i64", &body), 4);
        assert_eq!((sums, code.entries[0].runner), (Ok(wanted.to_vec()), runner), "{body}");
    }
}

/// Lanes that run a loop over the same entries load one each, and hand them to one another: rows of no entry up to more than two for each lane,
/// and as many columns as lanes, fewer, and more.
#[test]
fn lanes_hand_entries_to_one_another() {
    let lengths = [0, 1, 32, 70, 0, 40];
    let pos: Vec<i32> = (0..=6).map(|i| lengths[..i].iter().sum()).collect();
    let entries: Vec<(i32, i64)> = (0..143).map(|p| (p * 7 % 11, i64::from(p % 5) - 2)).collect();
    let (crd, vals) = entries.iter().copied().unzip::<i32, i64, Vec<_>, Vec<_>>();
    let columns = "  parallel for i in 0..n_i {
    lane parallel for k in 0..n_j {
      t = i
      for p in A1_pos[i]..A1_pos[i + 1] {
        t = t + A_vals[p] * x_vals[i64(A1_crd[p]) * n_j + k]
      }
      y_vals[i * n_j + k] = t
    }
  }";
    let sums = "  parallel for i in 0..n_i {
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = i64(A1_crd[p])
      let a = A_vals[p]
      t = 0
      lane for k in 0..n_j {
        t = t + a * x_vals[j * n_j + k]
      }
      y_vals[p] = t
    }
  }";
    for n in [3, 32, 45] {
        let x: Vec<i64> = (0..11 * n).map(|e| e * e % 101).collect();
        let operands =
            [Array::from(pos.clone()), Array::from(crd.clone()), Array::from(vals.clone()), Array::from(x.clone())];
        let of = |p: usize, k: i64| vals[p] * x[(i64::from(crd[p]) * n + k) as usize];
        let row = |i: usize| pos[i] as usize..pos[i + 1] as usize;
        let dense = |from: i64| -> Vec<i64> {
            let element = |i: usize, k| row(i).filter(|_| k >= from).map(|p| of(p, k)).sum::<i64>() + i as i64;
            (0..6).flat_map(|i| (0..n).map(move |k| element(i, k))).collect()
        };
        let each: Vec<i64> = (0..143).map(|p| (0..n).map(|k| of(p, k)).sum()).collect();
        // The first lane's values are stored side by side, too, where no two iterations of a loop around store one element.
        let again = sums.replace("for p", "for r in 0..2 { for p").replace("= t\n", "= t }\n");
        // What one lane alone comes to is not handed round, nor what may not be loaded.
        let alone = columns.replace("for p", "if k > 0 { for p").replace("+ k]\n      }", "+ k]\n      } }");
        let guarded = columns.replace("t = t +", "if A1_crd[p] >= 0 { t = t +").replace("+ k]\n", "+ k] }\n");
        for (body, wanted, handed) in [
            (columns, dense(0), 3),
            (sums, each.clone(), 5),
            (&again[..], each, 3),
            (&alone[..], dense(1), 0),
            (&guarded[..], dense(0), 1),
        ] {
            let text = kernel("i64", body);
            let (values, code) = made_of(&text, &operands, [6, n, wanted.len() as i64]);
            assert_eq!((values, code.entries[0].runner), (Ok(wanted), Runner::Warp), "{body}");
            assert_eq!(code.text.matches("shfl.sync.idx").count(), handed, "{body}\n{}", code.text);
        }
    }
}

/// A warp has several rows, each of which a part of its lanes shares: as many parts as there are rows at most, a part without a row, rows of
/// more entries than a part has lanes. Shuffles of a part join what half as many lanes have, and so on; two for each value of 64 bits.
#[test]
fn parts_of_a_warp_share_rows() {
    let lengths = [0, 1, 32, 70, 0, 40, 9];
    let pos: Vec<i32> = (0..=7).map(|i| lengths[..i].iter().sum()).collect();
    let entries: Vec<(i32, i64)> = (0..152).map(|p| (p * 7 % 11, i64::from(p % 5) - 2)).collect();
    let (crd, vals) = entries.iter().copied().unzip::<i32, i64, Vec<_>, Vec<_>>();
    let x: Vec<i64> = (0..11).map(|e| e * e % 101).collect();
    let operands = [Array::from(pos.clone()), Array::from(crd), Array::from(vals), Array::from(x.clone())];
    let sum =
        |i: usize| entries[pos[i] as usize..pos[i + 1] as usize].iter().map(|(j, a)| a * x[*j as usize]).sum::<i64>();
    let wanted: Vec<i64> = (0..7).map(|i| sum(i) + 7).collect();
    let sums = |rows: usize| {
        format!(
            "  parallel for v in 0..n_j {{
    lane parallel for r in 0..max(min(n_i - v * {rows}, {rows}), 0) {{
      t = 7
      lane for p in A1_pos[v * {rows} + r]..A1_pos[v * {rows} + r + 1] {{
        t = t + A_vals[p] * x_vals[A1_crd[p]]
      }}
      y_vals[v * {rows} + r] = t
    }}
  }}"
        )
    };
    // What the lanes of a part would read too early, a lane has alone.
    let reads = sums(2).replace("= t\n", "= t\n      z = y_vals[v * 2 + r]\n      y_vals[v * 2 + r] = z\n");
    // So it has an iteration of a loop that may have more of them than there are lanes.
    let unbounded = sums(2).replace("min(n_i - v * 2, 2)", "n_i - v * 2").replace("0..n_j", "0..1");
    for (body, shuffles) in [
        (sums(2), 8),
        (sums(3), 6),
        (sums(4), 6),
        (sums(5), 4),
        (sums(16), 2),
        (sums(17), 0),
        (reads, 0),
        (unbounded, 0),
    ] {
        let (values, code) = made_of(&kernel("i64", &body), &operands, [7, 11, 7]);
        assert_eq!((values, code.entries[0].runner), (Ok(wanted.clone()), Runner::Warp), "{body}");
        assert_eq!(code.text.matches("shfl.sync.bfly").count(), shuffles, "{body}\n{}", code.text);
        assert_eq!(code.not_dealt, []);
    }
    // Lanes of a part store, too, and a block's warps have several rows each.
    let rows = "  block parallel for b in 0..n_i {
    warp parallel for u in 0..1 {
      lane parallel for r in 0..min(2, n_i) {
        lane parallel for q in 0..2 {
          y_vals[b * 4 + u * 4 + r * 2 + q] = x_vals[q] + r
        }
      }
    }
  }";
    let (values, code) = made(&kernel("i64", rows), 16);
    assert_eq!((values, code.entries[0].runner), (Ok([1, 10, 2, 11].repeat(4)), Runner::Block));
}

/// Blocks run iterations, their warps those of a loop inside, the lanes of a warp share a row: sums, and rows stored by lanes.
#[test]
fn loops_are_dealt_out_to_blocks_warps_and_lanes() {
    let sums = "  block parallel for b in 0..n_k / 2 {
    let first = b * 2
    warp parallel for u in 0..2 {
      t = 7
      lane for p in A1_pos[first + u]..A1_pos[first + u + 1] {
        t = t + A_vals[p] * x_vals[A1_crd[p]]
      }
      y_vals[first + u] = t
    }
  }";
    let rows = "  block parallel for b in 0..n_i / 2 {
    warp parallel for u in 0..2 {
      parallel for r in 0..1 {
        let i = b * 2 + u + r
        lane parallel for j in 0..n_j {
          t = 0
          for p in A1_pos[i]..A1_pos[i + 1] {
            if i64(A1_crd[p]) == j {
              t = A_vals[p]
            }
          }
          y_vals[i * n_j + j] = t
        }
      }
    }
  }";
    let dense = vec![1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 5, 6];
    for (body, results, wanted) in [(sums, 4, vec![28, 7, 307, 661]), (rows, 12, dense)] {
        let (values, code) = made(&kernel("i64", body), results);
        assert_eq!((values, code.entries[0].runner), (Ok(wanted), Runner::Block), "{body}");
        assert_eq!(code.not_dealt, []);
        assert!(code.text.contains("%ctaid.x"));
    }
    // Threads of a block, without warps.
    let threads = rows.replace("warp parallel", "parallel");
    let (values, code) = made(&kernel("i64", &threads), 12);
    assert_eq!(values, Ok(vec![1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 5, 6]));
    assert_eq!(code.entries[0].runner, Runner::Block);
}

/// What is stored outside of the loops that warps share the first thread stores; where it is read, and where one loop reads what another has
/// written, all threads wait for one another.
#[test]
fn threads_of_a_block_wait_for_one_another() {
    let sums = "  block parallel for b in 0..2 {
    warp parallel for u in 0..2 {
      y_vals[b * 2 + u] = u
    }
  }";
    let (values, code) = made(&kernel("i64", sums), 4);
    assert_eq!((values, code.entries[0].runner), (Ok(vec![0, 1, 0, 1]), Runner::Block));
    assert!(!code.text.contains("bar.sync"), "{}", code.text);
    let stores = sums.replace("    }\n  }", "    }\n    y_vals[b * 2] = 9\n  }");
    let reads = sums.replace(
        "= u\n    }\n  }",
        "= u + 1\n    }\n    z = y_vals[b * 2 + 1]\n    lane parallel for v in 0..2 {\n      y_vals[b * 2 + v] = z * 10 + v\n    }\n  }",
    );
    let turns =
        sums.replace("    warp", "    for r in 0..n_i / 2 {\n    warp").replace("= u\n    }", "= u + r\n    }\n    }");
    // The condition is evaluated again once all warps have stored: 0, then 1 and 2, then 2 and 3.
    let until = sums
        .replace(
            "    warp",
            "    y_vals[b * 2] = 0\n    while y_vals[b * 2] < 2 {\n    z = y_vals[b * 2] + 1\n    warp",
        )
        .replace("= u\n    }", "= z + u\n    }\n    }");
    for (body, wanted, barriers) in
        [(stores, [9, 1, 9, 1], 1), (reads, [20, 21, 20, 21], 2), (turns, [1, 2, 1, 2], 1), (until, [2, 3, 2, 3], 3)]
    {
        assert_ne!(body, sums);
        let (values, code) = made(&kernel("i64", &body), 4);
        assert_eq!((values, code.entries[0].runner), (Ok(wanted.to_vec()), Runner::Block), "{body}");
        assert_eq!(code.text.matches("bar.sync").count(), barriers, "{body}\n{}", code.text);
        assert_eq!(code.not_dealt, []);
    }
    // One lane of a warp stores: the others would read too early.
    let again = sums.replace("= u\n", "= u + 1\n      z = y_vals[b * 2 + u]\n      y_vals[b * 2 + u] = z * 3\n");
    let (values, code) = made(&kernel("i64", &again), 4);
    assert_eq!((values, code.entries[0].runner), (Ok(vec![3, 6, 3, 6]), Runner::Thread));
    let why = "a thread runs each of its iterations, since a warp would read what one of its lanes writes";
    assert_eq!(code.not_dealt[0], ("b".to_string(), "block", why.to_string()));
}

/// A kernel over the operands with a workspace of 8 elements, in which a block turns a row round.
fn turned(alloc: &str) -> String {
    format!(
        "kernel k(n_i, n_j, n_k)
  operand A1_pos: i32, A1_crd: i32, A_vals: i64, x_vals: i64
  result y_vals: i64
  workspace w: i64

  {alloc}
  alloc y_vals[n_k]
  block parallel for b in 0..n_k / 8 with w {{
    parallel for e in 0..8 {{
      w[e] = b * 10 + e
    }}
    lane parallel for e_2 in 0..8 {{
      y_vals[b * 8 + e_2] = w[7 - e_2] * 2 + w[e_2]
    }}
  }}
  finish y_vals[n_k]
"
    )
}

/// A workspace that a block has to itself lies in its shared memory: threads fill it, and read what others have filled, behind a barrier; behind
/// another the next iteration fills it again.
#[test]
fn a_block_has_a_workspace_in_shared_memory() {
    let rows: Vec<i64> = (0..5).flat_map(|b| (0..8).map(move |e| 3 * 10 * b + 2 * (7 - e) + e)).collect();
    for alloc in ["alloc w[8]", "let size = 2 * 4\n  alloc w[size]"] {
        let (values, code) = made(&turned(alloc), 40);
        assert_eq!(values, Ok(rows.clone()));
        assert_eq!((code.entries[0].runner, code.entries[0].shared), (Runner::Block, 64));
        assert!(code.text.contains(".shared .align 16 .b8 k_0_w[64];"), "{}", code.text);
        assert_eq!(code.text.matches("bar.sync").count(), 2, "{}", code.text);
        let header = code.header(&read(&turned(alloc)).unwrap());
        assert!(header.contains("A block has 64 bytes of shared memory"), "{header}");
        // A block that fills it again too early, or reads it too early, is found.
        for (n, (at, _)) in code.text.match_indices("bar.sync").enumerate() {
            let line = code.text[at..].find('\n').unwrap();
            let without = format!("{}{}", &code.text[..at], &code.text[at + line..]);
            assert!(breaks(&turned(alloc), &code, &without, 40), "barrier {n} of\n{}", code.text);
        }
        for access in ["ld", "st"] {
            let elsewhere = code.text.replace(&format!("{access}.shared"), &format!("{access}.global"));
            assert_ne!(elsewhere, code.text);
            assert!(breaks(&turned(alloc), &code, &elsewhere, 40), "{elsewhere}");
        }
    }
}

/// Whether the machine finds a rule broken in a changed text, for some order of the threads.
fn breaks(text: &str, code: &Ptx, changed: &str, results: i64) -> bool {
    let kernel = read(text).unwrap();
    let module = Module::read(changed).unwrap();
    let operands = operands();
    let given: Vec<Option<&Array>> = operands.iter().map(Some).chain([None, None]).collect();
    (1..8).any(|seed| {
        let launcher = Simulated::new(&module, Limits { seed, ..Limits::default() });
        let host = Host::new(&kernel, &launcher, &code.entries, Shape { blocks: 1, threads: 64 });
        let ran = Prepared::new(&kernel).unwrap().run_on(Some(&host), &[4, 3, results], &given, &Default::default());
        let rules = ["race", "never set", "where there is nothing"];
        ran.is_err_and(|fault| rules.iter().any(|rule| fault.to_string().contains(rule)))
    })
}

/// A workspace that is allocated with a value holds it when a block begins, and each iteration leaves it so.
#[test]
fn a_workspace_in_shared_memory_is_filled() {
    let text = "kernel k(n_i, n_j, n_k)
  operand A1_pos: i32, A1_crd: i32, A_vals: i64, x_vals: i64
  result y_vals: i64
  private w: i64

  alloc w[40] = 7
  alloc y_vals[n_k]
  block parallel for b in 0..n_k / 40 with w {
    w[b] = 100
    lane parallel for e in 0..40 {
      y_vals[b * 40 + e] = w[39 - e]
    }
    w[b] = 7
  }
  finish y_vals[n_k]
";
    let (values, code) = made(text, 120);
    let wanted = (0..3).flat_map(|b| (0..40).map(move |e| if 39 - e == b { 100 } else { 7 })).collect();
    assert_eq!(values, Ok(wanted));
    assert_eq!((code.entries[0].runner, code.entries[0].shared), (Runner::Block, 320));
}

/// Threads of a block fold into elements of a workspace at once: how often each coordinate occurs, times 10, and the row's number.
#[test]
fn threads_fold_into_shared_memory() {
    let counted = |fold: &str, ty: &str| {
        let text = "kernel k(n_i, n_j, n_k)
  operand A1_pos: i32, A1_crd: i32, A_vals: i64, x_vals: i64
  result y_vals: i64
  workspace w: i64

  alloc w[3]
  alloc y_vals[n_k]
  block parallel for i in 0..n_k / 3 with w {
    parallel for e in 0..3 {
      w[e] = TY(i)
    }
    lane parallel for p in 0..A1_pos[n_i] folding w {
      w[A1_crd[p]] = FOLD
    }
    lane parallel for e_2 in 0..3 {
      y_vals[i * 3 + e_2] = i64(w[2 - e_2])
    }
  }
  finish y_vals[n_k]
";
        text.replace("FOLD", fold).replace("TY", ty).replace("w: i64", &format!("w: {ty}"))
    };
    // The coordinates are 0 1, 2, 0 1 2, with the values 1 to 6.
    let (values, code) = made(&counted("w[A1_crd[p]] + 10", "i64"), 9);
    assert_eq!(values, Ok(vec![20, 20, 20, 21, 21, 21, 22, 22, 22]));
    assert_eq!((code.entries[0].runner, code.entries[0].shared), (Runner::Block, 24));
    assert!(code.text.contains("atom.shared.add.u64"), "{}", code.text);
    assert!(!code.text.contains("atom.global"), "{}", code.text);
    let (values, code) = made(&counted("max(w[A1_crd[p]], A_vals[p])", "i64"), 9);
    assert_eq!(values, Ok(vec![6, 5, 4, 6, 5, 4, 6, 5, 4]));
    assert!(code.text.contains("atom.shared.max.s64"), "{}", code.text);
    // What no GPU does in one step keeps the block from it.
    let (values, code) = made(&counted("w[A1_crd[p]] * 2", "i64"), 9);
    assert_eq!(values, Ok(vec![0, 0, 0, 4, 4, 4, 8, 8, 8]));
    let why =
        "a thread runs each of its iterations, since its iterations fold into elements of `w` with `*`, of type i64";
    assert_eq!((code.entries[0].runner, &code.not_dealt[0].2[..]), (Runner::Thread, why));
}

/// Where an iteration reads what it has written, the lanes of a warp do not share it: one of them stores, and others would read too early.
#[test]
fn lanes_do_not_share_what_is_read_again() {
    let body = "  parallel for i in 0..n_i {
    t = 0
    lane for p in A1_pos[i]..A1_pos[i + 1] {
      t = t + A_vals[p]
    }
    y_vals[i] = t
    z = y_vals[i]
    y_vals[i] = z * 3
  }";
    let (values, code) = made(&kernel("i64", body), 4);
    assert_eq!((values, code.entries[0].runner), (Ok(vec![9, 0, 9, 45]), Runner::Thread));
    let once = body.replace("    z = y_vals[i]\n    y_vals[i] = z * 3\n", "");
    let (values, code) = made(&kernel("i64", &once), 4);
    assert_eq!((values, code.entries[0].runner), (Ok(vec![3, 0, 3, 15]), Runner::Warp));
}

/// The first iteration is the one with which the loop begins, whatever its number.
#[test]
fn iterations_below_zero_are_the_first() {
    let body = "  parallel for i in 0 - 3..3 {
    if i == 0 - 2 {
      fail overflow
    }
    if i == 1 {
      fail outside
    }
    y_vals[i + 3] = i
  }";
    assert_eq!(made(&kernel("i64", body), 6).0, Err(Failure::Overflow));
    assert_eq!(made(&kernel("i64", &body.replace("== 0 - 2", "== 4")), 6).0, Err(Failure::Outside));
}

/// Where threads share an iteration, one that fails says so and goes on, and the others come to each barrier.
#[test]
fn a_block_goes_on_where_an_iteration_fails() {
    let rows: Vec<i64> = (0..5).flat_map(|b| (0..8).map(move |e| 3 * 10 * b + 2 * (7 - e) + e)).collect();
    let with = |before: &str, inside: &str| {
        let text = turned("alloc w[8]").replace("    lane", &format!("{before}    lane"));
        text.replace("      y_vals", &format!("{inside}      y_vals"))
    };
    let fails = |when: &str| format!("    if {when} {{\n      fail outside\n    }}\n");
    // The workspace holds 10 · b + e.
    for (text, wanted) in [
        (with(&fails("b > 7"), ""), Ok(rows.clone())),
        (with(&fails("b > 3"), ""), Err(Failure::Outside)),
        (with("", &fails("w[e_2] > 47")), Ok(rows)),
        (with("", &fails("w[e_2] > 36")), Err(Failure::Outside)),
        (with(&fails("b < 0"), &fails("w[e_2] > 25 && w[e_2] < 27")), Err(Failure::Outside)),
        // What stands behind would leave the result.
        (
            with("", &(fails("w[e_2] > 36") + "      y_vals[select(w[e_2] > 36, 1000, b * 8 + e_2)] = 0\n")),
            Err(Failure::Outside),
        ),
    ] {
        let (values, code) = made(&text, 40);
        assert_eq!((values, code.entries[0].runner), (wanted, Runner::Block), "{text}");
        assert_eq!(code.not_dealt, [], "{text}");
        assert_eq!(code.text.matches("bar.sync").count(), 2, "{}", code.text);
    }
    // What stands behind the failure decides how often a loop runs, and which elements others touch.
    let turns =
        "    n = 2\n    while n < 4 {\n      if b > 7 {\n        fail outside\n      }\n      n = n + 1\n    }\n";
    let places = "    n = 2\n    if b > 0 {\n      if b > 7 {\n        fail outside\n      }\n      n = 7\n    }\n";
    let until = "    y_vals[b * 8] = 0\n    while y_vals[b * 8] < 2 {\n      if b > 7 {\n        fail outside\n      }\n      y_vals[b * 8] = y_vals[b * 8] + 1\n    }\n";
    let places = with(places, "").replace("w[7 - e_2]", "w[n - n + 7 - e_2]");
    for text in [with(turns, ""), with(until, ""), places] {
        let (_, code) = made(&text, 40);
        let why = "a thread runs each of its iterations, since an iteration may fail where what follows needs what comes behind";
        assert_eq!((code.entries[0].runner, &code.not_dealt[0].2[..]), (Runner::Thread, why), "{text}");
    }
}

/// Where a workspace has no length that is known, is too long, or an iteration may fail in several ways, a thread runs an iteration, and the
/// code says why.
#[test]
fn what_keeps_a_workspace_from_shared_memory_is_said() {
    let rows: Vec<i64> = (0..2).flat_map(|b| (0..8).map(move |e| 3 * 10 * b + 2 * (7 - e) + e)).collect();
    let long = turned("alloc w[8]").replace("w[8]", "w[6145]");
    let long = long.replace("0..8 {\n      w[e]", "0..6145 {\n      w[e]");
    let fits = long.replace("6145", "6144");
    let fails = "    if b > 7 {\n      fail overflow\n    }\n    if b > 8 {\n      fail outside\n    }\n    lane";
    let fails = turned("alloc w[8]").replace("    lane", fails);
    let open =
        turned("alloc w[8]").replace("w[8]", "w[n_i * 2]").replace("0..8 {\n      w[e]", "0..n_i * 2 {\n      w[e]");
    for (text, why) in [
        (open, "the length of the workspace `w` is not a number that is known before it runs"),
        (long, "workspaces take more than the 49152 bytes of memory that a block shares: `w` 49160 bytes"),
        (fails, "an iteration may fail in several ways, and the first counts"),
    ] {
        let (values, code) = made(&text, 16);
        assert_eq!((values, code.entries[0].runner), (Ok(rows.clone()), Runner::Thread), "{text}");
        let first = format!(
            "// The loop over b is not dealt out to blocks: a thread runs each of its iterations, since {why}."
        );
        assert_eq!(code.to_string().lines().next(), Some(&first[..]));
    }
    let (values, code) = made(&fits, 16);
    assert_eq!((values, code.entries[0].runner, code.entries[0].shared), (Ok(rows), Runner::Block, 49152));
}

/// Iterations that fold into elements of one array: threads of all kinds, and several values at once. Each fold is one read-modify-write.
#[test]
fn elements_are_folded_into_by_all_threads() {
    let begin = "  for k in 0..n_k {\n    y_vals[k] = 1\n  }\n";
    let fold = "y_vals[A1_crd[p]] = y_vals[A1_crd[p]] + A_vals[p] + i";
    let rows = format!(
        "{begin}  parallel for i in 0..n_i folding y_vals {{
    for p in A1_pos[i]..A1_pos[i + 1] {{
      {fold}
    }}
  }}"
    );
    let dealt = format!(
        "{begin}  block parallel for b in 0..n_i / 2 folding y_vals {{
    warp parallel for u in 0..2 folding y_vals {{
      let i = b * 2 + u
      lane parallel for p in A1_pos[i]..A1_pos[i + 1] folding y_vals {{
        {fold}
      }}
    }}
  }}"
    );
    // What a warp does outside of the lanes' loop is done once.
    let once = dealt.replace("let i = b * 2 + u\n", "let i = b * 2 + u\n      y_vals[0] = y_vals[0] + 100\n");
    let sums = [9, 11, 15];
    for (body, wanted, runner) in
        [(&rows, sums, Runner::Thread), (&dealt, sums, Runner::Block), (&once, [409, 11, 15], Runner::Block)]
    {
        let (values, code) = made(&kernel("i64", body), 3);
        assert_eq!((values, code.entries[0].runner), (Ok(wanted.to_vec()), runner), "{body}");
        assert!(code.text.contains("atom.global.add.u64"), "{}", code.text);
    }
    let least = rows.replace(fold, "y_vals[A1_crd[p]] = min(y_vals[A1_crd[p]], 2 - A_vals[p])");
    assert_eq!(made(&kernel("i64", &least), 3).0, Ok(vec![-2, -3, -4]));
    // What no GPU of these does in one step stays on the host.
    for (body, ty, what) in [
        (rows.replace("+ A_vals[p] + i", "* A_vals[p]"), "i64", "`*`, of type i64"),
        (rows.replace("+ A_vals[p] + i", "+ i16(i)").replace("= 1", "= 1i16"), "i16", "`+`, of type i16"),
    ] {
        let (values, code) = made(&kernel(ty, &body), 3);
        assert!(values.is_ok());
        let why = format!("its iterations fold into elements of `y_vals` with {what}");
        assert_eq!(code.refused, [("i".to_string(), why)]);
    }
}

/// Iterations that fold into variables: each thread begins with the function's identity, and folds what it has made into what there was.
#[test]
fn variables_are_folded_into_by_all_threads() {
    let body = "  t = 5
  m = 3
  parallel for i in 0..n_i folding t, m {
    for p in A1_pos[i]..A1_pos[i + 1] {
      t = t + A_vals[p] * i
      m = max(A_vals[p], m)
    }
  }
  y_vals[0] = t
  y_vals[1] = m";
    let (values, code) = made(&kernel("i64", body), 2);
    // 5 + 2 · 3 + 3 · (4 + 5 + 6), and the greatest of 3 and all values.
    assert_eq!(values, Ok(vec![56, 6]));
    assert_eq!(code.entries[0].runner, Runner::Thread);
    let product = body.replace("t = t + A_vals[p] * i", "t = t * A_vals[p]");
    let (values, code) = made(&kernel("i64", &product), 2);
    assert_eq!(values, Ok(vec![5 * 720, 6]));
    // Of this fold there are no atomics: it is made in parts.
    assert!(
        code.refused.is_empty() && code.entries[0].arguments.iter().all(|of| !matches!(of, DeviceArgument::Fold(_)))
    );
}

/// Where an element is among the next eight, before an end.
#[test]
fn elements_are_searched_for() {
    let search = |what: &str| {
        let body = "  parallel for i in 0..n_i {\n    y_vals[i] = SEARCH\n  }";
        kernel("i64", &body.replace("SEARCH", what))
    };
    let row = "A1_crd[i64(A1_pos[i])..i64(A1_pos[i + 1])]";
    // The rows' coordinates are 0 1; none; 2; 0 1 2.
    assert_eq!(made(&search(&format!("among({row}, 1)")), 4).0, Ok(vec![1, 8, 8, 1]));
    assert_eq!(made(&search(&format!("below({row}, 2)")), 4).0, Ok(vec![2, 0, 0, 2]));
    assert_eq!(made(&search(&format!("alike({row}, 0)")), 4).0, Ok(vec![1, 0, 0, 1]));
    // Of ten elements, all of which are less, eight are looked at.
    let [pos, crd, values, _] = operands();
    let operands = [pos, crd, values, Array::from((0..10i64).collect::<Vec<_>>())];
    let (values, _) = made_of(&search("below(x_vals[i..n_j], 100)"), &operands, [4, 10, 4]);
    assert_eq!(values, Ok(vec![8, 8, 8, 7]));
}

/// A loop whose iterations are not shown to be independent stays there; one that computes what the host's library does is launched.
#[test]
fn loops_stay_on_the_host() {
    let (values, code) = made(
        &kernel("i64", "  parallel for i in 0..n_i {\n    y_vals[i] = i64(nextafter(f64(A1_pos[i]), 9.0))\n  }"),
        4,
    );
    assert_eq!(values, Ok(vec![0, 2, 2, 3]));
    assert_eq!((code.refused.len(), code.entries.len()), (0, 1));
    let serial = "  t = 0\n  block for i in 0..n_i {\n    y_vals[i] = t\n    t = y_vals[i] + 1\n  }";
    let (values, code) = made(&kernel("i64", serial), 4);
    assert_eq!(values, Ok(vec![0, 1, 2, 3]));
    let why = "its iterations, dealt out to blocks, are not shown to be independent";
    assert_eq!(code.refused, [("i".to_string(), why.to_string())]);
}

/// A kernel over the same operands that appends to lists.
fn appending(body: &str) -> String {
    format!(
        "kernel k(n_i, n_j, n_k)
  operand A1_pos: i32, A1_crd: i32, A_vals: i64, x_vals: i64
  result y_vals: i64, y_pos: i64
  private w: i64

  c = 0
  alloc y_vals[4]
  alloc y_pos[n_i + 1] = 0
  alloc w[n_j + 8]
{body}
  finish y_vals[c]
  finish y_pos[n_i + 1]
"
    )
}

/// Threads count first, and write behind one another: what an iteration stores and does not keep, the next one does not lose.
#[test]
fn loops_that_append_count_first() {
    let even = "  parallel for i in 0..n_i joining y_pos[i + 1] = c, y_vals[c] {
    for p in A1_pos[i]..A1_pos[i + 1] {
      y_vals[c] = A_vals[p]
      c = c + i64(A_vals[p] % 2 == 0)
    }
    y_pos[i + 1] = c
  }";
    let (values, code) = made(&appending(even), 0);
    assert_eq!(values, Ok(vec![2, 4, 6]));
    assert_eq!((code.refused.len(), code.entries.len()), (0, 2));
    // Every row has room for four more, of which none is kept.
    let behind = "  parallel for i in 0..n_i joining y_pos[i + 1] = c, y_vals[c] {
    for p in A1_pos[i]..A1_pos[i + 1] {
      y_vals[c] = A_vals[p]
      c = c + 1
    }
    reserve y_vals[c + 4]
    for q in 0..4 {
      y_vals[c + q] = -1
    }
    y_pos[i + 1] = c
  }";
    assert_eq!(made(&appending(behind), 0).0, Ok(vec![1, 2, 3, 4, 5, 6]));
}

/// What an iteration appends in order, a thread sorts.
#[test]
fn threads_sort_what_they_append() {
    let sorted = "  parallel for i in 0..n_i with w joining y_pos[i + 1] = c, y_vals[c] {
    n = 0
    for p in A1_pos[i]..A1_pos[i + 1] {
      w[n] = 7 - A_vals[p]
      w[n + 1] = A_vals[p]
      n = n + 2
    }
    reserve y_vals[c + n]
    sort w[0..n] into y_vals[c]
    c = c + n
    y_pos[i + 1] = c
  }";
    let (values, code) = made(&appending(sorted), 0);
    assert_eq!(values, Ok(vec![1, 2, 5, 6, 3, 4, 1, 2, 3, 4, 5, 6]));
    assert!(code.refused.is_empty(), "{:?}", code.refused);
}

/// Of equal keys the first comes first: seven of each row, of which every second is the same.
#[test]
fn threads_sort_stably() {
    let sorted = appending(
        "  parallel for i in 0..n_i with w, o joining y_pos[i + 1] = c, y_vals[c] {
    for q in 0..7 {
      w[q] = A_vals[i] - q % 2
    }
    sort w[0..7] with o
    reserve y_vals[c + 7]
    for q_2 in 0..7 {
      y_vals[c] = o[q_2]
      c = c + 1
    }
    y_pos[i + 1] = c
  }",
    );
    let sorted = sorted
        .replace("private w: i64", "private w: i64, o: i64")
        .replace("alloc w[n_j + 8]", "alloc w[8]\n  alloc o[8]");
    let (values, code) = made(&sorted, 0);
    assert_eq!(values, Ok([1, 3, 5, 0, 2, 4, 6].repeat(4)));
    assert!(code.refused.is_empty(), "{:?}", code.refused);
}

/// What is appended depends on what iterations write elsewhere: it is not counted twice.
#[test]
fn what_depends_on_stores_is_not_counted() {
    let own = "  parallel for i in 0..n_i joining y_vals[c] {
    y_pos[i] = y_pos[i] + 1
    for p in 0..y_pos[i] {
      y_vals[c] = i
      c = c + 1
    }
  }";
    let (values, code) = made(&appending(own), 0);
    assert_eq!(values, Ok(vec![0, 1, 2, 3]));
    let why = "what its iterations append depends on what they write to `y_pos`";
    assert_eq!(code.refused, [("i".to_string(), why.to_string())]);
}

/// A sum over all iterations has always the same parts.
#[test]
fn sums_have_the_same_parts() {
    let sum = |body: &str| kernel("i64", &format!("  t = 3\n{body}\n  y_vals[0] = t"));
    let squares = "  parallel for i in 0..n_j folding t {\n    t = t * x_vals[i]\n  }";
    let (values, code) = made(&sum(squares), 1);
    assert_eq!(values, Ok(vec![3000]));
    assert_eq!((code.refused.len(), code.entries.len()), (0, 1));
    // Of nothing it is what it was.
    let none = "  parallel for i in n_j..0 folding t {\n    t = t * x_vals[i]\n  }";
    assert_eq!(made(&sum(none), 1).0, Ok(vec![3]));
    let failing = "  parallel for i in 0..n_j folding t {
    if x_vals[i] > 50 {
      fail overflow
    }
    if x_vals[i] > 5 {
      fail positions
    }
    t = t * x_vals[i]
  }";
    let (values, code) = made(&sum(failing), 1);
    assert_eq!(values, Err(Failure::Positions));
    assert_eq!(
        code.refused,
        [("i".to_string(), "an iteration may fail in several ways, and the first counts".to_string())]
    );
}
