//! What is refused, and what ends a run.

use super::*;

/// A kernel in which a block turns its elements round through shared memory, with a barrier between writing and reading or without.
pub(super) fn turned(with_barrier: bool) -> String {
    let barrier = if with_barrier { "\tbar.sync 0;\n" } else { "" };
    kernel(
        2,
        &format!(
            "\t.shared .align 4 .b8 s[256];\n\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u64 %rd2, [k_param_1];\n\
             \tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\tmad.lo.s32 %r4, %r2, %r3, %r1;\n\
             \tmul.wide.u32 %rd3, %r4, 4;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tld.global.u32 %r5, [%rd4];\n\
             \tmul.wide.u32 %rd5, %r1, 4;\n\tmov.u64 %rd6, s;\n\tadd.s64 %rd7, %rd6, %rd5;\n\tst.shared.u32 [%rd7], %r5;\n{barrier}\
             \tsub.s32 %r6, 63, %r1;\n\tmul.wide.u32 %rd8, %r6, 4;\n\tadd.s64 %rd9, %rd6, %rd8;\n\
             \tld.shared.u32 %r7, [%rd9];\n\tadd.s64 %rd10, %rd2, %rd3;\n\tst.global.u32 [%rd10], %r7;"
        ),
    )
}

pub(super) fn turned_buffers() -> Vec<Buffer> {
    vec![words("from", &(0..128).collect::<Vec<u32>>()), Buffer::unset("to", 4, 128)]
}

/// The rule that a kernel breaks, whatever the order, and the instruction of the fault.
fn broken(body: &str, launch: (u32, u32), buffers: &dyn Fn() -> Vec<Buffer>) -> (Rule, String) {
    let text = kernel(buffers().len(), body);
    let mut all = (0..6).map(|seed| {
        let fault = run(&text, launch, buffers(), seed).expect_err(body);
        let line = text.lines().nth(fault.line as usize - 1).expect("a line of the text").trim().to_string();
        (fault.rule, line, fault.what)
    });
    let (rule, line, what) = all.next().expect("a seed");
    assert!(!what.is_empty());
    all.for_each(|(other, ..)| assert_eq!(other, rule, "{body}"));
    (rule, line)
}

/// `%rd1` is the buffer's address, `%r1` the thread in its block, `%rd3` its own element of eight bytes.
const OWN: &str = "\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, 8;\n\
    \tadd.s64 %rd3, %rd1, %rd2;\n\tmov.f64 %fd1, 0d3FF0000000000000;\n";

#[test]
fn accesses_are_held_to_rules() {
    let given = || vec![floats("x", &[1.0; 32])];
    let result = || vec![Buffer::unset("y", 8, 32)];
    let both = || vec![floats("y", &[1.0; 32]).writable()];
    type Buffers<'b> = &'b dyn Fn() -> Vec<Buffer>;
    let cases: [(&str, (u32, u32), Buffers, Rule); 14] = [
        ("ld.global.f64 %fd2, [%rd3];", (1, 33), &given, Rule::Bounds),
        ("ld.global.f64 %fd2, [%rd3+-8];", (1, 32), &given, Rule::Bounds),
        ("ld.global.f64 %fd2, [%rd3+4];", (1, 1), &given, Rule::Bounds),
        ("ld.global.f64 %fd2, [%rd2];", (1, 1), &given, Rule::Bounds),
        ("ld.shared.f64 %fd2, [%rd3];", (1, 1), &given, Rule::Bounds),
        ("ld.local.f64 %fd2, [%rd2];", (1, 1), &given, Rule::Bounds),
        ("ld.global.f64 %fd2, [%rd3];", (1, 1), &result, Rule::Set),
        ("st.global.f64 [%rd3], %fd9;", (1, 1), &result, Rule::Set),
        ("st.global.f64 [%rd9], %fd1;", (1, 1), &result, Rule::Set),
        ("st.global.f64 [%rd3], %fd1;", (1, 1), &given, Rule::Constant),
        ("st.global.f64 [%rd1], %fd1;", (1, 2), &result, Rule::Race),
        ("st.global.f64 [%rd3], %fd1;", (2, 1), &result, Rule::Race),
        ("atom.global.add.f64 %fd2, [%rd3], %fd1;", (1, 1), &result, Rule::Set),
        ("@%p1 mov.u32 %r2, 1;", (1, 1), &given, Rule::Set),
    ];
    for (instruction, launch, buffers, rule) in cases {
        assert_eq!(broken(&format!("{OWN}\t{instruction}"), launch, buffers), (rule, instruction.to_string()));
    }
    // The same accesses without what is wrong.
    for (instruction, launch, buffers) in [
        ("ld.global.f64 %fd2, [%rd3];", (1, 32), &given as Buffers),
        ("st.global.f64 [%rd3], %fd1;", (1, 32), &result),
        ("atom.global.add.f64 %fd2, [%rd1], %fd1;", (2, 32), &both),
    ] {
        let text = kernel(1, &format!("{OWN}\t{instruction}"));
        run(&text, launch, buffers(), 1).unwrap_or_else(|e| panic!("{instruction}: {e}"));
    }
}

