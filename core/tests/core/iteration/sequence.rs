//! Sequences against the sets that they mean.

use fiberloom_core::iteration::Sequence;
use fiberloom_core::notation::concrete::AccessId;

fn l(n: usize) -> Sequence {
    Sequence::List(AccessId(n))
}

/// Every formula of depth 3 over three lists means the same set before and after simplification.
#[test]
fn simplification_preserves_the_set() {
    fn member(s: &Sequence, present: u32) -> bool {
        s.fold(&mut |a| present >> a.0 & 1 == 1, &|c| c, &mut |a, b| a && b, &mut |a, b| a || b)
    }
    let mut terms = vec![Sequence::Empty, Sequence::Full, l(0), l(1), l(2)];
    for _ in 0..2 {
        let small: Vec<Sequence> = terms.iter().take(40).cloned().collect();
        for a in &small {
            for b in &small {
                for (made, is_and) in
                    [(Sequence::and([a.clone(), b.clone()]), true), (Sequence::or([a.clone(), b.clone()]), false)]
                {
                    for present in 0..8 {
                        let (x, y) = (member(a, present), member(b, present));
                        assert_eq!(member(&made, present), if is_and { x && y } else { x || y }, "{a} and {b}");
                    }
                    if !terms.contains(&made) {
                        terms.push(made);
                    }
                }
            }
        }
    }
    for s in terms.iter().take(200) {
        for list in 0..3 {
            let left = s.exhaust(AccessId(list));
            for present in 0..8u32 {
                assert_eq!(member(&left, present), member(s, present & !(1 << list)), "{s} without a{list}");
            }
        }
    }
}

#[test]
fn absorption() {
    assert_eq!(Sequence::or([l(0), Sequence::and([l(0), l(1)])]), l(0));
    assert_eq!(Sequence::and([l(0), Sequence::or([l(0), l(1)])]), l(0));
}

#[test]
fn what_intersections_have_in_common_is_needed() {
    let masked = Sequence::or([Sequence::and([l(0), l(1)]), Sequence::and([l(2), l(0)])]);
    assert_eq!(masked.needed(), Some((vec![AccessId(0)], Sequence::or([l(1), l(2)]))));
    assert_eq!(Sequence::and([l(0), l(1)]).needed(), Some((vec![AccessId(0), AccessId(1)], Sequence::Full)));
    let again = Sequence::and([l(0), Sequence::or([Sequence::and([l(0), l(1)]), l(2)])]);
    assert_eq!(again.needed(), Some((vec![AccessId(0)], Sequence::or([l(1), l(2)]))));
    assert_eq!(Sequence::or([l(0), l(1)]).needed(), None);
    assert_eq!(Sequence::or([Sequence::and([l(0), l(1)]), Sequence::and([l(2), l(3)])]).needed(), None);
    let pairs = [(0, 1), (0, 2), (1, 2)].map(|(a, b)| Sequence::and([l(a), l(b)]));
    assert_eq!(Sequence::or(pairs).needed(), None, "each list stands in two of three");
}
