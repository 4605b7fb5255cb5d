//! Programs in PTX, and what they do, worked out by hand.

mod arithmetic;
mod rules;

use fiberloom_semantics::ptx::{Buffer, Counts, Fault, Global, Launch, Limits, Module, Rule};

/// A kernel `k` with these statements, and so many parameters `k_param_0`, ….
pub(super) fn kernel(params: usize, body: &str) -> String {
    let params: Vec<String> = (0..params).map(|n| format!("\t.param .u64 k_param_{n}")).collect();
    format!(
        ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry k(\n{}\n)\n{{\n\t.reg .pred %p<8>;\n\t.reg .b16 %rs<8>;\n\
         \t.reg .b32 %r<32>;\n\t.reg .b64 %rd<32>;\n\t.reg .f32 %f<8>;\n\t.reg .f64 %fd<16>;\n{body}\n\tret;\n}}\n",
        params.join(",\n")
    )
}

/// Runs the kernel `k` of a text on buffers, whose addresses are its first arguments.
pub(super) fn run(
    text: &str,
    (blocks, threads): (u32, u32),
    buffers: Vec<Buffer>,
    seed: u64,
) -> Result<(Counts, Global), Fault> {
    let module = Module::read(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut global = Global::default();
    let arguments: Vec<u64> = buffers.into_iter().map(|buffer| global.add(buffer)).collect();
    let launch = Launch { entry: "k", blocks, threads, arguments: &arguments };
    let counts = module.run(&launch, &mut global, &Limits { steps: 10_000, seed })?;
    Ok((counts, global))
}

pub(super) fn words(name: &str, of: &[u32]) -> Buffer {
    Buffer::of(name, 4, of.iter().flat_map(|x| x.to_le_bytes()).collect())
}

pub(super) fn floats(name: &str, of: &[f64]) -> Buffer {
    Buffer::of(name, 8, of.iter().flat_map(|x| x.to_le_bytes()).collect())
}

/// The elements of a buffer.
pub(super) fn elements(global: &Global, at: usize) -> Vec<Option<u64>> {
    let buffer = &global.buffers()[at];
    (0..buffer.len()).map(|k| buffer.get(k)).collect()
}

/// The 4 × 3 matrix [1 2 0; 0 0 0; 0 0 3; 4 5 6] times (1, 10, 100), by what LLVM prints of its loop.
#[test]
fn a_product_of_a_matrix_and_a_vector() {
    let module = Module::read(include_str!("spmv.ptx")).expect("LLVM's text");
    assert_eq!(module.entries().collect::<Vec<_>>(), ["kernel_0"]);
    for (blocks, threads) in [(1, 1), (1, 32), (2, 2), (3, 33)] {
        for seed in 0..8 {
            let mut global = Global::default();
            let mut arguments: Vec<u64> = [
                words("pos", &[0, 2, 2, 3, 6]),
                words("crd", &[0, 1, 2, 0, 1, 2]),
                floats("vals", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                floats("x", &[1.0, 10.0, 100.0]),
                Buffer::unset("y", 8, 4),
            ]
            .into_iter()
            .map(|buffer| global.add(buffer))
            .collect();
            arguments.extend([0, 4]);
            let launch = Launch { entry: "kernel_0", blocks, threads, arguments: &arguments };
            let counts = module.run(&launch, &mut global, &Limits { steps: 1000, seed });
            let counts = counts.unwrap_or_else(|e| panic!("{e}"));
            let y = [21.0, 0.0, 300.0, 654.0].map(|x: f64| Some(x.to_bits()));
            assert_eq!(elements(&global, 4), y);
            // One warp in lockstep: the longest row has three entries, and each load is within one segment.
            if (blocks, threads) == (1, 32) {
                let [pos, crd, vals, x, y] = counts.traffic[..] else { panic!("five buffers") };
                assert_eq!((pos.loads, crd.loads, vals.loads, x.loads, y.stores), (2, 3, 3, 3, 1));
                assert_eq!(counts.segments(), 12);
                // Threads beyond the rows leave; the empty row; rows of one, two and three entries.
                assert_eq!(counts.divergent, 4);
            }
        }
    }
}

/// Where lanes read neighbours a warp touches few segments; where they read far apart, one each.
#[test]
fn segments_are_counted() {
    let load = |shift: u32| {
        kernel(
            1,
            &format!(
                "\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, {};\n\
                 \tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.nc.f64 %fd1, [%rd3];",
                8 << shift
            ),
        )
    };
    // 32 lanes of 8 bytes are 2 segments of 128; at a distance of 16 bytes 4; from 128 bytes on 32.
    for (shift, segments) in [(0, 2), (1, 4), (2, 8), (4, 32), (5, 32)] {
        let (counts, _) = run(&load(shift), (1, 32), vec![floats("x", &[0.0; 1024])], 1).expect("in bounds");
        assert_eq!(counts.traffic[0].segments_loaded, segments, "shift {shift}");
        assert_eq!(counts.traffic[0].loads, 1);
    }
    // Two blocks of 40 threads are four warps, of which two have eight threads each: 2 + 1 segments a block.
    let (counts, _) = run(&load(0), (2, 40), vec![floats("x", &[0.0; 1024])], 1).expect("in bounds");
    assert_eq!((counts.traffic[0].loads, counts.traffic[0].segments_loaded), (4, 6));
}

/// Words of one bank are read one after the other, but for one word that many lanes read.
#[test]
fn conflicts_of_banks_are_counted() {
    for (stride, conflicts) in [(0, 0), (4, 0), (8, 1), (16, 3), (128, 31), (132, 0)] {
        let body = format!(
            "\t.shared .align 4 .b8 s[8192];\n\tmov.u64 %rd9, s;\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd1, %r1, {stride};\n\
             \tadd.s64 %rd2, %rd9, %rd1;\n\tsetp.ne.s32 %p1, %r1, 0;\n\tmov.u32 %r2, 7;\n\t{}st.shared.u32 [%rd2], %r2;",
            if stride == 0 { "@!%p1 " } else { "" }
        );
        let (counts, _) = run(&kernel(0, &body), (1, 32), vec![], 1).expect("in bounds");
        assert_eq!(counts.conflicts, conflicts, "stride {stride}");
    }
}

/// The sum over a warp by shuffles: 0 + 1 + … + 31.
#[test]
fn a_warp_sums_by_shuffles() {
    let steps: String = [16, 8, 4, 2, 1]
        .iter()
        .map(|by| format!("\tshfl.sync.down.b32 %r2|%p1, %r1, {by}, 31, -1;\n\tadd.s32 %r1, %r1, %r2;\n"))
        .collect();
    let body = format!(
        "\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r1, %tid.x;\n\tsetp.eq.s32 %p2, %r1, 0;\n{steps}\
         \t@%p2 st.global.u32 [%rd1], %r1;"
    );
    let (counts, global) =
        run(&kernel(1, &body), (1, 32), vec![Buffer::unset("sum", 4, 1)], 3).expect("no lane misses");
    assert_eq!(elements(&global, 0), [Some(496)]);
    assert_eq!((counts.shuffles, counts.divergent), (5, 0));
}

/// The sums of parts of a warp by shuffles, all at once, stored by the first lane of each: of 16 lanes 120 and 376, of 8 lanes 28, 92, 156, 220.
#[test]
fn parts_of_a_warp_sum_by_shuffles() {
    for (lanes, sums) in
        [(16u32, vec![120, 376]), (8, vec![28, 92, 156, 220]), (4, (0..8).map(|n| 6 + 16 * n).collect())]
    {
        let distances = std::iter::successors(Some(lanes / 2), |by| Some(by / 2)).take_while(|by| *by > 0);
        let steps: String = distances
            .map(|by| format!("\tshfl.sync.bfly.b32 %r2|%p1, %r1, {by}, 31, %r6;\n\tadd.s32 %r1, %r1, %r2;\n"))
            .collect();
        let body = format!(
            "\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r3, %laneid;\n\tmov.u32 %r1, %r3;\n\tand.b32 %r4, %r3, {};\n\
             \tmov.u32 %r5, {};\n\tshl.b32 %r6, %r5, %r4;\n\tsub.s32 %r7, %r3, %r4;\n\tsetp.eq.s32 %p2, %r7, 0;\n{steps}\
             \tmul.wide.u32 %rd2, %r4, {};\n\tshr.u64 %rd3, %rd2, 5;\n\tadd.s64 %rd4, %rd1, %rd3;\n\t@%p2 st.global.u32 [%rd4], %r1;",
            32 - lanes,
            (1u64 << lanes) - 1,
            4 * 32 / lanes
        );
        let (counts, global) =
            run(&kernel(1, &body), (1, 32), vec![Buffer::unset("sums", 4, u64::from(32 / lanes))], 3)
                .unwrap_or_else(|e| panic!("no lane misses: {e}"));
        assert_eq!(elements(&global, 0), sums.into_iter().map(Some).collect::<Vec<_>>(), "{lanes} lanes");
        // The sums lie side by side: one store touches one segment.
        assert_eq!((counts.shuffles, counts.traffic[0].segments_stored), (u64::from(lanes.ilog2()), 1));
        assert_eq!(counts.divergent, 0);
    }
}

/// Each thread adds its number to one element.
#[test]
fn atomics_do_not_race() {
    let body = "\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\
        \tmad.lo.s32 %r4, %r2, %r3, %r1;\n\tcvt.rn.f64.u32 %fd1, %r4;\n\tatom.global.add.f64 %fd2, [%rd1], %fd1;";
    for seed in 0..16 {
        let sum = floats("sum", &[0.5]).writable();
        let (counts, global) = run(&kernel(1, body), (3, 40), vec![sum], seed).expect("atomics");
        // 0 + 1 + … + 119 and a half.
        assert_eq!(elements(&global, 0), [Some(7140.5f64.to_bits())]);
        assert_eq!(counts.atomics, 120);
        // Six warps, which run the same instructions.
        assert_eq!(counts.instructions, 6 * counts.longest);
    }
}

/// A store of a register that has more bits stores the low ones, and a load into one extends, with the sign of what has one.
#[test]
fn a_wide_register_holds_less() {
    for (load, stored) in [("s32", u64::MAX), ("u32", u32::MAX as u64), ("s8", u64::MAX), ("b16", 0xffff)] {
        let body = format!(
            "\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u64 %rd2, [k_param_1];\n\tmov.u64 %rd3, -1;\n\
             \tst.global.u32 [%rd1], %rd3;\n\tld.global.{load} %rd4, [%rd1];\n\tst.global.u64 [%rd2], %rd4;"
        );
        let buffers = vec![Buffer::unset("x", 4, 1), Buffer::unset("y", 8, 1)];
        let (_, global) = run(&kernel(2, &body), (1, 1), buffers, 0).expect("a store and a load");
        assert_eq!((elements(&global, 0), elements(&global, 1)), (vec![Some(0xffff_ffff)], vec![Some(stored)]));
    }
}

/// The forms that LLVM prints, by threads of several blocks: what 33, 34, …, 112 make of an element, each once; also by `red`.
#[test]
fn atomics_fold_in_any_order() {
    let all = || 33u64..113;
    let signed = u64::MAX - 6;
    let cases: [(&str, u64, u64); 14] = [
        ("add.u32", 5, 5 + all().sum::<u64>()),
        ("add.u32", 0xffff_ffff, all().sum::<u64>() - 1),
        ("add.u64", u64::MAX, all().sum::<u64>() - 1),
        ("min.s32", 50, 33),
        ("min.s32", 0xffff_fff9, 0xffff_fff9),
        ("min.u32", 0xffff_fff9, 33),
        ("min.s64", signed, signed),
        ("min.u64", signed, 33),
        ("max.s32", 0xffff_fff9, 112),
        ("max.u32", 0xffff_fff9, 0xffff_fff9),
        ("max.s64", signed, 112),
        ("max.u64", signed, signed),
        ("and.b32", 0xff, 0),
        ("xor.b64", 1 << 40, 1 << 40 | all().fold(0, |x, y| x ^ y)),
    ];
    for (f, old, wanted) in cases {
        let wide = f.ends_with("64");
        let (bytes, old_register, value) = if wide { (8, "%rd5", "%rd4") } else { (4, "%r5", "%r4") };
        for instruction in
            [format!("atom.global.{f} {old_register}, [%rd1], {value};"), format!("red.global.{f} [%rd1], {value};")]
        {
            let body = format!(
                "\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\
                 \tmad.lo.s32 %r4, %r2, %r3, %r1;\n\tadd.s32 %r4, %r4, 33;\n\tcvt.u64.u32 %rd4, %r4;\n\t{instruction}"
            );
            for seed in 0..4 {
                let element = Buffer::of("y", bytes, old.to_le_bytes()[..bytes as usize].to_vec()).writable();
                let (_, global) = run(&kernel(1, &body), (2, 40), vec![element], seed).expect(f);
                assert_eq!(elements(&global, 0), [Some(wanted)], "{instruction} of {old}");
            }
        }
    }
}

/// Subnormal `f32`s are 0 with their sign where they are added to global memory, and stay in shared memory; `f64`s stay.
#[test]
fn atomic_sums_flush() {
    let global = "\tld.param.u64 %rd2, [k_param_0];\n";
    let shared = "\t.shared .align 4 .b8 s[4];\n\tld.param.u64 %rd1, [k_param_0];\n\tmov.u64 %rd2, s;\n\tld.global.f32 %f3, [%rd1];\n\
        \tst.shared.f32 [%rd2], %f3;\n";
    let sum = |to: &str, a: u32, b: u32| {
        let (space, last) = match to == global {
            true => ("global", ""),
            false => ("shared", "\n\tld.shared.f32 %f4, [%rd2];\n\tst.global.f32 [%rd1], %f4;"),
        };
        let body = format!("{to}\tmov.f32 %f1, 0f{b:08X};\n\tatom.{space}.add.f32 %f2, [%rd2], %f1;{last}");
        let (_, global) = run(&kernel(1, &body), (1, 1), vec![words("y", &[a]).writable()], 1).expect(space);
        elements(&global, 0)[0].expect("it is set") as u32
    };
    let (one, least, tiny) = (1f32.to_bits(), f32::MIN_POSITIVE.to_bits(), 1);
    let negative = |x: u32| x | 1 << 31;
    // What was there, what is added, what is made of them in global and in shared memory.
    for (a, b, flushed, kept) in [
        (one, one, 2f32.to_bits(), 2f32.to_bits()),
        (0, tiny, 0, tiny),
        (tiny, 0, 0, tiny),
        (negative(0), negative(tiny), negative(0), negative(tiny)),
        (least, negative(least + 1), negative(0), negative(tiny)),
        (least, tiny, least, least + 1),
    ] {
        assert_eq!((sum(global, a, b), sum(shared, a, b)), (flushed, kept), "{a:x} and {b:x}");
    }
    let body = "\tld.param.u64 %rd1, [k_param_0];\n\tmov.f64 %fd1, 0d0000000000000001;\n\tatom.global.add.f64 %fd2, [%rd1], %fd1;";
    let (_, global) = run(&kernel(1, body), (1, 1), vec![floats("y", &[0.0]).writable()], 1).expect("an addition");
    assert_eq!(elements(&global, 0), [Some(1)]);
}

/// What LLVM makes of a minimum of floats: the element is first read as any other, which races with what others set.
#[test]
fn a_loop_of_exchanges_races() {
    let body = "\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r1, %tid.x;\n\tcvt.rn.f64.u32 %fd1, %r1;\n\
        \tld.global.f64 %fd2, [%rd1];\n$A:\n\tmin.f64 %fd3, %fd2, %fd1;\n\tmov.b64 %rd2, %fd2;\n\tmov.b64 %rd3, %fd3;\n\
        \tatom.global.cas.b64 %rd4, [%rd1], %rd2, %rd3;\n\tsetp.ne.s64 %p1, %rd4, %rd2;\n\tmov.b64 %fd2, %rd4;\n\t@%p1 bra $A;";
    let given = || vec![floats("y", &[7.0]).writable()];
    run(&kernel(1, body), (1, 1), given(), 1).expect("one thread");
    let fault = run(&kernel(1, body), (1, 2), given(), 1).expect_err("two threads");
    assert_eq!(fault.rule, Rule::Race, "{fault}");
}

/// Two blocks of 64 threads count remainders by 4 in shared memory: 16 of each, and each block has its own. Without one of the barriers a count is
/// read or set while others fold into it.
#[test]
fn threads_count_in_shared_memory() {
    let counts = |barriers: [&str; 2]| {
        let [first, second] = barriers;
        kernel(
            1,
            &format!(
                "\t.shared .align 16 .b8 s[16];\n\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\
                 \tand.b32 %r3, %r1, 3;\n\tmul.wide.u32 %rd2, %r3, 4;\n\tmov.u64 %rd3, s;\n\tadd.s64 %rd4, %rd3, %rd2;\n\
                 \tsetp.gt.u32 %p1, %r1, 3;\n\tmov.u32 %r4, 0;\n\t@%p1 bra $A;\n\tst.shared.u32 [%rd4], %r4;\n$A:\n{first}\
                 \tatom.shared.add.u32 %r5, [%rd4], 1;\n{second}\t@%p1 bra $B;\n\tld.shared.u32 %r6, [%rd4];\n\
                 \tmad.lo.s32 %r7, %r2, 4, %r1;\n\tmul.wide.u32 %rd5, %r7, 4;\n\tadd.s64 %rd6, %rd1, %rd5;\n\
                 \tst.global.u32 [%rd6], %r6;\n$B:"
            ),
        )
    };
    let barrier = "\tbar.sync 0;\n";
    let result = || vec![Buffer::unset("to", 4, 8)];
    for seed in 0..6 {
        let (counted, global) =
            run(&counts([barrier, barrier]), (2, 64), result(), seed).expect("barriers stand between");
        assert_eq!(elements(&global, 0), vec![Some(16); 8]);
        assert_eq!((counted.barriers, counted.atomics), (4, 128));
        for dropped in [["", barrier], [barrier, ""]] {
            let fault = run(&counts(dropped), (2, 64), result(), seed).expect_err("a barrier is missing");
            assert!([Rule::Race, Rule::Set].contains(&fault.rule), "{fault}");
        }
    }
}

/// A block turns its elements round through shared memory.
#[test]
fn a_barrier_orders_a_block() {
    let (counts, global) = run(&rules::turned(true), (2, 64), rules::turned_buffers(), 5).expect("a barrier");
    let wanted: Vec<Option<u64>> = (0..64).rev().chain((64..128).rev()).map(Some).collect();
    assert_eq!(elements(&global, 1), wanted);
    assert_eq!((counts.barriers, counts.conflicts), (2, 0));
}

/// Where ways part and meet: behind a branch, behind a loop, at the end.
#[test]
fn ways_meet_again() {
    let text = kernel(
        0,
        "\tmov.u32 %r1, %tid.x;\n\tsetp.lt.s32 %p1, %r1, 16;\n\t@%p1 bra $A;\n\tmov.u32 %r2, 1;\n\tbra.uni $B;\n$A:\n\
         \tmov.u32 %r2, 2;\n$B:\n\tsetp.eq.s32 %p2, %r1, 5;\n\t@%p2 bra $C;\n$D:\n\tadd.s32 %r1, %r1, 1;\n\
         \tsetp.lt.s32 %p3, %r1, 40;\n\t@%p3 bra $D;\n$C:\n\tmov.u32 %r3, %r2;",
    );
    let (counts, _) = run(&text, (1, 32), vec![], 9).expect("it ends");
    // Three instructions up to the first branch, two on one side of it, one on the other. All lanes run `$B` and the branch behind it at
    // once, the loop of three in 40 turns, those of thread 0, and `$C` and the end at once: where lanes met later, they would run these twice.
    assert_eq!(counts.instructions, 3 + 2 + 1 + 2 + 3 * 40 + 2);
    assert_eq!(counts.longest, counts.instructions, "there is one warp");
    // Of the loop each thread of 1 to 31, without 5, leaves in a turn of its own; of the last that is left no other parts.
    assert_eq!(counts.divergent, 1 + 1 + 30);
}