/// A read and a write of neighbours race, an atomic and a plain access do, and what is loaded as constant is not written.
#[test]
fn threads_race_without_a_barrier() {
    let both = || vec![floats("y", &[1.0; 64]).writable()];
    let shifted = format!("{OWN}\tst.global.f64 [%rd3], %fd1;\n\tld.global.f64 %fd2, [%rd3+8];");
    assert_eq!(broken(&shifted, (1, 63), &both).0, Rule::Race);
    let atomic = format!("{OWN}\tatom.global.add.f64 %fd2, [%rd1], %fd1;\n\tld.global.f64 %fd3, [%rd1];");
    assert_eq!(broken(&atomic, (1, 2), &both).0, Rule::Race);
    let ordered =
        format!("{OWN}\tatom.global.add.f64 %fd2, [%rd1], %fd1;\n\tbar.sync 0;\n\tld.global.f64 %fd3, [%rd1];");
    run(&kernel(1, &ordered), (1, 64), both(), 1).expect("a barrier stands between");
    // No barrier orders threads of two blocks.
    assert_eq!(broken(&ordered, (2, 64), &both).0, Rule::Race);
    // A barrier of a warp orders its lanes, and not those of another warp.
    let warp = shifted.replace("\tld.global.f64", "\tbar.warp.sync -1;\n\tld.global.f64");
    run(&kernel(1, &warp), (1, 32), both(), 1).expect("a barrier of the warp");
    assert_eq!(broken(&warp, (1, 33), &both).0, Rule::Race);
    let constant = format!("{OWN}\tld.global.nc.f64 %fd2, [%rd3];\n\tst.global.f64 [%rd3], %fd2;");
    assert_eq!(broken(&constant, (1, 1), &both).0, Rule::Constant);
    let fault = run(&turned(false), (2, 64), turned_buffers(), 5).expect_err("no barrier");
    assert!([Rule::Race, Rule::Set].contains(&fault.rule), "{fault}");
}

/// A quotient and a remainder by zero may be computed, and nothing may depend on them: of two threads the second divides by one.
#[test]
fn quotients_by_zero_are_not_set() {
    let result = || vec![Buffer::unset("y", 4, 2)];
    for f in ["div.s32", "rem.u32"] {
        let head = format!(
            "\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\
             \t{f} %r2, 1, %r1;\n\tsetp.eq.s32 %p1, %r1, 0;\n"
        );
        let stored = "st.global.u32 [%rd3], %r2;";
        assert_eq!(broken(&format!("{head}\t{stored}"), (1, 2), &result), (Rule::Set, stored.to_string()));
        let branch = "@%p2 bra $E;";
        let decides = format!("{head}\tsetp.eq.s32 %p2, %r2, 7;\n\t{branch}\n$E:");
        assert_eq!(broken(&decides, (1, 2), &result), (Rule::Set, branch.to_string()));
        let unused = format!("{head}\tselp.b32 %r3, 5, %r2, %p1;\n\tst.global.u32 [%rd3], %r3;");
        let (_, global) = run(&kernel(1, &unused), (1, 2), result(), 1).expect("the quotient by zero is left out");
        let second = if f == "div.s32" { 1 } else { 0 };
        assert_eq!(elements(&global, 0), [Some(5), Some(second)]);
    }
}

