//! Parallel loops written by hand, as PTX on the machine for it: copies of workspaces, failures, loops that lanes share. Values by hand.

use fiberloom_codegen::device::{Ptx, ptx};
use fiberloom_core::format::Array;
use fiberloom_loops::{Failure, Gpu, Runner, check, read};
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
    let kernel = read(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    check(&kernel).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let code = ptx(&kernel, Gpu::Sm80).unwrap();
    let module = Module::read(&code.text).unwrap_or_else(|e| panic!("{e}\n{}", code.text));
    let operands = operands();
    let given: Vec<Option<&Array>> = operands.iter().map(Some).chain([None, None]).collect();
    let mut all = SHAPES.iter().zip(1..).map(|(shape, seed)| {
        let limits = Limits { seed, ..Limits::default() };
        let launcher = Simulated::new(&module, limits);
        let host = Host::new(&kernel, &launcher, &code.entries, *shape);
        let prepared = Prepared::new(&kernel).unwrap();
        match prepared.run_on(Some(&host), &[4, 3, results], &given, &Default::default()) {
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

/// A block does not run an iteration in which what warps share is not all that is stored, or is read: a thread, or a warp, does.
#[test]
fn a_block_shares_no_iteration_that_stores_elsewhere() {
    let sums = "  block parallel for b in 0..2 {
    warp parallel for u in 0..2 {
      y_vals[b * 2 + u] = u
    }
  }";
    let (values, code) = made(&kernel("i64", sums), 4);
    assert_eq!((values, code.entries[0].runner), (Ok(vec![0, 1, 0, 1]), Runner::Block));
    let stores = sums.replace("    }\n  }", "    }\n    y_vals[b * 2] = 9\n  }");
    let reads = sums.replace("= u\n    }\n  }", "= u\n    }\n    z = y_vals[b * 2]\n  }");
    let waits =
        sums.replace("    warp", "    for r in 0..2 {\n    warp").replace("= u\n    }", "= u + r\n    }\n    }");
    for (body, wanted) in [(stores, [9, 1, 9, 1]), (reads, [0, 1, 0, 1]), (waits, [1, 2, 1, 2])] {
        assert_ne!(body, sums);
        let (values, code) = made(&kernel("i64", &body), 4);
        assert_eq!((values, code.entries[0].runner), (Ok(wanted.to_vec()), Runner::Thread), "{body}");
        let not_dealt = [("b", "block", "a thread runs each"), ("u", "warp", "what runs the loop around runs each")];
        assert_eq!(code.not_dealt, not_dealt.map(|(var, unit, what)| (var.to_string(), unit, what.to_string())));
    }
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
    assert_eq!(code.refused, [("i".to_string(), "its iterations fold into `t` with `*`, of type i64".to_string())]);
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
}

/// A loop that sorts, allocates, or calls the host's library stays there.
#[test]
fn loops_stay_on_the_host() {
    let (values, code) =
        made(&kernel("i64", "  parallel for i in 0..n_i {\n    y_vals[i] = gcd(i64(A1_pos[i]), 4)\n  }"), 4);
    assert_eq!(values, Ok(vec![4, 2, 2, 1]));
    assert_eq!(code.refused, [("i".to_string(), "it calls `gcd`".to_string())]);
    let serial = "  t = 0\n  block for i in 0..n_i {\n    y_vals[i] = t\n    t = y_vals[i] + 1\n  }";
    let (values, code) = made(&kernel("i64", serial), 4);
    assert_eq!(values, Ok(vec![0, 1, 2, 3]));
    let why = "its iterations, dealt out to blocks, are not shown to be independent";
    assert_eq!(code.refused, [("i".to_string(), why.to_string())]);
}
