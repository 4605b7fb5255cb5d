//! Data that are drawn: how many entries, where, which values, and that they are the same everywhere.

use super::*;
use std::collections::BTreeSet;

fn draw(text: &str, ty: Type, format: &Format) -> Result<Tensor<'static>, Error> {
    let random: Random = text.parse().unwrap();
    let t = generate(&random, &declared(ty, format), &Options { limit: 1 << 24, ..Options::default() })?;
    assert_eq!(t.check(), Ok(()));
    assert_eq!((&t.format, t.values.ty()), (&format.stored(), ty));
    Ok(t)
}

#[test]
fn texts_of_what_is_drawn() {
    let read = |text: &str| text.parse::<Random>();
    let random = |extents: Option<Vec<u64>>, share, seed| Ok(Random { extents, share, seed });
    assert_eq!(read("random"), random(None, 1.0, 0));
    assert_eq!(read("random:1000"), random(Some(vec![1000]), 1.0, 0));
    assert_eq!(read("random:10x0x30:0.25"), random(Some(vec![10, 0, 30]), 0.25, 0));
    assert_eq!(read("random::1e-3:7"), random(None, 1e-3, 7));
    assert_eq!(read("random:::18446744073709551615"), random(None, 1.0, u64::MAX));
    for (text, says) in [
        ("random:10x", "`10x`"),
        ("random:10X10", "extents"),
        ("random:-1", "extents"),
        ("random:9223372036854775808", "below 2^63"),
        ("random:10:1.5", "a share from 0 to 1"),
        ("random:10:nan", "a share from 0 to 1"),
        ("random:10:0.5:x", "a seed"),
        ("random:10:0.5:1:2", "the end"),
    ] {
        let refusal = read(text).unwrap_err();
        assert!(refusal.contains(says), "{refusal}");
        let source = Source::of(Path::new(text)).unwrap_err();
        assert_eq!(source.cause, Cause::Extension);
    }
    assert!(Random::is_meant("random") && Random::is_meant("random:x"));
    assert!(!Random::is_meant("random.mtx") && !Random::is_meant("./random:1.npy"));
    let shown = read("random:10x20:0.5:3").unwrap();
    assert_eq!(shown.to_string().parse(), Ok(shown));
}

/// xoshiro256++ of this seed; the places are those that a widening product gives, the values the upper bits.
#[test]
fn the_same_text_draws_the_same_tensor_everywhere() {
    let t = draw("random:4x5:0.2:7", Type::I64, &Format::csf(2)).unwrap();
    let again = draw("random:4x5:0.2:7", Type::I64, &Format::csf(2)).unwrap();
    assert_eq!(t, again);
    assert_ne!(t, draw("random:4x5:0.2:8", Type::I64, &Format::csf(2)).unwrap());
    let t = draw("random:3", Type::F64, &Format::dense(1)).unwrap();
    // The first words of the generator that is seeded with SplitMix64 from 0, by 2⁻⁶⁴, as Vigna's own program prints them.
    let words = [0x53175d61490b23dfu64, 0x61da6f3dc380d507, 0x5c0fdf91ec9a7bfc];
    let expected = words.map(|word| ((word >> 11) + 1) as f64 / (1u64 << 53) as f64);
    assert_eq!(t.values, expected.to_vec().into());
}

#[test]
fn as_many_entries_as_the_share_says() {
    for (text, stored) in [
        ("random:100x100:0.01", 100),
        ("random:100x100:0.99:1", 9900),
        ("random:7:0.5", 4),
        ("random:1000000x1000000:0.000000001", 1000),
        ("random:10x10:0", 0),
        ("random:0x10", 0),
    ] {
        let rank = if text.contains('x') { 2 } else { 1 };
        for ty in Type::ALL {
            let t = draw(text, ty, &Format::csf(rank)).unwrap();
            assert_eq!(t.stored(), stored, "{text} of {ty}");
            assert!(t.entries().all(|(_, v)| v.is_true() && v.as_f64() <= 100.0 && v.as_f64() > 0.0));
        }
    }
    let scalar = draw("random", Type::F32, &Format::dense(0)).unwrap();
    assert!(scalar.values.get(0).as_f64() > 0.0 && scalar.values.get(0).as_f64() <= 1.0);
}

