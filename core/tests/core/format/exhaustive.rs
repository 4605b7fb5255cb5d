//! Every small tensor in every mixture of levels; and every small change to the arrays of some.

use super::read::{coordinates, function, holds};
use super::{formats, in_order};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Assembly, Entries, Error, Format, Level, Malformed, Tensor};
use std::collections::BTreeMap;

pub(super) type Map = BTreeMap<Vec<i64>, Value>;

/// Every map whose keys are some of the coordinates, with distinct values.
fn maps(extents: &[u64]) -> impl Iterator<Item = Map> {
    let all: Vec<Vec<i64>> = coordinates(extents).collect();
    (0..1usize << all.len()).map(move |some| {
        let some = all.iter().enumerate().filter(|(e, _)| some >> e & 1 == 1);
        some.map(|(e, at)| (at.clone(), Value::from_i128(Type::I16, e as i128 + 1))).collect()
    })
}

pub(super) fn made(map: &Map, extents: &[u64], format: &Format) -> Result<Tensor<'static>, Error> {
    let entries = Entries::of(extents.len(), Type::I16, map.clone()).unwrap();
    entries.assemble(extents, format, Value::zero(Type::I16), &Assembly::default())
}

#[test]
fn every_mixture_of_levels_holds_every_small_tensor() {
    let mut held = 0;
    for extents in [&[][..], &[3], &[2, 3], &[2, 2, 2]] {
        for map in maps(extents) {
            for format in if extents.len() < 3 { formats(extents.len()) } else { in_order(3) } {
                let t = made(&map, extents, &format);
                assert_eq!(t.is_ok(), holds(&format, map.keys()), "{format} of {map:?}");
                if let Ok(t) = t {
                    assert_eq!(t.check(), Ok(()));
                    assert_eq!(function(&t), map, "{format}");
                    held += 1;
                }
            }
        }
    }
    assert!(held > 50_000, "{held}");
}

#[test]
fn any_small_matrix_goes_from_any_mixture_to_any_other() {
    let (extents, how) = ([2, 2], Assembly::default());
    for map in maps(&extents) {
        let tensors: Vec<Tensor> = formats(2).iter().filter_map(|f| made(&map, &extents, f).ok()).collect();
        for from in &tensors {
            for to in &tensors {
                assert_eq!(from.borrow().convert(&to.format, &how).unwrap(), *to, "from {}", from.format);
            }
        }
    }
}

#[test]
fn extents_of_zero_and_one() {
    let none = Map::new();
    for extents in [&[0][..], &[1], &[0, 2], &[2, 0], &[0, 0], &[1, 1], &[2, 0, 2], &[0, 1, 2], &[1, 2, 0]] {
        for format in formats(extents.len()) {
            match made(&none, extents, &format) {
                Ok(t) => assert_eq!((t.check(), function(&t)), (Ok(()), none.clone()), "{format}"),
                Err(e) => {
                    let Error::Malformed(Malformed { level: Some(l), position: 0, .. }) = e else { panic!("{e}") };
                    assert_eq!((format.is_single(l), extents[format.order[l]]), (true, 0), "{format}: {e}");
                }
            }
        }
    }
}

/// All arrays of a tensor, the values last.
fn arrays<'t, 'a>(t: &'t mut Tensor<'a>) -> Vec<&'t mut Array<'a>> {
    let levels = t.levels.iter_mut().flat_map(Level::arrays_mut);
    levels.chain([&mut t.values]).collect()
}

/// The array with element `i` changed, or one element longer or shorter.
fn changes(array: &Array<'static>) -> Vec<Array<'static>> {
    let (ty, n) = (array.ty(), array.len());
    let bits = |x: i64| Value::from_bits(ty, x as u64);
    let mut all = vec![];
    for i in 0..n {
        let x = array.get(i).bits() as i64;
        let near = [x + 1, x - 1, x ^ 1, x ^ 2, x ^ 4, !x];
        for y in [-1, 0, 1, 2, 3, 5, i64::MAX, i64::MIN, i32::MAX.into(), i32::MIN.into()].into_iter().chain(near) {
            let mut changed = array.clone();
            changed.set(i, bits(y));
            all.push(changed);
        }
    }
    all.push(Array::from_values(ty, array.iter().take(n.saturating_sub(1))));
    all.push(Array::from_values(ty, array.iter().chain([bits(0)])));
    all.push(Array::from_values(Type::F32, array.iter().map(|_| Value::one(Type::F32))));
    all
}

/// The numbers of small changes to a tensor's arrays that are reported, and that leave a valid tensor.
pub(super) fn changed(t: &Tensor<'static>) -> (usize, usize) {
    let (mut reported, mut sound) = (0, 0);
    for which in 0..arrays(&mut t.clone()).len() {
        for changed in changes(arrays(&mut t.clone())[which]) {
            let mut t = t.clone();
            *arrays(&mut t)[which] = changed;
            match t.check() {
                Ok(()) => {
                    function(&t);
                    sound += 1;
                }
                Err(_) => reported += 1,
            }
        }
    }
    (reported, sound)
}

#[test]
fn a_changed_array_is_reported_or_still_a_function() {
    let (mut reported, mut sound) = (0, 0);
    let extents = [&[3][..], &[2, 3], &[2, 2, 2]];
    for extents in extents {
        // Few, many and all of the coordinates, so that there are empty fibers, gaps and unused words.
        let every: Vec<Map> = maps(extents).collect();
        for map in [every.len() - 1, every.len() / 2 + 1, every.len() / 3, 0].map(|m| &every[m]) {
            for format in in_order(extents.len()) {
                let Ok(t) = made(map, extents, &format) else { continue };
                let (wrong, right) = changed(&t);
                (reported, sound) = (reported + wrong, sound + right);
            }
        }
    }
    assert!(reported > 10_000 && sound > 10_000, "{reported} {sound}");
}

#[test]
fn arrays_of_anything_are_reported_or_a_function() {
    let mut seed = 1u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    let mixtures: Vec<Vec<Format>> = (0..4).map(in_order).collect();
    let mut sound = 0;
    for _ in 0..300_000 {
        let rank = next(4) as usize;
        let mut format = mixtures[rank][next(mixtures[rank].len() as u64) as usize].clone();
        let extents: Vec<u64> = (0..rank)
            .map(|_| match next(60) {
                0 => 0,
                1 => 1 << 40,
                2 => (1 << 63) - 1,
                n => n % 3 + 1,
            })
            .collect();
        let mut array = |mut types: Vec<Type>| {
            if next(50) == 0 {
                types = vec![Type::F64];
            }
            let ty = types[next(types.len() as u64) as usize];
            let values: Vec<Value> = (0..next(4)).map(|_| Value::from_bits(ty, next(5).wrapping_sub(1))).collect();
            Array::from_values(ty, values)
        };
        let index = || vec![Type::I32, Type::I64];
        let levels = format.levels.iter().map(|kind| {
            let made = Level::of(*kind, |_, holds| Ok::<_, ()>(array(holds.ty().map_or_else(index, |ty| vec![ty]))));
            made.unwrap().expect("stored")
        });
        let levels = levels.collect();
        let values = array(vec![Type::I64]);
        if rank > 0 && next(100) == 0 {
            format.order_mut()[0] = 1;
        }
        let t = Tensor { extents, format, levels, values, fill: Value::i64(0) };
        if t.check() == Ok(()) && t.extents.iter().all(|e| *e < 4) {
            function(&t);
            sound += 1;
        }
    }
    assert!(sound > 1000, "{sound}");
}
