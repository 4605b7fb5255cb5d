//! Instructions on registers: values by hand.

use super::*;

/// What an instruction that reads `%rd1`, `%rd2` and `%rd3` (or registers of other widths with their numbers) leaves in the first register of
/// its type.
fn value(instruction: &str, of: [u64; 3]) -> u64 {
    let [a, b, c] = of;
    let sets: String = [(1, a), (2, b), (3, c)]
        .iter()
        .map(|(n, x)| {
            format!(
                "\tmov.u64 %rd{n}, {x:#x};\n\tcvt.u32.u64 %r{n}, %rd{n};\n\tcvt.u16.u64 %rs{n}, %rd{n};\n\
                 \tmov.b64 %fd{n}, %rd{n};\n\tmov.b32 %f{n}, %r{n};\n\tsetp.ne.u64 %p{n}, %rd{n}, 0;\n"
            )
        })
        .collect();
    let result = instruction.split([' ', ',']).nth(1).expect("a register");
    let (ty, wide) = match result.trim_matches(|c: char| c.is_ascii_digit()) {
        "%r" => ("u32", 4),
        "%rs" => ("u16", 2),
        "%rd" => ("u64", 8),
        "%f" => ("f32", 4),
        "%fd" => ("f64", 8),
        _ => ("pred", 4),
    };
    let store = match ty {
        "pred" => format!("\tselp.u32 %r9, 1, 0, {result};\n\tst.global.u32 [%rd30], %r9;"),
        _ => format!("\tst.global.{ty} [%rd30], {result};"),
    };
    let text = kernel(1, &format!("{sets}\tld.param.u64 %rd30, [k_param_0];\n\t{instruction}\n{store}"));
    let (_, global) =
        run(&text, (1, 1), vec![Buffer::unset("y", wide, 1)], 1).unwrap_or_else(|e| panic!("{e}\n{text}"));
    global.buffers()[0].get(0).expect("it was stored")
}