/// Each of the sets of two of four places is drawn about as often, and so is each of the sets of three.
#[test]
fn every_set_of_places_is_as_likely() {
    for (share, sets) in [("0.5", 6), ("0.75", 4)] {
        let mut seen = std::collections::BTreeMap::new();
        for seed in 0..1200 {
            let t = draw(&format!("random:2x2:{share}:{seed}"), Type::I8, &Format::csf(2)).unwrap();
            let places: BTreeSet<Vec<i64>> = t.entries().map(|(at, _)| at).collect();
            *seen.entry(places).or_insert(0) += 1;
        }
        let expected = 1200 / sets;
        assert_eq!(seen.len(), sets);
        assert!(seen.values().all(|n| (expected * 3 / 4..expected * 5 / 4).contains(n)), "{seen:?}");
    }
}

/// What a format has no place for is left out, and what it mirrors is mirrored: everything is drawn in every format.
#[test]
fn every_format_holds_what_is_drawn() {
    use LevelKind::{Bytemap, Compressed, Dense, Lower, Packbits, Singleton, Symmetric, Upper};
    for inner in LevelKind::ALL {
        for outer in [Dense, Compressed, Bytemap, Singleton] {
            let alone = outer != Dense && inner.is_triangle() || outer == Singleton && inner == Singleton;
            for share in ["", "0.3", "0"] {
                let format = Format::of(vec![outer, inner]);
                for format in [format.clone(), format.reversed()] {
                    let drawn = draw(&format!("random:6x6:{share}:3"), Type::F64, &format);
                    assert!(drawn.is_ok() || alone, "{format} {share}: {drawn:?}");
                }
            }
        }
    }
    for (kind, stored) in [(Lower, 21), (Upper, 21), (Symmetric, 21), (Packbits, 36)] {
        let t = draw("random:6x6", Type::F64, &Format::of(vec![Dense, kind])).unwrap();
        assert_eq!(t.values.len(), stored, "{kind:?}");
        assert!(t.values.iter().all(|v| v.is_true()));
    }
    assert_eq!(draw("random:6x6", Type::F64, &Format::of(vec![Dense, Singleton])).unwrap().values.len(), 6);
    let cube = Format::of(vec![Compressed, Dense, Symmetric]);
    let t = draw("random:2x4x4:0.4", Type::F64, &cube).unwrap();
    assert!(t.entries().all(|(at, v)| t.entries().any(|e| e == (vec![at[0], at[2], at[1]], v))));
}

#[test]
fn extents_come_from_the_text_or_the_program() {
    let format = Format::csf(2);
    let known = Declared { extents: vec![Some(3), Some(4)], ..declared(Type::F64, &format) };
    let options = Options { limit: 1 << 20, ..Options::default() };
    let t = generate(&"random::0.5".parse().unwrap(), &known, &options).unwrap();
    assert_eq!((&t.extents[..], t.stored()), (&[3, 4][..], 6));
    let e = draw("random", Type::F64, &format).unwrap_err();
    assert_eq!(e.cause, Cause::Extents);
    refused(draw("random::0.5", Type::F64, &format), "random::0.5:0: the extent of mode 0 is unknown", "`random:…x…`");
    refused(draw("random:3", Type::F64, &format), "random:3:1:0: 1 extent for a tensor", "2 modes");
    refused(draw("random:4294967296x4294967296", Type::F64, &format), "random:", "2^63");
    let e = draw("random:100000x100000", Type::F64, &format).unwrap_err();
    assert_eq!(e.cause, Cause::Limit);
    assert!(e.message.contains("say a smaller share"), "{e}");
}