/// All lanes come to a shuffle, and all threads to a barrier.
#[test]
fn lanes_come_together() {
    let none = Vec::new;
    let head = "\tmov.u32 %r1, %tid.x;\n\tsetp.lt.s32 %p1, %r1, 5;\n";
    let shuffle = "shfl.sync.down.b32 %r2|%p2, %r1, 1, 31, -1;";
    for (body, instruction) in [
        // Five lanes leave before, or go another way.
        (format!("{head}\t@%p1 bra $E;\n\tbar.sync 0;\n$E:"), "bar.sync 0;"),
        (format!("{head}\t@%p1 ret;\n\tbar.sync 0;"), "bar.sync 0;"),
        (format!("{head}\t@%p1 bra $E;\n\t{shuffle}\n$E:"), shuffle),
        (format!("{head}\t@%p1 ret;\n\t{shuffle}"), shuffle),
        (format!("{head}\t@%p1 bra $E;\n\tbar.warp.sync -1;\n$E:"), "bar.warp.sync -1;"),
    ] {
        assert_eq!(broken(&body, (1, 64), &none), (Rule::Together, instruction.to_string()), "{body}");
    }
    // A whole warp that leaves is missed at the barrier, too.
    let body = "\tmov.u32 %r1, %tid.x;\n\tsetp.ge.s32 %p1, %r1, 32;\n\t@%p1 ret;\n\tbar.sync 0;";
    assert_eq!(broken(body, (1, 64), &none).0, Rule::Together);
    // Lanes that a shuffle does not name need not come.
    let named = format!("{head}\t@!%p1 bra $E;\n\tshfl.sync.idx.b32 %r2|%p2, %r1, 4, 31, 31;\n$E:");
    for named in [named.replace("%tid.x", "%laneid"), named] {
        run(&kernel(0, &named), (1, 64), vec![], 1).unwrap_or_else(|e| panic!("the lanes below 5 come: {e}"));
    }
}

/// Parts of a warp shuffle by themselves, of which the lanes come together: not one without another, nor one that names other lanes, and none
/// takes a value from another part.
#[test]
fn parts_of_a_warp_come_together() {
    // `%r4` names the sixteen lanes of a lane's half of the warp.
    let head = "\tmov.u32 %r1, %laneid;\n\tand.b32 %r3, %r1, 16;\n\tmov.u32 %r2, 65535;\n\tshl.b32 %r4, %r2, %r3;\n";
    let shuffle =
        |by: u32, width: u32| format!("shfl.sync.bfly.b32 %r5|%p2, %r1, {by}, {}, %r4;", (32 - width) << 8 | 31);
    let one_half = format!("{head}\tsetp.lt.s32 %p1, %r1, 16;\n\t@%p1 bra $E;\n\t{}\n$E:", shuffle(8, 16));
    for body in [format!("{head}\t{}", shuffle(8, 16)), format!("{head}\t{}", shuffle(8, 32)), one_half] {
        run(&kernel(0, &body), (1, 64), vec![], 1).unwrap_or_else(|e| panic!("{body}: {e}"));
    }
    let without_a_lane = format!("{head}\tsetp.eq.s32 %p1, %r1, 17;\n\t@%p1 bra $E;\n\t{}\n$E:", shuffle(8, 16));
    // A distance of 16 leads to the other half.
    let from_the_other = format!("{head}\t{}", shuffle(16, 32));
    // The first half names all lanes, the second one itself.
    let named_by_some =
        format!("{head}\tsetp.lt.s32 %p1, %r1, 16;\n\tselp.b32 %r4, -1, %r4, %p1;\n\t{}", shuffle(8, 16));
    for (body, by, width) in [(without_a_lane, 8, 16), (from_the_other, 16, 32), (named_by_some, 8, 16)] {
        assert_eq!(broken(&body, (1, 64), &Vec::new), (Rule::Together, shuffle(by, width)), "{body}");
    }
}