#[test]
fn integers() {
    let minus = |n: i64| n.wrapping_neg() as u64;
    for (instruction, [a, b, c], wanted) in [
        ("add.s64 %rd9, %rd1, %rd2;", [u64::MAX, 3, 0], 2),
        ("sub.s32 %r9, %r1, %r2;", [1, 3, 0], 0xffff_fffe),
        ("mul.lo.s64 %rd9, %rd1, %rd2;", [minus(3), 5, 0], minus(15)),
        ("mul.wide.s32 %rd9, %r1, %r2;", [minus(3), 5, 0], minus(15)),
        ("mul.wide.u32 %rd9, %r1, %r2;", [minus(1), 2, 0], 0x1_ffff_fffe),
        ("mul.hi.s64 %rd9, %rd1, %rd2;", [minus(1), 5, 0], u64::MAX),
        ("mul.hi.u64 %rd9, %rd1, %rd2;", [u64::MAX, 5, 0], 4),
        ("mad.lo.s32 %r9, %r1, %r2, %r3;", [3, 4, 5], 17),
        ("mad.wide.s32 %rd9, %r1, %r2, %rd3;", [minus(3), 4, 5], minus(7)),
        ("div.s64 %rd9, %rd1, %rd2;", [minus(7), 2, 0], minus(3)),
        ("rem.s64 %rd9, %rd1, %rd2;", [minus(7), 2, 0], minus(1)),
        ("div.u32 %r9, %r1, %r2;", [0xffff_ffff, 2, 0], 0x7fff_ffff),
        ("min.s32 %r9, %r1, %r2;", [minus(1), 1, 0], 0xffff_ffff),
        ("min.u32 %r9, %r1, %r2;", [minus(1), 1, 0], 1),
        ("max.s64 %rd9, %rd1, %rd2;", [minus(1), 1, 0], 1),
        ("shl.b64 %rd9, %rd1, 63;", [3, 0, 0], 1 << 63),
        ("shl.b32 %r9, %r1, %r2;", [3, 32, 0], 0),
        ("shr.s64 %rd9, %rd1, %r2;", [minus(8), 1, 0], minus(4)),
        ("shr.s32 %r9, %r1, %r2;", [0x8000_0000, 99, 0], 0xffff_ffff),
        ("shr.u32 %r9, %r1, %r2;", [0x8000_0000, 31, 0], 1),
        ("and.b32 %r9, %r1, %r2;", [6, 3, 0], 2),
        ("or.b64 %rd9, %rd1, %rd2;", [6, 3, 0], 7),
        ("xor.b32 %r9, %r1, %r2;", [6, 3, 0], 5),
        ("not.b32 %r9, %r1;", [0, 0, 0], 0xffff_ffff),
        ("not.pred %p7, %p1;", [0, 0, 0], 1),
        ("neg.s32 %r9, %r1;", [5, 0, 0], 0xffff_fffb),
        ("abs.s64 %rd9, %rd1;", [minus(5), 0, 0], 5),
        ("popc.b64 %r9, %rd1;", [0xff01, 0, 0], 9),
        ("clz.b32 %r9, %r1;", [1, 0, 0], 31),
        ("brev.b32 %r9, %r1;", [1, 0, 0], 0x8000_0000),
        // Bits 4 to 7 of 0xf5a3 are 10; as a signed field of four bits that is -6.
        ("bfe.u64 %rd9, %rd1, 4, 4;", [0xf5a3, 0, 0], 10),
        ("bfe.s64 %rd9, %rd1, 4, 4;", [0xf5a3, 0, 0], minus(6)),
        ("bfe.s32 %r9, %r1, 28, 16;", [0x8000_0000, 0, 0], 0xffff_fff8),
        ("shf.l.wrap.b32 %r9, %r1, %r2, 8;", [0x1122_3344, 0x5566_7788, 0], 0x6677_8811),
        ("shf.r.wrap.b32 %r9, %r1, %r2, 8;", [0x1122_3344, 0x5566_7788, 0], 0x8811_2233),
        ("selp.b64 %rd9, %rd2, %rd3, %p1;", [1, 7, 9], 7),
        ("selp.b64 %rd9, %rd2, %rd3, %p1;", [0, 7, 9], 9),
        ("setp.lt.s32 %p7, %r1, %r2;", [minus(1), 1, 0], 1),
        ("setp.lt.u32 %p7, %r1, %r2;", [minus(1), 1, 0], 0),
        ("setp.hi.u64 %p7, %rd1, %rd2;", [minus(1), 1, 0], 1),
        ("setp.ne.s16 %p7, %rs1, %rs2;", [0x1_0001, 1, 0], 0),
        ("mov.b64 %rd9, {%r1, %r2};", [0x1, 0x2, 0], 0x2_0000_0001),
    ] {
        assert_eq!(value(instruction, [a, b, c]), wanted, "{instruction} of {a:#x}, {b:#x}, {c:#x}");
    }
    let unpacked = "mov.u32 %r9, 0;\n\tmov.b64 {%r8, %r9}, %rd1;";
    assert_eq!(value(unpacked, [7 << 32 | 5, 0, 0]), 7);
    // Registers of a block in braces are its own.
    let inner = "mov.u32 %r9, 0;\n\t{ .reg .b32 tmp; mov.b64 {tmp, %r9}, %rd1; }";
    assert_eq!(value(inner, [7 << 32 | 5, 0, 0]), 7);
}

#[test]
fn conversions() {
    let f = f64::to_bits;
    let g = |x: f32| u64::from(x.to_bits());
    let minus = |n: i64| n.wrapping_neg() as u64;
    for (instruction, a, wanted) in [
        ("cvt.s64.s32 %rd9, %r1;", 0xffff_ffff, u64::MAX),
        ("cvt.u64.u32 %rd9, %r1;", 0xffff_ffff, 0xffff_ffff),
        ("cvt.u32.u64 %r9, %rd1;", 0x1_0000_0007, 7),
        ("cvt.s16.s8 %rs7, %rs1;", 0xff, 0xffff),
        ("cvt.s64.s8 %rd9, %rd1;", 0x180, minus(128)),
        ("cvt.u16.u8 %rs7, %rs1;", 0x1ff, 0xff),
        ("cvt.s8.s32 %rs7, %r1;", 0x80, 0xff80),
        ("cvt.u8.u32 %rs7, %r1;", 0x180, 0x80),
        ("cvt.s16.s64 %r9, %rd1;", 0x1_ffff, 0xffff_ffff),
        ("cvt.rn.f64.s64 %fd9, %rd1;", minus(3), f(-3.0)),
        ("cvt.rn.f64.u64 %fd9, %rd1;", u64::MAX, f(18_446_744_073_709_551_616.0)),
        ("cvt.rn.f32.s32 %f7, %r1;", 16_777_217, g(16_777_216.0)),
        ("cvt.f64.f32 %fd9, %f1;", g(0.1), f(0.1f32.into())),
        ("cvt.rn.f32.f64 %f7, %fd1;", f(0.1), g(0.1)),
        ("cvt.rzi.s64.f64 %rd9, %fd1;", f(-2.7), minus(2)),
        ("cvt.rzi.s64.f64 %rd9, %fd1;", f(1e300), i64::MAX as u64),
        ("cvt.rzi.s32.f64 %r9, %fd1;", f(-1e300), 0x8000_0000),
        ("cvt.rzi.u32.f64 %r9, %fd1;", f(-1.0), 0),
        ("cvt.rzi.s64.f64 %rd9, %fd1;", f(f64::NAN), 0),
        ("cvt.rmi.f64.f64 %fd9, %fd1;", f(-2.5), f(-3.0)),
        ("cvt.rpi.f64.f64 %fd9, %fd1;", f(-2.5), f(-2.0)),
        ("cvt.rzi.f64.f64 %fd9, %fd1;", f(-2.5), f(-2.0)),
        ("cvt.rni.f64.f64 %fd9, %fd1;", f(2.5), f(2.0)),
        ("cvt.rni.f64.f64 %fd9, %fd1;", f(3.5), f(4.0)),
    ] {
        assert_eq!(value(instruction, [a, 0, 0]), wanted, "{instruction} of {a:#x}");
    }
}

#[test]
fn floats_follow_ieee_754() {
    let f = f64::to_bits;
    let g = |x: f32| u64::from(x.to_bits());
    let (nan, near) = (f(f64::NAN), f(1.0 + 2f64.powi(-30)));
    for (instruction, [a, b, c], wanted) in [
        ("add.rn.f64 %fd9, %fd1, %fd2;", [f(0.1), f(0.2), 0], f(0.30000000000000004)),
        ("sub.f64 %fd9, %fd1, %fd2;", [f(1.0), f(0.5), 0], f(0.5)),
        ("mul.rn.f32 %f7, %f1, %f2;", [g(1e30), g(1e30), 0], g(f32::INFINITY)),
        ("div.rn.f64 %fd9, %fd1, %fd2;", [f(1.0), f(0.0), 0], f(f64::INFINITY)),
        // (1 + 2⁻³⁰)² − 1 − 2⁻²⁹ is 2⁻⁶⁰, as the product is not rounded.
        ("fma.rn.f64 %fd9, %fd1, %fd2, %fd3;", [near, near, f(-1.0 - 2f64.powi(-29))], f(2f64.powi(-60))),
        ("neg.f64 %fd9, %fd1;", [f(0.0), 0, 0], f(-0.0)),
        ("abs.f64 %fd9, %fd1;", [f(-0.0), 0, 0], f(0.0)),
        ("sqrt.rn.f64 %fd9, %fd1;", [f(2.0), 0, 0], f(std::f64::consts::SQRT_2)),
        ("rcp.rn.f64 %fd9, %fd1;", [f(4.0), 0, 0], f(0.25)),
        ("min.f64 %fd9, %fd1, %fd2;", [f(0.0), f(-0.0), 0], f(-0.0)),
        ("max.f64 %fd9, %fd1, %fd2;", [f(-0.0), f(0.0), 0], f(0.0)),
        ("min.f64 %fd9, %fd1, %fd2;", [nan, f(1.0), 0], f(1.0)),
        ("min.NaN.f32 %f7, %f1, %f2;", [g(f32::NAN), g(1.0), 0], 0x7fff_ffff),
        ("setp.lt.f64 %p7, %fd1, %fd2;", [nan, f(1.0), 0], 0),
        ("setp.ltu.f64 %p7, %fd1, %fd2;", [nan, f(1.0), 0], 1),
        ("setp.neu.f64 %p7, %fd1, %fd2;", [nan, f(1.0), 0], 1),
        ("setp.ne.f64 %p7, %fd1, %fd2;", [nan, f(1.0), 0], 0),
        ("setp.nan.f64 %p7, %fd1, %fd2;", [nan, f(1.0), 0], 1),
        ("setp.num.f64 %p7, %fd1, %fd2;", [nan, f(1.0), 0], 0),
        ("setp.eq.f64 %p7, %fd1, %fd2;", [f(0.0), f(-0.0), 0], 1),
    ] {
        assert_eq!(value(instruction, [a, b, c]), wanted, "{instruction} of {a:#x}, {b:#x}, {c:#x}");
    }
}