#[test]
fn runs_end() {
    let forever = "$A:\n\tbra.uni $A;";
    assert_eq!(broken(forever, (1, 1), &Vec::new).0, Rule::Steps);
    let module = Module::read(&kernel(1, "")).expect("it is well-formed");
    for (entry, blocks, threads, arguments) in [("l", 1, 1, 1), ("k", 1, 1, 0), ("k", 1, 0, 1), ("k", 1, 1025, 1)] {
        let launch = Launch { entry, blocks, threads, arguments: &[0][..arguments] };
        let fault = module.run(&launch, &mut Global::default(), &Limits::default()).expect_err("it is refused");
        assert_eq!((fault.rule, fault.line), (Rule::Launch, 0));
    }
}

/// A text that is not known is refused by its line.
#[test]
fn what_is_not_known_is_refused() {
    for (statement, what) in [
        ("ex2.approx.f32 %f1, %f2;", "no instruction"),
        ("add.s32 %r1, %r2;", "`,` is expected"),
        ("add.s32 %rd1, %r2, %r3;", "has 64 bits, and 32 are written"),
        ("add.s32 %r1, %rd2, %r3;", "has 64 bits, and 32 are read"),
        ("add.s32 %q1, %r2, %r3;", "no register"),
        ("add.s32 %r1, %r2, %zz;", "neither a register nor a number"),
        ("add.s99 %r1, %r2, %r3;", "no instruction"),
        ("bra $Q;", "no label"),
        ("ld.global.f64 %fd1, [zz];", "no address"),
        ("ld.param.u64 %rd1, [k_param_7];", "no parameter"),
        ("call.uni f, ();", "no instruction"),
        ("ld.volatile.global.f64 %fd1, [%rd1];", "no instruction"),
        ("bar.sync 1;", "no instruction"),
        ("atom.global.min.f64 %fd1, [%rd1], %fd2;", "no instruction"),
        ("atom.global.or.f32 %f1, [%rd1], %f2;", "no instruction"),
        ("atom.global.add.u16 %rs1, [%rd1], %rs2;", "no instruction"),
        ("red.global.exch.b32 [%rd1], %r1;", "no instruction"),
        ("red.global.cas.b64 [%rd1], %rd2, %rd3;", "no instruction"),
        ("atom.global.add.f32 %f1, [%rd1], %f2;", ""),
        ("red.global.add.f64 [%rd1], %fd1;", ""),
        ("mov.f64 %fd1, 0d3FF;", ""),
        ("mov.u32 %r1, ?;", "a name, a number or a mark"),
    ] {
        let text = kernel(1, &format!("\t{statement}"));
        let read = Module::read(&text);
        if what.is_empty() {
            assert!(read.is_ok(), "{statement}");
            continue;
        }
        let refused = read.expect_err(statement);
        assert!(refused.what.contains(what), "{statement}: {refused}");
        assert_eq!(text.lines().nth(refused.line as usize - 1), Some(&format!("\t{statement}")[..]), "{refused}");
    }
    for text in [".func f()\n{\n}", ".entry k", ".entry k(\n.param .u64 a\n)\n{", ".visible .global .b8 x[4];", "{"] {
        Module::read(text).expect_err(text);
    }
}
